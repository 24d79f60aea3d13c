"""The rows of tables as documents and chunks keep them, with the place of each cell."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fathom.documents.base import CELL_SEPARATOR, TABLE_KINDS
from fathom.types import Block, Chunk, ChunkBlock, Document, Span

_LABEL = ": "


class NamedCell(NamedTuple):
    """A cell of a row.

    Attributes:
        name: The name of its column; empty if it has none.
        text: The content, without the name.
        span: The place of the content in the text.
        column: The place of its column, from 0.
    """

    name: str
    text: str
    span: Span
    column: int


class RawTable(NamedTuple):
    """A table as it is written.

    Attributes:
        names: The cells of its head; empty if it has no head.
        head: The place of the head; `None` if it stands in another chunk or is missing.
        rows: The other rows.
        headings: The titles of the sections around it, outermost first.
    """

    names: tuple[str, ...]
    head: Span | None
    rows: list[list[NamedCell]]
    headings: tuple[str, ...] = ()


def list_chunk_tables(chunk: Chunk) -> list[RawTable]:
    """Return the tables of a chunk that have two rows or more besides their heads."""
    # A chunk that begins within a table has the table's head as its last heading.
    head = chunk.headings[-1] if chunk.headings and CELL_SEPARATOR in chunk.headings[-1] else ""
    headings = chunk.headings[:-1] if head else chunk.headings
    tables = _iterate_tables(chunk.text, chunk.blocks, split_names(head))
    return [table._replace(headings=headings) for table in tables if len(table.rows) > 1]


def list_document_tables(document: Document) -> list[RawTable]:
    """Return the tables of a document that have a row or more besides their heads."""
    return list_block_tables(document, document.blocks)


def list_block_tables(document: Document, blocks: Iterable[Block]) -> list[RawTable]:
    """Return the tables in some blocks of a document."""
    places = [ChunkBlock(block.kind, block.span.start, block.span.end) for block in blocks]
    return [
        table._replace(headings=document.headings_at(table.rows[0][0].span.start))
        for table in _iterate_tables(document.text, places, ())
    ]


def list_table_blocks(blocks: Sequence[Block], start: int) -> Sequence[Block]:
    """Return the blocks of the table around a place."""
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
    """Return the names of the columns in a head; none for an empty text."""
    return tuple(name for name, _ in _split_text(head)) if head else ()


def _iterate_tables(
    text: str, blocks: Iterable[ChunkBlock], names: tuple[str, ...]
) -> Iterator[RawTable]:
    """Yield the tables among blocks; the first one continues a table with these names."""
    table = RawTable(names, None, [])
    for block in blocks:
        content = text[block.start : block.end]
        if block.kind == "table_row":
            table.rows.append(split_row(content, block.start, table.names))
            continue
        if table.rows:
            yield table
        is_head = block.kind == "table_head"
        head = Span(block.start, block.end) if is_head else None
        table = RawTable(split_names(content) if is_head else (), head, [])
    if table.rows:
        yield table


def _split_text(row: str) -> Iterator[tuple[str, int]]:
    """Yield the texts of a row's cells with their places in it."""
    # White space at the ends of a row was cut off, and with it a half of an empty cell's mark.
    padded = f"{' ' * row.startswith('|')}{row}{' ' * row.endswith('|')}"
    start = -int(row.startswith("|"))
    for text in padded.split(CELL_SEPARATOR):
        yield text.strip(), max(start + len(text) - len(text.lstrip()), 0)
        start += len(text) + len(CELL_SEPARATOR)


def split_row(row: str, start: int, names: Sequence[str]) -> list[NamedCell]:
    """Return the cells of a row with the names of their columns."""
    cells: list[NamedCell] = []
    for at, (text, place) in enumerate(_split_text(row)):
        # Rows with labels leave empty cells out, so the label tells the column.
        first = cells[-1].column + 1 if cells else 0
        column = _find_label(text, names, first)
        if column is not None:
            name, label = names[column], len(names[column]) + len(_LABEL)
        else:
            name, label, column = _read_label(text, at, names)
        begin = start + place + label
        cells.append(NamedCell(name, text[label:], Span(begin, start + place + len(text)), column))
    return cells


def _find_label(text: str, names: Sequence[str], first: int) -> int | None:
    """Return the column whose name a cell begins with, from a column on; `None` without one."""
    # Most rows have all cells, so the next column is the one.
    if first < len(names) and _is_label(names[first], text):
        return first
    return next((at for at in range(first + 1, len(names)) if _is_label(names[at], text)), None)


def _is_label(name: str, text: str) -> bool:
    """Return whether a cell begins with the name of its column as its label."""
    return bool(name) and text.startswith(name + _LABEL)


def _read_label(text: str, at: int, names: Sequence[str]) -> tuple[str, int, int]:
    """Return the name, the length of the label and the column of a cell by its own text."""
    label, mark, _ = text.partition(_LABEL)
    # Below a head, a colon stands within the content.
    if mark and not names:
        return label, len(label) + len(mark), at
    return names[at] if at < len(names) else "", 0, at
