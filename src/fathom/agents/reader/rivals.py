"""Rivals: other documents that answer the same question with another value.

Wording always differs, so two answers disagree only where that can be told: both give dates, times
or numbers and have none in common, or both name things of the kind that was asked for.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from fathom.models.reading import Reading, ReadingSession, ReadSpan
from fathom.question.anchors import TIMES, anchors, contradicted, missing
from fathom.text.answer_match import Amount, agree, amounts_of, answers_match
from fathom.text.answer_type import answer_type, spans_of
from fathom.text.content_words import ContentTerms
from fathom.text.quotable import around
from fathom.types import Evidence, Hit, Span

_MEASURED = re.compile(
    r"\b(?:what|apa)\b.*\b(?:fees?|prices?|costs?|charges?|fines?|rates?|salary|pay|wages?|limit|"
    r"maximum|minimum|deadline|budget|revenue|weight|height|depth|width|length|size|age|speed|"
    r"temperature|number|total|amount)\b",
    re.IGNORECASE,
)

LIKELY = 0.73  # of the English samples 0.77 and more are conflicts, 0.69 is none
_MEASURES = {"any", "time", "number"}
"""Kinds of questions whose answers are compared by their amounts."""
_CELLS = re.compile(r"\S \| \S")
_OFTEN_UNSAID = {"unit", "category"}
"""Kinds of anchors that a text leaves out though it speaks of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """What another document answers instead.

    Attributes:
        text: In a few words.
        answerable: Probability that its chunk answers the question.
    """

    text: str
    answerable: float
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Rivalry:
    """Looks for rivals of an answer.

    Attributes:
        likely: A chunk must answer the question with this probability, in [0, 1].
        share: And its answer be at least so likely as this share of that, in [0, 1].
        terms: The content words of a text.
        most: So many hits of other documents are looked at.
    """

    likely: float = LIKELY
    share: float = 0.3
    most: int = 3
    terms: Callable[[str], frozenset[str]] = field(default_factory=ContentTerms)

    def of(
        self, question: str, answer: str, own: Hit, hits: Sequence[Hit], session: ReadingSession
    ) -> list[Rival]:
        """The rivals of an answer, the best-ranked first; of equal ones the first.

        What is said of another time than the question's is none.

        Args:
            question: What was asked.
            answer: In a few words.
            own: The hit that gives it.
            hits: All of them, best first.
            session: The question, put to the pair reader.
        """
        if not _is_telling(question, answer):
            return []
        named = anchors(question)
        wanted = [each for each in named if each.kind not in _OFTEN_UNSAID]
        times = [each for each in named if each.kind in TIMES]
        lacking = missing(wanted, _context(own))
        found: list[Rival] = []
        for hit in _others(own, hits)[: self.most]:
            if set(missing(wanted, _context(hit))) <= set(lacking):
                found += self._said(question, [answer, *(r.text for r in found)], hit, session)
        return [each for each in found if not contradicted(times, each.evidence.quote)]

    def _said(
        self, question: str, before: Sequence[str], hit: Hit, session: ReadingSession
    ) -> Iterator[Rival]:
        """What a hit says, if it answers the question otherwise than all before it."""
        (reading,) = session.read([hit.chunk])
        best = self._best(question, hit, reading)
        if reading.answerable < self.likely or best is None:
            return
        text = " ".join(best.span.cut(hit.chunk.text).split())
        if all(disagree(question, text, each) for each in before):
            evidence = Evidence(hit=hit, span=_quoted(hit, best), support=best.score)
            yield Rival(text=text, answerable=reading.answerable, evidence=evidence)

    def _best(self, question: str, hit: Hit, reading: Reading) -> ReadSpan | None:
        """What a hit answers, if that is clear.

        A row of a table speaks for itself: of several, the one that holds most of the question's
        words is meant, whatever span the pair reader prefers.
        """
        if not reading.spans:
            return None
        said = [_quoted(hit, each).cut(hit.chunk.text) for each in reading.spans]
        if not _CELLS.search(said[0]):
            best = reading.spans[0]
            return best if best.score >= self.share * reading.answerable else None
        asked = self.terms(question)
        shared = [len(asked & self.terms(each)) for each in said]
        if 2 * max(shared) < len(asked):
            return None
        return reading.spans[shared.index(max(shared))]


def _quoted(hit: Hit, said: ReadSpan) -> Span:
    return around(hit.chunk, said.span) or said.span


def disagree(question: str, one: str, other: str) -> bool:
    """Whether two answers to a question cannot both be the same value."""
    if answers_match(question, one, other):
        return False
    kind = answer_type(question)
    if kind in _MEASURES:
        return _apart(amounts_of(one), amounts_of(other))
    return all(spans_of(kind, text, question) for text in (one, other))


def _apart(first: Sequence[Amount], second: Sequence[Amount]) -> bool:
    """Whether both hold amounts of the same sort, but none in common."""
    pairs = [(one, other) for one in first for other in second if len(one) == len(other)]
    return bool(pairs) and not any(agree(one, other) for one, other in pairs)


def _is_telling(question: str, answer: str) -> bool:
    """Whether of such answers it can be told that they differ."""
    kind = answer_type(question)
    if kind in _MEASURES:
        asked = kind != "any" or _MEASURED.search(question)
        return bool(asked and amounts_of(answer))
    return bool(spans_of(kind, answer, question))


def _others(own: Hit, hits: Sequence[Hit]) -> list[Hit]:
    """The best hit of each other document."""
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(hit.chunk.document_id, hit)
    first.pop(own.chunk.document_id, None)
    return list(first.values())


def _context(hit: Hit) -> str:
    return hit.chunk.context
