"""Measures over the values of a setting."""

from collections.abc import Iterator, Sequence

from experiments.lab.local_grades import graded
from experiments.lab.results import Cell, Results

from fathom.evaluation.report import plots
from fathom.evaluation.report.blocks import Figure, ReportBlock
from fathom.evaluation.report.curves import Curve


def swept(
    seen: Results, *, key: str, measures: Sequence[str], caption: str
) -> Iterator[ReportBlock]:
    """A plot for each data set, with a line for each measure (RRF paper, Figure 4).

    Args:
        seen: What is shown; arms that do not set the key to a number are left out.
        key: The setting, `a.b`.
        measures: Of `judged.judged`, between 0 and 1.
        caption: What it shows, and which direction is better.
    """
    for name in seen.sets:
        cells = [cell for cell in seen.on(name) if _is_number(cell.arm.settings.get(key))]
        if len(cells) > 1:
            lines = _lines(cells, key, measures)
            svg = plots.draw_lines(lines, x=key, y="mean of the questions", marked=True)
            told = f"{caption} ({name})" if len(seen.sets) > 1 else caption
            yield Figure(name=f"{key.rpartition('.')[2]}-{name}", caption=told, svg=svg)


def _lines(cells: Sequence[Cell], key: str, measures: Sequence[str]) -> list[Curve]:
    """One for each measure that all cells have."""
    rows = {float(str(cell.arm.settings[key])): graded(cell) for cell in cells}
    placed = sorted(rows.items())
    return [
        Curve(
            name=measure,
            points=tuple((at, row.measures[measure]) for at, row in placed),
            intervals=tuple(row.intervals[measure] for _, row in placed),
        )
        for measure in measures
        if all(measure in row.measures for _, row in placed)
    ]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
