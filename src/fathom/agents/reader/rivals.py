"""Rivals: other documents that answer the same question with another value.

Wording always differs, so two answers disagree only if both give dates, times or numbers and share
none, or if both name things of the kind that the question asks for. If the question shows no kind,
they disagree if both are nothing but names without a common word.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from fathom.agents.reader.voices import drop_stuffed
from fathom.models.reading import Reading, ReadingSession, ReadSpan
from fathom.question.anchors import TIMES, find_contradicted, find_missing
from fathom.question.answer_kind import is_plausible
from fathom.question.question import Question
from fathom.text.answer_match import Amount, amounts_agree, list_amounts, normalize_answer
from fathom.text.answer_type import find_spans
from fathom.text.content_words import ContentTerms
from fathom.text.entities import find_names
from fathom.text.quotable import extend_to_units
from fathom.types import Evidence, Hit, Span

_MEASURED = re.compile(
    r"\b(?:what|apa)\b.{0,100}\b(?:fees?|prices?|costs?|charges?|fines?|rates?|salary|pay|wages?|limit|"
    r"maximum|minimum|deadline|budget|revenue|weight|height|depth|width|length|size|age|speed|"
    r"temperature|number|total|amount)\b",
    re.IGNORECASE,
)

# In the English samples chunks from 0.77 on are conflicts, and one with 0.69 is not.
LEAST_ANSWERABLE = 0.73
"""The lowest probability that a rival's chunk answers the question."""
_FIRM = 0.5
"""The lowest score of a firm answer of another chunk."""
_FIRM_SHARE = 0.6
"""The lowest share of the answer's own score at which an answer of another chunk is firm."""
_ABOUT = 0.3
"""The lowest share of the question's content words that a rival's chunk must contain."""
_PLAIN_SHARE = 0.5
"""The share of an answer's characters that values or names must fill for it to be plain."""
_MEASURES = {"any", "time", "number"}
"""The answer kinds that are compared by their amounts."""
_CELL_BORDER = re.compile(r"\S \| \S")
_OPTIONAL_KINDS = {"unit", "category"}
"""The kinds of anchors that a text often does not mention although it is about them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """The answer of another document.

    Attributes:
        text: The answer in a few words.
        evidence: The sentence that gives it.
    """

    text: str
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalFinder:
    """A search for documents that contradict an answer.

    Attributes:
        likely: The lowest probability that a rival's chunk answers the question, in [0, 1]. A lower
            one suffices if the score of its answer is firm beside the given answer's.
        share: The lowest share of that probability that the rival's span must score, in [0, 1].
        extract_terms: A function that returns the content words of a text.
        most: The largest number of hits of other documents that are considered.
    """

    likely: float = LEAST_ANSWERABLE
    share: float = 0.3
    most: int = 7
    extract_terms: Callable[[str], frozenset[str]] = field(default_factory=ContentTerms)

    def find_rivals(
        self,
        question: Question,
        answer: str,
        answer_hit: Hit,
        hits: Sequence[Hit],
        session: ReadingSession,
    ) -> list[Rival]:
        """Return the rivals of an answer, the best-ranked first; equal rivals only once.

        A statement about another time than the question's is not a rival. A document that repeats
        the question (`voices`) is left out too.

        Args:
            question: The question.
            answer: The answer in a few words.
            answer_hit: The hit that gives the answer.
            hits: All hits, best first.
            session: The cross-reader's session for the question.
        """
        if not _is_comparable(question, answer):
            return []
        all_anchors = question.anchors
        required = [anchor for anchor in all_anchors if anchor.kind not in _OPTIONAL_KINDS]
        times = [anchor for anchor in all_anchors if anchor.kind in TIMES]
        answer_gaps = find_missing(required, _get_context(answer_hit))
        firm = self._find_firm_score(question, answer, answer_hit, session)
        rivals: list[Rival] = []
        for hit in _list_other_documents(answer_hit, drop_stuffed(question, hits))[: self.most]:
            # A hit that lacks anchors which the answer's hit has may be about another case.
            if self._is_about(question, hit) and set(
                find_missing(required, _get_context(hit))
            ) <= set(answer_gaps):
                rivals += self._iterate_rivals(
                    question, [answer, *(rival.text for rival in rivals)], hit, session, firm
                )
        return [rival for rival in rivals if not find_contradicted(times, rival.evidence.quote)]

    def _find_firm_score(
        self, question: Question, answer: str, answer_hit: Hit, session: ReadingSession
    ) -> float:
        """Return the score from which on an answer of another chunk is firm beside this answer."""
        (reading,) = session.read([answer_hit.chunk])
        scores = [
            span.score
            for span in reading.spans
            if question.answers_match(span.span.cut(answer_hit.chunk.text), answer)
        ]
        # A composed answer is in no span; the chunk's best span is used instead.
        score = max(scores, default=max((span.score for span in reading.spans), default=1.0))
        return max(_FIRM, _FIRM_SHARE * score)

    def _is_about(self, question: Question, hit: Hit) -> bool:
        """Return whether a hit contains enough of the question's content words."""
        terms = self.extract_terms(question.text)
        shared = terms & self.extract_terms(_get_context(hit))
        return len(shared) >= _ABOUT * len(terms)

    def _iterate_rivals(
        self,
        question: Question,
        earlier: Sequence[str],
        hit: Hit,
        session: ReadingSession,
        firm: float,
    ) -> Iterator[Rival]:
        """Yield the answer of a hit if it is likely and disagrees with all earlier answers."""
        (reading,) = session.read([hit.chunk])
        best = self._choose_span(question, hit, reading)
        if best is None or (reading.answerable < self.likely and best.score < firm):
            return
        text = " ".join(best.span.cut(hit.chunk.text).split())
        if self._may_answer(question, hit, best.span) and all(
            _answers_differ(question, text, other) for other in earlier
        ):
            evidence = Evidence(hit=hit, span=_find_quote(hit, best), support=best.score)
            yield Rival(text=text, evidence=evidence)

    def _may_answer(self, question: Question, hit: Hit, span: Span) -> bool:
        """Return whether a span is of the kind asked for and has words beyond the question's."""
        text, kind = span.cut(hit.chunk.text), question.expected_value
        return (
            question.can_answer(hit.chunk.text, span)
            and not self.extract_terms(text) <= self.extract_terms(question.text)
            and (kind is None or is_plausible(kind, text))
        )

    def _choose_span(self, question: Question, hit: Hit, reading: Reading) -> ReadSpan | None:
        """Return the span with the answer of a hit; `None` if it is unclear.

        In a table, the span in the row that shares most words with the question is chosen, whatever
        span the cross-reader prefers.
        """
        if not reading.spans:
            return None
        quotes = [_find_quote(hit, span).cut(hit.chunk.text) for span in reading.spans]
        if not _CELL_BORDER.search(quotes[0]):
            # In running text the cross-reader's first span is reliable enough.
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
    """Return whether two answers to a question give different values."""
    if question.answers_match(one, other):
        return False
    kind = question.answer_type
    if kind in _MEASURES:
        return amounts_differ(list_amounts(one), list_amounts(other))
    return all(question.find_spans(text) for text in (one, other))


def _answers_differ(question: Question, one: str, other: str) -> bool:
    """Return whether two answers of documents cannot both be right."""
    if values_disagree(question, one, other):
        return True
    if question.answer_type != "any" or question.answers_match(one, other):
        return False
    asked = set(normalize_answer(question.text).split())
    first, second = (set(normalize_answer(text).split()) - asked for text in (one, other))
    return (
        _is_plain(one, find_names(one))
        and _is_plain(other, find_names(other))
        and not (first & second)
    )


def _is_plain(text: str, spans: Sequence[Span]) -> bool:
    """Return whether a text consists of values or names and little else."""
    return sum(span.end - span.start for span in spans) >= _PLAIN_SHARE * max(1, len(text))


def _find_amounts(text: str) -> list[Span]:
    """Return the spans of times in a text, else those of numbers."""
    return find_spans("time", text, "") or find_spans("number", text, "") or []


def amounts_differ(first: Sequence[Amount], second: Sequence[Amount]) -> bool:
    """Return whether both lists hold amounts of the same kind, but none in common."""
    pairs = [(one, other) for one in first for other in second if len(one) == len(other)]
    return bool(pairs) and not any(amounts_agree(one, other) for one, other in pairs)


def _is_comparable(question: Question, answer: str) -> bool:
    """Return whether an answer is of a kind whose values can be compared."""
    kind = question.answer_type
    if kind == "any":
        # Options and sides of a comparison differ by their nature.
        is_open = not question.options and question.comparison is None
        is_measured = bool(_MEASURED.search(question.text) and list_amounts(answer))
        return is_measured or (
            is_open
            and any(
                _is_plain(answer, spans) for spans in (_find_amounts(answer), find_names(answer))
            )
        )
    if kind in _MEASURES:
        return bool(list_amounts(answer))
    return bool(question.find_spans(answer))


def _list_other_documents(answer_hit: Hit, hits: Sequence[Hit]) -> list[Hit]:
    """Return the best hit of each other document."""
    best_hits: dict[str, Hit] = {}
    for hit in hits:
        best_hits.setdefault(hit.chunk.document_id, hit)
    best_hits.pop(answer_hit.chunk.document_id, None)
    return list(best_hits.values())


def _get_context(hit: Hit) -> str:
    """Return the text of a hit with its title and headings."""
    return hit.chunk.context
