"""The reader of an index on a server."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from fathom.index.base import (
    DocumentSummary,
    Entry,
    IndexStatus,
    Match,
    MetadataKey,
    SourceRecord,
    Space,
    check_dimension,
    limit_k,
)
from fathom.index.context_slot import ContextSlot
from fathom.index.identity import check_space
from fathom.index.postgres.connections import Connections
from fathom.index.postgres.search_backend import ScoredChunks, SearchBackend
from fathom.index.postgres.snapshot import Snapshot
from fathom.index.postgres.status import list_findings, list_keys, read_status
from fathom.index.postgres.store import PostgresStore, SpaceTable
from fathom.text.analyzer import Analyzer
from fathom.types import Chunk, Document, Filter

MAX_CACHED_IDS = 100_000
"""The number of chunk ids kept in memory."""

ValueT = TypeVar("ValueT")


class PostgresReader:
    """A reader of the index of a workspace; safe from several threads at once.

    Each call sees one consistent state (REPEATABLE READ), the last that was committed; all calls
    inside `snapshot` see the same one.
    """

    def __init__(
        self, connections: Connections, backend: SearchBackend, number: int | None = None
    ) -> None:
        """Take over connections that have entered the workspace, and the search backend.

        Args:
            connections: The connections; the reader closes them.
            backend: The backend; the reader closes it.
            number: The number of an index that is being built there; by default the current index.
        """
        self._connections = connections
        self._backend = backend
        self._number = number
        self._snapshot_slot = ContextSlot[Snapshot]()
        self._analyzer = Analyzer()
        self._ids: dict[tuple[int, int], str] = {}

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Show all calls inside the `with` block one state, in a transaction that stays open."""
        if self._snapshot_slot.get() is not None:
            yield
            return
        opened = Snapshot(self._connections, self._number)
        try:
            with self._snapshot_slot.hold(opened):
                yield
        finally:
            opened.close()

    @contextmanager
    def _open_store(self) -> Iterator[PostgresStore]:
        """Yield a store that reads the state of the open snapshot, or the last one."""
        snapshot = self._snapshot_slot.get() or Snapshot(self._connections, self._number)
        try:
            with snapshot.open_store() as store:
                yield store
        finally:
            if snapshot is not self._snapshot_slot.get():
                snapshot.close()

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
        with self._open_store() as store:
            stored = self._find_space(store, space)
            allowed = store.apply_filters(filters) if filters else None
            if not stored.filled or (allowed is not None and not len(allowed.chunks)):
                return []
            check_dimension(vector, stored.dimension)
            scored = self._backend.vector_search(store, vector, stored, k=k, allowed=allowed)
            return self._rank_chunks(store, scored, k)

    def _find_space(self, store: PostgresStore, space: Space | None) -> SpaceTable:
        """Return the stored space to search; an empty one if the index has no vectors yet."""
        if space is None:
            return store.find_space("") or SpaceTable(no=0, name="", dimension=0, filled=0)
        stored = store.find_space(space.name)
        identity = stored.identity if stored else None
        check_space(self._connections.address, space, identity)
        return stored or SpaceTable(no=0, name="", dimension=0, filled=0)

    def keyword_search(self, text: str, *, k: int, filters: Sequence[Filter] = ()) -> list[Match]:
        """Return the `k` chunks with the highest BM25 score, ties by chunk id."""
        k = limit_k(k)
        terms = self._analyzer.count_query_terms(text)
        with self._open_store() as store:
            allowed = store.apply_filters(filters) if filters else None
            if not terms or (allowed is not None and not len(allowed.chunks)):
                return []
            scored = self._backend.keyword_search(store, terms, k=k, allowed=allowed)
            return self._rank_chunks(store, scored, k)

    def _rank_chunks(self, store: PostgresStore, scored: ScoredChunks, k: int) -> list[Match]:
        """Return the `k` best chunks as matches, ties by id."""
        ids = self._look_up_ids(store, [number for number, _ in scored])
        matches = [Match(ids[number], score) for number, score in scored if number in ids]
        return sorted(matches, key=lambda match: (-match.score, match.chunk_id))[:k]

    def _look_up_ids(self, store: PostgresStore, numbers: Sequence[int]) -> dict[int, str]:
        """Return the ids of chunks by number.

        A committed number keeps its id for good, so ids are cached without a check.
        """
        index, cache = store.index.no, self._ids
        cached = {no: name for no in numbers if (name := cache.get((index, no)))}
        fresh = store.look_up_ids([no for no in numbers if no not in cached])
        if len(cache) + len(fresh) > MAX_CACHED_IDS:
            self._ids = cache = {}
        cache.update({(index, no): name for no, name in fresh.items()})
        return cached | fresh

    def count_missing_vectors(self) -> int:
        """Return the largest number of chunks that lack a vector in any space."""
        return self._read(
            lambda store: max(map(store.count_unembedded, store.list_spaces()), default=0)
        )

    def count_chunks_per_word(self, words: Sequence[str]) -> list[int]:
        """Return for each word the number of chunks that have any of its forms."""
        terms = [list(self._analyzer.count_query_terms(word)) for word in words]
        return self._read(
            lambda store: [self._backend.count_chunks_with(store, forms) for forms in terms]
        )

    def chunks(self, ids: Sequence[str]) -> list[Chunk]:
        """Return the chunks with these ids, in this order, without those that are gone."""
        with self._open_store() as store:
            by_id = store.read_chunks(ids)
        return [by_id[chunk_id] for chunk_id in ids if chunk_id in by_id]

    def get_document(self, document_id: str) -> Document | None:
        """Return the document with this id."""
        return self._read(lambda store: store.read_document(document_id))

    def get_paths(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the paths of those documents that exist, by id."""
        return self._read(lambda store: store.read_paths(ids))

    def get_entry(self, document_id: str) -> Entry | None:
        """Return the document with this id, with its chunks and vectors."""
        return self._read(lambda store: store.read_entry(document_id))

    def list_documents(self) -> Iterator[DocumentSummary]:
        """Yield summaries of all documents, ordered by path."""
        with self._open_store() as store:
            yield from store.iterate_summaries()

    def is_empty(self) -> bool:
        """Return whether there is no document."""
        query = "SELECT NOT EXISTS(SELECT FROM fathom.documents WHERE index_no = %s)"
        return self._read(lambda store: not store.index.chunks and bool(store.select_value(query)))

    def get_source(self, path: str) -> SourceRecord | None:
        """Return the record of a place."""
        return self._read(lambda store: store.read_source(path))

    def list_sources(
        self, below: str = "/", *, after: str = "", most: int | None = None
    ) -> Iterator[SourceRecord]:
        """Yield the records of the places at and below a path, ordered by path."""
        with self._open_store() as store:
            yield from store.iterate_sources(below, after=after, most=most)

    def list_places(self, document_id: str) -> list[SourceRecord]:
        """Return the records of all places that hold a document, ordered by path."""
        return self._read(lambda store: store.read_places(document_id))

    def get_roots(self) -> list[str]:
        """Return the files and folders that the index was asked to hold."""
        return self._read(lambda store: store.read_roots())

    def get_calibrations(self) -> dict[str, str]:
        """Return the stored calibrations as JSON, by strategy."""
        return self._read(lambda store: store.read_calibrations())

    def get_revision(self) -> str:
        """Return the name of the index's present state."""
        return self._read(lambda store: store.index.name)

    def list_keys(self) -> Mapping[str, MetadataKey]:
        """Return the metadata keys that filters may use."""
        return self._read(list_keys)

    def status(self) -> IndexStatus:
        """Return counts, sizes and the identity of the index."""
        return self._read(read_status)

    def list_findings(self) -> list[str]:
        """Return a line for each fault of the index; none if it is sound."""
        return self._read(
            lambda store: [*list_findings(store), *self._backend.list_findings(store)]
        )

    def _read(self, read: Callable[[PostgresStore], ValueT]) -> ValueT:
        """Return what a function reads from the store."""
        with self._open_store() as store:
            return read(store)

    def close(self) -> None:
        """Close the backend and the connections; a second call does nothing."""
        self._backend.close()
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
