"""A table of measures: one line for each arm on each data set."""

from collections.abc import Callable, Iterator, Sequence

from experiments.lab.results import Cell, Results

from fathom.evaluation.report.blocks import ReportBlock, ReportTable
from fathom.evaluation.rows import SystemScores

TIMES = {"p50 ms": "p50", "p95 ms": "p95"}


def tabulate_measures(
    results: Results,
    *,
    measures: Sequence[str],
    arms: Sequence[str] = (),
    intervals: int = 1,
    title: str = "",
) -> Iterator[ReportBlock]:
    """Yield the means over the questions.

    Args:
        results: What is shown.
        measures: Names of measures, of usage (`tokens`, `retrievals`, ...), `p50 ms`, `p95 ms`.
        arms: Only these.
        intervals: The first so many measures are shown with their 95 % intervals.
        title: Of the table.
    """
    yield tabulate(results.select_arms(arms), lambda cell: cell.row, measures, intervals, title)


def tabulate(
    results: Results,
    row_of: Callable[[Cell], SystemScores],
    measures: Sequence[str],
    intervals: int,
    title: str,
) -> ReportTable:
    """Return the table of all given arms, with the measures that `row_of` computes on a data set.

    The other arguments are those of `measured`.
    """
    rows = tuple(
        (
            cell.set,
            cell.arm.name,
            str(len(cell.records)),
            *_format_cells(row_of(cell), measures, intervals),
        )
        for cell in results.by_set
    )
    return ReportTable(title=title, head=("data set", "system", "questions", *measures), rows=rows)


def format_cell(row: SystemScores, name: str, *, interval: bool = False) -> str:
    """Format a measure, a mean of usage or a time for a table; empty if it is missing."""
    if name in TIMES:
        return f"{row.latency_s[TIMES[name]] * 1000:.0f}"
    if name in row.measures:
        text = f"{row.measures[name]:.3f}"
        if interval and name in row.intervals:
            low, high = row.intervals[name]
            return f"{text} [{low:.3f}, {high:.3f}]"
        return text
    return f"{row.usage[name]:.1f}" if name in row.usage else ""


def _format_cells(row: SystemScores, measures: Sequence[str], intervals: int) -> list[str]:
    return [format_cell(row, name, interval=at < intervals) for at, name in enumerate(measures)]
