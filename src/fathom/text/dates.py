"""Dates as they are written, in English and Indonesian, put so that they can be compared."""

import re

from fathom.text import english, indonesian

Date = tuple[float, float, float]
"""Year, month and day; 0 where that is left open."""

FULL_MONTHS = tuple(
    dict.fromkeys(names[0] for own in (english.MONTHS, indonesian.MONTHS) for names in own)
)
"""Names of months that are no abbreviations, in lower case."""
_MONTHS = {
    name: number
    for own in (english.MONTHS, indonesian.MONTHS)
    for number, names in enumerate(own, start=1)
    for name in names
}
MONTH = rf"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
"""Pattern of a month's name, in lower case, also of an abbreviation with its point."""
YEAR = r"(?:1[0-9]|20)\d\d"
"""Pattern of a year that needs no other sign to be one."""

_ISO = re.compile(r"\b(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})\b")
_DAY_FIRST = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<name>{MONTH}),?\s+(?P<year>\d{{3,4}})\b"
)
_MONTH_FIRST = re.compile(
    rf"\b(?P<name>{MONTH})\s+(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+)?(?P<year>\d{{3,4}})\b"
)
_YEAR = re.compile(r"\b(?P<year>1\d{3}|20\d{2})s?\b(?![.,]\d|\s*(?:%|km|m\b|people|million))")
_CENTURY = re.compile(
    r"\b(?P<ordinal>\d{1,2})(?:st|nd|rd|th)[\s-]+centur(?:y|ies)\b|\babad\s+ke-?\s*(?P<ke>\d{1,2})\b"
)
_FORMS = (_ISO, _DAY_FIRST, _MONTH_FIRST, _YEAR)


def month_of(name: str) -> int | None:
    """1 to 12, of a name or an abbreviation; `None` where it is none."""
    return _MONTHS.get(name.lower().rstrip("."))


def date_of(text: str) -> Date | None:
    """The most exact date in a text, of equally exact ones the first; else a century's middle."""
    lower = text.lower()
    for form in _FORMS:
        found = form.search(lower)
        if found:
            return _date(found)
    century = _CENTURY.search(lower)
    return (100.0 * int(century["ordinal"] or century["ke"]) - 50, 0.0, 0.0) if century else None


def dates_of(text: str) -> tuple[list[Date], str]:
    """All dates in a text, the exact ones first, and the text in lower case without them."""
    rest = text.lower()
    dates = []
    for form in _FORMS:
        dates += [_date(found) for found in form.finditer(rest)]
        rest = form.sub(" ", rest)
    return dates, rest


def _date(found: re.Match[str]) -> Date:
    parts = found.groupdict()
    name = parts.get("name")
    month = month_of(name) if name else parts.get("month")
    return float(parts["year"]), float(month or 0), float(parts.get("day") or 0)
