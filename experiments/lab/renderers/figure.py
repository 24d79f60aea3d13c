"""Plots of records, one for each data set."""

from collections.abc import Iterator, Sequence

from experiments.lab.results import Results

from fathom.evaluation.report.blocks import Figure, ReportBlock
from fathom.evaluation.report.figures import draw


def draw_plots(
    results: Results,
    *,
    of: str,
    caption: str,
    measure: str = "",
    arms: Sequence[str] = (),
    sets: Sequence[str] = (),
) -> Iterator[ReportBlock]:
    """Yield a plot for each data set.

    Args:
        results: What is shown.
        of: `front`, `risk`, `recall`, `seconds`, `phases` or `kinds`.
        caption: What it shows, and which direction is better.
        measure: What quality is in a `front`; by default what says most about the data set.
        arms: Only these.
        sets: Only these data sets, where they are there.
    """
    chosen = results.select_arms(arms)
    for name in chosen.sets:
        if sets and name not in sets:
            continue
        svg = draw(of, [cell.records for cell in chosen.select_set(name)], measure)
        if svg:
            title = f"{caption} ({name})" if len(chosen.sets) > 1 else caption
            stem = f"{of}-{measure}" if measure else of
            yield Figure(name=f"{stem}-{name}", caption=title, svg=svg)
