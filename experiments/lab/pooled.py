"""All data sets as one, as in papers that ask one mixed list of questions."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from experiments.lab.results import Cell, Results

from fathom.evaluation.records import Record

NAME = "all"


def pool_results(results: Results) -> Results:
    """Return the same records as of one data set, `all`.

    Each question keeps its weight, so a set with more questions counts more. An arm that was not
    asked on every data set is left out: it could not be compared with the others.
    """
    arms: dict[tuple[str, str], list[Cell]] = {}
    for cell in results.cells:
        arms.setdefault((cell.arm.name, cell.arm.corpus), []).append(cell)
    cells = (
        _pool_cells(arm) for arm in arms.values() if {cell.set for cell in arm} == {*results.sets}
    )
    return Results(experiment=results.experiment, cells=tuple(cells))


def _pool_cells(cells: Sequence[Cell]) -> Cell:
    commits = dict.fromkeys(commit for cell in cells for commit in cell.commits)
    records = tuple(record for cell in cells for record in _rename_questions(cell))
    return replace(cells[0], set=NAME, records=records, commits=tuple(commits))


def _rename_questions(cell: Cell) -> Iterator[Record]:
    """Rename the questions, since two data sets may use the same id."""
    for record in cell.records:
        yield replace(record, dataset=NAME, question=f"{cell.set}/{record.question}")
