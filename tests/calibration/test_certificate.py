"""Certificates: exact bounds, and an error rate that holds for any distribution of answers."""

from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

from fathom.calibration.certificate import Ladder, StageOutcome, certify, compute_upper_bound


def make_ladders(sure: list[float], right: list[bool]) -> list[Ladder]:
    return [(StageOutcome(*pair),) for pair in zip(sure, right, strict=True)]


def draw_answers(count: int, seed: int, bent: float = 1.0) -> list[Ladder]:
    """Draw answers that are right as often as claimed, or as that to a power."""
    dice = np.random.default_rng(seed)
    sure = dice.beta(4, 1, size=count)
    right = dice.random(count) < sure**bent
    return make_ladders(sure.tolist(), right.tolist())


def count_allowed_failures(tries: int) -> float:
    """Return how often a 5 % event may happen, except for one test in a thousand."""
    spread = (tries * 0.05 * 0.95) ** 0.5
    return float(tries * 0.05 + NormalDist().inv_cdf(0.999) * spread)


MANY = np.random.default_rng(10**6).beta(4, 1, size=50_000)


def compute_true_error(level: float, bent: float) -> float:
    accepted = MANY[level <= MANY]
    return float((1 - accepted**bent).mean())


@pytest.mark.parametrize(("wrong", "answered"), [(0, 1), (0, 59), (3, 100), (20, 400), (7, 7)])
def test_the_bound_is_that_of_clopper_and_pearson(wrong: int, answered: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    expected = 1.0 if wrong == answered else stats.beta.ppf(0.95, wrong + 1, answered - wrong)
    assert compute_upper_bound(wrong, answered, 0.05) == pytest.approx(expected, abs=1e-9)


def test_without_answers_the_bound_is_one() -> None:
    assert compute_upper_bound(0, 0, 0.05) == 1.0


def test_five_percent_needs_fifty_nine_right_answers() -> None:
    few = certify(make_ladders([0.9] * 58, [True] * 58), max_error=0.05)
    enough = certify(make_ladders([0.9] * 59, [True] * 59), max_error=0.05)
    assert few.threshold is None
    assert 0 < (few.more or 0) < 100
    assert (enough.threshold, enough.answered, enough.coverage) == (0.9, 59, 1.0)
    assert enough.bound <= 0.05


# One distribution of confidences says too little, and one promises too much.
@pytest.mark.parametrize("bent", [0.5, pytest.param(1.0, marks=pytest.mark.slow), 3.0])
def test_a_certificate_fails_at_most_as_often_as_stated(bent: float) -> None:
    certified = [certify(draw_answers(300, seed, bent), max_error=0.1) for seed in range(300)]
    levels = [
        certificate.threshold for certificate in certified if certificate.threshold is not None
    ]
    failed = sum(compute_true_error(level, bent) > 0.1 for level in levels)
    assert failed <= count_allowed_failures(300)
    if bent <= 1.0:
        assert len(levels) > 200  # and it is no empty promise


def test_the_bound_is_that_of_the_counted_answers() -> None:
    certificate = certify(draw_answers(400, 1), max_error=0.1)
    assert certificate.threshold is not None
    taken = [
        outcome
        for (outcome,) in draw_answers(400, 1)
        if outcome.confidence >= certificate.threshold
    ]
    assert (certificate.answered, certificate.wrong) == (
        len(taken),
        sum(not outcome.right for outcome in taken),
    )
    assert certificate.bound == pytest.approx(
        compute_upper_bound(certificate.wrong, certificate.answered, 0.05)
    )
    assert certificate.bound <= 0.1 + 0.02  # tested at shares of delta, told at delta


def test_an_unreachable_rate_reports_how_many_more_questions_might_suffice() -> None:
    certificate = certify(draw_answers(60, 2), max_error=0.05)
    assert certificate.threshold is None
    assert certificate.more is not None
    assert certificate.more > 0
    again = [
        certify(draw_answers(60 + 3 * certificate.more, seed), max_error=0.05) for seed in range(9)
    ]
    assert sum(certificate.threshold is not None for certificate in again) >= 5


def test_an_impossible_rate_is_reported_as_impossible() -> None:
    certificate = certify(make_ladders([0.9] * 200, [True, False] * 100), max_error=0.05)
    assert (certificate.threshold, certificate.more) == (None, None)


def test_an_unanswered_question_counts_in_the_coverage_only() -> None:
    silent: list[Ladder] = [()] * 100
    certificate = certify([*silent, *make_ladders([0.9] * 100, [True] * 100)], max_error=0.05)
    assert (certificate.questions, certificate.answered, certificate.coverage) == (200, 100, 0.5)


def test_a_ladder_is_judged_by_the_stage_that_answers() -> None:
    first_wrong: list[Ladder] = [
        (StageOutcome(0.9, right=False), StageOutcome(0.95, right=True))
    ] * 100
    assert certify(first_wrong, max_error=0.1).threshold == 0.95
    late: list[Ladder] = [(StageOutcome(0.2, right=False), StageOutcome(0.9, right=True))] * 100
    certificate = certify(late, max_error=0.1)
    assert (certificate.threshold, certificate.answered, certificate.wrong) == (0.9, 100, 0)


def test_the_stages_of_a_ladder_are_certified_together() -> None:
    def draw_two_stages(count: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        dice = np.random.default_rng(seed)
        sure = dice.beta(3, 1, size=(count, 2))
        return sure, dice.random((count, 2)) < sure

    def make_two_stages(count: int, seed: int) -> list[Ladder]:
        return [
            tuple(StageOutcome(*stage) for stage in zip(sure, right, strict=True))
            for sure, right in zip(
                *map(np.ndarray.tolist, draw_two_stages(count, seed)), strict=True
            )
        ]

    true_sure, true_right = draw_two_stages(20_000, 10**6)
    failed = 0
    for seed in range(100):
        level = certify(make_two_stages(300, seed), max_error=0.1).threshold
        if level is not None:
            reaches = true_sure >= level
            answered = np.flatnonzero(reaches.any(axis=1))
            wrong = ~true_right[answered, reaches[answered].argmax(axis=1)]
            failed += bool(wrong.mean() > 0.1)
    assert failed <= count_allowed_failures(100)
