"""Rivals: other documents that answer the same question with another value.

Wording always differs, so two answers disagree only if that can be told: if both give dates, times
or numbers and have none in common, or if both name things of the kind that the question asks for.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from fathom.models.reading import Reading, ReadingSession, ReadSpan
from fathom.question.anchors import TIMES, find_contradicted, find_missing
from fathom.question.question import Question
from fathom.text.answer_match import Amount, amounts_agree, list_amounts
from fathom.text.content_words import ContentTerms
from fathom.text.quotable import extend_to_units
from fathom.types import Evidence, Hit, Span

_MEASURED = re.compile(
    r"\b(?:what|apa)\b.*\b(?:fees?|prices?|costs?|charges?|fines?|rates?|salary|pay|wages?|limit|"
    r"maximum|minimum|deadline|budget|revenue|weight|height|depth|width|length|size|age|speed|"
    r"temperature|number|total|amount)\b",
    re.IGNORECASE,
)

# Of the English samples, chunks with 0.77 and more are conflicts, one with 0.69 is none.
LEAST_ANSWERABLE = 0.73
"""The least probability with which a rival's chunk answers the question."""
_MEASURES = {"any", "time", "number"}
"""The kinds of questions whose answers are compared by their amounts."""
_CELL_BORDER = re.compile(r"\S \| \S")
_OPTIONAL_KINDS = {"unit", "category"}
"""The kinds of anchors that a text often leaves out although it is about them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """The answer of another document.

    Attributes:
        text: The answer in a few words.
        answerable: The probability that its chunk answers the question.
    """

    text: str
    answerable: float
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalFinder:
    """A search for the rivals of an answer.

    Attributes:
        likely: The least probability with which a chunk must answer the question, in [0, 1].
        share: The least share of that probability that the rival's answer needs, in [0, 1].
        extract_terms: A function that returns the content words of a text.
        most: The largest number of hits of other documents that are considered.
    """

    likely: float = LEAST_ANSWERABLE
    share: float = 0.3
    most: int = 3
    extract_terms: Callable[[str], frozenset[str]] = field(default_factory=ContentTerms)

    def find_rivals(
        self,
        question: Question,
        answer: str,
        own: Hit,
        hits: Sequence[Hit],
        session: ReadingSession,
    ) -> list[Rival]:
        """Return the rivals of an answer, the best-ranked first; of equal ones the first.

        A statement about another time than the question's is no rival.

        Args:
            question: The question.
            answer: The answer in a few words.
            own: The hit that gives the answer.
            hits: All hits, best first.
            session: The question, put to the pair reader.
        """
        if not _is_comparable(question, answer):
            return []
        all_anchors = question.anchors
        required = [anchor for anchor in all_anchors if anchor.kind not in _OPTIONAL_KINDS]
        times = [anchor for anchor in all_anchors if anchor.kind in TIMES]
        own_gaps = find_missing(required, _get_context(own))
        rivals: list[Rival] = []
        for hit in _list_other_documents(own, hits)[: self.most]:
            # A hit that lacks more of the question than the answer's own may be about another case.
            if set(find_missing(required, _get_context(hit))) <= set(own_gaps):
                rivals += self._iterate_rivals(
                    question, [answer, *(rival.text for rival in rivals)], hit, session
                )
        return [rival for rival in rivals if not find_contradicted(times, rival.evidence.quote)]

    def _iterate_rivals(
        self, question: Question, earlier: Sequence[str], hit: Hit, session: ReadingSession
    ) -> Iterator[Rival]:
        """Yield the answer of a hit, if the hit answers and disagrees with all before it."""
        (reading,) = session.read([hit.chunk])
        best = self._choose_span(question, hit, reading)
        if reading.answerable < self.likely or best is None:
            return
        text = " ".join(best.span.cut(hit.chunk.text).split())
        if all(values_disagree(question, text, other) for other in earlier):
            evidence = Evidence(hit=hit, span=_find_quote(hit, best), support=best.score)
            yield Rival(text=text, answerable=reading.answerable, evidence=evidence)

    def _choose_span(self, question: Question, hit: Hit, reading: Reading) -> ReadSpan | None:
        """Return the span with the answer of a hit; `None` if that is not clear.

        A row of a table stands for itself: of several, the one that holds most of the question's
        words is meant, whatever span the pair reader prefers.
        """
        if not reading.spans:
            return None
        quotes = [_find_quote(hit, span).cut(hit.chunk.text) for span in reading.spans]
        if not _CELL_BORDER.search(quotes[0]):
            # In running text the pair reader's first span is clear enough.
            best = reading.spans[0]
            return best if best.score >= self.share * reading.answerable else None
        question_terms = self.extract_terms(question.text)
        shared = [len(question_terms & self.extract_terms(quote)) for quote in quotes]
        # A row with less than half of the question's words answers something else.
        if 2 * max(shared) < len(question_terms):
            return None
        return reading.spans[shared.index(max(shared))]


def _find_quote(hit: Hit, span: ReadSpan) -> Span:
    """Return the sentences around a span, or the span itself in a heading."""
    return extend_to_units(hit.chunk, span.span) or span.span


def values_disagree(question: Question, one: str, other: str) -> bool:
    """Return whether two answers to a question cannot both be the same value."""
    if question.answers_match(one, other):
        return False
    kind = question.answer_type
    if kind in _MEASURES:
        return _amounts_differ(list_amounts(one), list_amounts(other))
    return all(question.find_spans(text) for text in (one, other))


def _amounts_differ(first: Sequence[Amount], second: Sequence[Amount]) -> bool:
    """Return whether both hold amounts of the same sort, but none in common."""
    pairs = [(one, other) for one in first for other in second if len(one) == len(other)]
    return bool(pairs) and not any(amounts_agree(one, other) for one, other in pairs)


def _is_comparable(question: Question, answer: str) -> bool:
    """Return whether answers such as this one can be told to differ."""
    kind = question.answer_type
    if kind in _MEASURES:
        is_measured = kind != "any" or _MEASURED.search(question.text)
        return bool(is_measured and list_amounts(answer))
    return bool(question.find_spans(answer))


def _list_other_documents(own: Hit, hits: Sequence[Hit]) -> list[Hit]:
    """Return the best hit of each other document."""
    best_hits: dict[str, Hit] = {}
    for hit in hits:
        best_hits.setdefault(hit.chunk.document_id, hit)
    best_hits.pop(own.chunk.document_id, None)
    return list(best_hits.values())


def _get_context(hit: Hit) -> str:
    """Return the text of a hit with its title and headings."""
    return hit.chunk.context
