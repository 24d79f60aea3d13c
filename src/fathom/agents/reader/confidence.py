"""The confidence in a language model's answer, computed from its quotes, not from the model.

A copied sentence supports itself, but that does not show that it answers the question. The
cross-reader therefore reads the question with the quote alone, and the local reader's answer from
the same hits raises or lowers the confidence.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from fathom.agents.reader.base import ReadHit
from fathom.agents.reader.yes_no import YesNoJudge
from fathom.llm.catalogue import identify_model
from fathom.models.reading import CrossReader, Reading
from fathom.question.question import Question
from fathom.text.quotable import extract_chunk
from fathom.types import DIGITS, Chunk, Draft, Evidence

if TYPE_CHECKING:
    from fathom.assembly import Assembly

FACTORS = ("relevant", "answers", "says", "supports", "agrees", "agreed", "disputed", "offset")
"""The names of the factors that `AnswerConfidence.compute_factors` returns, in order."""

# `training/fit_answer_confidence.py` fits these laws; the figures and the data are in docs/runs.md.
LAWS: Mapping[str, tuple[float, ...]] = {
    "en": (0.02, 0.29, 0.0, 0.13, 0.31, 0.0, 0.54, 0.09),
    "id": (0.06, 0.93, 0.0, 0.0, 0.62, 0.18, 0.58, 0.59),
}

# `training/fit_model_calibration.py` fits these laws on real answers in both languages.
MODEL_LAWS: Mapping[str, tuple[float, ...]] = {
    "qwen-0.5b": (0.02, 0.01, 0.0, 0.14, 0.71, 0.49, 0.28, -1.18),
    "qwen-1.5b": (0.06, 0.03, 0.0, 0.0, 1.3, 0.55, 0.0, -1.11),
}

_LEAST = 1e-4
"""The lower bound of probabilities before a logarithm is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerConfidence:
    """A logistic law of the probability that a model's answer is right.

    Attributes:
        pairs: The cross-reader.
        laws: One slope of the logit for each of `FACTORS`, by the language of the question.
    """

    pairs: CrossReader
    laws: Mapping[str, tuple[float, ...]] = field(default_factory=lambda: LAWS)

    @classmethod
    def of(cls, assembly: "Assembly", model: str) -> Self:
        """Build the law for a model, `provider:model`, from the assembly."""
        return cls(pairs=assembly.cross_reader, laws=choose_laws(model))

    def __call__(self, question: Question, draft: Draft, first: Draft) -> float:
        """Return the probability that `draft` is right, in [0, 1]; 0 without evidence.

        Args:
            question: The question.
            draft: The model's draft, its quotes verified.
            first: The local reader's draft from the same hits.
        """
        if not draft.evidence:
            return 0.0
        verdict_confidence = self.judge_verdict(question, draft)
        # Yes-or-no answers have a law of their own.
        if verdict_confidence is not None:
            return verdict_confidence
        law = self.laws[question.language]
        factors = self.compute_factors(question, draft, first)
        logit = math.fsum(slope * factor for slope, factor in zip(law, factors, strict=True))
        return round(1 / (1 + math.exp(-logit)), DIGITS)

    def judge_verdict(self, question: Question, draft: Draft) -> float | None:
        """Return the confidence in a yes or no by the verdict law; `None` for other answers."""
        answer = draft.short_answer.casefold()
        words = {question.choose_word(yes=yes): yes for yes in (True, False)}
        if question.form != "yes or no" or question.statement is None or answer not in words:
            return None
        verdicts = YesNoJudge(pairs=self.pairs)
        sides = [
            verdict.confidence if verdict.yes == words[answer] else 1 - verdict.confidence
            for item in draft.evidence
            for verdict in verdicts.judge_sentences(question, self._read_quote(question, item))
        ]
        return max(sides, default=0.0)

    def choose_place(self, question: Question, short: str, places: Sequence[Evidence]) -> Evidence:
        """Return the place with the highest score for the short answer; the first of a tie.

        Args:
            question: The question.
            short: The short answer, which each place contains.
            places: The evidence to choose from, at least one.
        """
        session = self.pairs.open_session(question.text)
        scores = [session.score(_cut_quote(place), short) for place in places]
        return places[scores.index(max(scores))]

    def compute_factors(self, question: Question, draft: Draft, first: Draft) -> tuple[float, ...]:
        """Return the factors that the law weighs, in the order of `FACTORS`.

        For the best quote: the log-odds that it is relevant to the question, that it answers the
        question, that it gives the short answer, and that it supports question and answer together.
        For the local reader: 1 if it gives the same answer, else 0; the log-odds of its confidence
        if it agrees; ln(1 - confidence) if it does not. The last factor is 1, for the offset.
        """
        quotes = [_cut_quote(item) for item in draft.evidence]
        readings = self.pairs.open_session(question.text).read(quotes)
        best_place = max(range(len(quotes)), key=lambda place: (readings[place].answerable, -place))
        says = self._score_short_answer(
            question, draft.short_answer, quotes[best_place], readings[best_place]
        )
        claim = f"{question.text} {draft.short_answer}".strip()
        (support,) = self.pairs.open_session(claim, spans=0).read([quotes[best_place]])
        does_agree = drafts_agree(question, draft, first)
        return (
            _compute_logit(readings[best_place].relevance),
            _compute_logit(readings[best_place].answerable),
            _compute_logit(says),
            math.log(max(support.supported, _LEAST) / max(support.unrelated, _LEAST)),
            float(does_agree),
            _compute_logit(first.confidence) if does_agree else 0.0,
            0.0 if does_agree else math.log(max(1 - first.confidence, _LEAST)),
            1.0,
        )

    def _score_short_answer(
        self, question: Question, short: str, quote: Chunk, reading: Reading
    ) -> float:
        """Return the probability that a quote gives the short answer, in [0, 1].

        If the quote does not contain the answer, the score of its best span is returned.
        """
        best = max((span.score for span in reading.spans), default=0.0)
        # A derived answer, such as a sum, is not in the quote and cannot be scored there.
        if short and short.casefold() in quote.text.casefold():
            return self.pairs.open_session(question.text).score(quote, short)
        return best

    def _read_quote(self, question: Question, item: Evidence) -> ReadHit:
        """Return the quote, read as if it were the whole chunk of its hit."""
        quote = _cut_quote(item)
        (reading,) = self.pairs.open_session(question.text, spans=0).read([quote])
        return ReadHit(hit=replace(item.hit, chunk=quote), reading=reading, trust=1.0)


def choose_laws(model: str) -> Mapping[str, tuple[float, ...]]:
    """Return the laws for a model, `provider:model`, by language; known models have their own."""
    provider, _, name = model.partition(":")
    law = MODEL_LAWS.get(identify_model(name)) if provider == "local" else None
    return LAWS if law is None else dict.fromkeys(LAWS, law)


def drafts_agree(question: Question, draft: Draft, first: Draft) -> bool:
    """Return whether two drafts have the same short answer, or share evidence if one has none."""
    if draft.short_answer and first.short_answer:
        return question.answers_match(draft.short_answer, first.short_answer)
    places = {(item.hit.chunk.id, item.span, item.heading) for item in first.evidence}
    return any((item.hit.chunk.id, item.span, item.heading) in places for item in draft.evidence)


def _cut_quote(item: Evidence) -> Chunk:
    """Return the quote as a chunk of its own."""
    chunk = extract_chunk(item.hit.chunk, item.span)
    return replace(chunk, text=item.heading, headings=()) if item.heading else chunk


def _compute_logit(share: float) -> float:
    """Return the logit of a probability, bounded."""
    bounded = min(1 - _LEAST, max(_LEAST, share))
    return math.log(bounded / (1 - bounded))
