"""Who chooses the workflow of a question: a planner, hindsight, or what did best on others."""

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
"""How good an answer is."""
Known = Mapping[str, Sequence[Record]]
"""The records of each fixed workflow on a data set, of the same questions in the same order."""

ORACLE = "oracle, for each question"
ROUTER = "router, for each data set"
FIXED = "best fixed workflow"
TOGETHER = NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What came of one way to choose, on one data set.

    Attributes:
        who: Chooses.
        workflows: What was chosen for each question, in the order of the records.
    """

    who: str
    records: tuple[Record, ...]
    workflows: tuple[str, ...]

    @classmethod
    def of(cls, who: str, picked: Sequence[tuple[str, Record]]) -> Self:
        """That of workflows with the records they left."""
        records = tuple(replace(record, strategy=who) for _, record in picked)
        return cls(who=who, records=records, workflows=tuple(name for name, _ in picked))


def measure_named(name: str) -> Value:
    """A measure as a value; where a question cannot have one, no workflow gains by it."""
    score = SCORES[name]
    return lambda record: score(record) or 0.0


def choices(seen: Results, planners: Sequence[str], value: Value) -> dict[str, list[Choice]]:
    """Every way to choose, on each data set and on all together.

    Args:
        seen: Records of planners and of fixed workflows.
        planners: The arms that plan; all others are fixed workflows.
        value: What a choice is to make large.

    Raises:
        UsageError: If there is no such planner, or a data set has fewer than two questions.
    """
    sets = fixed_workflows(seen, planners)
    found = {
        name: [planned(cell.arm.name, cell.records) for cell in seen.find_system(planners).on(name)]
        for name in seen.sets
    }
    if any(sets.values()):
        fixed = by_halves(FIXED, sets, value)
        for name, known in sets.items():
            routed = by_halves(ROUTER, {name: known}, value)[name]
            found[name] += [fixed[name], routed, oracle(known, value)]
    if len(found) > 1:
        found[TOGETHER] = [together(same) for same in zip(*found.values(), strict=True)]
    return found


def fixed_workflows(seen: Results, planners: Sequence[str]) -> dict[str, Known]:
    """What is known of all arms but the planners, on each data set.

    Raises:
        UsageError: If there is no such planner.
    """
    seen.find_system(planners)
    return {
        name: {
            cell.arm.name: cell.records for cell in seen.on(name) if cell.arm.name not in planners
        }
        for name in seen.sets
    }


def open_questions(known: Known, value: Value) -> int:
    """For how many questions it matters which workflow is chosen."""
    each = zip(*known.values(), strict=True)
    return sum(len({round(value(record), 9) for record in same}) > 1 for same in each)


def planned(who: str, records: Sequence[Record]) -> Choice:
    """What a planner chose in the first turn of each question; `-` where it did not come to it."""
    return Choice.of(who, [(next(iter(record.actions), "-"), record) for record in records])


def oracle(known: Known, value: Value) -> Choice:
    """The best workflow of each question, in hindsight: no planner of these can do better.

    Of equally good ones that with the fewest retrievals, then the first.
    """
    places = range(len(next(iter(known.values()))))
    picked = []
    for place in places:
        alone = {name: [records[place]] for name, records in known.items()}
        name = _best([alone], value)
        picked.append((name, known[name][place]))
    return Choice.of(ORACLE, picked)


def by_halves(who: str, sets: Mapping[str, Known], value: Value) -> dict[str, Choice]:
    """One workflow for all these data sets, chosen on half of the questions for the other half.

    Every other question belongs to the other half, so each is answered by the workflow that did
    best on questions that it is not one of. Data sets count alike, also where one has more.

    Raises:
        UsageError: If a data set has fewer than two questions.
    """
    best = []
    for start in (1, 0):
        halves = [
            {name: records[start::2] for name, records in known.items()} for known in sets.values()
        ]
        if any(not records for half in halves for records in half.values()):
            raise UsageError("a choice by halves needs two questions of each data set")
        best.append(_best(halves, value))
    return {name: Choice.of(who, list(_alternating(best, known))) for name, known in sets.items()}


def together(same: Sequence[Choice]) -> Choice:
    """One way to choose, on several data sets as if they were one."""
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


def _best(parts: Sequence[Known], value: Value) -> str:
    """The workflow with the largest mean value, then with the fewest retrievals, then the first."""

    def merit(name: str) -> tuple[float, float]:
        gained = fmean(fmean(map(value, part[name])) for part in parts)
        spent = fmean(fmean(map(_retrievals, part[name])) for part in parts)
        return round(gained, 9), -round(spent, 9)

    return max(parts[0], key=merit)


def _alternating(best: Sequence[str], known: Known) -> Iterator[tuple[str, Record]]:
    """The first, third ... question by the first of two workflows, the others by the second."""
    for place in range(len(known[best[0]])):
        name = best[place % 2]
        yield name, known[name][place]


def _retrievals(record: Record) -> float:
    return record.usage.get("retrievals") or 0.0
