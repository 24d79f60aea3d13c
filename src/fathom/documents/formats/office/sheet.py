"""Rows of a worksheet, read from its XML, because the library for workbooks takes far longer."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import repeat
from typing import IO, NamedTuple

from openpyxl.formula.translate import Translator
from openpyxl.utils import column_index_from_string, range_boundaries
from openpyxl.utils.datetime import MAC_EPOCH, from_ISO8601

from fathom.documents.formats.office.cells import (
    SheetCell,
    SheetRow,
    format_value,
    limit_cells,
    spread_merges,
)
from fathom.documents.formats.office.number_format import (
    NumberFormat,
    print_number,
    print_text,
    read_date,
)
from fathom.documents.formats.superscripts import choose_sign
from fathom.documents.xml_members import Element, iter_elements

_MOST_EMPTY_ROWS = 1_000
"""The number of empty rows in sequence after which a sheet counts as ended."""
_MOST_KEPT = 100_000
"""The number of printed cells that are cached, because long sheets repeat their values."""
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_ROW, _VALUE, _FORMULA = f"{_MAIN}row", f"{_MAIN}v", f"{_MAIN}f"
_MERGE = f"{_MAIN}mergeCell"
_ITEM, _INLINE, _RUN, _TEXT = f"{_MAIN}si", f"{_MAIN}is", f"{_MAIN}r", f"{_MAIN}t"
_LETTERS, _STRIKE, _SHIFT = f"{_MAIN}rPr", f"{_MAIN}strike", f"{_MAIN}vertAlign"
_DIGITS = "0123456789"
_CODE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_find_column = lru_cache(1_000)(column_index_from_string)
_EMPTY = SheetCell("", is_text=False)
_STRUCK = SheetCell("", is_text=False, bold=True)
"""A cell that is struck through, so that its text no longer holds."""
_HIDDEN = SheetCell("", is_text=False)
"""A cell whose format prints nothing, so that no reader sees its value."""


class CellStyle(NamedTuple):
    """The part of a cell's style that its text depends on.

    Attributes:
        form: The format of its number.
        is_bold: Whether it is set in bold type.
        is_struck: Whether it is struck through.
    """

    form: NumberFormat = NumberFormat()
    is_bold: bool = False
    is_struck: bool = False


@dataclass(frozen=True, slots=True)
class SharedTexts:
    """The texts that the cells of all sheets share, without runs that are struck through.

    Attributes:
        texts: The texts in the order of their numbers.
        unstruck: The text that is left in a cell that is struck through itself, by the number of
            a text; only runs with letters of their own can be.
        struck: The number of runs that are left out.
    """

    texts: Sequence[str]
    unstruck: Mapping[int, str] = field(default_factory=dict)
    struck: int = 0


def read_strings(stream: IO[bytes]) -> SharedTexts:
    """Return the texts that the cells of all sheets share, without phonetic hints."""
    texts: list[str] = []
    unstruck: dict[int, str] = {}
    struck = 0
    for item in iter_elements(stream, _ITEM):
        rich = _read_runs(item)
        if rich.unstruck:
            unstruck[len(texts)] = rich.unstruck
        struck += rich.struck
        texts.append(rich.text)
    return SharedTexts(texts, unstruck, struck)


def read_rows(
    stream: IO[bytes],
    print_value: Callable[[str, int, str], SheetCell],
    skip_hidden: Callable[[int], None] = lambda _: None,
) -> Sequence[SheetRow]:
    """Return the rows of a worksheet up to the last one with text.

    A short text of merged cells is repeated in each of their rows that has other text. Text that is
    struck through or that its format hides is left out.

    Args:
        stream: The XML of the worksheet.
        print_value: The function that prints a cell, as `make_printer` returns it.
        skip_hidden: The function that counts the cells and runs that are left out.

    Raises:
        ParseRefusal: `failed` for more than `MOST_CELLS` cells.
    """
    rows: list[list[SheetCell]] = []
    cells = empty = 0
    reader = _SheetReader(print_value)
    for row in reader.iter_rows(stream):
        empty = 0 if row else empty + 1
        cells += len(row)
        if empty > _MOST_EMPTY_ROWS:
            break
        limit_cells(cells)
        rows.append(row)
    while rows and not rows[-1]:
        rows.pop()
    spread_merges(rows, map(range_boundaries, reader.merges), _EMPTY)
    skip_hidden(reader.unseen)
    return rows


def make_printer(
    strings: SharedTexts, epoch: datetime, get_style: Callable[[int], CellStyle]
) -> Callable[[str, int, str], SheetCell]:
    """Return the function that prints the value of a cell.

    Args:
        strings: The texts that cells share.
        epoch: The day from which the workbook counts days.
        get_style: The function that returns the style of an id.

    Returns:
        A function that returns the printed cell, given its type, the id of its style and its value
        as the file states them.
    """

    @lru_cache(_MOST_KEPT)
    def print_value(kind: str, style_id: int, text: str) -> SheetCell:
        style = get_style(style_id)
        if style.is_struck:
            rest = strings.unstruck.get(int(text), "").strip() if kind == "s" else ""
            return SheetCell(rest, is_text=True, bold=style.is_bold) if rest else _STRUCK
        value = strings.texts[int(text)] if kind == "s" else _read_value(kind, text, style, epoch)
        if style.form.hides_texts if isinstance(value, str) else style.form.hides_numbers:
            return _HIDDEN
        if isinstance(value, str):
            return SheetCell(print_text(value.strip(), style.form), bold=style.is_bold)
        return SheetCell(_print_plain(value, style.form), is_text=False, bold=style.is_bold)

    return print_value


def _print_plain(value: object, form: NumberFormat) -> str:
    """Return a number as its format prints it, and a date or a truth value."""
    if isinstance(value, float | int) and not isinstance(value, bool):
        return print_number(value, form)
    return format_value(value).strip()


def _read_value(kind: str, text: str, style: CellStyle, epoch: datetime) -> object:
    """Return the value of a cell whose text is not shared, by the type of the cell."""
    if kind == "b":
        return bool(int(text))
    if kind == "d":
        return from_ISO8601(text)
    if kind != "n":
        return text
    value = float(text) if "." in text or "e" in text.lower() else int(text)
    if not style.form.is_date:
        return value
    return read_date(value, style.form, from_1904=epoch == MAC_EPOCH)


@dataclass(slots=True)
class _SheetReader:
    """A reader of a worksheet.

    Attributes:
        print_value: The function that prints a cell, as `make_printer` returns it.
        merges: The ranges of merged cells, complete once all rows have been read.
        unseen: The number of cells and of runs in them that are struck through or hidden, so far.
    """

    print_value: Callable[[str, int, str], SheetCell]
    merges: list[str] = field(default_factory=list)
    unseen: int = 0
    _shared: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The formulas that several cells share, each with its first cell."""

    def iter_rows(self, stream: IO[bytes]) -> Iterator[list[SheetCell]]:
        """Yield the rows in order; a row that the file leaves out is empty."""
        last = 0
        for row in iter_elements(stream, _ROW, _MERGE):
            if row.tag == _MERGE:
                self.merges.append(row.get("ref") or "")
                continue
            number = int(float(row.get("r") or last + 1))
            yield from ([] for _ in range(number - last - 1))
            yield self._read_row(row)
            last = number

    def _read_row(self, row: Element) -> list[SheetCell]:
        """Return the cells of a row up to the last one with text."""
        cells: list[SheetCell] = []
        column = 0
        limit_cells(len(row))
        for element in row:
            place = element.get("r")
            column = _find_column(place.rstrip(_DIGITS)) if place else column + 1
            cell = self._read_cell(element, place)
            if not cell.text:
                self.unseen += cell is _STRUCK or cell is _HIDDEN
                continue
            if column > len(cells):
                cells.extend(repeat(_EMPTY, column - len(cells) - 1))
                cells.append(cell)
            else:
                cells[column - 1] = cell
        return cells

    def _read_cell(self, element: Element, place: str | None) -> SheetCell:
        """Return a printed cell; a formula without a computed value is printed itself."""
        kind = element.get("t", "n")
        text, unstruck, formula = "", "", None
        for child in element:
            if child.tag == _VALUE and kind != "inlineStr":
                text = child.text or ""
            elif child.tag == _INLINE and kind == "inlineStr":
                text, unstruck, struck = _read_runs(child)
                self.unseen += struck
            elif child.tag == _FORMULA:
                formula = child
        source = (
            "" if formula is None else self._read_formula(formula, place or "", is_shown=not text)
        )
        if text:
            cell = self.print_value(kind, int(element.get("s") or 0), text)
            return SheetCell(unstruck.strip()) if cell is _STRUCK and unstruck else cell
        return SheetCell(source, is_text=False) if source else _EMPTY

    def _read_formula(self, formula: Element, place: str, *, is_shown: bool) -> str:
        """Return the formula of a cell.

        Args:
            formula: The element of the formula. A shared one is stated only in its first cell, and
                is translated for the others.
            place: The name of the cell, such as `B2`.
            is_shown: Whether the formula will be printed; otherwise it need not be translated.
        """
        source = f"={formula.text or ''}"
        if formula.get("t") != "shared":
            return source
        name = formula.get("si", "")
        if name not in self._shared:
            self._shared[name] = source, place
            return source
        if not is_shown:
            return source
        first, origin = self._shared[name]
        return str(Translator(first, origin).translate_formula(place))


class _RichText(NamedTuple):
    """A text of runs, without those that are struck through.

    Attributes:
        text: The text of the other runs.
        unstruck: The text of those with letters of their own, which a struck cell does not strike.
        struck: The number of runs with text that are left out.
    """

    text: str
    unstruck: str
    struck: int


def _read_runs(item: Element) -> _RichText:
    """Return a shared or inline text, without its phonetic hints."""
    if len(item) == 1 and item[0].tag == _TEXT:
        return _RichText(_decode_signs(item[0].text or ""), "", 0)
    parts: list[str] = []
    with_letters: list[str] = []
    struck = 0
    for child in item:
        if child.tag == _TEXT:
            parts.append(child.text or "")
        elif child.tag == _RUN:
            text = "".join(part.text or "" for part in child if part.tag == _TEXT)
            letters = child.find(_LETTERS)
            strike = None if letters is None else letters.find(_STRIKE)
            if strike is not None and strike.get("val", "1") in {"1", "true"}:
                struck += bool(text.strip())
                continue
            text = _choose_run_sign("".join(parts[-1:]), letters, text) + text
            parts.append(text)
            with_letters += [text] if letters is not None else []
    return _RichText(_decode_signs("".join(parts)), _decode_signs("".join(with_letters)), struck)


def _choose_run_sign(before: str, letters: Element | None, text: str) -> str:
    """Return the sign between a run and the raised or lowered run after it; empty for others."""
    shift = None if letters is None else letters.find(_SHIFT)
    position = "" if shift is None else shift.get("val")
    if position not in {"superscript", "subscript"}:
        return ""
    return choose_sign(before, text, raised=position == "superscript")


def _decode_signs(text: str) -> str:
    """Return a text with its codes replaced by their characters, such as `_x000D_` by a line end.

    Programs write `_x005F_` for an underscore that would begin such a code.
    """
    if "_x" not in text:
        return text
    decoded = _CODE.sub(lambda code: chr(int(code[1], 16)), text)
    return decoded.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
