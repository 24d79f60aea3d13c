"""Quality and time over the size of the corpus."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from experiments.lab.renderers.table import TIMES
from experiments.lab.results import Cell, Results

from fathom.evaluation.measures import get_bounds
from fathom.evaluation.records import Record
from fathom.evaluation.report import plots
from fathom.evaluation.report.blocks import Figure, ReportBlock, ReportTable
from fathom.evaluation.report.curves import Curve
from fathom.evaluation.rows import compute_percentiles, score_questions
from fathom.evaluation.statistics import bca_interval

Sizes = Mapping[int, Sequence[Record]]
"""The records of one arm by the size of the corpus, smallest first."""
Place = tuple[float, tuple[float, float] | None]
"""A value with its 95 % interval, where it has one."""


def show_sizes(
    results: Results, *, measures: Sequence[str], caption: str, arms: Sequence[str] = ()
) -> Iterator[ReportBlock]:
    """Yield a table and a plot for each measure (agentic hybrid, Figures 5 and 6).

    Only questions count that were asked at every size by every arm.

    Args:
        results: What is shown; arms that differ in their corpus only are one line.
        measures: Names of measures, `p50 ms`, `p95 ms`.
        caption: What the plots show beside the measure.
        arms: Only these.
    """
    chosen = results.select_arms(arms)
    for name in chosen.sets:
        lines = _group_by_size(chosen.select_set(name))
        suffix = f" ({name})" if len(chosen.sets) > 1 else ""
        yield _make_table(lines, measures, f"By size of the corpus{suffix}")
        for measure in measures:
            drawn = [
                line for arm, sizes in lines.items() if (line := _make_line(arm, sizes, measure))
            ]
            if drawn:
                svg = plots.draw_lines(drawn, x="documents", y=measure, log=True, marked=True)
                slug = measure.replace(" ", "-")
                yield Figure(
                    name=f"sizes-{slug}-{name}",
                    caption=f"{measure}: {caption}{suffix}",
                    svg=svg,
                )


def _group_by_size(cells: Sequence[Cell]) -> dict[str, Sizes]:
    questions = [{record.question for record in cell.records} for cell in cells]
    shared = set.intersection(*questions)
    groups: dict[str, dict[int, Sequence[Record]]] = {}
    for cell in cells:
        records = [record for record in cell.records if record.question in shared]
        if records:
            groups.setdefault(cell.arm.name, {})[records[0].documents] = records
    return {arm: dict(sorted(sizes.items())) for arm, sizes in groups.items()}


def _make_table(lines: Mapping[str, Sizes], measures: Sequence[str], title: str) -> ReportTable:
    rows = (
        (
            f"{documents:,}",
            arm,
            str(len(records)),
            *(_format_value(measure, records) for measure in measures),
        )
        for arm, sizes in lines.items()
        for documents, records in sizes.items()
    )
    return ReportTable(
        title=title, head=("documents", "system", "questions", *measures), rows=tuple(rows)
    )


def _format_value(measure: str, records: Sequence[Record]) -> str:
    place = _make_point(measure, records)
    if place is None:
        return ""
    value, interval = place
    if interval is None:
        return f"{value:.0f}"
    return f"{value:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]"


def _make_line(arm: str, sizes: Sizes, measure: str) -> Curve | None:
    """Return the line; `None` where some size lacks the measure."""
    points = [_make_point(measure, records) for records in sizes.values()]
    places = [place for place in points if place is not None]
    if len(places) < len(points):
        return None
    return Curve(
        name=arm,
        points=tuple((float(n), value) for n, (value, _) in zip(sizes, places, strict=True)),
        intervals=tuple(interval for _, interval in places if interval is not None),
    )


def _make_point(measure: str, records: Sequence[Record]) -> Place | None:
    if measure in TIMES:
        return 1000 * compute_percentiles([record.seconds for record in records])[
            TIMES[measure]
        ], None
    values = list(score_questions(measure, records).values())
    return (fmean(values), bca_interval(values, bounds=get_bounds(measure))) if values else None
