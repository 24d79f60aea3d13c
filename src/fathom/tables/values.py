"""The values of cells: numbers, dates and durations as tables write them, with footnote marks."""

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from fathom.text.dates import MONTH, YEAR, Date, extract_dates, parse_month
from fathom.text.numbers import INDIAN_GROUPS, parse_quantities, read_scale

_FOOTNOTE = re.compile(
    r"\[[\w ]{1,12}\]|(?<![\u2020\u2021*\u00a7\u00b6?])[\u2020\u2021*\u00a7\u00b6?]+$"
)
Period = tuple[Date, Date]
"""The first and the last date that a cell names."""
_MARKS = frozenset("\u2020\u2021*\u00a7\u00b6?")
_AMOUNT = re.compile(r"\d{1,3}[.,]\d+|\d{1,3}(?:,\d{3})+(?:\.\d+)?")
"""A number with a decimal mark or with marks between thousands, which is no date."""
_CURRENCY = (
    r"(?:US|[AS])?\$|[\u20ac\u00a3\u00a5]|Rp\.?"
    r"|(?:USD|EUR|GBP|JPY|IDR|SGD|AUD|CAD|CHF|CNY|MYR)\b"
)
_BRACKETED = re.compile(
    rf"(?P<before>(?:{_CURRENCY})?\s*)\((?P<inside>(?:{_CURRENCY})?\s*[\d., \u00a0]*\d\s*%?)\)"
    r"(?P<after>\s*%)?",
    re.IGNORECASE,
)
"""A number below zero as accounts write it, such as "(1,200)"."""
_NUMBER = re.compile(
    rf"(?:[@#~\u2248<>]|no\.?)?\s*+(?P<sign>[-+\u2212\u2013]?)\s*+(?P<currency>{_CURRENCY})?\s*+"
    r"(?P<inner>[-+\u2212\u2013]?)\s*+"
    rf"(?P<digits>{INDIAN_GROUPS}|"
    r"\d{1,3}(?:[., \u00a0]\d{3})+(?!\d)(?:[.,]\d+)?|(?:\d*[.,])?\d+)"
    r"(?P<rest>.*)",
    re.IGNORECASE,
)
_MINUS = frozenset("-\u2212\u2013")
_MORE_DIGITS = re.compile(r"\s*[-\u2013:/]\s*\d|[.,]\d|\w*\d")
_THOUSANDS = re.compile(r"k\b", re.IGNORECASE)
_MARKS_BETWEEN = re.compile(r"[, \u00a0]")
_GROUPS = re.compile(r"\d{1,3}(?:[, \u00a0]\d{3})+(?:\.\d+)?")
_GROUPS_BY_POINT = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_DECIMAL_COMMA = re.compile(r"\d+,(?:\d{1,2}|\d{4,})")
_DECIMAL_POINT = re.compile(r"\d*\.(?:\d{1,2}|\d{4,})|\d{4,}\.\d+")
"""A number whose point is surely a decimal mark, even if the table uses decimal commas."""
_SURE_COMMA = re.compile(
    r"\D{0,4}(?:\d+,\d{1,2}|\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,})(?![\d.,])"
)
_SURE_POINT = re.compile(
    r"\D{0,4}(?:\d*\.(?:\d{1,2}|\d{4,})|\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,})(?![\d.,])"
)
_CLOCK = re.compile(r"(?:(?P<h>\d{1,2}):)?(?P<m>\d{1,3}):(?P<s>\d{2}(?:\.\d+)?)(?!\s*[ap]\.?m)")
_DAY_OF_YEAR = re.compile(
    rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s*[\u2013-]\s*\d{{1,2}})?\s+(?P<name>{MONTH})"
    rf"|(?P<name2>{MONTH})\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b|(?P<name3>{MONTH})$",
    re.IGNORECASE,
)
_ISO = re.compile(r"(\d{4})([-/.])(\d\d?)\2(\d\d?)(?:[T ]\d\d?:\d\d.*)?")
_FIGURES = re.compile(
    r"(?<![\w./-])(?:(\d{1,2})/(\d{1,2})/(\d{4}|\d\d)|(\d{1,2})([-.])(\d{1,2})\5(\d{4}))(?![\w/-])"
)
_LAST_MONTH = 12
_YEARS = re.compile(rf"\b({YEAR})\s*[-\u2013\u2014/]\s*(\d{{2}}(?:\d\d)?)?(?!\d)")
_TIME_WORD = re.compile(
    r"\d\s?(?:m?s|h|sec|min|hour|day|week|month|year|detik|menit|jam|hari|minggu|bulan|tahun)",
    re.IGNORECASE,
)
_MAYBE_DATE = re.compile(rf"(?<!\d)\d{{3,4}}(?!\d)|\d/\d|\b{MONTH}|\bcentur|\babad", re.IGNORECASE)
_SWAPPED = str.maketrans(",.", ".,")
_EMPTY = re.compile(r"[\s\-\u2013\u2014.?]*|n/?a|none", re.IGNORECASE)


class Number(NamedTuple):
    """A number that a cell begins with.

    Attributes:
        value: The value of its digits and sign. A scale behind it is applied if a currency stands
            before it ("$1.5 million") or the scale is a "k" ("12k"), and else left to the unit.
        unit: The currency before it, else the sign or words behind it; empty without any.
    """

    value: float
    unit: str


def is_empty(text: str) -> bool:
    """Return whether a cell holds no value: it is blank, "n/a", "none" or only signs like "-"."""
    return _EMPTY.fullmatch(text) is not None


def strip_footnotes(text: str) -> str:
    """Return the text of a cell without the marks of footnotes and outer blanks."""
    # Few cells of a large table have marks, and this look is faster than a search.
    has_marks = "[" in text or text[-1:] in _MARKS
    return (_FOOTNOTE.sub("", text) if has_marks else text).strip()


def parse_number(text: str, *, decimal_comma: bool = False) -> Number | None:
    """Return the number that a cell begins with; `None` if it begins with something else.

    Args:
        text: The text of the cell.
        decimal_comma: Whether the decimal mark is a comma, so that points only group digits.
    """
    bare = strip_footnotes(text)
    bracketed = _BRACKETED.fullmatch(bare)
    if bracketed is not None:
        bare = f"-{bracketed['before']}{bracketed['inside']}{bracketed['after'] or ''}"
    match = _NUMBER.fullmatch(bare)
    if match is None:
        return None
    rest = match["rest"]
    # "4-1" is a score, "1/4" a fraction of another kind, "12:30" a time.
    if _MORE_DIGITS.match(rest):
        return None
    value = read_digits(match["digits"], decimal_comma=decimal_comma)
    negative = not {match["sign"], match["inner"]}.isdisjoint(_MINUS)
    thousands = _THOUSANDS.match(rest)
    if match["currency"] or thousands:
        value = round(value * read_scale(rest, match["currency"] or ""), 9)
    rest = rest[thousands.end() :] if thousands else rest
    unit = (match["currency"] or rest.partition("(")[0]).strip(" +.,;")
    return Number(-value if negative else value, unit)


def read_digits(digits: str, *, decimal_comma: bool = False) -> float:
    """Return the value of digits with marks between them.

    Args:
        digits: The digits, without a sign.
        decimal_comma: Whether the decimal mark is known to be a comma. If not, the places of the
            marks decide: "1,234" is a thousand and more, but "1.234,5" and "1,5" have a decimal
            comma.
    """
    if re.fullmatch(INDIAN_GROUPS, digits):
        digits = digits.replace(",", "")
    elif decimal_comma and not _DECIMAL_POINT.fullmatch(digits):
        digits = digits.replace(".", "").replace(",", ".")
    elif _GROUPS.fullmatch(digits):
        digits = _MARKS_BETWEEN.sub("", digits)
    elif digits.count(".") > 1 or ("," in digits and _GROUPS_BY_POINT.fullmatch(digits)):
        digits = digits.replace(".", "").replace(",", ".")
    elif _DECIMAL_COMMA.fullmatch(digits):
        digits = digits.replace(",", ".")
    return float(_MARKS_BETWEEN.sub("", digits))


def prefers_decimal_comma(texts: Iterable[str]) -> bool | None:
    """Return whether more cells surely have a decimal comma than a decimal point.

    `None` if there are equally many, as when no cell is sure.
    """
    votes = 0
    for text in texts:
        bare = strip_footnotes(text)
        votes += bool(_SURE_COMMA.match(bare)) - bool(_SURE_POINT.match(bare))
    return votes > 0 if votes else None


def parse_duration(text: str) -> float | None:
    """Return the seconds of a duration such as "4:32" or "15 years, 25 days"; else `None`."""
    bare = strip_footnotes(text).strip("+ ")
    clock = _CLOCK.match(bare)
    if clock is not None:
        return 3600 * float(clock["h"] or 0) + 60 * float(clock["m"]) + float(clock["s"])
    # Most cells hold no time, and a search for one word is much faster than reading all units.
    is_time = bare[:1].isdigit() and _TIME_WORD.search(bare)
    quantities = parse_quantities(bare) if is_time else []
    if not quantities or any(quantity.kind != "time" for quantity in quantities):
        return None
    return sum(quantity.value for quantity in quantities)


def parse_period(text: str, *, day_first: bool = False) -> tuple[Date, Date] | None:
    """Return the first and the last date that a cell names; `None` if it names none.

    The two are equal if the cell names one date.

    Args:
        text: The text of the cell.
        day_first: Whether the day is before the month in a date in figures, such as "5/3/2024".
    """
    bare = strip_footnotes(text)
    if not _MAYBE_DATE.search(bare) or _AMOUNT.fullmatch(bare):
        return None
    iso = _ISO.fullmatch(bare)
    if iso is not None and 1 <= int(iso[3]) <= _LAST_MONTH and 1 <= int(iso[4]) <= 31:
        date = (float(iso[1]), float(iso[3]), float(iso[4]))
        return date, date
    figures = [_read_figures(match, day_first=day_first) for match in _FIGURES.finditer(bare)]
    days = [date for date in figures if 1 <= date[1] <= _LAST_MONTH and 1 <= date[2] <= 31]
    if days:
        return min(days), max(days)
    years = _YEARS.search(bare)
    if years is not None and not re.search(MONTH, bare.lower()):
        end = years[2] or ""
        last = float(years[1][: 4 - len(end)] + end) if end else 0.0
        return (float(years[1]), 0.0, 0.0), (last or float(years[1]), 0.0, 0.0)
    dates, _ = extract_dates(bare)
    dates = dates or _find_days(bare)
    return (min(dates), max(dates)) if dates else None


def prefers_day_first(texts: Iterable[str]) -> bool | None:
    """Return whether more dates in figures surely begin with the day than with the month.

    A date is sure if one of these figures is above twelve. `None` if there are equally many, as if
    no date is sure.
    """
    votes = 0
    for text in texts:
        for match in _FIGURES.finditer(text):
            first, second, _ = _list_figures(match)
            votes += (first > _LAST_MONTH) - (second > _LAST_MONTH)
    return votes > 0 if votes else None


def _list_figures(match: re.Match[str]) -> tuple[float, float, float]:
    """Return the three figures of a match of `_FIGURES` in their order."""
    one, two, three = match.group(1, 2, 3) if match[1] else match.group(4, 6, 7)
    return float(one), float(two), float(three)


def _read_figures(match: re.Match[str], *, day_first: bool) -> Date:
    """Return the date of a match of `_FIGURES`.

    A figure above twelve is the day. In dates with points, such as "5.3.2024", the day is first.
    """
    month, day, year = _list_figures(match)
    if month > _LAST_MONTH or (day <= _LAST_MONTH and (day_first or match[5] == ".")):
        month, day = day, month
    if year < 100:
        year += 1900 if year > 30 else 2000
    return year, month, day


def _find_days(text: str) -> list[Date]:
    """Return the date, with the year 0, of a text that names no year; at most one."""
    match = _DAY_OF_YEAR.match(text)
    if match is None:
        return []
    month = parse_month(match["name"] or match["name2"] or match["name3"])
    return [(0.0, float(month or 0), float(match["day"] or match["day2"] or 0))]


def fold_text(text: str) -> str:
    """Return a text in lower case, without accents and in compatible characters (NFKD)."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def format_number(value: float, *, decimal_comma: bool = False) -> str:
    """Return a number as text, with marks between thousands and at most four decimals."""
    text = f"{value:,.4f}".rstrip("0").rstrip(".") if value % 1 else f"{value:,.0f}"
    return text.translate(_SWAPPED) if decimal_comma else text
