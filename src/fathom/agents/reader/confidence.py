"""How sure a language model's answer is: its quotes must earn it, whatever the model says.

A sentence that is copied supports itself; that says nothing of whether it answers the question. So
the cross-reader reads the question with the quote alone, and what the local reader made of the same
hits counts for or against it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from fathom.agents.reader.base import ReadHit
from fathom.agents.reader.yes_no import Verdicts
from fathom.models.reading import CrossReader, Reading
from fathom.question.form import form_of, word_for
from fathom.question.statement import statement
from fathom.text.answer_match import answers_match
from fathom.text.language import question_language
from fathom.text.quotable import cut_out
from fathom.types import Chunk, Draft, Evidence

FACTORS = ("relevant", "answers", "says", "supports", "agrees", "agreed", "disputed", "offset")
"""What the confidence depends on, as `AnswerConfidence.factors` gives it."""

# Fitted by `training/fit_answer_confidence.py`; the figures, and what it was fitted on, are in
# docs/runs.md.
LAWS: Mapping[str, tuple[float, ...]] = {
    "en": (0.02, 0.29, 0.0, 0.13, 0.31, 0.0, 0.54, 0.09),
    "id": (0.06, 0.93, 0.0, 0.0, 0.62, 0.18, 0.58, 0.59),
}

_LEAST = 1e-4
_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerConfidence:
    """The probability that a model's answer is right.

    Attributes:
        laws: By the language of the question, one slope of the logit for each of `FACTORS`.
    """

    pairs: CrossReader
    laws: Mapping[str, tuple[float, ...]] = field(default_factory=lambda: LAWS)

    def __call__(self, question: str, draft: Draft, first: Draft) -> float:
        """How sure `draft` is, in [0, 1]; 0 without evidence.

        Args:
            question: What was asked.
            draft: Of the model, its quotes verified.
            first: What the local reader made of the same hits.
        """
        if not draft.evidence:
            return 0.0
        decided = self._decided(question, draft)
        if decided is not None:
            return decided
        law = self.laws[question_language(question)]
        factors = self.factors(question, draft, first)
        logit = math.fsum(a * b for a, b in zip(law, factors, strict=True))
        return round(1 / (1 + math.exp(-logit)), _DIGITS)

    def factors(self, question: str, draft: Draft, first: Draft) -> tuple[float, ...]:
        """What the law weighs; log-odds where nothing else is said.

        That the best quote is about the question; that it answers it; that the short answer is
        what it answers; that it supports the question with the answer; whether the local reader
        says the same, as 1 or 0; how sure it is then; the logarithm of how unsure it is where it
        says otherwise; and 1.
        """
        quotes = [_alone(item) for item in draft.evidence]
        readings = self.pairs.session(question).read(quotes)
        at = max(range(len(quotes)), key=lambda place: (readings[place].answerable, -place))
        says = self._says(question, draft.short_answer, quotes[at], readings[at])
        told = f"{question} {draft.short_answer}".strip()
        (read,) = self.pairs.session(told, spans=0).read([quotes[at]])
        agrees = agree(question, draft, first)
        return (
            _logit(readings[at].relevance),
            _logit(readings[at].answerable),
            _logit(says),
            math.log(max(read.supported, _LEAST) / max(read.unrelated, _LEAST)),
            float(agrees),
            _logit(first.confidence) if agrees else 0.0,
            0.0 if agrees else math.log(max(1 - first.confidence, _LEAST)),
            1.0,
        )

    def _says(self, question: str, short: str, quote: Chunk, reading: Reading) -> float:
        best = max((span.score for span in reading.spans), default=0.0)
        if short and short.casefold() in quote.text.casefold():
            return self.pairs.session(question).score(quote, short)
        return best

    def _decided(self, question: str, draft: Draft) -> float | None:
        """How sure a yes or no is by the law of verdicts; `None` of other answers."""
        asked = statement(question) if form_of(question) == "yes or no" else None
        said = draft.short_answer.casefold()
        words = {word_for(question, yes=yes): yes for yes in (True, False)}
        if asked is None or said not in words:
            return None
        verdicts = Verdicts(pairs=self.pairs)
        sides = [
            verdict.confidence if verdict.yes == words[said] else 1 - verdict.confidence
            for item in draft.evidence
            for verdict in verdicts.of(question, asked, self._look(question, item))
        ]
        return max(sides, default=0.0)

    def _look(self, question: str, item: Evidence) -> ReadHit:
        """The quote, read as if it were all of its hit."""
        quote = _alone(item)
        (reading,) = self.pairs.session(question, spans=0).read([quote])
        return ReadHit(hit=replace(item.hit, chunk=quote), reading=reading, trust=1.0)


def agree(question: str, draft: Draft, first: Draft) -> bool:
    """Whether two drafts give the same answer; the same place where one gives no short answer."""
    if draft.short_answer and first.short_answer:
        return answers_match(question, draft.short_answer, first.short_answer)
    own = {(item.hit.chunk.id, item.span, item.heading) for item in first.evidence}
    return any((item.hit.chunk.id, item.span, item.heading) in own for item in draft.evidence)


def _alone(item: Evidence) -> Chunk:
    """The quote as a chunk of its own."""
    chunk = cut_out(item.hit.chunk, item.span)
    return replace(chunk, text=item.heading, headings=()) if item.heading else chunk


def _logit(share: float) -> float:
    bounded = min(1 - _LEAST, max(_LEAST, share))
    return math.log(bounded / (1 - bounded))
