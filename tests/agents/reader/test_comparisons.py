"""Comparisons decided by values in one unit, or not at all."""

import pytest

from fathom.agents.reader.comparisons import SideValue, decide_comparison, parse_value
from fathom.question.comparison import Comparison, Want
from fathom.question.question import Question


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3 May 1990", SideValue("date", (1990, 5, 3), (1990, 5, 3))),
        ("1990", SideValue("date", (1990, 1, 1), (1990, 12, 31))),
        ("between 1990 and Mei 1995", SideValue("date", (1990, 1, 1), (1995, 5, 31))),
        ("1.5 km", SideValue("length", (1500,), (1500,))),
        ("5 to 7 days", SideValue("time", (432_000,), (604_800,))),
        ("40 crowns", SideValue("", (40,), (40,))),
        ("1,5 juta jiwa", SideValue("", (1_500_000,), (1_500_000,))),
        ("late 19th century", SideValue("date", (1801, 1, 1), (1900, 12, 31))),
        ("abad ke-20", SideValue("date", (1901, 1, 1), (2000, 12, 31))),
        ("June 1989 to April 2000", SideValue("date", (1989, 6, 1), (2000, 4, 31))),
        ("Mei 1989 hingga Agustus 2000", SideValue("date", (1989, 5, 1), (2000, 8, 31))),
        ("the early 1980s", SideValue("date", (1980, 1, 1), (1989, 12, 31))),
        ("the 1980s or the 1990s", None),
        ("two weeks or 3 km", None),
        ("12 or 14", None),
        ("nobody knows", None),
    ],
)
def test_a_value_is_read_from_an_answer(text: str, value: SideValue | None) -> None:
    assert parse_value(text) == value


@pytest.mark.parametrize(
    ("want", "answers", "verdict"),
    [
        ("least", ("3 May 1990", "June 1990"), "Elm"),
        ("least", ("1990", "3 May 1990"), ""),
        ("least", ("June 1989", "late 19th century"), "Oak"),
        ("most", ("1,200 metres", "1.3 km"), "Oak"),
        ("most", ("12 days", "12 km"), ""),
        ("most", ("two weeks", ""), ""),
        ("least", ("5 to 7 days", "6 days"), ""),
        ("longest", ("1901; 1950", "1910; 3 May 1970"), "Oak"),
        ("shortest", ("3 May 1901; 1950", "1910; 1970"), "Elm"),
        ("longest", ("1901; 1950", "1911; 1960"), ""),
        ("longest", ("1901; 1950", "1910"), ""),
        # The day of birth read twice, and a death before the birth.
        ("longest", ("1901; 1950", "1 July 1930; 1 July 1930"), ""),
        ("longest", ("1901; 1950", "1967; 2 August 1961"), ""),
        ("less", ("90 menit", "2 hours"), "yes"),
        ("less", ("2 hours", "90 menit"), "no"),
        ("more", ("1.5 million", "900,000"), "yes"),
        ("more", ("7 days", "1 week"), ""),
        ("same", ("7 days", "1 minggu"), "yes"),
        ("same", ("1990", "1991"), "no"),
        ("same", ("1990", "3 May 1990"), ""),
        ("same", ("5 to 7 days", "6 days"), ""),
        ("same", ("Rome", "rome"), "yes"),
        ("same", ("Rome", ""), ""),
        ("every", ("yes", "yes"), "yes"),
        ("every", ("yes", "no"), "no"),
        ("every", ("", "no"), "no"),
        ("every", ("yes", ""), ""),
    ],
)
def test_overlapping_or_missing_values_decide_nothing(
    want: Want, answers: tuple[str, ...], verdict: str
) -> None:
    compared = Comparison(options=("Elm", "Oak"), questions=("a?", "b?"), want=want)
    assert decide_comparison(Question("Is it so?"), compared, answers) == verdict


@pytest.mark.parametrize(
    ("question", "answers", "verdict"),
    [
        ("Were Elm and Oak founded in the same year?", ("3 May 1990", "8 June 1990"), "yes"),
        ("Were Elm and Oak founded in the same year?", ("3 May 1990", "1990"), "yes"),
        ("Were Elm and Oak founded in the same year?", ("3 May 1990", "3 May 1991"), "no"),
        ("Apakah Elm dan Oak berdiri pada tahun yang sama?", ("3 Mei 1990", "1990"), "ya"),
        ("Were Elm and Oak founded on the same day?", ("3 May 1990", "8 June 1990"), "no"),
    ],
)
def test_dates_in_one_year_are_the_same_year(
    question: str, answers: tuple[str, ...], verdict: str
) -> None:
    compared = Comparison(options=("Elm", "Oak"), questions=("a?", "b?"), want="same")
    assert decide_comparison(Question(question), compared, answers) == verdict
