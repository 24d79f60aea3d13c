"""Measures of confidence, of its ranking of answers and of its calibration."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def auroc(scores: Sequence[float], labels: Sequence[bool]) -> float | None:
    """Return the probability that a positive has a higher score than a negative; a tie counts half.

    Returns:
        The probability; `None` without positives or without negatives.
    """
    values, positive = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=bool)
    above, below = values[positive], np.sort(values[~positive])
    if not len(above) or not len(below):
        return None
    # The two sides count a lower negative twice and an equal one once.
    wins = np.searchsorted(below, above, "left") + np.searchsorted(below, above, "right")
    return float(wins.mean() / (2 * len(below)))


def risk_coverage(confidences: Sequence[float], right: Sequence[bool]) -> list[tuple[float, float]]:
    """Return the risk-coverage curve (El-Yaniv and Wiener 2010).

    Returns:
        Pairs (coverage, share of wrong answers) for the 1, 2, ... most confident answers. Wrong
        answers are spread evenly among equal confidences, which is the mean over all orders.
    """
    coverage, risk = _compute_risks(confidences, right)
    return list(zip(coverage.tolist(), risk.tolist(), strict=True))


def aurc(confidences: Sequence[float], right: Sequence[bool]) -> float | None:
    """Return the mean risk over all coverages (Geifman and El-Yaniv 2019).

    Returns:
        The mean, where 0 is best; `None` without answers.
    """
    return float(_compute_risks(confidences, right)[1].mean()) if len(confidences) else None


def _compute_risks(
    confidences: Sequence[float], right: Sequence[bool]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    values = -np.asarray(confidences, dtype=np.float64)
    wrong = ~np.asarray(right, dtype=bool)
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    # Each answer gets the share of wrong answers among all equally confident ones, so that the
    # order of the questions does not matter.
    mean_wrong = np.bincount(group, weights=wrong, minlength=len(sizes)) / np.maximum(sizes, 1)
    ranks = np.arange(1, len(values) + 1)
    return ranks / max(len(values), 1), np.cumsum(np.repeat(mean_wrong, sizes)) / ranks


def calibration_error(
    confidences: Sequence[float], right: Sequence[bool], *, bins: int = 10
) -> float | None:
    """Return the expected calibration error of Guo et al. 2017.

    Args:
        confidences: The confidence of each answer, from 0 to 1.
        right: Whether each answer is right.
        bins: The number of bins of equal width.

    Returns:
        The mean distance of a bin's confidence from its share of right answers, weighted by the
        number of answers; `None` without answers.
    """
    if not len(confidences):
        return None
    values, hits = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=np.float64)
    # A confidence of exactly 1 belongs to the last bin.
    places = np.minimum((values * bins).astype(int), bins - 1)
    gaps = np.bincount(places, weights=values - hits, minlength=bins)
    return float(np.abs(gaps).sum() / len(values))
