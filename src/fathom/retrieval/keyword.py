"""BM25."""

from dataclasses import dataclass

from fathom.index.base import IndexReader
from fathom.retrieval.base import to_hits
from fathom.types import Hit, Query


@dataclass(frozen=True, slots=True)
class KeywordRetriever:
    """Ranks chunks by BM25 over the words of the query, any of which may match."""

    index: IndexReader
    name: str = "keyword"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """See `Retriever.retrieve`; scores are BM25 weights above 0."""
        matches = self.index.keyword_search(query.text, k=k, filters=query.filters)
        return to_hits(matches, self.index, self.name)
