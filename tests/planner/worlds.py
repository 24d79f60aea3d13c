"""Invented recorded outcomes whose best actions are known."""

import numpy as np

from fathom.planner.actions import Action, iterate_sequences
from fathom.planner.environment import RecordedOutcome, RecordedQuestion
from fathom.planner.observation import COLUMNS

HELPS: tuple[Action, ...] = ("bridge", "split", "debate")
"""The executor that answers a question of each kind; questions of a fourth kind need none."""


def make_question(number: int, *, kind: int | None = None, most: int = 2) -> RecordedQuestion:
    """Return a question whose kind decides which executor answers it, and shows in three
    columns.
    """
    rng = np.random.default_rng(number)
    kind = number % 5 if kind is None else kind
    noise = {
        name: float(value)
        for name, value in zip(COLUMNS, rng.normal(size=len(COLUMNS)), strict=True)
    }
    columns = {
        "coverage": kind == 0,
        "serial": kind == 1,
        "rival": kind == 2,
        "answered": kind != 4,
    }
    outcomes = []
    for tried in iterate_sequences(has_model=False, most=most):
        solved = kind == 3 or (kind < 3 and HELPS[kind] in tried)
        features = {**noise, **{name: float(value) for name, value in columns.items()}}
        features |= {
            name: float(name.removeprefix("tried_") in tried)
            for name in COLUMNS
            if name.startswith("tried_")
        }
        outcomes.append(
            RecordedOutcome(
                tried=tried,
                features=features,
                f1=float(solved),
                wrong=not solved,
                retrievals=1 + len(tried) + 3 * ("bridge" in tried),
                waits=int("split" in tried),
                seconds=0.1 * (1 + len(tried)),
            )
        )
    return RecordedQuestion(
        dataset="even" if number % 2 == 0 else "odd",
        question=f"q{number}",
        answerable=kind != 4,
        outcomes=tuple(outcomes),
    )


def make_questions(count: int, *, most: int = 2) -> list[RecordedQuestion]:
    """Return this many questions, of all kinds."""
    return [make_question(number, most=most) for number in range(count)]
