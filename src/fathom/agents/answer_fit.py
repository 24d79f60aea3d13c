"""The check that a user's correction really answers the question.

`fathom feedback` takes a place in a document as the right answer. This check reads the sentences
around that place, so that unrelated text is not stored as an answer.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from fathom.agents.judge import LocalJudge
from fathom.models.reading import CrossReader
from fathom.question.question import Question
from fathom.text.sentences import split
from fathom.types import Chunk, Document, Span

if TYPE_CHECKING:
    from fathom.assembly import Assembly

LEAST_SCORE = 0.05
"""The lowest span score (a probability from the cross-reader) that counts as an answer.

It is low because users correct answers of which the cross-reader is unsure. Most right sentences
score higher and most others lower: experiments/LOG.md, "What a correction must be".
"""
LEAST_SUPPORT = 0.5
"""The lowest support score of the local judge that counts: more likely supported than not."""
_SPANS = 10
"""The number of spans that the cross-reader returns for the sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFit:
    """A deterministic check that separates an answer from other text of the same document.

    Attributes:
        pairs: The cross-reader. It reads the sentence with its neighbours, so that a wrong answer
            has to compete with the right one.
        judge: The judge of whether the sentence supports the claim made of question and answer. It
            also accepts answers longer than the cross-reader's spans.
    """

    pairs: CrossReader
    judge: LocalJudge

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the check from the assembly."""
        return cls(pairs=assembly.cross_reader, judge=LocalJudge.of(assembly))

    def answers_question(self, question: Question, document: Document, place: Span) -> bool:
        """Return whether the text at a place of a document answers the question."""
        sentences = split(document.text)
        touched = [
            at
            for at, sentence in enumerate(sentences)
            if sentence.start < place.end and sentence.end > place.start
        ]
        if not touched:
            return False
        first, last = touched[0], touched[-1]
        near = sentences[max(0, first - 1) : last + 2]
        around = Span(near[0].start, near[-1].end)
        quote = Span(sentences[first].start, sentences[last].end).cut(document.text)
        return self._is_read(question, document, around, place) or self._is_supported(
            f"{question.text} {place.cut(document.text)}", quote
        )

    def _is_read(self, question: Question, document: Document, around: Span, place: Span) -> bool:
        """Return whether the cross-reader finds an answer that overlaps the place."""
        # The headings above a table or a list tell what its rows or items are about.
        chunk = _make_chunk(document, around, document.headings_at(place.start))
        (reading,) = self.pairs.open_session(question.text, spans=_SPANS).read([chunk])
        start, end = place.start - around.start, place.end - around.start
        return any(
            span.score >= LEAST_SCORE and span.span.start < end and span.span.end > start
            for span in reading.spans
        )

    def _is_supported(self, claim: str, quote: str) -> bool:
        """Return whether the local judge finds the claim supported by the quote."""
        (score,) = self.judge.score_pairs([(claim, quote)])
        return score >= LEAST_SUPPORT


def _make_chunk(document: Document, span: Span, headings: tuple[str, ...]) -> Chunk:
    """Return a part of a document as a chunk of its own."""
    return Chunk(
        id=f"{document.id}#told",
        document_id=document.id,
        text=span.cut(document.text),
        span=span,
        ordinal=0,
        title=document.title,
        headings=headings,
    )
