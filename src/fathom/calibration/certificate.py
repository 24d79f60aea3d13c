"""Certified thresholds: learn then test, with exact binomial tests in a fixed sequence.

A threshold is certified when the test refutes, at the level `delta`, that more than `max_error` of
the answers that reach it are wrong (Angelopoulos et al. 2021; the test is that of Clopper and
Pearson 1934). Thresholds are tried one after another, from the one with the fewest expected errors
for its number of answers towards more answers. The sequence ends at the first threshold that fails
the test: however many are tried, the chance that a bad one is certified is at most `delta`. The
probabilities alone decide where the sequence begins, never which of the answers were right.
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
STARTS = (0.75, 0.25)
"""Shares of `delta`: of the start that promises most, and of the start with the fewest answers."""
_STEPS = 60
"""Number of thresholds that are tried, about."""


class StageOutcome(NamedTuple):
    """The outcome of one stage for one question: a probability of being right, and the truth."""

    confidence: float
    right: bool


Ladder = Sequence[StageOutcome]
"""A question's outcomes, one for each stage that it reached, in order. The first one that reaches
the threshold is the answer; a strategy of one stage has one outcome, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The threshold that could be certified at one rate of errors.

    Attributes:
        max_error: The rate of errors that the answers do not exceed.
        delta: The largest probability that they exceed it.
        threshold: The least confidence of an answer that is given; `None` if none was certified.
        questions: The number of questions that it was learned from.
        answered: The number of these questions whose confidence reaches the threshold.
        wrong: The number of wrong answers among these.
        bound: The upper end of the exact one-sided interval of the rate of errors.
        more: The number of further questions that would suffice if they came out alike, where no
            threshold was certified; `None` where no number would.
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
        """The share of the questions that are answered."""
        return self.answered / self.questions if self.questions else 0.0


def certify(ladders: Sequence[Ladder], *, max_error: float, delta: float = DELTA) -> Certificate:
    """Return the certified threshold that gives most answers, for all stages of a ladder together.

    One threshold serves every stage, as it is compared with the probability of being right,
    whatever stage this comes from. The test counts the joint outcome: that of whichever stage
    answers.

    Args:
        ladders: One for each question, of confidences that do not depend on whether the question
            itself was answered right.
        max_error: Largest share of wrong answers, between 0 and 1.
        delta: Largest probability of certifying a bad threshold, between 0 and 1.
    """
    points = _measure_points(ladders)
    best: _Point | None = None
    for start, share in _choose_starts(points, max_error, delta):
        # The sequence ends at the first test that fails: a later, larger set of answers may not be
        # tried, or the chance of a false certificate would exceed `delta`.
        for point in points[start:]:
            if _compute_tail(point.wrong, point.answered, max_error) > share:
                break
            best = max(best, point, key=lambda candidate: candidate.answered) if best else point
        # The second start is tried only where the first certifies nothing.
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
    """The answers that a threshold lets through; the confidences give the `expected` errors."""

    level: float
    answered: int
    wrong: int
    expected: float


def _measure_points(ladders: Sequence[Ladder]) -> list[_Point]:
    """Return what thresholds let through, falling, at steps of about a sixtieth of the answers."""
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
    """Return what a threshold lets through, by each question's first stage that reaches it."""
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
    """Return the points at which the sequences begin, each with its share of `delta`."""
    testable = [
        place
        for place, point in enumerate(points)
        if _compute_tail(0, point.answered, max_error) <= delta / 4
    ]
    # Too few answers for two tests: the whole of `delta` goes to one sequence.
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
    """Return how many more questions would certify a threshold if their outcomes were alike.

    The number rests on the normal approximation, with half an error added to the errors that were
    seen.
    """
    quantile = NormalDist().inv_cdf(1 - delta)
    fewest = inf
    for point in points:
        rate = (point.wrong + 0.5) / (point.answered + 1)
        if rate < max_error:
            needed = quantile**2 * max_error * (1 - max_error) / (max_error - rate) ** 2
            # Fewer answers than log(delta) / log(1 - max_error) certify nothing, even without an
            # error.
            fewest = min(
                fewest, questions * max(needed, log(delta) / log1p(-max_error)) / point.answered
            )
    return None if fewest == inf else max(1, ceil(fewest - questions))


def compute_upper_bound(wrong: int, answered: int, delta: float) -> float:
    """Return the exact one-sided upper bound of a rate (Clopper and Pearson); 1 of no answers."""
    if answered == 0 or wrong >= answered:
        return 1.0
    low, high = wrong / answered, 1.0
    # Bisection to the precision of a float.
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
