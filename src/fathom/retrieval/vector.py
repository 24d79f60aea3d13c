"""Nearest neighbours by cosine."""

from dataclasses import dataclass

from fathom.index.base import IndexReader, Space
from fathom.models.base import Embedder
from fathom.retrieval.base import to_hits
from fathom.types import Hit, Query


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
