"""Answers that are computed over tables, or the candidates where a question leaves it open."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fathom.question.question import Question
from fathom.tables.computation import Computation, Result, compute
from fathom.tables.grammar import plan_computations
from fathom.tables.links import TableWords

_LEAST_SCORE = 0.3
"""The least score of an answer; below it the candidates are told only."""
_SURE_SCORE = 0.68
"""The least score of an answer that is not tentative."""
_SEVERAL = 0.8
"""The factor for the score of a lookup that gives several values where one is asked for."""


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
    """Return the answer to a question computed over the table that it matches best."""
    candidates = sorted(
        _iterate_candidates(question, tables), key=lambda candidate: -candidate.score
    )
    best = next(iter(candidates), None)
    is_open = best is None or best.score < _LEAST_SCORE or _is_ambiguous(candidates)
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
                    score = round(score * _SEVERAL, 4)
                yield ComputedAnswer(table=at, computation=computation, result=result, score=score)


def _is_ambiguous(candidates: Sequence[ComputedAnswer]) -> bool:
    """Return whether two best candidates have equal scores and different values."""
    values = {
        candidate.result.values
        for candidate in candidates
        if candidate.score == candidates[0].score
    }
    return len(values) > 1
