"""Calibrations: the probability that an answer is right, and certified thresholds of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

from fathom.calibration.certificate import DELTA, Certificate, Ladder, StageOutcome, certify
from fathom.calibration.correctness import CorrectnessLaw, Signals, fit_law
from fathom.calibration.drift import Drift
from fathom.jsonable import Json
from fathom.runs.context import CHAINED, COMPUTED, CalibratedConfidence

if TYPE_CHECKING:  # a law needs no settings
    from fathom.calibration.caution import ProbabilityBounds

RATES = (0.01, 0.02, 0.05, 0.1)
"""The rates of errors that every calibration tries to certify."""
FEWEST = 20
"""The least number of answers that a calibration is learned from."""
READER = CorrectnessLaw(weights={"sure": 1.0}, offset=0.0)
"""The law before anything is learned: its probability is the draft's own confidence."""
Source = Literal["own questions", "public questions"]
"""The kind of questions that a calibration was learned from: the user's own, or public data."""

_LEAST_COMPUTED = 0.6
"""The least probability of a computed answer that is given, unless the caution asks for more."""


class LabelledAnswer(NamedTuple):
    """A recorded answer: its signals, and whether it was right."""

    signals: Signals
    right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The calibration of one strategy, learned from recorded answers.

    Attributes:
        identity: The setup that it applies to: strategy, settings, models.
        source: The kind of questions that it was learned from.
        made_of: The data sets or files that it was learned from, with the numbers of questions.
        law: The law of the probability of being right.
        certificates: One for each rate of errors, by rising rate.
        drift: The distributions of the signals of the answers that it was learned from.
    """

    identity: Mapping[str, Json]
    source: Source
    made_of: Mapping[str, Json]
    law: CorrectnessLaw
    certificates: tuple[Certificate, ...] = ()
    drift: Drift

    def find_threshold(self, max_error: float) -> float | None:
        """Return the least confidence of an answer that keeps a certified rate of errors.

        Args:
            max_error: The rate of errors, between 0 and 1. If it is not certified itself, the next
                lower certified rate serves.

        Returns:
            The confidence, in [0, 1]; `None` if no rate up to this one is certified.
        """
        usable = [
            certificate
            for certificate in self.certificates
            if certificate.threshold is not None and certificate.max_error <= max_error
        ]
        return (
            max(usable, key=lambda certificate: certificate.max_error).threshold if usable else None
        )

    def to_json(self) -> Json:
        """Return the object that `from_json` reads."""
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
                {name: getattr(certificate, name) for name in names}
                for certificate in self.certificates
            ],
            "drift": self.drift.to_json(),
        }

    @classmethod
    def from_json(cls, given: Json) -> Self:
        """Build the calibration from a JSON object.

        Raises:
            KeyError, TypeError, ValueError: If the object is no calibration.
        """
        return cls(
            identity=given["identity"],
            source=given["source"],
            made_of=given["made_of"],
            law=CorrectnessLaw.from_json(given["law"]),
            certificates=tuple(Certificate(**certificate) for certificate in given["certificates"]),
            drift=Drift.from_json(given["drift"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Weigher:
    """The weighing of a run's answers by a calibration, as a trace records it.

    All probabilities are in [0, 1].

    Attributes:
        law: The law of the probability of being right; `None` if no calibration fits.
        by: The origin of the questions that the law was learned from, as in
            `CalibratedConfidence`; empty without a law.
        threshold: The least probability of an answer that keeps the certified rate of errors; 0 if
            no rate has to be kept.
        min_probability: The least probability of a sure answer that is given; 0 gives all.
        replaces_confidence: Whether `min_probability` and `threshold` replace the test whether the
            answer is sure. They do if a rate of errors has to be kept, or if every answer has to be
            given.
        raises_confidence: Whether a high probability makes an answer sure although its draft is
            not; false in traces of earlier versions.
        is_bound: Whether an answer below `min_probability` is withheld, however sure its draft is.
            With a language model, earlier versions gave it, and replays of their traces still do.
        tentative_from: The least probability of a sure answer that is shown as not sure if it is
            below `min_probability`; `None` if no answer is shown as not sure.
        unsure_from: The least probability of an unsure answer that is shown as not sure; `None`
            for `min_probability`.
        chain_law: The law for answers to chains of questions, if `law` is that of a language
            model, which answers no chain; `None` if `law` holds for chains too.
    """

    law: CorrectnessLaw | None = None
    by: str = ""
    threshold: float = 0.0
    min_probability: float = 0.0
    replaces_confidence: bool = False
    raises_confidence: bool = True
    is_bound: bool = True
    tentative_from: float | None = None
    unsure_from: float | None = None
    chain_law: CorrectnessLaw | None = None

    def __call__(self, signals: Signals) -> CalibratedConfidence:
        """Return the calibrated confidence of an answer with these signals.

        Without a law, or without signals because there was no time to compute them, there is no
        confidence; if a rate of errors has to be kept, the answer is then refused. A computed
        answer has a probability of its own (the signal `COMPUTED`), which replaces the law's.
        """
        if self.chain_law is not None and CHAINED in signals:
            return replace(self, law=self.chain_law, chain_law=None, is_bound=True)(signals)
        # A certified rate holds only for the law that it was certified with, so the probability of
        # a computed answer may not replace that law's.
        computed = None if self.threshold > 0 else signals.get(COMPUTED)
        if computed is None and (self.law is None or not signals):
            gives_all = self.replaces_confidence and self.min_probability <= 0
            return CalibratedConfidence(None, enough=self.threshold <= 0, sure=float(gives_all))
        if computed is not None:
            return self._judge(computed, max(self.min_probability, _LEAST_COMPUTED), "")
        assert self.law is not None
        return self._judge(self.law(signals), self.min_probability, self.by)

    def _judge(self, confidence: float, least: float, by: str) -> CalibratedConfidence:
        """Return the judgement of an answer that is right with this probability.

        Args:
            confidence: The probability.
            least: The least probability of a sure answer that is given; `min_probability` counts
                instead if it replaces the test of the confidence.
            by: The origin of the questions that the probability was learned from.
        """
        least = self.min_probability if self.replaces_confidence else least
        tentative_from = inf if self.tentative_from is None else self.tentative_from
        least_tentative = max(tentative_from, self.threshold)
        unsure_from = self.min_probability if self.unsure_from is None else self.unsure_from
        return CalibratedConfidence(
            confidence,
            enough=confidence >= self.threshold,
            by=by,
            probable=confidence >= least or not self.is_bound,
            sure=max(float(self.replaces_confidence), confidence * self.raises_confidence),
            tentative=confidence >= least_tentative,
            likely=confidence >= max(least_tentative, unsure_from),
        )

    def apply_bounds(self, bounds: "ProbabilityBounds") -> Self:
        """Return the weigher with the bounds of a level of caution."""
        return replace(
            self,
            min_probability=bounds.given,
            replaces_confidence=self.replaces_confidence or bounds.given <= 0,
            tentative_from=bounds.tentative,
            unsure_from=bounds.unsure,
        )

    def to_json(self) -> Json:
        """Return the object that `from_json` reads."""
        law = self.law.to_json() if self.law else None
        return {
            "law": law,
            "by": self.by,
            "threshold": self.threshold,
            "least": self.min_probability,
            "alone": self.replaces_confidence,
            "lifts": self.raises_confidence,
            "bound": self.is_bound,
            "tentative": self.tentative_from,
            "unsure": self.unsure_from,
            "chains": self.chain_law.to_json() if self.chain_law else None,
        }

    @classmethod
    def from_json(cls, given: Json) -> Self:
        """Build the weigher from a JSON object of a trace, also of an earlier version."""
        law = CorrectnessLaw.from_json(given["law"]) if given["law"] else None
        return cls(
            law=law,
            by=given["by"],
            threshold=given["threshold"],
            # Traces of earlier versions lack these keys.
            min_probability=given.get("least", 0.0),
            replaces_confidence=given.get("alone", False),
            raises_confidence=given.get("lifts", False),
            is_bound=given.get("bound", True),
            tentative_from=given.get("tentative"),
            unsure_from=given.get("unsure"),
            chain_law=CorrectnessLaw.from_json(given["chains"]) if given.get("chains") else None,
        )


class LearnedLaw(NamedTuple):
    """The law, certificates and distributions that were learned from answers.

    Attributes:
        held_out: The probability of each answer by a law that was fitted without it.
    """

    law: CorrectnessLaw
    certificates: tuple[Certificate, ...]
    drift: Drift
    held_out: tuple[float, ...]


class CalibrationFit(NamedTuple):
    """A calibration with its probabilities for the answers that it was learned from.

    Attributes:
        held_out: The probability of each answer by a law that was fitted without it.
    """

    calibration: Calibration
    held_out: tuple[float, ...]


def learn_law(
    outcomes: Sequence[LabelledAnswer | None],
    *,
    rates: Sequence[float] = RATES,
    delta: float = DELTA,
    before: CorrectnessLaw = READER,
    groups: Sequence[str] = (),
) -> LearnedLaw:
    """Learn a law from answers and certify thresholds on its held-out probabilities.

    Args:
        outcomes: One for each question; `None` if it was not answered.
        rates: The rates of errors to certify, each by itself.
        delta: The largest probability of certifying a bad threshold, between 0 and 1.
        before: The law that the learned one is pulled towards, as in `fit_law`.
        groups: The data set of each outcome, if the law must serve other data sets too.

    Raises:
        ValueError: If there are fewer than `FEWEST` answers, or all are right, or none is.
    """
    answers = [answer for answer in outcomes if answer is not None]
    if len(answers) < FEWEST or len({answer.right for answer in answers}) < 2:
        raise ValueError(f"too few answers (fewer than {FEWEST}), or all of them right, or none")
    rows, right = [answer.signals for answer in answers], [answer.right for answer in answers]
    pairs = zip(groups, outcomes, strict=True) if groups else ()
    answered = [group for group, answer in pairs if answer is not None]
    fitted = fit_law(rows, right, before=before, groups=answered)
    probabilities = iter(fitted.held_out)
    # Certificates need held-out probabilities. A law that was fitted to the answer itself fits it
    # too well, and the certified rate would not hold.
    ladders: list[Ladder] = [
        () if answer is None else (StageOutcome(next(probabilities), answer.right),)
        for answer in outcomes
    ]
    return LearnedLaw(
        law=fitted.law,
        certificates=tuple(
            certify(ladders, max_error=rate, delta=delta) for rate in sorted(set(rates))
        ),
        drift=Drift.from_rows(rows),
        held_out=fitted.held_out,
    )
