"""Confidence intervals, and tests of differences between two systems; randomness is seeded."""

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from math import comb, exp, inf, lgamma, log, log1p, sqrt
from statistics import NormalDist, fmean, stdev

import numpy as np
import numpy.typing as npt

Sample = npt.NDArray[np.float64]

NORMAL = NormalDist()
EXACT_UP_TO = 12
"""The number of differences up to which all choices of signs are tested, not drawn ones."""
SIGNIFICANT = 0.05
"""The corrected p below which a difference is significant."""
FOLDS = 5
"""The parts of the questions in a cross-validation, which measures on each part what it learned on
the other parts."""


def bootstrap_interval(
    values: Sequence[float], *, seed: int = 0, resamples: int = 2000, level: float = 0.95
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean (Efron 1979).

    Args:
        values: One value for each question; at least one.
        seed: The seed of the resamples.
        resamples: The number of resamples of the questions.
        level: The share of resampled means within the interval.

    Returns:
        The lower and the upper end.
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

    For the paired interval of two systems, the values are the differences of the questions.

    Args:
        values: One value for each question; at least one.
        bounds: The least and the largest possible value. If all values are equal, the ends of the
            interval say how far unseen values could move the mean (Clopper and Pearson 1934, for
            their share); without bounds it is then a point.
        seed: The seed of the resamples.
        resamples: The number of resamples of the questions.
        level: The share of resampled means within the interval.

    Returns:
        The lower and the upper end.
    """
    sample = np.asarray(values, dtype=np.float64)
    mean = sample.mean()
    if np.ptp(sample) == 0:
        unseen = 1 - ((1 - level) / 2) ** (1 / len(sample))
        low, high = bounds or (mean, mean)
        return float(mean - unseen * (mean - low)), float(mean + unseen * (high - mean))
    means = _resample_means(sample, seed, resamples)
    # Equal means can differ in the last digits, as sums depend on their order, and must count as
    # equal. `scipy.stats.bootstrap` compares all digits, so its interval with the same draws can
    # differ: by half a standard deviation for samples of four.
    rounding = 1e-9 * np.abs(sample).max()
    below = (np.mean(means < mean - rounding) + np.mean(means <= mean + rounding)) / 2
    # A share of exactly 0 or 1 has no finite normal quantile.
    edge = 0.5 / resamples
    bias = NORMAL.inv_cdf(float(np.clip(below, edge, 1 - edge)))
    away = sample - mean  # for a mean, these are the scaled values of the jackknife
    acceleration = float((away**3).sum() / (6 * (away**2).sum() ** 1.5))
    tail = (1 - level) / 2
    shares = [_shift_share(NORMAL.inv_cdf(at), bias, acceleration) for at in (tail, 1 - tail)]
    low, high = np.quantile(means, shares)
    return float(low), float(high)


def compute_rounded_interval(values: Sequence[float]) -> list[float]:
    """Return the BCa interval of the mean as a list of two numbers with four digits."""
    return [round(end, 4) for end in bca_interval(values)]


def _shift_share(z: float, bias: float, acceleration: float) -> float:
    moved = bias + z
    return NORMAL.cdf(bias + moved / (1 - acceleration * moved))


def _resample_means(sample: Sample, seed: int, resamples: int) -> Sample:
    generator = np.random.default_rng(seed)
    means = np.empty(resamples)
    for start in range(0, resamples, 100):  # in blocks of a hundred, to save memory
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
    """Return the percentile bootstrap interval of a statistic other than a mean, such as an AUROC.

    Args:
        count: The number of questions.
        statistic: Returns the value for the questions at given places; `None` without a value.
        seed: The seed of the resamples.
        resamples: The number of resamples of the questions.
        level: The share of resampled values within the interval.

    Returns:
        The lower and the upper end; `None` if no resample has a value.
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

    If the systems are equal, the sign of each difference is random. For up to `EXACT_UP_TO`
    differences other than 0, all choices of signs are tested. For more, `rounds` choices are drawn,
    and the observed choice is added, so that p is never 0.

    Args:
        differences: The difference for each question.
        seed: The seed of the draws.
        rounds: The number of choices of signs to draw.
    """
    # A difference of 0 has no sign.
    moved = np.asarray([difference for difference in differences if difference], dtype=np.float64)
    if not len(moved):
        return 1.0
    # Equal sums can differ in the last digits, as they depend on their order.
    observed = abs(moved.sum()) - 1e-9 * np.abs(moved).sum()
    if len(moved) <= EXACT_UP_TO:
        places = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))
        return float(np.mean(np.abs((1 - 2.0 * (places & 1)) @ moved) >= observed))
    generator = np.random.default_rng(seed)
    hits = 0
    for start in range(0, rounds, 500):
        # In blocks of five hundred, to save memory.
        signs = generator.integers(0, 2, size=(500, len(moved)))[: rounds - start] * 2.0 - 1
        hits += int(np.sum(np.abs(signs @ moved) >= observed))
    return (hits + 1) / (rounds + 1)


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Return the two-sided p of McNemar's exact test (McNemar 1947, the binomial form).

    Args:
        only_first: The number of questions that only the first system answers rightly.
        only_second: The number of questions that only the second system answers rightly.
    """
    count = only_first + only_second
    tail = sum(comb(count, k) for k in range(min(only_first, only_second) + 1))
    # Both numbers may be too large for floats, but their ratio is not.
    return min(1.0, float(Fraction(2 * tail, 2**count)))


def holm(ps: Sequence[float]) -> list[float]:
    """Return p values in the same order, corrected for their number (Holm 1979)."""
    adjusted = [0.0] * len(ps)
    highest = 0.0
    for done, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        # A corrected p must not be less than that of a smaller p.
        highest = max(highest, min(1.0, (len(ps) - done) * ps[place]))
        adjusted[place] = highest
    return adjusted


def detectable_difference(
    differences: Sequence[float], *, level: float = 0.95, power: float = 0.8
) -> float:
    """Return the smallest true difference that so many questions would show with this power.

    The result uses the normal approximation with the spread of these differences; it is infinite
    for fewer than two.
    """
    if len(differences) < 2:
        return float("inf")
    spread = float(np.std(np.asarray(differences), ddof=1))
    quantiles = NORMAL.inv_cdf(0.5 + level / 2) + NORMAL.inv_cdf(power)
    return quantiles * spread / sqrt(len(differences))


def count_needed(differences: Sequence[float], *, level: float = 0.95, power: float = 0.8) -> float:
    """Return the number of questions that would show the mean difference with this power.

    The mean is assumed to be the true difference. The result uses the normal approximation, as in
    `detectable_difference`; it is infinite if the mean is not above 0.
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
        differences: The difference for each question.

    Returns:
        The effect size; 0 if all differences are 0, and `None` if other differences have no spread.
    """
    if not any(differences):
        return 0.0
    spread = stdev(differences) if len(differences) > 1 else 0.0
    return fmean(differences) / spread if spread else None


def t_test_p(differences: Sequence[float]) -> float:
    """Return the two-sided p of the paired t-test (Student 1908).

    Args:
        differences: The difference for each question; for fewer than two p is 1.
    """
    count = len(differences)
    effect = effect_size(differences)
    if count < 2 or effect == 0.0:
        return 1.0
    # Equal differences other than 0 have no spread, so chance cannot explain them.
    t = inf if effect is None else effect * sqrt(count)
    freedom = count - 1
    return _incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)


def kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa (Cohen 1960), the agreement beyond chance.

    Args:
        first: The labels of the first judge.
        second: The labels of the second judge, in the same order.

    Returns:
        1 for full agreement, 0 for agreement by chance; `None` without labels, or if all labels of
        both are the same, because chance then explains the agreement.
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
    if x > (a + 1) / (a + b + 2):  # the fraction converges slowly for these values
        return 1 - _incomplete_beta(1 - x, b, a)
    front = a * log(x) + b * log1p(-x) + lgamma(a + b) - lgamma(a) - lgamma(b)
    return exp(front) / a * _beta_fraction(x, a, b)


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the function by Lentz's rule (DLMF 8.17.22)."""
    above, below, value = inf, 1.0, 1.0
    # A few dozen steps are usual; the bound ends a fraction that does not converge.
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
    # Lentz's rule divides by each term, so a tiny number replaces a term of 0.
    return value if abs(value) > _TINY else _TINY
