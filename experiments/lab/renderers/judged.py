"""The table of measures with those that judges give, as far as they need no language model."""

from collections.abc import Iterator, Sequence

from experiments.lab.local_grades import graded
from experiments.lab.renderers.table import tabulated
from experiments.lab.results import Results

from fathom.evaluation.report.blocks import ReportBlock


def judged(
    seen: Results,
    *,
    measures: Sequence[str],
    arms: Sequence[str] = (),
    intervals: int = 1,
    title: str = "",
) -> Iterator[ReportBlock]:
    """One line for each arm on each data set (RRF paper, Tables I and II).

    Args:
        seen: What is shown.
        measures: As in `table.measured`; also `similarity` and `words`, see `local_grades`.
        arms: Only these.
        intervals: The first so many measures are shown with their 95 % intervals.
        title: Of the table.
    """
    yield tabulated(seen.find_system(arms), graded, measures, intervals, title)
