"""Records of a planner and of two workflows, on two data sets."""

from dataclasses import replace
from pathlib import Path

from experiments.lab.plan import Arm
from experiments.lab.results import Cell, Results
from tests.evaluation.making import abstained, record
from tests.experiments.toy import experiment

from fathom.evaluation.records import Record

PLANNER, SHORT, LONG = "rules", "R,AG", "QDS"
RIGHT = {"easy": {PLANNER: 8, SHORT: 8, LONG: 6}, "hard": {PLANNER: 2, SHORT: 0, LONG: 4}}
"""How many of eight questions each answers, the first ones."""


def seen(folder: Path, *sets: str) -> Results:
    """What was seen; `SHORT` searches once, `LONG` in two sub-questions more.

    The planner takes `SHORT` for the first two questions, `LONG` for the others.
    """
    cells = [
        Cell(set=name, arm=Arm(name=who, strategy="mao"), records=tuple(_records(name, who)))
        for name in sets or tuple(RIGHT)
        for who in (PLANNER, SHORT, LONG)
    ]
    return Results(experiment=experiment(folder), cells=tuple(cells))


def _records(name: str, who: str) -> list[Record]:
    made = []
    for place in range(8):
        chosen = (SHORT if place < 2 else LONG) if who == PLANNER else who
        fields = {
            "dataset": name,
            "strategy": who,
            "actions": (SHORT,) if chosen == SHORT else (LONG, SHORT, SHORT),
            "usage": {**record().usage, "retrievals": 1 if chosen == SHORT else 3},
        }
        make = record if place < RIGHT[name][who] else abstained
        made.append(make(f"q{place}", **fields))
    return made


def without(whole: Results, *names: str) -> Results:
    """What was seen but for some arms."""
    return replace(whole, cells=tuple(c for c in whole.cells if c.arm.name not in names))
