"""A claim that one strategy beats another comes with its test, in plain words."""

import pytest
from tests.evaluation.factories import make_abstention, make_failure, make_ranking, make_record

from fathom.errors import UsageError
from fathom.evaluation.comparison import COMPARED_RANKING_MEASURES, compare
from fathom.evaluation.measures import get_bounds
from fathom.evaluation.records import Record
from fathom.evaluation.statistics import mcnemar_p

QUESTIONS = [f"q{n}" for n in range(40)]


def make_answers(strategy: str, wrong: int = 0, **fields: object) -> list[Record]:
    """Return records of which the first so many are wrong."""
    return [
        make_record(q, strategy=strategy, **fields, **({"short_answer": "5"} if n < wrong else {}))
        for n, q in enumerate(QUESTIONS)
    ]


def test_a_clear_difference_is_stated() -> None:
    (comparison,) = compare([(make_answers("maf"), make_answers("naive", 20))], ("EM",))
    assert (comparison.first, comparison.second, comparison.queries, comparison.test) == (
        "maf",
        "naive",
        40,
        "McNemar",
    )
    assert comparison.difference == 0.5
    assert comparison.interval[0] > 0.3
    assert comparison.p == comparison.p_holm == mcnemar_p(20, 0)
    assert comparison.effect == pytest.approx(0.5 / (40 / 39 * 0.25) ** 0.5)
    assert 0 < comparison.p_t < 1e-5
    assert comparison.sentence.startswith("maf is better than naive in EM on toy: +0.500 [+0.")


def test_rankings_are_compared_by_ranking_measures() -> None:
    good = [make_ranking(q) for q in QUESTIONS]
    poor = [make_ranking(q, strategy="vector", evidence=("d2", "d1")) for q in QUESTIONS]
    comparisons = compare([(good, poor)])
    assert [comparison.measure for comparison in comparisons] == list(COMPARED_RANKING_MEASURES)
    assert comparisons[0].sentence.startswith(
        "keyword is better than vector in nDCG@10 on toy: +0.369"
    )
    assert "cannot be told apart in Hit@10" in comparisons[3].sentence
    against = compare([(good, make_answers("maf"))])
    assert [comparison.measure for comparison in against] == list(COMPARED_RANKING_MEASURES)
    assert {*COMPARED_RANKING_MEASURES}.isdisjoint(
        comparison.measure for comparison in compare([(make_answers("a"),) * 2])
    )


def test_a_failed_ranking_counts() -> None:
    broken = [make_failure(q, strategy="vector", depth=100) for q in QUESTIONS[:20]]
    rest = [make_ranking(q, strategy="vector") for q in QUESTIONS[20:]]
    (comparison,) = compare([([make_ranking(q) for q in QUESTIONS], [*broken, *rest])], ("RR@10",))
    assert (comparison.queries, comparison.difference) == (40, 0.5)


def test_lower_is_better_for_some_measures() -> None:
    (comparison,) = compare(
        [(make_answers("maf"), make_answers("naive", 20))], ("wrong-on-answerable",)
    )
    assert comparison.difference == -0.5
    assert comparison.sentence.startswith("maf is better than naive in wrong-on-answerable")
    (turned,) = compare([(make_answers("maf", 20), make_answers("naive"))], ("EM",))
    assert "maf is worse than naive in EM" in turned.sentence


def test_a_small_difference_is_not_claimed() -> None:
    (comparison,) = compare([(make_answers("maf"), make_answers("naive", 2))], ("EM",))
    assert comparison.sentence.startswith("maf and naive cannot be told apart in EM on toy: +0.050")
    assert comparison.sentence.endswith("would probably have been seen")


def test_p_values_are_corrected_over_all_tests() -> None:
    pair = (make_answers("maf"), make_answers("naive", 8))
    alone = compare([pair], ("EM",))[0]
    among = compare([pair, pair], ("EM", "F1", "CRAG-truthfulness", "RAMDocs-EM"))
    assert [comparison.measure for comparison in among] == ["EM", "F1", "CRAG-truthfulness"] * 2
    assert {comparison.test for comparison in among} == {"McNemar", "randomisation"}
    assert among[0].p == alone.p < among[0].p_holm


def test_equal_answers_are_no_difference() -> None:
    for comparison in compare([(make_answers("maf"), make_answers("naive"))]):
        assert (comparison.difference, comparison.p_holm) == (0, 1)
        # Of others, which were not asked, some may differ all the same.
        most = get_bounds(comparison.measure)[1] - get_bounds(comparison.measure)[0]
        assert comparison.interval == pytest.approx((-0.0881 * most, 0.0881 * most), abs=1e-3)
        assert "seen" not in comparison.sentence


def test_failed_questions_count_and_conditional_measures_need_both() -> None:
    ours = [*make_answers("maf")[:20], *(make_failure(q, strategy="maf") for q in QUESTIONS[20:])]
    theirs = [*(make_abstention(q) for q in QUESTIONS[:5]), *make_answers("naive")[5:]]
    em, support = compare([(ours, theirs)], ("EM", "support"))
    assert em.queries == 40
    assert em.difference == pytest.approx(-15 / 40)
    assert support.queries == 15


def test_different_questions_cannot_be_compared() -> None:
    with pytest.raises(UsageError, match="the same questions"):
        compare([(make_answers("maf"), make_answers("naive")[1:])])
    with pytest.raises(UsageError, match="the same questions"):
        compare([([], [])])
