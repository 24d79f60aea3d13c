"""The short answer: the few words of an answer that scoring compares; what is shown stays.

Rules of the anchor study, section 6: an average, a total or an estimate is taken from where it is
called so, not from the parts it was made of. English and Indonesian. Who is unsure changes
nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from fathom.text.answer_type import answer_type
from fathom.text.dates import FULL_MONTHS
from fathom.text.entities import texts
from fathom.types import Draft

Aggregate = Literal["average", "total", "estimate"]

_CUES: Mapping[Aggregate, re.Pattern[str]] = {
    "average": re.compile(r"\b(?:average|averages|averaged|avg|mean|rata-rata|rerata)\b", re.I),
    "total": re.compile(
        r"\b(?:total|totals|totalling|altogether|in all|overall|combined|sum|"
        r"keseluruhan|seluruhnya|semuanya|jumlah|sejumlah|gabungan)\b",
        re.I,
    ),
    "estimate": re.compile(
        r"~|\u2248|\b(?:about|around|approximately|roughly|estimated|nearly|"
        r"sekitar|kurang lebih|kira-kira|diperkirakan|hampir)\b",
        re.I,
    ),
}
_NUMBER = re.compile(
    r"(?:[$\u20ac\u00a3]|\b(?:USD|EUR|IDR|Rp)\.? ?)?(?<![\w.,])\d+(?:[.,]\d+)*"
    r"(?: ?(?:%|(?:percent|per cent|persen|million|billion|trillion|thousand|"
    r"ribu|juta|mili?ar|triliun)\b))?"
    r"(?: (?:USD|EUR|IDR|dollars?|euros?|rupiah|dolar|kg|km|tons?|ton)\b)?",
    re.I,
)
_MONTHS = "|".join(FULL_MONTHS)
_DATE = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? (?:{_MONTHS})(?:,? \d{{4}})?"
    rf"|(?:{_MONTHS}) \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|(?:{_MONTHS}) \d{{4}}"
    rf"|\d{{4}}-\d{{2}}-\d{{2}}|(?:1\d|20)\d{{2}})\b",
    re.I,
)
_TITLE = re.compile(r"[\"\u201c\u00ab]([^\"\u201c\u201d\u00ab\u00bb]{2,100})[\"\u201d\u00bb]")
_ASKS_TITLE = re.compile(
    r"\b(?:title|song|film|movie|book|novel|album|judul|lagu|buku)\b", re.IGNORECASE
)
_SAYS_WHAT = re.compile(r"\b(?:is|was|are|were|adalah|ialah|yaitu|yakni)\s+", re.IGNORECASE)
_NEAR = 40  # characters between the cue and its number


def shortened(question: str, draft: Draft) -> Draft:
    """The draft with the short answer that the rules find; unchanged where they find none.

    An aggregate that the question asks for replaces a short answer; a number, date, name or title
    only fills one that is missing.
    """
    sentences = [claim.text for claim in draft.claims] or [each.quote for each in draft.evidence]
    aggregate = aggregate_of(question)
    found = _aggregated(aggregate, sentences) if aggregate else ""
    if not found and not draft.short_answer and sentences:
        found = _only(question, sentences[0])
    return replace(draft, short_answer=found) if found else draft


def aggregate_of(question: str) -> Aggregate | None:
    """Which aggregate of numbers a question asks for."""
    if answer_type(question) != "number":
        return None
    return next((name for name, cue in _CUES.items() if cue.search(question)), None)


def _aggregated(aggregate: Aggregate, sentences: Sequence[str]) -> str:
    """The one number that the first telling sentence calls so; empty where none or several."""
    for sentence in sentences:
        numbers = list(_NUMBER.finditer(sentence))
        near = set(_near(_CUES[aggregate], sentence, numbers))
        if near:
            return near.pop() if len(near) == 1 else ""
    return ""


def _near(cue: re.Pattern[str], sentence: str, numbers: Sequence[re.Match[str]]) -> Iterator[str]:
    """For every cue the number that comes next; before it only where none follows."""
    for match in cue.finditer(sentence):
        after = [n for n in numbers if 0 <= n.start() - match.end() <= _NEAR]
        before = [n for n in numbers if 0 <= match.start() - n.end() <= _NEAR]
        chosen = after[:1] or before[-1:]
        yield from (each.group().strip() for each in chosen)


def _only(question: str, sentence: str) -> str:
    """The only thing in the sentence that is of the kind asked for and not in the question.

    Of several, the one that the sentence says it is: "Pemenangnya adalah Film X pada ...".
    """
    asked = question.casefold()
    found = dict.fromkeys(
        each for each in _of_kind(question, sentence) if each.casefold() not in asked
    )
    if len(found) > 1:
        said = _SAYS_WHAT.search(sentence)
        rest = sentence[said.end() :] if said else ""
        return next((each for each in found if rest.startswith(each)), "")
    return next(iter(found), "")


def _of_kind(question: str, sentence: str) -> Iterator[str]:
    kind = answer_type(question)
    if kind == "time":
        yield from (match.group() for match in _DATE.finditer(sentence))
    elif kind == "number":
        yield from (match.group().strip() for match in _NUMBER.finditer(sentence))
    elif kind in {"name", "place"}:
        yield from texts(sentence)
    elif _ASKS_TITLE.search(question):
        yield from (match.group(1) for match in _TITLE.finditer(sentence))
