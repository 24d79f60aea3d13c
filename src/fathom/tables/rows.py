"""The rows of tables in documents and chunks, split into cells with their places."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple, overload

from typing_extensions import override

from fathom.documents.base import CELL_SEPARATOR, TABLE_KINDS
from fathom.types import Block, Chunk, ChunkBlock, Document, Span

_LABEL = ": "


class NamedCell(NamedTuple):
    """A cell of a row.

    Attributes:
        name: The name of its column; empty if it has none.
        text: The content, without the name.
        start: The offset of the content in the text of the document or chunk.
        column: The column, from 0.
    """

    name: str
    text: str
    start: int
    column: int

    @property
    def span(self) -> Span:
        """The place of the content in the text."""
        return Span(self.start, self.start + len(self.text))


class RawTable(NamedTuple):
    """A table with its cells as texts.

    Attributes:
        names: The cells of its head; empty if it has no head.
        head: The place of the head; `None` if it stands in another chunk or is missing.
        rows: The rows below the head.
        headings: The titles of the sections around it, outermost first.
    """

    names: tuple[str, ...]
    head: Span | None
    rows: Sequence[list[NamedCell]]
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _SplitRows(Sequence[list[NamedCell]]):
    """The rows of a table, which are split only when they are read, because tables may be long.

    Attributes:
        text: The text that holds the rows.
        places: The places of the rows.
        names: The names of the columns.
    """

    text: str
    places: Sequence[ChunkBlock]
    names: tuple[str, ...]

    @override
    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, at: int) -> list[NamedCell]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[list[NamedCell]]: ...
    @override
    def __getitem__(self, at: int | slice) -> list[NamedCell] | Sequence[list[NamedCell]]:
        if isinstance(at, slice):
            return _SplitRows(self.text, self.places[at], self.names)
        place = self.places[at]
        return split_row(self.text[place.start : place.end], place.start, self.names)


def list_chunk_tables(chunk: Chunk) -> list[RawTable]:
    """Return the tables of a chunk with at least two rows below the head."""
    # A chunk that begins within a table has the table's head as its last heading.
    head = chunk.headings[-1] if chunk.headings and CELL_SEPARATOR in chunk.headings[-1] else ""
    headings = chunk.headings[:-1] if head else chunk.headings
    tables = _iterate_tables(chunk.text, chunk.blocks, split_names(head))
    return [
        table._replace(headings=headings, rows=list(table.rows))
        for table in tables
        if len(table.rows) > 1
    ]


def list_document_tables(document: Document) -> list[RawTable]:
    """Return the tables of a document with at least one row below the head."""
    return list_block_tables(document, document.blocks)


def list_block_tables(document: Document, blocks: Iterable[Block]) -> list[RawTable]:
    """Return the tables in some blocks of a document with at least one row below the head."""
    places = [ChunkBlock(block.kind, block.span.start, block.span.end) for block in blocks]
    return [
        table._replace(headings=document.headings_at(table.rows[0][0].span.start))
        for table in _iterate_tables(document.text, places, ())
    ]


def list_table_blocks(blocks: Sequence[Block], start: int) -> Sequence[Block]:
    """Return the blocks of the table at an offset, head included; empty if there is none."""
    at = bisect_right(blocks, start, key=lambda block: block.span.start) - 1
    if at < 0 or blocks[at].span.end <= start or blocks[at].kind not in TABLE_KINDS:
        return []
    first = last = at
    while first and blocks[first].kind == "table_row" and blocks[first - 1].kind in TABLE_KINDS:
        first -= 1
    while last + 1 < len(blocks) and blocks[last + 1].kind == "table_row":
        last += 1
    return blocks[first : last + 1]


def split_names(head: str) -> tuple[str, ...]:
    """Return the names of the columns in the text of a head; empty for an empty text."""
    return tuple(name for name, _ in _split_text(head)) if head else ()


def _iterate_tables(
    text: str, blocks: Iterable[ChunkBlock], names: tuple[str, ...]
) -> Iterator[RawTable]:
    """Yield the tables among some blocks.

    Args:
        text: The text that holds the blocks.
        blocks: The blocks, in order.
        names: The names of the columns of a table that began before the first block; else empty.
    """
    head: Span | None = None
    for is_row, group in groupby(blocks, key=lambda block: block.kind == "table_row"):
        members = list(group)
        if is_row:
            yield RawTable(names, head, _SplitRows(text, members, names))
            continue
        last = members[-1]
        head = Span(last.start, last.end) if last.kind == "table_head" else None
        names = split_names(head.cut(text)) if head else ()


def _split_text(row: str) -> Iterator[tuple[str, int]]:
    """Yield the text of each cell of a row with its offset in the row."""
    # The blanks at the ends of a row were cut off, and with them a part of the separator beside an
    # empty first or last cell.
    padded = f"{' ' * row.startswith('|')}{row}{' ' * row.endswith('|')}"
    start = -int(row.startswith("|"))
    for text in padded.split(CELL_SEPARATOR):
        yield text.strip(), max(start + len(text) - len(text.lstrip()), 0)
        start += len(text) + len(CELL_SEPARATOR)


def split_row(row: str, start: int, names: Sequence[str]) -> list[NamedCell]:
    """Return the cells of a row with the names of their columns.

    Args:
        row: The text of the row.
        start: The offset of the row in the text that holds it.
        names: The names of the columns; empty if the table has no head.
    """
    return _split_labelled(row, start, names) or _split_any(row, start, names)


def _split_labelled(row: str, start: int, names: Sequence[str]) -> list[NamedCell]:
    """Return the cells of a row if each of them begins with its column's name; else an empty list.

    This is the fast way for most rows of long tables.
    """
    cells: list[NamedCell] = []
    column = 0
    if "|" in {row[:1], row[-1:]}:
        return cells
    for part in row.split(CELL_SEPARATOR):
        while column < len(names) and not _is_label(names[column], part):
            column += 1
        if column == len(names) or part[-1].isspace():
            return []
        label = len(names[column]) + len(_LABEL)
        cells.append(NamedCell(names[column], part[label:], start + label, column))
        start += len(part) + len(CELL_SEPARATOR)
        column += 1
    return cells


def _split_any(row: str, start: int, names: Sequence[str]) -> list[NamedCell]:
    """Return the cells of any row, whether or not they begin with the names of their columns."""
    cells: list[NamedCell] = []
    for at, (text, place) in enumerate(_split_text(row)):
        # Rows with labels leave empty cells out, so only the label tells the column.
        first = cells[-1].column + 1 if cells else 0
        column = _find_label(text, names, first)
        if column is not None:
            name, label = names[column], len(names[column]) + len(_LABEL)
        else:
            name, label, column = _read_label(text, at, names)
        begin = start + place + label
        cells.append(NamedCell(name, text[label:], begin, column))
    return cells


def _find_label(text: str, names: Sequence[str], first: int) -> int | None:
    """Return the column whose name a cell begins with; `None` if there is none.

    Args:
        text: The text of the cell.
        names: The names of the columns.
        first: The first column that may be meant.
    """
    # Most rows have all their cells, so this is mostly the next column.
    if first < len(names) and _is_label(names[first], text):
        return first
    return next((at for at in range(first + 1, len(names)) if _is_label(names[at], text)), None)


def _is_label(name: str, text: str) -> bool:
    """Return whether a cell begins with the name of its column as its label."""
    return bool(name) and text.startswith(name + _LABEL)


def _read_label(text: str, at: int, names: Sequence[str]) -> tuple[str, int, int]:
    """Return the column's name, the length of the label, and the column of a cell.

    Args:
        text: The text of the cell, which begins with no name of a column.
        at: The place of the cell in its row.
        names: The names of the columns.
    """
    label, mark, _ = text.partition(_LABEL)
    # If the table has a head, a colon belongs to the content.
    if mark and not names:
        return label, len(label) + len(mark), at
    return names[at] if at < len(names) else "", 0, at
