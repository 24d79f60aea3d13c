"""The rule that decides by the local draft's probability whether a language model is asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from fathom.calibration.correctness import CorrectnessLaw, Signals
from fathom.jsonable import Json
from fathom.runs.context import AskingDecision

BOUNDS: Mapping[str, tuple[float, float]] = {"qwen-1.5b": (0.1, 0.3)}
"""The probabilities of a local draft between which a model is asked, by the name of the model.

Below the lower bound the model's answer is so improbable too that it is withheld. From the upper
bound on, the local reader was right as often as the model on development questions (docs/runs.md).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingRule:
    """The rule for the drafts of one run.

    Attributes:
        law: The law of the probability that a draft of the local reader is right.
        least: The probability below which the model is not asked, in [0, 1].
        most: The probability from which on the model is not asked, in [0, 1].
    """

    law: CorrectnessLaw
    least: float
    most: float

    def __call__(self, signals: Signals) -> AskingDecision:
        """Decide whether to ask the model about a draft with these signals."""
        probability = self.law(signals)
        return AskingDecision(probability, asks=self.least <= probability < self.most)

    def to_json(self) -> Json:
        """Return the object that `from_json` reads."""
        return {"law": self.law.to_json(), "least": self.least, "most": self.most}

    @classmethod
    def from_json(cls, given: Json) -> Self:
        """Build the rule from a JSON object of a trace."""
        return cls(
            law=CorrectnessLaw.from_json(given["law"]), least=given["least"], most=given["most"]
        )
