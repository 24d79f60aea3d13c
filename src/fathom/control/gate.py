"""BAUG, the budget-aware uncertainty gate: stop, search again, edit once, or abstain.

From the study of anchors and BAUG, section 3. A draft is shown (`STOP`) when it is supported, its
evidence holds all required anchors, it has the kind and unit that the question asks for, no
conflict is open, a list is complete, and a judge that was asked agrees. Otherwise something is
lacking: the draft is mended if the hits that were read can mend it, and the gate searches again
while rounds, new hits and budget allow it. What remains lacking then decides between showing the
draft in spite of it and abstaining.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import inf
from typing import Literal, Self

from fathom.control.reasons import GateReason, GateVerdict
from fathom.settings.anchor import AnchorSettings

__all__ = [
    "GateProgress",
    "GateSignals",
    "GateThresholds",
    "GateVerdict",
    "can_retry",
    "decide",
    "is_affordable",
    "wants_judge",
]

# The defaults of the settings are configuration A of the study.
_CONFIG_A = AnchorSettings()
JudgePolicy = Literal["never", "grey_zone", "always"]
_Lack = Literal["evidence", "anchor", "unit", "overlap", "conflict", "items", "judge"]
_MORE: Mapping[_Lack, GateReason] = {
    "evidence": "MORE_NO_EVIDENCE",
    "anchor": "MORE_MISSING_ANCHOR",
    "overlap": "MORE_LOW_OVERLAP",
    "conflict": "MORE_CONFLICT",
    "unit": "MORE_MISSING_UNIT",
    "items": "MORE_PARTIAL_LIST",
    "judge": "MORE_JUDGE_UNSURE",
}
_MEND: Mapping[_Lack, GateReason] = {
    "anchor": "REFLECT_MISSING_ANCHOR",
    "unit": "REFLECT_MISSING_UNIT",
    "judge": "REFLECT_JUDGE_UNSURE",
}
_End = Literal["STOP_LAST_ROUND", "STOP_NO_NEW_HITS", "STOP_NO_GAIN", "LOW_BUDGET"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateProgress:
    """The rounds, edits and judge calls of a question so far; `record_verdict` is the only way on.

    Attributes:
        round: From 1.
        retried: Whether round 1b was run.
        reflections: Number of self-edits so far.
        judged: Number of calls of the judge so far.
    """

    round: int = 1
    retried: bool = False
    reflections: int = 0
    judged: int = 0

    def record_verdict(self, verdict: GateVerdict) -> "GateProgress":
        """Return the progress once the verdict has been carried out."""
        if verdict.action == "REFLECT":
            return replace(self, reflections=self.reflections + 1)
        if verdict.reason == "RETRY_MISSING_ANCHOR":
            return replace(self, retried=True)
        if verdict.action == "RETRIEVE_MORE":
            return replace(self, round=self.round + 1)
        return self

    def record_judge_call(self) -> "GateProgress":
        """Return the progress after one more call of the judge."""
        return replace(self, judged=self.judged + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSignals:
    """The signals of a draft, measured after it was written; shares are in [0, 1].

    Attributes:
        answered: Whether there is a draft with evidence at all.
        support: Share of the written sentences that their citations entail (support overlap).
        confidence: Probability that the evidence holds the answer.
        support_change: Change of `support` since the round before, in [-1, 1].
        coverage: Share of the required anchors that the evidence holds; 1 when none is required.
        coverage_change: Change of `coverage` since the round before, in [-1, 1].
        new_hits: Share of the last round's hits that had not been seen before.
        judge: The judge's confidence that the draft is right and supported; `None` when it was not
            asked about this draft.
        conflict: Whether the evidence holds an unresolved other answer of similar weight.
        factoid: Whether the question asks for one fact.
        contradicted: Whether the evidence has something else in the place of a required anchor.
        unit: Whether the answer has the kind that the question asks for, with its unit or currency.
        whole: Whether the answer gives as many things as the question asks for.
        quoting: Whether the draft only repeats sentences of documents.
        mendable: Whether a hit that was read holds what the evidence lacks.
        spent: Tokens of this question so far.
        reserved: Tokens that the next round takes at most.
        baseline: Tokens that the baseline spends on a question. Without a language model all three
            are 0, and every round is affordable.
        left: Tokens that the question's budget still allows.
    """

    answered: bool
    support: float
    confidence: float = 1.0
    support_change: float = 0.0
    coverage: float = 1.0
    coverage_change: float = 0.0
    new_hits: float = 1.0
    judge: float | None = None
    conflict: bool = False
    factoid: bool = True
    contradicted: bool = False
    unit: bool = True
    whole: bool = True
    quoting: bool = False
    mendable: bool = False
    spent: float = 0
    reserved: float = 0
    baseline: float = 0
    left: float = inf
    progress: GateProgress = field(default_factory=GateProgress)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateThresholds:
    """The gate's constants; `from_settings` builds those of a configuration.

    Attributes:
        gated: Whether the gate decides; otherwise every draft is shown as it is, and no judge
            asked.
        rounds: Largest number of rounds, at least 1; config B has 2.
        reflections: Largest number of self-edits.
        tau_overlap: Least support of a draft that may be shown, in [0, 1].
        new_hits: Epsilon; a smaller share of new hits ends the search.
        coverage_stop: Least coverage at which no anchor is lacking.
        coverage_min: Least coverage at which a draft may be shown for its support once the search
            has ended; `coverage_stop` here is the strictest reading.
        tau_missing: Least support and confidence of quotes that are shown though an anchor is
            missing; sentences are not shown then.
        judge: When the judge is asked: never, in the grey zone of support, or every round.
        judge_calls: Largest number of calls per question under `grey_zone`.
        grey_low: Lower end of the grey zone of support, included.
        grey_high: Upper end of the grey zone of support, included.
        faith: Least confidence of the judge.
        faith_quotes: Least confidence of the judge in a draft that only repeats documents.
        regeneration: Tokens that must be left for round 1b or a self-edit.
        ceiling: A further round runs only if spent + reserved <= ceiling * baseline.
        conflict_abstains: Whether a conflict that stays open withholds the draft; otherwise the
            draft is shown with its alternatives.
    """

    gated: bool = _CONFIG_A.gate
    rounds: int = 1
    reflections: int = 1
    tau_overlap: float = _CONFIG_A.tau_overlap
    new_hits: float = _CONFIG_A.new_hits
    coverage_stop: float = 1.0
    coverage_min: float = _CONFIG_A.coverage_min
    tau_missing: float = _CONFIG_A.tau_missing
    tau_none: float = _CONFIG_A.tau_none
    judge: JudgePolicy = "grey_zone"
    judge_calls: int = 1
    grey_low: float = _CONFIG_A.grey_low
    grey_high: float = _CONFIG_A.grey_high
    faith: float = _CONFIG_A.faith
    faith_quotes: float = _CONFIG_A.faith_quotes
    regeneration: float = _CONFIG_A.regeneration
    ceiling: float = _CONFIG_A.ceiling
    conflict_abstains: bool = _CONFIG_A.conflict_abstains

    @classmethod
    def from_settings(cls, settings: AnchorSettings, tau_overlap: float | None = None) -> Self:
        """Build the constants of a configuration; `tau_overlap` replaces that of the settings."""
        shared = {constant.name for constant in fields(cls)} & set(AnchorSettings.model_fields)
        chosen = {name: getattr(settings, name) for name in shared}
        if tau_overlap is not None:
            chosen["tau_overlap"] = tau_overlap
        return cls(
            gated=settings.gate,
            # Config B of the study: a second round, and the judge in every round.
            rounds=2 if settings.config == "B" else 1,
            judge="always" if settings.config == "B" else "grey_zone",
            **chosen,
        )

    @property
    def max_decisions(self) -> int:
        """The largest number of decisions until the gate stops or abstains, with any signals."""
        return self.rounds + 1 + self.reflections


def is_affordable(signals: GateSignals, thresholds: GateThresholds) -> bool:
    """Return whether another round may run: spent + reserved <= ceiling * baseline, and left."""
    is_below_ceiling = signals.spent + signals.reserved <= thresholds.ceiling * signals.baseline
    return is_below_ceiling and signals.reserved <= signals.left


def can_retry(signals: GateSignals, thresholds: GateThresholds) -> bool:
    """Return whether round 1b may run: once, for a fact with a missing anchor, with tokens left."""
    return (
        signals.factoid
        and not signals.progress.retried
        and signals.coverage < thresholds.coverage_stop
        and signals.left >= thresholds.regeneration
    )


def wants_judge(signals: GateSignals, thresholds: GateThresholds) -> bool:
    """Return whether the judge is to be asked about this draft before the gate decides."""
    may_ask = thresholds.gated and thresholds.judge != "never"
    if not (may_ask and signals.answered and signals.judge is None):
        return False
    if thresholds.judge == "always":
        return True
    is_in_grey_zone = thresholds.grey_low <= signals.support <= thresholds.grey_high
    return is_in_grey_zone and signals.progress.judged < thresholds.judge_calls


def decide(signals: GateSignals, thresholds: GateThresholds) -> GateVerdict:
    """Return the gate's verdict on a draft.

    With `GateProgress.record_verdict` between the calls, the gate stops or abstains after at most
    `GateThresholds.max_decisions` calls.
    """
    if not thresholds.gated:
        return GateVerdict(action="STOP", reason="STOP_NO_GATE")
    lack = _find_lack(signals, thresholds)
    if lack is None:
        was_judged = signals.judge is not None
        return GateVerdict(
            action="STOP", reason="STOP_JUDGE_OK" if was_judged else "STOP_OVERLAP_OK"
        )
    # A self-edit costs less than a round of search, so it comes first.
    if lack in _MEND and _can_mend(lack, signals, thresholds):
        return GateVerdict(action="REFLECT", reason=_MEND[lack])
    end = _find_end(signals, thresholds)
    if end is None:
        return GateVerdict(action="RETRIEVE_MORE", reason=_MORE[lack])
    return _choose_last_try(lack, signals, thresholds) or _decide_finally(end, signals, thresholds)


def _find_lack(signals: GateSignals, thresholds: GateThresholds) -> _Lack | None:
    """Return the gravest reason not to show the draft yet; `None` if nothing is lacking."""
    # The gravest first: the first one that holds is the reason given.
    lacks: dict[_Lack, bool] = {
        "evidence": not signals.answered,
        "anchor": signals.coverage < thresholds.coverage_stop,
        "unit": not signals.unit,
        "overlap": signals.support < thresholds.tau_overlap,
        "conflict": signals.conflict,
        "items": not signals.whole,
        "judge": _is_doubted(signals, thresholds),
    }
    return next((name for name, missing in lacks.items() if missing), None)


def _find_end(signals: GateSignals, thresholds: GateThresholds) -> _End | None:
    """Return why no further round may run; `None` if one may."""
    progress = signals.progress
    searched_again = progress.round > 1 or progress.retried
    if searched_again and signals.new_hits < thresholds.new_hits:
        return "STOP_NO_NEW_HITS"
    if searched_again and max(signals.support_change, signals.coverage_change) <= 0:
        return "STOP_NO_GAIN"
    if progress.round >= thresholds.rounds:
        return "STOP_LAST_ROUND"
    return None if is_affordable(signals, thresholds) else "LOW_BUDGET"


def _can_reflect(signals: GateSignals, thresholds: GateThresholds) -> bool:
    """Return whether a self-edit and the tokens for it are left."""
    edits_left = signals.progress.reflections < thresholds.reflections
    return edits_left and signals.left >= thresholds.regeneration


def _can_mend(lack: _Lack, signals: GateSignals, thresholds: GateThresholds) -> bool:
    """Return whether the reader may mend what the judge doubts, or what other hits hold."""
    return (lack == "judge" or signals.mendable) and _can_reflect(signals, thresholds)


def _choose_last_try(
    lack: _Lack, signals: GateSignals, thresholds: GateThresholds
) -> GateVerdict | None:
    """Return the last try when no round is left: round 1b, or an edit of unsupported sentences."""
    if can_retry(signals, thresholds):
        return GateVerdict(action="RETRIEVE_MORE", reason="RETRY_MISSING_ANCHOR")
    if lack == "overlap" and signals.support > 0 and _can_reflect(signals, thresholds):
        return GateVerdict(action="REFLECT", reason="REFLECT_LOW_OVERLAP")
    return None


def _decide_finally(end: _End, signals: GateSignals, thresholds: GateThresholds) -> GateVerdict:
    """Return the verdict when the search has ended: show the draft, or withhold it."""
    reason = _find_abstention(signals, thresholds)
    if reason is None:
        return GateVerdict(action="STOP", reason=end if signals.whole else "STOP_PARTIAL_LIST")
    return GateVerdict(
        action="ABSTAIN", reason="ABSTAIN_LOW_BUDGET" if end == "LOW_BUDGET" else reason
    )


def _find_abstention(signals: GateSignals, thresholds: GateThresholds) -> GateReason | None:
    """Return the reason to withhold a draft when nothing more can be tried; `None` to show it."""
    is_weak = signals.support < thresholds.tau_overlap
    is_uncovered = signals.coverage < thresholds.coverage_stop
    reasons: dict[GateReason, bool] = {
        "ABSTAIN_NO_EVIDENCE": not signals.answered,
        "ABSTAIN_MISSING_ANCHOR": is_uncovered and _lacks_anchors(signals, thresholds),
        "ABSTAIN_MISSING_UNIT": not signals.unit,
        "ABSTAIN_LOW_OVERLAP": is_weak,
        "ABSTAIN_CONFLICT": signals.conflict and thresholds.conflict_abstains,
        "ABSTAIN_JUDGE_UNSURE": _is_doubted(signals, thresholds),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _lacks_anchors(signals: GateSignals, thresholds: GateThresholds) -> bool:
    """Return whether the missing anchors withhold the draft in spite of its support.

    A sentence of a draft is supported by its own quotes, whatever these are about. Only a draft of
    quotes may therefore be shown without an anchor.
    """
    if signals.contradicted or signals.coverage < thresholds.coverage_min:
        return True
    least = thresholds.tau_missing if signals.coverage else thresholds.tau_none
    sureness = min(signals.support, signals.confidence)
    return not signals.quoting or sureness < max(least, thresholds.tau_overlap)


def _is_doubted(signals: GateSignals, thresholds: GateThresholds) -> bool:
    """Return whether the judge was asked and is not sure."""
    least = thresholds.faith_quotes if signals.quoting else thresholds.faith
    return signals.judge is not None and signals.judge < least
