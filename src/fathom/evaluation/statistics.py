"""Intervals of means, and tests of whether two systems differ; all randomness is seeded."""

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from math import comb, exp, inf, lgamma, log, log1p, sqrt
from statistics import NormalDist, fmean, stdev

import numpy as np
import numpy.typing as npt

Sample = npt.NDArray[np.float64]

NORMAL = NormalDist()
EXACT_UP_TO = 12
"""The most differences that are tested with all their signs; more are tested with drawn signs."""


def bootstrap_interval(
    values: Sequence[float], *, seed: int = 0, resamples: int = 2000, level: float = 0.95
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean (Efron 1979).

    Args:
        values: One value a question; at least one.
        seed: The same seed gives the same interval.
        resamples: Number of times that the questions are drawn anew.
        level: Share of the resampled means between the two ends.

    Returns:
        Lower and upper end.
    """
    means = _resample_means(np.asarray(values, dtype=np.float64), seed, resamples)
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
    """Return the bias-corrected and accelerated bootstrap interval of the mean (Efron 1987).

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
    means = _resample_means(sample, seed, resamples)
    # Sums in another order differ in the last digits, and equal means must count as equal. For this
    # reason alone the interval can differ from that of `scipy.stats.bootstrap` with the same draws,
    # which compares the sums to the last digit: by half a standard deviation for samples of four.
    rounding = 1e-9 * np.abs(sample).max()
    below = (np.mean(means < mean - rounding) + np.mean(means <= mean + rounding)) / 2
    # A share of exactly 0 or 1 has no finite normal quantile.
    edge = 0.5 / resamples
    bias = NORMAL.inv_cdf(float(np.clip(below, edge, 1 - edge)))
    away = sample - mean  # for a mean, the jackknife's values are these, scaled
    acceleration = float((away**3).sum() / (6 * (away**2).sum() ** 1.5))
    tail = (1 - level) / 2
    shares = [_shift_share(NORMAL.inv_cdf(at), bias, acceleration) for at in (tail, 1 - tail)]
    low, high = np.quantile(means, shares)
    return float(low), float(high)


def _shift_share(z: float, bias: float, acceleration: float) -> float:
    moved = bias + z
    return NORMAL.cdf(bias + moved / (1 - acceleration * moved))


def _resample_means(sample: Sample, seed: int, resamples: int) -> Sample:
    generator = np.random.default_rng(seed)
    means = np.empty(resamples)
    for start in range(0, resamples, 100):  # a hundred at a time keeps the draws small
        places = generator.integers(0, len(sample), size=(100, len(sample)))
        means[start : start + 100] = sample[places].mean(axis=1)[: resamples - start]
    return means


def resample_interval(
    count: int,
    statistic: Callable[[npt.NDArray[np.int64]], float | None],
    *,
    seed: int = 0,
    resamples: int = 500,
    level: float = 0.95,
) -> tuple[float, float] | None:
    """Return the percentile bootstrap interval of a statistic that is no mean, such as an AUROC.

    Args:
        count: Number of questions.
        statistic: The value for the questions at these places; `None` where they have none.
        seed: The same seed gives the same interval.
        resamples: Number of times that the questions are drawn anew.
        level: Share of the resampled values between the two ends.

    Returns:
        Lower and upper end; `None` if no drawn sample has a value.
    """
    generator = np.random.default_rng(seed)
    statistics = (statistic(generator.integers(0, count, size=count)) for _ in range(resamples))
    values = [value for value in statistics if value is not None]
    if not values:
        return None
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def randomisation_p(differences: Sequence[float], *, seed: int = 0, rounds: int = 10_000) -> float:
    """Return the two-sided p of the paired randomisation test of the mean (Fisher 1935).

    If the systems are alike, each difference could as well have had the other sign. Up to
    `EXACT_UP_TO` differences that are not 0 every choice of signs is tried; of more, `rounds`
    are drawn and the observed one counts among them, so that p is never 0.

    Args:
        differences: One a question.
        seed: The same seed gives the same p.
        rounds: Number of choices of signs that are drawn.
    """
    # A difference of 0 has no sign to turn.
    moved = np.asarray([difference for difference in differences if difference], dtype=np.float64)
    if not len(moved):
        return 1.0
    # Sums in another order differ in the last digits, and equal ones must count as equal.
    observed = abs(moved.sum()) - 1e-9 * np.abs(moved).sum()
    if len(moved) <= EXACT_UP_TO:
        places = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))
        return float(np.mean(np.abs((1 - 2.0 * (places & 1)) @ moved) >= observed))
    generator = np.random.default_rng(seed)
    hits = 0
    for start in range(0, rounds, 500):
        # Five hundred at a time keep the draws small.
        signs = generator.integers(0, 2, size=(500, len(moved)))[: rounds - start] * 2.0 - 1
        hits += int(np.sum(np.abs(signs @ moved) >= observed))
    return (hits + 1) / (rounds + 1)


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Return the two-sided p of McNemar's exact test (McNemar 1947, the binomial form).

    Args:
        only_first: Number of questions that only the first system has right.
        only_second: Number of questions that only the second system has right.
    """
    count = only_first + only_second
    tail = sum(comb(count, k) for k in range(min(only_first, only_second) + 1))
    # Both numbers may be too large for floats, while their ratio is not.
    return min(1.0, float(Fraction(2 * tail, 2**count)))


def holm(ps: Sequence[float]) -> list[float]:
    """Return the p values, corrected for how many there are (Holm 1979), in the same order."""
    adjusted = [0.0] * len(ps)
    highest = 0.0
    for done, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        # A larger p must not end up below a smaller one.
        highest = max(highest, min(1.0, (len(ps) - done) * ps[place]))
        adjusted[place] = highest
    return adjusted


def detectable_difference(
    differences: Sequence[float], *, level: float = 0.95, power: float = 0.8
) -> float:
    """Return the smallest true difference that so many questions would show with this power.

    The result uses the normal approximation, with the spread of the differences that were seen.
    """
    if len(differences) < 2:
        return float("inf")
    spread = float(np.std(np.asarray(differences), ddof=1))
    quantiles = NORMAL.inv_cdf(0.5 + level / 2) + NORMAL.inv_cdf(power)
    return quantiles * spread / sqrt(len(differences))


def count_needed(differences: Sequence[float], *, level: float = 0.95, power: float = 0.8) -> float:
    """Return the number of questions that would show the mean difference with this power.

    The mean difference is taken as the true one, by the normal approximation as in
    `detectable_difference`; the result is infinite where the mean is not above 0.
    """
    mean = fmean(differences) if len(differences) > 1 else 0.0
    if mean <= 0:
        return inf
    within = detectable_difference(differences, level=level, power=power)
    return len(differences) * (within / mean) ** 2


_PRECISION = 1e-15
_TINY = 1e-300


def effect_size(differences: Sequence[float]) -> float | None:
    """Return Cohen's d of paired values (Cohen 1988, d_z): the mean in units of its spread.

    About 0.2 is small, 0.5 medium, 0.8 large.

    Args:
        differences: One a question.

    Returns:
        `None` where the differences have no spread but are not 0, or there are fewer than two.
    """
    if not any(differences):
        return 0.0
    spread = stdev(differences) if len(differences) > 1 else 0.0
    return fmean(differences) / spread if spread else None


def t_test_p(differences: Sequence[float]) -> float:
    """Return the two-sided p of the paired t-test (Student 1908).

    Args:
        differences: One a question; with fewer than two p is 1.
    """
    count = len(differences)
    effect = effect_size(differences)
    if count < 2 or effect == 0.0:
        return 1.0
    # Equal differences other than 0 have no spread, and no chance could explain them.
    t = inf if effect is None else effect * sqrt(count)
    freedom = count - 1
    return _incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)


def kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa (Cohen 1960): agreement beyond what chance would give.

    Args:
        first: The labels of the first judge.
        second: The labels of the second judge, in the same order.

    Returns:
        1 for full agreement, 0 for that of chance; `None` without labels, or where both gave one
        and the same label throughout, as chance explains it all then.
    """
    count = len(first)
    if count == 0:
        return None
    agreed = sum(a == b for a, b in zip(first, second, strict=True)) / count
    labels = {*first, *second}
    chance = sum(first.count(label) * second.count(label) for label in labels) / count**2
    return None if chance == 1 else (agreed - chance) / (1 - chance)


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges slowly on this side
        return 1 - _incomplete_beta(1 - x, b, a)
    front = a * log(x) + b * log1p(-x) + lgamma(a + b) - lgamma(a) - lgamma(b)
    return exp(front) / a * _beta_fraction(x, a, b)


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the function, by Lentz's rule (DLMF 8.17.22)."""
    above, below, value = inf, 1.0, 1.0
    # The bound only ends a fraction that does not converge; a few dozen steps are usual.
    for step in range(1, 10_000):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        below = 1 / _avoid_zero(1 + term * below)
        above = _avoid_zero(1 + term / above)
        value *= above * below
        if abs(above * below - 1) < _PRECISION:
            break
    return value


def _avoid_zero(value: float) -> float:
    # Lentz's rule divides by each term, so a term of 0 becomes the smallest usable number.
    return value if abs(value) > _TINY else _TINY
