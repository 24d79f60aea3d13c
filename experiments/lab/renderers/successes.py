"""Means, perfect values, successes and failures, as counted in MAF-RAG."""

from collections.abc import Collection, Iterator, Sequence
from statistics import fmean

from experiments.lab.quality import measure_quality
from experiments.lab.results import Cell, Results

from fathom.evaluation.report import plots
from fathom.evaluation.report.blocks import Figure, ReportBlock, ReportTable
from fathom.evaluation.report.curves import Heat
from fathom.evaluation.statistics import bca_interval

COUNTED = ("= 1.0", "success (> 0)", "failed (= 0)")


def tabulate_successes(
    results: Results,
    *,
    of: str,
    against: str = "",
    arms: Sequence[str] = (),
    also: Sequence[str] = (),
    title: str = "",
) -> Iterator[ReportBlock]:
    """Yield one line for each arm on each data set that can have the measure (its Tables IV and V).

    Args:
        results: What is shown.
        of: What success is, see `quality`: more than 0 of it.
        against: The arm that retrieves alone.
        arms: Only these.
        also: Further measures of which the means are shown.
        title: Of the table.
    """
    rows = []
    for cell, values in _score_cells(results, of, against, arms):
        more = [
            _compute_mean(measure_quality(results, cell, name, against).values()) for name in also
        ]
        seconds = f"{fmean(record.seconds for record in cell.records):.2f}"
        counts = count_successes(values)
        rows.append((cell.set, cell.arm.name, str(len(values)), *counts, *more, seconds))
    head = ("data set", "system", "questions", of, *COUNTED, *also, "mean seconds")
    if rows:
        yield ReportTable(title=title, head=head, rows=tuple(rows))


def draw_success_bars(
    results: Results, *, of: str, caption: str, against: str = "", arms: Sequence[str] = ()
) -> Iterator[ReportBlock]:
    """Yield bars of success and failure for each data set (its Figures 4, 6 and 7).

    Args:
        results: What is shown.
        of: What success is, see `quality`: more than 0 of it.
        caption: What it shows.
        against: The arm that retrieves alone.
        arms: Only these.
    """
    scored = {
        (cell.set, cell.arm.name): values
        for cell, values in _score_cells(results, of, against, arms)
    }
    for name in dict.fromkeys(place for place, _ in scored):
        of_set = {system: values for (place, system), values in scored.items() if place == name}
        shares = [fmean(value > 0.0 for value in values) for values in of_set.values()]
        heat = Heat(
            rows=tuple(of_set),
            columns=("success", "failed"),
            cells=tuple((share, 1 - share) for share in shares),
        )
        svg = plots.draw_shares(heat)
        yield Figure(name=f"success-{of}-{name}", caption=f"{caption} ({name})", svg=svg)


def count_successes(values: Sequence[float]) -> tuple[str, ...]:
    """Return the mean with its 95 % interval, then the counts of 1, above 0, and 0."""
    low, high = bca_interval(values, bounds=(0.0, 1.0))
    kinds = (
        sum(value == 1.0 for value in values),
        sum(value > 0.0 for value in values),
        sum(value == 0.0 for value in values),
    )
    shares = (f"{kind} ({kind / len(values):.1%})" for kind in kinds)
    return (f"{fmean(values):.3f} [{low:.3f}, {high:.3f}]", *shares)


def _score_cells(
    results: Results, of: str, against: str, arms: Sequence[str]
) -> Iterator[tuple[Cell, list[float]]]:
    """Yield the cells that can have the measure, with the value of each question."""
    for cell in results.select_arms(arms).by_set:
        values = list(measure_quality(results, cell, of, against).values())
        if values:
            yield cell, values


def _compute_mean(values: Collection[float]) -> str:
    return f"{fmean(values):.3f}" if values else ""
