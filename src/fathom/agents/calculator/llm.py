"""The LLM calculator: a model writes one SQL SELECT over the tables of the hits.

The statement is checked and run by `tables.sql`; its value is then compared with the local draft.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import BaseModel, Field

from fathom.agents.calculator.local import (
    describe_result,
    join_equal,
    match_values,
    may_compute,
    restore_draft,
)
from fathom.agents.prompt_delimiters import fence_once, format_rule, make_fence
from fathom.jsonable import Json
from fathom.llm.call import RoleModel, ask_model
from fathom.llm.faults import CallFailure
from fathom.llm.prompt import ModelRequest, Prompt
from fathom.llm.schema import AtMost
from fathom.question.question import Question
from fathom.retrieval.table_lookup import FoundTable, TableLookup
from fathom.runs.context import DeadlineOver, RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.tables.sql import SelectRefused, SqlTable, run_select
from fathom.tables.table_question import TableQuestion
from fathom.types import Alternative, Draft, Evidence, Hit

if TYPE_CHECKING:
    from fathom.assembly import Assembly

PROMPT = Prompt.compose(
    "reader_sql",
    agent="reader",
    task="""\
Write one SQLite SELECT that answers a question from the tables that you are given.
- Use one table, and of its columns only those that are shown. Use no WITH, JOIN, UNION or window.
- Select the one value that is asked for: a column, COUNT, SUM, AVG, MIN, MAX, or a difference.
- Compare texts as they stand in the rows that are shown. Dates begin with the year.""",
    language="- Quote words of the question as they stand there; translate nothing.",
    unsure='- If the tables do not hold what is asked, the statement is "".',
    example="""\
t1(row_no INTEGER, ferry TEXT, pier TEXT, seats REAL) has 9 rows, such as:
1 | Sandholm | north | 40
Question: How many seats have all ferries of the pier north?""",
    reply="""{"sql": "SELECT SUM(seats) FROM t1 WHERE pier = 'north'"}""",
)
_MOST_TABLES = 2
"""The largest number of tables that the model is shown; each one lengthens the prompt."""
_PROBABILITY = 0.5
"""The confidence in the value of a statement that uses all cells and numbers of the question."""
_DOUBTFUL = 0.35
"""The confidence in the value of a statement that leaves out a cell or number of the question."""
_MOST_RIVAL_ROWS = 3
"""The largest number of quotes that an alternative answer brings along."""


class QueryReply(BaseModel):
    """The reply that a language model is asked for."""

    sql: Annotated[str, Field(max_length=2_000), AtMost(500)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMCalculator:
    """A calculator that runs a language model's SQL statement over the tables of the hits.

    The statement is checked and run in a database that holds only these tables. The value comes
    from the database, never from the model.

    Attributes:
        model: The language model.
        tables: The lookup of the whole tables.
        prompt: The instructions.
    """

    model: RoleModel
    tables: TableLookup
    prompt: Prompt = PROMPT

    @classmethod
    def of(cls, assembly: "Assembly", model: RoleModel) -> Self:
        """Build the agent with a language model."""
        return cls(model=model, tables=assembly.tables, prompt=assembly.prompt(PROMPT))

    async def compute(
        self, question: Question, hits: Sequence[Hit], local: Draft, context: RunContext
    ) -> Draft | None:
        """Compute a draft from the model's statement and compare it with the local draft.

        Args:
            question: The question.
            hits: The hits, best first.
            local: The draft of the local reader or of the rule-based calculator.
            context: The run that records the step.

        Returns:
            The draft with the higher confidence, and the other value as an alternative if the two
            differ; `None` if the question is not about a table or the statement gives no value.
        """
        if not hits or not may_compute(question, hits):
            return None
        with context.step("query", agent="calculator") as step:
            try:
                record = await self._query(question, hits, step)
            except (BudgetRefused, CallFailure) as error:
                step.set_outcome(verdict="none", reason=str(error))
                return None
            draft = restore_draft(record, hits) if "rows" in record else None
            if draft is None:
                step.set_outcome(verdict="none", reason=record.get("reason", "no row is told"))
                return None
            agrees = bool(local.evidence) and match_values(draft.short_answer, local.short_answer)
            step.set_outcome(
                verdict="agrees" if agrees else "differs" if local.evidence else "alone",
                reason=draft.claims[0].text,
            )
        return join_equal(draft, local) if agrees else _join_different(draft, local)

    async def _query(self, question: Question, hits: Sequence[Hit], context: RunContext) -> Json:
        """Ask the model for a statement and return the record of its value, or of why it has none.

        Raises:
            BudgetRefused: If the budget does not allow the call.
            CallFailure: If the model gives no usable reply.
        """
        chunks = [hit.chunk.id for hit in hits]
        shown = await self._observe(
            [question.text, chunks], lambda: self._describe_tables(question, hits), context
        )
        if not shown:
            return {"reason": "no table can be read as a whole"}
        request = self._build_request(question, shown)
        reply = await ask_model(self.model, QueryReply, request, context)
        statement = reply.require_value().sql.strip()
        if not statement:
            return {"reason": "the model writes no statement"}
        return await self._observe(
            [question.text, chunks, statement],
            lambda: self._run(statement, question, hits),
            context,
        )

    async def _observe(self, request: Json, job: Callable[[], Json], context: RunContext) -> Json:
        """Run a job in a thread and record what it returns; a replay uses the record.

        Raises:
            DeadlineOver: If the job did not finish before the deadline.
        """

        async def ask() -> Json:
            async with asyncio.timeout(context.seconds_left):
                return await context.run_in_thread(job)

        try:
            return await context.scope.aobserve("computed", request, ask)
        except TimeoutError:
            raise context.note_refusal(DeadlineOver()) from None

    def _list_tables(
        self, question: Question, hits: Sequence[Hit]
    ) -> tuple[list[FoundTable], list[SqlTable], list[TableQuestion]]:
        """Return the tables of the best hits, their SQL forms, and the question parsed for each."""
        tables = list(self.tables(hits)[:_MOST_TABLES])
        named = [SqlTable.of(table.content, at) for at, table in enumerate(tables)]
        readings = [TableQuestion.of(question, table.content, table.topic) for table in tables]
        return tables, named, readings

    def _describe_tables(self, question: Question, hits: Sequence[Hit]) -> Json:
        """Return one text for each table, as the prompt shows it."""
        _, named, readings = self._list_tables(question, hits)
        return [table.describe(reading) for table, reading in zip(named, readings, strict=True)]

    def _build_request(self, question: Question, shown: Sequence[str]) -> ModelRequest:
        """Build the request; a table that contains orders to a model is left out."""
        fence = make_fence(question.text, shown)
        text = f"{fence_once(fence, shown)}\nQuestion: {question.text}"
        return self.prompt.build_request(text, rule=format_rule(fence))

    def _run(self, statement: str, question: Question, hits: Sequence[Hit]) -> Json:
        """Run a statement and return the record of its value, or of why it was refused."""
        tables, named, readings = self._list_tables(question, hits)
        try:
            selection = run_select(statement, readings, named)
        except SelectRefused as refusal:
            return {"reason": str(refusal)}
        return describe_result(
            selection.result,
            tables[selection.table],
            operation="query",
            probability=_PROBABILITY if selection.is_whole else _DOUBTFUL,
        )


def _join_different(queried: Draft, local: Draft) -> Draft:
    """Return the draft with the higher confidence and the other's answer as an alternative."""
    if not local.evidence or not local.short_answer:
        return queried
    better, other = (local, queried) if local.confidence > queried.confidence else (queried, local)
    places: list[int] = []
    evidence: list[Evidence] = list(better.evidence)
    for item in other.evidence[:_MOST_RIVAL_ROWS]:
        if item not in evidence:
            evidence.append(item)
        places.append(evidence.index(item))
    alternative = Alternative(text=other.short_answer, evidence=tuple(places))
    return replace(
        better, evidence=tuple(evidence), alternatives=(*better.alternatives, alternative)
    )
