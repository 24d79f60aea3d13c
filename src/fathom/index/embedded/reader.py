"""Read access to an embedded index."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from fathom.errors import RunError
from fathom.index.context_slot import ContextSlot
from fathom.index.embedded import schema
from fathom.index.embedded.integrity import (
    find_database_faults,
    find_graph_faults,
    find_keyword_faults,
)
from fathom.index.embedded.keyword import MAX_COUNTED, KeywordIndex
from fathom.index.embedded.limited import connect_viewer
from fathom.index.embedded.spaces import SqliteSpace
from fathom.index.embedded.store import SqliteStore
from fathom.index.embedded.vectors import VectorIndex
from fathom.index.filters import SearchScope
from fathom.index.rights import Viewer
from fathom.index.sql_reader import ScoredChunks, SqlReader, ValueT

WAIT_S = 1.0
"""The time in seconds after which a keyword index that lags behind is mended."""
MAX_SPARE_CONNECTIONS = 4
"""The largest number of open connections that are kept for later questions."""
TRIES = 50
"""The number of tries to open a view while other processes write."""
MAX_CACHED_IDS = 20_000
"""The largest number of cached chunk ids, about three megabytes."""


@dataclass(slots=True)
class _View:
    """The SQLite store, the keyword index and the vector indexes (by space) of one state."""

    store: SqliteStore
    keyword: KeywordIndex
    vectors: dict[str, VectorIndex]


class EmbeddedReader(SqlReader[SqliteStore]):
    """A reader of the index in a directory, safe for threads, which read one at a time."""

    def __init__(
        self,
        directory: Path,
        store: SqliteStore,
        keyword: KeywordIndex,
        mend: Callable[[], KeywordIndex] | None = None,
        viewer: Viewer | None = None,
    ) -> None:
        """Take over an open store and a keyword index.

        Args:
            directory: The folder of the index.
            store: The store; the reader closes its connection.
            keyword: The keyword index; the reader closes it.
            mend: The function that returns a sound keyword index of the store's state; a writer
                needs none.
            viewer: The viewer to whose documents the store is limited already; `None` for all.
        """
        super().__init__(directory, MAX_CACHED_IDS)
        self._directory, self._file = directory, directory / schema.FILE
        self._latest = self._newest = _View(store, keyword, {})
        self._slot = ContextSlot[_View]()
        self._spare: list[sqlite3.Connection] = []
        self._mend = mend
        self._viewer = viewer
        self._is_limited = viewer is not None
        self._busy = threading.RLock()
        self._closed = False

    @property
    def _store(self) -> SqliteStore:
        """The store of the present snapshot, or of the last state."""
        return (self._slot.get() or self._latest).store

    @property
    def _keyword(self) -> KeywordIndex:
        """The keyword index of the present snapshot, or of the last state."""
        return (self._slot.get() or self._latest).keyword

    @override
    @contextmanager
    def snapshot(self) -> Iterator[None]:
        # The block keeps a read transaction of SQLite open, and the keyword index of its state.
        view = None if self._slot.get() else self._open_view()
        if view is None:
            yield
            return
        try:
            with self._slot.hold(view):
                yield
        finally:
            self._return_connection(view.store.connection)

    def _open_view(self) -> "_View | None":
        """Return a fixed view of the last state; `None` if the reader's own view cannot change."""
        for _ in range(TRIES):
            store = SqliteStore(
                self._take_connection(), still=True, is_limited=self._viewer is not None
            )
            with self._name_damage():
                store.connection.execute("BEGIN")
                target = store.format_marker(store.read_chunks_revision())
            with self._busy:
                if self._latest.keyword.get_marker() == target:
                    self._newest = _View(
                        store, copy(self._latest.keyword), dict(self._latest.vectors)
                    )
                    return self._newest
            self._return_connection(store.connection)
            with self._open_word_store():
                pass  # a writer has published since the keyword index was read
        return None  # another file has replaced the open one, which no writer changes any more

    def _take_connection(self) -> sqlite3.Connection:
        """Return a spare connection, or a new one."""
        with self._busy:
            return (
                self._spare.pop() if self._spare else connect_viewer(self._directory, self._viewer)
            )

    def _return_connection(self, connection: sqlite3.Connection) -> None:
        """End the transaction of a connection, and keep the connection if there is room."""
        with self._busy:
            connection.rollback()
            if self._closed or len(self._spare) >= MAX_SPARE_CONNECTIONS:
                connection.close()
            else:
                self._spare.append(connection)

    @override
    @contextmanager
    def _open_store(self) -> Iterator[SqliteStore]:
        with self._busy, self._name_damage():
            store = self._store
            if store.connection.in_transaction:
                yield store
                return
            with schema.open_transaction(store.connection, write=False):
                yield store

    @override
    def _stream(self, read: Callable[[SqliteStore], Iterable[ValueT]]) -> Iterator[ValueT]:
        # All rows are read at once, because other threads wait while the store is open.
        return iter(self._read(lambda store: list(read(store))))

    def _name_damage(self) -> AbstractContextManager[None]:
        """Turn errors about a damaged database into one line, as `schema.name_corruption` does."""
        return schema.name_corruption(self._file, self._find_damage)

    def _find_damage(self) -> Iterator[str]:
        """Yield the faults of the database."""
        return find_database_faults(self._directory, self._store)

    @override
    def _score_vectors(
        self,
        store: SqliteStore,
        vector: NDArray[np.float32],
        space: SqliteSpace,
        k: int,
        allowed: SearchScope | None,
    ) -> ScoredChunks:
        return self._open_vectors(store, space).search(store, vector, k, allowed)

    def _open_vectors(self, store: SqliteStore, space: SqliteSpace) -> VectorIndex:
        """Return the vector index of a space at the store's state."""
        view = self._slot.get() or self._latest
        # A copy, because a snapshot may still use the old one for another state.
        vectors = copy(view.vectors.get(space.name) or VectorIndex(self._directory))
        vectors.refresh(store, space)
        view.vectors[space.name] = vectors
        if view is self._newest:
            self._latest.vectors[space.name] = vectors  # later questions start from this state
        return vectors

    @override
    def _score_words(
        self, store: SqliteStore, terms: Mapping[str, int], k: int, allowed: SearchScope | None
    ) -> ScoredChunks:
        return self._keyword.search(terms, k=k, allowed=allowed)

    @override
    def _count_chunks_with(self, store: SqliteStore, forms: Sequence[str]) -> int:
        if self._viewer is None:
            return self._keyword.count_chunks_with(forms)
        chunks = self._keyword.search(
            dict.fromkeys(forms, 1), k=MAX_COUNTED, allowed=store.apply_filters(())
        )
        return min(len(chunks), MAX_COUNTED)

    @override
    @contextmanager
    def _open_word_store(self) -> Iterator[SqliteStore]:
        deadline = time.monotonic() + WAIT_S
        while True:
            with self._open_store() as store:
                if self._is_keyword_current():
                    yield store
                    return
            # A writer is between applying and publishing a change, or was killed there.
            if time.monotonic() > deadline and self._mend is not None:
                self._replace_keyword(self._mend())
            time.sleep(0.002)

    def _is_keyword_current(self) -> bool:
        """Return whether the keyword index has the store's state, after a reload if needed."""
        target = self._store.format_marker(self._store.read_chunks_revision())
        if self._keyword.get_marker() == target:
            return True
        folder = self._directory / self._store.get_keyword_folder()
        try:
            if self._keyword.folder not in {None, folder}:
                self._replace_keyword(KeywordIndex(folder, create=False))
            self._keyword.reload()
        except (RunError, ValueError, OSError):
            return False  # a writer is creating or replacing it
        return self._keyword.get_marker() == target

    def _replace_keyword(self, keyword: KeywordIndex) -> None:
        """Close the keyword index and take another one."""
        self._latest.keyword.close()
        self._latest.keyword = keyword

    @override
    def _measure_sizes(self, store: SqliteStore) -> Mapping[str, int]:
        if self._viewer is not None:
            return {}  # the files hold hidden documents too
        keyword = self._directory / store.get_keyword_folder()
        return {
            "sqlite": _sum_sizes(self._directory.glob(f"{schema.FILE}*")),
            "tantivy": _sum_sizes(keyword.glob("*")),
            "usearch": _sum_sizes(self._directory.glob("vectors-*.usearch")),
        }

    def list_findings(self) -> list[str]:
        """Return a line for each fault of the index; none if it is sound."""
        with self._open_store() as store:
            return [
                *find_database_faults(self._directory, store),
                *find_keyword_faults(self._directory, self._keyword, store),
                *find_graph_faults(self._directory, store),
            ]

    @override
    def close(self) -> None:
        with self._busy:
            if not self._closed:
                for connection in (self._latest.store.connection, *self._spare):
                    connection.close()
                self._latest.keyword.close()
                self._closed = True


def _sum_sizes(files: Iterable[Path]) -> int:
    """Return the sum of the sizes of files in bytes; other things in the list do not count."""
    return sum(file.stat().st_size for file in files if file.is_file())
