"""Nearest neighbours by cosine: of chunks, first chunks, sentences, or of a query moved to hits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fathom.index.base import IndexReader, Match, Space, check_k
from fathom.models.base import Embedder
from fathom.retrieval.base import Retriever, to_hits
from fathom.text.sentences import split
from fathom.types import Chunk, Hit, Query

_TINY = 1e-12  # the length of an empty vector


@dataclass(frozen=True, slots=True)
class VectorRetriever:
    """Ranks chunks by the cosine between their vector and the query's.

    Attributes:
        embedder: Of questions.
        space: Where the vectors of the chunks are; by default where every index has some.
    """

    index: IndexReader
    embedder: Embedder
    name: str = "vector"
    space: Space | None = None

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """See `Retriever.retrieve`; scores are cosines in [-1, 1]."""
        vector = self.embedder.embed([query.text])[0]
        matches = self.index.vector_search(vector, k=k, filters=query.filters, space=self.space)
        return to_hits(matches, self.index, self.name)


_FIRST = "#0"  # ends the id of every document's first chunk
_MORE = 4


@dataclass(frozen=True, slots=True)
class LeadRetriever:
    """Ranks the first chunks of documents, title and beginning, by their cosine with the query.

    A document says what it is about in its first lines, so this asks which document rather than
    which place. One hit a document; what stands further down is not found.
    """

    index: IndexReader
    embedder: Embedder
    name: str = "lead"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """See `Retriever.retrieve`; scores are cosines in [-1, 1]."""
        return to_hits(self._firsts(query, k), self.index, self.name)

    def _firsts(self, query: Query, k: int) -> list[Match]:
        """The nearest first chunks: more and more neighbours, until enough of them are first."""
        vector = self.embedder.embed([query.text])[0]
        asked = k
        while True:
            asked *= _MORE
            near = self.index.vector_search(vector, k=asked, filters=query.filters)
            firsts = [match for match in near if match.chunk_id.endswith(_FIRST)]
            if len(firsts) >= k or len(near) < asked:
                return firsts[:k]


_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceRetriever:
    """Puts the first hits of a retriever in the order of their best sentences.

    The vector of a chunk is about everything in it, so one sentence that says just what is asked
    may drown; here it counts alone.

    Attributes:
        first: Finds the chunks.
        embedder: Of questions.
        texts: Embeds sentences, many a question; one that remembers is best.
        candidates: So many hits are looked at, and no more are given.
    """

    first: Retriever
    embedder: Embedder
    texts: Embedder
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
        asked = self.embedder.embed([question])[0]
        said = self.texts.embed([sentence for each in sentences for sentence in each])
        cosines = iter([round(float(np.dot(vector, asked)), _DIGITS) for vector in said])
        return [max(next(cosines) for _ in each) for each in sentences]


def _sentences(chunk: Chunk) -> list[str]:
    """The sentences, each under the label, without which many do not say what they are about."""
    head = f"{chunk.label}: " if chunk.label else ""
    return [head + span.cut(chunk.text) for span in split(chunk.text)] or [chunk.context]


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorFeedback:
    """Nearest neighbours of the query moved towards its best hits (Rocchio on dense vectors).

    Li et al. 2021, "Pseudo relevance feedback with deep language models and dense retrievers".

    Attributes:
        embedder: Of questions.
        texts: Of chunks.
        hits: So many of the best hits are believed.
        original: Share of the query's own vector, in [0, 1].
    """

    index: IndexReader
    embedder: Embedder
    texts: Embedder
    hits: int = 3
    original: float = 0.6
    name: str = "vector_feedback"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """See `Retriever.retrieve`; scores are cosines in [-1, 1] with the moved vector."""
        vector = self.embedder.embed([query.text])[0]
        near = self.index.vector_search(vector, k=self.hits, filters=query.filters)
        chunks = self.index.chunks([match.chunk_id for match in near])
        if chunks:
            mean = self.texts.embed([chunk.context for chunk in chunks]).mean(axis=0)
            moved = self.original * vector + (1 - self.original) * mean
            vector = (moved / max(float(np.linalg.norm(moved)), _TINY)).astype(np.float32)
        matches = self.index.vector_search(vector, k=k, filters=query.filters)
        return to_hits(matches, self.index, self.name)
