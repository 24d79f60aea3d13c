import pytest

from fathom.text.answer_match import (
    amounts_agree,
    contains_answer,
    list_amounts,
    normalize_answer,
    parse_amount,
)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("10 June 1819", (1819, 6, 10)),
        ("January 24, 1920", (1920, 1, 24)),
        ("17 Agustus 1945", (1945, 8, 17)),
        ("1998-05-21", (1998, 5, 21)),
        ("in March 1999", (1999, 3, 0)),
        ("1989", (1989, 0, 0)),
        ("late 19th century", (1850, 0, 0)),
        ("abad ke-7", (650, 0, 0)),
        ("40 crowns", (40,)),
        ("1,234,567 people", (1_234_567,)),
        ("1.234.567 jiwa", (1_234_567,)),
        ("3.5 million", (3_500_000,)),
        ("2 miliar", (2_000_000_000,)),
        ("nobody knows", None),
    ],
)
def test_dates_are_compared_before_numbers(text: str, amount: tuple[float, ...] | None) -> None:
    assert parse_amount(text) == amount


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("8 September 1891, at 14:30, for 64,300 crowns", [(1891, 9, 8), (14, 30), (64_300,)]),
        ("Twelve items, or 12 in 2024", [(2024, 0, 0), (12,)]),
        ("nobody knows", []),
    ],
)
def test_all_amounts_of_a_text_are_found(text: str, amounts: list[tuple[float, ...]]) -> None:
    assert list_amounts(text) == amounts


@pytest.mark.parametrize(
    ("first", "other", "same"),
    [
        ((1891, 9, 8), (1891, 0, 0), True),
        ((1891, 9, 8), (1891, 9, 9), False),
        ((35.0,), (35.0,), True),
        ((1_400_000.0,), (1_403_122.0,), True),
        ((35.0,), (48.0,), False),
        ((14, 30), (1430.0,), False),
        ((16, 0), (16, 30), False),
        ((0, 30), (17, 30), False),
    ],
)
def test_amounts_agree_up_to_omitted_digits(
    first: tuple[float, ...], other: tuple[float, ...], same: bool
) -> None:
    assert amounts_agree(first, other) is same
    assert amounts_agree(other, first) is same


@pytest.mark.parametrize(
    ("answer", "plain"),
    [
        ("The  Harbour-Office,", "harbouroffice"),
        ("1,020 crowns", "1020 crowns"),
        ("A", "A"),
        ("?!", "?!"),
        ("", ""),
        ("Sang Wali Kota", "wali kota"),
    ],
)
def test_capitals_punctuation_and_articles_do_not_count(answer: str, plain: str) -> None:
    assert normalize_answer(answer) == plain


def test_an_answer_within_another_is_the_same() -> None:
    assert contains_answer("40 crowns", "about 40 crowns a year")
    assert contains_answer("The Baltic", "baltic")
    assert not contains_answer("40 crowns", "140 crowns")
    assert not contains_answer("40 crowns", "55 crowns")
