"""Records as the ladder of `maf` leaves them, and observations of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.lab.plan import Arm
from experiments.lab.results import Cell, Results
from tests.evaluation.factories import make_abstention, make_failure, make_ranking, make_record
from tests.experiments.toy import TOML, experiment

from fathom.evaluation.records import Record

HOW = "How do I renew a permit?"
ALONE = "alone"


def make_climbs() -> list[Record]:
    """Return records accepted by vor, by evr and by the debate, accepted by none, and failed."""
    return [
        make_record("q1", phase="vor", seconds=0.1),
        make_record(
            "q2", phase="evr", text=HOW, evidence=("d2", "d3"), short_answer="four", seconds=0.2
        ),
        make_record("q3", phase="debate", text=HOW, evidence=("d4",), short_answer="50 crowns"),
        make_abstention("q4", phase="vor, not accepted"),
        make_failure("q5", phase="", seconds=1.0),
    ]


def make_rankings() -> list[Record]:
    """Return the rankings of plain retrieval for the same questions."""
    return [make_ranking(f"q{n}", evidence=("d1", "d2")) for n in range(1, 6)]


def observe(folder: Path, **systems: Sequence[Record]) -> Results:
    """Return the observations of an experiment with these arms on one data set."""
    arms = {name: Arm(name=name, strategy="maf") for name in systems}
    return observe_arms(folder, [(arms[name], records) for name, records in systems.items()])


def observe_arms(folder: Path, systems: Sequence[tuple[Arm, Sequence[Record]]]) -> Results:
    """Return the observations of arms with their own corpora."""
    cells = tuple(Cell(set="toy", arm=arm, records=tuple(records)) for arm, records in systems)
    return Results(experiment=experiment(folder, TOML), cells=cells)


def list_rows(block: Any) -> Mapping[str, Sequence[str]]:
    """Return the rows of a table by their second cell, without the first two cells."""
    return {row[1]: row[2:] for row in block.rows}
