"""How sure a mean is, and whether two systems differ; everything random is seeded."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb, sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Sample = npt.NDArray[np.float64]

NORMAL = NormalDist()
EXACT_UP_TO = 12
"""So many differences are tested with all their signs, more with drawn ones."""


def bootstrap_interval(
    values: Sequence[float], *, seed: int = 0, resamples: int = 2000, level: float = 0.95
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean (Efron 1979).

    Args:
        values: One value a question; at least one.
        seed: Same seed, same interval.
        resamples: How often the questions are drawn anew.
        level: Share of the resampled means between the two ends.

    Returns:
        Lower and upper end.
    """
    means = _resampled_means(np.asarray(values, dtype=np.float64), seed, resamples)
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def bca_interval(
    values: Sequence[float],
    *,
    bounds: tuple[float, float] | None = None,
    seed: int = 0,
    resamples: int = 2000,
    level: float = 0.95,
) -> tuple[float, float]:
    """Bias-corrected and accelerated bootstrap interval of the mean (Efron 1987).

    For a difference of two systems, `values` are the differences question by question: then it
    is the paired interval. `bounds` are the least and the largest value there can be: where all
    values are equal there is nothing to draw from, and the interval tells how far others, which
    were not seen, could move the mean (Clopper and Pearson 1934, for their share); without bounds
    it is a point. The other arguments are those of `bootstrap_interval`.
    """
    sample = np.asarray(values, dtype=np.float64)
    mean = sample.mean()
    if np.ptp(sample) == 0:
        unseen = 1 - ((1 - level) / 2) ** (1 / len(sample))
        low, high = bounds or (mean, mean)
        return float(mean - unseen * (mean - low)), float(mean + unseen * (high - mean))
    means = _resampled_means(sample, seed, resamples)
    below = (np.mean(means < mean) + np.mean(means <= mean)) / 2
    edge = 0.5 / resamples
    bias = NORMAL.inv_cdf(float(np.clip(below, edge, 1 - edge)))
    away = sample - mean  # of a mean, the jackknife's values are these, scaled
    acceleration = float((away**3).sum() / (6 * (away**2).sum() ** 1.5))
    tail = (1 - level) / 2
    shares = [_shifted(NORMAL.inv_cdf(at), bias, acceleration) for at in (tail, 1 - tail)]
    low, high = np.quantile(means, shares)
    return float(low), float(high)


def _shifted(z: float, bias: float, acceleration: float) -> float:
    moved = bias + z
    return NORMAL.cdf(bias + moved / (1 - acceleration * moved))


def _resampled_means(sample: Sample, seed: int, resamples: int) -> Sample:
    generator = np.random.default_rng(seed)
    means = np.empty(resamples)
    for start in range(0, resamples, 100):  # a hundred at a time keeps the draws small
        drawn = generator.integers(0, len(sample), size=(100, len(sample)))
        means[start : start + 100] = sample[drawn].mean(axis=1)[: resamples - start]
    return means


def resampled_interval(
    count: int,
    statistic: Callable[[npt.NDArray[np.int64]], float | None],
    *,
    seed: int = 0,
    resamples: int = 500,
    level: float = 0.95,
) -> tuple[float, float] | None:
    """Percentile bootstrap interval of what is no mean, such as an AUROC.

    Args:
        count: How many questions there are.
        statistic: Its value for the questions at these places; `None` where they have none.
        seed: Same seed, same interval.
        resamples: How often the questions are drawn anew.
        level: Share of the resampled values between the two ends.

    Returns:
        Lower and upper end; `None` if no drawn sample has a value.
    """
    generator = np.random.default_rng(seed)
    drawn = (statistic(generator.integers(0, count, size=count)) for _ in range(resamples))
    values = [value for value in drawn if value is not None]
    if not values:
        return None
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def randomisation_p(differences: Sequence[float], *, seed: int = 0, rounds: int = 10_000) -> float:
    """Two-sided p of the paired randomisation test of the mean (Fisher 1935).

    If the systems are alike, each difference could as well have had the other sign. Up to
    `EXACT_UP_TO` differences that are not 0 every choice of signs is tried; of more, `rounds`
    are drawn and the observed one counts among them, so that p is never 0.

    Args:
        differences: One a question.
        seed: Same seed, same p.
        rounds: How many choices of signs are drawn.
    """
    moved = np.asarray([each for each in differences if each], dtype=np.float64)
    if not len(moved):
        return 1.0
    # Sums in another order differ in the last digits.
    observed = abs(moved.sum()) - 1e-9 * np.abs(moved).sum()
    if len(moved) <= EXACT_UP_TO:
        places = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))
        return float(np.mean(np.abs((1 - 2.0 * (places & 1)) @ moved) >= observed))
    generator = np.random.default_rng(seed)
    hits = 0
    for start in range(0, rounds, 500):
        signs = generator.integers(0, 2, size=(500, len(moved)))[: rounds - start] * 2.0 - 1
        hits += int(np.sum(np.abs(signs @ moved) >= observed))
    return (hits + 1) / (rounds + 1)


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Two-sided p of McNemar's exact test (McNemar 1947, the binomial form).

    Args:
        only_first: Questions that only the first system has right.
        only_second: Questions that only the second system has right.
    """
    count = only_first + only_second
    tail = sum(comb(count, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, float(Fraction(2 * tail, 2**count)))


def holm(ps: Sequence[float]) -> list[float]:
    """The p values, corrected for how many there are (Holm 1979), in the same order."""
    adjusted = [0.0] * len(ps)
    highest = 0.0
    for done, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        highest = max(highest, min(1.0, (len(ps) - done) * ps[place]))
        adjusted[place] = highest
    return adjusted


def detectable(differences: Sequence[float], *, level: float = 0.95, power: float = 0.8) -> float:
    """The smallest true difference that so many questions would show with this power.

    By the normal approximation, with the spread of the differences that were seen.
    """
    if len(differences) < 2:
        return float("inf")
    spread = float(np.std(np.asarray(differences), ddof=1))
    wanted = NORMAL.inv_cdf(0.5 + level / 2) + NORMAL.inv_cdf(power)
    return wanted * spread / sqrt(len(differences))
