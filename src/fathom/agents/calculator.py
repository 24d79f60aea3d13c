"""The calculator: an agent that computes an answer over the tables of hits, every row cited."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from fathom.question.question import Question
from fathom.retrieval.table_lookup import TableLookup
from fathom.runs.context import RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.tables.answer import ComputedAnswer, answer_over_tables
from fathom.tables.computation import Operation
from fathom.tables.links import TableWords
from fathom.tables.rows import list_chunk_tables
from fathom.tables.table import build_table
from fathom.types import Claim, Draft, Evidence, Hit, Span

if TYPE_CHECKING:
    from fathom.assembly import Assembly

_CUES = re.compile(
    r"\b(?:totals?|sum|combined|altogether|average|mean|difference|differ|ratio|share|percentage|"
    r"proportion|growth|grow|grew|how (?:many|much) (?:\w+ ){0,3}?(?:more|less|fewer)|jumlah|"
    r"keseluruhan|rata-rata|rerata|selisih|beda|rasio|persentase|pertumbuhan|kenaikan)\b",
    re.IGNORECASE,
)
"""Words for computations; a question without any is left to the reader."""
_OPERATIONS: frozenset[Operation] = frozenset(
    {"sum", "mean", "difference", "ratio", "share", "growth"}
)
"""Operations whose value stands in no cell, so that no quote alone is the answer."""
_LEAST_SCORE = 0.85
"""The least score of a computation that takes the place of what was read."""
_MOST_ROWS = 40
"""The largest number of rows that an answer cites."""


@dataclass(frozen=True, slots=True)
class Calculator:
    """An agent that computes over the tables of which the hits show a part.

    Attributes:
        tables: The lookup of the whole tables.
    """

    tables: TableLookup

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the agent from the assembly."""
        return cls(tables=assembly.tables)

    async def compute(
        self, question: Question, hits: Sequence[Hit], context: RunContext
    ) -> Draft | None:
        """Return a computed draft; `None` if the question asks for no computation or no table fits.

        A question for a computation whose best hits show a table is one step of the run.
        """
        has_table = any(block.kind == "table_row" for hit in hits for block in hit.chunk.blocks)
        if not has_table or not _CUES.search(question.text):
            return None
        with context.step("calculate", agent="calculator") as step:
            table_hits = await self.tables(hits, step)
            try:
                draft = await step.compute("table", lambda: compute_draft(question, table_hits))
            except BudgetRefused as error:
                # What was read before counts.
                step.set_outcome(verdict="none", reason=str(error))
                return None
            step.set_outcome(
                verdict="computed" if draft else "none",
                reason=draft.claims[0].text if draft else "no table answers the question",
            )
        return draft


def compute_draft(question: Question, table_hits: Sequence[Hit]) -> Draft | None:
    """Return the draft that is computed over whole tables; `None` if none answers surely."""
    places = [(hit, raw) for hit in table_hits for raw in list_chunk_tables(hit.chunk)]
    contents = [TableWords.of(build_table(raw, hit.chunk.title)) for hit, raw in places]
    answer = answer_over_tables(question, contents).answer
    if answer is None or not _is_given(answer):
        return None
    hit, table = places[answer.table][0], contents[answer.table].table
    blocks = [block for block in hit.chunk.blocks if block.kind == "table_row"]
    rows = list(dict.fromkeys(operand.row for operand in answer.result.operands))
    if not 0 < len(rows) <= _MOST_ROWS:
        return None
    evidence = tuple(
        Evidence(hit=hit, span=Span(blocks[row].start, blocks[row].end), support=1.0)
        for row in rows
    )
    # The heads and conditions tell which cells of the cited rows went in.
    columns = dict.fromkeys(
        table.columns[operand.column].name for operand in answer.result.operands
    )
    text = f"{answer.result.line} ({', '.join(filter(None, columns))})"
    value = f"{answer.result.values[0]} {answer.result.unit}".strip()
    return Draft(
        evidence=evidence,
        claims=(Claim(text=text, evidence=tuple(range(len(rows)))),),
        short_answer=value,
        confidence=answer.score,
    )


def _is_given(answer: ComputedAnswer) -> bool:
    """Return whether a computed answer takes the place of what was read."""
    return answer.score >= _LEAST_SCORE and answer.computation.operation in _OPERATIONS
