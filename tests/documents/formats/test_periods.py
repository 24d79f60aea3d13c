import pytest

from fathom.documents.formats.periods import is_period, name_columns


@pytest.mark.parametrize(
    ("periods", "below", "names"),
    [
        (["2022", "2023", "2024"], ["1", "2", "3"], True),
        (["FY2023", "FY2024"], ["1", "2"], True),
        (["2010", "2015", "2020"], ["1", "2", "3"], True),
        (["2010", "2015"], ["1", "2"], False),
        (["2024"], ["1"], False),
        (["2022", "2023", "12"], ["1", "2", "3"], False),
        (["2024-02-01", "2024-01-01"], ["", "70"], True),
        (["2024-01-01", "2024-02-01"], ["2024-01-05", "2024-02-07"], False),
    ],
)
def test_years_and_days_in_order_name_columns(
    periods: list[str], below: list[str], names: bool
) -> None:
    assert name_columns(periods, below) is names


def test_a_period_is_a_year_or_a_day() -> None:
    assert all(map(is_period, ("1999", "2024-05-01", "FY2024", "2024 A")))
    assert not any(map(is_period, ("-2024", "999", "2024.5", "x")))
