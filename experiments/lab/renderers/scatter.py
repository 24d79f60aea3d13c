"""Quality against time, one mark a question."""

from collections.abc import Iterator, Mapping, Sequence

from experiments.lab.quality import quality
from experiments.lab.results import Results

from fathom.evaluation.report.blocks import Figure, ReportBlock
from fathom.evaluation.report.canvas import open_plot, pick_colour, pick_mark

Points = Sequence[tuple[float, float]]
"""Seconds and quality of each question."""


def scattered(
    seen: Results, *, of: str, caption: str, against: str = "", arms: Sequence[str] = ()
) -> Iterator[ReportBlock]:
    """A plot for each data set that can have the measure (MAF-RAG, its Figure 13).

    Args:
        seen: What is shown.
        of: See `quality`.
        caption: What it shows.
        against: The arm that retrieves alone.
        arms: Only these.
    """
    chosen = seen.find_system(arms)
    for name in chosen.sets:
        found = {}
        for cell in chosen.on(name):
            values = quality(seen, cell, of, against)
            found[cell.arm.name] = [
                (record.seconds, values[record.question])
                for record in cell.records
                if record.question in values
            ]
        if any(found.values()):
            svg = _drawn(found, of)
            yield Figure(name=f"scatter-{of}-{name}", caption=f"{caption} ({name})", svg=svg)


def _drawn(found: Mapping[str, Points], of: str) -> str:
    with open_plot() as made:
        from matplotlib.ticker import LogLocator

        axes = made.axes
        for place, (name, points) in enumerate(found.items()):
            axes.scatter(
                [x for x, _ in points], [y for _, y in points],
                s=20, alpha=0.6, color=pick_colour(place), marker=pick_mark(place), label=name,
                linewidths=0,
            )  # fmt: skip
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_ylim(-0.05, 1.05)
        axes.set_xlabel("seconds a question")
        axes.set_ylabel(of)
        made.add_legend()
    return made.svg
