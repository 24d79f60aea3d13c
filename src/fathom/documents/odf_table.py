"""The rows of an OpenDocument table, repeats unfolded within reason."""

from collections.abc import Callable, Iterator

from fathom.documents.base import Refused
from fathom.documents.cells import Cell
from fathom.documents.markup import Element, attribute, children, local, number

_GROUPS = {"table-header-rows", "table-rows", "table-row-group"}
_MOST_REPEATS = 1_000
_MOST_CELLS = 1_000_000


def read_rows(table: Element, text: Callable[[Element], str]) -> list[list[Cell]]:
    """Read a table.

    Args:
        table: The `table:table`.
        text: Gives the text of a cell.

    Raises:
        Refused: `failed` when it unfolds to more than a million cells.
    """
    rows: list[list[Cell]] = []
    cells = 0
    for row in _rows(table):
        one = _cells(row, text)
        # An empty row may be repeated a million times down to the sheet's end.
        times = _repeats(row, "number-rows-repeated") if one else 1
        cells += len(one) * times
        if cells > _MOST_CELLS:
            raise Refused("failed", f"table unfolds to more than {_MOST_CELLS} cells")
        rows.extend([one] * times)
    return rows


def _rows(parent: Element) -> Iterator[Element]:
    for element in parent:
        if local(element) == "table-row":
            yield element
        elif local(element) in _GROUPS:
            yield from _rows(element)


def _cells(row: Element, text: Callable[[Element], str]) -> list[Cell]:
    """The row's cells up to the last that is not empty; covered ones of a merge are empty."""
    cells: list[Cell] = []
    for element in children(row, "table-cell", "covered-table-cell"):
        shown = "" if local(element) == "covered-table-cell" else text(element).strip()
        kind = attribute(element, "value-type")
        cell = Cell(_value(element, kind) or shown, is_text=kind in {None, "string"})
        cells.extend([cell] * _repeats(element, "number-columns-repeated"))
    while cells and not cells[-1].text:
        cells.pop()
    return cells


def _value(cell: Element, kind: str | None) -> str:
    """A date as ISO 8601; other values as they are printed."""
    return (attribute(cell, "date-value") or "") if kind == "date" else ""


def _repeats(element: Element, name: str) -> int:
    return max(1, min(number(attribute(element, name), 1), _MOST_REPEATS))
