"""Ranking measures by hand, and compared with ir-measures on random rankings and grades."""

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.evaluation.ir_metrics import MEASURES, recall

DOCUMENTS = [f"d{number}" for number in range(130)]
RANKINGS = st.one_of(
    st.lists(st.sampled_from(DOCUMENTS[:20]), unique=True),
    st.permutations(DOCUMENTS),
)
GRADES = st.dictionaries(st.sampled_from(DOCUMENTS[:30]), st.integers(1, 4), min_size=1)
THEIRS = {name: name.replace("Hit@", "Success@").replace("MAP@", "AP@") for name in MEASURES}


def test_measures_are_as_computed_by_hand() -> None:
    values = {name: of(["x", "a", "y", "b"], {"a": 2, "b": 1}) for name, of in MEASURES.items()}
    assert values == {
        "nDCG@10": pytest.approx((2 / log2(3) + 1 / log2(5)) / (2 + 1 / log2(3))),
        "R@2": 0.5,
        "R@5": 1.0,
        "R@10": 1.0,
        "R@100": 1.0,
        "P@10": 0.2,
        "F1@10": pytest.approx(1 / 3),
        "RR@10": 0.5,
        "MAP@10": pytest.approx((1 / 2 + 2 / 4) / 2),
        "Hit@1": 0.0,
        "Hit@5": 1.0,
        "Hit@10": 1.0,
    }


def test_an_empty_ranking_scores_zero() -> None:
    assert {of([], {"a": 1}) for of in MEASURES.values()} == {0.0}


def test_recall_grows_with_the_rank() -> None:
    ranking, grades = ["a", "b", "c", "d"], {"b": 1, "d": 1}
    assert [recall(k, ranking, grades) for k in (1, 2, 4)] == [0, 0.5, 1]


@given(st.lists(st.tuples(RANKINGS, GRADES), min_size=1, max_size=3))
def test_measures_agree_with_ir_measures(rankings: list[tuple[list[str], dict[str, int]]]) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    names = {name: name_ for name, name_ in THEIRS.items() if name != "F1@10"}
    qrels = {f"q{place}": grades for place, (_, grades) in enumerate(rankings)}
    run = {
        f"q{place}": {document: -float(rank) for rank, document in enumerate(ranking)}
        for place, (ranking, _) in enumerate(rankings)
    }
    # Its parser of names uses what Python 3.13 deprecates.
    families = [name.split("@") for name in names.values()]
    measures = [getattr(ir_measures, family) @ int(depth) for family, depth in families]
    theirs = {
        (str(metric.measure), metric.query_id): metric.value
        for metric in ir_measures.iter_calc(measures, qrels, run)
    }
    for place, (ranking, grades) in enumerate(rankings):
        for name, name_ in names.items():
            # A question without a ranking is none to ir-measures; to us it counts 0.
            expected = theirs.get((name_, f"q{place}"), 0.0)
            assert MEASURES[name](ranking, grades) == pytest.approx(expected, abs=1e-6)


@given(RANKINGS, GRADES)
def test_f1_is_the_harmonic_mean_of_precision_and_recall(
    ranking: list[str], grades: dict[str, int]
) -> None:
    precision, share = (MEASURES[name](ranking, grades) for name in ("P@10", "R@10"))
    both = precision + share
    expected = 2 * precision * share / both if both else 0.0
    assert MEASURES["F1@10"](ranking, grades) == pytest.approx(expected, abs=1e-6)
