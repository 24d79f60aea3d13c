"""The search of a vector space, also while chunks of the index still lack their vectors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fathom.errors import FathomError
from fathom.index.base import IndexReader, Match, Space, Vector
from fathom.index.rows import compute_cosines
from fathom.models.base import Embedder, get_bulk_embedder
from fathom.types import Query

LATE_CHUNKS = 8
"""The usual `VectorSide.late_chunks`; twice as many gain at most 0.01 nDCG@10 (docs/speed.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSide:
    """A vector space with its embedders of questions and of chunks.

    Attributes:
        embedder: The embedder of questions.
        texts: The embedder of chunks; one with a cache is best, as questions share their hits.
        space: The vector space; `None` for the one that every index has.
        late_chunks: The number of best hits by words that are embedded for a query if they lack a
            vector; 0 searches stored vectors only.
    """

    embedder: Embedder
    texts: Embedder
    space: Space | None = None
    late_chunks: int = LATE_CHUNKS

    def search(
        self,
        index: IndexReader,
        query: Query,
        vector: Vector,
        *,
        k: int,
        by_words: Sequence[Match] | None = None,
    ) -> list[Match]:
        """Return the `k` chunks with the highest cosine to a query's vector, best first.

        Chunks without a vector count too if they are among the query's best hits by words: these
        are embedded now, so an index that is still being filled already finds them by meaning.
        Their cosines are those that the stored vectors will have.

        Args:
            index: The index.
            query: The query.
            vector: The vector of its text.
            k: The largest number of matches, at least 1.
            by_words: The best hits by words, if the caller has searched for them.

        Raises:
            UsageError: If `k` is below 1 or a filter is malformed.
            IndexMismatch: If the index lacks the space or has that of another embedder.
        """
        matches = index.vector_search(vector, k=k, filters=query.filters, space=self.space)
        if by_words is None:
            if not self.late_chunks or not index.count_missing_vectors():
                return matches
            by_words = index.keyword_search(query.text, k=self.late_chunks, filters=query.filters)
        best = [match.chunk_id for match in by_words[: self.late_chunks]]
        late = self._score_chunks(index, index.select_unembedded(best, space=self.space), vector)
        if not late:
            return matches
        return sorted([*matches, *late], key=lambda match: (-match.score, match.chunk_id))[:k]

    def _score_chunks(
        self, index: IndexReader, chunk_ids: Sequence[str], vector: Vector
    ) -> list[Match]:
        """Return the cosines of chunks that have no stored vector; none if embedding fails."""
        chunks = index.chunks(chunk_ids) if chunk_ids else []
        if not chunks:
            return []
        try:
            texts = [chunk.context for chunk in chunks]
            vectors = get_bulk_embedder(self.texts).embed(texts)
        except FathomError:
            # Ingestion reports a text that cannot be embedded; here its words still find it.
            return []
        # Rounded as an index stores vectors, so that a score does not change when it has them.
        cosines = compute_cosines(vectors.astype(np.float16), vector)
        return [
            Match(chunk.id, cosine) for chunk, cosine in zip(chunks, cosines.tolist(), strict=True)
        ]
