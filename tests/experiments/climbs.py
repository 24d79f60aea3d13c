"""Records as the ladder of `maf` leaves them, and what an experiment saw of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.lab.plan import Arm
from experiments.lab.results import Cell, Results
from tests.evaluation.making import abstained, failed, ranked, record
from tests.experiments.toy import TOML, experiment

from fathom.evaluation.records import Record

HOW = "How do I renew a permit?"
ALONE = "alone"


def climbed() -> list[Record]:
    """Accepted by vor, by evr and by the debate; accepted by none; broken."""
    return [
        record("q1", phase="vor", seconds=0.1),
        record(
            "q2", phase="evr", text=HOW, evidence=("d2", "d3"), short_answer="four", seconds=0.2
        ),
        record("q3", phase="debate", text=HOW, evidence=("d4",), short_answer="50 crowns"),
        abstained("q4", phase="vor, not accepted"),
        failed("q5", phase="", seconds=1.0),
    ]


def alone() -> list[Record]:
    """What retrieval alone finds for the same questions."""
    return [ranked(f"q{n}", evidence=("d1", "d2")) for n in range(1, 6)]


def saw(folder: Path, **systems: Sequence[Record]) -> Results:
    """An experiment with these arms on one data set."""
    arms = {name: Arm(name=name, strategy="maf") for name in systems}
    return saw_arms(folder, [(arms[name], records) for name, records in systems.items()])


def saw_arms(folder: Path, systems: Sequence[tuple[Arm, Sequence[Record]]]) -> Results:
    """The same, of arms with corpora of their own."""
    cells = tuple(Cell(set="toy", arm=arm, records=tuple(found)) for arm, found in systems)
    return Results(experiment=experiment(folder, TOML), cells=cells)


def rows_of(block: Any) -> Mapping[str, Sequence[str]]:
    """The rows of a table of one data set, by their second cell, without the first two."""
    return {row[1]: row[2:] for row in block.rows}
