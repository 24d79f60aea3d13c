"""Cells of tables: the row that a question names, and in it the column that it asks for.

To a reader of running text the cells of a table are words in a line, so that it often takes one of
another row. Here a row counts that holds more of the question's words than any other.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import NamedTuple

from fathom.agents.reader.base import ReadHit
from fathom.models.reading import ReadingSession, ReadSpan
from fathom.text.content_words import ContentTerms
from fathom.types import Chunk, Span

_CELLS = " | "
_LABEL = ": "
_NAMED = 0.5
"""So much of a cell must stand in the question for the question to name it."""
_DIGITS = 6


class NamedCell(NamedTuple):
    """A cell of a row.

    Attributes:
        name: Of its column; empty where it has none.
        text: What it holds, without the name.
        span: Where that stands in the chunk's text.
    """

    name: str
    text: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Corrects what a reader found in tables.

    Attributes:
        terms: The content words of a text.
    """

    terms: Callable[[str], frozenset[str]] = field(default_factory=ContentTerms)

    def __call__(self, question: str, seen: ReadHit, session: ReadingSession) -> ReadHit:
        """A hit that was read, spans in a table moved to the cell that is asked for.

        Where the question names one row of a table, what the reader gives to all its rows goes to
        that row: to the cell of the column that the question names, else to the cell that the
        reader finds likeliest. Other spans, and tables of which no row is named, stay as they are.
        """
        spans = list(seen.reading.spans)
        for table in tables_of(seen.hit.chunk):
            within = [span for span in spans if _stands(span.span, table)]
            cell = self._cell(question, table, seen.hit.chunk, session) if within else None
            if cell is not None:
                score = min(seen.reading.answerable, fsum(span.score for span in within))
                spans = [span for span in spans if span not in within]
                spans.append(ReadSpan(span=cell.span, score=round(score, _DIGITS)))
        spans.sort(key=lambda span: -span.score)
        return replace(seen, reading=replace(seen.reading, spans=tuple(spans)))

    def _cell(
        self,
        question: str,
        table: Sequence[Sequence[NamedCell]],
        chunk: Chunk,
        session: ReadingSession,
    ) -> NamedCell | None:
        asked = self.terms(question)
        row = self._row(asked, table)
        if row is None:
            return None
        named = {cell for cell in row if self._is_named(asked, cell)}
        others = [cell for cell in row if cell not in named and cell.text]
        columns = [len(asked & self.terms(cell.name)) for cell in others]
        best = max(columns, default=0)
        if best and columns.count(best) == 1:
            return others[columns.index(best)]
        return max(others, key=lambda cell: session.score(chunk, cell.text), default=None)

    def _row(
        self, asked: frozenset[str], table: Sequence[Sequence[NamedCell]]
    ) -> Sequence[NamedCell] | None:
        """The one row that the question names; `None` where it names none or several."""
        held = [
            len(frozenset().union(*(asked & self.terms(cell.text) for cell in row)))
            if any(self._is_named(asked, cell) for cell in row)
            else 0
            for row in table
        ]
        best = max(held, default=0)
        return table[held.index(best)] if best and held.count(best) == 1 else None

    def _is_named(self, asked: frozenset[str], cell: NamedCell) -> bool:
        words = self.terms(cell.text)
        return bool(words) and len(words & asked) >= _NAMED * len(words)


def tables_of(chunk: Chunk) -> Iterator[list[list[NamedCell]]]:
    """The tables of a chunk that have two rows or more, without their heads."""
    above = chunk.headings[-1] if chunk.headings and _CELLS in chunk.headings[-1] else ""
    names = above.split(_CELLS) if above else []
    table: list[list[NamedCell]] = []
    for block in chunk.blocks:
        text = chunk.text[block.start : block.end]
        if block.kind == "table_row":
            table.append(_cells(text, block.start, names))
            continue
        if len(table) > 1:
            yield table
        table, names = [], text.split(_CELLS) if block.kind == "table_head" else []
    if len(table) > 1:
        yield table


def _cells(row: str, start: int, names: Sequence[str]) -> list[NamedCell]:
    cells = []
    for at, text in enumerate(row.split(_CELLS)):
        label, mark, value = text.partition(_LABEL)
        own = value if mark else text
        name = label if mark else names[at] if at < len(names) else ""
        first = start + len(text) - len(own)
        cells.append(NamedCell(name, own, Span(first, first + len(own))))
        start += len(text) + len(_CELLS)
    return cells


def _stands(span: Span, table: Sequence[Sequence[NamedCell]]) -> bool:
    first, last = table[0][0].span, table[-1][-1].span
    return first.start <= span.end and span.start <= last.end
