"""The packing of long tables, which the index stores with their document.

Such a table is typed once, at ingestion, and can then be opened in some milliseconds. A packed
table is a head, the places of its rows and, for each column, the cell of each row, the distinct
cells and their stems. A column is unpacked only when it is used, and a cell is built only when it
is read.
"""

import json
import struct
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple, TypeVar, overload

from fathom.tables.links import TableWords, list_long_stems, split_cells
from fathom.tables.rows import list_block_tables, list_table_blocks
from fathom.tables.table import Cell, CellColumn, Column, Table, build_table
from fathom.types import Block, Document, Span

LEAST_PACKED = 300_000
"""The least number of characters of a table that is packed; shorter ones are typed when used."""
MOST_PACKED = 40_000_000
"""The largest number of characters of a table that is packed; about 330,000 rows of six cells."""
_LEVEL = 1  # of zlib: the fastest
_LENGTHS = struct.Struct("<I")
T = TypeVar("T")


class PlacedTable(NamedTuple):
    """A typed table with its place in a document.

    Attributes:
        span: The place of the table in the document's text.
        content: The typed table with its words.
        names: The cells of its head; empty without one.
        rows: The places of its rows in the document's text.
    """

    span: Span
    content: TableWords
    names: tuple[str, ...]
    rows: Sequence[Span]

    def holds(self, offset: int) -> bool:
        """Return whether the character at an offset of the document lies in the table."""
        return self.span.start <= offset < self.span.end


def read_table(document: Document, start: int) -> PlacedTable | None:
    """Type and return the table at an offset of a document; return `None` if there is none."""
    blocks = list_table_blocks(document.blocks, start)
    if not blocks:
        return None
    table, names = _type_table(document, blocks)
    span = Span(blocks[0].span.start, blocks[-1].span.end)
    return PlacedTable(span, TableWords.of(table), names, _list_rows(blocks))


def pack_tables(document: Document) -> bytes:
    """Type and pack the long tables of a document; return nothing if there are none."""
    tables = [list_table_blocks(document.blocks, start) for start in _list_long_tables(document)]
    heads: list[object] = []
    frames: list[bytes] = []
    for blocks in tables:
        rows = _list_rows(blocks)
        table, names = _type_table(document, blocks)
        cells = split_cells(table)
        heads.append(_describe_table(blocks, table, names, cells))
        starts = array("q", (row.start for row in rows))
        lengths = array("q", (row.end - row.start for row in rows))
        frames.append((starts + lengths).tobytes())
        for content, stems in zip(table.contents, cells, strict=True):
            frames.append(array("I", content.codes).tobytes())
            frames.append(_dump(_list_values(content.cells)))
            frames.append("".join(f"\n {' '.join(words)} " for words in stems).encode())
    packed = (zlib.compress(frame, _LEVEL) for frame in ([_dump(heads), *frames] if heads else ()))
    return b"".join(_LENGTHS.pack(len(frame)) + frame for frame in packed)


def unpack_tables(packed: bytes) -> list[PlacedTable]:
    """Open packed tables, whose columns are unpacked only when they are used."""
    frames = _iterate_frames(packed)
    head = next(frames, None)
    return [_open_table(table, frames) for table in (head.load() if head else [])]


def _list_long_tables(document: Document) -> Iterator[int]:
    """Yield the offsets of the tables that are long enough to be packed."""
    for is_row, group in groupby(document.blocks, key=lambda block: block.kind == "table_row"):
        rows = list(group)
        start, end = rows[0].span.start, rows[-1].span.end
        if is_row and LEAST_PACKED <= end - start <= MOST_PACKED:
            yield start


def _dump(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _type_table(document: Document, blocks: Sequence[Block]) -> tuple[Table, tuple[str, ...]]:
    """Return the typed table that some blocks are, and the cells of its head."""
    raw = list_block_tables(document, blocks)[0]
    return build_table(raw, document.title), raw.names


def _list_rows(blocks: Sequence[Block]) -> tuple[Span, ...]:
    """Return the places of the rows among the blocks of a table."""
    return tuple(block.span for block in blocks if block.kind == "table_row")


def _describe_table(
    blocks: Sequence[Block],
    table: Table,
    names: Sequence[str],
    cells: Sequence[Sequence[Sequence[str]]],
) -> dict[str, object]:
    """Return the head of a packed table, as JSON.

    Args:
        blocks: The blocks of the table.
        table: The typed table.
        names: The cells of its head.
        cells: The stems of each distinct cell, column by column.
    """
    stems = (stem for column in cells for words in column for stem in words)
    return {
        "span": [blocks[0].span.start, blocks[-1].span.end],
        "names": names,
        "title": table.title,
        "columns": [
            [column.name, column.kind, column.unit, column.scale, column.is_order]
            for column in table.columns
        ],
        "rows": table.row_count,
        "key": table.key,
        "decimal_comma": table.decimal_comma,
        "long_stems": list_long_stems(stems),
    }


def _list_values(cells: Sequence[Cell]) -> list[object]:
    """Return the attributes of cells, each as a list with an entry for each cell.

    Periods and durations, which few cells have, are mappings by the place of the cell.
    """
    return [
        [cell.text for cell in cells],
        [cell.number for cell in cells],
        [cell.unit for cell in cells],
        {at: cell.period for at, cell in enumerate(cells) if cell.period},
        {at: cell.duration for at, cell in enumerate(cells) if cell.duration is not None},
    ]


@dataclass(frozen=True)
class _Frame:
    """A compressed part of packed tables, which is decompressed when it is used."""

    packed: bytes

    @cached_property
    def data(self) -> bytes:
        """The decompressed bytes."""
        return zlib.decompress(self.packed)

    @cached_property
    def text(self) -> str:
        """The bytes as a text."""
        return self.data.decode()

    @cached_property
    def numbers(self) -> "array[int]":
        """The bytes as whole numbers of 64 bits."""
        return array("q", self.data)

    def load(self) -> Any:  # noqa: ANN401 - JSON
        """Return the bytes as JSON."""
        return json.loads(self.data)


def _iterate_frames(packed: bytes) -> Iterator[_Frame]:
    """Yield the compressed parts of packed tables in order."""
    at = 0
    while at < len(packed):
        (length,) = _LENGTHS.unpack_from(packed, at)
        at += _LENGTHS.size + length
        yield _Frame(packed[at - length : at])


def _open_table(head: Any, frames: Iterator[_Frame]) -> PlacedTable:  # noqa: ANN401 - JSON
    """Open a packed table.

    Args:
        head: The head, as `_describe_table` returns it.
        frames: The remaining parts, of which those of the table are taken: the places of the rows,
            then the codes, the cells and the stems of each column.
    """
    rows, count = next(frames), head["rows"]
    columns = tuple(
        Column(name=name, kind=kind, unit=unit, scale=scale, is_order=is_order)
        for name, kind, unit, scale, is_order in head["columns"]
    )
    parts = [(next(frames), next(frames), next(frames)) for _ in columns]
    table = Table(
        title=head["title"],
        columns=columns,
        contents=_LazySequence(len(columns), lambda at: _open_column(*parts[at][:2])),
        row_count=count,
        key=head["key"],
        decimal_comma=head["decimal_comma"],
    )
    stems = [_PackedStems(part) for *_, part in parts]
    content = TableWords.join(table, stems, _PackedPlaces(stems), tuple(head["long_stems"]))
    spans = _LazySequence(count, lambda row: _open_span(rows, row, count))
    return PlacedTable(Span(*head["span"]), content, tuple(head["names"]), spans)


def _open_column(codes: _Frame, cells: _Frame) -> CellColumn:
    """Return a column whose cells are built when they are read.

    Args:
        codes: The code of the cell of each row.
        cells: The distinct cells, as `_list_values` returns them.
    """
    texts, numbers, units, periods, durations = cells.load()

    def build_cell(code: int) -> Cell:
        period = periods.get(str(code))
        span = (tuple(period[0]), tuple(period[1])) if period else None
        return Cell(texts[code], numbers[code], units[code], span, durations.get(str(code)))

    cells_of_rows = array("I", codes.data)
    return CellColumn(_LazySequence(len(texts), build_cell), cells_of_rows, numbers)


def _open_span(rows: _Frame, row: int, count: int) -> Span:
    """Return the place of a row in the document's text.

    Args:
        rows: The offsets of all rows, then the lengths of all rows.
        row: The row, from 0.
        count: The number of rows.
    """
    start, length = rows.numbers[row], rows.numbers[count + row]
    return Span(start, start + length)


class _LazySequence(Sequence[T]):
    """A sequence whose items are built when they are first read."""

    def __init__(self, length: int, build: Callable[[int], T]) -> None:
        self._length = length
        self._build = build
        self._items: dict[int, T] = {}

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(self._length))]
        if not -self._length <= at < self._length:
            raise IndexError(at)
        if at not in self._items:
            self._items[at] = self._build(at)
        return self._items[at]


class _PackedStems(Sequence[tuple[str, ...]]):
    """The stems of the distinct cells of a column.

    The packed text has a line for each cell, each behind a line break, with blanks around its
    stems.
    """

    def __init__(self, frame: _Frame) -> None:
        self._frame = frame

    @cached_property
    def _lines(self) -> list[str]:
        return self._frame.text.split("\n")[1:]

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, at: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[tuple[str, ...]]: ...
    def __getitem__(self, at: int | slice) -> tuple[str, ...] | Sequence[tuple[str, ...]]:
        if isinstance(at, slice):
            return [tuple(line.split()) for line in self._lines[at]]
        return tuple(self._lines[at].split())

    def find_cells(self, stem: str) -> Iterator[int]:
        """Yield the codes of the cells that hold a stem; a code again for each occurrence."""
        text, mark = self._frame.text, f" {stem} "
        at, code = 0, -1
        while (place := text.find(mark, at)) >= 0:
            code += text.count("\n", at, place)
            yield code
            at = place + 1


class _PackedPlaces(Mapping[str, frozenset[tuple[int, int]]]):
    """The distinct cells of a table that hold a stem, which are searched when they are needed.

    The cells are pairs of the column and the code, as in `TableWords.places`.
    """

    def __init__(self, stems: Sequence[_PackedStems]) -> None:
        self._stems = stems
        self._places: dict[str, frozenset[tuple[int, int]]] = {}

    def __getitem__(self, stem: str) -> frozenset[tuple[int, int]]:
        if stem not in self._places:
            self._places[stem] = frozenset(
                (column, code)
                for column, stems in enumerate(self._stems)
                for code in stems.find_cells(stem)
            )
        if not self._places[stem]:
            raise KeyError(stem)
        return self._places[stem]

    def __iter__(self) -> Iterator[str]:
        return iter({stem for stems in self._stems for words in stems for stem in words})

    def __len__(self) -> int:
        return len(set(self))
