"""Values are typed by their appearance."""

import pytest

from fathom.documents.scalars import parse_scalar
from fathom.types import Scalar


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2021", 2021),
        ("-3", -3),
        ("0.50", 0.5),
        ("1.5e3", 1500.0),
        ("true", True),
        ("False", False),
        ("2021-5-1", "2021-05-01"),
        ("2021/05/01", "2021-05-01"),
        ("2021-05-01 10:00", "2021-05-01T10:00"),
        ("2021-05-01T10:00:00Z", "2021-05-01T10:00:00Z"),
        ("1 May 2021", "2021-05-01"),
        ("1. September 2021", "2021-09-01"),
        ("Sept. 30, 2021", "2021-09-30"),
        (" plain words ", "plain words"),
        ("'2021'", "2021"),
        ('"true"', "true"),
        ("007", "007"),
        ("1.2.3", "1.2.3"),
        ("1_000", "1_000"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("9" * 30, "9" * 30),
        ("2021-02-30", "2021-02-30"),
        ("1 Nought 2021", "1 Nought 2021"),
        ("Decision 5, 2021", "Decision 5, 2021"),
        ("3 Marchers 2020", "3 Marchers 2020"),
        ("05/06/2021", "05/06/2021"),
        ("", ""),
    ],
)
def test_scalars_are_typed(text: str, expected: Scalar) -> None:
    scalar = parse_scalar(text)
    assert (type(scalar), scalar) == (type(expected), expected)
