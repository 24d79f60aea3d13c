"""The protocol of retrievers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from fathom.index.base import IndexReader, Match
from fathom.types import Hit, Query


class Retriever(Protocol):
    """The protocol of retrievers, which rank the chunks of an index for a query.

    Every implementation passes `testing.RetrieverConformance`.
    """

    @property
    def name(self) -> str:
        """The name of the retriever in hits and tables."""
        ...

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """Return at most `k` hits, best first.

        Ranks are 1..n without gaps, and scores never grow with the rank. Ties are broken by chunk
        id, so that the same index and query always give the same list.

        Raises:
            UsageError: If `k` is below 1 or a filter is malformed.
        """
        ...


def rank_hits(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Return the hits in this order, with ranks from 1."""
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits, start=1))


def to_hits(
    matches: Sequence[Match],
    index: IndexReader,
    retriever: str,
    found_by: Callable[[str], int] = lambda _: 1,
) -> list[Hit]:
    """Load the chunks of matches and return them as hits, best first.

    A chunk that was deleted is left out, and the ranks stay without gaps.

    Args:
        matches: The matches, best first.
        index: The index that holds the chunks.
        retriever: The name of the retriever that ranked them.
        found_by: A function that returns, for the id of a chunk, the number of fused rankings that
            have it among their best (`Hit.found_by`).
    """
    # All chunks are asked for in one call, which is one round trip to a server.
    chunks = {chunk.id: chunk for chunk in index.chunks([m.chunk_id for m in matches])}
    present = [match for match in matches if match.chunk_id in chunks]
    return [
        Hit(
            chunk=chunks[match.chunk_id],
            score=match.score,
            rank=rank,
            retriever=retriever,
            found_by=found_by(match.chunk_id),
        )
        for rank, match in enumerate(present, start=1)
    ]
