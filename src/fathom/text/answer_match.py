"""Whether two short answers say the same; English and Indonesian."""

import re
from collections.abc import Iterator, Sequence

from fathom.text.answer_type import answer_type
from fathom.text.dates import date_of, dates_of
from fathom.text.numbers import numbers

_ARTICLES = re.compile(r"\b(?:a|an|the|sang|si)\b")
_MARKS = re.compile(r"[^\w\s]")


def normalize_answer(answer: str) -> str:
    """An answer without capitals, punctuation, articles and extra blanks.

    English as SQuAD compares answers (Rajpurkar et al. 2016), and the same for Indonesian. What
    is nothing but that stays as it is.
    """
    plain = _MARKS.sub("", answer.casefold())
    return " ".join(_ARTICLES.sub(" ", plain).split()) or " ".join(answer.split())


def contains_answer(one: str, other: str) -> bool:
    """Whether one answer holds all words of the other, in a row."""
    first, second = f" {normalize_answer(one)} ", f" {normalize_answer(other)} "
    return first in second or second in first


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


_OVERLAP = 0.6


def answers_match(question: str, one: str, other: str) -> bool:
    """Whether both say the same.

    They do if one holds the other; if a date or number was asked for and theirs are equal; or if
    most of their words are the same, with the same digits.
    """
    if not one or not other:
        return False
    if contains_answer(one, other):
        return True
    if answer_type(question) in {"time", "number"}:
        first, second = amount_of(one), amount_of(other)
        return first is not None and first == second
    return _overlap(normalize_answer(one).split(), normalize_answer(other).split())


def cluster_answers(question: str, answers: Sequence[str]) -> list[list[int]]:
    """Places of answers that say the same; in the order of the first of each, empty ones left out.

    An answer joins the first group that holds one alike.
    """
    found: list[list[int]] = []
    for place, answer in enumerate(answers):
        home = (
            each
            for each in found
            if any(answers_match(question, answer, answers[at]) for at in each)
        )
        if answer:
            own = next(home, None)
            own.append(place) if own is not None else found.append([place])
    return found


def _overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    first, second = set(one), set(other)
    if {w for w in first if not w.isalpha()} != {w for w in second if not w.isalpha()}:
        return False
    return len(first & second) >= _OVERLAP * max(len(first), len(second))
