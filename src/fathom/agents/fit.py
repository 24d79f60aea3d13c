"""Whether an answer that a person tells is one to the question, by the sentence it stands in."""

from dataclasses import dataclass

from fathom.agents.judge import LocalJudge
from fathom.models.reading import CrossReader
from fathom.text.sentences import split
from fathom.types import Chunk, Document, Span

ENOUGH = 0.05
"""Of the cross-reader's probability: a person corrects where it is unsure, so it need not be sure.

On questions with the right sentence and with others, in experiments/LOG.md, "What a correction must
be": most others have less, most right ones more.
"""
SUPPORTED = 0.5
"""Of the local judge: rather said by the sentence than not."""
_SPANS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFit:
    """Tells what answers a question from what only stands in the same document; deterministic.

    Attributes:
        pairs: Reads the question with the sentence and its neighbours, among which an answer that
            is none has to stand its ground against the right one.
        judge: Says whether the sentence alone supports the question with the answer; it knows
            answers that are longer than those that the reader looks for.
    """

    pairs: CrossReader
    judge: LocalJudge

    def fits(self, question: str, document: Document, place: Span) -> bool:
        """Tell whether what stands at a place of a document answers the question there."""
        sentences = split(document.text)
        touched = [
            at
            for at, each in enumerate(sentences)
            if each.start < place.end and each.end > place.start
        ]
        if not touched:
            return False
        first, last = touched[0], touched[-1]
        near = sentences[max(0, first - 1) : last + 2]
        around = Span(near[0].start, near[-1].end)
        quote = Span(sentences[first].start, sentences[last].end).cut(document.text)
        return self._is_read(question, document, around, place) or self._is_supported(
            f"{question} {place.cut(document.text)}", quote
        )

    def _is_read(self, question: str, document: Document, around: Span, place: Span) -> bool:
        # What a table's rows or a list's items are about stands in the headings above them.
        chunk = _chunk_at(document, around, document.headings_at(place.start))
        (reading,) = self.pairs.session(question, spans=_SPANS).read([chunk])
        start, end = place.start - around.start, place.end - around.start
        return any(
            each.score >= ENOUGH and each.span.start < end and each.span.end > start
            for each in reading.spans
        )

    def _is_supported(self, claim: str, quote: str) -> bool:
        (score,) = self.judge.scores([(claim, quote)])
        return score >= SUPPORTED


def _chunk_at(document: Document, span: Span, headings: tuple[str, ...]) -> Chunk:
    return Chunk(
        id=f"{document.id}#told",
        document_id=document.id,
        text=span.cut(document.text),
        span=span,
        ordinal=0,
        title=document.title,
        headings=headings,
    )
