"""Planners beside the best choice of fixed workflows: MAO-ARAG, Table 1."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from experiments.lab.oracle_router import (
    FIXED,
    ORACLE,
    ROUTER,
    Choice,
    compare_choices,
    get_measure,
)
from experiments.lab.renderers.compare import describe_tests
from experiments.lab.renderers.table import format_cell
from experiments.lab.results import Results

from fathom.evaluation.comparison import PairedTest, compare
from fathom.evaluation.report.blocks import ReportBlock, ReportTable
from fathom.evaluation.rows import score_system

SHOWN_ROUTES = 3
"""So many workflows are named, the most frequent first."""


def compare_with_oracle(
    results: Results,
    *,
    planners: Sequence[str],
    measures: Sequence[str],
    by: str = "F1",
    title: str = "Who chooses the workflow",
) -> Iterator[ReportBlock]:
    """Yield a line for each planner, and for the best that its workflows could have done.

    The best fixed workflow and the router choose on half of the questions for the other half; the
    oracle knows the answers.

    Args:
        results: Records of planners and of fixed workflows.
        planners: Arms; all others are fixed workflows, of all the planners can choose.
        measures: See `table.measured`; the first with its interval. Cost is what was spent on the
            workflow that was chosen, not on trying all of them.
        by: The measure that choices are to make large.
        title: Of the table.
    """
    by_set = compare_choices(results, planners, get_measure(by))
    head = ("data set", "who chooses", "questions", *measures, "turns", "what was chosen")
    rows = (
        _format_line(name, choice, measures) for name, group in by_set.items() for choice in group
    )
    yield ReportTable(title=title, head=head, rows=tuple(rows))
    yield from describe_tests(_test_planners(by_set, planners, by), "Tested")


def count_turns(choice: Choice) -> float:
    """Return the mean number of planned questions and sub-questions."""
    return fmean(max(1, len(record.actions)) for record in choice.records)


def list_frequent(choice: Choice) -> str:
    """Return the workflows chosen most often, each with the number of questions."""
    counted = Counter(choice.workflows).most_common()
    named = [f"{name} ({count})" for name, count in counted[:SHOWN_ROUTES]]
    return "; ".join(
        [*named, f"{len(counted) - SHOWN_ROUTES} more"] if counted[SHOWN_ROUTES:] else named
    )


def _format_line(name: str, choice: Choice, measures: Sequence[str]) -> tuple[str, ...]:
    row = score_system(choice.records)
    cells = [
        format_cell(row, name_of_measure, interval=at == 0)
        for at, name_of_measure in enumerate(measures)
    ]
    more = (f"{count_turns(choice):.1f}", list_frequent(choice))
    return (name, choice.who, str(len(choice.records)), *cells, *more)


def _test_planners(
    by_set: Mapping[str, Sequence[Choice]], planners: Sequence[str], by: str
) -> list[PairedTest]:
    """Test planners against what they must beat, and the oracle against the router."""
    against = [(planner, other) for planner in planners for other in (FIXED, ROUTER)]
    pairs = []
    for group in by_set.values():
        records = {choice.who: choice.records for choice in group}
        contests = [*against, (ORACLE, ROUTER)]
        pairs += [
            (records[one_name], records[two])
            for one_name, two in contests
            if {one_name, two} <= records.keys()
        ]
    return compare(pairs, [by])
