"""Reading an index on a server."""

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
    bounded,
    check_dimension,
)
from fathom.index.held import Held
from fathom.index.identity import check_space
from fathom.index.postgres.connections import Connections
from fathom.index.postgres.legs import Legs, Scored
from fathom.index.postgres.snapshot import Snapshot
from fathom.index.postgres.status import findings, keys_of, status
from fathom.index.postgres.store import Store, StoredSpace
from fathom.text.analyzer import Analyzer
from fathom.types import Chunk, Document, Filter

MOST_IDS = 100_000
"""So many ids of chunks are remembered."""

Found = TypeVar("Found")


class PostgresReader:
    """Reads the index of a workspace; may be used by several threads at once.

    Each call sees one state of everything (REPEATABLE READ), the last that was committed; inside
    `snapshot` all calls see the same.
    """

    def __init__(self, connections: Connections, legs: Legs, number: int | None = None) -> None:
        """Take over connections that have entered the workspace, and what finds chunks.

        Args:
            connections: See above.
            legs: Likewise.
            number: Of an index that is being made there; by default it is the current one.
        """
        self._connections = connections
        self._legs = legs
        self._number = number
        self._held = Held[Snapshot]()
        self._analyzer = Analyzer()
        self._ids: dict[tuple[int, int], str] = {}

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """See `IndexReader.snapshot`: a transaction that is left open."""
        if self._held.get() is not None:
            yield
            return
        begun = Snapshot(self._connections, self._number)
        try:
            with self._held.holding(begun):
                yield
        finally:
            begun.close()

    @contextmanager
    def _snapshot(self) -> Iterator[Store]:
        begun = self._held.get() or Snapshot(self._connections, self._number)
        try:
            with begun.reading() as store:
                yield store
        finally:
            if begun is not self._held.get():
                begun.close()

    def vector_search(
        self,
        vector: NDArray[np.float32],
        *,
        k: int,
        filters: Sequence[Filter] = (),
        space: Space | None = None,
    ) -> list[Match]:
        """See `IndexReader.vector_search`."""
        k = bounded(k)
        with self._snapshot() as store:
            stored = self._space(store, space)
            allowed = store.allowed(filters) if filters else None
            if not stored.filled or (allowed is not None and not len(allowed.chunks)):
                return []
            check_dimension(vector, stored.dimension)
            found = self._legs.vector_search(store, vector, stored, k=k, allowed=allowed)
            return self._ranked(store, found, k)

    def _space(self, store: Store, space: Space | None) -> StoredSpace:
        if space is None:
            return store.space("") or StoredSpace(no=0, name="", dimension=0, filled=0)
        found = store.space(space.name)
        made_with = found.identity if found else None
        check_space(self._connections.address, space, made_with)
        return found or StoredSpace(no=0, name="", dimension=0, filled=0)

    def keyword_search(self, text: str, *, k: int, filters: Sequence[Filter] = ()) -> list[Match]:
        """See `IndexReader.keyword_search`."""
        k = bounded(k)
        terms = self._analyzer.query_terms(text)
        with self._snapshot() as store:
            allowed = store.allowed(filters) if filters else None
            if not terms or (allowed is not None and not len(allowed.chunks)):
                return []
            found = self._legs.keyword_search(store, terms, k=k, allowed=allowed)
            return self._ranked(store, found, k)

    def _ranked(self, store: Store, found: Scored, k: int) -> list[Match]:
        """The `k` best, ties by id."""
        ids = self._ids_of(store, [number for number, _ in found])
        matches = [Match(ids[number], score) for number, score in found if number in ids]
        return sorted(matches, key=lambda match: (-match.score, match.chunk_id))[:k]

    def _ids_of(self, store: Store, numbers: Sequence[int]) -> dict[int, str]:
        """Ids of chunks; what was once committed under a number stays its own, so it is kept."""
        index, known = store.index.no, self._ids
        found = {no: name for no in numbers if (name := known.get((index, no)))}
        fresh = store.chunk_ids([no for no in numbers if no not in found])
        if len(known) + len(fresh) > MOST_IDS:
            self._ids = known = {}
        known.update({(index, no): name for no, name in fresh.items()})
        return found | fresh

    def lacking_vectors(self) -> int:
        """See `IndexReader.lacking_vectors`."""
        return self._read(lambda store: max(map(store.lacking, store.spaces()), default=0))

    def word_counts(self, words: Sequence[str]) -> list[int]:
        """See `IndexReader.word_counts`."""
        terms = [list(self._analyzer.query_terms(word)) for word in words]
        return self._read(lambda store: [self._legs.chunks_with(store, each) for each in terms])

    def chunks(self, ids: Sequence[str]) -> list[Chunk]:
        """See `IndexReader.chunks`."""
        with self._snapshot() as store:
            found = store.chunks(ids)
        return [found[one] for one in ids if one in found]

    def document(self, document_id: str) -> Document | None:
        """See `IndexReader.document`."""
        return self._read(lambda store: store.document(document_id))

    def paths(self, ids: Sequence[str]) -> dict[str, str]:
        """See `IndexReader.paths`."""
        return self._read(lambda store: store.paths(ids))

    def entry(self, document_id: str) -> Entry | None:
        """See `IndexReader.entry`."""
        return self._read(lambda store: store.entry(document_id))

    def documents(self) -> Iterator[DocumentSummary]:
        """See `IndexReader.documents`."""
        with self._snapshot() as store:
            yield from store.summaries()

    def is_empty(self) -> bool:
        """See `IndexReader.is_empty`."""
        query = "SELECT NOT EXISTS(SELECT FROM fathom.documents WHERE index_no = %s)"
        return self._read(lambda store: not store.index.chunks and bool(store.value(query)))

    def source(self, path: str) -> SourceRecord | None:
        """See `IndexReader.source`."""
        return self._read(lambda store: store.source(path))

    def sources(
        self, below: str = "/", *, after: str = "", most: int | None = None
    ) -> Iterator[SourceRecord]:
        """See `IndexReader.sources`."""
        with self._snapshot() as store:
            yield from store.sources(below, after=after, most=most)

    def places(self, document_id: str) -> list[SourceRecord]:
        """See `IndexReader.places`."""
        return self._read(lambda store: store.places(document_id))

    def roots(self) -> list[str]:
        """See `IndexReader.roots`."""
        return self._read(lambda store: store.roots())

    def calibrations(self) -> dict[str, str]:
        """See `IndexReader.calibrations`."""
        return self._read(lambda store: store.calibrations())

    def revision(self) -> str:
        """See `IndexReader.revision`."""
        return self._read(lambda store: store.index.name)

    def keys(self) -> Mapping[str, MetadataKey]:
        """See `IndexReader.keys`."""
        return self._read(keys_of)

    def status(self) -> IndexStatus:
        """See `IndexReader.status`."""
        return self._read(status)

    def findings(self) -> list[str]:
        """What is wrong with the index, in words; empty when it is sound."""
        return self._read(lambda store: [*findings(store), *self._legs.findings(store)])

    def _read(self, what: Callable[[Store], Found]) -> Found:
        with self._snapshot() as store:
            return what(store)

    def close(self) -> None:
        """See `IndexReader.close`."""
        self._legs.close()
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
