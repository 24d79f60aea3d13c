"""A table of measures: one line for each arm on each data set."""

from collections.abc import Callable, Iterator, Sequence

from experiments.lab.results import Cell, Results

from fathom.evaluation.report.blocks import ReportBlock, ReportTable
from fathom.evaluation.rows import SystemScores

TIMES = {"p50 ms": "p50", "p95 ms": "p95"}


def measured(
    seen: Results,
    *,
    measures: Sequence[str],
    arms: Sequence[str] = (),
    intervals: int = 1,
    title: str = "",
) -> Iterator[ReportBlock]:
    """Means over the questions.

    Args:
        seen: What is shown.
        measures: Names of measures, of usage (`tokens`, `retrievals`, ...), `p50 ms`, `p95 ms`.
        arms: Only these.
        intervals: The first so many measures are shown with their 95 % intervals.
        title: Of the table.
    """
    yield tabulated(seen.find_system(arms), lambda cell: cell.row, measures, intervals, title)


def tabulated(
    seen: Results,
    row_of: Callable[[Cell], SystemScores],
    measures: Sequence[str],
    intervals: int,
    title: str,
) -> ReportTable:
    """The table of all arms that are given, with what `row_of` measures of each on a data set.

    The other arguments are those of `measured`.
    """
    rows = tuple(
        (
            cell.set,
            cell.arm.name,
            str(len(cell.records)),
            *_cells(row_of(cell), measures, intervals),
        )
        for cell in seen.by_set
    )
    return ReportTable(title=title, head=("data set", "system", "questions", *measures), rows=rows)


def value(row: SystemScores, name: str, *, interval: bool = False) -> str:
    """A measure, a mean of usage or a time as a table shows it; empty where there is none."""
    if name in TIMES:
        return f"{row.latency_s[TIMES[name]] * 1000:.0f}"
    if name in row.measures:
        told = f"{row.measures[name]:.3f}"
        if interval and name in row.intervals:
            low, high = row.intervals[name]
            return f"{told} [{low:.3f}, {high:.3f}]"
        return told
    return f"{row.usage[name]:.1f}" if name in row.usage else ""


def _cells(row: SystemScores, measures: Sequence[str], intervals: int) -> list[str]:
    return [value(row, name, interval=at < intervals) for at, name in enumerate(measures)]
