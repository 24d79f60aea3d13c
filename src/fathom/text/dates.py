"""Written dates, in English and Indonesian, as tuples that can be compared."""

import re

from fathom.text import english, indonesian

Date = tuple[float, float, float]
"""Year, month and day; a month or day that the text does not give is 0."""

FULL_MONTHS = tuple(
    dict.fromkeys(names[0] for months in (english.MONTHS, indonesian.MONTHS) for names in months)
)
"""Full names of months, in lower case."""
_MONTHS = {
    name: number
    for months in (english.MONTHS, indonesian.MONTHS)
    for number, names in enumerate(months, start=1)
    for name in names
}
MONTH = rf"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
"""The pattern of a month's name or abbreviation, in lower case; it may end in a full stop."""
YEAR = r"(?:1[0-9]|20)\d\d"
"""The pattern of a number from 1000 to 2099, which is taken for a year without other signs."""

# A time of day may follow a date directly, as in "2021-05-03T10:00".
_ISO = re.compile(
    r"\b(?P<year>\d{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])(?:\b|t(?=\d\d:))"
)
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
# The most exact form comes first.
_FORMS = (_ISO, _DAY_FIRST, _MONTH_FIRST, _YEAR)


def parse_month(name: str) -> int | None:
    """Return the number, 1 to 12, of a month's name or abbreviation; `None` for other words."""
    return _MONTHS.get(name.lower().rstrip("."))


def parse_date(text: str) -> Date | None:
    """Return the most exact date in a text, and the first of equally exact ones.

    If the text has no date but names a century, the date is the middle year of the century. `None`
    if it has neither.
    """
    lower = text.lower()
    for form in _FORMS:
        match = form.search(lower)
        if match:
            return _build_date(match)
    century = _CENTURY.search(lower)
    return (100.0 * int(century["ordinal"] or century["ke"]) - 50, 0.0, 0.0) if century else None


def extract_dates(text: str) -> tuple[list[Date], str]:
    """Return all dates in a text, exact ones first, and the rest of the text in lower case."""
    rest = text.lower()
    dates = []
    for form in _FORMS:
        dates += [_build_date(match) for match in form.finditer(rest)]
        # A less exact form must not match inside a date that was found.
        rest = form.sub(" ", rest)
    return dates, rest


def _build_date(match: re.Match[str]) -> Date:
    """Return the date of a match."""
    groups = match.groupdict()
    name = groups.get("name")
    month = parse_month(name) if name else groups.get("month")
    return float(groups["year"]), float(month or 0), float(groups.get("day") or 0)
