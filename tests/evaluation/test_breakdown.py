"""Systems are shown by phase and by kind of question, soberly."""

import pytest
from tests.evaluation.making import abstained, failed, ranked, record

from fathom.errors import UsageError
from fathom.evaluation.breakdown import (
    BREAKDOWN_MEASURES,
    MIN_FOR_INTERVAL,
    RANKING_BREAKDOWN_MEASURES,
    Field,
    break_down_groups,
    parse_fields,
)
from fathom.evaluation.measures import SCORES
from fathom.evaluation.records import Group

MANY = [
    record(f"q{n}", short_answer="5" if n % 2 else "40 crowns") for n in range(MIN_FOR_INTERVAL)
]
MAF = [record(strategy="maf"), abstained("q2", strategy="maf", phase="debate")]


def told(field: Field, *groups: Group) -> list[tuple[str, int]]:
    return [(row.system, row.queries) for row in break_down_groups(groups, field)]


def test_a_field_that_is_not_there_is_told() -> None:
    assert parse_fields(["kind", "phase"]) == ["phase", "kind"]
    assert parse_fields([]) == []
    with pytest.raises(UsageError, match="--by 'mood': expected phase or kind"):
        parse_fields(["mood"])


def test_what_has_one_part_only_says_nothing_new() -> None:
    assert told("phase", MANY, MAF) == [("maf: debate", 1), ("maf: read", 1)]
    assert told("kind", MANY, MAF) == []


def test_of_one_kind_the_systems_stand_side_by_side() -> None:
    kinds = ("list", "a: date", "a: date")
    groups = [
        [record(f"q{n}", strategy=name, kind=kind) for n, kind in enumerate(kinds)]
        for name in ("naive", "maf")
    ]
    assert [name for name, _ in told("kind", *groups)] == [
        "naive: a: date", "maf: a: date", "naive: list", "maf: list",
    ]  # fmt: skip


def test_failed_runs_are_a_phase_but_no_kind() -> None:
    broken = [*MANY, failed("q9", kind="date")]
    assert told("phase", broken) == [("naive: read", MIN_FOR_INTERVAL), ("naive: failed", 1)]
    assert told("kind", broken) == [("naive: -", MIN_FOR_INTERVAL), ("naive: date", 1)]


def test_of_few_questions_no_interval_is_given() -> None:
    many, few = break_down_groups([[*MANY, record("q9", phase="debate")]], "phase")
    assert many.intervals["F1"][0] < many.intervals["F1"][1]
    assert few.measures["F1"] == 1.0
    assert few.intervals == {}


def test_measures_that_are_shown_exist() -> None:
    assert {*BREAKDOWN_MEASURES, *RANKING_BREAKDOWN_MEASURES} <= {*SCORES}
    (first, _) = break_down_groups([[ranked("q1", kind="a"), ranked("q2", kind="b")]], "kind")
    assert {*RANKING_BREAKDOWN_MEASURES} <= {*first.measures}
