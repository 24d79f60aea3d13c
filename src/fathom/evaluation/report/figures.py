"""The figures of systems on one data set, each with a caption that explains it."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from fathom.evaluation.records import Group
from fathom.evaluation.report.blocks import Figure
from fathom.evaluation.report.curves import (
    Curve,
    choose_headline,
    compute_front,
    compute_kind_means,
    compute_phase_shares,
    compute_recall_lines,
    compute_risk_lines,
    compute_sweep_lines,
    list_seconds,
)
from fathom.evaluation.report.plots import (
    MIN_FOR_SHAPE,
    draw_front,
    draw_heat,
    draw_lines,
    draw_shares,
    draw_violins,
)

BETTER = "Higher is better; the bands are 95 % intervals."

Draw = Callable[[Sequence[Group], str], str]
"""A function that draws systems by a measure; the SVG is empty if there is nothing to show."""


def draw(name: str, groups: Sequence[Group], measure: str = "") -> str:
    """Draw a plot as a part of a page; the SVG is empty if there is nothing to show.

    Args:
        name: The name of the plot, from `PLOTS`.
        groups: The records of the systems.
        measure: The measure of quality for `front`.
    """
    return PLOTS[name](groups, measure)


def draw_systems(groups: Sequence[Group]) -> Iterator[Figure]:
    """Yield the plots of systems on one data set, without empty plots."""
    if not groups:
        return
    name = f"{groups[0][0].dataset}-{'ranked' if groups[0][0].is_ranking else 'answered'}"
    quality = choose_headline(groups)
    for plot, title, caption in (
        ("front", f"{quality} and cost", FRONT),
        ("recall", "Recall", RECALL),
        ("risk", "Risk and coverage", RISK),
    ):
        if svg := draw(plot, groups):
            yield Figure(name=f"{plot}-{name}", title=title, caption=caption, svg=svg)
    for key, lines in compute_sweep_lines(groups).items():
        # There are few values, so each point has a mark and a tick on the axis.
        svg = draw_lines(lines, x=key, y=quality, marked=True)
        heading = f"{quality} for each value of {key}"
        yield Figure(name=f"{key}-{name}", title=heading, caption=BETTER, svg=svg)
    yield Figure(name=f"time-{name}", title="Time", caption=TIME, svg=draw("seconds", groups))
    # With a single phase, each system would be one full bar.
    if len(compute_phase_shares(groups).columns) > 1:
        svg = draw("phases", groups)
        yield Figure(name=f"phases-{name}", title="Phases", caption=PHASES, svg=svg)
    if svg := draw("kinds", groups):
        heading = f"{quality} for each kind of question"
        yield Figure(name=f"kinds-{name}", title=heading, caption=KINDS, svg=svg)


def draw_sizes(lines: Sequence[tuple[str, Sequence[Curve]]]) -> Iterator[Figure]:
    """Yield a plot of quality over the size of the corpus, for each measure."""
    for place, (measure, curves) in enumerate(lines):
        yield Figure(
            name=f"sizes-{place}",
            title=f"{measure} and the size of the corpus",
            caption=f"The same questions, asked of smaller and larger corpora. {BETTER}",
            svg=draw_lines(curves, x="documents in the corpus", y=measure, log=True, marked=True),
        )


def _draw_front(groups: Sequence[Group], measure: str) -> str:
    pareto = compute_front(groups, measure)
    return draw_front(pareto) if pareto else ""


def _draw_risk(groups: Sequence[Group], _: str) -> str:
    lines = compute_risk_lines(groups)
    return draw_lines(lines, x="share of questions, surest first", y="share wrong") if lines else ""


def _draw_recall(groups: Sequence[Group], _: str) -> str:
    lines = compute_recall_lines(groups)
    return draw_lines(lines, x="first k documents", y="recall") if lines else ""


def _draw_kinds(groups: Sequence[Group], _: str) -> str:
    heat = compute_kind_means(groups)
    return draw_heat(heat) if heat else ""


PLOTS: Mapping[str, Draw] = {
    "front": _draw_front,
    "risk": _draw_risk,
    "recall": _draw_recall,
    "seconds": lambda groups, _: draw_violins(list_seconds(groups)),
    "phases": lambda groups, _: draw_shares(compute_phase_shares(groups)),
    "kinds": _draw_kinds,
}

FRONT = (
    "Higher is better, further left is cheaper; the bars are 95 % intervals. Of the filled marks, "
    "which the line joins, none is both worse and dearer than another."
)
RECALL = "The share of the relevant documents among the first k; higher is better."
RISK = (
    "The share of wrong answers if only the surest are given; lower is better, further right is "
    "more answered. A line ends where its strategy abstains from all the rest; its first few "
    "questions say little."
)
TIME = (
    "Further left is faster; each step of the scale multiplies. The upright line is the median, "
    "the other joins the quartiles; the shape shows how often each time was seen (of fewer than "
    f"{MIN_FOR_SHAPE} questions each is a dot). Other machines, and what else a machine does, "
    "change it."
)
PHASES = "In which phase questions ended."
KINDS = "Stronger colour is better; the table by kind has the intervals."
