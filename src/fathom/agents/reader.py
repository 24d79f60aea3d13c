"""The reader: what the hits say to a question."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fathom.agents.expectation import expected_kind, holds
from fathom.documents.sentences import split
from fathom.models.base import Embedder
from fathom.run import Run
from fathom.types import Draft, Evidence, Hit, Span

FEATURES = ("cosine", "sentence_terms", "chunk_terms", "rank", "kind", "fullness", "bias")
# Fitted by `python training/fit_sentence_reader.py`; its figures are in docs/answers.md.
WEIGHTS = (3.139, 3.309, 0.046, 3.447, 0.551, -0.038, -8.148)


class Reader(Protocol):
    """Finds what supports an answer; every implementation passes the conformance test."""

    async def read(self, question: str, hits: Sequence[Hit], run: Run) -> Draft:
        """Read the hits, in rank order, as one step of the run.

        Returns:
            Evidence best first, empty when nothing was given to read.

        Raises:
            BudgetRefused: If there was no time for it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceReader:
    """Quotes the sentences that most likely hold the answer; deterministic, no language model.

    Each sentence is scored by a logistic model of a few features, whose value is the probability
    that the sentence holds an answer; the best sentence's is the confidence.

    Attributes:
        embedder: Compares question and sentence.
        terms: The distinct content words of a text, stemmed.
        sentences: At most so many quotes.
        keep: A further sentence is quoted when it is at least so likely as this share of the best.
    """

    embedder: Embedder
    terms: Callable[[str], frozenset[str]]
    sentences: int = 2
    keep: float = 0.75

    async def read(self, question: str, hits: Sequence[Hit], run: Run) -> Draft:
        """See `Reader.read`."""
        inputs = {"chunks": [hit.chunk.id for hit in hits]}
        with run.step("read", agent="reader", inputs=inputs) as here:
            draft = await here.compute("read", lambda: self.draft(question, hits))
            here.done(outputs=outline(draft), reason=f"confidence {draft.confidence:.2f}")
        return draft

    def draft(self, question: str, hits: Sequence[Hit]) -> Draft:
        """What `read` gives, at once."""
        candidates = list(candidates_of(hits))
        if not candidates:
            return Draft()
        scores = self.score(question, candidates)
        order = sorted(range(len(candidates)), key=lambda place: -scores[place])
        best = scores[order[0]]
        kept = [place for place in order[: self.sentences] if scores[place] >= self.keep * best]
        evidence = tuple(
            Evidence(hit=candidates[place][0], span=candidates[place][1], support=scores[place])
            for place in kept
        )
        return Draft(evidence=evidence, confidence=best)

    def score(self, question: str, candidates: Sequence[tuple[Hit, Span]]) -> list[float]:
        """Probability for each (hit, sentence) that the sentence holds the answer."""
        rows = np.asarray(self.features(question, candidates))
        logits = rows @ np.asarray(WEIGHTS)
        return [round(1 / (1 + math.exp(-logit)), 6) for logit in logits]

    def features(
        self, question: str, candidates: Sequence[tuple[Hit, Span]]
    ) -> list[tuple[float, ...]]:
        """The columns `FEATURES` for each (hit, sentence)."""
        wanted = self.terms(question)
        kind = expected_kind(question)
        texts = [span.cut(hit.chunk.text) for hit, span in candidates]
        shown = [_in_context(hit, text) for (hit, _), text in zip(candidates, texts, strict=True)]
        vectors = self.embedder.embed([question, *shown])
        cosines = vectors[1:] @ vectors[0]
        rows: list[tuple[float, ...]] = []
        for (hit, _), text, cosine in zip(candidates, texts, cosines, strict=True):
            words = self.terms(text)
            rows.append(
                (
                    float(cosine),
                    _share(wanted, words),
                    _share(wanted, self.terms(hit.chunk.context)),
                    1 / hit.rank,
                    0.0 if kind == "any" else 1.0 if holds(kind, text, question) else -1.0,
                    min(len(words - wanted), 10) / 10,
                    1.0,
                )
            )
        return rows


def outline(draft: Draft) -> dict[str, object]:
    """What a trace keeps of a draft: places and numbers rather than texts."""
    return {
        "evidence": [
            [item.hit.chunk.id, item.span.start, item.span.end, item.support]
            for item in draft.evidence
        ],
        "confidence": draft.confidence,
    }


def candidates_of(hits: Sequence[Hit]) -> Iterator[tuple[Hit, Span]]:
    """Every sentence of every hit; one that overlapping chunks share comes once."""
    seen: set[tuple[str, int]] = set()
    for hit in hits:
        for span in split(hit.chunk.text):
            place = (hit.chunk.document_id, hit.chunk.span.start + span.start)
            if place not in seen and any(char.isalnum() for char in span.cut(hit.chunk.text)):
                seen.add(place)
                yield hit, span


def _in_context(hit: Hit, sentence: str) -> str:
    path = dict.fromkeys(part for part in (hit.chunk.title, *hit.chunk.headings) if part)
    return f"{' > '.join(path)}: {sentence}" if path else sentence


def _share(wanted: frozenset[str], words: frozenset[str]) -> float:
    return len(wanted & words) / len(wanted) if wanted else 0.0
