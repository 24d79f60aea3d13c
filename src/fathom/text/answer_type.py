"""The types of answers that questions ask for, and the spans of each type in a text.

English and Indonesian. The types are those classes of Li and Roth (2002) that rules can recognise.
"""

import re
from collections.abc import Iterator
from typing import Literal

from fathom.text.dates import MONTH, YEAR
from fathom.text.entities import find_names
from fathom.types import Span

AnswerType = Literal["time", "number", "place", "sport", "party", "name", "any"]

FULLER_KINDS: frozenset[AnswerType] = frozenset({"time", "number", "place"})
"""The types for which an answer that contains another says more than it."""

_ABOUT = (
    r"(?:(?:about|around|circa|c\.|early|mid|late|between|sekitar|awal|akhir|pertengahan)"
    r"[ -](?:the )?)?"
)
_CLOCK = (
    r"(?:(?:pukul|jam)\s)?\d{1,2}:\d\d(?:\s?(?:[ap]m|[ap]\.m\.|WIB|WITA|WIT))?"
    r"|(?:pukul|jam)\s\d{1,2}(?:\.\d\d)?(?:\s(?:WIB|WITA|WIT))?|\d{1,2}\s?(?:[ap]m\b|[ap]\.m\.)"
)
_WEEKDAY = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|senin|selasa|rabu|kamis|jum'?at|sabtu|minggu"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_TIME = re.compile(
    rf"\b{_ABOUT}(?:{_DAY}\s+(?:of\s+)?{MONTH}\s*,?\s+{YEAR}|{MONTH}\s+{_DAY}\s*,?\s+{YEAR}"
    rf"|{MONTH}\s*,?\s+{YEAR}"
    rf"|(?:{_CLOCK})(?:\s?(?:[-\u2013]|to|until|sampai|hingga)\s?(?:{_CLOCK}))?|{_WEEKDAY}"
    rf"|{YEAR}s?(?:\s?(?:[-\u2013/]|to|and|sampai|hingga)\s?(?:{YEAR}|\d\d)\b)?)(?!\w)",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![\w.,/-])(?:[$€£]\s?|Rp\.?\s?)?\d+(?:[.,]\d+)*"
    r"(?:\s*(?:%|percent\b|persen\b|thousand\b|million\b|billion\b|ribu\b|juta\b|mili?ar\b))?"
    r"(?:\s(?:people|inhabitants|persons|residents|km|kilomet(?:er|re)s|miles|met(?:er|re)s|feet|"
    r"m|years|days|hours|acres|laps|jiwa|orang|penduduk|tahun|hari|jam|meter|hektare?)\b)?"
    r"(?!\w|[.,]\d)",
    re.IGNORECASE,
)
_SPORTS = (
    "american football|association football|football|soccer|baseball|softball|basketball|"
    "ice hockey|field hockey|hockey|rugby union|rugby league|rugby|cricket|table tennis|tennis|"
    "golf|boxing|snooker|darts|badminton|volleyball|swimming|diving|athletics|"
    "(?:middle|long)-distance running|sprinting|cycling|(?:professional )?wrestling|bodybuilding|"
    "powerlifting|weightlifting|rowing|sailing|skiing|figure skating|speed skating|skating|"
    "gymnastics|fencing|judo|karate|handball|lacrosse|water polo|polo|"
    "(?:motor|auto|horse|stock car) racing|bmx|motocross|triathlon|archery|curling|chess|surfing|"
    "skateboarding|snowboarding|sepak ?bola|bulu tangkis|bola voli|bola basket|tinju|renang|"
    "footballer|cricketer|golfer|boxer|cyclist|wrestler|bodybuilder|racing driver|swimmer|"
    "linebacker|quarterback|pitcher|AFL|CFL|NFL|NBA|NHL|MLB"
)
_SPORT = re.compile(rf"\b(?:{_SPORTS})s?\b", re.IGNORECASE)
_PARTY = re.compile(
    r"\b(?:[A-Z][\w-]{1,40} ){0,5}(?:Democrat(?:ic)?|Republican|Liberal|Conservative|Labou?r|Whig|"
    r"Socialist|Communist|Green|Federalist|Progressive)s?(?:[- ][A-Z]\w+)*(?: Party)?\b"
    r"|\bPartai(?: [A-Z]\w+)+"
)
_RULES = {"time": _TIME, "number": _NUMBER, "sport": _SPORT, "party": _PARTY}
_COUNTED = re.compile(
    r"\b(?:population|how many|jumlah penduduk|berapa (?:banyak|jumlah))\b", re.IGNORECASE
)
_UNCOUNTED = re.compile(
    r"%|percent|persen|\b(?:km|kilo\w+|miles|met(?:er|re)s?|feet|m|acres)$", re.IGNORECASE
)
_ASKS_DAY = re.compile(r"\b(?:what|which) days?\b|\bhari (?:apa|mana)(?:kah)?\b", re.IGNORECASE)
_DAY_OF_WEEK = re.compile(rf"^(?:{_WEEKDAY})$", re.IGNORECASE)
_NOTHING = re.compile(r"(?!)")
_COMMA = re.compile(r"\s?,\s")


def find_spans(kind: AnswerType, text: str, question: str) -> list[Span] | None:
    """Return the spans of a text that are of a type, in order.

    Places and names that are in the question are left out. A place includes the name after a comma
    ("Lyon, France"). Numbers with a unit are left out if the question counts people or things, and
    weekdays if a time is asked for but no day.

    Args:
        kind: The type.
        text: The text.
        question: The question that asks for it.

    Returns:
        The spans; `None` for the type `any`, which no rule can find.
    """
    if kind == "any":
        return None
    if kind in _RULES:
        matches = _RULES[kind].finditer(text)
        excluded = _choose_exclusion(kind, question)
        return [Span(*match.span()) for match in matches if not excluded.search(match.group())]
    lowered_question = question.casefold()
    candidates = _find_places(text) if kind == "place" else find_names(text)
    return [span for span in candidates if span.cut(text).casefold() not in lowered_question]


def _choose_exclusion(kind: AnswerType, question: str) -> re.Pattern[str]:
    """Return the pattern of texts that are of the type but do not answer the question."""
    if kind == "number" and _COUNTED.search(question):
        return _UNCOUNTED
    if kind == "time" and not _ASKS_DAY.search(question):
        return _DAY_OF_WEEK
    return _NOTHING


def _find_places(text: str) -> Iterator[Span]:
    """Yield the places of a text; names with only a comma between them are one place."""
    last: Span | None = None
    for span in find_names(text):
        if last is not None and _COMMA.fullmatch(text[last.end : span.start]):
            last = Span(last.start, span.end)
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last
