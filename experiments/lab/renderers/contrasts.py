"""Tests of two arms beside each other: ours, and the paired t-test that papers report."""

from collections.abc import Iterator, Sequence
from math import inf, sqrt

from experiments.lab.quality import quality
from experiments.lab.results import Cell, Results

from fathom.evaluation.comparison import PairedTest, contrast, correct_for_all
from fathom.evaluation.report.blocks import ReportBlock, ReportTable

HEAD = (
    "data set", "first", "second", "measure", "questions", "difference", "p", "p by Holm",
    "t-test", "effect size", "would have been seen",
)  # fmt: skip


def contrasted(
    seen: Results,
    *,
    pairs: Sequence[Sequence[str]],
    measures: Sequence[str],
    against: str = "",
    title: str = "",
) -> Iterator[ReportBlock]:
    """One line for each measure, pair and data set; Holm's correction is over all of them.

    Args:
        seen: What is shown.
        pairs: Names of two arms each; the first is compared with the second.
        measures: See `quality`.
        against: The arm that retrieves alone.
        title: Of the table.
    """
    yield table_of(contrasts(seen, pairs, measures, against), title)


def contrasts(
    seen: Results, pairs: Sequence[Sequence[str]], measures: Sequence[str], against: str = ""
) -> list[PairedTest]:
    """The tests themselves; the arguments are those of `contrasted`."""
    made = [
        contrast(ours.set, of, (ours.arm.name, theirs.arm.name), both)
        for first, second in pairs
        for ours, theirs in seen.pairs(first, second)
        for of in measures
        if (both := _both(seen, (ours, theirs), of, against))
    ]
    return correct_for_all(made)


def table_of(made: Sequence[PairedTest], title: str) -> ReportTable:
    """One line for each test."""
    return ReportTable(title=title, head=HEAD, rows=tuple(map(_row, made)))


def _both(
    seen: Results, cells: tuple[Cell, Cell], of: str, against: str
) -> list[tuple[float, float]]:
    ours, theirs = (quality(seen, cell, of, against) for cell in cells)
    return [(value, theirs[question]) for question, value in ours.items() if question in theirs]


def _row(made: PairedTest) -> tuple[str, ...]:
    low, high = made.interval
    return (
        made.dataset,
        made.first,
        made.second,
        made.measure,
        str(made.queries),
        f"{made.difference:+.3f} [{low:+.3f}, {high:+.3f}]",
        f"{made.p:.3g} ({made.test})",
        f"{made.p_holm:.3g}",
        f"p = {made.p_t:.3g}" if made.effect is None else _student(made, made.effect),
        "" if made.effect is None else f"{made.effect:+.2f}",
        f"{made.detectable:.3f}" if 0 < made.detectable < inf else "",
    )


def _student(made: PairedTest, effect: float) -> str:
    return f"t = {effect * sqrt(made.queries):.2f}, p = {made.p_t:.3g}"
