"""Dates in texts."""

import pytest

from fathom.text.dates import extract_dates, parse_date, parse_month


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("10 June 1819", (1819, 6, 10)),
        ("Jan. 24, 1920", (1920, 1, 24)),
        ("17 Agustus 1945", (1945, 8, 17)),
        ("3 Okt 2021", (2021, 10, 3)),
        ("1998-05-21", (1998, 5, 21)),
        ("at 1998-05-21T10:30:00Z", (1998, 5, 21)),
        ("part 1998-45-99", (1998, 0, 0)),
        ("in March 1999", (1999, 3, 0)),
        ("the 1980s", (1980, 0, 0)),
        ("late 19th century", (1850, 0, 0)),
        ("abad ke-7", (650, 0, 0)),
        ("1500 people", None),
        ("maybe", None),
    ],
)
def test_dates_are_read_in_either_language(text: str, date: tuple[int, ...] | None) -> None:
    assert parse_date(text) == date


def test_a_date_is_extracted_verbatim() -> None:
    dates, rest = extract_dates("Opened 3 Mei 1990, closed in 2001 with 12 rooms")
    assert dates == [(1990, 5, 3), (2001, 0, 0)]
    assert rest.split() == ["opened", ",", "closed", "in", "with", "12", "rooms"]


def test_months_have_names_and_abbreviations() -> None:
    assert [parse_month(name) for name in ("Sept.", "DES", "nopember", "Mayor")] == [
        9,
        12,
        11,
        None,
    ]
