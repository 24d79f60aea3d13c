"""How large a difference is beside its spread, Student's test of it, and how well two agree."""

from collections.abc import Hashable, Sequence
from math import exp, inf, lgamma, log, log1p, sqrt
from statistics import fmean, stdev

_PRECISION = 1e-15
_TINY = 1e-300


def effect_size(differences: Sequence[float]) -> float | None:
    """Cohen's d of paired values (Cohen 1988, d_z): the mean in units of its spread.

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
    """Two-sided p of the paired t-test (Student 1908).

    Args:
        differences: One a question; of fewer than two nothing can be said, and p is 1.
    """
    count = len(differences)
    effect = effect_size(differences)
    if count < 2 or effect == 0.0:
        return 1.0
    t = inf if effect is None else effect * sqrt(count)
    freedom = count - 1
    return _beta_share(freedom / (freedom + t * t), freedom / 2, 0.5)


def kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Cohen's kappa (Cohen 1960): agreement beyond what chance would give.

    Args:
        first: The labels that one gave.
        second: Those that the other gave, in the same order.

    Returns:
        1 for full agreement, 0 for that of chance; `None` of nothing, or where both gave one
        and the same label throughout, as chance explains it all then.
    """
    count = len(first)
    if count == 0:
        return None
    agreed = sum(a == b for a, b in zip(first, second, strict=True)) / count
    labels = {*first, *second}
    chance = sum(first.count(each) * second.count(each) for each in labels) / count**2
    return None if chance == 1 else (agreed - chance) / (1 - chance)


def _beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # there the fraction converges slowly
        return 1 - _beta_share(1 - x, b, a)
    front = a * log(x) + b * log1p(-x) + lgamma(a + b) - lgamma(a) - lgamma(b)
    return exp(front) / a * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the function, by Lentz's rule (DLMF 8.17.22)."""
    above, below, value = inf, 1.0, 1.0
    for step in range(1, 10_000):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        below = 1 / _away_from_0(1 + term * below)
        above = _away_from_0(1 + term / above)
        value *= above * below
        if abs(above * below - 1) < _PRECISION:
            break
    return value


def _away_from_0(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
