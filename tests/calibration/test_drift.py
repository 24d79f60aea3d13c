"""Drift: a warning if and only if recent questions differ from those of the calibration."""

import numpy as np

from fathom.calibration.drift import FEWEST, Drift


def make_rows(count: int, seed: int, move: float = 0.0) -> list[dict[str, float]]:
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
    drift = Drift.from_rows(make_rows(300, 0))
    assert sum(bool(drift.find_moved_signals(make_rows(100, seed))) for seed in range(1, 201)) <= 4


def test_only_the_moved_signal_is_named() -> None:
    assert Drift.from_rows(make_rows(300, 0)).find_moved_signals(make_rows(100, 1, move=2.0)) == (
        "moved",
    )


def test_a_constant_signal_that_changes_is_named() -> None:
    drift = Drift.from_rows([{"words": 9.0}] * 300)
    assert drift.find_moved_signals([{"words": 2.0}] * 100) == ("words",)
    assert drift.find_moved_signals([{"words": 12.0}] * 100) == ("words",)
    assert drift.find_moved_signals([{"words": 9.0}] * 100) == ()


def test_a_few_outliers_are_no_drift() -> None:
    odd = make_rows(3, 5, move=1e9)
    assert Drift.from_rows(make_rows(300, 0)).find_moved_signals([*make_rows(97, 1), *odd]) == ()


def test_few_answers_give_no_warning() -> None:
    assert (
        Drift.from_rows(make_rows(300, 0)).find_moved_signals(make_rows(FEWEST - 1, 1, move=9.0))
        == ()
    )


def test_it_is_read_as_it_was_written() -> None:
    drift = Drift.from_rows(make_rows(200, 0))
    assert Drift.from_json(drift.to_json()) == drift
