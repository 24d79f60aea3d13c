"""Comparison of short answers, in English and Indonesian."""

import re
from collections.abc import Iterator, Sequence

from fathom.text.dates import extract_dates, parse_date
from fathom.text.numbers import parse_numbers

_ARTICLES = re.compile(r"\b(?:a|an|the|sang|si)\b")
_MARKS = re.compile(r"[^\w\s]")


def normalize_answer(answer: str) -> str:
    """Return an answer without capitals, punctuation, articles and extra blanks.

    English answers are compared as in SQuAD (Rajpurkar et al. 2016), Indonesian ones alike. An
    answer that consists of nothing else stays as it is.
    """
    words = _MARKS.sub("", answer.casefold())
    return " ".join(_ARTICLES.sub(" ", words).split()) or " ".join(answer.split())


def contains_answer(one: str, other: str) -> bool:
    """Return whether one answer holds all words of the other, in a row."""
    first, second = f" {normalize_answer(one)} ", f" {normalize_answer(other)} "
    return first in second or second in first


def remove_blanks(answer: str) -> str:
    """Return an answer without capitals and blanks, as a text is that was taken off a page."""
    return "".join(answer.casefold().split())


Amount = tuple[float, ...]
"""A number, a date (year, month, day) or a time of day (hour, minute); larger is more or later."""

_CLOCK = re.compile(r"\b(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)\b")
_CLOCK_PARTS = 2
"""The numbers of a time of day: its hour and its minute."""
_SAME_SHARE = 0.01
"""The largest difference of numbers that count as the same, as a share of the larger one."""


def parse_amount(text: str) -> Amount | None:
    """Return the first date in `text`, else its first number; `None` without either.

    Dates compare with dates, and numbers with numbers.
    """
    return parse_date(text) or next(((number,) for number in parse_numbers(text)), None)


def list_amounts(text: str) -> list[Amount]:
    """Return all dates, times of day and numbers in `text`, numbers also in words; none twice."""
    return list(dict.fromkeys(_iterate_amounts(text)))


def amounts_agree(one: Amount, other: Amount) -> bool:
    """Return whether two amounts can be the same.

    Dates may be partial, and numbers rounded; times of day are exact.
    """
    if len(one) != len(other):
        return False
    if len(one) == 1:
        return abs(one[0] - other[0]) <= _SAME_SHARE * max(abs(one[0]), abs(other[0]))
    # The 0 of a time of day is the full hour or midnight, and leaves nothing open.
    if len(one) == _CLOCK_PARTS:
        return one == other
    return all(
        first == second or 0 in {first, second} for first, second in zip(one, other, strict=True)
    )


def _iterate_amounts(text: str) -> Iterator[Amount]:
    """Yield all amounts; the text of one kind of amount is not read as another kind."""
    dates, rest = extract_dates(text)
    yield from dates
    for match in _CLOCK.finditer(rest):
        yield float(match["hour"]), float(match["minute"])
    yield from ((number,) for number in parse_numbers(_CLOCK.sub(" ", rest)))


_OVERLAP = 0.6
"""The least share of common words of answers that match."""


def words_overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether most words are common to both, and all words with digits."""
    first, second = set(one), set(other)
    if {word for word in first if not word.isalpha()} != {
        word for word in second if not word.isalpha()
    }:
        return False
    return len(first & second) >= _OVERLAP * max(len(first), len(second))
