"""Certified thresholds: learn then test, with exact binomial tests in a fixed sequence.

A threshold is certified if the test refutes, at the level `delta`, that more than `max_error` of
the answers that reach it are wrong (Angelopoulos et al. 2021; the test is that of Clopper and
Pearson 1934). Thresholds are tried one after another, from the one with the fewest expected errors
for its number of answers towards more answers. The sequence ends at the first threshold that fails
the test. Therefore the chance that a bad threshold is certified is at most `delta`, however many
are tried. This holds because the place where the sequence begins depends on the probabilities
alone, never on which of the answers were right.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, inf, log, log1p
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Sample = NDArray[np.float64]
DELTA = 0.05
"""The default of the largest probability of certifying a bad threshold."""
STARTS = (0.75, 0.25)
"""Shares of `delta`: of the start that promises most, and of the start with the fewest answers."""
_STEPS = 60
"""The number of thresholds that are tried, at most."""


class StageOutcome(NamedTuple):
    """The outcome of one stage for one question: a probability of being right, and the truth."""

    confidence: float
    right: bool


Ladder = Sequence[StageOutcome]
"""A question's outcomes, one for each stage that it reached, in order.

The first outcome that reaches the threshold is the answer. A strategy of one stage has one outcome,
or none if the question was not answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The threshold that could be certified at one rate of errors.

    Attributes:
        max_error: The rate of errors that the answers do not exceed, between 0 and 1.
        delta: The largest probability that they exceed it, between 0 and 1.
        threshold: The least confidence of an answer that is given, in [0, 1]; `None` if no
            threshold was certified.
        questions: The number of questions that it was learned from.
        answered: The number of these questions with an answer that reaches the threshold.
        wrong: The number of wrong answers among these.
        bound: The upper end of the exact one-sided interval of the rate of errors, at the level
            1 - `delta`; 1 without a threshold.
        more: An estimate of how many more questions with outcomes like these would certify a
            threshold; `None` if one was certified, or if no number of questions would.
    """

    max_error: float
    delta: float
    threshold: float | None
    questions: int
    answered: int = 0
    wrong: int = 0
    bound: float = 1.0
    more: int | None = None

    @property
    def coverage(self) -> float:
        """The share of the questions that are answered, in [0, 1]."""
        return self.answered / self.questions if self.questions else 0.0


def certify(ladders: Sequence[Ladder], *, max_error: float, delta: float = DELTA) -> Certificate:
    """Return the certificate of the threshold that gives most answers among the certified ones.

    One threshold serves all stages, because it is compared with a probability of being right, which
    means the same at every stage. The test counts the outcome of the stage that answers.

    Args:
        ladders: One for each question. Its confidences must not depend on whether this question
            was answered right; held-out probabilities do not.
        max_error: The largest share of wrong answers, between 0 and 1.
        delta: The largest probability of certifying a bad threshold, between 0 and 1.
    """
    points = _measure_points(ladders)
    best: _Point | None = None
    for start, share in _choose_starts(points, max_error, delta):
        # The sequence must end at the first test that fails. If it went on, the chance of a false
        # certificate would exceed `delta`.
        for point in points[start:]:
            if _compute_tail(point.wrong, point.answered, max_error) > share:
                break
            best = max(best, point, key=lambda candidate: candidate.answered) if best else point
        # The second start is tried only if the first certifies nothing.
        if best:
            break
    if best is None:
        more = _estimate_more(points, len(ladders), max_error, delta)
        return Certificate(
            max_error=max_error, delta=delta, threshold=None, questions=len(ladders), more=more
        )
    return Certificate(
        max_error=max_error,
        delta=delta,
        threshold=best.level,
        questions=len(ladders),
        answered=best.answered,
        wrong=best.wrong,
        bound=compute_upper_bound(best.wrong, best.answered, delta),
    )


class _Point(NamedTuple):
    """The answers that reach a threshold.

    Attributes:
        level: The threshold.
        answered: The number of answers that reach it.
        wrong: The number of these that are wrong.
        expected: The number of these that are wrong according to their confidences.
    """

    level: float
    answered: int
    wrong: int
    expected: float


def _measure_points(ladders: Sequence[Ladder]) -> list[_Point]:
    """Return the answers that reach each of at most `_STEPS` thresholds, from the highest down.

    The thresholds are confidences of answers, at equal steps in the number of questions that are
    answered.
    """
    stages = max((len(ladder) for ladder in ladders), default=0)
    confidences = np.full((len(ladders), stages), -inf)
    right = np.zeros((len(ladders), stages), dtype=bool)
    for row, ladder in enumerate(ladders):
        confidences[row, : len(ladder)] = [outcome.confidence for outcome in ladder]
        right[row, : len(ladder)] = [outcome.right for outcome in ladder]
    best = np.sort(confidences.max(axis=1))[::-1] if stages else np.empty(0)
    best = best[best > -inf]
    step = max(1, ceil(len(best) / _STEPS))
    return [
        _measure_point(float(level), confidences, right)
        for level in np.unique(best[step - 1 :: step])[::-1]
    ]


def _measure_point(level: float, confidences: Sample, right: NDArray[np.bool_]) -> _Point:
    """Return the answers that reach a threshold; the first stage that reaches it answers.

    Args:
        level: The threshold.
        confidences: Questions x stages; minus infinity for a stage that was not reached.
        right: Questions x stages: whether the answer of the stage is right.
    """
    reaches = confidences >= level
    answered = np.flatnonzero(reaches.any(axis=1))
    stage = reaches[answered].argmax(axis=1)
    return _Point(
        level=level,
        answered=len(answered),
        wrong=int((~right[answered, stage]).sum()),
        expected=float((1 - confidences[answered, stage]).sum()),
    )


def _choose_starts(
    points: Sequence[_Point], max_error: float, delta: float
) -> list[tuple[int, float]]:
    """Return the places of the points at which the sequences begin, each with its test's level.

    A point can begin a sequence only if the test would certify it without any wrong answer. The
    levels add up to at most `delta`.
    """
    testable = [
        place
        for place, point in enumerate(points)
        if _compute_tail(0, point.answered, max_error) <= delta / 4
    ]
    # There are too few answers for two sequences, so one gets the whole of `delta`.
    if not testable:
        testable = [
            place
            for place, point in enumerate(points)
            if _compute_tail(0, point.answered, max_error) <= delta
        ]
        return [(testable[0], delta)] if testable else []
    promising = min(
        testable,
        key=lambda place: _compute_tail(
            round(points[place].expected), points[place].answered, max_error
        ),
    )
    return [
        (place, delta * share)
        for place, share in zip((promising, testable[0]), STARTS, strict=True)
    ]


def _estimate_more(
    points: Sequence[_Point], questions: int, max_error: float, delta: float
) -> int | None:
    """Estimate how many more questions with outcomes like these would certify a threshold.

    The estimate rests on the normal approximation, with half an error added to the errors seen.

    Returns:
        The number, at least 1; `None` if every threshold has too many errors.
    """
    quantile = NormalDist().inv_cdf(1 - delta)
    fewest = inf
    for point in points:
        rate = (point.wrong + 0.5) / (point.answered + 1)
        if rate < max_error:
            needed = quantile**2 * max_error * (1 - max_error) / (max_error - rate) ** 2
            # Fewer answers than log(delta) / log(1 - max_error) certify nothing, even if none of
            # them is wrong.
            fewest = min(
                fewest, questions * max(needed, log(delta) / log1p(-max_error)) / point.answered
            )
    return None if fewest == inf else max(1, ceil(fewest - questions))


def compute_upper_bound(wrong: int, answered: int, delta: float) -> float:
    """Return the exact one-sided upper bound of a rate of errors (Clopper and Pearson 1934).

    Args:
        wrong: The number of wrong answers.
        answered: The number of answers.
        delta: The largest probability that the true rate is above the bound, between 0 and 1.

    Returns:
        The bound, in [0, 1]; 1 without answers.
    """
    if answered == 0 or wrong >= answered:
        return 1.0
    low, high = wrong / answered, 1.0
    # Sixty halvings reach the precision of a float.
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if _compute_tail(wrong, answered, middle) > delta else (low, middle)
        )
    return high


def _compute_tail(wrong: int, answered: int, rate: float) -> float:
    """Return the probability of at most `wrong` wrong answers, if each is wrong at this rate."""
    if wrong >= answered:
        return 1.0
    if not 0 < rate < 1:
        return float(rate <= 0)
    counts = np.arange(1, wrong + 1)
    log_counts = np.concatenate([[0.0], np.cumsum(np.log((answered - counts + 1) / counts))])
    logs = log_counts + np.arange(wrong + 1) * log(rate)
    logs += (answered - np.arange(wrong + 1)) * log1p(-rate)
    # Sums of exponentials underflow for thousands of answers unless the largest is taken out.
    highest = float(logs.max())
    return min(1.0, exp(highest) * float(np.exp(logs - highest).sum()))
