"""Short answers that can be put in order: dates and amounts; English and Indonesian."""

import re
from collections.abc import Iterator

Amount = tuple[float, ...]
"""Larger is later or more; a date is year, month, day, a time of day hour and minute."""

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
_CLOCK = re.compile(r"\b(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)\b")
_WORDS = {
    word: float(value)
    for value, words in enumerate(
        (
            "one satu", "two dua", "three tiga", "four empat", "five lima", "six enam",
            "seven tujuh", "eight delapan", "nine sembilan", "ten sepuluh", "eleven sebelas",
            "twelve",
        ),
        start=1,
    )
    for word in words.split()
}  # fmt: skip
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b")
_SAME_SHARE = 0.01
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


def amounts_of(text: str) -> list[Amount]:
    """All dates, times of day and numbers in `text`, numbers also as words; none twice."""
    return list(dict.fromkeys(_amounts(text.lower())))


def agree(one: Amount, other: Amount) -> bool:
    """Whether both can be the same: what a date leaves open agrees, numbers may be rounded."""
    if len(one) != len(other):
        return False
    if len(one) == 1:
        return abs(one[0] - other[0]) <= _SAME_SHARE * max(abs(one[0]), abs(other[0]))
    return all(mine == its or 0 in {mine, its} for mine, its in zip(one, other, strict=True))


def _amounts(text: str) -> Iterator[Amount]:
    """What one pattern has taken, the next ones do not see."""
    for pattern in (_ISO, _DAY_FIRST, _MONTH_FIRST, _YEAR):
        yield from (_date(found.groupdict()) for found in pattern.finditer(text))
        text = pattern.sub(" ", text)
    for found in _CLOCK.finditer(text):
        yield float(found["hour"]), float(found["minute"])
    text = _CLOCK.sub(" ", text)
    yield from ((_value(found),) for found in _NUMBER.finditer(text))
    yield from ((_WORDS[found.group()],) for found in _WORD.finditer(text))


def _date(parts: dict[str, str | None]) -> Amount:
    name = parts.get("name")
    month = _MONTH[name] if name else float(parts.get("month") or 0)
    return float(parts["year"] or 0), float(month), float(parts.get("day") or 0)


def _value(found: re.Match[str]) -> float:
    digits = found["digits"]
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", digits):
        digits = re.sub(r"[.,]", "", digits)
    return float(digits.replace(",", ".")) * _SCALES.get(found["scale"] or "", 1.0)
