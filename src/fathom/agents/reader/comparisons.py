"""Decisions of comparisons: derive the answer from the answers for the two sides.

Values are compared only if all sides have one of the same kind: dates, or numbers of one unit. An
unclear comparison stays undecided: neither of "1990" and "3 May 1990" is earlier, and "5 to 7 days"
is not less than "6 days".
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from fathom.question.comparison import Comparison
from fathom.question.question import Question
from fathom.text.answer_match import contains_answer
from fathom.text.dates import Date, extract_dates
from fathom.text.numbers import parse_quantities

_RANGE = re.compile(
    r"\d\s*(?:[\u2013\u2014-]|to|until|sampai(?: dengan)?|hingga|s\.?/?d\.?)\s*"
    r"(?:\d|(?:jan|feb|mar|apr|ma[yi]|ju[nl]|a[gu]|sep|[od][ck]t|nov|de[cs])[a-z]*\.?\s+\d)"
    r"|\b(?:between|from|antara|dari)\b",
    re.IGNORECASE,
)
_ERA = re.compile(
    r"\b(?P<century>\d{1,2})(?:st|nd|rd|th)[ -]century\b|\babad (?:ke-?)?(?P<abad>\d{1,2})\b"
    r"|\b(?P<decade>\d{3}0)(?:'?s\b|-an\b)",
    re.IGNORECASE,
)
_SAME_YEAR = re.compile(r"\bsame year\b|\btahun yang sama\b", re.IGNORECASE)
YES, NO = frozenset({"yes", "ya"}), frozenset({"no", "tidak"})
"""The short answers that mean yes or no, in lower case."""


class SideValue(NamedTuple):
    """A value that can be compared, as a range.

    Attributes:
        kind: `date`, or what a number measures.
        low: The lowest possible value; (year, month, day) for a date.
        high: The highest possible value.
    """

    kind: str
    low: tuple[float, ...]
    high: tuple[float, ...]


def parse_value(text: str) -> SideValue | None:
    """Parse the value of a short answer; `None` if it has none or several."""
    eras = list(_ERA.finditer(text))
    if eras:
        return _parse_era(eras[0]) if len(eras) == 1 else None
    dates, _ = extract_dates(text)
    if dates:
        is_one_value = len(dates) == 1 or _RANGE.search(text)
        lows, highs = (
            [_fill_earliest(date) for date in dates],
            [_fill_latest(date) for date in dates],
        )
        return SideValue("date", min(lows), max(highs)) if is_one_value else None
    amounts = parse_quantities(text)
    kinds = {amount.kind for amount in amounts if amount.kind}
    kind = next(iter(kinds), "")
    # In "5 to 7 days" only the last number names its unit.
    values = [amount.value for amount in amounts if amount.kind == kind or _RANGE.search(text)]
    if len(kinds) > 1 or not values or (len(set(values)) > 1 and not _RANGE.search(text)):
        return None
    return SideValue(kind, (min(values),), (max(values),))


def _parse_era(era: re.Match[str]) -> SideValue:
    """Return the range of a century or decade, from its first to its last day."""
    century = era["century"] or era["abad"]
    last_year = int(century) * 100 if century else int(era["decade"]) + 9
    first_year = last_year - 99 if century else last_year - 9
    return SideValue("date", (first_year, 1, 1), (last_year, 12, 31))


def decide_comparison(question: Question, compared: Comparison, answers: Sequence[str]) -> str:
    """Return the short answer to a comparison; empty if it cannot be decided.

    Args:
        question: The comparison.
        compared: The parsed comparison, with its options and what it asks for.
        answers: The answer for each option, in their order; empty text for an option without one.
    """
    if compared.want == "every":
        return _decide_every(question, answers)
    if not all(answers) or len(answers) != len(compared.options):
        return ""
    if compared.want == "same":
        return _decide_same(question, answers)
    measure = _measure_life if compared.want in {"longest", "shortest"} else parse_value
    values = [measure(answer) for answer in answers]
    if compared.want in {"least", "most", "longest", "shortest"}:
        place = _find_extreme(values, most=compared.want in {"most", "longest"})
        return "" if place is None else compared.options[place]
    if compared.want in {"less", "more"}:
        place = _find_extreme(values, most=compared.want == "more")
        return "" if place is None else question.choose_word(yes=place == 0)
    return ""


def _decide_every(question: Question, answers: Sequence[str]) -> str:
    """Return yes if every answer is yes, no if any is no, else empty."""
    folded = [answer.casefold() for answer in answers]
    if any(word in NO for word in folded):
        return question.choose_word(yes=False)
    return question.choose_word(yes=True) if folded and all(word in YES for word in folded) else ""


def _decide_same(question: Question, answers: Sequence[str]) -> str:
    """Return yes or no for whether all answers are the same; empty if that is not clear."""
    values = [parse_value(answer) for answer in answers]
    first, others = values[0], values[1:]
    # Without values on all sides the answers are compared as texts.
    if first is None or None in others:
        return question.choose_word(
            yes=all(contains_answer(answers[0], other) for other in answers[1:])
        )
    ranges = [value for value in values if value is not None]
    if any(value.kind != first.kind for value in ranges):
        return ""
    if first.kind == "date" and _SAME_YEAR.search(question.text):
        ranges = [_widen_to_years(value) for value in ranges]
    # Ranges that overlap without being equal may stand for the same value: "1990" and "3 May 1990".
    are_equal = len(set(ranges)) == 1
    are_apart = max(value.low for value in ranges) > min(value.high for value in ranges)
    return question.choose_word(yes=are_equal) if are_equal or are_apart else ""


def _widen_to_years(value: SideValue) -> SideValue:
    """Return a date's range widened to whole years."""
    return SideValue(value.kind, (value.low[0], 1, 1), (value.high[0], 12, 31))


def _measure_life(answer: str) -> SideValue | None:
    """Return the days from birth to death of an answer "birth; death"; `None` if unclear."""
    values = [parse_value(part) for part in answer.split("; ")]
    dates = [value for value in values if value is not None and value.kind == "date"]
    if len(dates) != 2 or len(values) != 2:
        return None
    born, died = dates
    least = _count_days(died.low) - _count_days(born.high)
    most = _count_days(died.high) - _count_days(born.low)
    # A death on or before the day of birth is a misreading, such as the birth read twice.
    return SideValue("life", (least,), (most,)) if least > 0 else None


def _count_days(date: tuple[float, ...]) -> float:
    """Return an approximate day number, so that differences of dates are right to a few days."""
    year, month, day = date
    return year * 365 + month * 30 + day


def _find_extreme(sides: Sequence[SideValue | None], *, most: bool) -> int | None:
    """Return the index of the extreme value; `None` if ranges overlap or kinds differ."""
    values = [value for value in sides if value is not None]
    if len(values) != len(sides) or len({value.kind for value in values}) > 1:
        return None
    choose = max if most else min
    place = values.index(choose(values, key=lambda value: value.low))
    extreme = values[place]
    others = [value for at, value in enumerate(values) if at != place]
    # The whole range counts, so that overlapping values stay undecided.
    is_beyond = all(
        value.high < extreme.low if most else extreme.high < value.low for value in others
    )
    return place if is_beyond else None


def _fill_earliest(date: Date) -> Date:
    """Return the first day of a date, whose month or day may be 0 for unknown."""
    return date[0], date[1] or 1, date[2] or 1


def _fill_latest(date: Date) -> Date:
    """Return the last day of a date, whose month or day may be 0 for unknown."""
    return date[0], date[1] or 12, date[2] or 31
