"""Means, perfect ones, successes and failures, as MAF-RAG counts them."""

from collections.abc import Collection, Iterator, Sequence
from statistics import fmean

from experiments.lab.quality import quality
from experiments.lab.results import Cell, Results

from fathom.evaluation.report import plots
from fathom.evaluation.report.blocks import Figure, ReportBlock, ReportTable
from fathom.evaluation.report.curves import Heat
from fathom.evaluation.statistics import bca_interval

COUNTED = ("= 1.0", "success (> 0)", "failed (= 0)")


def successes(
    seen: Results,
    *,
    of: str,
    against: str = "",
    arms: Sequence[str] = (),
    also: Sequence[str] = (),
    title: str = "",
) -> Iterator[ReportBlock]:
    """One line for each arm on each data set that can have the measure (its Tables IV and V).

    Args:
        seen: What is shown.
        of: What success is, see `quality`: more than 0 of it.
        against: The arm that retrieves alone.
        arms: Only these.
        also: Further measures of which the means are shown.
        title: Of the table.
    """
    rows = []
    for cell, values in _scored(seen, of, against, arms):
        more = [_mean(quality(seen, cell, each, against).values()) for each in also]
        seconds = f"{fmean(record.seconds for record in cell.records):.2f}"
        counts = counted(values)
        rows.append((cell.set, cell.arm.name, str(len(values)), *counts, *more, seconds))
    head = ("data set", "system", "questions", of, *COUNTED, *also, "mean seconds")
    if rows:
        yield ReportTable(title=title, head=head, rows=tuple(rows))


def success_bars(
    seen: Results, *, of: str, caption: str, against: str = "", arms: Sequence[str] = ()
) -> Iterator[ReportBlock]:
    """Bars of success and failure for each data set (its Figures 4, 6 and 7).

    Args:
        seen: What is shown.
        of: What success is, see `quality`: more than 0 of it.
        caption: What it shows.
        against: The arm that retrieves alone.
        arms: Only these.
    """
    found = {(cell.set, cell.arm.name): values for cell, values in _scored(seen, of, against, arms)}
    for name in dict.fromkeys(place for place, _ in found):
        own = {system: values for (place, system), values in found.items() if place == name}
        shares = [fmean(value > 0.0 for value in values) for values in own.values()]
        heat = Heat(
            rows=tuple(own),
            columns=("success", "failed"),
            cells=tuple((share, 1 - share) for share in shares),
        )
        svg = plots.draw_shares(heat)
        yield Figure(name=f"success-{of}-{name}", caption=f"{caption} ({name})", svg=svg)


def counted(values: Sequence[float]) -> tuple[str, ...]:
    """The mean with its 95 % interval, then how many are 1, above 0, and 0, with their shares."""
    low, high = bca_interval(values, bounds=(0.0, 1.0))
    kinds = (
        sum(value == 1.0 for value in values),
        sum(value > 0.0 for value in values),
        sum(value == 0.0 for value in values),
    )
    shares = (f"{kind} ({kind / len(values):.1%})" for kind in kinds)
    return (f"{fmean(values):.3f} [{low:.3f}, {high:.3f}]", *shares)


def _scored(
    seen: Results, of: str, against: str, arms: Sequence[str]
) -> Iterator[tuple[Cell, list[float]]]:
    """The cells that can have the measure, with the value of each question."""
    for cell in seen.find_system(arms).by_set:
        values = list(quality(seen, cell, of, against).values())
        if values:
            yield cell, values


def _mean(values: Collection[float]) -> str:
    return f"{fmean(values):.3f}" if values else ""
