"""Effect size, Student's test and kappa agree with scipy, by hand and with published examples."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.calm import CALM

from fathom.evaluation.effect import effect_size, kappa, t_test_p

SLEEP = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
"""Hours of sleep gained by one drug over the other: the example of Student (1908)."""


def test_students_own_example() -> None:
    # 4.0621 on 9 degrees of freedom
    assert t_test_p(SLEEP) == pytest.approx(0.00283289, abs=1e-8)
    assert effect_size(SLEEP) == pytest.approx(4.0621277 / 10**0.5, abs=1e-6)


@CALM
@given(st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), min_size=2, max_size=60))
def test_the_t_test_agrees_with_scipy(differences: list[float]) -> None:
    stats = pytest.importorskip("scipy.stats")
    if np.std(differences) < 1e-6:
        return
    expected = stats.ttest_1samp(differences, 0).pvalue
    assert t_test_p(differences) == pytest.approx(expected, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("count", "shift"), [(3, 9.0), (40, 0.0), (400, 0.05), (5000, 0.5)])
def test_it_agrees_far_out_and_with_many_questions(count: int, shift: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    differences = np.random.default_rng(1).normal(shift, 1, count).tolist()
    expected = stats.ttest_1samp(differences, 0).pvalue
    assert t_test_p(differences) == pytest.approx(expected, rel=1e-6, abs=1e-200)


def test_differences_without_spread() -> None:
    assert (t_test_p([0.0] * 5), effect_size([0.0] * 5)) == (1.0, 0.0)
    assert (t_test_p([0.5] * 5), effect_size([0.5] * 5)) == (0.0, None)
    assert (t_test_p([0.5]), effect_size([0.5])) == (1.0, None)
    assert (t_test_p([]), effect_size([])) == (1.0, 0.0)


def test_an_effect_grows_with_the_mean_and_shrinks_with_the_spread() -> None:
    values = [effect_size([mean - spread, mean + spread]) or inf for mean, spread in
              ((0.1, 1.0), (0.2, 1.0), (0.2, 0.5))]  # fmt: skip
    assert values == sorted(values)
    assert values[2] == pytest.approx(4 * values[0])


def test_kappa_on_a_published_example() -> None:
    # Two readers of 50 grant proposals: 20 times both yes, 15 times both no, kappa 0.4.
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert kappa(first, second) == pytest.approx(0.4)


@CALM
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_kappa_is_symmetric_and_at_most_1(pairs: list[tuple[bool, bool]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    found = kappa(first, second)
    assert found == kappa(second, first)
    assert found is None or found <= 1
    assert kappa(first, first) in (None, 1.0)


def test_kappa_of_what_chance_explains_is_nothing() -> None:
    assert kappa([], []) is None
    assert kappa([True, True], [True, True]) is None
    assert kappa([True, False], [False, True]) == -1.0
