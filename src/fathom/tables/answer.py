"""Answers that are computed over tables, or the candidates if a question is ambiguous."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fathom.question.question import Question
from fathom.tables.computation import Computation, Operation, Result, compute, explain_gap
from fathom.tables.grammar import Obstacle, find_obstacle, plan_computations
from fathom.tables.links import TableWords
from fathom.tables.table_question import TableQuestion
from fathom.types import DIGITS

_LEAST_SCORE = 0.3
"""The least score of an answer; below it only the candidates are given."""
_SURE_SCORE = 0.68
"""The least score of an answer that is not tentative."""
_LEAST_MISSING = 0.55
"""The least score at which a computation without a result forbids any other answer."""
_FURTHER = 0.1
"""The amount of score by which a table must be better for each place that it is further behind."""
_SEVERAL = 0.8
"""The factor for the score of a lookup that gives several values if one is asked for."""
# The coefficients of a logistic model. They were fitted to the half of `experiments/tables.py` that
# was looked at, with all tables in one index; the last one to that half with each table given.
_OFFSET, _SLOPE, _WEAK, _PLACE, _SINGLE = -2.52, 3.75, -1.15, -1.12, -1.2
_WEAK_OPERATIONS: frozenset[Operation] = frozenset(
    {"first", "last", "most frequent", "least frequent", "distinct", "span", "decision"}
)
"""Operations that are less often the ones that a question asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedAnswer:
    """A computation with its result.

    Attributes:
        table: The place of the table among the given ones, from 0.
        computation: The computation.
        result: The value with its line and its operands.
        score: The score of the computation, in [0, 1]; lower if several values are given and one is
            asked for.
    """

    table: int
    computation: Computation
    result: Result
    score: float

    @property
    def is_tentative(self) -> bool:
        """True if the answer may well be wrong."""
        return self.score < _SURE_SCORE

    @property
    def probability(self) -> float:
        """The probability that the answer is right, if the table was found by a search."""
        is_weak = self.computation.operation in _WEAK_OPERATIONS
        # If only one row has the words of a question, it mostly states the wanted number itself.
        is_single = self.computation.operation == "count" and len(self.computation.rows) == 1
        logit = _OFFSET + _SLOPE * self.score + _WEAK * is_weak + _PLACE * self.table
        logit += _SINGLE * is_single
        return round(1 / (1 + math.exp(-logit)), DIGITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAnswer:
    """An answer over tables.

    Attributes:
        answer: The answer; `None` if no computation fits well enough, or several fit equally well.
        candidates: The computations that fit, the best first.
        refusal: The reason why no value can be computed although the question is about a table;
            empty if there is none.
        missing: The name or the words of the question that no table has, if these are the reason;
            else empty.
    """

    answer: ComputedAnswer | None
    candidates: tuple[ComputedAnswer, ...] = ()
    refusal: str = ""
    missing: str = ""


def answer_over_tables(
    question: Question, tables: Sequence[TableWords], topics: Sequence[str] = ()
) -> TableAnswer:
    """Compute the answer to a question over the table that fits it best.

    Args:
        question: The question.
        tables: The tables, in the order in which a search ranks them.
        topics: For each table, the title, the headings and the file name above it, whose names the
            question may use; by default nothing.
    """
    topics = topics or [""] * len(tables)
    readings = [
        TableQuestion.of(question, content, topic)
        for content, topic in zip(tables, topics, strict=True)
    ]
    plans = sorted(
        (plan for at, reading in enumerate(readings) for plan in _iterate_plans(at, reading)),
        key=lambda plan: _FURTHER * plan.table - plan.score,
    )
    candidates = tuple(plan for plan in plans if isinstance(plan, ComputedAnswer))
    best = next(iter(candidates), None)
    obstacle = _find_unknown_name(readings) or _find_obstacle(readings, plans)
    is_open = best is None or best.score < _LEAST_SCORE or _is_ambiguous(candidates, tables)
    answer = None if is_open or obstacle.reason else best
    return TableAnswer(
        answer=answer, candidates=candidates, refusal=obstacle.reason, missing=obstacle.missing
    )


class _Gap(NamedTuple):
    """A computation without a result.

    Attributes:
        table: The place of the table, as in `ComputedAnswer`.
        score: The score of the computation.
        reason: The reason why there is none, such as an empty cell that it needs.
    """

    table: int
    score: float
    reason: str


def _iterate_plans(at: int, reading: TableQuestion) -> Iterator[ComputedAnswer | _Gap]:
    """Yield the computations over a table that give a result or tell why they give none.

    Args:
        at: The place of the table.
        reading: The question, read over the table.
    """
    if reading.unknown_names:
        return
    for computation in plan_computations(reading):
        result = compute(reading.table, computation)
        if result is not None:
            is_single = computation.operation != "lookup" or len(result.values) == 1
            # A question asks for one value unless it says otherwise.
            factor = 1.0 if is_single or reading.wants_several else _SEVERAL
            score = round(computation.score * factor, 4)
            yield ComputedAnswer(table=at, computation=computation, result=result, score=score)
        elif reason := explain_gap(reading.table, computation):
            yield _Gap(at, computation.score, reason)


def _find_unknown_name(readings: Sequence[TableQuestion]) -> Obstacle | None:
    """Return the obstacle that no table has a name of the question; `None` if one has all names."""
    if readings and all(reading.unknown_names for reading in readings):
        name = readings[0].unknown_names[0]
        return Obstacle(f"no table has {name}", name)
    return None


def _find_obstacle(
    readings: Sequence[TableQuestion], plans: Sequence[ComputedAnswer | _Gap]
) -> Obstacle:
    """Return the reason why the best computation gives no answer; empty if there is none.

    Args:
        readings: The question, read over each table.
        plans: The computations, the best first.
    """
    if not plans:
        return Obstacle()
    if isinstance(plans[0], _Gap):
        is_needed = plans[0].score >= _LEAST_MISSING
        return Obstacle(plans[0].reason if is_needed else "")
    return find_obstacle(readings[plans[0].table], plans[0].computation)


def _is_ambiguous(candidates: Sequence[ComputedAnswer], tables: Sequence[TableWords]) -> bool:
    """Return whether the best candidates have different values.

    Candidates count as best if they have the score and the column names of the first one.
    """

    def get_place(candidate: ComputedAnswer) -> tuple[float, tuple[tuple[str, ...], ...]]:
        # Tables with the same column names hold the same kind of things, so their order says
        # nothing about which is meant.
        return candidate.score, tables[candidate.table].names

    best = get_place(candidates[0])
    values = {candidate.result.values for candidate in candidates if get_place(candidate) == best}
    return len(values) > 1
