"""The plots of systems on one data set: which there are, and a sentence on how to read each."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from fathom.evaluation.records import Group
from fathom.evaluation.report.blocks import Figure
from fathom.evaluation.report.curves import (
    Curve,
    front,
    headline,
    kinds,
    phases,
    recall_lines,
    risk_lines,
    seconds,
    sweep_lines,
)
from fathom.evaluation.report.plots import (
    FEWEST,
    draw_front,
    draw_heat,
    draw_lines,
    draw_shares,
    draw_violins,
)

BETTER = "Higher is better; the bands are 95 % intervals."

Draw = Callable[[Sequence[Group], str], str]
"""Takes systems and what quality is to be; empty where there is nothing to show."""


def draw(of: str, groups: Sequence[Group], measure: str = "") -> str:
    """A plot, as a part of a page; empty where there is nothing to show.

    Args:
        of: A key of `PLOTS`.
        groups: Systems on one data set.
        measure: What quality is, for `front`; by default what says most about the data set.
    """
    return PLOTS[of](groups, measure)


def of_systems(groups: Sequence[Group]) -> Iterator[Figure]:
    """The plots of some systems on one data set, without those that would be empty."""
    if not groups:
        return
    name = f"{groups[0][0].dataset}-{'ranked' if groups[0][0].ranks else 'answered'}"
    quality = headline(groups)
    for of, title, caption in (
        ("front", f"{quality} and cost", FRONT),
        ("recall", "Recall", RECALL),
        ("risk", "Risk and coverage", RISK),
    ):
        if svg := draw(of, groups):
            yield Figure(name=f"{of}-{name}", title=title, caption=caption, svg=svg)
    for key, lines in sweep_lines(groups).items():
        svg = draw_lines(lines, x=key, y=quality, marked=True)
        told = f"{quality} for each value of {key}"
        yield Figure(name=f"{key}-{name}", title=told, caption=BETTER, svg=svg)
    yield Figure(name=f"time-{name}", title="Time", caption=TIME, svg=draw("seconds", groups))
    if len(phases(groups).columns) > 1:
        svg = draw("phases", groups)
        yield Figure(name=f"phases-{name}", title="Phases", caption=PHASES, svg=svg)
    if svg := draw("kinds", groups):
        told = f"{quality} for each kind of question"
        yield Figure(name=f"kinds-{name}", title=told, caption=KINDS, svg=svg)


def of_sizes(lines: Sequence[tuple[str, Sequence[Curve]]]) -> Iterator[Figure]:
    """Quality over the size of the corpus, for each measure."""
    for place, (measure, each) in enumerate(lines):
        yield Figure(
            name=f"sizes-{place}",
            title=f"{measure} and the size of the corpus",
            caption=f"The same questions, asked of smaller and larger corpora. {BETTER}",
            svg=draw_lines(each, x="documents in the corpus", y=measure, log=True, marked=True),
        )


def _front(groups: Sequence[Group], measure: str) -> str:
    found = front(groups, measure)
    return draw_front(found) if found else ""


def _risk(groups: Sequence[Group], _: str) -> str:
    lines = risk_lines(groups)
    return draw_lines(lines, x="share of questions, surest first", y="share wrong") if lines else ""


def _recall(groups: Sequence[Group], _: str) -> str:
    lines = recall_lines(groups)
    return draw_lines(lines, x="first k documents", y="recall") if lines else ""


def _kinds(groups: Sequence[Group], _: str) -> str:
    heat = kinds(groups)
    return draw_heat(heat) if heat else ""


PLOTS: Mapping[str, Draw] = {
    "front": _front,
    "risk": _risk,
    "recall": _recall,
    "seconds": lambda groups, _: draw_violins(seconds(groups)),
    "phases": lambda groups, _: draw_shares(phases(groups)),
    "kinds": _kinds,
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
    f"{FEWEST} questions each is a dot). Other machines, and what else a machine does, change it."
)
PHASES = "In which phase questions ended."
KINDS = "Stronger colour is better; the table by kind has the intervals."
