"""Statements of reports keep the periods of their columns; covers formats.pdf.statements."""

import pytest
from tests.documents.factories import make_pdf
from tests.documents.formats.pdf.test_tables import print_rows

from fathom.documents.base import ParsedDocument
from fathom.documents.formats.pdf.document import parse

PLACES = (50, 300, 380, 460, 540)
TITLE = ("CONSOLIDATED STATEMENTS OF OPERATIONS", "", "", "", "")
SCALE = ("(in millions, except per share data)", "", "", "", "")
LENGTHS = ("", "Three Months Ended", "", "Six Months Ended", "")
DAYS = ("", "June 30,", "", "June 30,", "")
YEARS = ("", "2022", "2023", "2022", "2023")
ROWS = (
    ("Net sales", "$ 1,200", "$ 1,500", "$ 2,300", "$ 2,900"),
    ("Operating expenses:", "", "", "", ""),
    ("Cost of sales", "700", "800", "1,400", "1,500"),
    ("Income of a very long name that goes", "", "", "", ""),
    ("on below", "500", "\\(20\\)", "900", "1,400"),
)


def list_tables(*pages: tuple[tuple[str, ...], ...]) -> list[tuple[str, str, int | None]]:
    parsed: ParsedDocument = parse(make_pdf(*(print_rows(page, PLACES) for page in pages)))
    return [(b.kind, b.span.cut(parsed.text), b.page) for b in parsed.blocks]


def test_the_heads_of_a_statement_name_the_period_of_each_column() -> None:
    blocks = list_tables((TITLE, SCALE, LENGTHS, DAYS, YEARS, *ROWS))
    assert blocks[0][:2] == (
        "table_head",
        "CONSOLIDATED STATEMENTS OF OPERATIONS (in millions, except per share data) "
        "| Three Months Ended June 30, 2022 | Three Months Ended June 30, 2023 "
        "| Six Months Ended June 30, 2022 | Six Months Ended June 30, 2023",
    )


def test_rows_of_a_statement_keep_labels_above_them_and_wrapped_labels() -> None:
    blocks = list_tables((TITLE, SCALE, LENGTHS, DAYS, YEARS, *ROWS))
    assert [text for _, text, _ in blocks[1:]] == [
        "Net sales | $ 1,200 | $ 1,500 | $ 2,300 | $ 2,900",
        "Operating expenses:",
        "Cost of sales | 700 | 800 | 1,400 | 1,500",
        "Income of a very long name that goes on below | 500 | (20) | 900 | 1,400",
    ]
    assert {kind for kind, _, _ in blocks[1:]} == {"table_row"}


def test_the_next_page_goes_on_with_the_heads_of_a_statement() -> None:
    blocks = list_tables((TITLE, SCALE, LENGTHS, DAYS, YEARS, *ROWS), ROWS[2:3])
    assert [kind for kind, _, _ in blocks].count("table_head") == 1
    assert blocks[-1] == ("table_row", "Cost of sales | 700 | 800 | 1,400 | 1,500", 2)


def test_a_day_and_its_year_may_stand_in_two_lines() -> None:
    page = (
        ("CONSOLIDATED BALANCE SHEETS", "", ""),
        ("", "April 1,", "September 24,"),
        ("", "2023", "2022"),
        ("Cash", "$ 24", "$ 23"),
        ("Inventories", "7", "4"),
    )
    head = list_tables(page)[0]
    assert head[:2] == (
        "table_head", "CONSOLIDATED BALANCE SHEETS | April 1, 2023 | September 24, 2022"
    )  # fmt: skip


@pytest.mark.parametrize(
    "rows",
    [
        (("Item", "Fee", "Days"), ("Skip", "40", "2"), ("Permit", "55", "10")),
        (("", "June 30, 2023", ""), ("Risks", "4", ""), ("Controls", "9", "")),
        (("", "2022", "2023", "2024"), ("Skip", "40", "2", ""), ("Permit", "words", "10", "")),
    ],
)
def test_a_table_without_an_amount_for_each_period_is_no_statement(
    rows: tuple[tuple[str, ...], ...],
) -> None:
    assert not any("June" in text for kind, text, _ in list_tables(rows) if kind == "table_head")
