"""Chunks by their best sentence."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fathom.index.base import check_k
from fathom.models.base import Embedder
from fathom.retrieval.base import Retriever
from fathom.text.sentences import split
from fathom.types import Chunk, Hit, Query

_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceRetriever:
    """Puts the first hits of a retriever in the order of their best sentences.

    The vector of a chunk is about everything in it, so one sentence that says just what is asked
    may drown; here it counts alone.

    Attributes:
        first: Finds the chunks.
        embedder: Embeds sentences, many a question; one that remembers is best.
        candidates: So many hits are looked at, and no more are given.
    """

    first: Retriever
    embedder: Embedder
    candidates: int = 12
    name: str = "sentence"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """See `Retriever.retrieve`; scores are cosines in [-1, 1]."""
        check_k(k)
        hits = self.first.retrieve(query, k=self.candidates)
        scores = self._scores(query.text, [hit.chunk for hit in hits])
        scored = [replace(hit, score=score) for hit, score in zip(hits, scores, strict=True)]
        best = sorted(scored, key=lambda hit: (-hit.score, hit.chunk.id))[:k]
        return [replace(hit, rank=n, retriever=self.name) for n, hit in enumerate(best, start=1)]

    def _scores(self, question: str, chunks: Sequence[Chunk]) -> list[float]:
        """The cosine of each chunk's best sentence with the question."""
        sentences = [_sentences(chunk) for chunk in chunks]
        asked, *said = self.embedder.embed([question, *(s for each in sentences for s in each)])
        cosines = iter([round(float(np.dot(vector, asked)), _DIGITS) for vector in said])
        return [max(next(cosines) for _ in each) for each in sentences]


def _sentences(chunk: Chunk) -> list[str]:
    """The sentences, each under the label, without which many do not say what they are about."""
    head = f"{chunk.label}: " if chunk.label else ""
    return [head + span.cut(chunk.text) for span in split(chunk.text)] or [chunk.context]
