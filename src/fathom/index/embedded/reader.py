"""Read access to an embedded index."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fathom.errors import RunError
from fathom.index.base import (
    DocumentSummary,
    Entry,
    IndexStatus,
    Match,
    MetadataKey,
    SourceRecord,
    Space,
    limit_k,
)
from fathom.index.context_slot import ContextSlot
from fathom.index.embedded import schema
from fathom.index.embedded.integrity import (
    find_database_faults,
    find_graph_faults,
    find_keyword_faults,
)
from fathom.index.embedded.keyword import KeywordIndex
from fathom.index.embedded.spaces import require_space
from fathom.index.embedded.status import list_keys, read_status
from fathom.index.embedded.store import SqliteStore
from fathom.index.embedded.vectors import VectorIndex
from fathom.index.filters import SearchScope
from fathom.text.analyzer import Analyzer
from fathom.types import Chunk, Document, Filter

WAIT_S = 1.0
MAX_SPARE_CONNECTIONS = 4
"""The number of open connections that are kept for the next questions."""
TRIES = 50
MAX_CACHED_IDS = 20_000
"""The number of chunk ids that are cached, about three megabytes."""


@dataclass(slots=True)
class _View:
    """The SQLite store, the keyword index and the vector indexes of one state."""

    store: SqliteStore
    keyword: KeywordIndex
    vectors: dict[str, VectorIndex]


class _ChunkIds:
    """A cache of chunk ids by number; within a lineage no number is used twice."""

    def __init__(self) -> None:
        self._ids: dict[int, str] = {}
        self._lineage = ""

    def look_up(self, store: SqliteStore, numbers: Sequence[int]) -> Mapping[int, str]:
        """Return the ids of these chunks, and possibly of others."""
        lineage = store.read_meta("lineage")
        # A rebuilt index numbers its chunks anew, so ids of the old one would be wrong.
        if lineage != self._lineage or len(self._ids) > MAX_CACHED_IDS:
            self._ids, self._lineage = {}, lineage
        missing = [number for number in numbers if number not in self._ids]
        if missing:
            self._ids |= store.find_chunk_ids(missing)
        return self._ids


class EmbeddedReader:
    """A reader of the index in a directory, for several threads, one at a time inside."""

    def __init__(
        self,
        directory: Path,
        store: SqliteStore,
        keyword: KeywordIndex,
        mend: Callable[[], KeywordIndex] | None = None,
    ) -> None:
        """Take over an open store and a keyword index.

        Args:
            directory: The folder of the index.
            store: The open store of its SQLite file.
            keyword: Its keyword index.
            mend: Returns a keyword index of the store's state, and builds one if it must.
        """
        self._directory, self._file = directory, directory / schema.FILE
        self._latest = self._newest = _View(store, keyword, {})
        self._slot = ContextSlot[_View]()
        self._ids = _ChunkIds()
        self._spare: list[sqlite3.Connection] = []
        self._mend = mend
        self._analyzer = Analyzer()
        self._busy = threading.RLock()
        self._closed = False

    @property
    def _store(self) -> SqliteStore:
        return (self._slot.get() or self._latest).store

    @property
    def _keyword(self) -> KeywordIndex:
        return (self._slot.get() or self._latest).keyword

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Show all calls inside the block one state.

        The block holds a read transaction of SQLite and the keyword index as it was.
        """
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
            store = SqliteStore(self._take_connection(), still=True)
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
            with self._hold_common_state():
                pass  # a writer has published since the keyword index was read
        return None  # another file has replaced the open one, which no writer changes any more

    def _take_connection(self) -> sqlite3.Connection:
        with self._busy:
            return (
                self._spare.pop() if self._spare else schema.connect(self._directory, write=False)
            )

    def _return_connection(self, connection: sqlite3.Connection) -> None:
        with self._busy:
            connection.rollback()
            if self._closed or len(self._spare) >= MAX_SPARE_CONNECTIONS:
                connection.close()
            else:
                self._spare.append(connection)

    @contextmanager
    def _hold_state(self) -> Iterator[int]:
        """Hold one state of SQLite for all calls inside; yield its revision."""
        with self._busy, self._name_damage():
            if self._store.connection.in_transaction:
                yield self._store.read_published_revision()
                return
            with schema.open_transaction(self._store.connection, write=False):
                yield self._store.read_published_revision()

    def _name_damage(self) -> AbstractContextManager[None]:
        return schema.name_corruption(self._file, self._find_damage)

    def _find_damage(self) -> Iterator[str]:
        return find_database_faults(self._directory, self._store)

    def vector_search(
        self,
        vector: NDArray[np.float32],
        *,
        k: int,
        filters: Sequence[Filter] = (),
        space: Space | None = None,
    ) -> list[Match]:
        """Return the `k` chunks with the highest cosine to the unit vector, ties by chunk id."""
        k = limit_k(k)
        with self._hold_state() as revision:
            vectors = self._open_vectors(space, revision)
            allowed = self._resolve_filters(filters, revision)
            scored = vectors.search(self._store, vector, k, allowed)
            return self._rank_matches(scored, k)

    def _open_vectors(self, space: Space | None, revision: int) -> VectorIndex:
        name = space.name if space else ""
        if space is None:
            stored = self._store.get_main_space()
        else:
            stored = require_space(self._directory, space, self._store.find_space(name))
        view = self._slot.get() or self._latest
        # A copy, because a snapshot may still use the old one for another state.
        vectors = copy(view.vectors.get(name) or VectorIndex(self._directory))
        vectors.refresh(view.store, revision, stored)
        view.vectors[name] = vectors
        if view is self._newest:
            self._latest.vectors[name] = vectors  # later questions start from this state
        return vectors

    def keyword_search(self, text: str, *, k: int, filters: Sequence[Filter] = ()) -> list[Match]:
        """Return the `k` chunks with the highest BM25 score for any word, ties by chunk id."""
        k = limit_k(k)
        terms = self._analyzer.count_query_terms(text)
        with self._hold_common_state() as revision:
            allowed = self._resolve_filters(filters, revision)
            return self._rank_matches(self._keyword.search(terms, k=k, allowed=allowed), k)

    def count_chunks_per_word(self, words: Sequence[str]) -> list[int]:
        """Return for each word the number of chunks that contain it, in any form."""
        terms = [list(self._analyzer.count_query_terms(word)) for word in words]
        with self._hold_common_state():
            return [self._keyword.count_chunks_with(forms) for forms in terms]

    @contextmanager
    def _hold_common_state(self) -> Iterator[int]:
        """Wait for a common state of SQLite and the keyword index; yield its revision."""
        deadline = time.monotonic() + WAIT_S
        while True:
            with self._hold_state() as revision:
                if self._is_keyword_current():
                    yield revision
                    return
            # A writer is between applying and publishing a change, or was killed there.
            if time.monotonic() > deadline and self._mend is not None:
                self._replace_keyword(self._mend())
            time.sleep(0.002)

    def _is_keyword_current(self) -> bool:
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
        self._latest.keyword.close()
        self._latest.keyword = keyword

    def count_missing_vectors(self) -> int:
        """Return the number of chunks without a vector, in the space that lacks most."""
        with self._hold_state():
            return max(space.lacking for space in self._store.list_all_spaces())

    def _resolve_filters(self, filters: Sequence[Filter], revision: int) -> SearchScope | None:
        return self._store.resolve_filters(filters, revision) if filters else None

    def _rank_matches(self, scored: Sequence[tuple[int, float]], k: int) -> list[Match]:
        ids = self._ids.look_up(self._store, [number for number, _ in scored])
        # Ties go by id, not by number: numbers depend on the order of ingestion.
        best = sorted([(-score, ids[number]) for number, score in scored])[:k]
        return [Match(chunk_id, -score) for score, chunk_id in best]

    def chunks(self, ids: Sequence[str]) -> list[Chunk]:
        """Return the chunks with these ids, in this order; missing ids are left out."""
        with self._hold_state() as revision:
            by_id = self._store.chunks(ids, revision)
        return [by_id[chunk_id] for chunk_id in ids if chunk_id in by_id]

    def get_document(self, document_id: str) -> Document | None:
        """Return the document with this id, or `None`."""
        with self._hold_state() as revision:
            return self._store.get_document(document_id, revision)

    def get_paths(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the paths of the existing documents among these, by id."""
        with self._hold_state() as revision:
            return self._store.get_paths(ids, revision)

    def get_entry(self, document_id: str) -> Entry | None:
        """Return the document with this id and its vectors, ready to be stored elsewhere."""
        with self._hold_state() as revision:
            return self._store.get_entry(document_id, revision)

    def list_documents(self) -> Iterator[DocumentSummary]:
        """Return the summaries of all documents, ordered by path."""
        with self._hold_state() as revision:
            return self._store.list_summaries(revision)

    def is_empty(self) -> bool:
        """Return whether the index has no document."""
        with self._hold_state() as revision:
            return self._store.is_empty(revision)

    def get_source(self, path: str) -> SourceRecord | None:
        """Return the record of this place, or `None`."""
        with self._hold_state() as revision:
            return self._store.get_source(path, revision)

    def list_sources(
        self, below: str = "/", *, after: str = "", most: int | None = None
    ) -> Iterator[SourceRecord]:
        """Return the records of a place, of all places in it and of its records, by path."""
        with self._hold_state() as revision:
            return self._store.list_sources(below, revision, after=after, most=most)

    def list_places(self, document_id: str) -> list[SourceRecord]:
        """Return the records of all places that hold this document, ordered by path."""
        with self._hold_state() as revision:
            return self._store.list_places(document_id, revision)

    def get_roots(self) -> list[str]:
        """Return the files and folders that the index shall hold, as the user named them."""
        with self._hold_state():
            return self._store.get_roots()

    def get_calibrations(self) -> dict[str, str]:
        """Return the stored calibrations, as JSON by strategy."""
        with self._hold_state():
            return self._store.get_calibrations()

    def get_revision(self) -> str:
        """Return the name of the index's state; every published change gives another one."""
        with self._hold_state() as revision:
            return self._store.format_marker(revision)

    def list_keys(self) -> Mapping[str, MetadataKey]:
        """Return the metadata keys that filters may use."""
        with self._hold_state() as revision:
            return list_keys(self._store, revision)

    def status(self) -> IndexStatus:
        """Return counts, sizes and identity."""
        with self._hold_state() as revision:
            return read_status(self._directory, self._store, revision)

    def list_findings(self) -> list[str]:
        """Return a line for each fault of the index; empty when it is sound."""
        with self._hold_state():
            return [
                *find_database_faults(self._directory, self._store),
                *find_keyword_faults(self._directory, self._keyword, self._store),
                *find_graph_faults(self._directory, self._store),
            ]

    def close(self) -> None:
        """Release files and memory; a second call does nothing."""
        with self._busy:
            if not self._closed:
                for connection in (self._latest.store.connection, *self._spare):
                    connection.close()
                self._latest.keyword.close()
                self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
