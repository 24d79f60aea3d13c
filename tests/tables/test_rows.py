"""Rows of tables with the places of their cells, in documents and in chunks."""

import pytest
from tests.factories import chunk_of
from tests.tables.ports import PORTS, PORTS_CSV, read_document

from fathom.documents.base import Builder
from fathom.documents.formats.csv import parse
from fathom.tables import rows
from fathom.tables.rows import list_chunk_tables, list_document_tables, split_row


@pytest.mark.parametrize(("text", "name"), [(PORTS, "ports.md"), (PORTS_CSV, "ports.csv")])
def test_every_cell_stands_at_its_place_and_in_its_column(text: str, name: str) -> None:
    document = read_document(text, name)
    [table] = list_document_tables(document)
    assert len(table.rows) == 6
    for row in table.rows:
        for cell in row:
            assert cell.span.cut(document.text) == cell.text
            assert table.names[cell.column] == cell.name
    corvo = {cell.name: cell.text for cell in table.rows[2] if cell.text}
    assert corvo == {
        "Port": "Corvo", "Country": "Sudria", "Opened": "1932", "Cranes": "22", "Tour": "2:10"
    }  # fmt: skip


def test_cells_keep_their_columns_where_the_first_ones_are_empty() -> None:
    builder = Builder()
    builder.add_row(["Kind", "Name", "Crew", "Note"], head=True)
    builder.add_row(["", "", "12", ""])
    builder.add_row(["", "Alma", "9", "sold"])
    document = builder.build()
    [table] = list_chunk_tables(chunk_of(document))
    filled = [[(cell.name, cell.text) for cell in row if cell.text] for row in table.rows]
    assert filled == [[("Crew", "12")], [("Name", "Alma"), ("Crew", "9"), ("Note", "sold")]]
    for row in table.rows:
        for cell in row:
            assert cell.span.cut(document.text) == cell.text


BARS = ["x | y", "| x", "x |", "|", "| |", "|x", "x|", "a|b", "||", "x |y", "a | b | c", r"a \| b"]


@pytest.mark.parametrize("cell", BARS)
def test_a_bar_inside_a_cell_begins_no_column(cell: str) -> None:
    builder = Builder()
    builder.add_row(["Left", "Middle", "Right"], head=True)
    for at in range(3):
        builder.add_row([cell if column == at else f"c{column}" for column in range(3)])
        builder.add_row([cell if column == at else "" for column in range(3)])
    document = builder.build()
    [table] = list_chunk_tables(chunk_of(document))
    assert len(table.rows) == 6
    for place, row in enumerate(table.rows):
        [shown] = [part for part in row if part.text and not part.text.startswith("c")]
        assert shown.column == place // 2
        assert shown.text.replace(r"\|", "|") == cell.replace(r"\|", "|")
        assert shown.span.cut(document.text) == shown.text


def test_a_bar_in_the_name_of_a_column_begins_no_column() -> None:
    document = parse(b"Port,Day | Night\nAldby,1 | 2\nCorvo,3 | 4\n")
    [table] = list_chunk_tables(chunk_of(document))
    assert table.names == ("Port", r"Day \| Night")
    assert [(cell.column, cell.text) for cell in table.rows[1]] == [(0, "Corvo"), (1, r"3 \| 4")]


def test_a_colon_in_a_cell_is_no_label_below_a_head() -> None:
    builder = Builder()
    builder.add_row(["Time", "Talk"], head=True)
    builder.add_row(["9:00", "Ports: a history"])
    builder.add_row(["10:00", "Tides"])
    [table] = list_chunk_tables(chunk_of(builder.build()))
    assert table.rows[0][1].name == "Talk"
    assert table.rows[0][1].text == "Ports: a history"


def test_columns_of_one_name_stay_apart() -> None:
    document = parse(b"Home,Goals,Away,Goals\nAldby,2,Brask,3\nCorvo,1,Egmont,0\n")
    [table] = list_chunk_tables(chunk_of(document))
    assert [cell.column for cell in table.rows[0]] == [0, 1, 2, 3]
    assert [cell.text for cell in table.rows[0]] == ["Aldby", "2", "Brask", "3"]


_LABELLED_ROWS = [
    "A: 1 | C: 3",
    "A: 1 | B: | C: 3",
    "A: 1 |  | C: 3",
    "A: 1 | B: 2 |",
    "| A: 1 | B: 2",
    "B: A: 1 | C: x: y",
    "C: 3 | A: 1",
    "A: 1 | 2 | C: 3",
]


@pytest.mark.parametrize("row", _LABELLED_ROWS)
def test_the_short_way_for_labelled_rows_splits_them_as_the_long_one_does(row: str) -> None:
    names = ("A", "B", "C")
    assert split_row(row, 7, names) == rows._split_any(row, 7, names)
