"""The data of the plots, computed by hand from records."""

import pytest
from tests.evaluation.factories import make_abstention, make_failure, make_ranking, make_record

from fathom.evaluation.records import Record
from fathom.evaluation.report.curves import (
    choose_headline,
    compute_front,
    compute_kind_means,
    compute_phase_shares,
    compute_recall_lines,
    compute_risk_lines,
    compute_size_lines,
    compute_sweep_lines,
    group_by_dataset,
    list_seconds,
)


def make_records(
    strategy: str = "naive", right: int = 4, tokens: int = 40, **fields: object
) -> list[Record]:
    usage = {**make_record().usage, "prompt_tokens": tokens, "completion_tokens": 0}
    return [
        make_record(
            f"q{n}", strategy=strategy, usage=usage, **fields,
            **({} if n < right else {"short_answer": "5"}),
        )
        for n in range(4)
    ]  # fmt: skip


def test_the_headline_is_the_measure_of_the_data_set() -> None:
    assert choose_headline([[make_record()]]) == "F1"
    assert choose_headline([[make_record(wrong=("50 crowns",))]]) == "RAMDocs-EM"
    assert choose_headline([[make_record(gold=())]]) == "R@10"
    assert choose_headline([[make_abstention(gold=(), answerable=False)]]) == "F1"
    assert choose_headline([[make_ranking(wrong=("50 crowns",))]]) == "nDCG@10"


def test_retrievers_have_a_front_over_time() -> None:
    quick = [make_ranking(seconds=0.01, usage={"retrievals": 1}, evidence=("d2", "d1"))]
    front = compute_front([quick, [make_ranking(strategy="hybrid", usage={"retrievals": 1})]])
    assert front is not None
    assert (front.cost, front.measure) == ("seconds a question", "nDCG@10")
    assert [point.best for point in front.points] == [True, True]


def test_a_front_holds_every_unbeaten_system() -> None:
    groups = [
        make_records("cheap", 1, 10),
        make_records("good", 4, 90),
        make_records("bad", 1, 95),
        make_records("mid", 2, 50),
    ]
    front = compute_front(groups)
    assert front is not None
    assert (front.cost, front.measure) == ("tokens a question", "F1")
    assert {point.name for point in front.points if point.best} == {"cheap", "good", "mid"}
    assert [point.x for point in front.points] == [10, 90, 95, 50]
    assert compute_front([[make_record(gold=(), relevant={})]]) is None
    other = compute_front(groups, "support")
    assert other is not None
    assert [(point.name, point.y) for point in other.points if point.best] == [("cheap", 0.8)]


def test_cost_is_money_or_else_tokens_or_else_time() -> None:
    paid = {**make_record().usage, "cost_usd": 0.02}
    unknown = {**make_record().usage, "cost_usd": None}
    free = {**make_record().usage, "prompt_tokens": 0, "completion_tokens": 0}
    units = [
        front.cost
        for usage in (paid, unknown, free)
        if (
            front := compute_front(
                [[make_record(usage=usage)], [make_record(usage=usage, strategy="maf")]]
            )
        )
    ]
    assert units == ["US dollars a question", "tokens a question", "seconds a question"]


def test_equal_points_are_both_on_the_front() -> None:
    front = compute_front([make_records("a"), make_records("b")])
    assert front is not None
    assert [point.best for point in front.points] == [True, True]


def test_risk_starts_with_the_surest_and_ends_with_all_answers() -> None:
    group = [make_record("q1", confidence=0.9), make_record("q2", confidence=0.5, short_answer="5"),
             make_failure("q3")]  # fmt: skip
    (line,) = compute_risk_lines([group])
    flat = [value for point in line.points for value in point]
    assert flat == pytest.approx([1 / 3, 0.0, 2 / 3, 0.5])
    assert compute_risk_lines([[make_record(gold=())], [make_abstention()], [make_ranking()]]) == []


def test_recall_grows_with_k() -> None:
    (line,) = compute_recall_lines(
        [[make_record(evidence=("d2", "d1")), make_record("q2", relevant={"d9": 1})]]
    )
    assert line.points[:3] == ((1.0, 0.0), (2.0, 0.5), (3.0, 0.5))
    assert compute_recall_lines([[make_record(relevant={})]]) == []


def test_phases_are_shares_and_failures_are_included() -> None:
    heat = compute_phase_shares(
        [[make_record(), make_record("q2", phase="debate"), make_failure("q3"), make_record("q4")]]
    )
    assert heat.columns == ("read", "debate", "failed")
    assert heat.cells == ((0.5, 0.25, 0.25),)


def test_kinds_have_values_where_they_were_asked() -> None:
    groups = [[make_record(kind="list"), make_record("q2", kind="date", short_answer="5")],
              [make_record(kind="list", strategy="maf")]]  # fmt: skip
    heat = compute_kind_means(groups)
    assert heat is not None
    assert (heat.rows, heat.columns) == (("naive", "maf"), ("date", "list"))
    assert heat.cells == ((0.0, 1.0), (None, 1.0))
    assert compute_kind_means([[make_record()]]) is None


def test_sizes_form_a_line_over_the_same_questions() -> None:
    answered = [make_records(right=4, documents=100, dataset="small"),
                make_records(right=2, documents=1000, dataset="large"),
                [make_record("other", documents=50, dataset="third")]]  # fmt: skip
    ((measure, (line,)),) = compute_size_lines(answered).items()
    assert (measure, line.name) == ("F1", "naive")
    assert line.points == ((100.0, 1.0), (1000.0, 0.5))
    assert len(line.intervals) == 2
    assert compute_size_lines(answered[:1]) == {}
    assert list(group_by_dataset(answered)) == ["small", "large", "third"]


def test_a_numeric_setting_forms_a_line() -> None:
    groups = [make_records(right=n, varied={"rrf.k": str(n), "ask.seed": "0"}) for n in (3, 1, 2)]
    groups.append(make_records(varied={"rrf.k": "all", "ask.seed": "0"}))
    lines = compute_sweep_lines(groups)
    assert set(lines) == {"rrf.k"}
    (line,) = lines["rrf.k"]
    assert line.name == "naive (ask.seed=0)"
    assert line.points == ((1.0, 0.25), (2.0, 0.5), (3.0, 0.75))
    assert set(list_seconds(groups)) >= {"naive (ask.seed=0, rrf.k=3)"}
