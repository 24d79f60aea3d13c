"""Intervals cover what they should and repeat."""

import numpy as np

from fathom.evaluation.statistics import bootstrap_interval


def test_a_constant_has_no_spread() -> None:
    assert bootstrap_interval([0.5] * 10) == (0.5, 0.5)


def test_the_same_seed_gives_the_same_interval() -> None:
    values = [n**0.5 for n in range(50)]
    assert bootstrap_interval(values, seed=3) == bootstrap_interval(values, seed=3)
    assert bootstrap_interval(values, seed=3) != bootstrap_interval(values, seed=4)


def test_it_agrees_with_the_normal_approximation() -> None:
    values = np.random.default_rng(1).normal(size=1000).tolist()
    low, high = bootstrap_interval(values)
    half = 1.96 * np.std(values) / np.sqrt(len(values))
    assert abs(low - (np.mean(values) - half)) < 0.01
    assert abs(high - (np.mean(values) + half)) < 0.01


def test_ninety_five_of_a_hundred_intervals_cover_the_mean() -> None:
    generator = np.random.default_rng(2)
    covered = sum(
        low <= 0.3 <= high
        for low, high in (
            bootstrap_interval(generator.binomial(1, 0.3, size=200).tolist(), resamples=400)
            for _ in range(200)
        )
    )
    assert 180 <= covered <= 200
