"""The whole tables of which hits show a part."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fathom.documents.base import TABLE_KINDS
from fathom.tables.links import TableWords
from fathom.tables.rows import list_block_tables
from fathom.tables.table import build_table
from fathom.types import Block, Document, Hit, Span

_MOST_CHARACTERS = 1_500_000
"""The characters of a table, at most: it takes a second or two to read."""
_MOST_TABLES = 3
_MOST_KEPT = 4_500_000
"""The characters of the tables that are kept typed between questions: some 200 MB at most."""


class FoundTable(NamedTuple):
    """A table of the index of which a hit shows a part.

    Attributes:
        hit: The best hit that shows a part of it.
        content: The typed table with its words.
        rows: The places of its rows in the document's text.
        quotes: The text of its rows.
    """

    hit: Hit
    content: TableWords
    rows: tuple[Span, ...]
    quotes: tuple[str, ...]


class _KeptTable(NamedTuple):
    """A table that is kept typed between questions.

    Attributes:
        revision: The revision of the index from which it was read.
        document_id: Its document.
        span: Its place there; `content` is `None` if it is too long.
    """

    revision: str
    document_id: str
    span: Span
    content: TableWords | None
    rows: tuple[Span, ...]
    quotes: tuple[str, ...]

    @property
    def size(self) -> int:
        """The characters that are kept."""
        return self.span.end - self.span.start if self.content is not None else 0

    def holds(self, revision: str, document_id: str, start: int) -> bool:
        """Return whether it is the table at a place of a document."""
        is_same_document = (self.revision, self.document_id) == (revision, document_id)
        return is_same_document and self.span.start <= start < self.span.end


@dataclass(frozen=True, slots=True)
class TableLookup:
    """The lookup of whole tables in the index.

    Tables are typed once for each revision of the index, not once for each question.

    Attributes:
        find_document: Returns the index's document for an id.
        get_revision: Returns the revision of the index.
    """

    find_document: Callable[[str], Document | None]
    get_revision: Callable[[], str]
    _kept: "deque[_KeptTable]" = field(init=False, repr=False, default_factory=deque)

    def __call__(self, hits: Sequence[Hit]) -> tuple[FoundTable, ...]:
        """Return the tables of the best hits with a row of a table, the best first.

        A table that is too long, or whose document is gone, is left out.
        """
        revision = self.get_revision()
        tables: dict[tuple[str, Span], FoundTable] = {}
        for hit in hits:
            row = _find_row(hit)
            table = self._get_table(revision, hit.chunk.document_id, row) if row else None
            if table is not None and table.content is not None:
                found_table = FoundTable(hit, table.content, table.rows, table.quotes)
                tables.setdefault((table.document_id, table.span), found_table)
            if len(tables) == _MOST_TABLES:
                break
        return tuple(tables.values())

    def _get_table(self, revision: str, document_id: str, row: Span) -> _KeptTable | None:
        """Return the table at a place of a document; `None` if there is none."""
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
        """Keep a typed table; the oldest ones go for it."""
        self._kept.append(table)
        sizes = [kept.size for kept in tuple(self._kept)]
        while sum(sizes) > _MOST_KEPT:
            self._kept.popleft()
            sizes.pop(0)

    def _read_table(self, revision: str, document_id: str, start: int) -> _KeptTable | None:
        document = self.find_document(document_id)
        blocks = _list_table_blocks(document.blocks, start) if document else []
        if document is None or not blocks:
            return None
        span = Span(blocks[0].span.start, blocks[-1].span.end)
        if span.end - span.start > _MOST_CHARACTERS:
            return _KeptTable(revision, document_id, span, None, (), ())
        content = TableWords.of(build_table(list_block_tables(document, blocks)[0], document.title))
        rows = tuple(block.span for block in blocks if block.kind == "table_row")
        quotes = tuple(row.cut(document.text) for row in rows)
        return _KeptTable(revision, document_id, span, content, rows, quotes)


def _find_row(hit: Hit) -> Span | None:
    """Return the place in its document of the first row of a table in a hit."""
    chunk = hit.chunk
    rows = (block for block in chunk.blocks if block.kind == "table_row")
    row = next(rows, None) if chunk.source == "corpus" else None
    return Span(row.start, row.end).shift(chunk.span.start) if row is not None else None


def _list_table_blocks(blocks: Sequence[Block], start: int) -> list[Block]:
    """Return the blocks of the table around a place."""
    at = next((at for at, block in enumerate(blocks) if block.span.end > start), len(blocks))
    if at == len(blocks) or blocks[at].kind not in TABLE_KINDS:
        return []
    first = last = at
    while first and blocks[first].kind == "table_row" and blocks[first - 1].kind in TABLE_KINDS:
        first -= 1
    while last + 1 < len(blocks) and blocks[last + 1].kind == "table_row":
        last += 1
    return list(blocks[first : last + 1])
