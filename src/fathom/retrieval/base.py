"""What a retriever promises."""

from collections.abc import Callable, Sequence
from typing import Protocol

from fathom.index.base import IndexReader, Match
from fathom.types import Hit, Query


class Retriever(Protocol):
    """Ranks the chunks of an index for a query.

    Every implementation passes `testing.RetrieverConformance`.
    """

    @property
    def name(self) -> str:
        """How hits and tables call it."""
        ...

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """Return at most `k` hits, best first.

        Ranks are 1..n without gaps; scores never grow with the rank; ties are broken by chunk
        id, so that the same index and query always give the same list.

        Raises:
            UsageError: If `k` is below 1 or a filter is malformed.
        """
        ...


def to_hits(
    matches: Sequence[Match],
    index: IndexReader,
    retriever: str,
    found_by: Callable[[str], int] = lambda _: 1,
) -> list[Hit]:
    """Read up the chunks of `matches`, which are in rank order.

    A chunk that is gone is left out and the ranks close up behind it.

    Args:
        matches: Best first.
        index: Holds the chunks.
        retriever: Who ranked them.
        found_by: See `Hit`; by the id of a chunk.
    """
    chunks = {chunk.id: chunk for chunk in index.chunks([m.chunk_id for m in matches])}
    found = [match for match in matches if match.chunk_id in chunks]
    return [
        Hit(
            chunk=chunks[match.chunk_id],
            score=match.score,
            rank=rank,
            retriever=retriever,
            found_by=found_by(match.chunk_id),
        )
        for rank, match in enumerate(found, start=1)
    ]
