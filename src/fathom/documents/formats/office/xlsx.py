"""Spreadsheets: each sheet is a page, each row one line; links out of the file are not followed."""

import io
import re
import warnings
import zipfile
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import openpyxl

from fathom.documents.base import Builder, ParsedDocument, ParseRefusal
from fathom.documents.formats.office.cells import SheetCell, SheetRow, add_rows, format_value
from fathom.documents.formats.office.package import OfficePackage

_MOST_CELLS = 1_000_000
_MOST_EMPTY_ROWS = 1_000
# The names that programs give to sheets without a name; they are no headings.
_UNNAMED = re.compile(r"(Sheet|Lembar|Tabelle|Feuil|Hoja|Blad|Foglio|Planilha) ?\d+")


def parse(data: bytes) -> ParsedDocument:
    """Parse an XLSX file.

    Raises:
        ParseRefusal: `empty`, `failed` for a damaged file or one of too many cells, `encrypted`.
    """
    package = OfficePackage(data)
    title, metadata = package.read_properties()
    builder = Builder()
    try:
        package.forbid_doctypes()
        _add_sheets(data, builder)
    except ParseRefusal:
        raise
    except Exception as error:  # the library lets any error of a damaged part through
        raise ParseRefusal("failed", f"damaged workbook: {error}") from error
    return builder.build(title, metadata, opening=False)


def _add_sheets(data: bytes, builder: Builder) -> None:
    values = _open_workbook(data, cached=True)
    formulas = _open_workbook(data, cached=False) if _has_formulas(data) else None
    for number, sheet in enumerate(values.worksheets, start=1):
        rows = _read_rows(sheet, None if formulas is None else formulas.worksheets[number - 1])
        builder.set_page(number)
        if rows and not _UNNAMED.fullmatch(sheet.title):
            builder.add_heading(sheet.title, 1)
        add_rows(builder, rows)


def _open_workbook(data: bytes, *, cached: bool) -> Any:  # noqa: ANN401 - the library has no types
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they concern saving, and nothing is saved here
        return openpyxl.load_workbook(
            io.BytesIO(data), read_only=True, data_only=cached, keep_links=False
        )


def _has_formulas(data: bytes) -> bool:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        sheets = [name for name in archive.namelist() if "/worksheets/" in name]
        return any(b"<f" in archive.read(name) for name in sheets)


def _read_rows(sheet: Any, formulas: Any | None) -> list[SheetRow]:  # noqa: ANN401 - see _open
    rows: list[SheetRow] = []
    cells = empty = 0
    for row in _iter_rows(sheet, formulas):
        empty = 0 if row else empty + 1
        cells += len(row)
        if empty > _MOST_EMPTY_ROWS:
            break
        if cells > _MOST_CELLS:
            raise ParseRefusal(
                "failed", f"sheet holds more than {_MOST_CELLS} cells; split the file"
            )
        rows.append(row)
    while rows and not rows[-1]:
        rows.pop()
    return rows


def _iter_rows(sheet: Any, formulas: Any | None) -> Iterator[SheetRow]:  # noqa: ANN401 - see _open
    """Yield rows of printed cells; a formula's text replaces a value that was never computed."""
    sheet.reset_dimensions()  # the stored dimension is often wrong
    if formulas is not None:
        formulas.reset_dimensions()
    sources = iter(()) if formulas is None else formulas.iter_rows()
    for row, source in zip_longest(sheet.iter_rows(), sources, fillvalue=()):
        cells = [_read_cell(cell, formula) for cell, formula in zip_longest(row, source)]
        while cells and not cells[-1].text:
            cells.pop()
        yield cells


def _read_cell(cell: Any, formula: Any | None) -> SheetCell:  # noqa: ANN401 - see _open
    value = cell.value
    if value is None and formula is not None and formula.value is not None:
        return SheetCell(str(getattr(formula.value, "text", formula.value)), is_text=False)
    if not getattr(cell, "has_style", False):  # an empty cell lacks the attribute
        return SheetCell(format_value(value).strip(), isinstance(value, str))
    is_number = isinstance(value, float | int) and not isinstance(value, bool)
    if is_number and "%" in str(cell.number_format or ""):
        return SheetCell(f"{format_value(value * 100.0)}%", is_text=False)
    return SheetCell(
        format_value(value).strip(), isinstance(value, str), bool(cell.font and cell.font.b)
    )
