"""The lookup of whole tables from hits that show some of their rows."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fathom.tables.links import TableWords
from fathom.tables.packing import PlacedTable, read_table, unpack_tables
from fathom.tables.rows import list_table_blocks, split_row
from fathom.types import Document, Hit, Span

MOST_TYPED = 1_500_000
"""The most characters of a table that is typed during a question, which takes about a second.

A longer table is found only if the index keeps it typed."""
_MOST_SOURCES = 3
"""The largest number of hits that contribute tables to a question."""
_MOST_KEPT = 4_500_000
"""The most characters of the tables that are kept typed between questions, about 200 MB."""


class FoundTable(NamedTuple):
    """A table of the index that a hit led to.

    Attributes:
        hit: The best hit that shows a row of it.
        table: The typed table with the places of its rows.
        text: The document's text.
    """

    hit: Hit
    table: PlacedTable
    text: str

    @property
    def content(self) -> TableWords:
        """The typed table with its words."""
        return self.table.content

    @property
    def topic(self) -> str:
        """The words above the hit: folder, file, title and headings."""
        return self.hit.chunk.breadcrumb

    @property
    def rows(self) -> Sequence[Span]:
        """The spans of its rows in the document's text, without the head."""
        return self.table.rows

    def quote(self, row: int) -> str:
        """Return the text of a row, counted from 0."""
        return self.rows[row].cut(self.text)

    def locate_cells(self, row: int) -> dict[int, Span]:
        """Return the spans in the document's text of the cells of a row, by column from 0."""
        cells = split_row(self.quote(row), self.rows[row].start, self.table.names)
        return {cell.column: cell.span for cell in cells}


class _KeptTable(NamedTuple):
    """A table that is kept typed between questions.

    Attributes:
        revision: The revision of the index from which it was read.
        document_id: The id of its document.
        span: Its span in the document's text.
        table: The typed table; `None` if it is too long to be typed.
        text: The document's text; empty if the table is too long to be typed.
    """

    revision: str
    document_id: str
    span: Span
    table: PlacedTable | None
    text: str = ""

    @property
    def size(self) -> int:
        """The number of characters of the typed table; 0 if it is not typed."""
        return self.span.end - self.span.start if self.table is not None else 0

    def holds(self, revision: str, document_id: str, start: int) -> bool:
        """Return whether it is the table at the offset `start` of a document."""
        is_same_document = (self.revision, self.document_id) == (revision, document_id)
        return is_same_document and self.span.start <= start < self.span.end


@dataclass(frozen=True, slots=True)
class TableLookup:
    """The lookup of whole tables in the index.

    Tables are typed once for each revision of the index, not once for each question.

    Attributes:
        find_document: A function that returns the index's document of an id; `None` if it is gone.
        get_revision: A function that returns the revision of the index.
    """

    find_document: Callable[[str], Document | None]
    get_revision: Callable[[], str]
    _kept: "deque[_KeptTable]" = field(init=False, repr=False, default_factory=deque)

    def __call__(self, hits: Sequence[Hit]) -> tuple[FoundTable, ...]:
        """Return the tables that the best hits show rows of, those of the best hit first.

        A table that is too long, or whose document is gone, is left out.

        Args:
            hits: The hits, best first.
        """
        revision = self.get_revision()
        tables: dict[tuple[str, Span], FoundTable] = {}
        sources = 0
        for hit in hits:
            count = len(tables)
            for kept in self._iterate_tables(revision, hit):
                if kept.table is not None:
                    found_table = FoundTable(hit, kept.table, kept.text)
                    tables.setdefault((kept.document_id, kept.span), found_table)
            # Hits are counted, not tables: several short tables in one hit must not displace those
            # of other hits.
            sources += len(tables) > count
            if sources == _MOST_SOURCES:
                break
        return tuple(tables.values())

    def _iterate_tables(self, revision: str, hit: Hit) -> Iterator[_KeptTable]:
        """Yield the tables that a hit has rows of, in their order; a hit may have several."""
        end = 0
        for row in _list_rows(hit):
            if row.start < end:
                continue
            table = self._get_table(revision, hit.chunk.document_id, row)
            if table is None:
                return
            end = table.span.end
            yield table

    def get_table_at(self, hit: Hit, start: int) -> FoundTable | None:
        """Return the table at the offset `start` of a hit's document.

        Returns:
            The table; `None` if there is none or it is too long.
        """
        place = Span(start, start + 1)
        kept = self._get_table(self.get_revision(), hit.chunk.document_id, place)
        return FoundTable(hit, kept.table, kept.text) if kept and kept.table else None

    def _get_table(self, revision: str, document_id: str, row: Span) -> _KeptTable | None:
        """Return the table at the start of `row` in a document, read from the index if need be.

        Returns:
            The table; `None` if there is none at this place.
        """
        kept = tuple(self._kept)
        table = next(
            (table for table in kept if table.holds(revision, document_id, row.start)), None
        )
        if table is None:
            table = self._read_table(revision, document_id, row.start)
            if table is not None:
                self._keep_table(table)
        return table

    def _keep_table(self, table: _KeptTable) -> None:
        """Keep a table between questions; the oldest are dropped while all are too large."""
        self._kept.append(table)
        sizes = [kept.size for kept in tuple(self._kept)]
        while len(sizes) > 1 and sum(sizes) > _MOST_KEPT:
            self._kept.popleft()
            sizes.pop(0)

    def _read_table(self, revision: str, document_id: str, start: int) -> _KeptTable | None:
        """Return the table at an offset of a document from the index, typed unless too long."""
        document = self.find_document(document_id)
        if document is None:
            return None
        packed = (table for table in unpack_tables(document.tables) if table.holds(start))
        table = next(packed, None)
        blocks = () if table else list_table_blocks(document.blocks, start)
        if table is None and not blocks:
            return None
        span = table.span if table else Span(blocks[0].span.start, blocks[-1].span.end)
        if table is None and span.end - span.start > MOST_TYPED:
            return _KeptTable(revision, document_id, span, None)
        table = table or read_table(document, start)
        return _KeptTable(revision, document_id, span, table, document.text)


def _list_rows(hit: Hit) -> list[Span]:
    """Return the spans in its document of the table rows in a hit; none for a hit of the web."""
    chunk = hit.chunk
    if chunk.source != "corpus":
        return []
    rows = (Span(block.start, block.end) for block in chunk.blocks if block.kind == "table_row")
    return [row.shift(chunk.span.start) for row in rows]
