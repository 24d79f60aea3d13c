"""Quality against time, one mark per question."""

from collections.abc import Iterator, Mapping, Sequence

from experiments.lab.quality import measure_quality
from experiments.lab.results import Results

from fathom.evaluation.report.blocks import Figure, ReportBlock
from fathom.evaluation.report.canvas import open_plot, pick_colour, pick_mark

Points = Sequence[tuple[float, float]]
"""Seconds and quality of each question."""


def scatter_questions(
    results: Results, *, of: str, caption: str, against: str = "", arms: Sequence[str] = ()
) -> Iterator[ReportBlock]:
    """Yield a plot for each data set that can have the measure (MAF-RAG, its Figure 13).

    Args:
        results: What is shown.
        of: See `quality`.
        caption: What it shows.
        against: The arm that retrieves alone.
        arms: Only these.
    """
    chosen = results.select_arms(arms)
    for name in chosen.sets:
        points = {}
        for cell in chosen.select_set(name):
            values = measure_quality(results, cell, of, against)
            points[cell.arm.name] = [
                (record.seconds, values[record.question])
                for record in cell.records
                if record.question in values
            ]
        if any(points.values()):
            svg = _draw_points(points, of)
            yield Figure(name=f"scatter-{of}-{name}", caption=f"{caption} ({name})", svg=svg)


def _draw_points(by_arm: Mapping[str, Points], of: str) -> str:
    with open_plot() as plot:
        from matplotlib.ticker import LogLocator

        axes = plot.axes
        for place, (name, points) in enumerate(by_arm.items()):
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
        plot.add_legend()
    return plot.svg
