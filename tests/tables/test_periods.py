"""Periods that heads and questions name."""

import pytest

from fathom.tables.periods import AskedPeriod, Period, find_periods, parse_head


@pytest.mark.parametrize(
    ("head", "period"),
    [
        ("Three Months Ended June 30, 2022", Period(3, (2022, 6, 30))),
        ("December 31, 2022 (unaudited)", Period(0, (2022, 12, 31))),
        ("Year Ended December 31, 2022", Period(12, (2022, 12, 31))),
        ("Tiga bulan yang berakhir pada 30 Juni 2023", Period(3, (2023, 6, 30))),
        ("Q2 2023", Period(3, (2023, 6, 0))),
        ("2022", Period(0, (2022, 0, 0))),
        ("% Change 2022", None),
        ("Population in 2022", None),
    ],
)
def test_a_head_names_a_period_or_nothing(head: str, period: Period | None) -> None:
    assert parse_head(head) == period


@pytest.mark.parametrize(
    ("question", "periods"),
    [
        ("sales in the six months ended june 30, 2022", (AskedPeriod(6, (2022, 6, 30)),)),
        (
            "from the quarter ended may 1, 2022 to the quarter ended april 30, 2023",
            (AskedPeriod(3, (2022, 5, 1)), AskedPeriod(3, (2023, 4, 30))),
        ),
        ("cash at december 31, 2022", (AskedPeriod(0, (2022, 12, 31)),)),
        ("laba untuk sembilan bulan yang berakhir 30 september 2023",
         (AskedPeriod(9, (2023, 9, 30)),)),
        ("net income in the second quarter of 2023", (AskedPeriod(3, (2023, 0, 0), 2),)),
    ],
)  # fmt: skip
def test_a_question_names_lengths_and_ends(question: str, periods: tuple[AskedPeriod, ...]) -> None:
    assert find_periods(question).periods == periods


def test_a_quarter_of_whole_weeks_may_end_in_the_next_month() -> None:
    asked = AskedPeriod(3, (2023, 0, 0), 1)
    assert asked.fits(Period(3, (2023, 4, 1)))
    assert not asked.fits(Period(3, (2023, 4, 30)))
    assert not asked.fits(Period(6, (2023, 4, 1)))


def test_a_year_of_whole_weeks_is_a_year() -> None:
    assert Period(3, (2021, 12, 25)).is_year_before(Period(3, (2022, 12, 31)))
    assert not Period(3, (2022, 9, 24)).is_year_before(Period(3, (2022, 12, 31)))
    assert not Period(6, (2021, 12, 25)).is_year_before(Period(3, (2022, 12, 31)))
