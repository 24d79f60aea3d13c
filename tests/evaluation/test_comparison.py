"""A claim that one strategy beats another comes with its test, in plain words."""

import pytest
from tests.evaluation.making import abstained, failed, ranked, record

from fathom.errors import UsageError
from fathom.evaluation.comparison import COMPARED_RANKING_MEASURES, compare
from fathom.evaluation.measures import get_bounds
from fathom.evaluation.records import Record
from fathom.evaluation.statistics import mcnemar_p

QUESTIONS = [f"q{n}" for n in range(40)]


def answers(strategy: str, wrong: int = 0, **fields: object) -> list[Record]:
    """Records of which the first so many are wrong."""
    return [
        record(q, strategy=strategy, **fields, **({"short_answer": "5"} if n < wrong else {}))
        for n, q in enumerate(QUESTIONS)
    ]


def test_a_clear_difference_is_said_so() -> None:
    (found,) = compare([(answers("maf"), answers("naive", 20))], ("EM",))
    assert (found.first, found.second, found.queries, found.test) == ("maf", "naive", 40, "McNemar")
    assert found.difference == 0.5
    assert found.interval[0] > 0.3
    assert found.p == found.p_holm == mcnemar_p(20, 0)
    assert found.effect == pytest.approx(0.5 / (40 / 39 * 0.25) ** 0.5)
    assert 0 < found.p_t < 1e-5
    assert found.sentence.startswith("maf is better than naive in EM on toy: +0.500 [+0.")


def test_rankings_are_compared_in_measures_of_rankings() -> None:
    good = [ranked(q) for q in QUESTIONS]
    poor = [ranked(q, strategy="vector", evidence=("d2", "d1")) for q in QUESTIONS]
    found = compare([(good, poor)])
    assert [each.measure for each in found] == list(COMPARED_RANKING_MEASURES)
    assert found[0].sentence.startswith("keyword is better than vector in nDCG@10 on toy: +0.369")
    assert "cannot be told apart in Hit@10" in found[3].sentence
    against = compare([(good, answers("maf"))])
    assert [each.measure for each in against] == list(COMPARED_RANKING_MEASURES)
    assert {*COMPARED_RANKING_MEASURES}.isdisjoint(
        each.measure for each in compare([(answers("a"),) * 2])
    )


def test_a_ranking_that_broke_counts() -> None:
    broken = [failed(q, strategy="vector", depth=100) for q in QUESTIONS[:20]]
    rest = [ranked(q, strategy="vector") for q in QUESTIONS[20:]]
    (found,) = compare([([ranked(q) for q in QUESTIONS], [*broken, *rest])], ("RR@10",))
    assert (found.queries, found.difference) == (40, 0.5)


def test_lower_is_better_where_it_is() -> None:
    (found,) = compare([(answers("maf"), answers("naive", 20))], ("wrong-on-answerable",))
    assert found.difference == -0.5
    assert found.sentence.startswith("maf is better than naive in wrong-on-answerable")
    (turned,) = compare([(answers("maf", 20), answers("naive"))], ("EM",))
    assert "maf is worse than naive in EM" in turned.sentence


def test_a_small_difference_is_no_claim() -> None:
    (found,) = compare([(answers("maf"), answers("naive", 2))], ("EM",))
    assert found.sentence.startswith("maf and naive cannot be told apart in EM on toy: +0.050")
    assert found.sentence.endswith("would probably have been seen")


def test_p_is_corrected_over_all_that_is_tested() -> None:
    pair = (answers("maf"), answers("naive", 8))
    alone = compare([pair], ("EM",))[0]
    among = compare([pair, pair], ("EM", "F1", "CRAG-truthfulness", "RAMDocs-EM"))
    assert [each.measure for each in among] == ["EM", "F1", "CRAG-truthfulness"] * 2
    assert {each.test for each in among} == {"McNemar", "randomisation"}
    assert among[0].p == alone.p < among[0].p_holm


def test_the_same_answers_are_no_difference() -> None:
    for found in compare([(answers("maf"), answers("naive"))]):
        assert (found.difference, found.p_holm) == (0, 1)
        # Of others, which were not asked, some may differ all the same.
        most = get_bounds(found.measure)[1] - get_bounds(found.measure)[0]
        assert found.interval == pytest.approx((-0.0881 * most, 0.0881 * most), abs=1e-3)
        assert "seen" not in found.sentence


def test_failed_questions_count_and_conditional_measures_need_both() -> None:
    ours = [*answers("maf")[:20], *(failed(q, strategy="maf") for q in QUESTIONS[20:])]
    theirs = [*(abstained(q) for q in QUESTIONS[:5]), *answers("naive")[5:]]
    em, support = compare([(ours, theirs)], ("EM", "support"))
    assert em.queries == 40
    assert em.difference == pytest.approx(-15 / 40)
    assert support.queries == 15


def test_other_questions_cannot_be_compared() -> None:
    with pytest.raises(UsageError, match="the same questions"):
        compare([(answers("maf"), answers("naive")[1:])])
    with pytest.raises(UsageError, match="the same questions"):
        compare([([], [])])
