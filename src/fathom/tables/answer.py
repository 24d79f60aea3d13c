"""Answers that are computed over tables, or the candidates where a question leaves it open."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fathom.question.question import Question
from fathom.tables.computation import Computation, Operation, Result, compute
from fathom.tables.grammar import plan_computations
from fathom.tables.links import TableWords
from fathom.types import DIGITS

_LEAST_SCORE = 0.3
"""The least score of an answer; below it the candidates are told only."""
_SURE_SCORE = 0.68
"""The least score of an answer that is not tentative."""
_FURTHER = 0.1
"""The difference that the place of a table makes to the score: the first fits the question best."""
_SEVERAL = 0.8
"""The factor for the score of a lookup that gives several values where one is asked for."""
# Fitted to the half of `experiments/tables.py` that was looked at, with all tables in one index.
_OFFSET, _SLOPE, _WEAK, _PLACE = -2.52, 3.75, -1.15, -1.12
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
        logit = _OFFSET + _SLOPE * self.score + _WEAK * is_weak + _PLACE * self.table
        return round(1 / (1 + math.exp(-logit)), DIGITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAnswer:
    """An answer over tables.

    Attributes:
        answer: The answer; `None` if the question matches nothing, or several things equally.
        candidates: All that it may mean, the best first.
    """

    answer: ComputedAnswer | None
    candidates: tuple[ComputedAnswer, ...] = ()


def answer_over_tables(question: Question, tables: Sequence[TableWords]) -> TableAnswer:
    """Return the answer to a question computed over the table that it matches best.

    Args:
        question: The question.
        tables: The tables, the one that fits the question best first.
    """
    candidates = sorted(
        _iterate_candidates(question, tables),
        key=lambda candidate: _FURTHER * candidate.table - candidate.score,
    )
    best = next(iter(candidates), None)
    is_open = best is None or best.score < _LEAST_SCORE or _is_ambiguous(candidates, tables)
    return TableAnswer(answer=None if is_open else best, candidates=tuple(candidates))


def _iterate_candidates(
    question: Question, tables: Sequence[TableWords]
) -> Iterator[ComputedAnswer]:
    """Yield the computations that give a result."""
    for at, content in enumerate(tables):
        for computation in plan_computations(question, content):
            result = compute(content.table, computation)
            if result is not None:
                score = computation.score
                if (
                    computation.operation == "lookup"
                    and len(result.values) > 1
                    and question.form != "several"
                ):
                    score *= _SEVERAL
                score = round(score, 4)
                yield ComputedAnswer(table=at, computation=computation, result=result, score=score)


def _is_ambiguous(candidates: Sequence[ComputedAnswer], tables: Sequence[TableWords]) -> bool:
    """Return whether best candidates of one table, or of tables alike, have different values."""

    def get_place(candidate: ComputedAnswer) -> tuple[float, tuple[tuple[str, ...], ...]]:
        # Tables with the same heads hold the same things, whichever stands first.
        return candidate.score, tables[candidate.table].names

    best = get_place(candidates[0])
    values = {candidate.result.values for candidate in candidates if get_place(candidate) == best}
    return len(values) > 1
