"""Spreadsheets: each sheet is a page, each row a table row; external links are not followed."""

import io
import re
import warnings
from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from openpyxl.cell.read_only import ReadOnlyCell
from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.stylesheet import apply_stylesheet
from openpyxl.xml.constants import SHARED_STRINGS

from fathom.documents.base import Builder, ParsedDocument, ParseRefusal
from fathom.documents.formats.office.cells import add_rows
from fathom.documents.formats.office.drawing import read_drawings
from fathom.documents.formats.office.number_format import read_format
from fathom.documents.formats.office.package import OfficePackage
from fathom.documents.formats.office.sheet import (
    CellStyle,
    SharedTexts,
    make_printer,
    read_rows,
    read_strings,
)
from fathom.documents.formats.office.strict import translate_names

# The names that programs give to sheets without a name; they are no headings.
_UNNAMED = re.compile(
    r"(Sheet|Lembar|Tabelle|Feuil|Hoja|Blad|Foglio|Planilha"
    r"|Chart|Bagan|Diagramm|Graph|Gr[áa]fico|Grafiek) ?\d+"
)


def parse(data: bytes) -> ParsedDocument:
    """Parse an XLSX file.

    Raises:
        ParseRefusal: `empty` without text, `failed` for a damaged file or one of too many cells,
            `encrypted` for a protected one.
    """
    package = OfficePackage(data)
    title, metadata = package.read_properties()
    builder = Builder()
    try:
        package.forbid_doctypes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are about saving, and nothing is saved here
            _add_sheets(translate_names(data, package.archive), package, builder)
    except (ParseRefusal, MemoryError):
        raise
    except Exception as error:  # the library raises any error for a damaged part
        raise ParseRefusal("failed", f"damaged workbook: {error}") from error
    return builder.build(title, metadata, opening=False)


def _add_sheets(data: bytes, package: OfficePackage, builder: Builder) -> None:
    """Add the sheets in the order of the workbook, each with its text boxes and charts."""
    # The library reads the workbook and its styles, but not the cells and their texts.
    reader = ExcelReader(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    reader.read_manifest()
    reader.read_workbook()
    apply_stylesheet(reader.archive, reader.wb)
    strings = _read_strings(reader)
    builder.skip_hidden(strings.struck)
    print_value = make_printer(strings, reader.wb.epoch, _style_cells(reader.wb))
    links = [(sheet.name, link) for sheet, link in reader.parser.find_sheets()]
    sheets = [(name, link) for name, link in links if link.target in reader.valid_files]
    for number, (name, link) in enumerate(sheets, start=1):
        # A sheet that is a chart has no cells.
        with reader.archive.open(link.target) as stream:
            rows = read_rows(stream, print_value, builder.skip_hidden)
        builder.set_page(number)
        drawn = read_drawings(package, link.target)
        builder.skip_hidden(drawn.hidden)
        if (rows or drawn.paragraphs) and not _UNNAMED.fullmatch(name):
            builder.add_heading(name, 1)
        add_rows(builder, rows)
        for paragraph in drawn.paragraphs:
            builder.add_paragraph(paragraph)


def _read_strings(reader: Any) -> SharedTexts:  # noqa: ANN401 - the library has no types
    """Return the texts that the cells of all sheets share."""
    part = reader.package.find(SHARED_STRINGS)
    if part is None:
        return SharedTexts(())
    with reader.archive.open(part.PartName.lstrip("/")) as stream:
        return read_strings(stream)


def _style_cells(book: Any) -> Callable[[int], CellStyle]:  # noqa: ANN401 - the library has no types
    """Return the function that returns the style of an id; an unknown id has a plain style."""
    sheet = SimpleNamespace(parent=book)

    @lru_cache
    def get_style(style_id: int) -> CellStyle:
        # The library gives styles only for cells, so a cell is made.
        cell = ReadOnlyCell(sheet, 1, 1, None, style_id=style_id)
        try:
            form, font = str(cell.number_format or ""), cell.font
        except IndexError:  # the workbook lacks this style
            return CellStyle()
        # The first style is that of cells without one.
        is_own = font is not None and style_id > 0
        return CellStyle(read_format(form), bool(is_own and font.b), bool(is_own and font.strike))

    return get_style
