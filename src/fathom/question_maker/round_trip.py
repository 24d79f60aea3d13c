"""The round trip: a question is kept if its source is found with it and answers it, read alone.

Whether the answer would be found among all that is found is not asked: what is easy for a strategy
would be all that is left, and a calibration on such questions would promise too much.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fathom.agents.reader.reader import LocalReader
from fathom.question_maker.facts import Fact, is_named
from fathom.retrieval.base import Retriever
from fathom.text.answer_match import answers_match, normalize_answer
from fathom.text.answer_scores import f1
from fathom.types import Chunk, Filter, Hit, Query

_ARTICLE = re.compile(r"^(?:the|an?) ")
DEPTH = 10
"""Among so many hits the source must be."""
_ALIKE = 0.6
_ITEMS = 0.5
_SURE = 0.5
_OTHERS = 3
_COMMON = 3
"""So many other documents about a thing without a name make it none in particular."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """What another document says to the same question."""

    answer: str
    chunk: Chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What came of a fact's question.

    Attributes:
        refusal: Why it is not taken; empty where it is.
        answerable: How likely its source answers it, as the reader sees it, 0 to 1.
        rivals: Other documents that are about all that the question names, and say otherwise.
    """

    refusal: str = ""
    answerable: float = 0.0
    rivals: tuple[Rival, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrip:
    """Searches and reads for the questions of facts.

    Attributes:
        terms: The distinct content words of a text, stemmed.
    """

    retriever: Retriever
    reader: LocalReader
    terms: Callable[[str], frozenset[str]]

    def __call__(self, fact: Fact) -> Checked:
        """Whether the question of a fact can be taken."""
        draft = self.reader.draft(fact.question, [alone(fact.chunk)])
        if not _same(fact, draft.short_answer):
            return Checked(refusal="its source is read otherwise")
        hits = self.hits(fact.question)
        if not any(_holds(hit.chunk, fact) for hit in hits):
            return Checked(refusal="its source is not found")
        if self._is_common(fact, hits):
            return Checked(refusal="several documents are about such a thing")
        rivals = self._rivals(fact, hits)
        session = self.reader.pairs.session(fact.question)
        (reading,) = session.read([fact.chunk])
        return Checked(answerable=reading.answerable, rivals=tuple(rivals))

    def hits(self, question: str, *, without: Sequence[str] = (), k: int = DEPTH) -> list[Hit]:
        """The first hits, as if some documents were not there."""
        filters = tuple(Filter("document", "!=", each) for each in without)
        return self.retriever.retrieve(Query(text=question, filters=filters), k=k)

    def coverage(self, question: str, chunk: Chunk) -> float:
        """Share of the question's words that a chunk holds, headings included."""
        asked = self.terms(question)
        return len(asked & self.terms(chunk.context)) / max(1, len(asked))

    def answerable(self, question: str, hits: Sequence[Hit]) -> float:
        """How likely one of the first hits answers, as the reader sees it."""
        session = self.reader.pairs.session(question)
        readings = session.read([hit.chunk for hit in hits[:_OTHERS]])
        return max((each.answerable for each in readings), default=0.0)

    def _is_common(self, fact: Fact, hits: Sequence[Hit]) -> bool:
        """Whether it is about a thing without a name that other documents have too: "the club"."""
        if not fact.subject or is_named(fact.subject) or fact.rule == "cell":
            return False
        thing = _ARTICLE.sub("", fact.subject).casefold()
        others = {hit.chunk.document_id for hit in hits if thing in hit.chunk.text.casefold()}
        return len(others - {fact.document}) >= _COMMON

    def _rivals(self, fact: Fact, hits: Sequence[Hit]) -> list[Rival]:
        others = [hit for hit in hits if hit.chunk.document_id != fact.document]
        own = self.coverage(fact.question, fact.chunk)
        near = [h for h in others if self.coverage(fact.question, h.chunk) >= own][:_OTHERS]
        found = []
        for hit in near:
            draft = self.reader.draft(fact.question, [alone(hit.chunk)])
            if (
                draft.confidence >= _SURE
                and draft.short_answer
                and not _same(fact, draft.short_answer)
            ):
                found.append(Rival(answer=draft.short_answer, chunk=hit.chunk))
        return found


def alone(chunk: Chunk) -> Hit:
    """A chunk as the only hit."""
    return Hit(chunk=chunk, score=1.0, rank=1, retriever="source")


def _same(fact: Fact, said: str) -> bool:
    if not said:
        return False
    if fact.several:
        told = normalize_answer(said)
        return sum(normalize_answer(item) in told for item in fact.items) >= _ITEMS * len(
            fact.items
        )
    return answers_match(fact.question, said, fact.answer) or f1(said, [fact.answer]) >= _ALIKE


def _holds(chunk: Chunk, fact: Fact) -> bool:
    return chunk.id == fact.chunk.id or (
        chunk.document_id == fact.document and fact.answer in " ".join(chunk.text.split())
    )
