"""Planners beside the best that fixed workflows can do: MAO-ARAG, Table 1."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from experiments.lab.oracle_router import FIXED, ORACLE, ROUTER, Choice, choices, measure_named
from experiments.lab.renderers.compare import told
from experiments.lab.renderers.table import value
from experiments.lab.results import Results

from fathom.evaluation.comparison import PairedTest, compare
from fathom.evaluation.report.blocks import ReportBlock, ReportTable
from fathom.evaluation.rows import score_system

SHOWN = 3
"""So many workflows are named, the most frequent first."""


def chosen(
    seen: Results,
    *,
    planners: Sequence[str],
    measures: Sequence[str],
    by: str = "F1",
    title: str = "Who chooses the workflow",
) -> Iterator[ReportBlock]:
    """A line for each planner, and for the best that its workflows could have done.

    The best fixed workflow and the router choose on half of the questions for the other half; the
    oracle knows the answers.

    Args:
        seen: Records of planners and of fixed workflows.
        planners: Arms; all others are fixed workflows, of all the planners can choose.
        measures: See `table.measured`; the first with its interval. Cost is what was spent on the
            workflow that was chosen, not on trying all of them.
        by: The measure that choices are to make large.
        title: Of the table.
    """
    found = choices(seen, planners, measure_named(by))
    head = ("data set", "who chooses", "questions", *measures, "turns", "what was chosen")
    rows = (_line(name, each, measures) for name, made in found.items() for each in made)
    yield ReportTable(title=title, head=head, rows=tuple(rows))
    yield from told(_tested(found, planners, by), "Tested")


def turns(choice: Choice) -> float:
    """Mean number of questions and sub-questions that were planned."""
    return fmean(max(1, len(record.actions)) for record in choice.records)


def frequent(choice: Choice) -> str:
    """The workflows that were chosen most often, each with the number of questions."""
    counted = Counter(choice.workflows).most_common()
    named = [f"{name} ({count})" for name, count in counted[:SHOWN]]
    return "; ".join([*named, f"{len(counted) - SHOWN} more"] if counted[SHOWN:] else named)


def _line(name: str, choice: Choice, measures: Sequence[str]) -> tuple[str, ...]:
    row = score_system(choice.records)
    cells = [value(row, each, interval=at == 0) for at, each in enumerate(measures)]
    more = (f"{turns(choice):.1f}", frequent(choice))
    return (name, choice.who, str(len(choice.records)), *cells, *more)


def _tested(
    found: Mapping[str, Sequence[Choice]], planners: Sequence[str], by: str
) -> list[PairedTest]:
    """Planners against what they must beat, and what the oracle leaves to be gained."""
    against = [(planner, other) for planner in planners for other in (FIXED, ROUTER)]
    pairs = []
    for made in found.values():
        known = {each.who: each.records for each in made}
        wanted = [*against, (ORACLE, ROUTER)]
        pairs += [(known[one], known[two]) for one, two in wanted if {one, two} <= known.keys()]
    return compare(pairs, [by])
