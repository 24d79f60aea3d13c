"""The search backend in a Qdrant cluster, for an index in PostgreSQL.

PostgreSQL is the truth: it records which chunks exist, how often each has which term, and their
vectors. A change is sent to the cluster and awaited while its transaction is open, so that readers
never see a state that the cluster lacks. Removed points, and points of a change that was never
committed, stay in the cluster for a while, because somebody may still read a state that has them.
No other search returns them, and `record.list_leftovers` lists them until they are deleted.

Each change stores a mark in the cluster and, in the same transaction, in PostgreSQL. A search asks
for the mark too: a cluster that was restored from an older backup does not have it.
"""

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from fathom.errors import IndexCorrupt, IndexMismatch, RunError
from fathom.index.base import Vector
from fathom.index.bm25 import Statistics, query_weights
from fathom.index.filters import Allowed, Numbers
from fathom.index.postgres.connections import Connections
from fathom.index.postgres.legs import Posted, Scored, Transaction
from fathom.index.postgres.store import Store, StoredSpace
from fathom.index.qdrant import record
from fathom.index.qdrant.client import QdrantClient
from fathom.index.qdrant.collection import TenantPoints, Unmarked
from fathom.index.qdrant.record import WORDS, Leg
from fathom.index.qdrant.searches import Floats, QdrantVectors, QdrantWords, Scope
from fathom.index.rows import HalfMatrix, cosines

GRACE_S = 600.0
"""The longest time in seconds for which a question may read one state."""
LONGEST_CHANGE_S = 3600.0
"""The time in seconds after which reserved numbers count as abandoned."""
COUNTED_EVERY_S = 60.0
"""The time in seconds between two counts of a tenant's points."""
MOST_DRIFT = 1.25
"""Weights of words are computed again once the mean length has grown by this factor."""
MARKS = 2**31 - 1
MOST_COUNTED = 1_000
"""The number up to which `IndexReader.count_chunks_per_word` is exact."""


class QdrantLegs:
    """The `SearchBackend` of a Qdrant cluster."""

    def __init__(self, client: QdrantClient, *, grace_s: float = GRACE_S) -> None:
        """Create the backend; nothing is sent yet.

        Args:
            client: The client of the cluster; the backend closes it.
            grace_s: The time in seconds for which removed points stay for readers of older states.
        """
        self._client = client
        self._grace_s = grace_s
        self._counted: dict[tuple[int, int], float] = {}
        self._there: set[int] = set()

    def close(self) -> None:
        """Close the connections to the cluster."""
        self._client.close()

    # Searches.

    def keyword_search(
        self, store: Store, terms: Mapping[str, int], *, k: int, allowed: Allowed | None
    ) -> Scored:
        """Return the `k` chunks with the highest BM25 scores, and all ties of the last one."""
        collection, statistics, numbers = record.asked(store, terms)
        weights = {
            numbers[term]: weight for term, weight in query_weights(terms, statistics).items()
        }
        if not weights:
            return []
        space = _words(store)
        with self._sound(store, space):
            return QdrantWords(self._points(store, space), collection.average).search(
                weights,
                statistics.average,
                record.bm25(store, weights, statistics.average),
                k=k,
                scope=Scope(chunks=store.index.chunks, allowed=allowed, mark=collection.mark),
            )

    def vector_search(
        self, store: Store, vector: Vector, space: StoredSpace, *, k: int, allowed: Allowed | None
    ) -> Scored:
        """Return the `k` chunks with the highest cosines; a graph of neighbours may miss some."""
        mark = record.leg_of(store, space.no).mark

        def exact(numbers: Numbers) -> tuple[Numbers, Floats]:
            stored, vectors = store.vectors(numbers.tolist(), space)
            return stored, cosines(vectors, vector)

        with self._sound(store, space):
            return QdrantVectors(self._points(store, space)).search(
                vector,
                exact,
                k=k,
                scope=Scope(chunks=store.index.chunks, allowed=allowed, mark=mark),
            )

    def chunks_with(self, store: Store, terms: Sequence[str]) -> int:
        """Return the number of chunks that have one of the terms, exact up to `MAX_EXACT_COUNT`."""
        collection, statistics, numbers = record.asked(store, terms)
        counts = statistics.frequencies.values()
        # PostgreSQL knows the count of a single term; only a union needs the cluster.
        if len(counts) < 2 or max(counts) >= MOST_COUNTED:
            return max(counts, default=0)
        space, limit = _words(store), 2 * sum(counts)
        weights = dict.fromkeys(numbers.values(), 1.0)
        with self._sound(store, space):
            while True:
                points = self._points(store, space).worded(weights, limit, None, collection.mark)
                if len(points) < limit:
                    return sum(1 for _ in record.listed(store, [point.chunk for point in points]))
                limit *= 4

    @contextmanager
    def _sound(self, store: Store, space: StoredSpace) -> Iterator[None]:
        """Run a search only if the cluster has what PostgreSQL lists.

        Raises:
            IndexCorrupt: If the cluster lacks something.
        """
        key, now = (store.index.no, space.no), time.monotonic()
        # A count is slow next to a search, so it runs only now and then; the mark is always
        # checked.
        if now >= self._counted.get(key, now):
            lacking = space.filled - self._points(store, space).count()
            if lacking > 0:
                raise self._lacks(f"{lacking} of {space.filled} chunks")
            self._counted[key] = now + COUNTED_EVERY_S
        try:
            yield
        except Unmarked:
            raise self._lacks("the last change") from None

    def _lacks(self, what: str) -> IndexCorrupt:
        """Return the error for a cluster that lacks something."""
        return IndexCorrupt(
            f"Qdrant at {self._client.address.url} lacks {what} (was it restored from an older "
            "backup?); `fathom doctor --fix` brings it from PostgreSQL"
        )

    def _points(self, store: Store, space: StoredSpace) -> TenantPoints:
        """Return the points of a space, or of the words, in its collection."""
        tenant = record.tenant_of(store, space.no)
        return TenantPoints(self._client, tenant, space.dimension or None)

    # Changes, inside the transaction that changes the index.

    def make_index(self, store: Store) -> None:
        """Create the collection of words, and record it."""
        self._points(store, _words(store)).make()
        record.record_leg(store, Leg(WORDS, 0, 0.0))

    def reserve(self, transaction: Transaction, chunks: int) -> int | None:
        """Reserve numbers, so that a late request of a failed change cannot meet another change's.

        Returns:
            The first number; `None` if there are no chunks.
        """
        if not chunks:
            return None
        with transaction() as store:
            first = store.index.next_chunk
            store.run(
                "UPDATE fathom.indexes SET next_chunk = %(next)s WHERE no = %(index)s",
                next=first + chunks,
            )
            _leave(store, range(first, first + chunks), LONGEST_CHANGE_S)
        return first

    def add(self, store: Store, chunks: Sequence[Posted]) -> None:
        """Send the words of new chunks to the cluster.

        Raises:
            RunError: If the reserved numbers have expired.
        """
        if not chunks:
            return
        tenants = [record.tenant_of(store, space.no) for space in _spaces(store)]
        # Without its leftover notes the numbers were cleaned up, perhaps while points arrived.
        if not record.keep(store, tenants, [chunk.number for chunk in chunks]):
            raise RunError("the change took too long and was given up; run it again")
        space, average = _words(store), _average(store)
        QdrantWords(self._made(store, space), average).put(record.record_terms(store, chunks))
        self._mark(store, space, min(average, record.leg_of(store, WORDS).average or average))

    def add_vectors(
        self, store: Store, space: StoredSpace, vectors: Mapping[int, HalfMatrix]
    ) -> None:
        """Send the vectors of chunks to the cluster."""
        if not vectors:
            return
        space = replace(space, dimension=len(next(iter(vectors.values()))))
        documents = record.documents_of(store, list(vectors))
        points = ((no, documents[no], vector) for no, vector in vectors.items())
        QdrantVectors(self._made(store, space)).put(points)
        self._mark(store, space)

    def _made(self, store: Store, space: StoredSpace) -> TenantPoints:
        """Return the points of a space, and create its collection first if needed."""
        points = self._points(store, space)
        if space.dimension not in self._there:
            points.make()
            self._there.add(space.dimension)
        return points

    def _mark(self, store: Store, space: StoredSpace, average: float = 0.0) -> None:
        """Store a new mark in the cluster and record it."""
        mark = 1 + secrets.randbelow(MARKS)
        self._points(store, space).mark(mark)
        record.leave_mark(store, space, for_s=self._grace_s)
        record.record_leg(store, Leg(space.no, mark, average))

    def remove(self, store: Store, numbers: Sequence[int]) -> None:
        """Record that chunks are removed; their points stay for readers of older states."""
        if numbers:
            record.forget_terms(store, numbers)
            _leave(store, numbers, self._grace_s)

    def purge(self, store: Store) -> None:
        """Do nothing: hidden points are deleted once nobody can be reading them."""

    def drop_space(self, store: Store, space: StoredSpace) -> None:
        """Record that the points of a space are left over."""
        self._drop(store, space)

    def drop_index(self, store: Store) -> None:
        """Record that all points of an index are left over."""
        for space in _spaces(store):
            self._drop(store, space)

    def _drop(self, store: Store, space: StoredSpace) -> None:
        """Record that all points of a space are left over, and delete its record."""
        if space.dimension or space.no == WORDS:
            record.leave(store, space, None, for_s=self._grace_s)
        record.drop_leg(store, space.no)

    def committed(self, connections: Connections, index: int) -> None:
        """Do nothing: the change was complete before its commit."""

    def settle(self, connections: Connections, index: int) -> None:
        """Do nothing: no work runs in the background."""

    def optimize(self, store: Store) -> None:
        """Delete points that nobody reads, and compute outdated weights of words again."""
        self._tidy(store)
        lowest = record.leg_of(store, WORDS).average
        if lowest and _average(store) > MOST_DRIFT * lowest:
            self._bring(store, _words(store), record.chunks_of(store, _words(store)))

    def _tidy(self, store: Store) -> None:
        """Delete the leftover points whose time has come."""
        due = record.leftovers(store, due=True)
        for leftover in due:
            points = TenantPoints(self._client, leftover.tenant, leftover.dimension)
            if leftover.chunks is None:
                points.clear()
            elif points.is_there():
                points.remove(leftover.chunks)
        record.gone(store, due)

    # Repairs.

    def opened(self, store: Store) -> None:
        """Check that Qdrant searches the index.

        Raises:
            IndexMismatch: If PostgreSQL itself searches it.
        """
        if not store.has_other_legs():
            raise IndexMismatch(
                "PostgreSQL itself searches this index; leave +qdrant:... out of its URL, or move "
                "it: `fathom copy FROM TO`"
            )

    def catch_up(self, store: Store) -> None:
        """Delete leftover points, and send points that the cluster lacks."""
        self._tidy(store)
        for space in _spaces(store):
            points, mark = self._points(store, space), record.leg_of(store, space.no).mark
            remaining = sum(
                len(leftover.chunks or ())
                for leftover in record.leftovers(store, due=False)
                if leftover.tenant == record.tenant_of(store, space.no)
            )
            # Without the last mark the cluster comes from a backup, and any of its points may be
            # old.
            if mark and not points.is_marked(mark):
                self._bring(store, space, record.chunks_of(store, space))
            elif points.count() < space.filled + remaining:
                stored = np.fromiter(points.chunks(), dtype=np.int64)
                missing = np.setdiff1d(record.chunks_of(store, space), stored)
                if len(missing):
                    self._bring(store, space, missing)

    def remake(self, store: Store) -> None:
        """Send all points again, and delete those that PostgreSQL does not list."""
        remaining = [
            leftover.chunks for leftover in record.leftovers(store, due=False) if leftover.chunks
        ]
        for space in _spaces(store):
            points, numbers = self._points(store, space), record.chunks_of(store, space)
            self._bring(store, space, numbers)
            stored = np.fromiter(points.chunks(), dtype=np.int64)
            points.remove(np.setdiff1d(stored, np.concatenate([numbers, *remaining])).tolist())
            points.unmark(record.leg_of(store, space.no).mark)
        self._tidy(store)

    def _bring(self, store: Store, space: StoredSpace, numbers: Numbers) -> None:
        """Send chunks from PostgreSQL to the cluster."""
        points, average = self._made(store, space), _average(store)
        for start in range(0, len(numbers), record.AT_ONCE):
            batch = numbers[start : start + record.AT_ONCE].tolist()
            if space.dimension:
                documents = record.documents_of(store, batch)
                chunks, vectors = store.vectors(batch, space)
                rows = zip(chunks.tolist(), map(documents.__getitem__, batch), vectors, strict=True)
                QdrantVectors(points).put(rows)
            else:
                QdrantWords(points, average).put(record.listed(store, batch))
        # Other points keep the weights of the lower mean length, which bounds all of them.
        if len(numbers) < space.filled:
            average = min(average, record.leg_of(store, space.no).average or average)
        self._mark(store, space, 0.0 if space.dimension else average)

    def findings(self, store: Store) -> Iterator[str]:
        """Yield a line for each space whose points the cluster lacks."""
        for space in _spaces(store):
            points, mark = self._points(store, space), record.leg_of(store, space.no).mark
            lacking = space.filled - points.count()
            if lacking > 0:
                yield str(self._lacks(f"{lacking} of {space.filled} chunks"))
            elif mark and not points.is_marked(mark):
                yield str(self._lacks("the last change"))


def _words(store: Store) -> StoredSpace:
    """Return the words of an index as if they were one of its spaces."""
    return StoredSpace(no=WORDS, name="", dimension=0, filled=store.index.chunks)


def _spaces(store: Store) -> list[StoredSpace]:
    """Return the words, and the spaces that have vectors."""
    return [_words(store), *(space for space in store.spaces() if space.dimension)]


def _leave(store: Store, chunks: Sequence[int], for_s: float) -> None:
    """Record points of chunks in all spaces that are to be deleted later."""
    for space in _spaces(store):
        record.leave(store, space, chunks, for_s=for_s)


def _average(store: Store) -> float:
    """Return the present mean length of a chunk, within the change."""
    [row] = store.rows("SELECT chunks, terms FROM fathom.indexes WHERE no = %s")
    return Statistics(row["chunks"], row["terms"], {}).average
