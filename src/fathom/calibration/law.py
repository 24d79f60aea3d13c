"""A calibration: how likely answers are right, and from where on they are certified."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

from fathom.calibration.certificate import DELTA, Certificate, Ladder, Outcome, certify
from fathom.calibration.drift import Drift
from fathom.calibration.sureness import Signals, SurenessLaw, fit
from fathom.jsonable import Json
from fathom.runs.context import Weighed

RATES = (0.01, 0.02, 0.05, 0.1)
"""Rates of errors that every calibration tries to certify."""
FEWEST = 20
"""From fewer answers nothing is learned."""
READER = SurenessLaw(weights={"sure": 1.0}, offset=0.0)
"""What is known before anything is learned: the draft's own confidence."""
Source = Literal["own questions", "public questions"]


class Answered(NamedTuple):
    """One recorded answer: its signals, and whether it was right."""

    signals: Signals
    right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What was learned from recorded answers of one strategy.

    Attributes:
        identity: What it was made for: strategy, settings, models.
        source: Whose questions it was learned from.
        made_of: How much: data sets or files, and the number of questions.
        law: Gives the probability of being right.
        certificates: One for each rate of errors, rising.
        drift: How the signals were spread.
    """

    identity: Mapping[str, Json]
    source: Source
    made_of: Mapping[str, Json]
    law: SurenessLaw
    certificates: tuple[Certificate, ...] = ()
    drift: Drift

    def threshold(self, max_error: float) -> float | None:
        """From which confidence on answers may be given at this rate of errors, if it is known.

        A rate that was not tried is served by the next lower one that is certified.
        """
        able = [
            each
            for each in self.certificates
            if each.threshold is not None and each.max_error <= max_error
        ]
        return max(able, key=lambda each: each.max_error).threshold if able else None

    def to_json(self) -> Json:
        """As `from_json` takes it."""
        names = (
            "max_error",
            "delta",
            "threshold",
            "questions",
            "answered",
            "wrong",
            "bound",
            "more",
        )
        return {
            "identity": dict(self.identity),
            "source": self.source,
            "made_of": dict(self.made_of),
            "law": self.law.to_json(),
            "certificates": [
                {name: getattr(each, name) for name in names} for each in self.certificates
            ],
            "drift": self.drift.to_json(),
        }

    @classmethod
    def from_json(cls, given: Json) -> Self:
        """The calibration of an object.

        Raises:
            KeyError, TypeError, ValueError: If it is none.
        """
        return cls(
            identity=given["identity"],
            source=given["source"],
            made_of=given["made_of"],
            law=SurenessLaw.from_json(given["law"]),
            certificates=tuple(Certificate(**each) for each in given["certificates"]),
            drift=Drift.from_json(given["drift"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Weigher:
    """What a run needs of a calibration; a trace keeps it.

    Attributes:
        law: `None` where there is none that fits.
        by: See `Weighed`.
        threshold: The least confidence of an answer that is given, as a rate of errors asks for.
        least: The least confidence of an answer that is given as the only one; 0 gives all.
        alone: Whether that and `threshold` count in place of the draft's own confidence, as where
            a rate of errors is to be kept, or all is to be given.
        lifts: Whether an answer may be sure by this alone that the draft itself is not sure of.
    """

    law: SurenessLaw | None = None
    by: str = ""
    threshold: float = 0.0
    least: float = 0.0
    alone: bool = False
    lifts: bool = True

    def __call__(self, signals: Signals) -> Weighed:
        """What is to be thought of an answer with these signals.

        Without signals, as where there was no time for them, nobody can say; where a rate of errors
        is to be kept that is not enough.
        """
        if self.law is None or not signals:
            every = self.alone and self.least <= 0
            return Weighed(None, enough=self.threshold <= 0, sure=float(every))
        confidence = self.law(signals)
        return Weighed(
            confidence,
            enough=confidence >= self.threshold,
            by=self.by,
            probable=confidence >= self.least,
            sure=max(float(self.alone), confidence * self.lifts),
        )

    def to_json(self) -> Json:
        """As `from_json` takes it."""
        law = self.law.to_json() if self.law else None
        return {
            "law": law,
            "by": self.by,
            "threshold": self.threshold,
            "least": self.least,
            "alone": self.alone,
            "lifts": self.lifts,
        }

    @classmethod
    def from_json(cls, given: Json) -> Self:
        """The weigher of an object."""
        law = SurenessLaw.from_json(given["law"]) if given["law"] else None
        return cls(
            law=law,
            by=given["by"],
            threshold=given["threshold"],
            least=given.get("least", 0.0),  # none of these was known once
            alone=given.get("alone", False),
            lifts=given.get("lifts", False),
        )


class Learned(NamedTuple):
    """What was learned of answers.

    Attributes:
        held_out: For each answer its probability by a law that had not seen it.
    """

    law: SurenessLaw
    certificates: tuple[Certificate, ...]
    drift: Drift
    held_out: tuple[float, ...]


class Calibrated(NamedTuple):
    """A calibration, and what it says of the answers it was learned from; see `Learned`."""

    calibration: Calibration
    held_out: tuple[float, ...]


def learn(
    asked: Sequence[Answered | None],
    *,
    rates: Sequence[float] = RATES,
    delta: float = DELTA,
    before: SurenessLaw = READER,
) -> Learned:
    """Learn a law of the answers and certify thresholds on what it says of those held out.

    Args:
        asked: One for each question; `None` where it was not answered.
        rates: Rates of errors to certify, each for itself.
        delta: See `Certificate`.
        before: A law to begin with.

    Raises:
        ValueError: If there are fewer than `FEWEST` answers, or all are right, or none.
    """
    answers = [each for each in asked if each is not None]
    if len(answers) < FEWEST or len({each.right for each in answers}) < 2:
        raise ValueError("too few answers, or all alike")
    rows, right = [each.signals for each in answers], [each.right for each in answers]
    fitted = fit(rows, right, before=before)
    told = iter(fitted.held_out)
    ladders: list[Ladder] = [
        () if each is None else (Outcome(next(told), each.right),) for each in asked
    ]
    return Learned(
        law=fitted.law,
        certificates=tuple(
            certify(ladders, max_error=rate, delta=delta) for rate in sorted(set(rates))
        ),
        drift=Drift.of(rows),
        held_out=fitted.held_out,
    )
