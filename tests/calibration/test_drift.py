"""Drift: a warning when what is asked is no longer what was calibrated on, and only then."""

import numpy as np

from fathom.calibration.drift import FEWEST, Drift


def rows(count: int, seed: int, move: float = 0.0) -> list[dict[str, float]]:
    dice = np.random.default_rng(seed)
    return [
        {
            "same": float(dice.normal()),
            "flag": float(dice.random() < 0.3),
            "moved": float(dice.normal() + move),
        }
        for _ in range(count)
    ]


def test_answers_of_the_same_kind_hardly_ever_warn() -> None:
    drift = Drift.from_rows(rows(300, 0))
    assert sum(bool(drift.find_moved_signals(rows(100, seed))) for seed in range(1, 201)) <= 4


def test_a_signal_that_moved_is_named_and_no_other() -> None:
    assert Drift.from_rows(rows(300, 0)).find_moved_signals(rows(100, 1, move=2.0)) == ("moved",)


def test_a_signal_that_never_varied_and_is_another_now_is_named() -> None:
    drift = Drift.from_rows([{"words": 9.0}] * 300)
    assert drift.find_moved_signals([{"words": 2.0}] * 100) == ("words",)
    assert drift.find_moved_signals([{"words": 12.0}] * 100) == ("words",)
    assert drift.find_moved_signals([{"words": 9.0}] * 100) == ()


def test_a_few_outliers_are_no_drift() -> None:
    odd = rows(3, 5, move=1e9)
    assert Drift.from_rows(rows(300, 0)).find_moved_signals([*rows(97, 1), *odd]) == ()


def test_of_few_answers_nothing_is_said() -> None:
    assert Drift.from_rows(rows(300, 0)).find_moved_signals(rows(FEWEST - 1, 1, move=9.0)) == ()


def test_it_is_read_as_it_was_written() -> None:
    drift = Drift.from_rows(rows(200, 0))
    assert Drift.from_json(drift.to_json()) == drift
