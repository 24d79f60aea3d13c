"""Short answers of a language model that its quotes bear out.

They stand in a quote, or follow from what is quoted: yes or no, a count of what is listed, a
difference, sum, mean or ratio of numbers or dates, each operand of which is quoted. English and
Indonesian.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import fsum, isclose
from typing import Literal

from fathom.agents.reader.lists import counted, stated
from fathom.question.form import form_of, word_for
from fathom.text.dates import YEAR, date_of
from fathom.text.numbers import Quantity, quantities
from fathom.text.quote_match import find

Derivation = Literal["difference", "sum", "mean", "ratio"]

_YES: Mapping[str, bool] = {"yes": True, "no": False, "ya": True, "tidak": False}
_PARTS = re.compile(r"\s*(?:[,;]|\b(?:and|dan)\b|&)\s*(?:(?:and|dan)\s+)?")
_ITEMS = re.compile(r"[^,;.:]+(?:,[^,;.:]+)*(?:,)?\s+(?:and|dan)\s+[^,;.:]+")
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
_YEARS = re.compile(rf"\b{YEAR}\b")
_MOST = 6
"""Numbers of a kind that may be quoted: among more some pair gives anything."""
_NEAR = 1e-6


def backed(question: str, short: str, quotes: Sequence[str]) -> str:
    """The short answer as the quotes have it, or as it follows from them; empty where it does not.

    Args:
        question: Decides what may be derived: a sum only where one is asked for.
        short: What the model says.
        quotes: All that its answer rests on, verbatim.
    """
    plain = " ".join(short.split()).strip(" .")
    if not plain or not quotes:
        return ""
    if plain.casefold() in _YES:
        decided = form_of(question) == "yes or no"
        return word_for(question, yes=_YES[plain.casefold()]) if decided else ""
    stands = _standing(plain, quotes)
    if stands:
        return stands
    parts = [part for part in _PARTS.split(plain) if part]
    found = [_standing(part, quotes) for part in parts]
    if len(parts) > 1 and all(found):
        return ", ".join(found)
    return plain if _counts(question, plain, quotes) or _derives(question, plain, quotes) else ""


def derivation_of(question: str) -> Derivation | None:
    """What is to be reckoned from numbers; `None` where nothing is."""
    return next((name for name, cue in _CUES.items() if cue.search(question)), None)


def _standing(short: str, quotes: Sequence[str]) -> str:
    """The words of the first quote that holds it."""
    for quote in quotes:
        found = find(short, quote)
        if found is not None and found.exact:
            return " ".join(found.span.cut(quote).split())
    return ""


def _counts(question: str, short: str, quotes: Sequence[str]) -> bool:
    """Whether so many things are quoted, each for itself or in one list, where a count is asked."""
    number = stated(short)
    if number is None or not counted(question):
        return False
    listed = (len(_PARTS.split(run)) for quote in quotes for run in _ITEMS.findall(quote))
    return number in {float(len(set(quotes))), *map(float, listed)}


def _derives(question: str, short: str, quotes: Sequence[str]) -> bool:
    """Whether a number is what the question wants reckoned from quoted ones of one kind."""
    wanted = derivation_of(question)
    said = quantities(short)
    if wanted is None or len(said) != 1:
        return False
    if wanted == "difference" and _between(said[0], quotes):
        return True
    quoted = dict.fromkeys(each for quote in quotes for each in quantities(quote))
    groups = [[each.value for each in quoted if each.kind == kind] for kind in _kinds(quoted)]
    results = (
        result
        for values in groups
        if 2 <= len(values) <= _MOST
        for result in _results(wanted, values)
    )
    return any(isclose(said[0].value, result, rel_tol=_NEAR) for result in results)


def _kinds(quoted: Mapping[Quantity, None]) -> set[str]:
    return {each.kind for each in quoted}


def _results(wanted: Derivation, values: Sequence[float]) -> Iterator[float]:
    """What can be reckoned: of two numbers, and for sum and mean also of all."""
    for one, other in combinations(values, 2):
        if wanted == "difference":
            yield abs(one - other)
        elif wanted == "ratio" and one and other:
            yield from (one / other, other / one)
        elif wanted in {"sum", "mean"}:
            yield (one + other) / (2 if wanted == "mean" else 1)
    if wanted in {"sum", "mean"}:
        yield fsum(values) / (len(values) if wanted == "mean" else 1)


def _between(said: Quantity, quotes: Sequence[str]) -> bool:
    """Whether a number is the years between two that are quoted."""
    dates = [date for quote in quotes if (date := date_of(quote))]
    years = {date[0] for date in dates}
    years |= {float(year) for quote in quotes for year in _YEARS.findall(quote)}
    apart = {abs(one - other) for one, other in combinations(sorted(years)[:_MOST], 2)}
    bare = said.value if not said.kind else said.value / 31_557_600
    return any(isclose(bare, each, rel_tol=0.01) for each in apart if each)
