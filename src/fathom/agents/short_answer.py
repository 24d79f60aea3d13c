"""Rules that fill or correct the short answer of a draft, which scoring compares.

They follow the anchor study, section 6: an average, a total or an estimate is taken from where the
text names it so, not from the numbers it was computed from. English and Indonesian. In doubt the
short answer stays as it is, and the shown answer never changes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from fathom.question.question import Question
from fathom.text.dates import FULL_MONTHS
from fathom.text.entities import list_names
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
_RESULT = re.compile(
    r"\b(?:menjadi|sehingga|hasilnya|becomes?|became|resulting in|which makes|making)\b", re.I
)
"""Words before the result of a computation, for any aggregate."""
_NUMBER = re.compile(
    r"(?:[$\u20ac\u00a3]|\b(?:USD|EUR|IDR|Rp)\.? ?)?(?<![\w.,])(?P<figure>\d+(?:[.,]\d+)*)"
    r"(?: ?(?:%|(?:percent|per cent|persen|million|billion|trillion|thousand|"
    r"ribu|juta|mili?ar|triliun)\b))?"
    r"(?: (?:USD|EUR|IDR|dollars?|euros?|rupiah|dolar|kg|km|tons?|ton)\b)?",
    re.I,
)
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_ASKS_DURATION = re.compile(r"\b(?:how long|berapa lama)\b", re.IGNORECASE)
_DURATION = re.compile(
    r"(?<![\w.,])(?P<figure>\d+(?:[.,]\d+)*) "
    r"(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|detik|menit|jam|hari|minggu|bulan|tahun)\b",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"%|\bper ?cent|\bpersen", re.IGNORECASE)
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
_COPULA = re.compile(r"\b(?:is|was|are|were|adalah|ialah|yaitu|yakni)\s+", re.IGNORECASE)
_LONGEST_GAP = 40
"""The largest number of characters between a cue word and its number."""


def fill_short_answer(question: Question, draft: Draft) -> Draft:
    """Return the draft with the short answer of the rules, or unchanged if they find none.

    An aggregate that the question asks for replaces the short answer. A number, date, name or title
    only fills an empty one. A bare figure gets the unit that it has in the text.
    """
    sentences = [claim.text for claim in draft.claims] or [item.quote for item in draft.evidence]
    aggregate = detect_aggregate(question)
    short = _find_aggregate(aggregate, sentences) if aggregate else ""
    if not short and not draft.short_answer and sentences:
        short = _find_only_candidate(question, sentences[0])
    short = _add_unit(question, short or draft.short_answer, sentences)
    return replace(draft, short_answer=short) if short else draft


def detect_aggregate(question: Question) -> Aggregate | None:
    """Return the aggregate that a question asks for; `None` if it asks for none."""
    if question.answer_type != "number":
        return None
    return next((name for name, cue in _CUES.items() if cue.search(question.text)), None)


def _find_aggregate(aggregate: Aggregate, sentences: Sequence[str]) -> str:
    """Return the number next to the aggregate's cue word; empty if there is none or several."""
    for sentence in sentences:
        numbers = list(_NUMBER.finditer(sentence))
        candidates = set(_iterate_near_numbers(_CUES[aggregate], sentence, numbers))
        candidates = candidates or set(_iterate_results(sentence, numbers))
        if candidates:
            # Two numbers near the cue leave open which one it means.
            return candidates.pop() if len(candidates) == 1 else ""
    return ""


def _iterate_near_numbers(
    cue: re.Pattern[str], sentence: str, numbers: Sequence[re.Match[str]]
) -> Iterator[str]:
    """Yield the number after each cue word, or the one before it if none follows."""
    for match in cue.finditer(sentence):
        after = [n for n in numbers if 0 <= n.start() - match.end() <= _LONGEST_GAP]
        before = [n for n in numbers if 0 <= match.start() - n.end() <= _LONGEST_GAP]
        chosen = after[:1] or before[-1:]
        yield from (number.group().strip() for number in chosen)


def _iterate_results(sentence: str, numbers: Sequence[re.Match[str]]) -> Iterator[str]:
    """Yield the number after each word that introduces a result: "menjadi 12"."""
    for match in _RESULT.finditer(sentence):
        after = [n for n in numbers if 0 <= n.start() - match.end() <= _LONGEST_GAP]
        yield from (number.group().strip() for number in after[:1])


def _add_unit(question: Question, short: str, sentences: Sequence[str]) -> str:
    """Return a bare figure with its unit, if the text always writes it with the same one.

    A unit that the question already names ("how many km") is not added.
    """
    if question.answer_type != "number" or not _FIGURE.fullmatch(short):
        return short
    rules = (_NUMBER, _DURATION) if _ASKS_DURATION.search(question.text) else (_NUMBER,)
    forms: dict[tuple[int, int], str] = {}
    for number, sentence in enumerate(sentences):
        for match in (match for rule in rules for match in rule.finditer(sentence)):
            if match["figure"] == short:
                place = number, match.start("figure")
                forms[place] = max(forms.get(place, ""), match.group().strip(), key=len)
    form = next(iter(forms.values()), short)
    is_sure = len(set(forms.values())) == 1 and not _names_unit(question.text, form, short)
    return form if is_sure else short


def _names_unit(question: str, form: str, figure: str) -> bool:
    """Return whether a question names the unit in a form such as "12 km"."""
    unit = form.replace(figure, "").strip().casefold()
    if _PERCENT.search(unit):
        return bool(_PERCENT.search(question))
    # Only the beginning of a word counts: "holidays" does not name days, but "tons" names ton.
    return any(
        re.search(rf"(?<!\w){re.escape(word)}", question, re.IGNORECASE) for word in unit.split()
    )


def _find_only_candidate(question: Question, sentence: str) -> str:
    """Return the one candidate in a sentence that the question does not contain; else empty.

    Of several candidates, return the one right after "is": "Pemenangnya adalah Film X pada ...".
    """
    folded = question.text.casefold()
    candidates = dict.fromkeys(
        candidate
        for candidate in _iterate_candidates(question, sentence)
        if candidate.casefold() not in folded
    )
    if len(candidates) > 1:
        copula = _COPULA.search(sentence)
        rest = sentence[copula.end() :] if copula else ""
        return next((candidate for candidate in candidates if rest.startswith(candidate)), "")
    return next(iter(candidates), "")


def _iterate_candidates(question: Question, sentence: str) -> Iterator[str]:
    """Yield the dates, numbers, names or titles in a sentence, as the question asks for."""
    kind = question.answer_type
    if kind == "time":
        yield from (match.group() for match in _DATE.finditer(sentence))
    elif kind == "number":
        yield from (match.group().strip() for match in _NUMBER.finditer(sentence))
    elif kind in {"name", "place"}:
        yield from list_names(sentence)
    elif _ASKS_TITLE.search(question.text):
        yield from (match.group(1) for match in _TITLE.finditer(sentence))
