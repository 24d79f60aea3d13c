"""Values of cells as tables write them."""

import pytest

from fathom.tables.values import (
    format_number,
    is_empty,
    parse_duration,
    parse_number,
    parse_period,
    prefers_day_first,
    prefers_decimal_comma,
)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("1,243,519", 1_243_519, ""), ("2.75", 2.75, ""), ("0.0411", 0.0411, ""),
        ("1.250.000,5", 1_250_000.5, ""), ("18,8", 18.8, ""), ("1 420 436", 1_420_436, ""),
        ("\u221211.9%", -11.9, "%"), ("$ 4,500", 4500, "$"), ("13,178\u2020", 13_178, ""),
        ("40 t (empty)", 40, "t"), ("7[2]", 7, ""), ("12th", 12, "th"),
        ("12,34,567", 1_234_567, ""), ("12k", 12_000, ""), ("$1.5 million", 1_500_000, "$"),
        ("$840K", 840_000, "$"), ("Rp 1,5 M", 1.5e9, "Rp"), ("1.5 million", 1.5, "million"),
        ("3.5M", 3.5, "M"), ("-US$2.5bn", -2.5e9, "US$"),
    ],
)  # fmt: skip
def test_a_number_is_read_with_its_unit(text: str, value: float, unit: str) -> None:
    assert parse_number(text) == (value, unit)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("(45,300)", -45_300, ""), ("($1,200.50)", -1200.5, "$"), ("$(1,200)", -1200, "$"),
        ("(3.1%)", -3.1, "%"), ("(3.1)%", -3.1, "%"), ("$-1,200", -1200, "$"),
        ("Rp -5.000.000", -5_000_000, "Rp"), ("USD 1,200", 1200, "USD"), ("S$ 40", 40, "S$"),
        ("(45,300)*", -45_300, ""), ("-$1,200", -1200, "$"),
    ],
)  # fmt: skip
def test_amounts_of_accounts_are_read_with_their_sign(text: str, value: float, unit: str) -> None:
    assert parse_number(text) == (value, unit)


@pytest.mark.parametrize("text", ["(closed)", "(4 cranes)", "(4-1)", "()"])
def test_words_in_brackets_are_no_numbers(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize("text", ["4-1", "1/8", "12:30", "Pier 4", "", "-", "2,0,0,x9"])
def test_scores_fractions_and_words_are_no_numbers(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"), [("4:32", 272), ("1:59:25", 7165), ("05:30", 330), ("2 hours", 7200)]
)
def test_a_duration_is_read_in_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["7:00 pm", "10 km", "soon"])
def test_a_time_of_day_is_no_duration(text: str) -> None:
    assert parse_duration(text) is None


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("12 May 1911", (1911, 5, 12), (1911, 5, 12)),
        ("1936\u20131967", (1936, 0, 0), (1967, 0, 0)),
        ("1987-91", (1987, 0, 0), (1991, 0, 0)),
        ("03/22/82", (1982, 3, 22), (1982, 3, 22)),
        ("October 15th", (0, 10, 15), (0, 10, 15)),
        ("1998 (closed)", (1998, 0, 0), (1998, 0, 0)),
    ],
)
def test_a_period_has_two_ends(
    text: str, first: tuple[int, int, int], last: tuple[int, int, int]
) -> None:
    assert parse_period(text) == (first, last)


@pytest.mark.parametrize("text", ["", " ", "-", "\u2014", "n/a", "none"])
def test_a_dash_is_an_empty_cell(text: str) -> None:
    assert is_empty(text)


def test_a_number_is_written_with_marks_between_thousands() -> None:
    assert format_number(83_664.0) == "83,664"
    assert format_number(15.5) == "15.5"


@pytest.mark.parametrize(
    ("cells", "comma"),
    [
        (["3,2", "240.500"], True), (["1.250.000", "98.000"], True), (["3.2", "240,500"], False),
        (["98.000", "1,100"], None), (["Aldby", ""], None),
    ],
)  # fmt: skip
def test_cells_tell_the_decimal_mark(cells: list[str], comma: bool | None) -> None:
    assert prefers_decimal_comma(cells) is comma


def test_points_group_digits_where_the_decimal_mark_is_a_comma() -> None:
    assert parse_number("240.500", decimal_comma=True) == (240_500, "")
    assert parse_number("2,40,500", decimal_comma=True) == (240_500, "")
    assert parse_number("240.500") == (240.5, "")
    assert format_number(20_250.5, decimal_comma=True) == "20.250,5"


@pytest.mark.parametrize(
    ("text", "value"),
    [("12.5%", 12.5), ("-0.7%", -0.7), ("1.250", 1250), ("1.250,5", 1250.5), ("2024.75", 2024.75)],
)
def test_a_point_that_groups_no_thousands_is_a_decimal_one(text: str, value: float) -> None:
    number = parse_number(text, decimal_comma=True)
    assert number is not None
    assert number.value == value


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("5/3/2024", (2024, 3, 5)), ("05-03-2024", (2024, 3, 5)), ("5.3.2024", (2024, 3, 5)),
        ("03/22/82", (1982, 3, 22)), ("2024/03/14", (2024, 3, 14)),
        ("2024-03-14T10:00", (2024, 3, 14)), ("2024-3-5", (2024, 3, 5)),
    ],
)  # fmt: skip
def test_a_date_of_figures_is_read_with_the_day_first(
    text: str, date: tuple[int, int, int]
) -> None:
    assert parse_period(text, day_first=True) == (date, date)


@pytest.mark.parametrize("text", ["13/14/2024", "0/5/2024", "40.3.2024"])
def test_figures_that_are_no_day_tell_a_year_at_most(text: str) -> None:
    assert parse_period(text) in {None, ((2024, 0, 0), (2024, 0, 0))}


def test_cells_tell_whether_the_day_stands_first() -> None:
    assert prefers_day_first(["05/03/2024", "14/03/2024"]) is True
    assert prefers_day_first(["05/03/2024", "03/14/2024"]) is False
    assert prefers_day_first(["05/03/2024", "12"]) is None
