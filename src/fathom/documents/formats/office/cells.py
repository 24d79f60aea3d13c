"""Text from the rows of sheets, in which each row can be understood alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from itertools import groupby

from fathom.documents.base import Builder
from fathom.documents.formats.csv import label_cells

_LOOK_AHEAD = 3
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class SheetCell:
    """One cell as printed.

    Attributes:
        text: Empty for an empty cell.
        is_text: Whether it holds words and not a number, a date or a truth value.
        bold: Whether it is set in bold type.
    """

    text: str = ""
    is_text: bool = True
    bold: bool = False


SheetRow = Sequence[SheetCell]


def add_rows(builder: Builder, rows: Sequence[SheetRow]) -> None:
    """Add the tables of a sheet; an empty row ends a table.

    Below a clear header, each row of a table reads `header: value | header: value`.
    """
    for filled, group in groupby(rows, lambda row: any(cell.text for cell in row)):
        if filled:
            _add_table(builder, list(group))


def format_value(value: object) -> str:
    """Format a cell's value: dates as ISO 8601, numbers with all their digits, no exponent."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        # A sheet keeps 15 significant digits; more would show the noise of binary fractions.
        return format(Decimal(f"{value:.15g}"), "f")
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ")
    return value.isoformat() if isinstance(value, date | time) else str(value)


def _add_table(builder: Builder, rows: list[SheetRow]) -> None:
    header: list[str] | None = None
    for at, row in enumerate(rows):
        if header is None and _is_header(row, rows[at + 1 : at + 1 + _LOOK_AHEAD]):
            header = [cell.text for cell in row]
            builder.add_row(_trim_row(row), head=True)
        elif header is None or sum(bool(cell.text) for cell in row) < 2:
            builder.add_row(_trim_row(row))
        else:
            builder.add_row(label_cells([cell.text for cell in row], header))


def _is_header(row: SheetRow, below: list[SheetRow]) -> bool:
    """Return whether the row names the columns of the rows below it, with little doubt."""
    names = [cell.text for cell in row if cell.text]
    if not below or len(names) < 2 or len(set(names)) < len(names):
        return False
    if any(not cell.is_text or len(cell.text) > _LONGEST_NAME for cell in row if cell.text):
        return False
    if len(names) != len(_trim_row(row)):  # a gap: not every column is named
        return False
    values = [cell for other in below for cell in other if cell.text]
    distinct = all(cell.bold for cell in row if cell.text) and not all(c.bold for c in values)
    return (
        distinct or any(not cell.is_text for cell in values) or _have_same_width(len(names), below)
    )


def _have_same_width(width: int, below: list[SheetRow]) -> bool:
    """Return whether full rows of one width follow, wider than a list of names and values."""
    filled = [sum(bool(cell.text) for cell in row) for row in below]
    return width > 2 and len(below) > 1 and all(count == width for count in filled)


def _trim_row(row: SheetRow) -> list[str]:
    """Return the row's texts from the first to the last that is not empty."""
    texts = [cell.text for cell in row]
    filled = [at for at, text in enumerate(texts) if text]
    return texts[filled[0] : filled[-1] + 1] if filled else []
