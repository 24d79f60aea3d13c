"""Whether confidence means what it says."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def auroc(scores: Sequence[float], labels: Sequence[bool]) -> float | None:
    """Probability that a positive one is scored above a negative one; a tie counts half.

    Returns:
        `None` when there are not both.
    """
    values, positive = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=bool)
    above, below = values[positive], np.sort(values[~positive])
    if not len(above) or not len(below):
        return None
    wins = np.searchsorted(below, above, "left") + np.searchsorted(below, above, "right")
    return float(wins.mean() / (2 * len(below)))


def risk_coverage(confidences: Sequence[float], right: Sequence[bool]) -> list[tuple[float, float]]:
    """The share of wrong answers among the most confident ones (El-Yaniv and Wiener 2010).

    Returns:
        (coverage, risk) for the best 1, 2, ... questions. Among equal confidences the wrong ones
        are spread evenly, which is the mean over all their orders.
    """
    coverage, risk = _risks(confidences, right)
    return list(zip(coverage.tolist(), risk.tolist(), strict=True))


def aurc(confidences: Sequence[float], right: Sequence[bool]) -> float | None:
    """Mean risk over all coverages (Geifman and El-Yaniv 2019); 0 is best, `None` of nothing."""
    return float(_risks(confidences, right)[1].mean()) if len(confidences) else None


def _risks(
    confidences: Sequence[float], right: Sequence[bool]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    values = -np.asarray(confidences, dtype=np.float64)
    wrong = ~np.asarray(right, dtype=bool)
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    mean_wrong = np.bincount(group, weights=wrong, minlength=len(sizes)) / np.maximum(sizes, 1)
    counted = np.arange(1, len(values) + 1)
    return counted / max(len(values), 1), np.cumsum(np.repeat(mean_wrong, sizes)) / counted


def calibration_error(
    confidences: Sequence[float], right: Sequence[bool], *, bins: int = 10
) -> float | None:
    """Expected calibration error (Guo et al. 2017): how far confidence is from the share right.

    Args:
        confidences: In [0, 1].
        right: As many.
        bins: Of equal width.

    Returns:
        The mean distance, each bin weighing as many questions as it holds; `None` of nothing.
    """
    if not len(confidences):
        return None
    values, hits = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=np.float64)
    places = np.minimum((values * bins).astype(int), bins - 1)
    gaps = np.bincount(places, weights=values - hits, minlength=bins)
    return float(np.abs(gaps).sum() / len(values))
