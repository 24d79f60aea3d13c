"""The table of measures with the judgements that need no language model."""

from collections.abc import Iterator, Sequence

from experiments.lab.local_grades import grade_cell
from experiments.lab.renderers.table import tabulate
from experiments.lab.results import Results

from fathom.evaluation.report.blocks import ReportBlock


def tabulate_judged(
    results: Results,
    *,
    measures: Sequence[str],
    arms: Sequence[str] = (),
    intervals: int = 1,
    title: str = "",
) -> Iterator[ReportBlock]:
    """Yield one line for each arm on each data set (RRF paper, Tables I and II).

    Args:
        results: What is shown.
        measures: As in `table.measured`; also `similarity` and `words`, see `local_grades`.
        arms: Only these.
        intervals: The first so many measures are shown with their 95 % intervals.
        title: Of the table.
    """
    yield tabulate(results.select_arms(arms), grade_cell, measures, intervals, title)
