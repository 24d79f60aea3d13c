"""The search backend in a Qdrant cluster, for an index in PostgreSQL.

PostgreSQL is the truth: it records which chunks exist, how often each has which term, and their
vectors. A change is sent to the cluster and awaited while its transaction is open, so that readers
never see a state that the cluster lacks. Removed points stay in the cluster for a while, because
somebody may still read a state that has them; points of a change that was never committed stay too.
Searches of other states do not return them, and `records.list_leftovers` lists them until they are
deleted.

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
from fathom.index.bm25 import Statistics, compute_query_weights
from fathom.index.filters import Numbers, SearchScope
from fathom.index.postgres.connections import Connections
from fathom.index.postgres.search_backend import BeginTransaction, ChunkPostings, ScoredChunks
from fathom.index.postgres.store import PostgresStore, SpaceTable
from fathom.index.qdrant import records as record
from fathom.index.qdrant.client import QdrantClient
from fathom.index.qdrant.collection import MissingMarkError, TenantPoints
from fathom.index.qdrant.records import WORDS, CollectionRecord
from fathom.index.qdrant.searches import Floats, QdrantScope, QdrantVectors, QdrantWords
from fathom.index.rows import HalfMatrix, compute_cosines

GRACE_PERIOD_S = 600.0
"""The time in seconds for which a question may read one state, and removed points stay."""
MAX_CHANGE_S = 3600.0
"""The time in seconds after which reserved numbers count as abandoned."""
COUNT_INTERVAL_S = 60.0
"""The shortest time in seconds between two counts of the points of a space."""
MAX_DRIFT = 1.25
"""The growth of the mean length of chunks from which on `optimize` computes new word weights."""
MAX_MARK = 2**31 - 1
"""The largest number of a mark."""
MAX_EXACT_COUNT = 1_000
"""The number below which `IndexReader.count_chunks_per_word` is exact."""


class QdrantBackend:
    """The `SearchBackend` of a Qdrant cluster."""

    def __init__(self, client: QdrantClient, *, grace_s: float = GRACE_PERIOD_S) -> None:
        """Create the backend; nothing is sent yet.

        Args:
            client: The client of the cluster; the backend closes it.
            grace_s: The time in seconds for which removed points stay for readers of older states.
        """
        self._client = client
        self._grace_s = grace_s
        self._next_count: dict[tuple[int, int], float] = {}
        self._made_collections: set[int] = set()

    def close(self) -> None:
        """Close the connections to the cluster."""
        self._client.close()

    # Searches.

    def keyword_search(
        self, store: PostgresStore, terms: Mapping[str, int], *, k: int, allowed: SearchScope | None
    ) -> ScoredChunks:
        """Return the `k` chunks with the highest BM25 scores, and all ties of the last one."""
        collection, statistics, numbers = record.read_query_terms(store, terms)
        weights = {
            numbers[term]: weight
            for term, weight in compute_query_weights(terms, statistics).items()
        }
        if not weights:
            return []
        space = _make_word_space(store)
        with self._check_completeness(store, space):
            return QdrantWords(self._open_points(store, space), collection.average).search(
                weights,
                statistics.mean_length,
                record.make_bm25_scorer(store, weights, statistics.mean_length),
                k=k,
                scope=QdrantScope(chunks=store.index.chunks, allowed=allowed, mark=collection.mark),
            )

    def vector_search(
        self,
        store: PostgresStore,
        vector: Vector,
        space: SpaceTable,
        *,
        k: int,
        allowed: SearchScope | None,
    ) -> ScoredChunks:
        """Return the `k` chunks with the highest cosines, and all ties of the last one.

        A graph of neighbours may miss some of them.
        """
        mark = record.read_collection_record(store, space.no).mark

        def exact(numbers: Numbers) -> tuple[Numbers, Floats]:
            stored, vectors = store.read_vectors(numbers.tolist(), space)
            return stored, compute_cosines(vectors, vector)

        with self._check_completeness(store, space):
            return QdrantVectors(self._open_points(store, space)).search(
                vector,
                exact,
                k=k,
                scope=QdrantScope(chunks=store.index.chunks, allowed=allowed, mark=mark),
            )

    def count_chunks_with(self, store: PostgresStore, terms: Sequence[str]) -> int:
        """Return the number of chunks that have one of the terms, exact below `MAX_EXACT_COUNT`."""
        collection, statistics, numbers = record.read_query_terms(store, terms)
        counts = statistics.frequencies.values()
        # PostgreSQL knows the count of a single term; only a union needs the cluster.
        if len(counts) < 2 or max(counts) >= MAX_EXACT_COUNT:
            return max(counts, default=0)
        space, limit = _make_word_space(store), 2 * sum(counts)
        weights = dict.fromkeys(numbers.values(), 1.0)
        with self._check_completeness(store, space):
            while True:
                points = self._open_points(store, space).search_words(
                    weights, limit, None, collection.mark
                )
                if len(points) < limit:
                    return sum(
                        1 for _ in record.list_chunks(store, [point.chunk for point in points])
                    )
                limit *= 4

    @contextmanager
    def _check_completeness(self, store: PostgresStore, space: SpaceTable) -> Iterator[None]:
        """Run the search in the `with` block only if the cluster has all that PostgreSQL lists.

        Raises:
            IndexCorrupt: If the cluster lacks points or the mark of the last change.
        """
        key, now = (store.index.no, space.no), time.monotonic()
        # A count is slow compared with a search, so it runs only now and then; every search checks
        # the mark.
        if now >= self._next_count.get(key, now):
            lacking = space.filled - self._open_points(store, space).count()
            if lacking > 0:
                raise self._make_missing_error(f"{lacking} of {space.filled} chunks")
            self._next_count[key] = now + COUNT_INTERVAL_S
        try:
            yield
        except MissingMarkError:
            raise self._make_missing_error("the last change") from None

    def _make_missing_error(self, what: str) -> IndexCorrupt:
        """Return the error for a cluster that lacks something, described by `what`."""
        return IndexCorrupt(
            f"Qdrant at {self._client.address.url} lacks {what} (was it restored from an older "
            "backup?); `fathom doctor --fix` brings it from PostgreSQL"
        )

    def _open_points(self, store: PostgresStore, space: SpaceTable) -> TenantPoints:
        """Return the points of a space, or of the words, in its collection."""
        tenant = record.compute_tenant(store, space.no)
        return TenantPoints(self._client, tenant, space.dimension or None)

    # Changes, inside the transaction that changes the index.

    def create_index(self, store: PostgresStore) -> None:
        """Create the collection of words, and record it."""
        self._open_points(store, _make_word_space(store)).create_collection()
        record.store_collection_record(store, CollectionRecord(WORDS, 0, 0.0))

    def reserve_numbers(self, transaction: BeginTransaction, chunks: int) -> int | None:
        """Reserve numbers in a transaction of its own and record them as left over.

        So a request of a failed change that arrives late cannot overwrite points of another change.

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
            _record_leftovers(store, range(first, first + chunks), MAX_CHANGE_S)
        return first

    def add(self, store: PostgresStore, chunks: Sequence[ChunkPostings]) -> None:
        """Send the words of new chunks to the cluster.

        Raises:
            RunError: If the reserved numbers have expired (`MAX_CHANGE_S`).
        """
        if not chunks:
            return
        tenants = [record.compute_tenant(store, space.no) for space in _list_spaces(store)]
        # If their records are gone, another process has cleaned these numbers up as abandoned.
        if not record.keep_points(store, tenants, [chunk.number for chunk in chunks]):
            raise RunError("the change took too long and was given up; run it again")
        space, average = _make_word_space(store), _read_mean_length(store)
        QdrantWords(self._create_points(store, space), average).put(
            record.store_terms(store, chunks)
        )
        self._store_mark(
            store,
            space,
            min(average, record.read_collection_record(store, WORDS).average or average),
        )

    def add_vectors(
        self, store: PostgresStore, space: SpaceTable, vectors: Mapping[int, HalfMatrix]
    ) -> None:
        """Send the vectors of chunks to the cluster."""
        if not vectors:
            return
        space = replace(space, dimension=len(next(iter(vectors.values()))))
        documents = record.look_up_documents(store, list(vectors))
        points = ((no, documents[no], vector) for no, vector in vectors.items())
        QdrantVectors(self._create_points(store, space)).put(points)
        self._store_mark(store, space)

    def _create_points(self, store: PostgresStore, space: SpaceTable) -> TenantPoints:
        """Return the points of a space, and create its collection first if needed."""
        points = self._open_points(store, space)
        if space.dimension not in self._made_collections:
            points.create_collection()
            self._made_collections.add(space.dimension)
        return points

    def _store_mark(self, store: PostgresStore, space: SpaceTable, average: float = 0.0) -> None:
        """Store a new mark in the cluster and record it; the old mark is deleted later.

        Args:
            store: The store of the change.
            space: The space, or the words.
            average: The lowest mean length for which weights of words were made; 0 for vectors.
        """
        mark = 1 + secrets.randbelow(MAX_MARK)
        self._open_points(store, space).store_mark(mark)
        record.expire_mark(store, space, for_s=self._grace_s)
        record.store_collection_record(store, CollectionRecord(space.no, mark, average))

    def remove(self, store: PostgresStore, numbers: Sequence[int]) -> None:
        """Record that chunks are removed; their points stay for readers of older states."""
        if numbers:
            record.delete_terms(store, numbers)
            _record_leftovers(store, numbers, self._grace_s)

    def purge(self, store: PostgresStore) -> None:
        """Do nothing: `optimize` deletes removed points once nobody can be reading them."""

    def drop_space(self, store: PostgresStore, space: SpaceTable) -> None:
        """Record that the points of a space are left over."""
        self._drop_points(store, space)

    def drop_index(self, store: PostgresStore) -> None:
        """Record that all points of an index are left over."""
        for space in _list_spaces(store):
            self._drop_points(store, space)

    def _drop_points(self, store: PostgresStore, space: SpaceTable) -> None:
        """Record that all points of a space are left over, and delete its record."""
        if space.dimension or space.no == WORDS:
            record.expire_points(store, space, None, for_s=self._grace_s)
        record.delete_collection_record(store, space.no)

    def notify_commit(self, connections: Connections, index: int) -> None:
        """Do nothing: the change was complete before its commit."""

    def finish_background_work(self, connections: Connections, index: int) -> None:
        """Do nothing: no work runs in the background."""

    def optimize(self, store: PostgresStore) -> None:
        """Delete points that nobody reads, and send outdated weights of words again."""
        self._delete_leftovers(store)
        lowest = record.read_collection_record(store, WORDS).average
        if lowest and _read_mean_length(store) > MAX_DRIFT * lowest:
            self._send_chunks(
                store,
                _make_word_space(store),
                record.list_chunk_numbers(store, _make_word_space(store)),
            )

    def _delete_leftovers(self, store: PostgresStore) -> None:
        """Delete the leftover points that are due."""
        due = record.list_leftovers(store, due=True)
        for leftover in due:
            points = TenantPoints(self._client, leftover.tenant, leftover.dimension)
            if leftover.chunks is None:
                points.clear()
            elif points.exists():
                points.remove(leftover.chunks)
        record.forget_leftovers(store, due)

    # Repairs.

    def check_backend(self, store: PostgresStore) -> None:
        """Check that Qdrant searches the index.

        Raises:
            IndexMismatch: If PostgreSQL itself searches it.
        """
        if not store.has_other_backend():
            raise IndexMismatch(
                "PostgreSQL itself searches this index; leave +qdrant:... out of its URL, or move "
                "it: `fathom copy FROM TO`"
            )

    def catch_up(self, store: PostgresStore) -> None:
        """Delete leftover points, and send points that the cluster lacks."""
        self._delete_leftovers(store)
        for space in _list_spaces(store):
            points, mark = (
                self._open_points(store, space),
                record.read_collection_record(store, space.no).mark,
            )
            remaining = sum(
                len(leftover.chunks or ())
                for leftover in record.list_leftovers(store, due=False)
                if leftover.tenant == record.compute_tenant(store, space.no)
            )
            # Without the last mark the cluster comes from a backup, and any of its points may be
            # old.
            if mark and not points.has_mark(mark):
                self._send_chunks(store, space, record.list_chunk_numbers(store, space))
            elif points.count() < space.filled + remaining:
                stored = np.fromiter(points.iterate_chunks(), dtype=np.int64)
                missing = np.setdiff1d(record.list_chunk_numbers(store, space), stored)
                if len(missing):
                    self._send_chunks(store, space, missing)

    def rebuild(self, store: PostgresStore) -> None:
        """Send all points again, and delete those that PostgreSQL does not list."""
        remaining = [
            leftover.chunks
            for leftover in record.list_leftovers(store, due=False)
            if leftover.chunks
        ]
        for space in _list_spaces(store):
            points, numbers = (
                self._open_points(store, space),
                record.list_chunk_numbers(store, space),
            )
            self._send_chunks(store, space, numbers)
            stored = np.fromiter(points.iterate_chunks(), dtype=np.int64)
            points.remove(np.setdiff1d(stored, np.concatenate([numbers, *remaining])).tolist())
            points.delete_other_marks(record.read_collection_record(store, space.no).mark)
        self._delete_leftovers(store)

    def _send_chunks(self, store: PostgresStore, space: SpaceTable, numbers: Numbers) -> None:
        """Send the words or the vectors of chunks from PostgreSQL to the cluster."""
        points, average = self._create_points(store, space), _read_mean_length(store)
        for start in range(0, len(numbers), record.BATCH_CHUNKS):
            batch = numbers[start : start + record.BATCH_CHUNKS].tolist()
            if space.dimension:
                documents = record.look_up_documents(store, batch)
                chunks, vectors = store.read_vectors(batch, space)
                rows = zip(chunks.tolist(), map(documents.__getitem__, batch), vectors, strict=True)
                QdrantVectors(points).put(rows)
            else:
                QdrantWords(points, average).put(record.list_chunks(store, batch))
        # Other points keep the weights of the lower mean length, which bounds all of them.
        if len(numbers) < space.filled:
            average = min(
                average, record.read_collection_record(store, space.no).average or average
            )
        self._store_mark(store, space, 0.0 if space.dimension else average)

    def list_findings(self, store: PostgresStore) -> Iterator[str]:
        """Yield a line for each space whose points the cluster lacks."""
        for space in _list_spaces(store):
            points, mark = (
                self._open_points(store, space),
                record.read_collection_record(store, space.no).mark,
            )
            lacking = space.filled - points.count()
            if lacking > 0:
                yield str(self._make_missing_error(f"{lacking} of {space.filled} chunks"))
            elif mark and not points.has_mark(mark):
                yield str(self._make_missing_error("the last change"))


def _make_word_space(store: PostgresStore) -> SpaceTable:
    """Return the words of an index in the form of a space, with the dimension 0."""
    return SpaceTable(no=WORDS, name="", dimension=0, filled=store.index.chunks)


def _list_spaces(store: PostgresStore) -> list[SpaceTable]:
    """Return the words, and the spaces that have vectors."""
    return [_make_word_space(store), *(space for space in store.list_spaces() if space.dimension)]


def _record_leftovers(store: PostgresStore, chunks: Sequence[int], for_s: float) -> None:
    """Record that the points of chunks in all spaces are to be deleted after `for_s` seconds."""
    for space in _list_spaces(store):
        record.expire_points(store, space, chunks, for_s=for_s)


def _read_mean_length(store: PostgresStore) -> float:
    """Return the mean length of a chunk in terms, as it is within the change."""
    [row] = store.select_rows("SELECT chunks, terms FROM fathom.indexes WHERE no = %s")
    return Statistics(row["chunks"], row["terms"], {}).mean_length
