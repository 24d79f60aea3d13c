"""BAUG: a table of cases that reaches every reason, and a proof that its loop ends."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hypothesis_settings import CALM

from fathom.control.gate import (
    GateProgress,
    GateSignals,
    GateThresholds,
    can_retry,
    decide,
    is_affordable,
    wants_judge,
)
from fathom.control.reasons import ABSTENTION_REASONS, REASONS, GateVerdict

A = GateThresholds()
B = GateThresholds(rounds=2, judge="always")
THREE = GateThresholds(rounds=3)
FIRM = GateThresholds(conflict_abstains=True)
GOOD: dict[str, Any] = {"answered": True, "support": 0.9}
QUOTED: dict[str, Any] = {**GOOD, "quoting": True}
WEAK: dict[str, Any] = {"answered": True, "support": 0.2}
DEAR: dict[str, Any] = {"spent": 1000, "reserved": 500, "baseline": 1000}
GAIN: dict[str, Any] = {"support_change": 0.1}
EDITED: dict[str, Any] = {"reflections": 1}
TRIED: dict[str, Any] = {"retried": True, "reflections": 1}

GateCase = tuple[str, str, GateThresholds, dict[str, Any], dict[str, Any]]

# action, reason, thresholds, signals, progress
CASES: list[GateCase] = [
    ("STOP", "STOP_OVERLAP_OK", A, GOOD, {}),
    ("STOP", "STOP_OVERLAP_OK", A, {**GOOD, "support": 0.42}, {}),
    ("STOP", "STOP_OVERLAP_OK", A, {**GOOD, "mendable": True}, {}),
    ("STOP", "STOP_OVERLAP_OK", B, {**GOOD, **DEAR, "new_hits": 0.0}, {"round": 2}),
    ("STOP", "STOP_JUDGE_OK", A, {**GOOD, "judge": 0.65}, {}),
    # a round is left: what is lacking is looked for
    ("RETRIEVE_MORE", "MORE_NO_EVIDENCE", B, {"answered": False, "support": 0.0}, {}),
    ("RETRIEVE_MORE", "MORE_MISSING_ANCHOR", B, {**GOOD, "coverage": 0.5}, {}),
    ("RETRIEVE_MORE", "MORE_LOW_OVERLAP", B, WEAK, {}),
    ("RETRIEVE_MORE", "MORE_CONFLICT", B, {**GOOD, "conflict": True}, {}),
    ("RETRIEVE_MORE", "MORE_MISSING_UNIT", B, {**GOOD, "unit": False}, {}),
    ("RETRIEVE_MORE", "MORE_PARTIAL_LIST", B, {**GOOD, "whole": False}, {}),
    ("RETRIEVE_MORE", "MORE_JUDGE_UNSURE", B, {**GOOD, "judge": 0.5}, EDITED),
    # the first round cannot have failed to bring news
    ("RETRIEVE_MORE", "MORE_LOW_OVERLAP", B, {**WEAK, "new_hits": 0.0}, {}),
    ("RETRIEVE_MORE", "MORE_LOW_OVERLAP", THREE, {**WEAK, "support_change": 0.1}, {"round": 2}),
    # one self-edit; what is missing is mended where another hit holds it
    ("REFLECT", "REFLECT_MISSING_ANCHOR", A, {**GOOD, "coverage": 0.5, "mendable": True}, {}),
    ("RETRIEVE_MORE", "RETRY_MISSING_ANCHOR", A, {**GOOD, "coverage": 0.5, "mendable": True},
     EDITED),
    ("REFLECT", "REFLECT_MISSING_UNIT", A, {**GOOD, "unit": False, "mendable": True}, {}),
    ("REFLECT", "REFLECT_JUDGE_UNSURE", B, {**GOOD, "judge": 0.5}, {}),
    ("REFLECT", "REFLECT_JUDGE_UNSURE", A, {**GOOD, "judge": 0.5}, {}),
    ("REFLECT", "REFLECT_LOW_OVERLAP", A, WEAK, {}),
    # round 1b, before anything else is given up
    ("RETRIEVE_MORE", "RETRY_MISSING_ANCHOR", A, {**WEAK, "coverage": 0.5, "left": 300}, {}),
    ("RETRIEVE_MORE", "RETRY_MISSING_ANCHOR", A, {**GOOD, "coverage": 0.5}, {}),
    ("RETRIEVE_MORE", "RETRY_MISSING_ANCHOR", B, {**GOOD, "coverage": 0.0}, {"round": 2}),
    # nothing more can be done, and what is lacking is minor
    ("STOP", "STOP_LAST_ROUND", A, {**QUOTED, **GAIN, "coverage": 0.5}, TRIED),
    ("STOP", "STOP_LAST_ROUND", A, {**QUOTED, "coverage": 0.5, "left": 299}, {}),
    ("STOP", "STOP_LAST_ROUND", A, {**QUOTED, "coverage": 0.5, "factoid": False}, {}),
    ("STOP", "STOP_PARTIAL_LIST", A, {**GOOD, "whole": False}, {}),
    ("STOP", "STOP_NO_NEW_HITS", THREE, {**QUOTED, "coverage": 0.5, "new_hits": 0.14},
     {"round": 2, **TRIED}),
    ("STOP", "STOP_NO_NEW_HITS", B, {**QUOTED, "coverage": 0.5, "new_hits": 0.0}, TRIED),
    ("STOP", "STOP_NO_GAIN", THREE, {**QUOTED, "coverage": 0.5}, {"round": 2, **TRIED}),
    ("STOP", "LOW_BUDGET", B, {**QUOTED, **GAIN, "coverage": 0.5, **DEAR}, TRIED),
    ("STOP", "LOW_BUDGET", B, {**QUOTED, "coverage": 0.5, **DEAR, "left": 100}, {}),
    # nothing more can be done, and it must not be shown
    ("ABSTAIN", "ABSTAIN_NO_EVIDENCE", A, {"answered": False, "support": 0.0}, {}),
    ("ABSTAIN", "ABSTAIN_MISSING_ANCHOR", A, {**WEAK, "coverage": 0.5}, TRIED),
    # another year than asked for is never shown, however sure the reader is
    ("ABSTAIN", "ABSTAIN_MISSING_ANCHOR", A,
     {**GOOD, "support": 1.0, "coverage": 0.9, "contradicted": True}, TRIED),
    ("ABSTAIN", "ABSTAIN_MISSING_ANCHOR", GateThresholds(tau_missing=0.5),
     {**GOOD, "support": 0.49, "coverage": 0.9}, TRIED),
    ("STOP", "STOP_NO_GAIN", GateThresholds(tau_missing=0.5),
     {**QUOTED, "support": 0.5, "coverage": 0.1}, TRIED),
    # a model's bare answer has full support, however unsure its quotes are
    ("ABSTAIN", "ABSTAIN_MISSING_ANCHOR", A,
     {**QUOTED, "support": 1.0, "confidence": 0.41, "coverage": 0.1}, TRIED),
    # none of the names stands in the evidence
    ("ABSTAIN", "ABSTAIN_MISSING_ANCHOR", GateThresholds(tau_none=0.7),
     {**QUOTED, "support": 0.69, "coverage": 0.0}, TRIED),
    ("STOP", "STOP_NO_GAIN", GateThresholds(tau_none=0.7),
     {**QUOTED, "support": 0.7, "coverage": 0.0}, TRIED),
    ("ABSTAIN", "ABSTAIN_MISSING_ANCHOR", A, {**GOOD, "support": 1.0, "coverage": 0.9}, TRIED),
    ("ABSTAIN", "ABSTAIN_MISSING_UNIT", A, {**GOOD, "unit": False}, {}),
    ("ABSTAIN", "ABSTAIN_LOW_OVERLAP", A, WEAK, EDITED),
    ("ABSTAIN", "ABSTAIN_LOW_OVERLAP", A, {**WEAK, "support": 0.0}, {}),
    ("ABSTAIN", "ABSTAIN_LOW_OVERLAP", B, {**WEAK, "new_hits": 0.0}, {"round": 2, **TRIED}),
    ("STOP", "STOP_LAST_ROUND", A, {**GOOD, "conflict": True}, {}),
    ("ABSTAIN", "ABSTAIN_CONFLICT", FIRM, {**GOOD, "conflict": True}, {}),
    ("ABSTAIN", "ABSTAIN_JUDGE_UNSURE", A, {**GOOD, "judge": 0.64}, EDITED),
    ("ABSTAIN", "ABSTAIN_JUDGE_UNSURE", A, {**QUOTED, "judge": 0.19}, EDITED),
    ("STOP", "STOP_JUDGE_OK", A, {**QUOTED, "judge": 0.2}, {}),
    ("ABSTAIN", "ABSTAIN_LOW_BUDGET", B, {**WEAK, **GAIN, **DEAR}, TRIED),
    ("ABSTAIN", "ABSTAIN_LOW_BUDGET", B, {**WEAK, **DEAR, "left": 200}, {}),
    # settings
    ("ABSTAIN", "ABSTAIN_MISSING_ANCHOR", GateThresholds(coverage_min=1.0),
     {**GOOD, "coverage": 0.9}, TRIED),
    ("STOP", "STOP_OVERLAP_OK", GateThresholds(coverage_stop=0.5), {**GOOD, "coverage": 0.5}, {}),
    ("ABSTAIN", "ABSTAIN_LOW_OVERLAP", GateThresholds(reflections=0), WEAK, {}),
    ("STOP", "STOP_NO_GATE", GateThresholds(gated=False), {**WEAK, "coverage": 0.0}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("action", "reason", "thresholds", "signals", "progress"), CASES)
def test_every_case_of_the_table(
    action: str,
    reason: str,
    thresholds: GateThresholds,
    signals: dict[str, Any],
    progress: dict[str, Any],
) -> None:
    verdict = decide(GateSignals(**signals, progress=GateProgress(**progress)), thresholds)
    assert (verdict.action, verdict.reason) == (action, reason)


def test_every_reason_is_reached() -> None:
    assert {reason for _, reason, *_ in CASES} == set(REASONS)


def test_every_abstention_has_a_reason_in_the_answer() -> None:
    abstentions = {reason for action, reason, *_ in CASES if action == "ABSTAIN"}
    assert set(ABSTENTION_REASONS) == abstentions
    assert GateVerdict(action="ABSTAIN", reason="ABSTAIN_CONFLICT").abstention_reason == "conflict"
    assert GateVerdict(action="STOP", reason="STOP_NO_NEW_HITS").abstention_reason is None


@pytest.mark.parametrize(
    ("spent", "reserved", "baseline", "remaining", "runs"),
    [
        (700, 500, 1000, 9000, True),  # exactly 1.2 times
        (701, 500, 1000, 9000, False),
        (700, 500, 1000, 499, False),
        (0, 0, 0, 0, True),  # no language model
        (0, 1, 0, 9000, False),
    ],
)
def test_a_further_round_runs_within_the_allowance(
    spent: int, reserved: int, baseline: int, remaining: int, runs: bool
) -> None:
    signals = GateSignals(
        answered=True,
        support=0.2,
        spent=spent,
        reserved=reserved,
        baseline=baseline,
        left=remaining,
    )
    assert is_affordable(signals, B) is runs


@pytest.mark.parametrize(
    ("settings", "retried", "runs"),
    [
        ({"coverage": 0.5, "left": 300}, False, True),
        ({"coverage": 0.5}, False, True),
        ({"coverage": 0.5, "left": 299}, False, False),
        ({"coverage": 0.5}, True, False),
        ({"coverage": 1.0}, False, False),
        ({"coverage": 0.5, "factoid": False}, False, False),
    ],
)
def test_round_1b_runs_within_its_rule(settings: dict[str, Any], retried: bool, runs: bool) -> None:
    assert (
        can_retry(GateSignals(**WEAK, **settings, progress=GateProgress(retried=retried)), A)
        is runs
    )


@pytest.mark.parametrize(
    ("thresholds", "support", "judged", "asks"),
    [
        (A, 0.40, 0, True),
        (A, 0.60, 0, True),
        (A, 0.39, 0, False),
        (A, 0.61, 0, False),
        (A, 0.50, 1, False),
        (B, 0.99, 3, True),
        (GateThresholds(judge="never"), 0.5, 0, False),
    ],
)
def test_the_judge_is_asked_in_the_grey_zone(
    thresholds: GateThresholds, support: float, judged: int, asks: bool
) -> None:
    progress = GateProgress()
    for _ in range(judged):
        progress = progress.record_judge_call()
    signals = GateSignals(answered=True, support=support, progress=progress)
    assert wants_judge(signals, thresholds) is asks


def test_the_judge_is_asked_once_per_draft() -> None:
    assert not wants_judge(GateSignals(answered=False, support=0.5), A)
    assert not wants_judge(GateSignals(answered=True, support=0.5, judge=0.1), A)


SHARE = st.floats(0, 1)
TOKENS = st.integers(0, 4000)
SIGNALS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "answered": st.booleans(),
        "support": SHARE,
        "support_change": st.floats(-1, 1),
        "coverage": SHARE,
        "coverage_change": st.floats(-1, 1),
        "new_hits": SHARE,
        "judge": st.none() | SHARE,
        "conflict": st.booleans(),
        "factoid": st.booleans(),
        "contradicted": st.booleans(),
        "unit": st.booleans(),
        "whole": st.booleans(),
        "mendable": st.booleans(),
        "quoting": st.booleans(),
        "spent": TOKENS,
        "reserved": TOKENS,
        "baseline": TOKENS,
        "left": TOKENS,
    }
)
THRESHOLDS = st.builds(
    GateThresholds,
    rounds=st.integers(1, 4),
    reflections=st.integers(0, 3),
    tau_overlap=SHARE,
    new_hits=SHARE,
    coverage_stop=SHARE,
    coverage_min=SHARE,
    faith=SHARE,
    conflict_abstains=st.booleans(),
)


@settings(CALM, max_examples=300)
@given(thresholds=THRESHOLDS, data=st.data())
def test_the_loop_ends_with_any_signals(thresholds: GateThresholds, data: st.DataObject) -> None:
    progress = GateProgress()
    for _ in range(thresholds.max_decisions):
        signals = GateSignals(**data.draw(SIGNALS), progress=progress)
        verdict = decide(signals, thresholds)
        if verdict.action in {"STOP", "ABSTAIN"}:
            assert (verdict.abstention_reason is None) == (verdict.action == "STOP")
            return
        before, progress = progress, progress.record_verdict(verdict)
        assert progress != before
        assert progress.round <= thresholds.rounds
        assert progress.reflections <= thresholds.reflections
    pytest.fail("the gate did not come to an end")


@CALM
@given(signals=SIGNALS, thresholds=THRESHOLDS)
def test_unsupported_answers_are_never_shown(
    signals: dict[str, Any], thresholds: GateThresholds
) -> None:
    verdict = decide(GateSignals(**signals), thresholds)
    if verdict.action == "STOP":
        assert signals["answered"]
        assert signals["support"] >= thresholds.tau_overlap
        assert signals["unit"]
        uncovered = signals["coverage"] < thresholds.coverage_stop
        assert not (uncovered and (signals["contradicted"] or not signals["quoting"]))
