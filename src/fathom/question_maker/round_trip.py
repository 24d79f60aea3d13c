"""The round trip, which accepts a question if a search finds its source and the source answers it.

It does not check whether the reader finds the answer among all hits. Otherwise only easy questions
would remain, and a calibration on them would be too optimistic.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fathom.agents.reader.local import LocalReader
from fathom.question.question import Question
from fathom.question_maker.facts import Fact, is_named
from fathom.retrieval.base import Retriever
from fathom.text.answer_match import normalize_answer
from fathom.text.answer_scores import score_f1
from fathom.types import Chunk, Filter, Hit, Query

_ARTICLE = re.compile(r"^(?:the|an?) ")
SEARCH_DEPTH = 10
"""The number of hits among which the source must be."""
_LEAST_F1 = 0.6
_LEAST_ITEM_SHARE = 0.5
_LEAST_CONFIDENCE = 0.5
_MOST_READ = 3
_COMMON_DOCUMENTS = 3
"""The number of other documents with an unnamed subject that make a question ambiguous."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictingAnswer:
    """The answer of another document to the same question."""

    answer: str
    chunk: Chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTripOutcome:
    """The outcome of the round trip of a fact's question.

    Attributes:
        refusal: The reason of a refusal; empty if the question is accepted.
        answerable: The reader's probability, from 0 to 1, that the source answers the question.
        conflicts: The other answers of documents that cover as much of the question as the source.
    """

    refusal: str = ""
    answerable: float = 0.0
    conflicts: tuple[ConflictingAnswer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrip:
    """The search and the reading that check the questions of facts.

    Attributes:
        retriever: The retriever.
        reader: The reader.
        extract_terms: Returns the stems of the content words of a text.
    """

    retriever: Retriever
    reader: LocalReader
    extract_terms: Callable[[str], frozenset[str]]

    def __call__(self, fact: Fact) -> RoundTripOutcome:
        """Check the question of a fact; return the reason of a refusal, or its conflicts."""
        draft = self.reader.draft(Question(fact.question), [make_single_hit(fact.chunk)])
        if not _is_same_answer(fact, draft.short_answer):
            return RoundTripOutcome(refusal="the reader finds another answer in the source")
        hits = self.search(fact.question)
        if not any(_holds_answer(hit.chunk, fact) for hit in hits):
            return RoundTripOutcome(refusal="the source is not among the hits")
        if self._is_common(fact, hits):
            return RoundTripOutcome(refusal="several documents describe such a thing")
        rivals = self._find_conflicts(fact, hits)
        session = self.reader.pairs.open_session(fact.question)
        (reading,) = session.read([fact.chunk])
        return RoundTripOutcome(answerable=reading.answerable, conflicts=tuple(rivals))

    def search(
        self, question: str, *, without: Sequence[str] = (), k: int = SEARCH_DEPTH
    ) -> list[Hit]:
        """Return the first `k` hits; leave out the documents of `without`."""
        filters = tuple(Filter("document", "!=", document) for document in without)
        return self.retriever.retrieve(Query(text=question, filters=filters), k=k)

    def measure_coverage(self, question: str, chunk: Chunk) -> float:
        """Return the share of the question's content words in a chunk and its headings."""
        question_terms = self.extract_terms(question)
        return len(question_terms & self.extract_terms(chunk.context)) / max(1, len(question_terms))

    def measure_answerability(self, question: str, hits: Sequence[Hit]) -> float:
        """Return the highest probability that one of the first hits answers the question."""
        session = self.reader.pairs.open_session(question)
        readings = session.read([hit.chunk for hit in hits[:_MOST_READ]])
        return max((reading.answerable for reading in readings), default=0.0)

    def _is_common(self, fact: Fact, hits: Sequence[Hit]) -> bool:
        """Return whether many other documents have the same unnamed subject, such as "the club"."""
        # A row of a table identifies its subject like a name.
        if not fact.subject or is_named(fact.subject) or fact.rule == "cell":
            return False
        thing = _ARTICLE.sub("", fact.subject).casefold()
        others = {hit.chunk.document_id for hit in hits if thing in hit.chunk.text.casefold()}
        return len(others - {fact.document}) >= _COMMON_DOCUMENTS

    def _find_conflicts(self, fact: Fact, hits: Sequence[Hit]) -> list[ConflictingAnswer]:
        others = [hit for hit in hits if hit.chunk.document_id != fact.document]
        source_coverage = self.measure_coverage(fact.question, fact.chunk)
        # A document that covers less of the question is about something else.
        near = [
            candidate
            for candidate in others
            if self.measure_coverage(fact.question, candidate.chunk) >= source_coverage
        ][:_MOST_READ]
        conflicts = []
        for hit in near:
            draft = self.reader.draft(Question(fact.question), [make_single_hit(hit.chunk)])
            if (
                draft.confidence >= _LEAST_CONFIDENCE
                and draft.short_answer
                and not _is_same_answer(fact, draft.short_answer)
            ):
                conflicts.append(ConflictingAnswer(answer=draft.short_answer, chunk=hit.chunk))
        return conflicts


def make_single_hit(chunk: Chunk) -> Hit:
    """Return a chunk as the only hit."""
    return Hit(chunk=chunk, score=1.0, rank=1, retriever="source")


def _is_same_answer(fact: Fact, answer: str) -> bool:
    if not answer:
        return False
    if fact.several:
        normalized = normalize_answer(answer)
        return sum(
            normalize_answer(item) in normalized for item in fact.items
        ) >= _LEAST_ITEM_SHARE * len(fact.items)
    return (
        Question(fact.question).answers_match(answer, fact.answer)
        or score_f1(answer, [fact.answer]) >= _LEAST_F1
    )


def _holds_answer(chunk: Chunk, fact: Fact) -> bool:
    return chunk.id == fact.chunk.id or (
        chunk.document_id == fact.document and fact.answer in " ".join(chunk.text.split())
    )
