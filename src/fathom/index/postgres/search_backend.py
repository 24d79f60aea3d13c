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
    """A chunk as a search backend takes it.

    Numbers are never used again within an index, except those of a change that was not committed.

    Attributes:
        number: The chunk's number.
        document: The number of its document.
        counts: How often the chunk has each term.
    """

    number: int
    document: int
    counts: Mapping[str, int]

    @property
    def length(self) -> int:
        """The number of terms in the chunk, with repetitions."""
        return sum(self.counts.values())


class SearchBackend(Protocol):
    """An engine that searches chunks and follows the changes of an index; safe from threads.

    Searches run inside a transaction that sees one state of the index, and return chunks of that
    state. Changes are sent inside the transaction that changes the index.
    """

    def keyword_search(
        self, store: PostgresStore, terms: Mapping[str, int], *, k: int, allowed: SearchScope | None
    ) -> ScoredChunks:
        """Return the `k` chunks with the highest BM25 scores, and all ties of the last one.

        `terms` holds how often the query has each term.
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
        """Return the `k` chunks with the highest exact cosines, and all ties of the last one."""
        ...

    def count_chunks_with(self, store: PostgresStore, terms: Sequence[str]) -> int:
        """Return the number of chunks that have one of the terms; large numbers may be cut.

        `IndexReader.count_chunks_per_word` says where.
        """
        ...

    def create_index(self, store: PostgresStore) -> None:
        """Prepare for a new, empty index that this step creates."""
        ...

    def reserve_numbers(self, transaction: BeginTransaction, chunks: int) -> int | None:
        """Reserve numbers for new chunks, so that no other change can use them.

        Args:
            transaction: Begins a transaction that ends before the one that adds the chunks begins.
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
        """Add the vectors of chunks by number; the space's table has them already."""
        ...

    def remove(self, store: PostgresStore, numbers: Sequence[int]) -> None:
        """Remove chunks from searches; their rows go in the same step."""
        ...

    def purge(self, store: PostgresStore) -> None:
        """Delete the removed chunks for good as soon as nobody reads them.

        Publishes a revision if data that searches read was deleted.
        """
        ...

    def drop_space(self, store: PostgresStore, space: SpaceTable) -> None:
        """Delete a space; its table goes in the same step."""
        ...

    def drop_index(self, store: PostgresStore) -> None:
        """Delete a whole index; its rows go in the same step."""
        ...

    def optimize(self, store: PostgresStore) -> None:
        """Prepare the fastest searches; no score changes."""
        ...

    def notify_commit(self, connections: Connections, index: int) -> None:
        """Note that the last change is durable and that readers see it.

        Work that nobody needs to wait for may begin in the background.
        """
        ...

    def finish_background_work(self, connections: Connections, index: int) -> None:
        """Do the background work of `notify_commit` now; called outside transactions."""
        ...

    def check_backend(self, store: PostgresStore) -> None:
        """Check that this backend searches the index; called when the index is opened.

        Raises:
            IndexMismatch: If another backend searches the index.
        """
        ...

    def catch_up(self, store: PostgresStore) -> None:
        """Take the rows of the index that the backend lacks; a writer begins with this.

        Raises:
            RunError: If the backend cannot take anything now.
        """
        ...

    def rebuild(self, store: PostgresStore) -> None:
        """Take all rows of the index again and replace the old data; searches go on meanwhile."""
        ...

    def list_findings(self, store: PostgresStore) -> Iterator[str]:
        """Yield a line for each thing of the index that the backend lacks."""
        ...

    def close(self) -> None:
        """Close the connections; a second call does nothing."""
        ...
