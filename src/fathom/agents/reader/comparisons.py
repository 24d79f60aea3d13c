"""Comparisons decided: what was found out of each side becomes the answer, or none.

Values are compared only where both sides have one of the same sort: dates, or numbers with what
they measure. What is left open is not guessed: of "1990" and "3 May 1990" neither is earlier, and
"5 to 7 days" is not less than "6 days".
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from fathom.question.comparison import Comparison
from fathom.question.form import word_for
from fathom.text.answer_match import contains_answer
from fathom.text.dates import Date, dates_of
from fathom.text.numbers import quantities

_RANGE = re.compile(
    r"\d\s*(?:[\u2013\u2014-]|to|until|sampai(?: dengan)?|hingga|s\.?/?d\.?)\s*\d"
    r"|\b(?:between|from|antara|dari)\b",
    re.IGNORECASE,
)
_ERA = re.compile(
    r"\b(?P<century>\d{1,2})(?:st|nd|rd|th)[ -]century\b|\babad (?:ke-?)?(?P<abad>\d{1,2})\b"
    r"|\b(?P<decade>\d{3}0)(?:'?s\b|-an\b)",
    re.IGNORECASE,
)
_YES, _NO = {"yes", "ya"}, {"no", "tidak"}


class SideValue(NamedTuple):
    """What can be compared.

    Attributes:
        kind: `date`, or what a number measures.
        low: The least it can be.
        high: The most.
    """

    kind: str
    low: tuple[float, ...]
    high: tuple[float, ...]


def value_of(text: str) -> SideValue | None:
    """The value that a short answer gives; `None` where it gives none or several."""
    eras = list(_ERA.finditer(text))
    if eras:
        return _years(eras[0]) if len(eras) == 1 else None
    dates, _ = dates_of(text)
    if dates:
        ranged = len(dates) == 1 or _RANGE.search(text)
        lows, highs = [_first(each) for each in dates], [_last(each) for each in dates]
        return SideValue("date", min(lows), max(highs)) if ranged else None
    found = quantities(text)
    kinds = {each.kind for each in found if each.kind}
    kind = next(iter(kinds), "")
    told = [each.value for each in found if each.kind == kind or _RANGE.search(text)]
    if len(kinds) > 1 or not told or (len(set(told)) > 1 and not _RANGE.search(text)):
        return None
    return SideValue(kind, (min(told),), (max(told),))


def _years(era: re.Match[str]) -> SideValue:
    """A century or a decade, from its first to its last day."""
    century = era["century"] or era["abad"]
    last = int(century) * 100 if century else int(era["decade"]) + 9
    first = last - 99 if century else last - 9
    return SideValue("date", (first, 1, 1), (last, 12, 31))


def decided(question: str, compared: Comparison, answers: Sequence[str]) -> str:
    """The short answer to a comparison; empty where it cannot be told.

    Args:
        question: The comparison.
        compared: What it compares.
        answers: To its questions, in their order; empty where nothing was found.
    """
    if compared.want == "every":
        return _every(question, answers)
    if not all(answers) or len(answers) != len(compared.options):
        return ""
    if compared.want == "same":
        return _same(question, answers)
    if compared.want in {"least", "most"}:
        place = _extreme(answers, most=compared.want == "most")
        return "" if place is None else compared.options[place]
    if compared.want in {"less", "more"}:
        place = _extreme(answers, most=compared.want == "more")
        return "" if place is None else word_for(question, yes=place == 0)
    return ""


def _every(question: str, answers: Sequence[str]) -> str:
    said = [answer.casefold() for answer in answers]
    if any(each in _NO for each in said):
        return word_for(question, yes=False)
    return word_for(question, yes=True) if said and all(each in _YES for each in said) else ""


def _same(question: str, answers: Sequence[str]) -> str:
    values = [value_of(answer) for answer in answers]
    first, others = values[0], values[1:]
    if first is None or None in others:
        return word_for(
            question, yes=all(contains_answer(answers[0], other) for other in answers[1:])
        )
    if any(each is not None and each.kind != first.kind for each in others):
        return ""
    return word_for(question, yes=all(each == first for each in others))


def _extreme(answers: Sequence[str], *, most: bool) -> int | None:
    """The place of the one value beyond all others; `None` where they overlap or differ in kind."""
    values = [each for each in map(value_of, answers) if each is not None]
    if len(values) != len(answers) or len({each.kind for each in values}) > 1:
        return None
    choose = max if most else min
    place = values.index(choose(values, key=lambda each: each.low))
    own = values[place]
    others = [each for at, each in enumerate(values) if at != place]
    apart = all(each.high < own.low if most else own.high < each.low for each in others)
    return place if apart else None


def _first(date: Date) -> Date:
    return date[0], date[1] or 1, date[2] or 1


def _last(date: Date) -> Date:
    return date[0], date[1] or 12, date[2] or 31
