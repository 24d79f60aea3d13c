"""The local calculator: computes an answer from the tables of the hits and cites every row.

Reports with financial statements come first (`tables.statements`), then any other table. The
computed draft replaces the reader's draft only by the rules of `_choose_draft`.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from fathom.agents.calculator.reports import answer_over_reports, get_probability
from fathom.jsonable import Json
from fathom.question.anchors import Anchor, find_missing
from fathom.question.question import Question
from fathom.retrieval.report_lookup import ReportLookup
from fathom.retrieval.table_lookup import FoundTable, TableLookup
from fathom.runs.context import DeadlineOver, RunContext
from fathom.tables.answer import ComputedAnswer, answer_over_tables
from fathom.tables.computation import Operand, Operation, Result
from fathom.tables.labels import LabelNames
from fathom.tables.periods import find_periods
from fathom.tables.statement_question import StatementQuestion
from fathom.tables.values import fold_text, parse_number
from fathom.text.answer_match import normalize_answer
from fathom.types import (
    DIGITS,
    Calculation,
    CalculationCell,
    ChunkBlock,
    Claim,
    Draft,
    Evidence,
    Hit,
    Span,
)

if TYPE_CHECKING:
    from fathom.assembly import Assembly

_CUES = re.compile(
    r"\b(?:totals?|sum|combined|altogether|average|mean|difference|differ|ratio|share|percentage|"
    r"proportion|growth|grow|grew|how (?:many|much) (?:\w+ ){0,3}?(?:more|less|fewer)|jumlah|"
    r"keseluruhan|rata-rata|rerata|selisih|beda|rasio|persentase|pertumbuhan|kenaikan)\b",
    re.IGNORECASE,
)
"""Words that ask for a computation, whose value no cell holds."""
_SUPERLATIVES = re.compile(
    r"\b(?:(?<!at )(?:most|least)|fewest|highest|lowest|largest|smallest|greatest|longest|"
    r"shortest|oldest|earliest|latest|last|ter(?:banyak|tinggi|besar|rendah|kecil|sedikit|lama|tua|akhir))\b"
    r"|\bpaling\b",
    re.IGNORECASE,
)
_ASKS_NO_COUNT = re.compile(rf"{_SUPERLATIVES.pattern}|\bhow much\b", re.IGNORECASE)
"""Words of a question that a count of rows cannot answer."""
_OPERATIONS: frozenset[Operation] = frozenset(
    {"sum", "mean", "difference", "ratio", "share", "growth"}
)
"""Operations whose value no cell holds, so that no single quote is the answer."""
_STATED: frozenset[Operation] = frozenset({"lookup", "decision"})
"""Operations whose value a single row may state, so that the reader can read it there."""
_LEAST_SCORE = 0.85
"""The lowest score at which a computation replaces a reading of running text."""
_TABLE_SHARE = 0.5
"""The share of a hit's characters that must be table rows for the hit to count as a table."""
_LEAST_COUNTED = 0.5
"""The lowest confidence at which a count outweighs a cell that was read with more confidence."""
_LEAST_PROBABLE = 0.3
"""The lowest confidence at which a doubted value replaces a cell read with more confidence."""
_AGREEMENT = 0.4
"""The share of the doubt (1 - confidence) that remains when two methods give the same value."""
_MOST_ROWS = 40
"""The largest number of rows that an answer cites."""


@dataclass(frozen=True, slots=True)
class Calculator:
    """A calculator over the whole tables that the hits show a part of.

    Attributes:
        tables: The lookup of the whole tables.
        reports: The lookup of reports with statements; `None` to treat statements as plain tables.
        get_names: Returns the names of the rows of statements.
    """

    tables: TableLookup
    reports: ReportLookup | None = None
    get_names: Callable[[], LabelNames] = LabelNames.of

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the agent from the assembly."""
        return cls(
            tables=assembly.tables,
            reports=assembly.reports,
            # Most questions meet no table, and the names take time to read.
            get_names=lambda: assembly.statement_names,
        )

    async def compute(
        self, question: Question, hits: Sequence[Hit], read: Draft, context: RunContext
    ) -> Draft:
        """Return a computed draft, or the reader's draft if no table answers the question.

        If the best hit shows a table, every operation may be used. Otherwise only those of
        `_OPERATIONS` are, and only if the question has a word for one.
        """
        has_rows = _have_rows(hits)
        # A question about a day may need a statement although the hits are running text of the
        # report.
        if not has_rows and not find_periods(fold_text(question.text)).names_day:
            return read
        asked = StatementQuestion.of(question, self.get_names()) if self.reports else None
        may_ask = asked is not None and (asked.may_ask if has_rows else asked.names_row)
        if not may_ask and not may_compute(question, hits):
            return read
        with context.step("calculate", agent="calculator") as step:
            reported = await self._ask_reports(asked, hits, step) if asked and may_ask else None
            record = reported
            if (reported is None or "unfit" in reported) and may_compute(question, hits):
                shows_table = _shows_table(hits[0])
                record = await self._ask_tables(
                    question, hits, step, any_operation=shows_table, trusts_topics=reported is None
                )
            record = record or reported
            draft = restore_draft(record, hits) if record else None
            reason = draft.claims[0].text if draft and draft.claims else ""
            step.set_outcome(
                verdict="computed" if reason else "none",
                reason=reason or (record or {}).get("refusal", "no table answers the question"),
            )
        if record and draft is not None and "settles" in record:
            return draft
        if record is None or draft is None:
            return replace(read, is_doubted=_is_doubted(question, read))
        if draft.calculation is None:
            return read if _outlasts_refusal(question, read, _get_missing(record)) else draft
        return _choose_draft(question, read, draft, is_list=len(record["values"]) > 1)

    async def _ask_tables(
        self,
        question: Question,
        hits: Sequence[Hit],
        context: RunContext,
        *,
        any_operation: bool,
        trusts_topics: bool,
    ) -> Json:
        """Compute an answer over the tables of the hits and return its record; `None` without one.

        Args:
            question: The question.
            hits: The hits.
            context: The step that records the answer.
            any_operation: Whether every operation counts, or only a sure one of `_OPERATIONS`.
            trusts_topics: Whether a name of the question may occur in the title, headings or file
                name instead of the table. It may not for reports, which hold amounts of other days
                too.
        """

        def calculate() -> Json:
            tables = self.tables(hits)
            topics = [table.topic if trusts_topics else "" for table in tables]
            contents = [table.content for table in tables]
            table_answer = answer_over_tables(question, contents, topics)
            answer = table_answer.answer
            if any_operation and table_answer.refusal:
                # If a report lacks the row, a cell that the reader took from it does not count
                # either.
                missing = table_answer.missing if trusts_topics else ""
                return {"refusal": table_answer.refusal, "missing": missing}
            if answer is None or not (any_operation or _is_computed(answer)):
                return None
            return describe_result(
                answer.result,
                tables[answer.table],
                operation=answer.computation.operation,
                probability=answer.probability,
            )

        request = [question.text, [hit.chunk.id for hit in hits], any_operation]
        return await self._observe(request, calculate, context)

    async def _ask_reports(
        self, asked: StatementQuestion, hits: Sequence[Hit], context: RunContext
    ) -> Json:
        """Compute an answer over the statements of reports; return its record or `None`."""
        lookup = self.reports
        if lookup is None:
            return None

        def calculate() -> Json:
            reports = lookup(hits)
            placed = answer_over_reports(asked, reports)
            if placed is None:
                # The reader knows neither the row nor the period of a cell, so its answer is
                # dropped.
                reason = "no statement has what is asked for"
                names_day = bool(reports) and asked.periods.names_day
                return {"refusal": reason, "missing": "", "unfit": True} if names_day else None
            if placed.answer.result is None:
                return {"refusal": placed.answer.refusal, "missing": "", "settles": True}
            table = lookup.place(placed.report, placed.statement)
            return table and describe_result(
                placed.answer.result,
                table,
                operation=placed.answer.operation,
                probability=get_probability(placed.statement),
            )

        request = ["reports", asked.text, [hit.chunk.id for hit in hits]]
        return await self._observe(request, calculate, context)

    async def _observe(
        self, request: Json, calculate: Callable[[], Json], context: RunContext
    ) -> Json:
        """Run a computation in a thread and record its value for replays; `None` out of time."""

        async def ask() -> Json:
            async with asyncio.timeout(context.seconds_left):
                return await context.run_in_thread(calculate)

        try:
            return await context.scope.aobserve("computed", request, ask)
        except TimeoutError:
            # The reader's draft stays the answer.
            context.note_refusal(DeadlineOver())
            return None


def may_compute(question: Question, hits: Sequence[Hit]) -> bool:
    """Return whether the best hit shows a table, or the question asks to compute over one."""
    return _have_rows(hits) and (_shows_table(hits[0]) or bool(_CUES.search(question.text)))


def _have_rows(hits: Sequence[Hit]) -> bool:
    """Return whether any hit holds a row of a table."""
    return any(block.kind == "table_row" for hit in hits for block in hit.chunk.blocks)


def match_values(one: str, other: str) -> bool:
    """Return whether two short answers give the same value, however it is written."""
    first, second = parse_number(one), parse_number(other)
    if first and second and "" in {first.unit, second.unit}:
        return first.value == second.value
    return bool(one) and normalize_answer(one) == normalize_answer(other)


def join_equal(other: Draft, local: Draft) -> Draft:
    """Return the computed one of two drafts that agree, with a confidence above both."""
    best = max(other.confidence, local.confidence)
    confidence = round(1 - _AGREEMENT * (1 - best), DIGITS)
    return replace(local if local.calculation else other, confidence=confidence)


def _choose_draft(question: Question, read: Draft, computed: Draft, *, is_list: bool) -> Draft:
    """Choose the computed draft or the reader's; mark it doubted if a surer reading differs.

    Args:
        question: The question.
        read: The draft of the reader.
        computed: The draft of the calculator.
        is_list: Whether the computed draft has several values.
    """
    operation = computed.calculation.operation if computed.calculation else ""
    is_in_row = quotes_row(read)
    if is_in_row and match_values(read.short_answer, computed.short_answer):
        return join_equal(read, computed)
    if not read.evidence or read.confidence < computed.confidence:
        return computed
    if not is_in_row:
        # Prose may state a looked-up value, but seldom a value that no cell holds.
        return computed if operation in _OPERATIONS else read
    is_misfit = (
        # Few questions ask for several values, and none for words that it contains itself.
        operation == "lookup" and (is_list or question.is_repeated_by(computed.short_answer))
    ) or (operation == "count" and _ASKS_NO_COUNT.search(question.text))
    is_weak_count = operation == "count" and computed.confidence < _LEAST_COUNTED
    if operation not in _STATED and not is_weak_count and not is_misfit:
        return computed
    is_probable = computed.confidence >= _LEAST_PROBABLE and _quote_same_document(read, computed)
    return replace(computed if is_probable and not is_misfit else read, is_doubted=True)


def _is_doubted(question: Question, read: Draft) -> bool:
    """Return whether a cell answers a superlative or "how much", and is seldom right uncomputed.

    Args:
        question: The question.
        read: The draft of the reader.
    """
    return quotes_row(read) and bool(_ASKS_NO_COUNT.search(question.text))


def _outlasts_refusal(question: Question, read: Draft, missing: str) -> bool:
    """Return whether the reader's draft counts although the calculator refused to compute.

    A refusal is about tables, so a quote of running text always counts. A cell counts only if its
    row holds the word that the tables lack, or if row, column heads and headings together hold that
    word and all names and times of the question, and the question asks for no computation.

    Args:
        question: The question.
        read: The draft of the reader.
        missing: The words that the tables lack; empty if the refusal has another reason.
    """
    if not read.evidence or not quotes_row(read):
        return bool(read.evidence)
    item = read.evidence[0]
    if not missing or missing.casefold() in item.quote.casefold():
        return bool(missing)
    words = Anchor(kind="entity", text=missing, score=1.0)
    heads = (head for head in item.hit.chunk.blocks if head.kind == "table_head")
    text = item.hit.chunk.text
    over = [item.hit.chunk.breadcrumb, *(text[head.start : head.end] for head in heads)]
    return not _asks_to_reckon(question) and not find_missing(
        [*question.anchors, words], "\n".join([*over, item.quote])
    )


def _get_missing(record: Json) -> str:
    """Return the words that the tables lack, also from records of traces of earlier versions."""
    return str(record.get("missing", record.get("unknown_name", "")))


def _asks_to_reckon(question: Question) -> bool:
    """Return whether a question has a word for a computation or a superlative."""
    return bool(_CUES.search(question.text) or _SUPERLATIVES.search(question.text))


def _quote_same_document(one: Draft, other: Draft) -> bool:
    """Return whether the first quotes of two drafts come from the same document."""
    documents = {item.hit.chunk.document_id for item in (*one.evidence[:1], *other.evidence[:1])}
    return len(documents) == 1


def quotes_row(read: Draft) -> bool:
    """Return whether the first quote of a draft is in a row of a table."""
    return any(
        block.kind == "table_row" and block.start <= evidence.span.start < block.end
        for evidence in read.evidence[:1]
        for block in evidence.hit.chunk.blocks
    )


def _is_computed(answer: ComputedAnswer) -> bool:
    """Return whether an answer is sure and its operation computes a value that no cell holds."""
    return answer.score >= _LEAST_SCORE and answer.computation.operation in _OPERATIONS


def _shows_table(hit: Hit) -> bool:
    """Return whether most of a hit is rows of a table."""
    rows = sum(block.end - block.start for block in hit.chunk.blocks if block.kind == "table_row")
    return rows >= _TABLE_SHARE * len(hit.chunk.text)


def describe_result(
    result: Result, table: FoundTable, *, operation: str, probability: float
) -> Json:
    """Return the record of a computed value for the trace: the value, its cells and their rows."""
    operands = [operand for operand in result.operands if operand.cell.text]
    rows = list(dict.fromkeys(operand.row for operand in operands))
    names = [column.name for column in table.content.table.columns]
    places = {row: table.locate_cells(row) for row in rows[:_MOST_ROWS]}
    return {
        "chunk": table.hit.chunk.id,
        "probability": probability,
        "operation": operation,
        "values": result.values,
        "unit": result.unit,
        "line": result.line,
        # A sum ends in its value; the line of a lookup only tells where it stands.
        "leads_with_value": not all(value in result.line for value in result.values),
        "table": table.content.table.title,
        "columns": list(dict.fromkeys(names[operand.column] for operand in operands)),
        "row_count": max(len(rows), result.row_count),
        "cell_count": len(operands) * max(len(rows), result.row_count) // max(len(rows), 1),
        "rows": [
            [row, table.rows[row].start, table.rows[row].end, table.quote(row)] for row in places
        ],
        "cells": [
            _describe_cell(operand, names[operand.column], places[operand.row][operand.column])
            for operand in operands
            if operand.row in places
        ],
    }


def _describe_cell(operand: Operand, name: str, span: Span) -> Json:
    """Return the record of a cell for the trace: row, column, its name, text and span."""
    return [operand.row, operand.column, name, operand.cell.text, span.start, span.end]


def restore_draft(record: Json, hits: Sequence[Hit]) -> Draft | None:
    """Rebuild the draft of a computed answer from its record.

    A record of a refusal gives an empty draft. A record without a row to cite gives `None`.
    """
    if "refusal" in record:
        return Draft()
    hit = next(hit for hit in hits if hit.chunk.id == record["chunk"])
    if not record["rows"]:
        return None
    evidence = tuple(
        Evidence(
            hit=_narrow_hit(hit, Span(start, end), text), span=Span(0, end - start), support=1.0
        )
        for _, start, end, text in record["rows"]
    )
    places = {row: at for at, (row, *_) in enumerate(record["rows"])}
    cells = tuple(
        CalculationCell(
            row=row + 1,
            column=column + 1,
            name=name,
            text=text,
            start=start,
            end=end,
            citation=places[row],
        )
        for row, column, name, text, start, end in record["cells"]
    )
    value = f"{', '.join(record['values'])} {record['unit']}".strip()
    calculation = Calculation(
        operation=record["operation"],
        value=value,
        unit=record["unit"],
        line=record["line"],
        table=record["table"],
        cell_count=record["cell_count"],
        cells=cells,
    )
    # The column names show which cells of the cited rows the computation used.
    columns = ", ".join(filter(None, record["columns"]))
    rest = record["row_count"] - len(evidence)
    note = f"; {len(evidence)} of {record['row_count']} rows are cited" if rest else ""
    line = f"{value}: {record['line']}" if record.get("leads_with_value") else record["line"]
    claim = Claim(text=f"{line} ({columns}{note})", evidence=tuple(places.values()))
    return Draft(
        evidence=evidence,
        claims=(claim,),
        short_answer=value,
        confidence=record["probability"],
        calculation=calculation,
    )


def _narrow_hit(hit: Hit, row: Span, text: str) -> Hit:
    """Return a hit whose chunk is one row of its table."""
    chunk = replace(
        hit.chunk,
        id=f"{hit.chunk.id}:{row.start}",
        text=text,
        span=row,
        blocks=(ChunkBlock("table_row", 0, len(text)),),
    )
    return replace(hit, chunk=chunk)
