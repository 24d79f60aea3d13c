"""Systems by phase and by kind of question."""

import pytest
from tests.evaluation.factories import make_abstention, make_failure, make_ranking, make_record

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
    make_record(f"q{n}", short_answer="5" if n % 2 else "40 crowns")
    for n in range(MIN_FOR_INTERVAL)
]
MAF = [make_record(strategy="maf"), make_abstention("q2", strategy="maf", phase="debate")]


def list_breakdown(field: Field, *groups: Group) -> list[tuple[str, int]]:
    return [(row.system, row.queries) for row in break_down_groups(groups, field)]


def test_an_unknown_field_is_reported() -> None:
    assert parse_fields(["kind", "phase"]) == ["phase", "kind"]
    assert parse_fields([]) == []
    with pytest.raises(UsageError, match="--by 'mood': expected phase or kind"):
        parse_fields(["mood"])


def test_a_field_with_one_value_is_left_out() -> None:
    assert list_breakdown("phase", MANY, MAF) == [("maf: debate", 1), ("maf: read", 1)]
    assert list_breakdown("kind", MANY, MAF) == []


def test_systems_are_side_by_side_within_a_kind() -> None:
    kinds = ("list", "a: date", "a: date", "b: date")
    groups = [
        [make_record(f"q{n}", strategy=name, kind=kind) for n, kind in enumerate(kinds)]
        for name in ("naive", "maf")
    ]
    assert [name for name, _ in list_breakdown("kind", *groups)] == [
        "naive: a: date", "maf: a: date", "naive: b: date", "maf: b: date", "naive: list",
        "maf: list",
    ]  # fmt: skip


def test_failed_runs_are_a_phase_but_no_kind() -> None:
    broken = [*MANY, make_failure("q9", kind="date")]
    assert list_breakdown("phase", broken) == [
        ("naive: read", MIN_FOR_INTERVAL),
        ("naive: failed", 1),
    ]
    assert list_breakdown("kind", broken) == [("naive: -", MIN_FOR_INTERVAL), ("naive: date", 1)]


def test_few_questions_give_no_interval() -> None:
    many, few = break_down_groups([[*MANY, make_record("q9", phase="debate")]], "phase")
    assert many.intervals["F1"][0] < many.intervals["F1"][1]
    assert few.measures["F1"] == 1.0
    assert few.intervals == {}


def test_shown_measures_exist() -> None:
    assert {*BREAKDOWN_MEASURES, *RANKING_BREAKDOWN_MEASURES} <= {*SCORES}
    (first, _) = break_down_groups(
        [[make_ranking("q1", kind="a"), make_ranking("q2", kind="b")]], "kind"
    )
    assert {*RANKING_BREAKDOWN_MEASURES} <= {*first.measures}
