import pytest
from lxml import etree

from fathom.documents.base import ParseRefusal
from fathom.documents.formats.office.cells import SheetCell
from fathom.documents.formats.office.odt import read_rows


def read_table(inner: str) -> list[list[SheetCell]]:
    table = etree.fromstring(f"<table>{inner}</table>")
    return read_rows(table, lambda cell: "".join(cell.itertext()))


def test_header_rows_repeats_and_covered_cells_are_read() -> None:
    rows = read_table(
        "<table-header-rows><table-row><table-cell>A</table-cell></table-row></table-header-rows>"
        '<table-row number-rows-repeated="2"><table-cell number-columns-repeated="2">b</table-cell>'
        "<covered-table-cell>hidden</covered-table-cell><table-cell>c</table-cell></table-row>"
    )
    assert [[cell.text for cell in row] for row in rows] == [
        ["A"],
        ["b", "b", "", "c"],
        ["b", "b", "", "c"],
    ]


def test_values_have_types() -> None:
    cells = (
        '<table-cell value-type="date" date-value="2024-05-01">1 May</table-cell>'
        '<table-cell value-type="float">40</table-cell>'
        '<table-cell value-type="string">x</table-cell>'
    )
    assert read_table(f"<table-row>{cells}</table-row>") == [
        [SheetCell("2024-05-01", is_text=False), SheetCell("40", is_text=False), SheetCell("x")]
    ]


def test_endless_repeats_are_refused_or_cut() -> None:
    row = '<table-row number-rows-repeated="99999999"><table-cell {}>x</table-cell></table-row>'
    assert len(read_table(row.format(""))) == 1000
    with pytest.raises(ParseRefusal, match="unfolds"):
        read_table(row.format('number-columns-repeated="99999999"') * 2)
