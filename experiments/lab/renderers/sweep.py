"""Measures over the values of a setting."""

from collections.abc import Iterator, Sequence

from experiments.lab.local_grades import grade_cell
from experiments.lab.results import Cell, Results

from fathom.evaluation.report import plots
from fathom.evaluation.report.blocks import Figure, ReportBlock
from fathom.evaluation.report.curves import Curve


def show_sweep(
    results: Results, *, key: str, measures: Sequence[str], caption: str
) -> Iterator[ReportBlock]:
    """Yield a plot for each data set, with a line for each measure (RRF paper, Figure 4).

    Args:
        results: What is shown; arms that do not set the key to a number are left out.
        key: The setting, `a.b`.
        measures: Of `judged.judged`, between 0 and 1.
        caption: What it shows, and which direction is better.
    """
    for name in results.sets:
        cells = [
            cell for cell in results.select_set(name) if _is_number(cell.arm.settings.get(key))
        ]
        if len(cells) > 1:
            lines = _make_lines(cells, key, measures)
            svg = plots.draw_lines(lines, x=key, y="mean of the questions", marked=True)
            title = f"{caption} ({name})" if len(results.sets) > 1 else caption
            yield Figure(name=f"{key.rpartition('.')[2]}-{name}", caption=title, svg=svg)


def _make_lines(cells: Sequence[Cell], key: str, measures: Sequence[str]) -> list[Curve]:
    """Return one line for each measure that all cells have."""
    rows = {float(str(cell.arm.settings[key])): grade_cell(cell) for cell in cells}
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
