"""What kind of answer a question asks for, and whether a sentence holds one."""

import re
from typing import Literal

from fathom.text.dates import FULL_MONTHS
from fathom.text.numbers import NUMBER_WORDS

Kind = Literal["number", "time", "name", "any"]

# English and Indonesian question words; the first that matches decides.
_CUES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        "time",
        re.compile(
            r"\b(when|what (year|date|day|month|time|century)|which (year|date|day|month)|"
            r"since when|by when|kapan|tahun berapa|tanggal berapa|hari apa|jam berapa)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "number",
        re.compile(
            r"\b(how (many|much|long|old|tall|far|fast|large|big|high|deep|often)|"
            r"what (percentage|percent|number|amount|fee|price|cost)|"
            r"berapa|seberapa|berapakah)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "name",
        re.compile(
            r"\b(who|whom|whose|where|which (city|country|person|company|state)|"
            r"siapa|siapakah|di ?mana|dimanakah|ke mana|dari mana)\b",
            re.IGNORECASE,
        ),
    ),
)
_NUMBER = re.compile(
    rf"\d|\b(?:{'|'.join(sorted(NUMBER_WORDS))}|dozen|half|once|twice|setengah|sebuah|seorang)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b\d{4}\b|\b\d{1,2}[:./-]\d{1,2}\b|\b\d{1,2}(st|nd|rd|th)?\s+\w+\b|"
    rf"\b({'|'.join(FULL_MONTHS)}|"
    r"(mon|tues|wednes|thurs|fri|satur|sun)day|senin|selasa|rabu|kamis|jumat|sabtu|minggu|"
    r"century|abad|noon|midnight|morning|evening|pagi|siang|sore|malam)\b",
    re.IGNORECASE,
)
_CAPITALISED = re.compile(r"\b[^\W\d_a-z]\w+")


def expected_kind(question: str) -> Kind:
    """What kind of answer the question words ask for; `any` when they do not tell."""
    return next((kind for kind, cue in _CUES if cue.search(question)), "any")


def holds(kind: Kind, sentence: str, question: str) -> bool:
    """Whether a sentence holds something of the kind that the question does not hold already.

    `any` is always held.
    """
    if kind == "number":
        return bool(_NUMBER.search(sentence))
    if kind == "time":
        return bool(_TIME.search(sentence))
    if kind == "name":
        asked = question.casefold()
        names = (match.group() for match in _CAPITALISED.finditer(sentence))
        return any(name.casefold() not in asked for name in names)
    return True
