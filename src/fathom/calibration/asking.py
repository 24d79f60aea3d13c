"""The rule by which a language model is asked: where the local draft leaves it room to gain."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from fathom.calibration.correctness import CorrectnessLaw, Signals
from fathom.jsonable import Json
from fathom.runs.context import AskingDecision

BOUNDS: Mapping[str, tuple[float, float]] = {"qwen-1.5b": (0.1, 0.3)}
"""The probabilities of a local draft between which a known model is asked.

Below the lower one, an answer of the model is so improbable too that it is withheld; from the upper
one on, the local reader was right as often on development questions: docs/runs.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingRule:
    """The rule for the drafts of one run.

    Attributes:
        law: The law of the local reader's drafts.
        least: The probability of a draft below which the model is not asked.
        most: The probability from which on it is not asked.
    """

    law: CorrectnessLaw
    least: float
    most: float

    def __call__(self, signals: Signals) -> AskingDecision:
        """Return whether to ask the model about a draft with these signals."""
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
