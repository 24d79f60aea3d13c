"""Intervals have their nominal coverage and are reproducible."""

from itertools import product
from math import inf

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hypothesis_settings import CALM

from fathom.evaluation.statistics import (
    bca_interval,
    bootstrap_interval,
    count_needed,
    detectable_difference,
    effect_size,
    holm,
    kappa,
    mcnemar_p,
    randomisation_p,
    resample_interval,
    t_test_p,
)


def test_a_constant_has_no_spread() -> None:
    assert bootstrap_interval([0.5] * 10) == (0.5, 0.5)


def test_the_same_seed_gives_the_same_interval() -> None:
    values = [n**0.5 for n in range(50)]
    assert bootstrap_interval(values, seed=3) == bootstrap_interval(values, seed=3)
    assert bootstrap_interval(values, seed=3) != bootstrap_interval(values, seed=4)


def test_the_interval_agrees_with_the_normal_approximation() -> None:
    values = np.random.default_rng(1).normal(size=1000).tolist()
    low, high = bootstrap_interval(values)
    half = 1.96 * np.std(values) / np.sqrt(len(values))
    assert abs(low - (np.mean(values) - half)) < 0.01
    assert abs(high - (np.mean(values) + half)) < 0.01


def test_ninety_five_percent_intervals_cover_the_mean_95_times_in_100() -> None:
    generator = np.random.default_rng(2)
    covered = sum(
        low <= 0.3 <= high
        for low, high in (
            bootstrap_interval(generator.binomial(1, 0.3, size=200).tolist(), resamples=400)
            for _ in range(200)
        )
    )
    assert 180 <= covered <= 200


def test_the_bca_interval_agrees_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(5).exponential(size=60)
    ours = bca_interval(values.tolist(), resamples=20_000)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(6)
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.015)


@pytest.mark.parametrize("count", [4, 6, 10, 20])
def test_the_bca_interval_of_the_same_draws_is_that_of_scipy(count: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    # Sums of whole numbers are exact in any order, so both see the same means as equal.
    values = np.random.default_rng(count).integers(0, 6, size=count).astype(float)
    theirs = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=2000,
        batch=100,  # draws as many at a time as ours, and so the same
        method="BCa",
        rng=np.random.default_rng(0),
    ).confidence_interval
    assert bca_interval(values.tolist()) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_a_skewed_sample_moves_the_bca_interval_to_its_tail() -> None:
    values = np.random.default_rng(5).exponential(size=40).tolist()
    assert bca_interval(values)[1] > bootstrap_interval(values)[1]


class BackwardGenerator:
    """A generator that draws the places of each resample in the opposite order."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def integers(self, low: int, high: int, size: tuple[int, int]) -> npt.NDArray[np.int64]:
        return self._generator.integers(low, high, size=size)[:, ::-1]


GRADES = [(10, 6), (30, 6), (50, 3), (50, 10)]
"""Numbers of questions, and of the parts of a whole point in which they are graded."""


@pytest.mark.parametrize(("count", "parts"), GRADES)
def test_sums_in_another_order_move_no_end_of_the_bca_interval(
    count: int, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [n * n % (parts + 1) / parts for n in range(count)]
    ends = bca_interval(values)
    generator = np.random.default_rng
    monkeypatch.setattr("numpy.random.default_rng", lambda seed: BackwardGenerator(generator(seed)))
    assert bca_interval(values) == pytest.approx(ends, abs=1e-12)


@pytest.mark.parametrize(("count", "parts"), GRADES)
def test_the_bca_interval_of_parts_is_that_of_whole_numbers(count: int, parts: int) -> None:
    numbers = [float(n * n % (parts + 1)) for n in range(count)]
    low, high = bca_interval(numbers)
    scaled = bca_interval([number / parts for number in numbers])
    assert scaled == pytest.approx((low / parts, high / parts), abs=1e-12)


def test_degenerate_samples_have_an_interval_too() -> None:
    assert bca_interval([0.5] * 10) == (0.5, 0.5)
    assert bca_interval([1.0]) == (1.0, 1.0)
    low, high = bca_interval([0.0] * 30 + [1.0])
    assert 0 <= low <= 1 / 31 <= high <= 1


def test_statistics_other_than_the_mean_have_an_interval_too() -> None:
    values = np.arange(50.0)
    interval = resample_interval(50, lambda places: float(np.median(values[places])))
    assert interval is not None
    assert interval[0] < 24.5 < interval[1]
    assert resample_interval(5, lambda _: None) is None


def compute_brute_force_p(differences: list[float]) -> float:
    observed = abs(sum(differences))
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(value >= observed - 1e-9 for value in sums) / len(sums)


@given(st.lists(st.integers(-5, 5).map(lambda n: n / 5), min_size=1, max_size=8))
def test_the_randomisation_test_tries_all_signs(differences: list[float]) -> None:
    assert randomisation_p(differences) == pytest.approx(compute_brute_force_p(differences))


def test_sums_equal_up_to_rounding_count_as_equal() -> None:
    assert randomisation_p([0.2, 0.4, -0.6]) == 1.0
    assert randomisation_p([0.1, 0.2, -0.3] * 6) == 1.0


def test_many_differences_are_tested_with_random_signs() -> None:
    generator = np.random.default_rng(3)
    differences = generator.normal(0.3, 1, size=60).tolist()
    p = randomisation_p(differences)
    assert p == randomisation_p(differences)
    stats = pytest.importorskip("scipy.stats")
    assert p == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, abs=0.02)


def test_the_same_system_twice_is_no_difference() -> None:
    assert randomisation_p([0.0] * 20) == 1.0
    assert mcnemar_p(0, 0) == 1.0


def test_equal_systems_give_five_percent_false_alarms() -> None:
    generator = np.random.default_rng(4)
    alarms = sum(
        randomisation_p(generator.normal(size=30).tolist(), rounds=400) < 0.05 for _ in range(400)
    )
    assert 8 <= alarms <= 34


@pytest.mark.parametrize(("first", "second"), [(0, 5), (3, 9), (25, 10), (7, 7), (900, 1000)])
def test_mcnemar_is_a_binomial_test(first: int, second: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    expected = stats.binomtest(first, first + second, 0.5).pvalue
    assert mcnemar_p(first, second) == pytest.approx(expected)


def test_mcnemar_is_as_computed_by_hand() -> None:
    assert mcnemar_p(0, 5) == pytest.approx(2 / 32)
    assert mcnemar_p(1, 9) == mcnemar_p(9, 1) == pytest.approx(2 * 11 / 1024)


def test_holm_reproduces_a_published_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_is_between_p_and_bonferroni_and_keeps_the_order(ps: list[float]) -> None:
    corrected = holm(ps)
    for p, q in zip(ps, corrected, strict=True):
        assert p <= q <= min(1.0, p * len(ps)) or q == max(corrected)
    assert [q for _, q in sorted(zip(ps, corrected, strict=True))] == sorted(corrected)


def test_more_questions_show_smaller_differences() -> None:
    assert detectable_difference([1.0]) == float("inf")
    assert detectable_difference([0.0, 1.0] * 50) == pytest.approx(2.8016 * 0.5025 / 10, abs=1e-3)


def test_equal_values_still_have_an_upper_bound() -> None:
    stats = pytest.importorskip("scipy.stats")
    assert bca_interval([1.0] * 20) == (1.0, 1.0)
    low, high = bca_interval([1.0] * 20, bounds=(0.0, 1.0))
    exact = stats.binomtest(20, 20).proportion_ci(0.95, method="exact")
    assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-12)
    assert bca_interval([0.0] * 20, bounds=(-1.0, 1.0)) == pytest.approx((low - 1, 1 - low))
    low, high = bca_interval([0.8] * 2, bounds=(0.0, 1.0))
    assert 0 < low < 0.8 < high < 1


SLEEP = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
"""Hours of sleep gained by one drug over the other: the example of Student (1908)."""


def test_the_t_test_reproduces_students_own_example() -> None:
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
def test_the_t_test_agrees_in_the_tails_and_for_many_questions(count: int, shift: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    differences = np.random.default_rng(1).normal(shift, 1, count).tolist()
    expected = stats.ttest_1samp(differences, 0).pvalue
    assert t_test_p(differences) == pytest.approx(expected, rel=1e-6, abs=1e-200)


def test_differences_without_spread_are_handled() -> None:
    assert (t_test_p([0.0] * 5), effect_size([0.0] * 5)) == (1.0, 0.0)
    assert (t_test_p([0.5] * 5), effect_size([0.5] * 5)) == (0.0, None)
    assert (t_test_p([0.5]), effect_size([0.5])) == (1.0, None)
    assert (t_test_p([]), effect_size([])) == (1.0, 0.0)


def test_an_effect_grows_with_the_mean_and_shrinks_with_the_spread() -> None:
    values = [effect_size([mean - spread, mean + spread]) or inf for mean, spread in
              ((0.1, 1.0), (0.2, 1.0), (0.2, 0.5))]  # fmt: skip
    assert values == sorted(values)
    assert values[2] == pytest.approx(4 * values[0])


def test_kappa_reproduces_a_published_example() -> None:
    # Two readers of 50 grant proposals: 20 times both yes, 15 times both no, kappa 0.4.
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert kappa(first, second) == pytest.approx(0.4)


@CALM
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_kappa_is_symmetric_and_at_most_1(pairs: list[tuple[bool, bool]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    agreement = kappa(first, second)
    assert agreement == kappa(second, first)
    assert agreement is None or agreement <= 1
    assert kappa(first, first) in (None, 1.0)


def test_kappa_of_chance_agreement_is_zero() -> None:
    assert kappa([], []) is None
    assert kappa([True, True], [True, True]) is None
    assert kappa([True, False], [False, True]) == -1.0


def test_the_required_number_of_questions_just_shows_the_difference() -> None:
    differences = [0.0, 0.0, 0.0, 1.0] * 10
    count = count_needed(differences)
    assert detectable_difference(differences) * (40 / count) ** 0.5 == pytest.approx(0.25)
    assert count_needed(differences, level=0.99) > count
    assert count_needed([0.0, -1.0]) == count_needed([]) == count_needed([1.0]) == float("inf")
