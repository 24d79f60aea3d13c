"""Periods of statements, as heads of columns and questions name them: a length and a last day."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from fathom.tables.values import fold_text
from fathom.text.dates import MONTH, YEAR, Date, extract_dates
from fathom.types import Span

_NUMBERS = {
    "three": 3, "six": 6, "nine": 9, "twelve": 12, "tiga": 3, "enam": 6, "sembilan": 9,
    "dua belas": 12, "3": 3, "6": 6, "9": 9, "12": 12,
}  # fmt: skip
_LENGTH = re.compile(
    rf"\b(?P<number>{'|'.join(_NUMBERS)})[- ](?:months?|bulan)\b(?:[- ]periods?)?"
    r"|\b(?P<weeks>13|26|39|52|53|thirteen|twenty-six|thirty-nine|fifty-two)[- ]weeks?\b"
    r"|\b(?P<quarter>quarter(?:ly period|s)?|kuartal|triwulan)\b"
    r"|\b(?P<half>half[- ]year|semester|semi-annual period)\b"
    r"|\b(?P<year>(?:fiscal |full )?years?(?= (?:that )?end)|tahun (?=yang berakhir)"
    rf"|(?:fiscal|full|financial)(?: years?)?(?= {YEAR}))\b"
)
_WEEKS = {"13": 3, "thirteen": 3, "26": 6, "twenty-six": 6, "39": 9, "thirty-nine": 9}
_DATE = re.compile(
    rf"\b(?:{MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? {YEAR}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{MONTH},? {YEAR}"
    rf"|\d{{4}}-\d\d-\d\d|{MONTH},? {YEAR}|{YEAR})\b"
)
_ORDINALS = {
    "first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4,
    "pertama": 1, "kedua": 2, "ketiga": 3, "keempat": 4, "i": 1, "ii": 2, "iii": 3, "iv": 4,
}  # fmt: skip
_QUARTER = re.compile(
    rf"\bq(?P<figure>[1-4])(?: of)?(?: fiscal)?(?: year)?,? ?(?P<year>{YEAR})\b"
    rf"|\b(?P<year2>{YEAR}) q(?P<figure2>[1-4])\b"
    rf"|\b(?:(?P<word>{'|'.join(_ORDINALS)})[- ](?:fiscal )?quarter"
    rf"|(?:kuartal|triwulan) (?P<word2>{'|'.join(_ORDINALS)}))"
    rf"(?: of)?(?: the)?(?: fiscal)?(?: year)?(?: tahun)?,? (?P<year3>{YEAR})\b"
)
_YEAR_BEFORE = re.compile(
    r"\byear[- ](?:over|on)[- ]year\b|\byoy\b|\b(?:a|one) year (?:earlier|ago|before)\b"
    r"|\b(?:same|corresponding|comparable|prior[- ]year|previous[- ]year|last year'?s?|year[- ]ago)"
    r" (?:\w+ )?(?:period|quarter|months?)\b(?: (?:of|in) the (?:prior|previous|last) year"
    r"| (?:a|one) year (?:earlier|ago|before)| last year)?"
    r"|\bprior year\b|\bprevious year\b|\bperiode yang sama(?: tahun (?:lalu|sebelumnya))?\b"
    r"|\b(?:tahun|kuartal) (?:lalu|sebelumnya)\b"
)
_LATEST = re.compile(
    r"\b(?:latest|most recent|last|current)(?: reported)?(?: quarter(?:ly)?| period)?\b"
    r"|\bterakhir\b"
)
_FILLING = re.compile(
    r"\b(?:unaudited|audited|restated|as|of|at|for|the|ended|ending|and|per|pada|yang|berakhir|"
    r"untuk|periode|periods?|tanggal|fiscal|fy|tahun|tidak|diaudit|months?|year|note)\b|[^\w]"
)
_NEAR_DAYS = 10
"""The number of days by which a fiscal year of whole weeks may differ from a calendar year."""
_WEEK = 7


@dataclass(frozen=True, slots=True)
class Period:
    """A period of a statement, or a day.

    Attributes:
        months: The length in months; 0 for a day, or if the head names no length.
        end: The last day; its day, or its month and day, are 0 if the head leaves them open.
    """

    months: int
    end: Date

    def is_year_before(self, other: "Period") -> bool:
        """Return whether this period is as long as another one and ends a year before it."""
        if self.months != other.months:
            return False
        if not (self.end[1] and other.end[1]):
            return self.end[0] == other.end[0] - 1
        gap = _to_day(other.end).toordinal() - _to_day(self.end).toordinal()
        return abs(gap - 365) <= _NEAR_DAYS


class AskedPeriod(NamedTuple):
    """A period that a question names.

    Attributes:
        months: The length in months; 0 if the question names none.
        end: The last day; for a quarter only its year. Components that are left open are 0.
        quarter: The quarter of the year, from 1; 0 without one.
    """

    months: int
    end: Date
    quarter: int = 0

    def fits(self, period: Period) -> bool:
        """Return whether the period of a column may be the one that the question names.

        A period without a length fits every length.
        """
        if self.months and period.months and self.months != period.months:
            return False
        if self.quarter:
            # A quarter of whole weeks may end in the first days of the next month.
            month = (date(*_to_parts(period.end)).toordinal() - _WEEK) if period.end[1] else 0
            return bool(month) and self._holds_month(date.fromordinal(month))
        pairs = zip(self.end, period.end, strict=True)
        return all(one == other for one, other in pairs if one and other)

    def _holds_month(self, day: date) -> bool:
        return day.year == self.end[0] and (day.month + 2) // 3 == self.quarter


class AskedPeriods(NamedTuple):
    """The periods of a question.

    Attributes:
        periods: The periods that the question names, in its order.
        with_year_before: Whether it compares a period with the same one of the year before.
        latest: Whether it asks for the latest period.
        months: The first length that it names, in months; 0 without one.
        spans: The places of all these words in the folded question.
    """

    periods: tuple[AskedPeriod, ...]
    with_year_before: bool
    latest: bool
    months: int
    spans: tuple[Span, ...]

    @property
    def names_day(self) -> bool:
        """True if the question names the last day of a period, or a quarter."""
        return any(asked.end[2] or asked.quarter for asked in self.periods)


def parse_head(text: str) -> Period | None:
    """Return the period that a column's head names; `None` if the head says anything else."""
    folded = " ".join(fold_text(text).split())
    quarter = _QUARTER.fullmatch(folded)
    if quarter is not None:
        asked = _read_quarter(quarter)
        return Period(3, (asked.end[0], 3.0 * asked.quarter, 0.0))
    dates, rest = extract_dates(re.sub(r"\bfy ?(?=20\d\d)", "", folded))
    if len(dates) != 1 or not 1900 <= dates[0][0] <= 2100:
        return None
    length = _LENGTH.search(folded)
    rest = _LENGTH.sub(" ", rest)
    if _FILLING.sub("", rest):
        return None
    return Period(_read_months(length) if length else 0, dates[0])


def find_periods(text: str) -> AskedPeriods:
    """Return the periods that a folded question names."""
    quarters = [(match, _read_quarter(match)) for match in _QUARTER.finditer(text)]
    spans = [Span(*match.span()) for match, _ in quarters]
    before = list(_iterate_apart(_YEAR_BEFORE, text, spans))
    spans += [Span(*match.span()) for match in before]
    lengths = list(_iterate_apart(_LENGTH, text, spans))
    dates = list(_iterate_apart(_DATE, text, spans))
    latest = list(_iterate_apart(_LATEST, text, spans)) if not dates and not quarters else []
    named = [(match.start(), asked) for match, asked in quarters]
    named += [(match.start(), _read_date(match, lengths)) for match in dates]
    spans += [Span(*match.span()) for match in (*lengths, *dates, *latest)]
    return AskedPeriods(
        periods=tuple(dict.fromkeys(asked for _, asked in sorted(named))),
        with_year_before=bool(before),
        latest=bool(latest),
        months=_read_months(lengths[0]) if lengths else 0,
        spans=tuple(sorted(spans, key=lambda span: span.start)),
    )


def _iterate_apart(
    pattern: re.Pattern[str], text: str, taken: Sequence[Span]
) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern that do not overlap some spans."""
    for match in pattern.finditer(text):
        if not any(match.start() < span.end and span.start < match.end() for span in taken):
            yield match


def _read_quarter(match: re.Match[str]) -> AskedPeriod:
    """Return the quarter that a match of `_QUARTER` names."""
    year = match["year"] or match["year2"] or match["year3"]
    word = match["word"] or match["word2"]
    quarter = _ORDINALS[word] if word else int(match["figure"] or match["figure2"])
    return AskedPeriod(3, (float(year), 0.0, 0.0), quarter)


def _read_months(match: re.Match[str]) -> int:
    """Return the length in months that a match of `_LENGTH` names."""
    if match["number"]:
        return _NUMBERS[match["number"]]
    if match["weeks"]:
        return _WEEKS.get(match["weeks"], 12)
    return 3 if match["quarter"] else 6 if match["half"] else 12


def _read_date(match: re.Match[str], lengths: Sequence[re.Match[str]]) -> AskedPeriod:
    """Return the period that ends at a date.

    Its length is the last one before the date in the question, else the first one behind it.

    Args:
        match: The match of the date.
        lengths: The matches of lengths in the question.
    """
    dates, _ = extract_dates(match[0])
    before = [length for length in lengths if length.start() < match.start()]
    length = before[-1] if before else next(iter(lengths), None)
    return AskedPeriod(_read_months(length) if length else 0, dates[0])


def _to_parts(end: Date) -> tuple[int, int, int]:
    """Return year, month and day; an open day is the 28th, and an open month January 1."""
    year, month, day = (int(part) for part in end)
    return (year, month, day or 28) if month else (year, 1, 1)


def _to_day(end: Date) -> date:
    """Return a date as a day of the calendar, with open components as in `_to_parts`."""
    return date(*_to_parts(end))
