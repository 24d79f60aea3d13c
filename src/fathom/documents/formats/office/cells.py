"""Text from the rows of sheets; each row has its headers, so that it can be understood alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import groupby, pairwise, repeat

from fathom.documents.base import Builder, ParseRefusal
from fathom.documents.formats.cell_grid import LONGEST_REPEATED
from fathom.documents.formats.csv import label_cells
from fathom.documents.formats.periods import is_period, name_columns

_LOOK_AHEAD = 3
_LONGEST_NAME = 60
MOST_CELLS = 1_000_000
"""The cells that a sheet may hold, the empty ones between others too."""


@dataclass(frozen=True, slots=True)
class SheetCell:
    """A cell as it is printed.

    Attributes:
        text: Empty for an empty cell.
        is_text: Whether it holds words and not a number, a date or a truth value.
        bold: Whether it is set in bold type.
        columns: The number of columns that it spans; the cells behind it are empty.
        rows: The number of rows that it spans, if the file says so at the cell.
    """

    text: str = ""
    is_text: bool = True
    bold: bool = False
    columns: int = 1
    rows: int = 1


SheetRow = Sequence[SheetCell]


def add_rows(builder: Builder, rows: Sequence[SheetRow]) -> None:
    """Add the tables of a sheet; an empty row ends a table.

    Below a sure header, each row of a table reads `header: value | header: value`.
    """
    for filled, group in groupby(rows, lambda row: any(cell.text for cell in row)):
        if filled:
            _add_table(builder, list(group))


def limit_cells(cells: int) -> None:
    """Refuse a sheet of too many cells."""
    if cells > MOST_CELLS:
        raise ParseRefusal("failed", f"sheet holds more than {MOST_CELLS} cells; split the file")


def spread_merges(
    rows: list[list[SheetCell]], merges: Iterable[tuple[int, int, int, int]], empty: SheetCell
) -> None:
    """Repeat short texts of merged cells in each of their rows that holds another text.

    The merged cells note how many columns they span.

    Args:
        rows: The rows of a sheet.
        merges: The first column and row and the last ones of each merge, from 1.
        empty: The cell that fills a row up to a merge.

    Raises:
        ParseRefusal: `failed` for too many cells.
    """
    visited = 0
    for left, top, right, bottom in merges:
        if top > len(rows) or left > len(rows[top - 1]):
            continue
        cell = rows[top - 1][left - 1]
        if not cell.text or len(cell.text) > LONGEST_REPEATED:
            continue
        rows[top - 1][left - 1] = replace(cell, columns=right - left + 1)
        for row in rows[top:bottom]:
            visited += left
            limit_cells(visited)
            if row:
                row.extend(repeat(empty, left - len(row)))
                row[left - 1] = row[left - 1] if row[left - 1].text else cell


def format_value(value: object) -> str:
    """Format a cell's value: dates as ISO 8601, numbers with all digits and without exponent."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        # A sheet keeps 15 significant digits; more would show the noise of binary fractions.
        return format(Decimal(f"{value:.15g}"), "f")
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ")
    if isinstance(value, timedelta):
        return _format_duration(value)
    return value.isoformat() if isinstance(value, date | time) else str(value)


def _format_duration(value: timedelta) -> str:
    """Format a duration in hours, minutes and seconds; hours may be more than a day."""
    sign = "-" if value < timedelta() else ""
    hours, rest = divmod(abs(value), timedelta(hours=1))
    return f"{sign}{hours}{str(rest).removeprefix('0')}"


def _add_table(builder: Builder, rows: Sequence[SheetRow]) -> None:
    """Add the rows of a table; the rows above its header are added as they are."""
    header: list[str] | None = None
    rows = _join_heads(rows)
    for at, row in enumerate(rows):
        if header is None and _is_header(row, rows[at + 1 : at + 1 + _LOOK_AHEAD]):
            header = [cell.text for cell in _spread_heads(row, max(map(len, rows)))]
            builder.add_row(_trim_row(row), head=True)
        elif header is None or sum(bool(cell.text) for cell in row) < 2:
            builder.add_row(_trim_row(row))
        else:
            builder.add_row(label_cells([cell.text for cell in row], header))


def _join_heads(rows: Sequence[SheetRow]) -> Sequence[SheetRow]:
    """Return the rows, with two header rows joined to one if the upper one groups columns."""
    for at, (upper, lower) in enumerate(pairwise(rows[: _LOOK_AHEAD + 1])):
        joined = _join_rows(upper, lower)
        if joined and _is_header(joined, rows[at + 2 : at + 2 + _LOOK_AHEAD]):
            return [*rows[:at], joined, *rows[at + 2 :]]
    return rows


def _join_rows(upper: SheetRow, lower: SheetRow) -> SheetRow:
    """Return a header for each column; none if the upper row groups no columns of the lower."""
    if sum(bool(cell.text) for cell in upper) < 2:
        return ()
    width = max(len(upper), len(lower))
    heads = _spread_heads(upper, width)
    cells = [*lower, *repeat(SheetCell(), width - len(lower))]
    joined = [_join_cells(head, cell) for head, cell in zip(heads, cells, strict=True)]
    return () if None in joined else [cell for cell in joined if cell]


def _spread_heads(row: SheetRow, width: int) -> list[SheetCell]:
    """Return the cells of a row for `width` columns; a cell is repeated for each that it spans."""
    heads = [*row, *repeat(SheetCell(), width - len(row))]
    for start, head in enumerate(row):
        if head.text:
            covered = range(start + 1, min(start + head.columns, width))
            heads[start + 1 : start + 1 + len(covered)] = repeat(head, len(covered))
    return heads


def _join_cells(head: SheetCell, cell: SheetCell) -> SheetCell | None:
    """Return the header of a column from two rows; `None` if they do not belong together."""
    if head.text in {"", cell.text} or not cell.text:
        return cell if cell.text else head
    if head.columns == 1:
        return None
    is_text = cell.is_text or is_period(cell.text)
    return SheetCell(f"{head.text} {cell.text}", is_text, head.bold or cell.bold)


def _is_header(row: SheetRow, below: Sequence[SheetRow]) -> bool:
    """Return whether a row very probably names the columns of the rows below it."""
    names = [cell.text for cell in row if cell.text]
    if not below or len(names) < 2 or len(set(names)) < len(names):
        return False
    if any(len(name) > _LONGEST_NAME for name in names):
        return False
    covered = sum(cell.columns - 1 for cell in row[:-1] if cell.text)
    if len(names) + covered != len(_trim_row(row)):  # a gap: not every column is named
        return False
    values = [cell for other in below for cell in other if cell.text]
    distinct = all(cell.bold for cell in row if cell.text) and not all(c.bold for c in values)
    if not all(cell.is_text for cell in row if cell.text):
        return distinct or _names_periods(row, below)
    return (
        distinct
        or any(not cell.is_text for cell in values)
        or _have_same_width(len(names) + covered, below)
    )


def _names_periods(row: SheetRow, below: Sequence[SheetRow]) -> bool:
    """Return whether the cells of a row that are no texts are years or days that name columns."""
    periods = {at: cell.text for at, cell in enumerate(row) if cell.text and not cell.is_text}
    values = (cell.text for other in below for at, cell in enumerate(other) if at in periods)
    return name_columns(list(periods.values()), values)


def _have_same_width(width: int, below: Sequence[SheetRow]) -> bool:
    """Return whether all rows below are full, and wider than a list of names and values."""
    filled = [sum(bool(cell.text) for cell in row) for row in below]
    return width > 2 and len(below) > 1 and all(count == width for count in filled)


def _trim_row(row: SheetRow) -> list[str]:
    """Return the texts of a row from the first to the last that is not empty."""
    texts = [cell.text for cell in row]
    filled = [at for at, text in enumerate(texts) if text]
    return texts[filled[0] : filled[-1] + 1] if filled else []
