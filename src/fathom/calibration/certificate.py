"""Certified thresholds: learn then test, with exact binomial tests in a fixed sequence.

A threshold is certified when "more than `max_error` of what it lets through is wrong" is refuted
at the level `delta` (Angelopoulos et al. 2021; the test is that of Clopper and Pearson 1934).
Thresholds are tried one after another, from where the fewest errors are expected for their number
towards more answers, and the first that is not refuted ends it: so however many are tried, the
chance that a bad one is certified is at most `delta`. Where to begin is told by the probabilities
alone, never by which of the answers were right.
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
"""How `delta` is shared out: to where most is expected, and to the fewest answers that can do."""
_STEPS = 60


class Outcome(NamedTuple):
    """What came of one stage for one question: how likely it was right, and whether it was."""

    confidence: float
    right: bool


Ladder = Sequence[Outcome]
"""A question's outcomes, one for each stage that it was taken to, in their order. The first one
that reaches the threshold is the answer; strategies of one stage have one, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What could be certified at one rate of errors.

    Attributes:
        max_error: The rate that is not exceeded among what is answered.
        delta: With a probability of at most this it is.
        threshold: From this confidence on is answered; `None` where none could be certified.
        questions: How many there were to learn from.
        answered: How many of them reach it.
        wrong: How many of these were wrong.
        bound: Upper end of the exact one-sided interval of the rate of errors.
        more: Where nothing could be certified, so many more questions of this sort would do if
            they came out alike; `None` where no number would.
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
        """Share of the questions that are answered."""
        return self.answered / self.questions if self.questions else 0.0


def certify(ladders: Sequence[Ladder], *, max_error: float, delta: float = DELTA) -> Certificate:
    """The threshold with most answers that is certified, for all stages of a ladder together.

    One threshold serves every stage, as what it is put to is the probability of being right,
    whatever stage it comes from; it is the joint outcome that is tested, of whichever stage
    answers then.

    Args:
        ladders: One for each question, of confidences that its own rightness has not touched.
        max_error: Between 0 and 1.
        delta: Likewise.
    """
    points = _points(ladders)
    found: _Point | None = None
    for start, share in _starts(points, max_error, delta):
        for point in points[start:]:
            if _tail(point.wrong, point.answered, max_error) > share:
                break
            found = max(found, point, key=lambda each: each.answered) if found else point
        if found:
            break
    if found is None:
        more = _more(points, len(ladders), max_error, delta)
        return Certificate(
            max_error=max_error, delta=delta, threshold=None, questions=len(ladders), more=more
        )
    return Certificate(
        max_error=max_error,
        delta=delta,
        threshold=found.level,
        questions=len(ladders),
        answered=found.answered,
        wrong=found.wrong,
        bound=upper_bound(found.wrong, found.answered, delta),
    )


class _Point(NamedTuple):
    """What a threshold lets through; `expected` errors are told by the confidences."""

    level: float
    answered: int
    wrong: int
    expected: float


def _points(ladders: Sequence[Ladder]) -> list[_Point]:
    """What thresholds let through, falling: where answers grow by about a sixtieth of them."""
    stages = max((len(one) for one in ladders), default=0)
    sure = np.full((len(ladders), stages), -inf)
    right = np.zeros((len(ladders), stages), dtype=bool)
    for at, one in enumerate(ladders):
        sure[at, : len(one)] = [each.confidence for each in one]
        right[at, : len(one)] = [each.right for each in one]
    best = np.sort(sure.max(axis=1))[::-1] if stages else np.empty(0)
    best = best[best > -inf]
    step = max(1, ceil(len(best) / _STEPS))
    return [_point(float(level), sure, right) for level in np.unique(best[step - 1 :: step])[::-1]]


def _point(level: float, sure: Sample, right: NDArray[np.bool_]) -> _Point:
    reach = sure >= level
    taken = np.flatnonzero(reach.any(axis=1))
    first = reach[taken].argmax(axis=1)
    return _Point(
        level=level,
        answered=len(taken),
        wrong=int((~right[taken, first]).sum()),
        expected=float((1 - sure[taken, first]).sum()),
    )


def _starts(points: Sequence[_Point], max_error: float, delta: float) -> list[tuple[int, float]]:
    """Where the sequences begin, each with its share of `delta`."""
    enough = [
        at for at, point in enumerate(points) if _tail(0, point.answered, max_error) <= delta / 4
    ]
    if not enough:
        enough = [
            at for at, point in enumerate(points) if _tail(0, point.answered, max_error) <= delta
        ]
        return [(enough[0], delta)] if enough else []
    likely = min(
        enough, key=lambda at: _tail(round(points[at].expected), points[at].answered, max_error)
    )
    return [(at, delta * share) for at, share in zip((likely, enough[0]), STARTS, strict=True)]


def _more(points: Sequence[_Point], questions: int, max_error: float, delta: float) -> int | None:
    """How many more questions would certify a threshold if their outcomes were alike.

    By the normal approximation, with half an error on top of those that were seen.
    """
    away = NormalDist().inv_cdf(1 - delta)
    fewest = inf
    for point in points:
        rate = (point.wrong + 0.5) / (point.answered + 1)
        if rate < max_error:
            needed = away**2 * max_error * (1 - max_error) / (max_error - rate) ** 2
            fewest = min(
                fewest, questions * max(needed, log(delta) / log1p(-max_error)) / point.answered
            )
    return None if fewest == inf else max(1, ceil(fewest - questions))


def upper_bound(wrong: int, answered: int, delta: float) -> float:
    """The exact one-sided upper bound of a rate (Clopper and Pearson 1934); 1 of nothing."""
    if answered == 0 or wrong >= answered:
        return 1.0
    low, high = wrong / answered, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _tail(wrong, answered, middle) > delta else (low, middle)
    return high


def _tail(wrong: int, answered: int, rate: float) -> float:
    """Probability of at most so many wrong ones, if each is wrong with this rate."""
    if wrong >= answered:
        return 1.0
    if not 0 < rate < 1:
        return float(rate <= 0)
    counts = np.arange(1, wrong + 1)
    ways = np.concatenate([[0.0], np.cumsum(np.log((answered - counts + 1) / counts))])
    terms = ways + np.arange(wrong + 1) * log(rate)
    terms += (answered - np.arange(wrong + 1)) * log1p(-rate)
    highest = float(terms.max())
    return min(1.0, exp(highest) * float(np.exp(terms - highest).sum()))
