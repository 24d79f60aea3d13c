"""How much a planner's choice varies inside a data set; that of MAO-ARAG hardly does."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from math import log2

import numpy as np
import numpy.typing as npt
from experiments.lab.oracle_router import (
    FIXED,
    ROUTER,
    TOGETHER,
    Choice,
    choices,
    fixed_workflows,
    measure_named,
    open_questions,
)
from experiments.lab.results import Results

from fathom.evaluation.report import plots
from fathom.evaluation.report.blocks import Figure, ReportBlock, ReportTable, Sentences
from fathom.evaluation.report.curves import Heat
from fathom.evaluation.statistics import resample_interval

CONSTANT = (FIXED, ROUTER)
"""Who chooses alike for all questions of a half."""


def varied(
    seen: Results,
    *,
    planners: Sequence[str],
    by: str = "F1",
    title: str = "Entropy of the choices",
) -> Iterator[ReportBlock]:
    """The entropy of what was chosen in the first turn, for each planner and for the oracle.

    A figure shows the shares of the workflows, the most frequent first.

    Args:
        seen: Records of planners, and of fixed workflows where an oracle is wanted.
        planners: Arms; all others are fixed workflows.
        by: The measure that the oracle makes large.
        title: Of the table.
    """
    found = choices(seen, planners, measure_named(by))
    shown = {
        name: [each for each in made if each.who not in CONSTANT] for name, made in found.items()
    }
    told = ("questions", "different", "bits", "as many as", "most frequent")
    rows = tuple((name, *_line(each)) for name, made in shown.items() for each in made)
    yield ReportTable(title=title, head=("data set", "who chooses", *told), rows=rows)
    yield Sentences(title="", lines=(*_apart(shown), *_open(seen, planners, by)))
    svg = plots.draw_shares(_shares(shown))
    caption = "The workflows that were chosen, on each data set; neither direction is better"
    yield Figure(name="choices", caption=caption, svg=svg)


def entropy(chosen: Sequence[Hashable]) -> float:
    """How much is not known of a choice before it is made, in bits (Shannon 1948).

    Returns:
        0 where the choice is always the same, log2 n where n are chosen equally often.
    """
    shares = [count / len(chosen) for count in Counter(chosen).values()]
    return -sum(share * log2(share) for share in shares) + 0.0


def _shares(shown: Mapping[str, Sequence[Choice]]) -> Heat:
    rows = [
        (f"{name}: {each.who}", each.workflows) for name, made in shown.items() for each in made
    ]
    columns = [name for name, _ in Counter(n for _, told in rows for n in told).most_common()]
    return Heat(
        rows=tuple(name for name, _ in rows),
        columns=tuple(columns),
        cells=tuple(
            tuple(told.count(column) / len(told) for column in columns) for _, told in rows
        ),
    )


def _line(choice: Choice) -> tuple[str, ...]:
    told = choice.workflows

    def drawn(places: npt.NDArray[np.int64]) -> float:
        return entropy([told[place] for place in places])

    bits = entropy(told)
    low, high = resample_interval(len(told), drawn) or (bits, bits)
    name, count = Counter(told).most_common(1)[0]
    return (
        choice.who,
        str(len(told)),
        str(len(set(told))),
        f"{bits:.2f} [{low:.2f}, {high:.2f}]",
        f"{2**bits:.1f}",
        f"{name} ({count / len(told):.0%})",
    )


def _apart(shown: Mapping[str, Sequence[Choice]]) -> Iterator[str]:
    if TOGETHER in shown:
        *parts, whole = shown.values()
        yield from (_told(total, same) for total, *same in zip(whole, *parts, strict=True))


def _open(seen: Results, planners: Sequence[str], by: str) -> Iterator[str]:
    for name, known in fixed_workflows(seen, planners).items():
        if known:
            count, asked = open_questions(known, measure_named(by)), len(next(iter(known.values())))
            yield f"{name}: workflows differ in {by} on {count} of {asked} questions"


def _told(total: Choice, parts: Sequence[Choice]) -> str:
    """What is left of the entropy when the data set is known."""
    whole, count = entropy(total.workflows), len(total.workflows)
    if not whole:
        return f"{total.who}: always the same workflow"
    inside = sum(len(part.workflows) / count * entropy(part.workflows) for part in parts)
    return (
        f"{total.who}: {whole:.2f} bits over all questions, {inside:.2f} where the data set is "
        f"known; it explains {1 - inside / whole:.0%} of the choice"
    )
