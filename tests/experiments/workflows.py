"""Records of a planner and of two workflows on two data sets."""

from dataclasses import replace
from pathlib import Path

from experiments.lab.plan import Arm
from experiments.lab.results import Cell, Results
from tests.evaluation.factories import make_abstention, make_record
from tests.experiments.toy import experiment

from fathom.evaluation.records import Record

PLANNER, SHORT, LONG = "rules", "R,AG", "QDS"
RIGHT = {"easy": {PLANNER: 8, SHORT: 8, LONG: 6}, "hard": {PLANNER: 2, SHORT: 0, LONG: 4}}
"""The number of questions that each answers right: the first of eight."""


def make_results(folder: Path, *sets: str) -> Results:
    """Return observations; `SHORT` searches once, `LONG` with two more sub-questions.

    The planner takes `SHORT` for the first two questions, `LONG` for the others.
    """
    cells = [
        Cell(set=name, arm=Arm(name=who, strategy="mao"), records=tuple(_make_records(name, who)))
        for name in sets or tuple(RIGHT)
        for who in (PLANNER, SHORT, LONG)
    ]
    return Results(experiment=experiment(folder), cells=tuple(cells))


def _make_records(name: str, who: str) -> list[Record]:
    records = []
    for place in range(8):
        chosen = (SHORT if place < 2 else LONG) if who == PLANNER else who
        fields = {
            "dataset": name,
            "strategy": who,
            "actions": (SHORT,) if chosen == SHORT else (LONG, SHORT, SHORT),
            "usage": {**make_record().usage, "retrievals": 1 if chosen == SHORT else 3},
        }
        make = make_record if place < RIGHT[name][who] else make_abstention
        records.append(make(f"q{place}", **fields))
    return records


def drop_arms(whole: Results, *names: str) -> Results:
    """Return the observations without some arms."""
    return replace(whole, cells=tuple(c for c in whole.cells if c.arm.name not in names))
