"""Certificates: exact bounds, and a rate of errors that holds however the answers fall."""

from statistics import NormalDist

import numpy as np
import pytest

from fathom.calibration.certificate import Ladder, StageOutcome, certify, compute_upper_bound


def ladders(sure: list[float], right: list[bool]) -> list[Ladder]:
    return [(StageOutcome(*each),) for each in zip(sure, right, strict=True)]


def drawn(count: int, seed: int, bent: float = 1.0) -> list[Ladder]:
    """Answers that are right as often as they are said to be, or as that to a power."""
    dice = np.random.default_rng(seed)
    sure = dice.beta(4, 1, size=count)
    right = dice.random(count) < sure**bent
    return ladders(sure.tolist(), right.tolist())


def most(tries: int) -> float:
    """So often may what fails at most once in twenty fail, but for one test in a thousand."""
    spread = (tries * 0.05 * 0.95) ** 0.5
    return float(tries * 0.05 + NormalDist().inv_cdf(0.999) * spread)


MANY = np.random.default_rng(10**6).beta(4, 1, size=50_000)


def true_error(level: float, bent: float) -> float:
    kept = MANY[level <= MANY]
    return float((1 - kept**bent).mean())


@pytest.mark.parametrize(("wrong", "answered"), [(0, 1), (0, 59), (3, 100), (20, 400), (7, 7)])
def test_the_bound_is_that_of_clopper_and_pearson(wrong: int, answered: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    known = 1.0 if wrong == answered else stats.beta.ppf(0.95, wrong + 1, answered - wrong)
    assert compute_upper_bound(wrong, answered, 0.05) == pytest.approx(known, abs=1e-9)


def test_of_nothing_nothing_is_known() -> None:
    assert compute_upper_bound(0, 0, 0.05) == 1.0


def test_fifty_nine_right_answers_are_what_five_percent_take() -> None:
    few = certify(ladders([0.9] * 58, [True] * 58), max_error=0.05)
    enough = certify(ladders([0.9] * 59, [True] * 59), max_error=0.05)
    assert few.threshold is None
    assert 0 < (few.more or 0) < 100
    assert (enough.threshold, enough.answered, enough.coverage) == (0.9, 59, 1.0)
    assert enough.bound <= 0.05


# Confidences that say too little, and that promise too much; between them nothing else happens.
@pytest.mark.parametrize("bent", [0.5, pytest.param(1.0, marks=pytest.mark.slow), 3.0])
def test_a_certificate_fails_no_more_often_than_it_says(bent: float) -> None:
    certified = [certify(drawn(300, seed, bent), max_error=0.1) for seed in range(300)]
    levels = [each.threshold for each in certified if each.threshold is not None]
    failed = sum(true_error(level, bent) > 0.1 for level in levels)
    assert failed <= most(300)
    if bent <= 1.0:
        assert len(levels) > 200  # and it is no empty promise


def test_the_bound_belongs_to_what_was_counted() -> None:
    certificate = certify(drawn(400, 1), max_error=0.1)
    assert certificate.threshold is not None
    taken = [one for (one,) in drawn(400, 1) if one.confidence >= certificate.threshold]
    assert (certificate.answered, certificate.wrong) == (
        len(taken),
        sum(not one.right for one in taken),
    )
    assert certificate.bound == pytest.approx(
        compute_upper_bound(certificate.wrong, certificate.answered, 0.05)
    )
    assert certificate.bound <= 0.1 + 0.02  # tested at shares of delta, told at delta


def test_where_the_rate_cannot_be_had_it_says_how_many_more_questions_might_do() -> None:
    certificate = certify(drawn(60, 2), max_error=0.05)
    assert certificate.threshold is None
    assert certificate.more is not None
    assert certificate.more > 0
    again = [certify(drawn(60 + 3 * certificate.more, seed), max_error=0.05) for seed in range(9)]
    assert sum(each.threshold is not None for each in again) >= 5


def test_where_no_number_would_do_it_says_that() -> None:
    certificate = certify(ladders([0.9] * 200, [True, False] * 100), max_error=0.05)
    assert (certificate.threshold, certificate.more) == (None, None)


def test_a_question_that_was_not_answered_counts_in_the_coverage_alone() -> None:
    silent: list[Ladder] = [()] * 100
    certificate = certify([*silent, *ladders([0.9] * 100, [True] * 100)], max_error=0.05)
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
    def two_stages(count: int, seed: int) -> list[Ladder]:
        dice = np.random.default_rng(seed)
        sure = dice.beta(3, 1, size=(count, 2))
        right = dice.random((count, 2)) < sure
        return [
            tuple(StageOutcome(float(s), bool(r)) for s, r in zip(*one, strict=True))
            for one in zip(sure, right, strict=True)
        ]

    truth = two_stages(20_000, 10**6)
    failed = 0
    for seed in range(100):
        level = certify(two_stages(300, seed), max_error=0.1).threshold
        if level is not None:
            firsts = [next((o for o in one if o.confidence >= level), None) for one in truth]
            taken = [each for each in firsts if each]
            failed += sum(not each.right for each in taken) > 0.1 * len(taken)
    assert failed <= most(100)
