"""Tables on a printed page: lines whose words are in the same columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fathom.documents.formats.pdf.lines import PdfCell, PrintedLine
from fathom.documents.formats.text import ITEM, ITEM_LABEL

_FEWEST_ROWS = {2: 3}  # for two columns; with more columns, two rows suffice
_LONGEST_CELL = 60  # characters, on average: longer cells are two columns of prose
_LONGEST_ENTRY = 25
_LONGEST_ALONE = 60  # characters of any cell in a table that was printed by columns
_FEWEST_LEVELS = 3
_SMALL = 0.2  # least share of small first letters in prose, which may be in columns too
_UNORDERED = 0.2  # most of an ordered page's lines that stand above the one before them
_SHARED = 0.8  # least share of baselines that two columns have in common
_TOUCH = 2.0  # points by which cells of neighbouring columns may overlap


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfTable:
    """A table.

    Attributes:
        lines: The number of its lines.
        rows: The cells of each row by column; a missing cell is empty.
    """

    lines: int
    rows: tuple[tuple[str, ...], ...]


def find_table(lines: Sequence[PrintedLine]) -> PdfTable | None:
    """Return the table that begins with the first of these lines, or `None`.

    A table is a run of lines of two cells or more in common columns. It has at least three rows, or
    two rows if it has more than two columns. A line continues the row above it if its first cell
    and at least half of its cells are empty.
    """
    table_lines = list(_take_aligned(lines))
    columns = _find_columns(table_lines)
    rows = [_fill_row(_get_cells(line), columns) for line in table_lines]
    full = [row for row in rows if row[0]]
    if len(columns) < 2 or len(full) < _FEWEST_ROWS.get(len(columns), 2):
        return None
    if _is_prose([cell for row in full for cell in row if cell]):
        return None
    return PdfTable(lines=len(table_lines), rows=tuple(tuple(row) for row in _merge_rows(rows)))


def join_columns(lines: Sequence[PrintedLine]) -> list[PrintedLine]:
    """Return the lines, with tables that were printed column by column joined to rows.

    Such columns are side by side, have short texts, and share most of their baselines. If the lines
    of a page go up and down in no order, they are sorted from the top.
    """
    runs = _split_runs(lines)
    if len(runs) > max(_FEWEST_LEVELS, len(lines) * _UNORDERED):
        return _sort_by_height(lines)
    whole: list[PrintedLine] = []
    columns: list[list[PrintedLine]] = []
    for column in runs:
        above = len(columns) == 1 and _count_above(columns[0], column)
        if above and _is_next_column([columns[0][above:]], column):
            whole += columns[0][:above]
            columns = [columns[0][above:]]
        elif columns and not _is_next_column(columns, column):
            whole += _join_rows(columns)
            columns = []
        columns.append(column)
    return [*whole, *_join_rows(columns)] if columns else whole


def _count_above(lines: Sequence[PrintedLine], column: Sequence[PrintedLine]) -> int:
    """Count the lines that are above the first line of a column."""
    return sum(line.baseline > column[0].baseline + 1 for line in lines)


def _split_runs(lines: Sequence[PrintedLine]) -> list[list[PrintedLine]]:
    """Split the lines into runs from top to bottom."""
    runs: list[list[PrintedLine]] = []
    for line in lines:
        if runs and line.baseline < runs[-1][-1].baseline:
            runs[-1].append(line)
        else:
            runs.append([line])
    return runs


def _is_next_column(
    columns: Sequence[Sequence[PrintedLine]], column: Sequence[PrintedLine]
) -> bool:
    """Return whether a run of lines is the next column of a table."""
    first, last = columns[0], columns[-1]
    level = {round(line.baseline) for line in first}
    # Rounding may put two equal baselines one point apart.
    shared = sum(any(round(line.baseline) + by in level for by in (-1, 0, 1)) for line in column)
    texts = [line.text for line in (*first, *column)]
    small = sum(text[:1].islower() for text in texts)
    return (
        min(len(first), len(column)) >= _FEWEST_LEVELS
        and shared >= _SHARED * max(len(first), len(column))
        and min(line.left for line in column) > max(line.left for line in last)
        and all(len(text) <= _LONGEST_ALONE for text in texts)
        and small < _SMALL * len(texts)
    )


def _join_rows(columns: Sequence[Sequence[PrintedLine]]) -> Sequence[PrintedLine]:
    """Return the rows of several columns as lines; the lines of a single column as they are."""
    return (
        _sort_by_height([line for lines in columns for line in lines])
        if columns[1:]
        else columns[0]
    )


def _sort_by_height(lines: Sequence[PrintedLine]) -> list[PrintedLine]:
    """Return the lines from the top; lines of the same height are joined from left to right."""
    rows: list[list[PrintedLine]] = []
    for line in sorted(lines, key=lambda line: -line.baseline):
        if rows and rows[-1][0].baseline - line.baseline <= 1:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [_join_line(sorted(row, key=lambda line: line.left)) for row in rows]


def _join_line(row: Sequence[PrintedLine]) -> PrintedLine:
    """Join lines of the same height to one."""
    if len(row) == 1:
        return row[0]
    return replace(
        row[0],
        text=" ".join(line.text for line in row),
        right=row[-1].right,
        cells=tuple(cell for line in row for cell in _get_cells(line)),
    )


def _is_prose(cells: Sequence[str]) -> bool:
    """Return whether cells are lines of running text in columns.

    They are if they are long, or of middle length and many begin with a small letter.
    """
    mean = sum(map(len, cells)) / len(cells)
    small = sum(cell[0].islower() for cell in cells)
    return mean > _LONGEST_CELL or (mean > _LONGEST_ENTRY and small > _SMALL * len(cells))


def _take_aligned(lines: Sequence[PrintedLine]) -> Iterator[PrintedLine]:
    """Yield the first lines, as long as the cells of each fit into the columns so far."""
    table_lines: list[PrintedLine] = []
    for line in lines:
        if table_lines and line.baseline >= table_lines[-1].baseline:
            return
        if not _is_row(line) and not (table_lines and _continues_cell(line, table_lines)):
            return
        if table_lines and not _fits(_get_cells(line), _find_columns(table_lines)):
            return
        table_lines.append(line)
        yield line


def _get_cells(line: PrintedLine) -> tuple[PdfCell, ...]:
    """Return the cells of a line; a line without wide gaps is one cell."""
    return line.cells or (PdfCell(line.text, line.left, line.right),)


def _is_row(line: PrintedLine) -> bool:
    """Return whether a line has several cells and is no list item."""
    has_item = any(ITEM.match(cell.text) and len(cell.text) > _LONGEST_ENTRY for cell in line.cells)
    return len(line.cells) > 1 and not has_item and not ITEM_LABEL.fullmatch(line.cells[0].text)


def _continues_cell(line: PrintedLine, table_lines: Sequence[PrintedLine]) -> bool:
    """Return whether a line of one cell continues a cell above it, right of the first column."""
    is_right = line.left > _find_columns(table_lines)[0].right
    return not line.cells and is_right and not ITEM.match(line.text)


def _find_columns(lines: Sequence[PrintedLine]) -> list[PdfCell]:
    """Return the columns of some lines, from left to right; cells that overlap are one column."""
    columns: list[PdfCell] = []
    cells = sorted(
        (cell for line in lines for cell in _get_cells(line)), key=lambda cell: cell.left
    )
    for cell in cells:
        if columns and cell.left < columns[-1].right - _TOUCH:
            columns[-1] = PdfCell("", columns[-1].left, max(columns[-1].right, cell.right))
        else:
            columns.append(PdfCell("", cell.left, cell.right))
    return columns


def _fits(cells: Sequence[PdfCell], columns: Sequence[PdfCell]) -> bool:
    """Return whether each cell of a line is in a column of its own.

    At least two cells, or the only one, must be in existing columns; others may be in new columns,
    for example in ones that were empty in the lines before.
    """
    places = [_find_touched(cell, columns) for cell in cells]
    occupied = [place[0] for place in places if place]
    alone = all(len(place) <= 1 for place in places) and len(set(occupied)) == len(occupied)
    return alone and len(occupied) >= min(2, len(cells))


def _find_touched(cell: PdfCell, columns: Sequence[PdfCell]) -> list[int]:
    """Return the indices of the columns that a cell overlaps."""
    return [
        at
        for at, column in enumerate(columns)
        if cell.left < column.right - _TOUCH and column.left < cell.right - _TOUCH
    ]


def _fill_row(cells: Sequence[PdfCell], columns: Sequence[PdfCell]) -> list[str]:
    """Return the texts of a line by column; a cell goes into the first column it overlaps."""
    row = [""] * len(columns)
    for cell in cells:
        for at in _find_touched(cell, columns)[:1]:
            row[at] = f"{row[at]} {cell.text}".strip()
    return row


def _merge_rows(rows: Sequence[list[str]]) -> Iterator[list[str]]:
    """Yield the rows, each joined with the lines that continue it."""
    merged: list[str] = []
    for row in rows:
        if merged and not row[0] and 2 * sum(map(bool, row)) <= len(row):
            merged = [f"{above} {below}".strip() for above, below in zip(merged, row, strict=True)]
            continue
        if merged:
            yield merged
        merged = row
    if merged:
        yield merged
