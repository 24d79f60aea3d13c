"""Numbers in texts.

Covers fathom.text.english, fathom.text.indonesian.
"""

import pytest

from fathom.text.numbers import parse_numbers, parse_quantities


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,234,567 people", [1_234_567]),
        ("1.234.567 jiwa", [1_234_567]),
        ("1,234.56 and 1.234,56", [1234.56, 1234.56]),
        ("0.125 of it", [0.125]),
        ("1.5 million, 1,5 juta", [1_500_000, 1_500_000]),
        ("2 miliar", [2e9]),
        ("twenty-three", [23]),
        ("two hundred thousand", [200_000]),
        ("dua belas", [12]),
        ("dua puluh tiga", [23]),
        ("tiga ratus lima puluh", [350]),
        ("seratus lima", [105]),
        ("seribu lima ratus", [1500]),
        ("twelve hundred", [1200]),
        ("twenty-five hundred men", [2500]),
        ("nineteen hundred thousand", [1_900_000]),
        ("one of 40", [40, 1]),
        ("5 hundred thousand", [500_000]),
        ("5 ratus ribu", [500_000]),
        ("12k, 3bn, 50 rb, 5jt", [12_000, 3e9, 50_000, 5e6]),
        ("12,34,567 and 1,00,00,000.5", [1_234_567, 10_000_000.5]),
        ("$3.5M, USD 2 b, Rp 3 M", [3_500_000, 2e9, 3e9]),
        ("3.5M, 2 b, 12 k", [3.5, 2, 12]),
        ("nobody", []),
    ],
)
def test_groups_decimals_scales_and_words_are_read(text: str, expected: list[float]) -> None:
    assert parse_numbers(text) == expected


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("1.5 km", "1,500 metres"),
        ("two hours", "120 menit"),
        ("7 days", "1 minggu"),
        ("0.5 kg", "500 gram"),
        ("64 KiB", "65,536 bytes"),
        ("12,5 persen", "12.5%"),
    ],
)
def test_units_are_converted_to_one(first: str, other: str) -> None:
    assert parse_quantities(first) == parse_quantities(other)
    assert parse_quantities(first)[0].kind


def test_a_letter_behind_a_plain_number_is_its_unit() -> None:
    assert parse_quantities("5m, $5m, 5 m") == [(5, "length"), (5_000_000, ""), (5, "length")]


def test_a_number_without_a_known_unit_is_plain() -> None:
    assert parse_quantities("5 crowns") == [(5, "")]


def test_both_ends_of_a_range_have_its_unit() -> None:
    assert parse_quantities("5 to 7 days, 3 km") == [
        (432_000, "time"),
        (604_800, "time"),
        (3_000, "length"),
    ]
