"""The reader of an index on a server."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from fathom.index.base import check_dimension
from fathom.index.context_slot import ContextSlot
from fathom.index.filters import SearchScope
from fathom.index.postgres.connections import Connections
from fathom.index.postgres.search_backend import SearchBackend
from fathom.index.postgres.snapshot import Snapshot
from fathom.index.postgres.status import list_findings, measure_sizes
from fathom.index.postgres.store import PostgresStore, SpaceTable
from fathom.index.rights import Viewer
from fathom.index.sql_reader import ScoredChunks, SqlReader, ValueT

MAX_CACHED_IDS = 100_000
"""The largest number of cached chunk ids."""
MAX_COUNTED = 1_000
"""The number up to which the chunks with a word are counted for a viewer."""


class PostgresReader(SqlReader[PostgresStore]):
    """A reader of the index of a workspace; safe for threads.

    Each call sees one consistent state (REPEATABLE READ), the last that was committed; all calls
    inside `snapshot` see the same state.
    """

    def __init__(
        self,
        connections: Connections,
        backend: SearchBackend,
        number: int | None = None,
        viewer: Viewer | None = None,
    ) -> None:
        """Take over connections that have entered the workspace, and the search backend.

        Args:
            connections: The connections, which the reader closes.
            backend: The backend, which the reader closes.
            number: The number of an index that is being built; by default the current one is read.
            viewer: Show only the documents that this viewer may read.
        """
        super().__init__(connections.address, MAX_CACHED_IDS)
        self._connections = connections
        self._backend = backend
        self._number = number
        self._viewer = viewer
        self._is_limited = viewer is not None
        self._snapshot_slot = ContextSlot[Snapshot]()

    @override
    @contextmanager
    def snapshot(self) -> Iterator[None]:
        # The transaction stays open as long as the block.
        if self._snapshot_slot.get() is not None:
            yield
            return
        opened = self._begin_snapshot()
        try:
            with self._snapshot_slot.hold(opened):
                yield
        finally:
            opened.close()

    def _begin_snapshot(self) -> Snapshot:
        """Begin a transaction that sees the last committed state."""
        return Snapshot(self._connections, self._number, self._viewer)

    @override
    @contextmanager
    def _open_store(self) -> Iterator[PostgresStore]:
        snapshot = self._snapshot_slot.get() or self._begin_snapshot()
        try:
            with snapshot.open_store() as store:
                yield store
        finally:
            if snapshot is not self._snapshot_slot.get():
                snapshot.close()

    @override
    def _stream(self, read: Callable[[PostgresStore], Iterable[ValueT]]) -> Iterator[ValueT]:
        with self._open_store() as store:
            yield from read(store)

    @override
    def _score_vectors(
        self,
        store: PostgresStore,
        vector: NDArray[np.float32],
        space: SpaceTable,
        k: int,
        allowed: SearchScope | None,
    ) -> ScoredChunks:
        if not space.filled or (allowed is not None and not len(allowed.chunks)):
            return []
        check_dimension(vector, space.dimension)
        return self._backend.vector_search(store, vector, space, k=k, allowed=allowed)

    @override
    def _score_words(
        self, store: PostgresStore, terms: Mapping[str, int], k: int, allowed: SearchScope | None
    ) -> ScoredChunks:
        return self._backend.keyword_search(store, terms, k=k, allowed=allowed)

    @override
    def _count_chunks_with(self, store: PostgresStore, forms: Sequence[str]) -> int:
        if self._viewer is None:
            return self._backend.count_chunks_with(store, forms)
        allowed = store.apply_filters(())
        if not len(allowed.chunks):
            return 0
        words = dict.fromkeys(forms, 1)
        chunks = self._backend.keyword_search(store, words, k=MAX_COUNTED, allowed=allowed)
        return min(len(chunks), MAX_COUNTED)

    @override
    def _measure_sizes(self, store: PostgresStore) -> Mapping[str, int]:
        # The tables hold hidden documents too.
        return measure_sizes(store) if self._viewer is None else {}

    def list_findings(self) -> list[str]:
        """Return a line for each fault of the index; none if it is sound.

        Raises:
            IndexCorrupt: If a document is damaged.
        """
        return self._read(
            lambda store: [*list_findings(store), *self._backend.list_findings(store)]
        )

    @override
    def close(self) -> None:
        self._backend.close()
        self._connections.close()
