"""BAUG, the budget-aware uncertainty gate: stop, look again, edit once, or abstain.

From the study of anchors and BAUG, section 3. A draft is shown (`STOP`) when it is supported, all
required anchors are in its evidence, it is of the kind and unit asked for, no conflict is open, a
list is whole, and a judge that was asked agrees. Else something is lacking: the draft is mended if
what was read can mend it, and the gate looks again while rounds, new hits and budget allow it. What
remains lacking then decides between a draft that is shown for want of better and an abstention.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import inf
from typing import Literal, Self

from fathom.control.reasons import GateReason, GateVerdict
from fathom.settings.anchor import AnchorSettings

__all__ = [
    "GateProgress",
    "GateVerdict",
    "Signals",
    "Thresholds",
    "affordable",
    "decide",
    "may_retry",
    "wants_judge",
]

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
    """How often a question has gone round already; `after` is the only way on.

    Attributes:
        round: From 1.
        retried: Whether round 1b was run.
        reflections: Self-edits so far.
        judged: Calls of the judge so far.
    """

    round: int = 1
    retried: bool = False
    reflections: int = 0
    judged: int = 0

    def after(self, verdict: GateVerdict) -> "GateProgress":
        """The progress once the verdict has been carried out."""
        if verdict.action == "REFLECT":
            return replace(self, reflections=self.reflections + 1)
        if verdict.reason == "RETRY_MISSING_ANCHOR":
            return replace(self, retried=True)
        if verdict.action == "RETRIEVE_MORE":
            return replace(self, round=self.round + 1)
        return self

    def after_judge(self) -> "GateProgress":
        """The progress once the judge has been asked."""
        return replace(self, judged=self.judged + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What is known of a draft, measured after it was written; shares are in [0, 1].

    Attributes:
        answered: Whether there is a draft with evidence at all.
        support: Share of the draft's sentences that what they cite entails (support overlap).
        support_change: Against the round before, in [-1, 1].
        coverage: Share of the required anchors that the evidence holds; 1 when none is required.
        coverage_change: Against the round before, in [-1, 1].
        new_hits: Share of the last round's hits that had not been seen before.
        judge: Confidence of the judge that the draft is right and supported; `None` when it was
            not asked about this draft.
        conflict: Whether the evidence holds another answer of like weight that is not resolved.
        factoid: Whether one fact is asked for.
        contradicted: Whether the evidence has something else in the place of a required anchor.
        unit: Whether the answer is of the kind asked for, with its unit or currency.
        whole: Whether as many things are given as are asked for.
        quoting: Whether the draft only repeats what documents say.
        mendable: Whether something that was read holds what the evidence lacks.
        spent: Tokens of this question so far.
        reserved: Tokens that the next round takes at most.
        baseline: Tokens that the baseline spends on a question. Without a language model all
            three are 0, and every round is affordable.
        left: Tokens that the question's budget still allows.
    """

    answered: bool
    support: float
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
class Thresholds:
    """The gate's constants; `of` makes those of a configuration.

    Attributes:
        gated: Whether anything is decided; else every draft is shown as it is, and no judge asked.
        rounds: At most so many rounds, at least 1; config B has 2.
        reflections: At most so many self-edits.
        tau_overlap: Least support of a draft that may be shown, in [0, 1].
        new_hits: Epsilon; fewer new hits than this share end the search.
        coverage_stop: Coverage with which nothing is lacking.
        coverage_min: Below it a draft is withheld when the search has ended, in spite of its
            support; `coverage_stop` here is the strictest reading.
        tau_missing: Least support of quotes that are shown though an anchor is missing; sentences
            are not.
        judge: When the judge is asked: never, in the grey zone of support, or every round.
        judge_calls: At most so many calls a question under `grey_zone`.
        grey_low: Grey zone of support, both ends included.
        grey_high: See `grey_low`.
        faith: Least confidence of the judge.
        faith_quotes: The same for a draft that only repeats what documents say.
        regeneration: Tokens that must be left for round 1b or a self-edit.
        ceiling: A further round runs only if spent + reserved <= ceiling * baseline.
        conflict_abstains: Whether a conflict that stays open withholds the draft; else the draft
            is shown with its alternatives.
    """

    gated: bool = _CONFIG_A.gate
    rounds: int = 1
    reflections: int = 1
    tau_overlap: float = _CONFIG_A.tau_overlap
    new_hits: float = _CONFIG_A.new_hits
    coverage_stop: float = 1.0
    coverage_min: float = _CONFIG_A.coverage_min
    tau_missing: float = _CONFIG_A.tau_missing
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
    def of(cls, settings: AnchorSettings, tau_overlap: float | None = None) -> Self:
        """The constants of the configuration that is set; `tau_overlap` instead of its own."""
        shared = {each.name for each in fields(cls)} & set(AnchorSettings.model_fields)
        chosen = {name: getattr(settings, name) for name in shared}
        if tau_overlap is not None:
            chosen["tau_overlap"] = tau_overlap
        return cls(
            gated=settings.gate,
            rounds=2 if settings.config == "B" else 1,
            judge="always" if settings.config == "B" else "grey_zone",
            **chosen,
        )

    @property
    def most_decisions(self) -> int:
        """After so many decisions the gate has stopped or abstained, whatever the signals."""
        return self.rounds + 1 + self.reflections


def affordable(signals: Signals, thresholds: Thresholds) -> bool:
    """Whether another round may run: spent + reserved <= ceiling * baseline, and it is left."""
    inside = signals.spent + signals.reserved <= thresholds.ceiling * signals.baseline
    return inside and signals.reserved <= signals.left


def may_retry(signals: Signals, thresholds: Thresholds) -> bool:
    """Whether round 1b may run: once, for a fact whose anchor is missing, with tokens left."""
    return (
        signals.factoid
        and not signals.progress.retried
        and signals.coverage < thresholds.coverage_stop
        and signals.left >= thresholds.regeneration
    )


def wants_judge(signals: Signals, thresholds: Thresholds) -> bool:
    """Whether the judge is to be asked about this draft before the gate decides."""
    asks = thresholds.gated and thresholds.judge != "never"
    if not (asks and signals.answered and signals.judge is None):
        return False
    if thresholds.judge == "always":
        return True
    grey = thresholds.grey_low <= signals.support <= thresholds.grey_high
    return grey and signals.progress.judged < thresholds.judge_calls


def decide(signals: Signals, thresholds: Thresholds) -> GateVerdict:
    """The gate.

    With `GateProgress.after` between the calls, at most `Thresholds.most_decisions` calls are made
    until it stops or abstains.
    """
    if not thresholds.gated:
        return GateVerdict(action="STOP", reason="STOP_NO_GATE")
    lack = _lack(signals, thresholds)
    if lack is None:
        sure = signals.judge is not None
        return GateVerdict(action="STOP", reason="STOP_JUDGE_OK" if sure else "STOP_OVERLAP_OK")
    if lack in _MEND and _may_mend(lack, signals, thresholds):
        return GateVerdict(action="REFLECT", reason=_MEND[lack])
    end = _end(signals, thresholds)
    if end is None:
        return GateVerdict(action="RETRIEVE_MORE", reason=_MORE[lack])
    return _last_try(lack, signals, thresholds) or _final(end, signals, thresholds)


def _lack(signals: Signals, thresholds: Thresholds) -> _Lack | None:
    """What keeps the draft from being shown, the gravest first."""
    lacks: dict[_Lack, bool] = {
        "evidence": not signals.answered,
        "anchor": signals.coverage < thresholds.coverage_stop,
        "unit": not signals.unit,
        "overlap": signals.support < thresholds.tau_overlap,
        "conflict": signals.conflict,
        "items": not signals.whole,
        "judge": _doubted(signals, thresholds),
    }
    return next((name for name, missing in lacks.items() if missing), None)


def _end(signals: Signals, thresholds: Thresholds) -> _End | None:
    """Why no further round may run."""
    progress = signals.progress
    again = progress.round > 1 or progress.retried
    if again and signals.new_hits < thresholds.new_hits:
        return "STOP_NO_NEW_HITS"
    if again and max(signals.support_change, signals.coverage_change) <= 0:
        return "STOP_NO_GAIN"
    if progress.round >= thresholds.rounds:
        return "STOP_LAST_ROUND"
    return None if affordable(signals, thresholds) else "LOW_BUDGET"


def _may_reflect(signals: Signals, thresholds: Thresholds) -> bool:
    edits_left = signals.progress.reflections < thresholds.reflections
    return edits_left and signals.left >= thresholds.regeneration


def _may_mend(lack: _Lack, signals: Signals, thresholds: Thresholds) -> bool:
    """Whether the reader may mend what the judge doubts, or what other hits hold."""
    return (lack == "judge" or signals.mendable) and _may_reflect(signals, thresholds)


def _last_try(lack: _Lack, signals: Signals, thresholds: Thresholds) -> GateVerdict | None:
    """What may still be tried when no round is left: round 1b, or to drop what has no support."""
    if may_retry(signals, thresholds):
        return GateVerdict(action="RETRIEVE_MORE", reason="RETRY_MISSING_ANCHOR")
    if lack == "overlap" and signals.support > 0 and _may_reflect(signals, thresholds):
        return GateVerdict(action="REFLECT", reason="REFLECT_LOW_OVERLAP")
    return None


def _final(end: _End, signals: Signals, thresholds: Thresholds) -> GateVerdict:
    """Show the draft for want of better, or withhold it."""
    reason = _grave(signals, thresholds)
    if reason is None:
        return GateVerdict(action="STOP", reason=end if signals.whole else "STOP_PARTIAL_LIST")
    return GateVerdict(
        action="ABSTAIN", reason="ABSTAIN_LOW_BUDGET" if end == "LOW_BUDGET" else reason
    )


def _grave(signals: Signals, thresholds: Thresholds) -> GateReason | None:
    """What must not be shown even when nothing more can be done."""
    weak = signals.support < thresholds.tau_overlap
    uncovered = signals.coverage < thresholds.coverage_stop
    grave: dict[GateReason, bool] = {
        "ABSTAIN_NO_EVIDENCE": not signals.answered,
        "ABSTAIN_MISSING_ANCHOR": uncovered and _misses(signals, thresholds),
        "ABSTAIN_MISSING_UNIT": not signals.unit,
        "ABSTAIN_LOW_OVERLAP": weak,
        "ABSTAIN_CONFLICT": signals.conflict and thresholds.conflict_abstains,
        "ABSTAIN_JUDGE_UNSURE": _doubted(signals, thresholds),
    }
    return next((reason for reason, holds in grave.items() if holds), None)


def _misses(signals: Signals, thresholds: Thresholds) -> bool:
    """Whether what is missing cannot be overlooked for the sake of the support there is.

    The support of sentences is that by their own quotes, whatever these are about.
    """
    if signals.contradicted or signals.coverage < thresholds.coverage_min:
        return True
    return not signals.quoting or signals.support < max(
        thresholds.tau_missing, thresholds.tau_overlap
    )


def _doubted(signals: Signals, thresholds: Thresholds) -> bool:
    """Whether the judge was asked, and is not sure."""
    least = thresholds.faith_quotes if signals.quoting else thresholds.faith
    return signals.judge is not None and signals.judge < least
