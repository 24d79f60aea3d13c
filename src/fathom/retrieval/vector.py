"""Vector retrieval by cosine: over chunks, first chunks or sentences, and with feedback."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from fathom.index.base import IndexReader, Match, check_k
from fathom.models.base import Embedder
from fathom.retrieval.base import Retriever, rank_hits, to_hits
from fathom.retrieval.vector_side import VectorSide
from fathom.text.sentences import split
from fathom.types import DIGITS, Chunk, Hit, Query

if TYPE_CHECKING:  # the assembly makes the retrievers, and imports every part
    from fathom.assembly import Assembly

_TINY = 1e-12
"""The least number that a vector is divided by, so that a vector of zeros gives no error."""


@dataclass(frozen=True, slots=True)
class VectorRetriever:
    """A ranking of chunks by the cosine between their vector and the query's.

    Attributes:
        index: The index.
        side: The vector space to search.
        name: The name of the retriever in the hits.
    """

    index: IndexReader
    side: VectorSide
    name: str = "vector"

    @classmethod
    def of(cls, assembly: "Assembly", index: IndexReader, embedder: str = "") -> Self:
        """Build the retriever from the assembly.

        Args:
            assembly: The assembly.
            index: The index to search.
            embedder: The name of the embedder whose vector space is searched; empty for the space
                that every index has.
        """
        name = f"vector:{embedder}" if embedder else "vector"
        return cls(index, assembly.side(embedder), name)

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """Return at most `k` hits, best first; scores are cosines in [-1, 1]."""
        vector = self.side.embedder.embed([query.text])[0]
        matches = self.side.search(self.index, query, vector, k=k)
        return to_hits(matches, self.index, self.name)


_FIRST_CHUNK = "#0"
"""The end of the id of every document's first chunk."""
_GROWTH = 4
"""The factor by which `LeadRetriever` increases the number of neighbours in each attempt."""


@dataclass(frozen=True, slots=True)
class LeadRetriever:
    """A ranking of the first chunks of documents by their cosine with the query.

    The title and the beginning of a document say what it is about, so this retriever finds
    documents rather than places. It gives one hit for each document and never finds later text.
    """

    index: IndexReader
    embedder: Embedder
    name: str = "lead"

    @classmethod
    def of(cls, assembly: "Assembly", index: IndexReader) -> Self:
        """Build the retriever over an index."""
        return cls(index, assembly.question_embedder)

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """Return at most `k` hits, best first; scores are cosines in [-1, 1]."""
        return to_hits(self._find_first_chunks(query, k), self.index, self.name)

    def _find_first_chunks(self, query: Query, k: int) -> list[Match]:
        """Return the `k` nearest first chunks; ask for more neighbours until there are enough."""
        vector = self.embedder.embed([query.text])[0]
        depth = k
        while True:
            depth *= _GROWTH
            near = self.index.vector_search(vector, k=depth, filters=query.filters)
            firsts = [match for match in near if match.chunk_id.endswith(_FIRST_CHUNK)]
            # If there are fewer neighbours than asked for, the index has no more.
            if len(firsts) >= k or len(near) < depth:
                return firsts[:k]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceRetriever:
    """A retriever that reorders the best hits of another one by their best sentences.

    The vector of a chunk mixes all its sentences, so it may hide the one sentence that says what is
    asked. Here the best sentence alone counts.

    Attributes:
        first: The retriever that finds the chunks.
        embedder: The embedder of questions.
        texts: The embedder of sentences; one with a cache is best, as each query needs many.
        candidates: The number of hits to reorder, which is also the most that are returned.
        name: The name of the retriever in the hits.
    """

    first: Retriever
    embedder: Embedder
    texts: Embedder
    candidates: int = 12
    name: str = "sentence"

    @classmethod
    def of(cls, assembly: "Assembly", index: IndexReader) -> Self:
        """Build the retriever over an index."""
        return cls(
            first=VectorRetriever.of(assembly, index),
            embedder=assembly.question_embedder,
            texts=assembly.caching_embedders[""],
        )

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """Return at most `k` hits, best first; scores are cosines in [-1, 1]."""
        check_k(k)
        hits = self.first.retrieve(query, k=self.candidates)
        scores = self._score_chunks(query.text, [hit.chunk for hit in hits])
        scored = [
            replace(hit, score=score, retriever=self.name)
            for hit, score in zip(hits, scores, strict=True)
        ]
        return list(rank_hits(sorted(scored, key=lambda hit: (-hit.score, hit.chunk.id))[:k]))

    def _score_chunks(self, question: str, chunks: Sequence[Chunk]) -> list[float]:
        """Return the cosine of the question with the best sentence of each chunk."""
        sentences = [_label_sentences(chunk) for chunk in chunks]
        question_vector = self.embedder.embed([question])[0]
        sentence_vectors = self.texts.embed(
            [sentence for chunk_sentences in sentences for sentence in chunk_sentences]
        )
        # The sentences of all chunks were embedded in one batch; each chunk takes its own again.
        cosines = iter(
            [round(float(np.dot(vector, question_vector)), DIGITS) for vector in sentence_vectors]
        )
        return [max(next(cosines) for _ in chunk_sentences) for chunk_sentences in sentences]


def _label_sentences(chunk: Chunk) -> list[str]:
    """Return the sentences of a chunk, each after its label; the context if there are none.

    The label names the subject, which many sentences do not.
    """
    head = f"{chunk.label}: " if chunk.label else ""
    return [head + span.cut(chunk.text) for span in split(chunk.text)] or [chunk.context]


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorFeedback:
    """A ranking of chunks by their cosine with the query, moved towards its best hits.

    This is Rocchio's feedback on dense vectors (Li et al. 2021, "Pseudo relevance feedback with
    deep language models and dense retrievers").

    Attributes:
        index: The index.
        embedder: The embedder of questions.
        texts: The embedder of chunks.
        hits: The number of best hits that count as relevant.
        original: The share of the query's own vector in the moved one, in [0, 1].
        name: The name of the retriever in the hits.
    """

    index: IndexReader
    embedder: Embedder
    texts: Embedder
    hits: int = 3
    original: float = 0.6
    name: str = "vector_feedback"

    @classmethod
    def of(cls, assembly: "Assembly", index: IndexReader) -> Self:
        """Build the retriever over an index."""
        return cls(index=index, embedder=assembly.question_embedder, texts=assembly.embedder)

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """Return at most `k` hits, best first.

        Scores are cosines with the moved vector, in [-1, 1].
        """
        vector = self.embedder.embed([query.text])[0]
        near = self.index.vector_search(vector, k=self.hits, filters=query.filters)
        chunks = self.index.chunks([match.chunk_id for match in near])
        if chunks:
            mean = self.texts.embed([chunk.context for chunk in chunks]).mean(axis=0)
            moved = self.original * vector + (1 - self.original) * mean
            vector = (moved / max(float(np.linalg.norm(moved)), _TINY)).astype(np.float32)
        matches = self.index.vector_search(vector, k=k, filters=query.filters)
        return to_hits(matches, self.index, self.name)
