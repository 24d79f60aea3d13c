"""Comparison of short answers, in English and Indonesian."""

import re
from collections.abc import Iterator, Sequence

from fathom.text.dates import extract_dates, parse_date
from fathom.text.numbers import parse_numbers

_ARTICLES = re.compile(r"\b(?:a|an|the|sang|si)\b")
_MARKS = re.compile(r"[^\w\s]")


def normalize_answer(answer: str) -> str:
    """Return an answer in lower case, without punctuation, articles and extra blanks.

    This is the normal form of SQuAD (Rajpurkar et al. 2016) with Indonesian articles added. Of an
    answer without any other words only extra blanks are removed.
    """
    words = _MARKS.sub("", answer.casefold())
    return " ".join(_ARTICLES.sub(" ", words).split()) or " ".join(answer.split())


def contains_answer(one: str, other: str) -> bool:
    """Return whether the normal form of either answer contains the other's as whole words."""
    first, second = f" {normalize_answer(one)} ", f" {normalize_answer(other)} "
    return first in second or second in first


def remove_blanks(answer: str) -> str:
    """Return an answer in lower case without blanks; text taken from a page may lack blanks."""
    return "".join(answer.casefold().split())


Amount = tuple[float, ...]
"""A number, a date (year, month, day) or a time of day (hour, minute); larger is more or later."""

_CLOCK = re.compile(r"\b(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)\b")
_CLOCK_PARTS = 2
"""The length of the tuple of a time of day: hour and minute."""
_SAME_SHARE = 0.01
"""The largest difference of two numbers that agree, as a share of the larger one."""


def parse_amount(text: str) -> Amount | None:
    """Return the most exact date in a text, else its first number; `None` without either.

    Only amounts of the same length can be compared: dates with dates, numbers with numbers.
    """
    return parse_date(text) or next(((number,) for number in parse_numbers(text)), None)


def list_amounts(text: str) -> list[Amount]:
    """Return the distinct dates, times of day and numbers in a text, numbers in words included."""
    return list(dict.fromkeys(_iterate_amounts(text)))


def amounts_agree(one: Amount, other: Amount) -> bool:
    """Return whether two amounts can be the same.

    Dates may lack a month or a day, and numbers may differ by `_SAME_SHARE`. Times of day must be
    equal.
    """
    if len(one) != len(other):
        return False
    if len(one) == 1:
        return abs(one[0] - other[0]) <= _SAME_SHARE * max(abs(one[0]), abs(other[0]))
    # A 0 in a time of day is a value (midnight, the full hour); in a date it stands for unknown.
    if len(one) == _CLOCK_PARTS:
        return one == other
    return all(
        first == second or 0 in {first, second} for first, second in zip(one, other, strict=True)
    )


def _iterate_amounts(text: str) -> Iterator[Amount]:
    """Yield the dates, then times of day, then numbers; no text is read as two kinds of amount."""
    dates, rest = extract_dates(text)
    yield from dates
    for match in _CLOCK.finditer(rest):
        yield float(match["hour"]), float(match["minute"])
    yield from ((number,) for number in parse_numbers(_CLOCK.sub(" ", rest)))


_OVERLAP = 0.6
"""The lowest share of common words at which two answers match."""


def words_overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two answers share most of their distinct words.

    The share is that of the answer with more words and must be at least `_OVERLAP`. All words that
    are not of letters only, such as numbers, must be in both.
    """
    first, second = set(one), set(other)
    if {word for word in first if not word.isalpha()} != {
        word for word in second if not word.isalpha()
    }:
        return False
    return len(first & second) >= _OVERLAP * max(len(first), len(second))
