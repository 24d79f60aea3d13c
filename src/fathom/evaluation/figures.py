"""Which plots a report shows of a data set, each with a sentence on how to read it."""

from collections.abc import Iterator, Sequence

from fathom.evaluation.curves import (
    Group,
    Line,
    front,
    headline,
    kinds,
    phases,
    recall_lines,
    risk_lines,
    seconds,
    sweep_lines,
)
from fathom.evaluation.markup import Pictures
from fathom.evaluation.plots import (
    FEWEST,
    draw_front,
    draw_heat,
    draw_lines,
    draw_shares,
    draw_violins,
)

BETTER = "Higher is better; the bands are 95 % intervals."


def of_systems(groups: Sequence[Group], pictures: Pictures) -> list[str]:
    """The plots of some systems on one data set, without those that would be empty."""
    if not groups:
        return []
    made = (_quality, _honesty, _sweeps, _time, _ends, _kinds)
    return [each for draw in made for each in draw(groups, pictures)]


def of_sizes(lines: Sequence[tuple[str, Sequence[Line]]], pictures: Pictures) -> list[str]:
    """Quality over the size of the corpus, for each measure."""
    return [
        pictures.figure(
            draw_lines(each, x="documents in the corpus", y=measure, log=True, marked=True),
            f"{measure} and the size of the corpus",
            f"The same questions, asked of smaller and larger corpora. {BETTER}",
        )
        for measure, each in lines
    ]


def _quality(groups: Sequence[Group], pictures: Pictures) -> Iterator[str]:
    if found := front(groups):
        told = (
            "Higher is better, further left is cheaper; the bars are 95 % intervals. "
            "Of the filled marks, which the line joins, none is both worse and dearer than another."
        )
        yield pictures.figure(draw_front(found), f"{found.measure} and cost", told)
    if recalls := recall_lines(groups):
        drawn = draw_lines(recalls, x="first k documents", y="recall")
        told = "The share of the relevant documents among the first k; higher is better."
        yield pictures.figure(drawn, "Recall", told)


def _honesty(groups: Sequence[Group], pictures: Pictures) -> Iterator[str]:
    if risks := risk_lines(groups):
        drawn = draw_lines(
            risks, x="share of the questions answered, the surest first", y="share wrong"
        )
        told = (
            "The share of wrong answers if only the surest are given; lower is better, further "
            "right is more answered. A line ends where its strategy abstains from all the rest; "
            "its first few questions say little."
        )
        yield pictures.figure(drawn, "Risk and coverage", told)


def _sweeps(groups: Sequence[Group], pictures: Pictures) -> Iterator[str]:
    quality = headline(groups)
    for key, lines in sweep_lines(groups).items():
        drawn = draw_lines(lines, x=key, y=quality, marked=True)
        yield pictures.figure(drawn, f"{quality} for each value of {key}", BETTER)


def _time(groups: Sequence[Group], pictures: Pictures) -> Iterator[str]:
    told = (
        "Further left is faster; each step of the scale multiplies. The upright line is the "
        "median, the other joins the quartiles; the shape shows how often each time was seen "
        f"(of fewer than {FEWEST} questions each is a dot). Other machines, and what else a "
        "machine does, change it."
    )
    yield pictures.figure(draw_violins(seconds(groups)), "Time", told)


def _ends(groups: Sequence[Group], pictures: Pictures) -> Iterator[str]:
    found = phases(groups)
    if len(found.columns) > 1:
        yield pictures.figure(draw_shares(found), "Phases", "In which phase questions ended.")


def _kinds(groups: Sequence[Group], pictures: Pictures) -> Iterator[str]:
    if found := kinds(groups):
        told = "Stronger colour is better; the table by kind has the intervals."
        yield pictures.figure(
            draw_heat(found), f"{headline(groups)} for each kind of question", told
        )
