"""Rows and tables are computed from records alone; missing measures are absent."""

import json
from dataclasses import asdict

import pytest
from tests.evaluation.factories import make_abstention, make_failure, make_ranking, make_record

from fathom.evaluation.measures import GROUP_SCORES, SCORES
from fathom.evaluation.rows import (
    HEADLINES,
    RANKING_HEADLINES,
    compute_percentiles,
    score_questions,
    score_subgroups,
    score_system,
)

RECORDS = [make_record("q1"), make_abstention("q2"), make_failure("q3", seconds=2.0)]


def test_a_row_holds_means_over_all_questions() -> None:
    row = score_system(RECORDS)
    assert (row.dataset, row.system, row.queries) == ("toy", "naive", 3)
    assert row.measures["F1"] == pytest.approx(1 / 3, abs=1e-6)
    assert row.measures["failed"] == pytest.approx(1 / 3, abs=1e-6)
    assert row.measures["support"] == 0.8
    low, high = row.intervals["F1"]
    assert 0 <= low < 1 / 3 < high <= 1
    assert row.latency_s == {"p50": 0.5, "p95": pytest.approx(1.85)}
    assert row.usage["tokens"] == 40
    assert row.usage["retrievals"] == 1


def test_inapplicable_measures_are_absent_and_all_values_are_json() -> None:
    row = score_system([make_record(gold=(), relevant={})])
    assert set(row.measures) == {
        "answered", "abstained", "tentative", "failed", "support", "support-overlap",
    }  # fmt: skip
    assert "NaN" not in json.dumps(asdict(row), allow_nan=False)
    assert "RAMDocs-EM" not in score_system(RECORDS).measures


def test_unknown_costs_are_absent() -> None:
    usage = {**make_record().usage, "cost_usd": None}
    assert "cost_usd" not in score_system([make_record("q1"), make_record("q2", usage=usage)]).usage


def test_the_same_records_give_the_same_row() -> None:
    assert score_system(RECORDS) == score_system(list(RECORDS))


def test_phases_and_kinds_have_their_own_rows() -> None:
    records = [
        *RECORDS,
        make_record("q4", phase="debate"),
        make_record("q5", phase="debate", kind="list"),
    ]
    debate, read, broken = score_subgroups(records, "phase")
    assert [(row.system, row.queries) for row in (debate, read, broken)] == [
        ("naive: debate", 2),
        ("naive: read", 2),
        ("naive: failed", 1),
    ]
    assert debate.measures["EM"] == 1.0
    assert [row.system for row in score_subgroups(records, "kind")] == ["naive: -", "naive: list"]


def test_means_cover_the_questions_that_have_a_value() -> None:
    assert score_questions("support", RECORDS) == {"q1": 0.8}


def test_headlines_are_measures() -> None:
    assert {*HEADLINES, *RANKING_HEADLINES} <= {*SCORES, *GROUP_SCORES}


def test_a_row_of_rankings_holds_no_measure_of_answers() -> None:
    broken = make_failure("q2", strategy="keyword", depth=100)
    row = score_system([make_ranking("q1"), broken, make_ranking("q3", evidence=("d2", "d1"))])
    assert set(row.measures) == {*RANKING_HEADLINES}
    assert row.measures["RR@10"] == row.measures["MAP@10"] == 0.5
    assert row.measures["failed"] == pytest.approx(1 / 3, abs=1e-6)


def test_evidence_is_measured_as_a_shallow_ranking() -> None:
    measures = score_system(RECORDS).measures
    assert measures["nDCG@10"] == measures["Hit@1"] == pytest.approx(2 / 3, abs=1e-6)
    assert "R@100" not in measures


def test_percentiles_are_as_computed_by_hand() -> None:
    assert compute_percentiles([2.0]) == {"p50": 2.0, "p95": 2.0}
    assert compute_percentiles([float(n) for n in range(21)]) == {"p50": 10.0, "p95": 19.0}
