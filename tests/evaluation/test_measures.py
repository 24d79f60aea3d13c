"""Measures by hand."""

from math import log2

import pytest

from fathom.evaluation.measures import measure

QRELS = {"q1": {"a": 1, "b": 1}, "q2": {"c": 1}, "q3": {"d": 1}}


def test_measures_by_hand() -> None:
    values = measure({"q1": ["x", "a", "b"], "q2": [], "q3": ["d"]}, QRELS)
    ideal = 1 + 1 / log2(3)
    assert values["nDCG@10"] == pytest.approx([(1 / log2(3) + 1 / log2(4)) / ideal, 0.0, 1.0])
    assert values["R@2"] == [0.5, 0.0, 1.0]
    assert values["R@5"] == values["R@10"] == values["R@100"] == [1.0, 0.0, 1.0]
    assert values["RR@10"] == [0.5, 0.0, 1.0]
    assert values["Hit@10"] == [1.0, 0.0, 1.0]


def test_only_ranked_questions_count() -> None:
    assert measure({"q3": ["d"]}, QRELS)["R@10"] == [1.0]


def test_order_of_the_ranking_decides_not_the_spelling_of_ids() -> None:
    assert measure({"q2": ["z", "y", "c"]}, QRELS)["RR@10"] == [pytest.approx(1 / 3)]
