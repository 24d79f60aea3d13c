"""Columns of a printed table stay columns."""

import pytest
from tests.documents.factories import make_lines, make_pdf

from fathom.documents.formats.pdf.document import parse
from fathom.documents.formats.pdf.lines import PdfCell, PrintedLine
from fathom.documents.formats.pdf.tables import find_table, join_columns

ROWS = (("Item", "Fee", "Days"), ("Skip on a street", "40", "2"), ("Permit", "55", "10"))


def print_rows(
    rows: tuple[tuple[str, ...], ...], at: tuple[int, ...], *, down: bool = False
) -> str:
    """Return a content stream of these rows with cells at these places; `down` prints by column."""
    cells = [
        (column, f"BT /F1 10 Tf {at[column]} {600 - 14 * row} Td ({text}) Tj ET")
        for row, texts in enumerate(rows)
        for column, text in enumerate(texts)
        if text
    ]
    return "\n".join(text for _, text in (sorted(cells, key=lambda c: c[0]) if down else cells))


def describe_blocks(page: str) -> list[tuple[str, str]]:
    parsed = parse(make_pdf(page))
    return [(b.kind, b.span.cut(parsed.text)) for b in parsed.blocks]


@pytest.mark.parametrize("down", [False, True])
def test_cells_in_common_columns_are_a_table(down: bool) -> None:
    lead = make_lines("The fees of the year are these.")
    page = f"{lead}\n{print_rows(ROWS, (50, 200, 300), down=down)}"
    assert describe_blocks(page) == [
        ("paragraph", "The fees of the year are these."),
        ("table_head", "Item | Fee | Days"),
        ("table_row", "Skip on a street | 40 | 2"),
        ("table_row", "Permit | 55 | 10"),
    ]


def test_a_wrapped_cell_is_one_cell() -> None:
    rows = (("Item", "Unit", "Fee"), ("Skip", "a week or", "40"), ("", "part of it", ""))
    assert describe_blocks(print_rows((*rows, ("Permit", "each", "55")), (50, 200, 300)))[1:] == [
        ("table_row", "Skip | a week or part of it | 40"),
        ("table_row", "Permit | each | 55"),
    ]


def test_an_empty_cell_keeps_its_place() -> None:
    rows = (("Item", "Unit", "Fee"), ("Skip", "", "40"), ("Permit", "each", "55"))
    assert describe_blocks(print_rows(rows, (50, 200, 300)))[1] == ("table_row", "Skip |  | 40")


def test_labels_of_a_list_are_no_column() -> None:
    steps = (("1.", "Cut it"), ("2.", "Fill it"), ("3.", "Wait"))
    assert [kind for kind, _ in describe_blocks(print_rows(steps, (50, 100)))] == ["list_item"] * 3


def test_two_rows_of_two_cells_and_columns_of_prose_are_no_table() -> None:
    pairs = (("Telephone", "555-0120"), ("Fax", "555-0121"))
    assert all(kind == "paragraph" for kind, _ in describe_blocks(print_rows(pairs, (50, 200))))
    prose = "the sentence of this column is as long as the column is wide and more so"
    cells = (PdfCell(prose, 0.0, 300.0), PdfCell(prose, 320.0, 620.0))
    page = [PrintedLine(text=prose, baseline=100.0 - 10 * n, cells=cells) for n in range(5)]
    assert find_table(page) is None


def test_columns_of_prose_are_not_joined_to_rows() -> None:
    words = "the sentence of this column is as long as the column is wide and more so"
    column = [PrintedLine(text=words, left=0, right=300, baseline=100.0 - 10 * n) for n in range(5)]
    other = [
        PrintedLine(text=words, left=320, right=620, baseline=100.0 - 10 * n) for n in range(5)
    ]
    assert join_columns([*column, *other]) == [*column, *other]


def test_a_page_printed_out_of_order_is_read_from_its_top() -> None:
    marks = "acebdf"
    places = {mark: (10.0 * (at % 2), 100.0 - 10 * (at // 2)) for at, mark in enumerate("abcdef")}
    page = [
        PrintedLine(text=m, left=x, right=x + 5, baseline=y) for m in marks for x, y in [places[m]]
    ]
    upwards = [page[at] for at in (2, 5, 1, 4, 0, 3)]
    assert [line.text for line in join_columns(upwards)] == ["a b", "c d", "e f"]


def test_items_beside_a_label_stay_a_list() -> None:
    first, second = "a. that all are entitled to it", "b. that it is to be given to all"
    rows = (("Considering", ":", first), ("", "", second), ("Reading", ":", first))
    blocks = describe_blocks(print_rows(rows, (50, 150, 170)))
    assert any(kind == "list_item" and text.startswith(second) for kind, text in blocks)
    assert not any(kind == "table_row" for kind, _ in blocks)
