"""Words and vectors of an index in PostgreSQL that a Qdrant cluster finds; see `postgres.legs`.

PostgreSQL is the truth: which chunks there are, how often each has which term, and their vectors.
A change goes to the cluster and is waited for while its transaction is open, so that readers never
see what the cluster does not have. What a change removes, or what died before it was committed,
stays in the cluster for a while, as someone may still be reading the state that has it; nobody
else is shown it, and `record.leftovers` knows of it until it is gone.

With each change a mark goes to the cluster and, in the same transaction, to PostgreSQL. A search
asks for the mark too: a cluster that was restored from an older backup does not have it.
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
"""So long may a question take that reads one state."""
LONGEST_CHANGE_S = 3600.0
COUNTED_EVERY_S = 60.0
MOST_DRIFT = 1.25
"""Weights of words are made anew where the mean length has grown by this since."""
MARKS = 2**31 - 1
MOST_COUNTED = 1_000
"""See `IndexReader.word_counts`."""


class QdrantLegs:
    """See `postgres.legs.Legs`."""

    def __init__(self, client: QdrantClient, *, grace_s: float = GRACE_S) -> None:
        """Nothing is asked yet.

        Args:
            client: Of the cluster; closed with the legs.
            grace_s: How long what was removed stays for whoever still reads it.
        """
        self._client = client
        self._grace_s = grace_s
        self._counted: dict[tuple[int, int], float] = {}
        self._there: set[int] = set()

    def close(self) -> None:
        """See `Legs.close`."""
        self._client.close()

    # What is asked.

    def keyword_search(
        self, store: Store, terms: Mapping[str, int], *, k: int, allowed: Allowed | None
    ) -> Scored:
        """See `Legs.keyword_search`."""
        leg, statistics, known = record.asked(store, terms)
        weights = {known[term]: weight for term, weight in query_weights(terms, statistics).items()}
        if not weights:
            return []
        space = _words(store)
        with self._sound(store, space):
            return QdrantWords(self._points(store, space), leg.average).search(
                weights,
                statistics.average,
                record.bm25(store, weights, statistics.average),
                k=k,
                scope=Scope(chunks=store.index.chunks, allowed=allowed, mark=leg.mark),
            )

    def vector_search(
        self, store: Store, vector: Vector, space: StoredSpace, *, k: int, allowed: Allowed | None
    ) -> Scored:
        """See `Legs.vector_search`; may miss some where a graph is asked."""
        mark = record.leg_of(store, space.no).mark

        def exact(numbers: Numbers) -> tuple[Numbers, Floats]:
            there, vectors = store.vectors(numbers.tolist(), space)
            return there, cosines(vectors, vector)

        with self._sound(store, space):
            return QdrantVectors(self._points(store, space)).search(
                vector,
                exact,
                k=k,
                scope=Scope(chunks=store.index.chunks, allowed=allowed, mark=mark),
            )

    def chunks_with(self, store: Store, terms: Sequence[str]) -> int:
        """See `Legs.chunks_with`."""
        leg, statistics, numbers = record.asked(store, terms)
        counts = statistics.frequencies.values()
        if len(counts) < 2 or max(counts) >= MOST_COUNTED:
            return max(counts, default=0)
        space, limit = _words(store), 2 * sum(counts)
        weights = dict.fromkeys(numbers.values(), 1.0)
        with self._sound(store, space):
            while True:
                found = self._points(store, space).worded(weights, limit, None, leg.mark)
                if len(found) < limit:
                    return sum(1 for _ in record.listed(store, [one.chunk for one in found]))
                limit *= 4

    @contextmanager
    def _sound(self, store: Store, space: StoredSpace) -> Iterator[None]:
        """Give nothing where the cluster lacks what PostgreSQL lists.

        Raises:
            IndexCorrupt: If it does.
        """
        key, now = (store.index.no, space.no), time.monotonic()
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
        return IndexCorrupt(
            f"Qdrant at {self._client.address.url} lacks {what} (was it restored from an older "
            "backup?); `fathom doctor --fix` brings it from PostgreSQL"
        )

    def _points(self, store: Store, space: StoredSpace) -> TenantPoints:
        tenant = record.tenant_of(store, space.no)
        return TenantPoints(self._client, tenant, space.dimension or None)

    # What is told, inside the transaction that changes the index.

    def make_index(self, store: Store) -> None:
        """See `Legs.make_index`."""
        self._points(store, _words(store)).make()
        record.record_leg(store, Leg(WORDS, 0, 0.0))

    def reserve(self, transaction: Transaction, chunks: int) -> int | None:
        """See `Legs.reserve`: a late request of a change that failed must not meet another's."""
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
        """See `Legs.add`."""
        if not chunks:
            return
        tenants = [record.tenant_of(store, space.no) for space in _spaces(store)]
        if not record.keep(store, tenants, [each.number for each in chunks]):
            raise RunError("the change took too long and was given up; run it again")
        space, average = _words(store), _average(store)
        QdrantWords(self._made(store, space), average).put(record.record_terms(store, chunks))
        self._mark(store, space, min(average, record.leg_of(store, WORDS).average or average))

    def add_vectors(
        self, store: Store, space: StoredSpace, vectors: Mapping[int, HalfMatrix]
    ) -> None:
        """See `Legs.add_vectors`."""
        if not vectors:
            return
        space = replace(space, dimension=len(next(iter(vectors.values()))))
        documents = record.documents_of(store, list(vectors))
        given = ((no, documents[no], vector) for no, vector in vectors.items())
        QdrantVectors(self._made(store, space)).put(given)
        self._mark(store, space)

    def _made(self, store: Store, space: StoredSpace) -> TenantPoints:
        """The points in a collection that is there."""
        points = self._points(store, space)
        if space.dimension not in self._there:
            points.make()
            self._there.add(space.dimension)
        return points

    def _mark(self, store: Store, space: StoredSpace, average: float = 0.0) -> None:
        mark = 1 + secrets.randbelow(MARKS)
        self._points(store, space).mark(mark)
        record.leave_mark(store, space, for_s=self._grace_s)
        record.record_leg(store, Leg(space.no, mark, average))

    def remove(self, store: Store, numbers: Sequence[int]) -> None:
        """See `Legs.remove`: the points stay for whoever reads an older state."""
        if numbers:
            record.forget_terms(store, numbers)
            _leave(store, numbers, self._grace_s)

    def purge(self, store: Store) -> None:
        """See `Legs.purge`: what nobody is shown goes once nobody can be reading it."""

    def drop_space(self, store: Store, space: StoredSpace) -> None:
        """See `Legs.drop_space`."""
        self._drop(store, space)

    def drop_index(self, store: Store) -> None:
        """See `Legs.drop_index`."""
        for space in _spaces(store):
            self._drop(store, space)

    def _drop(self, store: Store, space: StoredSpace) -> None:
        if space.dimension or space.no == WORDS:
            record.leave(store, space, None, for_s=self._grace_s)
        record.drop_leg(store, space.no)

    def committed(self, connections: Connections, index: int) -> None:
        """See `Legs.committed`."""

    def settle(self, connections: Connections, index: int) -> None:
        """See `Legs.settle`."""

    def optimize(self, store: Store) -> None:
        """See `Legs.optimize`: removes what nobody reads any more, and weighs words anew."""
        self._tidy(store)
        lowest = record.leg_of(store, WORDS).average
        if lowest and _average(store) > MOST_DRIFT * lowest:
            self._bring(store, _words(store), record.chunks_of(store, _words(store)))

    def _tidy(self, store: Store) -> None:
        done = record.leftovers(store, due=True)
        for each in done:
            points = TenantPoints(self._client, each.tenant, each.dimension)
            if each.chunks is None:
                points.clear()
            elif points.is_there():
                points.remove(each.chunks)
        record.gone(store, done)

    # What is made sound again.

    def opened(self, store: Store) -> None:
        """See `Legs.opened`."""
        if not store.has_other_legs():
            raise IndexMismatch(
                "PostgreSQL itself searches this index; leave +qdrant:... out of its URL, or move "
                "it: `fathom copy FROM TO`"
            )

    def catch_up(self, store: Store) -> None:
        """See `Legs.catch_up`."""
        self._tidy(store)
        for space in _spaces(store):
            points, mark = self._points(store, space), record.leg_of(store, space.no).mark
            left = sum(
                len(each.chunks or ())
                for each in record.leftovers(store, due=False)
                if each.tenant == record.tenant_of(store, space.no)
            )
            if mark and not points.is_marked(mark):
                self._bring(store, space, record.chunks_of(store, space))
            elif points.count() < space.filled + left:
                there = np.fromiter(points.chunks(), dtype=np.int64)
                missing = np.setdiff1d(record.chunks_of(store, space), there)
                if len(missing):
                    self._bring(store, space, missing)

    def remake(self, store: Store) -> None:
        """See `Legs.remake`: searches go on meanwhile."""
        left = [each.chunks for each in record.leftovers(store, due=False) if each.chunks]
        for space in _spaces(store):
            points, numbers = self._points(store, space), record.chunks_of(store, space)
            self._bring(store, space, numbers)
            there = np.fromiter(points.chunks(), dtype=np.int64)
            points.remove(np.setdiff1d(there, np.concatenate([numbers, *left])).tolist())
            points.unmark(record.leg_of(store, space.no).mark)
        self._tidy(store)

    def _bring(self, store: Store, space: StoredSpace, numbers: Numbers) -> None:
        """Bring chunks from PostgreSQL to the cluster."""
        points, average = self._made(store, space), _average(store)
        for at in range(0, len(numbers), record.AT_ONCE):
            some = numbers[at : at + record.AT_ONCE].tolist()
            if space.dimension:
                documents = record.documents_of(store, some)
                found, vectors = store.vectors(some, space)
                given = zip(found.tolist(), map(documents.__getitem__, some), vectors, strict=True)
                QdrantVectors(points).put(given)
            else:
                QdrantWords(points, average).put(record.listed(store, some))
        if len(numbers) < space.filled:
            average = min(average, record.leg_of(store, space.no).average or average)
        self._mark(store, space, 0.0 if space.dimension else average)

    def findings(self, store: Store) -> Iterator[str]:
        """See `Legs.findings`."""
        for space in _spaces(store):
            points, mark = self._points(store, space), record.leg_of(store, space.no).mark
            lacking = space.filled - points.count()
            if lacking > 0:
                yield str(self._lacks(f"{lacking} of {space.filled} chunks"))
            elif mark and not points.is_marked(mark):
                yield str(self._lacks("the last change"))


def _words(store: Store) -> StoredSpace:
    """The words of an index as if they were one of its spaces."""
    return StoredSpace(no=WORDS, name="", dimension=0, filled=store.index.chunks)


def _spaces(store: Store) -> list[StoredSpace]:
    """The words, and the spaces that have vectors."""
    return [_words(store), *(space for space in store.spaces() if space.dimension)]


def _leave(store: Store, chunks: Sequence[int], for_s: float) -> None:
    for space in _spaces(store):
        record.leave(store, space, chunks, for_s=for_s)


def _average(store: Store) -> float:
    """The present mean length, within the change."""
    [row] = store.rows("SELECT chunks, terms FROM fathom.indexes WHERE no = %s")
    return Statistics(row["chunks"], row["terms"], {}).average
