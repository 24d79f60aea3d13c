"""Choices of a question's workflow: by a planner, by hindsight, or by other questions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Self

from experiments.lab.pooled import NAME
from experiments.lab.results import Results

from fathom.errors import UsageError
from fathom.evaluation.measures import SCORES
from fathom.evaluation.records import Record

Value = Callable[[Record], float]
"""A function that returns the quality of an answer."""
Known = Mapping[str, Sequence[Record]]
"""The records of each fixed workflow on a data set, of the same questions in the same order."""

ORACLE = "oracle, for each question"
ROUTER = "router, for each data set"
FIXED = "best fixed workflow"
TOGETHER = NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The outcome of one way to choose, on one data set.

    Attributes:
        who: Chooses.
        workflows: What was chosen for each question, in the order of the records.
    """

    who: str
    records: tuple[Record, ...]
    workflows: tuple[str, ...]

    @classmethod
    def of(cls, who: str, picked: Sequence[tuple[str, Record]]) -> Self:
        """Build the choice of workflows from their records."""
        records = tuple(replace(record, strategy=who) for _, record in picked)
        return cls(who=who, records=records, workflows=tuple(name for name, _ in picked))


def get_measure(name: str) -> Value:
    """Return a measure as a value; where a question cannot have one, no workflow gains by it."""
    score = SCORES[name]
    return lambda record: score(record) or 0.0


def compare_choices(
    results: Results, planners: Sequence[str], value: Value
) -> dict[str, list[Choice]]:
    """Return every way to choose, on each data set and on all together.

    Args:
        results: Records of planners and of fixed workflows.
        planners: The arms that plan; all others are fixed workflows.
        value: What a choice is to make large.

    Raises:
        UsageError: If there is no such planner, or a data set has fewer than two questions.
    """
    sets = collect_fixed_workflows(results, planners)
    choices_by_set = {
        name: [
            collect_planned(cell.arm.name, cell.records)
            for cell in results.select_arms(planners).select_set(name)
        ]
        for name in results.sets
    }
    if any(sets.values()):
        fixed = choose_by_halves(FIXED, sets, value)
        for name, workflows in sets.items():
            routed = choose_by_halves(ROUTER, {name: workflows}, value)[name]
            choices_by_set[name] += [fixed[name], routed, choose_by_oracle(workflows, value)]
    if len(choices_by_set) > 1:
        choices_by_set[TOGETHER] = [
            combine_choices(same) for same in zip(*choices_by_set.values(), strict=True)
        ]
    return choices_by_set


def collect_fixed_workflows(results: Results, planners: Sequence[str]) -> dict[str, Known]:
    """Return the records of all arms except the planners, on each data set.

    Raises:
        UsageError: If there is no such planner.
    """
    results.select_arms(planners)
    return {
        name: {
            cell.arm.name: cell.records
            for cell in results.select_set(name)
            if cell.arm.name not in planners
        }
        for name in results.sets
    }


def count_open_questions(workflows: Known, value: Value) -> int:
    """Count the questions for which the choice of the workflow matters."""
    values = zip(*workflows.values(), strict=True)
    return sum(len({round(value(record), 9) for record in same}) > 1 for same in values)


def collect_planned(who: str, records: Sequence[Record]) -> Choice:
    """Return the first workflow a planner chose for each question; `-` where it chose none."""
    return Choice.of(who, [(next(iter(record.actions), "-"), record) for record in records])


def choose_by_oracle(workflows: Known, value: Value) -> Choice:
    """Return the best workflow of each question in hindsight, an upper bound for every planner.

    Of equally good ones that with the fewest retrievals, then the first.
    """
    places = range(len(next(iter(workflows.values()))))
    picked = []
    for place in places:
        alone = {name: [records[place]] for name, records in workflows.items()}
        name = _choose_best([alone], value)
        picked.append((name, workflows[name][place]))
    return Choice.of(ORACLE, picked)


def choose_by_halves(who: str, sets: Mapping[str, Known], value: Value) -> dict[str, Choice]:
    """Choose one workflow on half of the questions, for the other half.

    Every other question belongs to the other half, so each is answered by the workflow that did
    best on questions that it is not one of. Data sets count alike, also where one has more.

    Raises:
        UsageError: If a data set has fewer than two questions.
    """
    best = []
    for start in (1, 0):
        halves = [
            {name: records[start::2] for name, records in workflows.items()}
            for workflows in sets.values()
        ]
        if any(not records for half in halves for records in half.values()):
            raise UsageError("a choice by halves needs two questions of each data set")
        best.append(_choose_best(halves, value))
    return {
        name: Choice.of(who, list(_alternate(best, workflows))) for name, workflows in sets.items()
    }


def combine_choices(same: Sequence[Choice]) -> Choice:
    """Return one way to choose on several data sets as if they were one."""
    records = [
        replace(record, dataset=TOGETHER, question=f"{record.dataset}/{record.question}")
        for choice in same
        for record in choice.records
    ]
    return Choice(
        who=same[0].who,
        records=tuple(records),
        workflows=tuple(name for choice in same for name in choice.workflows),
    )


def _choose_best(parts: Sequence[Known], value: Value) -> str:
    """Return the workflow with the largest mean, then the fewest retrievals."""

    def rate(name: str) -> tuple[float, float]:
        gained = fmean(fmean(map(value, part[name])) for part in parts)
        spent = fmean(fmean(map(_count_retrievals, part[name])) for part in parts)
        return round(gained, 9), -round(spent, 9)

    return max(parts[0], key=rate)


def _alternate(best: Sequence[str], workflows: Known) -> Iterator[tuple[str, Record]]:
    """Yield questions alternately with the first and the second of two workflows."""
    for place in range(len(workflows[best[0]])):
        name = best[place % 2]
        yield name, workflows[name][place]


def _count_retrievals(record: Record) -> float:
    return record.usage.get("retrievals") or 0.0
