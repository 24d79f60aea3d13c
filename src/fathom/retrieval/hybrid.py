"""Vector and keyword search fused."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fathom.index.base import IndexReader, Space, check_k
from fathom.models.base import Embedder
from fathom.retrieval.base import to_hits
from fathom.retrieval.fusion import Fusion
from fathom.types import Hit, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSide:
    """The embedder of questions for one space of an index, by default the one that all have."""

    embedder: Embedder
    space: Space | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HybridRetriever:
    """Asks the vector spaces and the words of the index and fuses their rankings.

    Attributes:
        sides: The spaces that are asked.
        weights: For a query's text, the weights of the words and of each space.
        candidates: How many hits each leg gives, at least; never fewer than `k`.
        agreeing: A ranking speaks for what is among so many of its best, however many hits are
            asked for.
    """

    index: IndexReader
    sides: Sequence[VectorSide]
    fusion: Fusion
    weights: Callable[[str], Sequence[float]]
    candidates: int = 100
    agreeing: int = 8
    name: str = "hybrid"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """See `Retriever.retrieve`; scores are those of the fusion, `found_by` says who agrees."""
        check_k(k)
        depth = max(k, self.candidates)
        found = [self.index.keyword_search(query.text, k=depth, filters=query.filters)]
        for side in self.sides:
            vector = side.embedder.embed([query.text])[0]
            near = self.index.vector_search(
                vector, k=depth, filters=query.filters, space=side.space
            )
            found.append(near)
        fused = self.fusion(found, self.weights(query.text))
        votes = Counter(match.chunk_id for ranking in found for match in ranking[: self.agreeing])
        return to_hits(fused[:k], self.index, self.name, votes.__getitem__)
