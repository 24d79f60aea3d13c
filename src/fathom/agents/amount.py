"""Short answers that can be put in order: dates and amounts; English and Indonesian."""

import re

Amount = tuple[float, ...]
"""Larger is later or more; a date is year, month, day."""

_MONTHS = (
    ("january", "januari", "jan"),
    ("february", "februari", "feb"),
    ("march", "maret", "mar"),
    ("april", "april", "apr"),
    ("may", "mei", "may"),
    ("june", "juni", "jun"),
    ("july", "juli", "jul"),
    ("august", "agustus", "aug"),
    ("september", "september", "sep"),
    ("october", "oktober", "oct"),
    ("november", "november", "nov"),
    ("december", "desember", "dec"),
)
_MONTH = {word: number for number, words in enumerate(_MONTHS, start=1) for word in words}
_NAMES = "|".join(sorted(_MONTH, key=len, reverse=True))
_ISO = re.compile(r"\b(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})\b")
_DAY_FIRST = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<name>{_NAMES})\.?,?\s+(?P<year>\d{{3,4}})\b"
)
_MONTH_FIRST = re.compile(
    rf"\b(?P<name>{_NAMES})\.?\s+(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+)?(?P<year>\d{{3,4}})\b"
)
_YEAR = re.compile(r"\b(?P<year>1\d{3}|20\d{2})s?\b(?![.,]\d|\s*(?:%|km|m\b|people|million))")
_CENTURY = re.compile(
    r"\b(?P<ordinal>\d{1,2})(?:st|nd|rd|th)[\s-]+centur(?:y|ies)\b|\babad\s+ke-?\s*(?P<ke>\d{1,2})\b"
)
_NUMBER = re.compile(
    r"(?P<digits>\d{1,3}(?:[.,]\d{3})+(?!\d)|\d+(?:[.,]\d+)?)\s*"
    r"(?P<scale>thousand|million|billion|trillion|ribu|juta|miliar|triliun)?\b",
)
_SCALES = {
    "thousand": 1e3, "ribu": 1e3, "million": 1e6, "juta": 1e6,
    "billion": 1e9, "miliar": 1e9, "trillion": 1e12, "triliun": 1e12,
}  # fmt: skip


def amount_of(text: str) -> Amount | None:
    """The first date in `text`, else its first number; `None` where there is neither.

    Dates compare with dates, and numbers with numbers.
    """
    lower = text.lower()
    for pattern in (_ISO, _DAY_FIRST, _MONTH_FIRST, _YEAR):
        found = pattern.search(lower)
        if found:
            return _date(found.groupdict())
    century = _CENTURY.search(lower)
    if century:
        return 100.0 * int(century["ordinal"] or century["ke"]) - 50, 0.0, 0.0
    number = _NUMBER.search(lower)
    return (_value(number),) if number else None


def _date(parts: dict[str, str | None]) -> Amount:
    name = parts.get("name")
    month = _MONTH[name] if name else float(parts.get("month") or 0)
    return float(parts["year"] or 0), float(month), float(parts.get("day") or 0)


def _value(found: re.Match[str]) -> float:
    digits = found["digits"]
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", digits):
        digits = re.sub(r"[.,]", "", digits)
    return float(digits.replace(",", ".")) * _SCALES.get(found["scale"] or "", 1.0)
