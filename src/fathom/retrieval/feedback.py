"""Each leg a second time, with what it found first: pseudo-relevance feedback."""

from dataclasses import dataclass

import numpy as np

from fathom.index.base import IndexReader
from fathom.models.base import Embedder
from fathom.retrieval.base import to_hits
from fathom.retrieval.expansion import Feedback
from fathom.types import Hit, Query

_TINY = 1e-12  # the length of an empty vector


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordFeedback:
    """BM25 for the query and the words that RM3 takes from its best hits.

    Attributes:
        repeats: A word of the query counts as much as so many of the hits; about what RM3's
            own weights come to, where half of the model is the query.
    """

    index: IndexReader
    feedback: Feedback
    repeats: int = 10
    name: str = "keyword_feedback"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """See `Retriever.retrieve`; scores are BM25 weights above 0."""
        first = self._asked(query, query.text, self.feedback.hits)
        words = self.feedback.terms(query.text, first)
        return self._asked(query, " ".join([query.text] * self.repeats + list(words)), k)

    def _asked(self, query: Query, text: str, k: int) -> list[Hit]:
        matches = self.index.keyword_search(text, k=k, filters=query.filters)
        return to_hits(matches, self.index, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorFeedback:
    """Nearest neighbours of the query moved towards its best hits (Rocchio on dense vectors).

    Li et al. 2021, "Pseudo relevance feedback with deep language models and dense retrievers".

    Attributes:
        hits: So many of the best hits are believed.
        original: Share of the query's own vector, in [0, 1].
    """

    index: IndexReader
    embedder: Embedder
    hits: int = 3
    original: float = 0.6
    name: str = "vector_feedback"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """See `Retriever.retrieve`; scores are cosines in [-1, 1] with the moved vector."""
        vector = self.embedder.embed([query.text])[0]
        near = self.index.vector_search(vector, k=self.hits, filters=query.filters)
        chunks = self.index.chunks([match.chunk_id for match in near])
        if chunks:
            mean = self.embedder.embed([chunk.context for chunk in chunks]).mean(axis=0)
            moved = self.original * vector + (1 - self.original) * mean
            vector = (moved / max(float(np.linalg.norm(moved)), _TINY)).astype(np.float32)
        matches = self.index.vector_search(vector, k=k, filters=query.filters)
        return to_hits(matches, self.index, self.name)
