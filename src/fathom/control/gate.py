"""BAUG, the budget-aware uncertainty gate: stop, search again, edit once, or abstain.

From the study of anchors and BAUG, section 3. The gate shows a draft (`STOP`) if nothing is
lacking: there is evidence that supports it and holds all required anchors, the answer has the kind
and unit that the question asks for, no conflict is open, a list is complete, and the judge, if
asked, agrees. Otherwise it orders a self-edit (`REFLECT`) if the hits that were read can mend the
draft, else a further search (`RETRIEVE_MORE`) while rounds, new hits and budget allow one. When
nothing more can be tried, it shows a draft with a minor lack and withholds one with a serious lack
(`ABSTAIN`). docs/control.md has the table of all cases.
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
"""Anything that a draft can lack; `overlap` is support, `unit` also the kind of the answer."""
_MORE: Mapping[_Lack, GateReason] = {
    "evidence": "MORE_NO_EVIDENCE",
    "anchor": "MORE_MISSING_ANCHOR",
    "overlap": "MORE_LOW_OVERLAP",
    "conflict": "MORE_CONFLICT",
    "unit": "MORE_MISSING_UNIT",
    "items": "MORE_PARTIAL_LIST",
    "judge": "MORE_JUDGE_UNSURE",
}
"""The reason to search again, by the lack."""
_MEND: Mapping[_Lack, GateReason] = {
    "anchor": "REFLECT_MISSING_ANCHOR",
    "unit": "REFLECT_MISSING_UNIT",
    "judge": "REFLECT_JUDGE_UNSURE",
}
"""The reason of a self-edit before a further search, by the lacks that one can mend."""
_End = Literal["STOP_LAST_ROUND", "STOP_NO_NEW_HITS", "STOP_NO_GAIN", "LOW_BUDGET"]
"""The reasons why no further round may run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateProgress:
    """The rounds, self-edits and judge calls of a question so far.

    Attributes:
        round: The number of the current round, from 1.
        retried: Whether round 1b, the extra search for missing anchors, was run.
        reflections: The number of self-edits so far.
        judged: The number of calls of the judge so far.
    """

    round: int = 1
    retried: bool = False
    reflections: int = 0
    judged: int = 0

    def record_verdict(self, verdict: GateVerdict) -> "GateProgress":
        """Return the progress after a verdict is carried out; `STOP` and `ABSTAIN` change nothing.

        Every other verdict uses up a self-edit, round 1b or a round, so the loop of the gate ends.
        """
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
        answered: Whether there is a draft with evidence.
        support: The share of the written sentences that their citations entail (support overlap);
            for a draft of quotes, its `confidence`.
        confidence: The probability that the evidence holds the answer.
        support_change: The change of `support` since the round before, in [-1, 1].
        coverage: The share of the required anchors that the evidence holds; 1 if none is required.
        coverage_change: The change of `coverage` since the round before, in [-1, 1].
        new_hits: The share of the last round's hits that no earlier round read.
        judge: The judge's confidence that the draft is right and supported; `None` if it was not
            asked about this draft.
        conflict: Whether the evidence gives another answer with nearly as much support, as
            `AnchorSettings.like_weight` defines it.
        factoid: Whether the question asks for one fact.
        contradicted: Whether the evidence has something else in the place of a required anchor,
            such as another year.
        unit: Whether the answer has the kind that the question asks for, with its unit or currency.
        whole: Whether the answer gives as many things as the question asks for.
        quoting: Whether the draft consists of quotes alone, without sentences of a language model.
        mendable: Whether a hit that was read but is not cited can meet all requirements.
        spent: The tokens of this question so far.
        reserved: The largest number of tokens of the next round.
        baseline: The tokens that the baseline spends on a question. Without a language model
            `spent`, `reserved` and `baseline` are 0, and every round is affordable.
        left: The tokens that the chunks of one more call may have; `inf` without a language model.
        progress: The rounds, self-edits and judge calls so far.
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
        gated: Whether the gate decides. If not, every draft is shown as it is and the judge is
            never asked.
        rounds: The largest number of rounds, at least 1; config B has 2.
        reflections: The largest number of self-edits.
        tau_overlap: The least support of a draft that may be shown, in [0, 1].
        new_hits: The least share of new hits (the study's epsilon); a smaller one ends the search.
        coverage_stop: The least coverage at which no anchor is lacking.
        coverage_min: The least coverage of a draft that may be shown when the search has ended
            although an anchor is missing; the value of `coverage_stop` is the strictest.
        tau_missing: The least support and confidence of quotes that are shown when the search has
            ended although an anchor is missing; sentences of a language model never are.
        tau_none: The same as `tau_missing` if the evidence holds no required anchor at all.
        judge: The drafts that the judge is asked about: none, those with a support in the grey
            zone, or all.
        judge_calls: The largest number of calls for a question under `grey_zone`.
        grey_low: The lower end of the grey zone of support, included.
        grey_high: The upper end of the grey zone of support, included.
        faith: The least confidence of the judge in sentences of a language model.
        faith_quotes: The least confidence of the judge in a draft of quotes.
        regeneration: The tokens that must be left for round 1b or a self-edit.
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
        """Build the constants of a configuration.

        Args:
            settings: The settings of `anchor`, with the configuration.
            tau_overlap: The value to use in place of the settings' own; `None` for theirs.
        """
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
        """The largest number of decisions until the gate stops or abstains, for any signals.

        They are the verdicts for `rounds` - 1 further rounds, for round 1b and for all self-edits,
        and the last one.
        """
        return self.rounds + 1 + self.reflections


def is_affordable(signals: GateSignals, thresholds: GateThresholds) -> bool:
    """Return whether the tokens of another round are within the ceiling and within those left."""
    is_below_ceiling = signals.spent + signals.reserved <= thresholds.ceiling * signals.baseline
    return is_below_ceiling and signals.reserved <= signals.left


def can_retry(signals: GateSignals, thresholds: GateThresholds) -> bool:
    """Return whether round 1b may run.

    It may run once, for a question for one fact, if an anchor is missing and enough tokens are left
    (the study's section 3).
    """
    return (
        signals.factoid
        and not signals.progress.retried
        and signals.coverage < thresholds.coverage_stop
        and signals.left >= thresholds.regeneration
    )


def wants_judge(signals: GateSignals, thresholds: GateThresholds) -> bool:
    """Return whether the judge must be asked about this draft before the gate decides."""
    may_ask = thresholds.gated and thresholds.judge != "never"
    if not (may_ask and signals.answered and signals.judge is None):
        return False
    if thresholds.judge == "always":
        return True
    is_in_grey_zone = thresholds.grey_low <= signals.support <= thresholds.grey_high
    return is_in_grey_zone and signals.progress.judged < thresholds.judge_calls


def decide(signals: GateSignals, thresholds: GateThresholds) -> GateVerdict:
    """Return the gate's verdict on a draft.

    If the caller applies `GateProgress.record_verdict` after each call, the gate stops or abstains
    after at most `GateThresholds.max_decisions` calls.
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
    """Return the gravest lack of the draft; `None` if nothing is lacking."""
    # From the gravest on: the first lack that holds becomes the reason of the verdict.
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
    """Return the reason why no further round may run; `None` if one may."""
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
    """Return whether a self-edit may mend the lack.

    It may if an uncited hit can meet all requirements. A doubt of the judge needs no such hit,
    because the editor also drops sentences without support.
    """
    return (lack == "judge" or signals.mendable) and _can_reflect(signals, thresholds)


def _choose_last_try(
    lack: _Lack, signals: GateSignals, thresholds: GateThresholds
) -> GateVerdict | None:
    """Return the last try when no round is left; `None` if there is none.

    It is round 1b for missing anchors, or else a self-edit that drops the unsupported sentences.
    """
    if can_retry(signals, thresholds):
        return GateVerdict(action="RETRIEVE_MORE", reason="RETRY_MISSING_ANCHOR")
    if lack == "overlap" and signals.support > 0 and _can_reflect(signals, thresholds):
        return GateVerdict(action="REFLECT", reason="REFLECT_LOW_OVERLAP")
    return None


def _decide_finally(end: _End, signals: GateSignals, thresholds: GateThresholds) -> GateVerdict:
    """Return the verdict when nothing more can be tried: show the draft, or withhold it."""
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

    They do if something else stands in their place, or if too few anchors are covered. They also
    withhold all sentences of a language model, because the support of a sentence says that its
    quotes entail it, not that they are about the right thing. Quotes are shown if they are sure.
    """
    if signals.contradicted or signals.coverage < thresholds.coverage_min:
        return True
    least = thresholds.tau_missing if signals.coverage else thresholds.tau_none
    sureness = min(signals.support, signals.confidence)
    return not signals.quoting or sureness < max(least, thresholds.tau_overlap)


def _is_doubted(signals: GateSignals, thresholds: GateThresholds) -> bool:
    """Return whether the judge was asked and its confidence is too low."""
    least = thresholds.faith_quotes if signals.quoting else thresholds.faith
    return signals.judge is not None and signals.judge < least
