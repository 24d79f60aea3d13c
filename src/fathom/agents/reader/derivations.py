"""The check that a language model's short answer follows from its quotes.

An answer follows if a quote contains it, if it is yes or no to such a question, if it counts listed
things, or if it is a difference, sum, mean or ratio of quoted numbers or dates. English and
Indonesian.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import fsum, isclose
from typing import Literal

from fathom.agents.reader.lists import parse_stated_number
from fathom.question.answer_kind import contradicts_kind
from fathom.question.lookup import OPTION
from fathom.question.question import Question
from fathom.text.brackets import balance_brackets
from fathom.text.dates import YEAR, parse_date
from fathom.text.numbers import Quantity, parse_quantities
from fathom.text.quote_match import find_quote
from fathom.types import Span

Derivation = Literal["difference", "sum", "mean", "ratio"]

_YES: Mapping[str, bool] = {"yes": True, "no": False, "ya": True, "tidak": False}
_SEPARATOR = re.compile(r"\s{0,9}(?:[,;]|\b(?:and|dan)\b|&)\s*(?:(?:and|dan)\s+)?")
_LINK = re.compile(r"\s(?:and|dan)\s")
_CUES: Mapping[Derivation, re.Pattern[str]] = {
    "ratio": re.compile(
        r"\b(?:how many times|what (?:ratio|factor)|berapa kali(?: lipat)?)\b", re.IGNORECASE
    ),
    "mean": re.compile(r"\b(?:average|mean|rata-rata|rerata)\b", re.IGNORECASE),
    "sum": re.compile(
        r"\b(?:total|altogether|in all|combined|sum|together|jumlah keseluruhan|seluruhnya|"
        r"gabungan|bersama-sama)\b",
        re.IGNORECASE,
    ),
    "difference": re.compile(
        r"\b(?:difference|(?:how (?:much|many|long)|berapa)\b.*\b(?:more|less|fewer|longer|shorter|"
        r"older|younger|later|earlier|cheaper|higher|lower|between|after|before|since|apart|lebih|"
        r"antara|setelah|sebelum|sejak)|selisih(?:nya)?|beda(?:nya)?|perbedaan)\b",
        re.IGNORECASE,
    ),
}
_NAME_START = re.compile(r"(?<![\w-])--?\Z|(?<![\w.])\.\Z")
_KEY_PARTS = (
    re.compile(rf"{OPTION.pattern}(?:, {OPTION.pattern})*"),
    re.compile(r"`[^`]+`|\"[^\"]+\"|(?<!\w)'[^']+'(?!\w)"),
    re.compile(r"(?<![\w.,-])\d[\d.,]*(?![\w-])(?<![.,])"),
)
"""Patterns of parts that may be the answer: options of commands, quoted words, numbers."""
_FEWEST_WORDS = 4
"""The fewest words of a sentence; a shorter answer is one unit and is not taken apart."""
_YEARS = re.compile(rf"\b{YEAR}\b")
_MOST_NUMBERS = 6
"""The largest number of quoted numbers of one kind; with more, some pair gives any value."""
_TOLERANCE = 1e-6
"""The relative difference up to which two numbers count as equal."""


def derive_short_answer(question: Question, short: str, quotes: Sequence[str]) -> str:
    """Return the short answer if it follows from the quotes, worded as they have it; else empty.

    Args:
        question: The question; a sum, for example, is accepted only if the question asks for one.
        short: The short answer of the model.
        quotes: The verbatim quotes that the answer rests on.
    """
    # A dot at the start stays: it belongs to a name or a number, such as ".gitignore" or ".5".
    bare = " ".join(short.split()).rstrip(" .")
    if not bare or not quotes:
        return ""
    if bare.casefold() in _YES:
        # No quote says "yes", so it is accepted only if the question can be answered by it.
        is_yes_no = question.form == "yes or no"
        return question.choose_word(yes=_YES[bare.casefold()]) if is_yes_no else ""
    quoted = _find_quoted(bare, quotes)
    if quoted:
        return quoted
    items = [item for item in _SEPARATOR.split(bare) if item]
    quoted_items = [_find_quoted(item, quotes) for item in items]
    if len(items) > 1 and all(quoted_items):
        return ", ".join(quoted_items)
    return (
        bare
        if _follows_by_counting(question, bare, quotes)
        or _follows_by_arithmetic(question, bare, quotes)
        else ""
    )


def list_key_parts(question: Question, answer: str) -> list[str]:
    """Return the parts of a sentence that may be the answer alone, the likeliest first.

    They are options of commands, quoted words and numbers, except those in the question.

    Args:
        question: The question.
        answer: The answer of a model; one of fewer than four words has no parts.
    """
    if len(answer.split()) < _FEWEST_WORDS:
        return []
    asked = question.text.casefold()
    parts = [match.group().strip("`\"'") for part in _KEY_PARTS for match in part.finditer(answer)]
    return [part for part in dict.fromkeys(parts) if part and part.casefold() not in asked]


def find_misfit(question: Question, short: str) -> str:
    """Return why a short answer cannot be right, as a note to the model; empty if it can be.

    It cannot be right if it only repeats words of a question without options, or if it is clearly
    of another kind than the one asked for, such as a name instead of a date.
    """
    expected = question.expected_value
    if expected is not None and contradicts_kind(expected, short):
        return f"The question asks for a {expected.kind}."
    return "What you answered only repeats the question." if question.is_repeated_by(short) else ""


def select_bearing(short: str, quotes: Sequence[str]) -> tuple[int, ...]:
    """Return the indexes of the quotes that contain the short answer; all if none does.

    For an answer that is a list, return those that contain an item of it.
    """
    whole = [place for place, quote in enumerate(quotes) if _find_quoted(short, [quote])]
    if whole:
        return tuple(whole)
    items = [item for item in _SEPARATOR.split(short) if item]
    holding = [
        place
        for place, quote in enumerate(quotes)
        if any(_find_quoted(item, [quote]) for item in items)
    ]
    return tuple(holding if len(items) > 1 and holding else range(len(quotes)))


def detect_derivation(question: Question) -> Derivation | None:
    """Return the computation that the question asks for; `None` if it asks for none."""
    return next((name for name, cue in _CUES.items() if cue.search(question.text)), None)


def _find_quoted(short: str, quotes: Sequence[str]) -> str:
    """Return the answer as the first quote that contains it writes it; empty if none does."""
    for quote in quotes:
        match = find_quote(short, quote)
        if match is not None and match.exact:
            span = balance_brackets(quote, _take_name_start(quote, match.span))
            return " ".join(span.cut(quote).split())
    return ""


def _take_name_start(text: str, span: Span) -> Span:
    """Return a span extended to the hyphens or the dot with which it begins: "--keep", ".NET"."""
    start = _NAME_START.search(text, max(0, span.start - 3), span.start)
    return Span(start.start(), span.end) if start else span


def _follows_by_counting(question: Question, short: str, quotes: Sequence[str]) -> bool:
    """Return whether a count is asked for and equals the number of quotes or of listed items."""
    number = parse_stated_number(short)
    if number is None or not question.counted_noun:
        return False
    lengths = (len(_SEPARATOR.split(run)) for quote in quotes for run in _find_lists(quote))
    # Either every quote is one thing, or one quote lists them all.
    return number in {float(len(set(quotes))), *map(float, lengths)}


def _find_lists(quote: str) -> Iterator[str]:
    """Yield the lists "a, b and c" in a quote: the part of a clause up to the last item."""
    for clause in re.split(r"[;.:]", quote):
        links = list(_LINK.finditer(clause))
        if links:
            end = links[-1].end()
            yield clause[:end] + clause[end:].partition(",")[0]


def _follows_by_arithmetic(question: Question, short: str, quotes: Sequence[str]) -> bool:
    """Return whether a number is the result of the asked computation over quoted numbers."""
    derivation = detect_derivation(question)
    answer_amounts = parse_quantities(short)
    if derivation is None or len(answer_amounts) != 1:
        return False
    if derivation == "difference" and _is_year_difference(answer_amounts[0], quotes):
        return True
    # A number that is quoted twice is one operand.
    quoted = dict.fromkeys(amount for quote in quotes for amount in parse_quantities(quote))
    groups = [
        [amount.value for amount in quoted if amount.kind == kind]
        for kind in _collect_kinds(quoted)
    ]
    results = (
        result
        for values in groups
        if 2 <= len(values) <= _MOST_NUMBERS
        for result in _iterate_values(derivation, values)
    )
    return any(isclose(answer_amounts[0].value, result, rel_tol=_TOLERANCE) for result in results)


def _collect_kinds(quoted: Mapping[Quantity, None]) -> set[str]:
    """Return the kinds of quoted numbers."""
    return {amount.kind for amount in quoted}


def _iterate_values(derivation: Derivation, values: Sequence[float]) -> Iterator[float]:
    """Yield the results for each pair of numbers, and for sum and mean also for all numbers."""
    for first, second in combinations(values, 2):
        if derivation == "difference":
            yield abs(first - second)
        elif derivation == "ratio" and first and second:
            yield from (first / second, second / first)
        elif derivation in {"sum", "mean"}:
            yield (first + second) / (2 if derivation == "mean" else 1)
    if derivation in {"sum", "mean"}:
        yield fsum(values) / (len(values) if derivation == "mean" else 1)


def _is_year_difference(amount: Quantity, quotes: Sequence[str]) -> bool:
    """Return whether a number is the number of years between two quoted dates."""
    dates = [date for quote in quotes if (date := parse_date(quote))]
    years = {date[0] for date in dates}
    years |= {float(year) for quote in quotes for year in _YEARS.findall(quote)}
    differences = {
        abs(first - second) for first, second in combinations(sorted(years)[:_MOST_NUMBERS], 2)
    }
    # Durations are in seconds; a year has 365.25 days.
    years_stated = amount.value if not amount.kind else amount.value / 31_557_600
    return any(
        isclose(years_stated, difference, rel_tol=0.01) for difference in differences if difference
    )
