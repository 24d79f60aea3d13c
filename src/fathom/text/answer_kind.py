"""Typed validators: what kind of value a question asks for, and whether a text gives such a one.

Finer than `answer_type`: a number may be money, a percentage, a count or a measure with its unit.
A currency is implied by what is asked for: "Berapa pendapatan ...?" is answered with money only.
English and Indonesian.
"""

import re
from dataclasses import dataclass
from typing import Literal

from fathom.text import english, indonesian
from fathom.text.answer_type import answer_type, spans_of
from fathom.text.dates import date_of
from fathom.text.numbers import quantities

AnswerKind = Literal["date", "money", "percentage", "count", "measure", "place", "person"]

_OWN = (english, indonesian)
_CURRENCY = re.compile(
    r"[$\u20ac\u00a3\u00a5\u20b9\u20bd\u20a9]|\bRp\b\.?|\bRp(?=\d)"
    rf"|(?<![^\W\d_])(?:{'|'.join(word for own in _OWN for word in own.CURRENCIES)})\b",
    re.IGNORECASE,
)
_SHARE = re.compile(
    rf"%|\b(?:{'|'.join(word for own in _OWN for word in own.SHARES)})\b", re.IGNORECASE
)
_MONEY_ASKED = re.compile(
    rf"\b(?:{'|'.join(word for own in _OWN for word in own.PRICES)})\b", re.IGNORECASE
)
_SHARE_ASKED = re.compile(r"%|\b(?:percent(?:age)?|per cent|persen(?:tase)?)\b", re.IGNORECASE)
_OF_MONEY = re.compile(r"\bhow much of\b|\bberapa (?:kali|banyak|orang|hari|lama)\b", re.IGNORECASE)
_COUNT_ASKED = re.compile(
    r"\bhow many\s+(?P<en>(?:square\s+|cubic\s+)?[^\W\d_]+)"
    r"|\bberapa(?:kah)?\s+(?:banyak\s+|jumlah\s+)?(?P<id>[^\W\d_]+)",
    re.IGNORECASE,
)
_WHEN_LATER = re.compile(
    r"^(?!.*\b(?:what|which) (?:year|date|day|month|century|time)\b)"
    r".*?\b(?:what|which|who|whom|how|where|why)\b.*\bwhen\b",
    re.IGNORECASE,
)
"""Another question word stands first: "What was built when ...?"."""
_MEASURED = tuple(
    (re.compile(rf"\b(?:{cue})\b", re.IGNORECASE), kinds)
    for own in _OWN
    for cue, kinds in own.MEASURES.items()
)
_KINDS: dict[str, AnswerKind] = {"time": "date", "place": "place", "name": "person"}


@dataclass(frozen=True, slots=True)
class AskedKind:
    """The kind of value that a question asks for.

    Attributes:
        units: Of a measure: what may be measured, as `numbers.Quantity.kind` has it.
    """

    kind: AnswerKind
    units: frozenset[str] = frozenset()


def asked_kind(question: str) -> AskedKind | None:
    """The kind that `question` asks for; `None` where its words do not tell."""
    kind = answer_type(question)
    if kind == "time" and _WHEN_LATER.search(question):
        return None
    if kind in _KINDS:
        return AskedKind(_KINDS[kind])
    if _SHARE_ASKED.search(question) and (kind == "number" or "what" in question.lower()):
        return AskedKind("percentage", frozenset({"share"}))
    return _asked_number(question) if kind == "number" else None


def _asked_number(question: str) -> AskedKind | None:
    counted = _COUNT_ASKED.search(question)
    word = (counted["en"] or counted["id"]) if counted else ""
    unit = quantities(f"2 {word}")[0].kind
    if unit:
        return AskedKind("measure", frozenset({unit}))
    things = bool(counted and counted["en"]) or word.lower() in indonesian.COUNTED
    if _MONEY_ASKED.search(question) and not (things or _OF_MONEY.search(question)):
        return AskedKind("money")
    measured = next((kinds for cue, kinds in _MEASURED if cue.search(question)), None)
    if measured:
        return AskedKind("measure", frozenset(measured.split()))
    return AskedKind("count") if things else None


def gives(asked: AskedKind, text: str) -> bool:
    """Whether a text holds a value of this kind, with its currency or unit."""
    if asked.kind == "date":
        return bool(spans_of("time", text, "")) or date_of(text) is not None
    if asked.kind == "money":
        return has_currency(text) and bool(quantities(text))
    if asked.kind == "percentage":
        return bool(_SHARE.search(text))
    if asked.kind == "count":
        return bool(quantities(text))
    if asked.kind == "measure":
        return any(each.kind in asked.units for each in quantities(text))
    return any(map(str.isalpha, text))


def contradicts(asked: AskedKind, value: str) -> bool:
    """Whether a value is surely of another kind: metres where people are counted."""
    found = quantities(value)
    if asked.kind in {"date", "place", "person"} or len(found) != 1:
        return False
    kind, money = found[0].kind, has_currency(value)
    if asked.kind == "money":
        return not money and kind != ""
    if asked.kind == "count":
        return money or kind not in {"", "share"}
    return money or (kind != "" and kind not in asked.units)


def has_currency(text: str) -> bool:
    """Whether a text names a currency."""
    return bool(_CURRENCY.search(text))
