"""Answers that are computed over tables, or the candidates where a question leaves it open."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fathom.question.question import Question
from fathom.tables.computation import Computation, Operation, Result, compute, lacks_cell
from fathom.tables.grammar import Obstacle, find_obstacle, plan_computations
from fathom.tables.links import TableWords
from fathom.tables.table_question import TableQuestion
from fathom.types import DIGITS

_LEAST_SCORE = 0.3
"""The least score of an answer; below it the candidates are told only."""
_SURE_SCORE = 0.68
"""The least score of an answer that is not tentative."""
_LEAST_MISSING = 0.55
"""The least score of a computation whose empty cell forbids any other answer."""
_FURTHER = 0.1
"""The difference that the place of a table makes to the score: the first fits the question best."""
_SEVERAL = 0.8
"""The factor for the score of a lookup that gives several values where one is asked for."""
# Fitted to the half of `experiments/tables.py` that was looked at, with all tables in one index;
# the term of a single row to that half with each table given.
_OFFSET, _SLOPE, _WEAK, _PLACE, _SINGLE = -2.52, 3.75, -1.15, -1.12, -1.2
_WEAK_OPERATIONS: frozenset[Operation] = frozenset(
    {"first", "last", "most frequent", "least frequent", "distinct", "span", "decision"}
)
"""Operations that a question's words tell less surely."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedAnswer:
    """A computation with its result.

    Attributes:
        table: The place of the table among those that were asked.
        computation: The computation.
        result: Its value, line and operands.
        score: The score of the computation, lower where the result fits the question badly.
    """

    table: int
    computation: Computation
    result: Result
    score: float

    @property
    def is_tentative(self) -> bool:
        """Return whether the answer may well be wrong."""
        return self.score < _SURE_SCORE

    @property
    def probability(self) -> float:
        """The probability that it is right, where the table was found by the question's words."""
        is_weak = self.computation.operation in _WEAK_OPERATIONS
        # A row that alone has the words of a question mostly states the number asked for.
        is_single = self.computation.operation == "count" and len(self.computation.rows) == 1
        logit = _OFFSET + _SLOPE * self.score + _WEAK * is_weak + _PLACE * self.table
        logit += _SINGLE * is_single
        return round(1 / (1 + math.exp(-logit)), DIGITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAnswer:
    """An answer over tables.

    Attributes:
        answer: The answer; `None` if the question matches nothing, or several things equally.
        candidates: All that it may mean, the best first.
        refusal: Why no value can be computed although the question is about a table; else empty.
        missing: The name or the words of the question that no table has, if that is the reason.
    """

    answer: ComputedAnswer | None
    candidates: tuple[ComputedAnswer, ...] = ()
    refusal: str = ""
    missing: str = ""


def answer_over_tables(
    question: Question, tables: Sequence[TableWords], topics: Sequence[str] = ()
) -> TableAnswer:
    """Return the answer to a question computed over the table that it matches best.

    Args:
        question: The question.
        tables: The tables, the one that fits the question best first.
        topics: The title, the headings and the file name over each table; by default nothing.
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


class _MissingCell(NamedTuple):
    """A computation whose cells are empty."""

    table: int
    score: float


def _iterate_plans(at: int, reading: TableQuestion) -> Iterator[ComputedAnswer | _MissingCell]:
    """Yield the computations over a table that give a result, or lack a cell."""
    if reading.unknown_names:
        return
    for computation in plan_computations(reading):
        result = compute(reading.table, computation)
        if result is not None:
            is_single = computation.operation != "lookup" or len(result.values) == 1
            # One value is asked for unless the question wants several.
            factor = 1.0 if is_single or reading.wants_several else _SEVERAL
            score = round(computation.score * factor, 4)
            yield ComputedAnswer(table=at, computation=computation, result=result, score=score)
        elif lacks_cell(reading.table, computation):
            yield _MissingCell(at, computation.score)


def _find_unknown_name(readings: Sequence[TableQuestion]) -> Obstacle | None:
    """Return a name of the question that no table holds; `None` if a table holds them all."""
    if readings and all(reading.unknown_names for reading in readings):
        name = readings[0].unknown_names[0]
        return Obstacle(f"no table has {name}", name)
    return None


def _find_obstacle(
    readings: Sequence[TableQuestion], plans: Sequence[ComputedAnswer | _MissingCell]
) -> Obstacle:
    """Return why no value can be computed although the question is about a table."""
    if not plans:
        return Obstacle()
    if isinstance(plans[0], _MissingCell):
        is_needed = plans[0].score >= _LEAST_MISSING
        return Obstacle("a cell that is needed is empty" if is_needed else "")
    return find_obstacle(readings[plans[0].table], plans[0].computation)


def _is_ambiguous(candidates: Sequence[ComputedAnswer], tables: Sequence[TableWords]) -> bool:
    """Return whether best candidates of one table, or of tables alike, have different values."""

    def get_place(candidate: ComputedAnswer) -> tuple[float, tuple[tuple[str, ...], ...]]:
        # Tables with the same heads hold the same things, whichever stands first.
        return candidate.score, tables[candidate.table].names

    best = get_place(candidates[0])
    values = {candidate.result.values for candidate in candidates if get_place(candidate) == best}
    return len(values) > 1
