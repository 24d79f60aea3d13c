"""Nearest beginnings of documents by cosine."""

from dataclasses import dataclass

from fathom.index.base import IndexReader, Match
from fathom.models.base import Embedder
from fathom.retrieval.base import to_hits
from fathom.types import Hit, Query

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
