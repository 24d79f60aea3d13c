"""Rankings of hits become one; `fusion` does the arithmetic."""

from collections.abc import Sequence

from fathom.index.base import Match
from fathom.retrieval.hybrid import Fusion
from fathom.types import Hit


def fused(
    rankings: Sequence[Sequence[Hit]], weights: Sequence[float], fusion: Fusion, name: str
) -> tuple[Hit, ...]:
    """One ranking of several, each best first, with one weight each.

    Scores are those of the fusion; `name` is who ranked.
    """
    matches = [[Match(hit.chunk.id, hit.score) for hit in ranking] for ranking in rankings]
    chunks = {hit.chunk.id: hit.chunk for ranking in rankings for hit in ranking}
    return tuple(
        Hit(chunk=chunks[match.chunk_id], score=match.score, rank=rank, retriever=name)
        for rank, match in enumerate(fusion(matches, weights), start=1)
    )
