"""A pair reader that says what a test wants; no model."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fathom.models.reading import NOTHING, Reading, ReadSpan
from fathom.text.sentences import split
from fathom.types import Chunk, Span

_WORD = re.compile(r"\w+")
Script = Callable[[str, Chunk], Reading]


def reading(chunk: Chunk, answer: str = "", score: float = 0.9, **values: float) -> Reading:
    """What a model might make of a chunk that holds `answer`; without one it holds none."""
    known: dict[str, Any] = dict(values)
    if answer:
        start = chunk.text.index(answer)
        spans = (ReadSpan(span=Span(start, start + len(answer)), score=score),)
        known = {"relevance": score, "answerable": score, "no_answer": -1.0, **known}
        known["spans"] = spans
    return replace(NOTHING, **known)


@dataclass(frozen=True)
class ScriptedPairs:
    """A `CrossReader` whose readings a function gives."""

    script: Script

    def session(self, question: str, *, spans: int = 5) -> "ScriptedSession":
        return ScriptedSession(self.script, question, spans)


@dataclass(frozen=True)
class ScriptedSession:
    """See `ReadingSession`; an answer's score is that of the span with its text."""

    script: Script
    question: str
    spans: int

    def read(self, chunks: Sequence[Chunk]) -> list[Reading]:
        found = [self.script(self.question, chunk) for chunk in chunks]
        return [replace(each, spans=each.spans[: self.spans]) for each in found]

    def score(self, chunk: Chunk, answer: str) -> float:
        (found,) = self.read([chunk])
        own = (s.score for s in found.spans if s.span.cut(chunk.text).lower() == answer.lower())
        return max(own, default=0.0)


def overlap(question: str, chunk: Chunk) -> Reading:
    """By shared words alone: the best sentence's first word that is new is the answer."""
    asked = _words(question)
    best = max(
        split(chunk.text), key=lambda s: len(asked & _words(s.cut(chunk.text))), default=None
    )
    if best is None or not asked:
        return NOTHING
    shared = round(len(asked & _words(best.cut(chunk.text))) / len(asked), 6)
    new = [
        Span(best.start + match.start(), best.start + match.end())
        for match in _WORD.finditer(best.cut(chunk.text))
        if not _words(match.group()) & asked
    ]
    sure = 0.99 if shared >= 0.5 else 0.01  # so that no test depends on a law of confidence
    return replace(
        NOTHING,
        relevance=shared,
        answerable=sure,
        no_answer=0.5 - shared,
        supported=shared,
        unrelated=round(1 - shared, 6),
        spans=tuple(ReadSpan(span=span, score=sure) for span in new[:1]),
    )


def _words(text: str) -> frozenset[str]:
    """The beginnings of the longer words."""
    return frozenset(word[:4].lower() for word in _WORD.findall(text) if len(word) > 3)


OVERLAP = ScriptedPairs(overlap)
"""For tests of everything around the cross-reader; loads nothing."""
