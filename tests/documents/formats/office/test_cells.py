from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.documents.base import Builder
from fathom.documents.formats.office.cells import SheetCell, add_rows, format_value


def make_word(text: str) -> SheetCell:
    return SheetCell(text)


def make_value(text: str) -> SheetCell:
    return SheetCell(text, is_text=False)


def build_rows(*rows: list[SheetCell]) -> list[str]:
    builder = Builder()
    add_rows(builder, rows)
    return builder.build().text.split("\n")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_keep_fifteen_digits_and_need_no_exponent(number: float) -> None:
    text = format_value(number)
    assert "e" not in text.lower()
    assert float(text) == float(f"{number:.15g}")


def test_three_full_columns_of_words_have_a_header() -> None:
    rows = [[make_word(text) for text in line.split()] for line in ("A B C", "d e f", "g h i")]
    assert build_rows(*rows) == ["A | B | C", "A: d | B: e | C: f", "A: g | B: h | C: i"]


def test_repeated_names_are_no_header() -> None:
    rows = [[make_word("A"), make_word("A")], [make_value("1"), make_value("2")]]
    assert build_rows(*rows) == ["A | A", "1 | 2"]


def test_a_value_beyond_the_header_is_kept() -> None:
    rows = [[make_word("A"), make_word("B")], [make_value("1"), make_value("2"), make_value("3")]]
    assert build_rows(*rows) == ["A | B", "A: 1 | B: 2 | 3"]


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(hours=30, minutes=15), "30:15:00"),
        (timedelta(minutes=-90), "-1:30:00"),
        (timedelta(seconds=5, milliseconds=500), "0:00:05.500000"),
    ],
)
def test_durations_are_hours_and_never_days(duration: timedelta, text: str) -> None:
    assert format_value(duration) == text
