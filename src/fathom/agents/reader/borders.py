"""Corrections of span borders: offices before names, and expansions of abbreviations.

The cross-reader often includes the office before a name ("Kepala Dinas Perikanan" for the question
"Dinas apakah ...?"), and cuts or overruns the expansion of an abbreviation. The words of the
question show where the right borders are.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from fathom.agents.reader.base import ReadHit
from fathom.models.reading import ReadSpan
from fathom.question.question import Question
from fathom.types import Span

_WORD = re.compile(r"[^\W_]+")
_WHO = re.compile(
    r"^\W*(?:siapa(?:kah)?(?:\s+nama)?|who\s+(?:is|was|are|were)(?:\s+the)?)\s+", re.IGNORECASE
)
"""The opening of a question for a person, before the office that it names."""
_KIND = re.compile(
    r"\b(?:apa(?:kah)?\s+nama\s+(?P<named>[^\W\d_]+)"
    r"|(?P<asked>[^\W\d_]+)\s+(?:apa|mana)(?:kah)?\b)",
    re.IGNORECASE,
)
"""The kind of thing that an Indonesian question asks for: "Dinas apakah", "Apa nama partai"."""
_OFFICE = re.compile(
    r"(?:(?:wakil|kepala|ketua|presiden|direktur|sekretaris|bendahara|gubernur|menteri|dekan|rektor"
    r"|manajer|komandan|panglima|koordinator|anggota)\b|(?-i:[a-z]))\S*\s+(?:[^\W_]+\s+){0,3}",
    re.IGNORECASE,
)
"""An office or description, and up to three words, before the name of an organisation."""
_ABBREVIATED = re.compile(
    r"\b(?i:(?:kepanjangan|singkatan)\s+(?:dari\s+)?|full\s+form\s+of\s+)(?P<asked>[A-Z]{3,8})\b"
    r"|\b(?P<named>[A-Z]{3,8})\s+(?:stands?\s+for|kepanjangan|singkatan)\b"
)
_SPELLED = 0.9
"""The score of words whose initials spell the abbreviation; they rarely do by chance."""
_MOST_WORDS = 16
"""The largest number of words in an expansion, joining words included."""
_JOINING = frozenset({"of", "the", "for", "and", "in", "on", "dan", "untuk", "di", "atas"})
"""Small words that an abbreviation may leave out."""


def fit_borders(question: Question, read_hits: Sequence[ReadHit]) -> tuple[ReadHit, ...]:
    """Return the hits with the borders of their spans corrected.

    If the question asks what an abbreviation stands for and a hit contains its expansion, the
    expansions become the only spans. Otherwise offices before names are cut off.
    """
    letters = find_abbreviation(question.text)
    if letters:
        expansions = [find_expansion(read_hit.hit.chunk.text, letters) for read_hit in read_hits]
        if any(expansions):
            return tuple(map(_take_expansion, read_hits, expansions))
    return tuple(_drop_offices(question, read_hit) for read_hit in read_hits)


def _take_expansion(read_hit: ReadHit, expansion: Span | None) -> ReadHit:
    """Return a hit with the expansion as its only span, or without spans."""
    spans = (ReadSpan(span=expansion, score=_SPELLED),) if expansion else ()
    return replace(read_hit, reading=replace(read_hit.reading, spans=spans))


def _drop_offices(question: Question, read_hit: ReadHit) -> ReadHit:
    """Return a hit with the offices cut off its spans."""
    text = read_hit.hit.chunk.text
    spans = tuple(
        replace(item, span=drop_office(question.text, text, item.span))
        for item in read_hit.reading.spans
    )
    return replace(read_hit, reading=replace(read_hit.reading, spans=spans))


def find_abbreviation(question: str) -> str:
    """Return the abbreviation that a question asks to expand; empty if there is none."""
    match = _ABBREVIATED.search(question)
    return (match["asked"] or match["named"]) if match else ""


def find_expansion(text: str, letters: str) -> Span | None:
    """Return the span of the first expansion of an abbreviation in a text; `None` without one.

    The words begin with the letters in order, in capitals; joining words may come between them.
    """
    words = list(_WORD.finditer(text))
    for place, word in enumerate(words):
        if word.group()[0] == letters[0] and (end := _follow_letters(text, words, place, letters)):
            return Span(word.start(), end)
    return None


def _follow_letters(text: str, words: Sequence[re.Match[str]], place: int, letters: str) -> int:
    """Return the end of the words from index `place` on that spell the letters, else 0."""
    spelled, end = 0, words[place].start()
    for word in words[place : place + _MOST_WORDS]:
        if text[end : word.start()].strip(" -\n"):
            break
        end = word.end()
        if word.group()[0] == letters[spelled] and word.group() != letters:
            spelled += 1
            if spelled == len(letters):
                return end
        elif word.group() not in _JOINING:
            break
    return 0


def drop_office(question: str, text: str, span: Span) -> Span:
    """Return a span without the office before a name.

    For "Who is the mayor ...?" the office is what the answer repeats from the question. For a
    question about an organisation, such as "Dinas apakah", it is what comes before the kind
    ("Dinas") in the answer.
    """
    answer = span.cut(text)
    length = _measure_named_office(question, answer) or _measure_office_before_kind(
        question, answer
    )
    return Span(span.start + length, span.end)


def _measure_named_office(question: str, answer: str) -> int:
    """Return the number of characters that an answer repeats from after "Who is"."""
    opening = _WHO.match(question)
    if not opening:
        return 0
    asked = [word.group().casefold() for word in _WORD.finditer(question, opening.end())]
    words = list(_WORD.finditer(answer))
    same = 0
    for word, asked_word in zip(words, asked, strict=False):
        if word.group().casefold() != asked_word:
            break
        same += 1
    # One word may be a title that belongs to the name: "Sultan Ali".
    is_name = 1 < same < len(words) and words[same].group()[0].isupper()
    between = answer[words[same - 1].end() : words[same].start()] if is_name else ""
    return words[same].start() if is_name and not between.strip() else 0


def _measure_office_before_kind(question: str, answer: str) -> int:
    """Return the number of characters of the office before the kind that a question names."""
    kind = _KIND.search(question)
    office = _OFFICE.match(answer)
    if not kind or not office:
        return 0
    noun = _compile_noun((kind["named"] or kind["asked"]).casefold())
    place = noun.search(answer)
    is_after_office = place is not None and _OFFICE.fullmatch(answer, 0, place.start())
    return place.start() if place and is_after_office else 0


@cache
def _compile_noun(noun: str) -> re.Pattern[str]:
    """Return the pattern of a kind that begins a name: capitalised and before another capital."""
    return re.compile(rf"\b{re.escape(noun[0].upper())}{re.escape(noun[1:])}\s+[A-Z]")
