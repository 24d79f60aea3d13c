"""Vector and keyword search fused."""

from collections.abc import Callable
from dataclasses import dataclass

from fathom.index.base import Reader
from fathom.models.base import Embedder
from fathom.retrieval.base import to_hits
from fathom.retrieval.fusion import Fusion
from fathom.types import Hit, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class HybridRetriever:
    """Asks both legs of the index and fuses their rankings.

    Attributes:
        weights: For a query's text, the weights of the vector and of the keyword leg.
        candidates: How many hits each leg gives, at least; never fewer than `k`.
    """

    index: Reader
    embedder: Embedder
    fusion: Fusion
    weights: Callable[[str], tuple[float, float]]
    candidates: int = 100
    name: str = "hybrid"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """See `Retriever.retrieve`; scores are those of the fusion."""
        depth = max(k, self.candidates)
        vector = self.embedder.embed([query.text])[0]
        near = self.index.vector_search(vector, k=depth, filters=query.filters)
        worded = self.index.keyword_search(query.text, k=depth, filters=query.filters)
        fused = self.fusion((near, worded), self.weights(query.text))
        return to_hits(fused[:k], self.index, self.name)
