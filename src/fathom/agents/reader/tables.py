"""Corrections of spans in tables: the row that the question names, the column that it asks for.

The cross-reader reads a table as running text and often picks a cell of another row. The corrector
moves its spans to the row that shares most words with the question.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import fsum

from fathom.agents.reader.base import ReadHit
from fathom.models.reading import ReadingSession, ReadSpan
from fathom.question.question import Question
from fathom.tables.rows import NamedCell, list_chunk_tables
from fathom.text.content_words import ContentTerms
from fathom.types import DIGITS, Chunk, Span

_WORD = re.compile(r"\w+")
_NAMED_SHARE = 0.5
"""The share of a cell's words that the question must contain to name the cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCorrector:
    """A corrector of the cross-reader's spans in tables.

    Attributes:
        extract_terms: A function that returns the content words of a text.
    """

    extract_terms: Callable[[str], frozenset[str]] = field(default_factory=ContentTerms)

    def __call__(self, question: Question, read_hit: ReadHit, session: ReadingSession) -> ReadHit:
        """Return the hit with its spans in tables moved to the cell that is asked for.

        If the question names one row of a table, the scores of all spans in the table go to one
        cell of that row: that of the column that the question names, else the one with the highest
        score. Other spans, and tables without a named row, are unchanged.
        """
        spans = list(read_hit.reading.spans)
        for table in (raw_table.rows for raw_table in list_chunk_tables(read_hit.hit.chunk)):
            inside = [span for span in spans if _is_in_table(span.span, table)]
            cell = self._find_cell(question, table, read_hit.hit.chunk, session) if inside else None
            if cell is not None:
                # The sum can exceed what the reader believes of the whole chunk.
                score = min(read_hit.reading.answerable, fsum(span.score for span in inside))
                spans = [span for span in spans if span not in inside]
                spans.append(ReadSpan(span=cell.span, score=round(score, DIGITS)))
        spans.sort(key=lambda span: -span.score)
        return replace(read_hit, reading=replace(read_hit.reading, spans=tuple(spans)))

    def _find_cell(
        self,
        question: Question,
        table: Sequence[Sequence[NamedCell]],
        chunk: Chunk,
        session: ReadingSession,
    ) -> NamedCell | None:
        """Return the cell that the question asks for; `None` if it does not name one row."""
        question_terms = self.extract_terms(question.text) | _list_capitalised(question.text)
        row = self._find_row(question_terms, table)
        if row is None:
            return None
        named_cells = {cell for cell in row if self._is_named(question_terms, cell)}
        # A cell that the question names is known to the user, so it is not the answer.
        others = [cell for cell in row if cell not in named_cells and cell.text]
        columns = [len(question_terms & self._list_words(cell.name)) for cell in others]
        best = max(columns, default=0)
        # Equally good columns leave open which one is meant.
        if best and columns.count(best) == 1:
            return others[columns.index(best)]
        return max(others, key=lambda cell: session.score(chunk, cell.text), default=None)

    def _find_row(
        self, question_terms: frozenset[str], table: Sequence[Sequence[NamedCell]]
    ) -> Sequence[NamedCell] | None:
        """Return the one row that the question names best; `None` for none or a tie."""
        counts = [
            len(frozenset().union(*(question_terms & self._list_words(cell.text) for cell in row)))
            if any(self._is_named(question_terms, cell) for cell in row)
            else 0
            for row in table
        ]
        best = max(counts, default=0)
        # Equally good rows leave open which one is meant.
        return table[counts.index(best)] if best and counts.count(best) == 1 else None

    def _is_named(self, question_terms: frozenset[str], cell: NamedCell) -> bool:
        """Return whether the question contains enough of a cell's words to name it."""
        words = self._list_words(cell.text)
        return bool(words) and len(words & question_terms) >= _NAMED_SHARE * len(words)

    def _list_words(self, text: str) -> frozenset[str]:
        """Return the content words of a cell, or else all its words."""
        return self.extract_terms(text) or frozenset(text.casefold().split())


def _list_capitalised(question: str) -> frozenset[str]:
    """Return the capitalised words after the first: the month "May" is no stop word."""
    return frozenset(word.casefold() for word in _WORD.findall(question)[1:] if word[0].isupper())


def _is_in_table(span: Span, table: Sequence[Sequence[NamedCell]]) -> bool:
    """Return whether a span stands within a table."""
    first, last = table[0][0].span, table[-1][-1].span
    return first.start <= span.end and span.start <= last.end
