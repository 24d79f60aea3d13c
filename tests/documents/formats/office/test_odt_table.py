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


@pytest.mark.parametrize(
    ("cell", "printed"),
    [
        ('value-type="float" value="1250.50">1.250,50 kg', "1.250,50 kg"),
        ('value-type="percentage" value="0.125">12,5 %', "12,5 %"),
        ('value-type="currency" currency="EUR" value="5">5,00 €', "5,00 €"),
        ('value-type="date" date-value="2024-05-01T08:30:00">May', "2024-05-01 08:30:00"),
        ('value-type="date" date-value="2024-05-01T00:00:00">May', "2024-05-01"),
        ('value-type="float" value="1250.50">', "1250.5"),
        ('value-type="percentage" value="0.07">', "7%"),
        ('value-type="currency" currency="EUR" value="5">', "5 EUR"),
        ('value-type="string" string-value="x">', "x"),
        ('value-type="boolean" boolean-value="true">', "TRUE"),
        ('value-type="time" time-value="PT08H30M00S">', "PT08H30M00S"),
        ('value-type="float" value="?">', "?"),
    ],
)
def test_a_cell_reads_as_it_is_printed_or_else_as_its_value_states(cell: str, printed: str) -> None:
    ((read,),) = read_table(f"<table-row><table-cell {cell}</table-cell></table-row>")
    assert read.text == printed
