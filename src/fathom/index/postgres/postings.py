"""The search backend in the database itself: postings of Fathom's own terms, and pgvector.

A search reads the postings of its terms (`segments`) and scores them in this process.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathom.errors import IndexMismatch
from fathom.index.base import Vector
from fathom.index.bm25 import Statistics, compute_norms, compute_query_weights, quantise_lengths
from fathom.index.filters import Numbers, SearchScope
from fathom.index.postgres import segments
from fathom.index.postgres.connections import Connections
from fathom.index.postgres.halfvec import pack_vector, unpack_vectors
from fathom.index.postgres.search_backend import BeginTransaction, ChunkPostings, ScoredChunks
from fathom.index.postgres.spaces import build_graph
from fathom.index.postgres.store import PostgresStore, SpaceTable
from fathom.index.rows import HalfMatrix, compute_cosines

MARGIN = 6e-4
"""The largest error of pgvector's product of vectors of 16 bits against the exact cosine."""
GRAPH_FROM_CHUNKS = 20_000
"""A space with more vectors than this gets a graph of neighbours."""
PURGE_SHARE = 0.02
"""The share of removed chunks from which on `optimize` deletes their postings."""
PURGE_SLACK = 400
"""The number of chunks by which that limit is lowered, so that a small index is always cleaned."""
MAX_EXACT_CHUNKS = 10_000
"""Up to so many allowed chunks are all compared exactly, without the graph."""
MERGE_INTERVAL = 16
"""The number of changes that add chunks between two merges."""
MAX_CACHED_POSTINGS = 4_000_000
"""The number of postings (12 bytes each) in memory above which the cache starts anew."""


class PostgresBackend:
    """The `SearchBackend` of PostgreSQL itself."""

    def __init__(self) -> None:
        """Create the backend; nothing is read yet."""
        self._cache: _PostingsCache | None = None
        self._merging = segments.BackgroundMerge()
        self._is_due = False

    def create_index(self, store: PostgresStore) -> None:
        """Do nothing: an empty index has no postings."""

    def reserve_numbers(self, transaction: BeginTransaction, chunks: int) -> int | None:  # noqa: ARG002
        """Return `None`: a failed transaction undoes its whole change, so numbers may be reused."""
        return None

    def add(self, store: PostgresStore, chunks: Sequence[ChunkPostings]) -> None:
        """Store the chunks that have words as a segment of their own."""
        worded = [chunk for chunk in chunks if chunk.counts]
        if worded:
            self._is_due |= segments.add_segment(store, worded) % MERGE_INTERVAL == 0

    def add_vectors(
        self, store: PostgresStore, space: SpaceTable, vectors: Mapping[int, HalfMatrix]
    ) -> None:
        """Do nothing: searches read the space's table."""

    def remove(self, store: PostgresStore, numbers: Sequence[int]) -> None:
        """Note that the chunks are removed; their postings stay until `purge`."""
        store.run(
            "INSERT INTO fathom.removed SELECT %(index)s, %(workspace)s, unnest(%(gone)s::int[])",
            gone=list(numbers),
        )

    def purge(self, store: PostgresStore) -> None:
        """Rewrite every row of postings that has a removed chunk."""
        gone = store.select_column(
            "DELETE FROM fathom.removed WHERE index_no = %s RETURNING chunk_no"
        )
        if gone:
            segments.purge_chunks(store, np.array(sorted(gone), dtype=np.int64))
            # A new state of chunks keeps caches of the old postings apart from the new ones.
            store.publish(chunks=True)

    def drop_space(self, store: PostgresStore, space: SpaceTable) -> None:
        """Do nothing: the vectors go with the space's table."""

    def drop_index(self, store: PostgresStore) -> None:
        """Do nothing: the postings go with the index's row."""

    def optimize(self, store: PostgresStore) -> None:
        """Delete the postings of removed chunks if they are many; build graphs of large spaces."""
        dead = store.select_value("SELECT count(*) FROM fathom.removed WHERE index_no = %s")
        if dead and dead >= PURGE_SHARE * store.index.chunks - PURGE_SLACK:
            self.purge(store)
        for space in store.list_spaces():
            if space.filled > GRAPH_FROM_CHUNKS:
                build_graph(store, space)

    def notify_commit(self, connections: Connections, index: int) -> None:
        """Start a merge of segments in the background after every `MERGE_INTERVAL` new ones."""
        if self._is_due:
            self._is_due = False
            self._merging.start(connections, index)

    def finish_background_work(self, connections: Connections, index: int) -> None:
        """Wait for the merge in the background, then merge what is left."""
        self._merging.wait()
        segments.merge_segments(connections, index)

    def check_backend(self, store: PostgresStore) -> None:
        """Check that the database itself searches the index.

        Raises:
            IndexMismatch: If Qdrant searches it.
        """
        if store.has_other_backend():
            raise IndexMismatch(
                "Qdrant searches this index; add +qdrant:https://HOST:PORT to its URL, or move it: "
                "`fathom copy FROM TO`"
            )

    def catch_up(self, store: PostgresStore) -> None:
        """Do nothing: every change is complete when it is committed."""

    def rebuild(self, store: PostgresStore) -> None:
        """Optimize the index; the postings cannot be rebuilt from other rows."""
        self.optimize(store)

    def list_findings(self, store: PostgresStore) -> Iterator[str]:
        """Yield a line if the postings of words do not agree with the number of their chunks."""
        if wrong := segments.find_miscounted_terms(store):
            yield (
                f"of {len(wrong)} words the postings are not those of the chunks, as of "
                f"{wrong[0]!r}; restore a backup or run `fathom ingest --rebuild PATH...`"
            )

    def close(self) -> None:
        """Wait for the merge in the background."""
        self._merging.wait()

    def keyword_search(
        self, store: PostgresStore, terms: Mapping[str, int], *, k: int, allowed: SearchScope | None
    ) -> ScoredChunks:
        """Return the `k` chunks with the highest BM25 scores, and all ties of the last one."""
        cache = self._load_postings(store, terms)
        weights = compute_query_weights(terms, cache.build_statistics(store))
        scores = np.zeros(store.index.next_chunk)
        for term, weight in weights.items():
            numbers, shares = cache.postings[term]
            scores[numbers] += weight * shares
        # Postings of removed chunks stay until `purge`.
        scores[cache.removed] = 0
        # Single precision makes equal scores equal whatever the order of the terms.
        rounded = scores.astype(np.float32)
        inside = np.flatnonzero(rounded)
        if allowed is not None:
            inside = allowed.chunks[allowed.chunks < len(rounded)]
            inside = inside[rounded[inside] > 0]
        best_scores = rounded[inside]
        if len(best_scores) > k:
            best = best_scores >= _find_kth_largest(best_scores, k)
            inside, best_scores = inside[best], best_scores[best]
        return list(zip(inside.tolist(), best_scores.tolist(), strict=True))

    def _load_postings(self, store: PostgresStore, terms: Iterable[str]) -> "_PostingsCache":
        """Return the postings of the store's state, with at least these terms read."""
        cache, state = self._cache, (store.index.lineage, store.index.chunks_at)
        if cache is None or cache.state != state or cache.size > MAX_CACHED_POSTINGS:
            cache = _PostingsCache(state, _read_removed(store))
        lacking = [term for term in terms if term not in cache.postings]
        if lacking:
            cache.read(store, lacking)
        self._cache = cache
        return cache

    def count_chunks_with(self, store: PostgresStore, terms: Sequence[str]) -> int:
        """Return the exact number of chunks that have one of the terms."""
        postings = store.select_column(
            "SELECT numbers FROM fathom.postings WHERE index_no = %s AND term = ANY(%s)",
            list(terms),
        )
        numbers = np.unique(np.frombuffer(b"".join(postings), "<u4"))
        return int((~np.isin(numbers, _read_removed(store))).sum())

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

        A graph of neighbours may miss some of them.
        """
        # pgvector orders by rounded products, so more than `k` rows are read and scored exactly.
        limit = k + k // 2 + 32
        inside = None if allowed is None else allowed.chunks
        while True:
            numbers, near, vectors = _search_vectors(store, vector, space, limit, inside)
            exact = compute_cosines(vectors, vector)
            complete = len(near) < limit
            if complete or (
                len(exact) > k and _find_kth_largest(exact, k) > float(near.min()) + MARGIN
            ):
                return list(zip(numbers.tolist(), exact.tolist(), strict=True))
            # A chunk beyond the limit could still be among the best `k`.
            limit *= 4


Shares = NDArray[np.float64]
"""The value `f / (f + norm)` of each posting, as in `bm25`."""


class _PostingsCache:
    """The postings of one state of an index that have been read so far.

    Several threads may add to the cache at once; they add equal postings.

    Attributes:
        state: The lineage of the index, and the revision of its last change of chunks.
        removed: The numbers of removed chunks, whose postings still exist.
        postings: By term, the numbers of its chunks and their shares.
        size: The number of postings.
    """

    def __init__(self, state: tuple[str, int], removed: Numbers) -> None:
        self.state = state
        self.removed = removed
        self.postings: dict[str, tuple[NDArray[np.uint32], Shares]] = {}
        self.size = 0
        self._frequencies: dict[str, int] = {}

    def build_statistics(self, store: PostgresStore) -> Statistics:
        """Return the numbers that BM25 needs."""
        return Statistics(store.index.chunks, store.index.terms, self._frequencies)

    def read(self, store: PostgresStore, terms: Sequence[str]) -> None:
        """Read the postings of terms in one round trip."""
        rows = store.connection.execute(
            "SELECT term, chunks, numbers, frequencies, lengths FROM fathom.terms "
            "LEFT JOIN fathom.postings USING (index_no, term) "
            "WHERE index_no = %s AND term = ANY(%s) ORDER BY term, segment",
            (store.index.no, list(terms)),
            binary=True,
        ).fetchall()
        self._frequencies.update((row[0], row[1]) for row in rows)
        # All terms are decoded at once, as a term may have many rows; each gets its slice below.
        numbers = np.frombuffer(b"".join(row[2] or b"" for row in rows), "<u4")
        counts = np.frombuffer(b"".join(row[3] or b"" for row in rows), "<u2").astype(np.float64)
        lengths = np.frombuffer(b"".join(row[4] or b"" for row in rows), "<u4")
        by_length = compute_norms(
            quantise_lengths(np.arange(lengths.max(initial=0) + 1)),
            self.build_statistics(store).mean_length,
        )
        shares = counts / (counts + by_length[lengths])
        sizes: dict[str, int] = {}
        for row in rows:
            sizes[row[0]] = sizes.get(row[0], 0) + len(row[2] or b"") // 4
        self.postings.update(dict.fromkeys(terms, (numbers[:0], shares[:0])))
        start = 0
        for term, size in sizes.items():
            self.postings[term] = numbers[start : start + size], shares[start : start + size]
            start += size
        self.size += len(numbers)


def _read_removed(store: PostgresStore) -> Numbers:
    """Return the numbers of the removed chunks."""
    numbers = store.select_column("SELECT chunk_no FROM fathom.removed WHERE index_no = %s")
    return np.array(numbers, dtype=np.int64)


def _search_vectors(
    store: PostgresStore, vector: Vector, space: SpaceTable, k: int, allowed: Numbers | None
) -> tuple[Numbers, NDArray[np.float64], HalfMatrix]:
    """Return the `k` chunks with the highest cosines, best first, as pgvector computes them.

    A graph of neighbours may miss some. It is not used if few chunks are allowed.

    Args:
        store: The store.
        vector: A vector of unit length.
        space: The space to search.
        k: The number of chunks.
        allowed: The numbers of the chunks that may be returned; `None` for all.

    Returns:
        The numbers of the chunks, the rounded cosines, and the vectors, (n, dimension).
    """
    few = allowed is not None and len(allowed) <= MAX_EXACT_CHUNKS
    # The graph indexes the cast column; a query without the cast cannot use it.
    column = "vector" if few else f"(vector::halfvec({space.dimension}))"
    condition = "" if allowed is None else "WHERE chunk_no = ANY(%(allowed)s) "
    # The limit stands in the text: a plan for any limit would not use the graph.
    rows = store.connection.execute(
        f"SELECT chunk_no, -({column} <#> %(vector)s::halfvec({space.dimension})), vector "  # noqa: S608 - numbers make the names
        f"FROM {space.table} {condition}"
        f"ORDER BY {column} <#> %(vector)s::halfvec({space.dimension}) LIMIT {k:d}",
        {
            "vector": pack_vector(vector),
            "allowed": None if allowed is None else allowed.tolist(),
        },
        binary=True,
    ).fetchall()
    return (
        np.array([row[0] for row in rows], dtype=np.int64),
        np.array([row[1] for row in rows], dtype=np.float64),
        unpack_vectors([row[2] for row in rows], space.dimension),
    )


def _find_kth_largest(values: NDArray[np.floating[Any]], k: int) -> float:
    """Return the `k`-th largest of at least `k` values."""
    return float(np.partition(values, len(values) - k)[len(values) - k])
