"""A leader is named only after a test."""

from tests.evaluation.factories import make_failure, make_ranking, make_record

from fathom.evaluation.report.narrative import (
    compare_leaders,
    describe_scope,
    describe_standings,
    list_failures,
)


def test_the_leader_is_compared_with_each_other_system() -> None:
    good = [make_record(f"q{n}", strategy="maf") for n in range(30)]
    poor = [make_record(f"q{n}", short_answer="5") for n in range(30)]
    third = [make_record(f"q{n}", strategy="rrf") for n in range(30)]
    comparisons = compare_leaders([poor, good, third])
    assert [comparison.sentence.split(":")[0] for comparison in comparisons] == [
        "maf is better than naive in F1 on toy",
        "maf and rrf cannot be told apart in F1 on toy",
    ]
    assert compare_leaders([good]) == compare_leaders([]) == []
    assert compare_leaders([[make_record(gold=(), relevant={})]] * 2) == []


def test_the_standings_are_one_sentence_per_data_set() -> None:
    good = [make_record(f"q{n}", strategy="maf") for n in range(30)]
    poor, worse = (
        [make_record(f"q{n}", strategy=name, short_answer="5") for n in range(30)]
        for name in ("naive", "mao")
    )
    third = [make_record(f"q{n}", strategy="rrf") for n in range(30)]
    assert describe_standings(compare_leaders([poor, good, third, worse])) == [
        "maf has the highest F1 on toy: it is better than naive and mao; "
        "rrf cannot be told apart from it."
    ]
    assert describe_standings(compare_leaders([good, third])) == [
        "maf has the highest F1 on toy: rrf cannot be told apart from it."
    ]
    assert describe_standings([]) == []


def test_the_scope_is_one_sentence() -> None:
    groups = [[make_record(), make_failure("q2")], [make_record(dataset="other")]]
    assert describe_scope(groups) == (
        "naive answered 2 questions of toy, 1 question of other; "
        "1 of 3 runs failed and count as wrong."
    )
    assert describe_scope([]) == ""
    assert (
        describe_scope([[make_ranking()]]) == "keyword ranked the documents for 1 question of toy."
    )
    assert [failure.question for failure in list_failures(groups)] == ["q2"]
