"""Short answers that can be put in order: dates and amounts; English and Indonesian."""

import re
from collections.abc import Iterator

from fathom.text.dates import date_of, dates_of
from fathom.text.numbers import numbers

Amount = tuple[float, ...]
"""Larger is later or more; a date is year, month, day, a time of day hour and minute."""

_CLOCK = re.compile(r"\b(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)\b")
_SAME_SHARE = 0.01


def amount_of(text: str) -> Amount | None:
    """The first date in `text`, else its first number; `None` where there is neither.

    Dates compare with dates, and numbers with numbers.
    """
    return date_of(text) or next(((number,) for number in numbers(text)), None)


def amounts_of(text: str) -> list[Amount]:
    """All dates, times of day and numbers in `text`, numbers also as words; none twice."""
    return list(dict.fromkeys(_amounts(text)))


def agree(one: Amount, other: Amount) -> bool:
    """Whether both can be the same: what a date leaves open agrees, numbers may be rounded."""
    if len(one) != len(other):
        return False
    if len(one) == 1:
        return abs(one[0] - other[0]) <= _SAME_SHARE * max(abs(one[0]), abs(other[0]))
    return all(mine == its or 0 in {mine, its} for mine, its in zip(one, other, strict=True))


def _amounts(text: str) -> Iterator[Amount]:
    """What is one sort of amount is no other."""
    dates, rest = dates_of(text)
    yield from dates
    for found in _CLOCK.finditer(rest):
        yield float(found["hour"]), float(found["minute"])
    yield from ((number,) for number in numbers(_CLOCK.sub(" ", rest)))
