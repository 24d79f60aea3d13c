"""Plots of records, one for each data set."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from experiments.lab.blocks import Block, Figure
from experiments.lab.seen import RoundEvidence

from fathom.evaluation import plots
from fathom.evaluation.curves import Group, front, kinds, phases, recall_lines, risk_lines, seconds
from fathom.evaluation.svg import standalone

Drawn = Callable[[Sequence[Group]], str]


def drawn(
    seen: RoundEvidence,
    *,
    of: str,
    caption: str,
    measure: str = "",
    arms: Sequence[str] = (),
    sets: Sequence[str] = (),
) -> Iterator[Block]:
    """A plot for each data set.

    Args:
        seen: What is shown.
        of: `front`, `risk`, `recall`, `seconds`, `phases` or `kinds`.
        caption: What it shows, and which direction is better.
        measure: What quality is in a `front`; by default what says most about the data set.
        arms: Only these.
        sets: Only these data sets, where they are there.
    """
    chosen = seen.named(arms)
    for name in chosen.sets:
        if sets and name not in sets:
            continue
        groups = [cell.records for cell in chosen.on(name)]
        svg = _front(groups, measure) if measure else FIGURES[of](groups)
        if svg:
            told = f"{caption} ({name})" if len(chosen.sets) > 1 else caption
            stem = f"{of}-{measure}" if measure else of
            yield Figure(name=f"{stem}-{name}", caption=told, svg=standalone(svg))


def _front(groups: Sequence[Group], measure: str = "") -> str:
    found = front(groups, measure)
    return plots.draw_front(found) if found else ""


def _risk(groups: Sequence[Group]) -> str:
    lines = risk_lines(groups)
    return (
        plots.draw_lines(lines, x="share of questions, surest first", y="share wrong")
        if lines
        else ""
    )


def _recall(groups: Sequence[Group]) -> str:
    lines = recall_lines(groups)
    return plots.draw_lines(lines, x="first k documents", y="recall") if lines else ""


def _kinds(groups: Sequence[Group]) -> str:
    heat = kinds(groups)
    return plots.draw_heat(heat) if heat else ""


FIGURES: Mapping[str, Drawn] = {
    "front": _front,
    "risk": _risk,
    "recall": _recall,
    "seconds": lambda groups: plots.draw_violins(seconds(groups)),
    "phases": lambda groups: plots.draw_shares(phases(groups)),
    "kinds": _kinds,
}
