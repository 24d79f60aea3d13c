from dataclasses import replace

import pytest

from fathom.control.supervisor import BranchReport, Supervisor

FINE = BranchReport(name="fine", weight=0.3, failed=False, final=False, hit_count=3, kept_count=2)
FAILED = replace(FINE, name="failed", weight=0.7, failed=True, hit_count=0, kept_count=0)
SPENT = replace(FAILED, name="spent", final=True)
STRICT = replace(FAILED, name="strict", failed=False, hit_count=3)
EMPTY = replace(STRICT, name="empty", hit_count=0)


@pytest.mark.parametrize(
    ("reports", "orders", "weights", "reason"),
    [
        ([], {}, {}, "all branches are done"),
        ([FINE, FINE], {}, {}, "all branches are done"),
        ([FINE, EMPTY], {}, {"empty": 0.0}, "all branches are done"),
        ([SPENT, SPENT], {}, {"spent": 0.0}, "all branches are done"),
        ([FINE, FAILED], {"failed": "search"}, {}, "again: search of failed"),
        ([STRICT, FINE], {"strict": "filter"}, {"strict": 0.28}, "again: filter of strict"),
        (
            [STRICT, FAILED],
            {"strict": "filter", "failed": "search"},
            {"strict": 0.28},
            "again: filter of strict, search of failed",
        ),
    ],
)
def test_a_failed_branch_is_sent_out_again(
    reports: list[BranchReport], orders: dict[str, str], weights: dict[str, float], reason: str
) -> None:
    verdict = Supervisor(1, 0.4)(reports, (), 0)
    assert (verdict.orders, verdict.reason) == (orders, reason)
    assert verdict.weights == pytest.approx(weights)


@pytest.mark.parametrize("retries", range(4))
def test_a_branch_is_sent_at_most_as_often_as_allowed(retries: int) -> None:
    law = Supervisor(retries)
    sent = [bool(law([FAILED, STRICT], (), rounds).orders) for rounds in range(6)]
    assert sent == [rounds < retries for rounds in range(6)]
    assert "nothing after" in law([FAILED], (), retries).reason


@pytest.mark.parametrize("out", [EMPTY, FAILED, STRICT])
def test_a_standby_branch_takes_over_the_place_and_the_weight(out: BranchReport) -> None:
    verdict = Supervisor(0)([FINE, out], ("one", "other"), 0)
    assert verdict.orders == {"one": "search", "other": "search"}
    assert verdict.weights == {out.name: 0.0, "one": 0.35, "other": 0.35}
    assert f"one, other instead of {out.name}" in verdict.reason


def test_no_standby_serves_while_retries_remain_or_without_budget() -> None:
    assert Supervisor(1)([FINE, FAILED], ("one",), 0).orders == {"failed": "search"}
    assert Supervisor(1)([FINE, SPENT], ("one",), 0).orders == {}
    assert Supervisor(1)([FINE, replace(EMPTY, weight=0.0)], ("one",), 0).orders == {}


SURE = replace(FINE, name="sure", confidence=0.8)
UNSURE = replace(FINE, name="unsure", weight=0.4, confidence=0.3)


def test_a_branch_of_low_confidence_is_weighed_down_once() -> None:
    law = Supervisor(1, 0.5, 0.5)
    verdict = law([SURE, UNSURE], (), 0)
    assert (verdict.weights, verdict.orders) == ({"unsure": 0.2}, {})
    assert (verdict.doubted, verdict.reason) == (("unsure",), "unsure: low confidence")
    again = law([SURE, replace(UNSURE, weight=0.2, doubted=True)], (), 1)
    assert (again.weights, again.reason) == ({}, "all branches are done")


@pytest.mark.parametrize("confidence", [0.4, 0.8, None])
def test_a_branch_with_half_of_the_best_confidence_or_none_keeps_its_weight(
    confidence: float | None,
) -> None:
    reports = [SURE, replace(UNSURE, confidence=confidence)]
    assert Supervisor(1, 0.5, 0.5)(reports, ("idle",), 0).orders == {}
    assert Supervisor(1, 0.5, 0.5)(reports, ("idle",), 0).weights == {}


def test_a_standby_branch_gets_what_a_doubted_branch_loses() -> None:
    verdict = Supervisor(1, 0.25, 0.5)([SURE, UNSURE], ("idle",), 0)
    assert verdict.orders == {"idle": "search"}
    assert verdict.weights == pytest.approx({"unsure": 0.1, "idle": 0.3})
    assert verdict.reason == "unsure: low confidence; idle beside unsure"
