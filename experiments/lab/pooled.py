"""All data sets as one, as papers test that ask one mixed list of questions."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from experiments.lab.results import Cell, Results

from fathom.evaluation.records import Record

NAME = "all"


def pooled(seen: Results) -> Results:
    """The same records as of one data set, `all`.

    Each question keeps its weight, so a set with more questions counts more. An arm that was not
    asked on every data set is left out: it could not be compared with the others.
    """
    arms: dict[tuple[str, str], list[Cell]] = {}
    for cell in seen.cells:
        arms.setdefault((cell.arm.name, cell.arm.corpus), []).append(cell)
    cells = (_one(arm) for arm in arms.values() if {cell.set for cell in arm} == {*seen.sets})
    return Results(experiment=seen.experiment, cells=tuple(cells))


def _one(cells: Sequence[Cell]) -> Cell:
    commits = dict.fromkeys(commit for cell in cells for commit in cell.commits)
    records = tuple(record for cell in cells for record in _renamed(cell))
    return replace(cells[0], set=NAME, records=records, commits=tuple(commits))


def _renamed(cell: Cell) -> Iterator[Record]:
    """Questions of two data sets may have the same id."""
    for record in cell.records:
        yield replace(record, dataset=NAME, question=f"{cell.set}/{record.question}")
