"""How sure a mean is."""

from collections.abc import Sequence

import numpy as np


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
    sample = np.asarray(values, dtype=np.float64)
    generator = np.random.default_rng(seed)
    means = np.empty(resamples)
    for start in range(0, resamples, 100):  # a hundred at a time keeps the draws small
        drawn = generator.integers(0, len(sample), size=(100, len(sample)))
        means[start : start + 100] = sample[drawn].mean(axis=1)[: resamples - start]
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)
