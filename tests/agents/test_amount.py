import pytest

from fathom.agents.amount import amount_of


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
def test_dates_before_numbers(text: str, amount: tuple[float, ...] | None) -> None:
    assert amount_of(text) == amount
