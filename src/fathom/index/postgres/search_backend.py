"""The protocol of an engine that searches the words and vectors of an index on a server.

The rows of the index are the truth. A search backend derives its data from them: in the database
itself (`postings.PostgresBackend`), or in another engine (`qdrant`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from fathom.index.base import Vector
from fathom.index.filters import SearchScope
from fathom.index.postgres.connections import Connections
from fathom.index.postgres.store import PostgresStore, SpaceTable
from fathom.index.rows import HalfMatrix

ScoredChunks = list[tuple[int, float]]
"""The numbers of chunks with their scores."""
BeginTransaction = Callable[[], AbstractContextManager[PostgresStore]]
"""Begins a transaction that locks the index, and commits it at the end of the `with` block."""


@dataclass(frozen=True, slots=True)
class ChunkPostings:
    """The words of a chunk, as a search backend takes them.

    Attributes:
        number: The chunk's number. Within an index no number is used twice, except those of a
            change that was not committed.
        document: The number of its document.
        counts: The number of times that the chunk has each term.
    """

    number: int
    document: int
    counts: Mapping[str, int]

    @property
    def length(self) -> int:
        """The number of terms in the chunk, with repetitions."""
        return sum(self.counts.values())


class SearchBackend(Protocol):
    """An engine that searches chunks and follows the changes of an index; safe for threads.

    Searches run inside a transaction that sees one state of the index, and return chunks of that
    state. The methods for changes are called inside the transaction that changes the index, unless
    they say otherwise. A method that cannot reach its engine raises a `RunError`.
    """

    def keyword_search(
        self, store: PostgresStore, terms: Mapping[str, int], *, k: int, allowed: SearchScope | None
    ) -> ScoredChunks:
        """Return at least the `k` chunks with the highest BM25 scores, and all ties of the last.

        Args:
            store: A store of the state to search.
            terms: The number of times that the query has each term.
            k: The number of chunks, at least 1.
            allowed: The chunks that may be returned; `None` for all.

        Returns:
            The chunks in any order; fewer than `k` if fewer match.
        """
        ...

    def vector_search(
        self,
        store: PostgresStore,
        vector: Vector,
        space: SpaceTable,
        *,
        k: int,
        allowed: SearchScope | None,
    ) -> ScoredChunks:
        """Return at least the `k` chunks with the highest cosines, and all ties of the last.

        The cosines are exact; a graph of neighbours may miss chunks.

        Args:
            store: A store of the state to search.
            vector: A vector of unit length, of the dimension of the space.
            space: The space to search, which has vectors.
            k: The number of chunks, at least 1.
            allowed: The chunks that may be returned; `None` for all.

        Returns:
            The chunks in any order; fewer than `k` if fewer match.
        """
        ...

    def count_chunks_with(self, store: PostgresStore, terms: Sequence[str]) -> int:
        """Return the number of chunks that have one of the terms.

        Counts below 1,000 are exact; a larger count may come out smaller, but not below 1,000.
        """
        ...

    def create_index(self, store: PostgresStore) -> None:
        """Prepare for a new, empty index that the transaction creates."""
        ...

    def reserve_numbers(self, transaction: BeginTransaction, chunks: int) -> int | None:
        """Reserve numbers for new chunks, so that no other change can use them.

        Args:
            transaction: The function that begins a transaction of its own; it ends before the one
                that adds the chunks begins.
            chunks: The number of new chunks.

        Returns:
            The first reserved number; `None` if the numbers of an uncommitted change may be used
            again.
        """
        ...

    def add(self, store: PostgresStore, chunks: Sequence[ChunkPostings]) -> None:
        """Add the words of new chunks."""
        ...

    def add_vectors(
        self, store: PostgresStore, space: SpaceTable, vectors: Mapping[int, HalfMatrix]
    ) -> None:
        """Add vectors by chunk number; the caller has stored them in the space's table."""
        ...

    def remove(self, store: PostgresStore, numbers: Sequence[int]) -> None:
        """Remove chunks from searches; the same transaction deletes their rows."""
        ...

    def purge(self, store: PostgresStore) -> None:
        """Delete the data of removed chunks for good, at once or when no reader needs it.

        If it deletes data that searches read, it publishes a revision.
        """
        ...

    def drop_space(self, store: PostgresStore, space: SpaceTable) -> None:
        """Delete the data of a space that the same transaction drops."""
        ...

    def drop_index(self, store: PostgresStore) -> None:
        """Delete the data of an index whose rows the same transaction deletes."""
        ...

    def optimize(self, store: PostgresStore) -> None:
        """Prepare the fastest searches; no score changes, unless it purges."""
        ...

    def notify_commit(self, connections: Connections, index: int) -> None:
        """Note, after the transaction, that the last change is durable and readers see it.

        Work that nobody needs to wait for may begin in the background.

        Args:
            connections: The connections to the server.
            index: The number of the index.
        """
        ...

    def finish_background_work(self, connections: Connections, index: int) -> None:
        """Do the background work of `notify_commit` now, outside any transaction."""
        ...

    def check_backend(self, store: PostgresStore) -> None:
        """Check that this backend searches the index; called when the index is opened.

        Raises:
            IndexMismatch: If another backend searches the index.
        """
        ...

    def catch_up(self, store: PostgresStore) -> None:
        """Take the rows of the index that the backend lacks; called when a writer is opened.

        Raises:
            RunError: If the backend cannot take anything now.
        """
        ...

    def rebuild(self, store: PostgresStore) -> None:
        """Take all rows of the index again, in place of the old data; searches go on meanwhile."""
        ...

    def list_findings(self, store: PostgresStore) -> Iterator[str]:
        """Yield a line for each fault of the backend's data."""
        ...

    def close(self) -> None:
        """Close the connections; a second call does nothing."""
        ...
