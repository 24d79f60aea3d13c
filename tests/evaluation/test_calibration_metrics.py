"""Measures of confidence compared with brute force."""

from itertools import permutations, product
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.evaluation.calibration_metrics import aurc, auroc, calibration_error, risk_coverage

CONFIDENCE = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.5, 0.75, 1.0])
PAIRS = st.lists(st.tuples(CONFIDENCE, st.booleans()), min_size=1, max_size=30)


def split_pairs(pairs: list[tuple[float, bool]]) -> tuple[list[float], list[bool]]:
    return [score for score, _ in pairs], [label for _, label in pairs]


@given(PAIRS)
def test_auroc_counts_the_pairs_in_the_right_order(pairs: list[tuple[float, bool]]) -> None:
    above = [score for score, label in pairs if label]
    below = [score for score, label in pairs if not label]
    area = auroc(*split_pairs(pairs))
    if not above or not below:
        assert area is None
    else:
        wins = [(a > b) + (a == b) / 2 for a, b in product(above, below)]
        assert area == pytest.approx(fmean(wins))


@given(st.lists(st.tuples(CONFIDENCE, st.booleans()), min_size=1, max_size=6))
def test_aurc_is_the_mean_over_all_orders_of_equal_confidences(
    pairs: list[tuple[float, bool]],
) -> None:
    areas = []
    for order in permutations(pairs):
        ranked = sorted(order, key=lambda pair: -pair[0])
        risks = [fmean(not label for _, label in ranked[: n + 1]) for n in range(len(ranked))]
        areas.append(fmean(risks))
    assert aurc(*split_pairs(pairs)) == pytest.approx(fmean(areas))


@given(PAIRS)
def test_the_curve_ends_at_full_coverage_with_the_share_of_wrong_answers(
    pairs: list[tuple[float, bool]],
) -> None:
    curve = risk_coverage(*split_pairs(pairs))
    assert len(curve) == len(pairs)
    coverage, risk = curve[-1]
    assert coverage == 1
    assert risk == pytest.approx(fmean(not label for _, label in pairs))


@given(PAIRS)
def test_calibration_error_is_computed_by_bins(pairs: list[tuple[float, bool]]) -> None:
    bins: dict[int, list[tuple[float, bool]]] = {}
    for score, label in pairs:
        bins.setdefault(min(int(score * 10), 9), []).append((score, label))
    expected = sum(
        abs(fmean(score for score, _ in entries) - fmean(label for _, label in entries))
        * len(entries)
        for entries in bins.values()
    )
    assert calibration_error(*split_pairs(pairs)) == pytest.approx(expected / len(pairs))


def test_measures_are_as_computed_by_hand() -> None:
    assert risk_coverage([0.9, 0.8], [True, False]) == [(0.5, 0.0), (1.0, 0.5)]
    assert aurc([0.9, 0.8], [True, False]) == 0.25
    assert calibration_error([0.9, 0.9], [True, False]) == pytest.approx(0.4)


def test_without_answers_there_is_no_value() -> None:
    assert (aurc([], []), calibration_error([], []), auroc([], [])) == (None, None, None)
