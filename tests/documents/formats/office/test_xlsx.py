import io
import zipfile
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import pytest
from openpyxl import Workbook
from openpyxl.styles import Font

from fathom.documents.base import ParseRefusal
from fathom.documents.formats.office.xlsx import parse


def save_book(book: Workbook) -> bytes:
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def make_sheet(rows: Sequence[Sequence[Any]], title: str = "Fees") -> Workbook:
    book = Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    return book


def read_lines(data: bytes) -> list[str]:
    return parse(data).text.split("\n")


def test_each_row_names_its_headers() -> None:
    parsed = parse(save_book(make_sheet([["Service", "Fee"], ["Skip", 40], ["Permit", None]])))
    assert [(block.kind, block.span.cut(parsed.text)) for block in parsed.blocks] == [
        ("heading", "Fees"),
        ("table_head", "Service | Fee"),
        ("table_row", "Service: Skip | Fee: 40"),
        ("table_row", "Permit"),
    ]
    assert {block.page for block in parsed.blocks} == {1}


def test_values_are_formatted() -> None:
    moment = datetime.fromisoformat("2024-05-01T08:30")
    row = [date(2024, 5, 1), moment, True, 1e20, 0.1 + 0.2, 1234567890123451]
    assert read_lines(save_book(make_sheet([row], title="Sheet1"))) == [
        "2024-05-01 | 2024-05-01 08:30:00 | TRUE | 100000000000000000000 | 0.3 | 1234567890123451"
    ]


def test_percentages_read_as_shown() -> None:
    book = make_sheet([["Share", 0.125]], title="Sheet1")
    book.active["B1"].number_format = "0.0%"
    assert read_lines(save_book(book)) == ["Share | 12.5%"]


def test_names_and_values_are_no_header() -> None:
    assert read_lines(
        save_book(make_sheet([["Office", "Works"], ["Town", "Merrow"]], title="Sheet1"))
    ) == [
        "Office | Works",
        "Town | Merrow",
    ]


def test_a_bold_first_row_is_a_header() -> None:
    book = make_sheet([["Role", "Name"], ["Clerk", "Ines"]], title="Sheet1")
    for cell in book.active[1]:
        cell.font = Font(bold=True)
    assert read_lines(save_book(book))[1] == "Role: Clerk | Name: Ines"


def test_a_title_above_and_a_second_table_below_are_read() -> None:
    rows: list[list[object]] = [
        ["Fees 2024"],
        [],
        ["Item", "Fee"],
        ["Bin", 3],
        [],
        ["Day", "Hours"],
        ["Mon", 8],
    ]
    text = parse(save_book(make_sheet(rows, title="Sheet1"))).text
    assert text.split("\n") == [
        "Fees 2024",
        "Item | Fee",
        "Item: Bin | Fee: 3",
        "Day | Hours",
        "Day: Mon | Hours: 8",
    ]


def test_a_formula_without_value_shows_itself() -> None:
    assert read_lines(save_book(make_sheet([["Sum", "=1+2"]], title="Sheet1"))) == ["Sum | =1+2"]


def test_each_sheet_is_a_page() -> None:
    book = make_sheet([["a"]], title="First")
    book.create_sheet("Second").append(["b"])
    parsed = parse(save_book(book))
    assert parsed.text == "First\n\na\n\nSecond\n\nb"
    assert [block.page for block in parsed.blocks] == [1, 1, 2, 2]


def test_a_wrong_stored_dimension_hides_nothing() -> None:
    data = save_book(make_sheet([["a", "b"], ["c", "d"]], title="Sheet1"))
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b'ref="A1:B2"', b'ref="A1:A1"'))
    assert read_lines(changed.getvalue()) == ["a | b", "c | d"]


def test_an_empty_book_is_empty() -> None:
    with pytest.raises(ParseRefusal) as refused:
        parse(save_book(Workbook()))
    assert refused.value.outcome == "empty"


def test_a_damaged_sheet_is_refused() -> None:
    data = save_book(make_sheet([["a"]]))
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            new.writestr(name, b"<broken" if "sheet1" in name else old.read(name))
    with pytest.raises(ParseRefusal, match="damaged workbook") as refused:
        parse(changed.getvalue())
    assert refused.value.outcome == "failed"
