"""The variation of a planner's choice inside a data set; that of MAO-ARAG hardly varies."""

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
    collect_fixed_workflows,
    compare_choices,
    count_open_questions,
    get_measure,
)
from experiments.lab.results import Results

from fathom.evaluation.report import plots
from fathom.evaluation.report.blocks import Figure, ReportBlock, ReportTable, Sentences
from fathom.evaluation.report.curves import Heat
from fathom.evaluation.statistics import resample_interval

CONSTANT = (FIXED, ROUTER)
"""The planners that choose one workflow for all questions of a half."""


def measure_entropy(
    results: Results,
    *,
    planners: Sequence[str],
    by: str = "F1",
    title: str = "Entropy of the choices",
) -> Iterator[ReportBlock]:
    """Yield the entropy of the first choice, for each planner and for the oracle.

    A figure shows the shares of the workflows, the most frequent first.

    Args:
        results: Records of planners, and of fixed workflows where an oracle is wanted.
        planners: Arms; all others are fixed workflows.
        by: The measure that the oracle makes large.
        title: Of the table.
    """
    by_set = compare_choices(results, planners, get_measure(by))
    varying = {
        name: [choice for choice in group if choice.who not in CONSTANT]
        for name, group in by_set.items()
    }
    head = ("questions", "different", "bits", "as many as", "most frequent")
    rows = tuple(
        (name, *_format_line(choice)) for name, group in varying.items() for choice in group
    )
    yield ReportTable(title=title, head=("data set", "who chooses", *head), rows=rows)
    yield Sentences(
        title="", lines=(*_describe_differences(varying), *_describe_open(results, planners, by))
    )
    svg = plots.draw_shares(_make_heat(varying))
    caption = "The workflows that were chosen, on each data set; neither direction is better"
    yield Figure(name="choices", caption=caption, svg=svg)


def compute_entropy(chosen: Sequence[Hashable]) -> float:
    """Return the uncertainty of a choice in bits (Shannon 1948).

    Returns:
        0 where the choice is always the same, log2 n where n are chosen equally often.
    """
    shares = [count / len(chosen) for count in Counter(chosen).values()]
    return -sum(share * log2(share) for share in shares) + 0.0


def _make_heat(varying: Mapping[str, Sequence[Choice]]) -> Heat:
    rows = [
        (f"{name}: {choice.who}", choice.workflows)
        for name, group in varying.items()
        for choice in group
    ]
    columns = [
        name for name, _ in Counter(n for _, workflows in rows for n in workflows).most_common()
    ]
    return Heat(
        rows=tuple(name for name, _ in rows),
        columns=tuple(columns),
        cells=tuple(
            tuple(workflows.count(column) / len(workflows) for column in columns)
            for _, workflows in rows
        ),
    )


def _format_line(choice: Choice) -> tuple[str, ...]:
    workflows = choice.workflows

    def resample(places: npt.NDArray[np.int64]) -> float:
        return compute_entropy([workflows[place] for place in places])

    bits = compute_entropy(workflows)
    low, high = resample_interval(len(workflows), resample) or (bits, bits)
    name, count = Counter(workflows).most_common(1)[0]
    return (
        choice.who,
        str(len(workflows)),
        str(len(set(workflows))),
        f"{bits:.2f} [{low:.2f}, {high:.2f}]",
        f"{2**bits:.1f}",
        f"{name} ({count / len(workflows):.0%})",
    )


def _describe_differences(varying: Mapping[str, Sequence[Choice]]) -> Iterator[str]:
    if TOGETHER in varying:
        *parts, whole = varying.values()
        yield from (
            _describe_remaining(total, same) for total, *same in zip(whole, *parts, strict=True)
        )


def _describe_open(results: Results, planners: Sequence[str], by: str) -> Iterator[str]:
    for name, workflows in collect_fixed_workflows(results, planners).items():
        if workflows:
            count, total = (
                count_open_questions(workflows, get_measure(by)),
                len(next(iter(workflows.values()))),
            )
            yield f"{name}: workflows differ in {by} on {count} of {total} questions"


def _describe_remaining(total: Choice, parts: Sequence[Choice]) -> str:
    """Return the entropy that remains when the data set is known."""
    whole, count = compute_entropy(total.workflows), len(total.workflows)
    if not whole:
        return f"{total.who}: always the same workflow"
    inside = sum(len(part.workflows) / count * compute_entropy(part.workflows) for part in parts)
    return (
        f"{total.who}: {whole:.2f} bits over all questions, {inside:.2f} where the data set is "
        f"known; it explains {1 - inside / whole:.0%} of the choice"
    )
