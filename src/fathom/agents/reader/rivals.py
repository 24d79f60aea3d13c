"""Rivals: other documents that answer the same question with another value.

Wording always differs, so two answers disagree only if that can be told: if both give dates, times
or numbers and have none in common, or if both name things of the kind that the question asks for;
where its words tell no kind, if both are nothing but names without a common word.
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

# Of the English samples, chunks with 0.77 and more are conflicts, one with 0.69 is none.
LEAST_ANSWERABLE = 0.73
"""The least probability with which a rival's chunk answers the question."""
_FIRM = 0.5
"""The least score of an answer that is firm beside that of the answer's own chunk."""
_FIRM_SHARE = 0.6
"""The least share of the score of the answer's own chunk from which on another one is firm."""
_ABOUT = 0.3
"""The least share of the question's content words in the text or headings of a rival's chunk."""
_PLAIN_SHARE = 0.5
"""The least share of an answer that a value or name fills which is all of it."""
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
    """

    text: str
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalFinder:
    """A search for the rivals of an answer.

    Attributes:
        likely: The least probability with which a chunk must answer the question, in [0, 1]; less
            is enough where the answer's own chunk is not much surer.
        share: The least share of that probability that the rival's answer needs, in [0, 1].
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
        """Return the rivals of an answer, the best-ranked first; of equal ones the first.

        A statement about another time than the question's is no rival, and neither is a text that
        repeats the question.

        Args:
            question: The question.
            answer: The answer in a few words.
            answer_hit: The hit that gives the answer.
            hits: All hits, best first.
            session: The question, put to the pair reader.
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
            # A hit that lacks more of the question than the answer's own may be about another case.
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
        """Return the score from which on the answer of another chunk is as firm as this answer."""
        (reading,) = session.read([answer_hit.chunk])
        scores = [
            span.score
            for span in reading.spans
            if question.answers_match(span.span.cut(answer_hit.chunk.text), answer)
        ]
        # An answer that was put together stands in no span; the chunk's best one is its measure.
        score = max(scores, default=max((span.score for span in reading.spans), default=1.0))
        return max(_FIRM, _FIRM_SHARE * score)

    def _is_about(self, question: Question, hit: Hit) -> bool:
        """Return whether a hit shares some of the question's words."""
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
        """Yield the answer of a hit, if the hit answers and disagrees with all before it."""
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
        """Return whether a span is of the kind asked for and more than words of the question."""
        text, kind = span.cut(hit.chunk.text), question.expected_value
        return (
            question.can_answer(hit.chunk.text, span)
            and not self.extract_terms(text) <= self.extract_terms(question.text)
            and (kind is None or is_plausible(kind, text))
        )

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
    """Return whether a text is one value or name, or several, and little else."""
    return sum(span.end - span.start for span in spans) >= _PLAIN_SHARE * max(1, len(text))


def _find_amounts(text: str) -> list[Span]:
    """Return the spans of times, else those of numbers."""
    return find_spans("time", text, "") or find_spans("number", text, "") or []


def amounts_differ(first: Sequence[Amount], second: Sequence[Amount]) -> bool:
    """Return whether both hold amounts of the same sort, but none in common."""
    pairs = [(one, other) for one in first for other in second if len(one) == len(other)]
    return bool(pairs) and not any(amounts_agree(one, other) for one, other in pairs)


def _is_comparable(question: Question, answer: str) -> bool:
    """Return whether answers such as this one can be told to differ."""
    kind = question.answer_type
    if kind == "any":
        # The sides of a comparison differ anyway.
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
