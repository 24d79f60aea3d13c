"""Words and vectors searched in the database itself: postings of Fathom's own terms, and pgvector.

A search reads the rows of its terms, see `segments`, and scores them here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathom.errors import IndexMismatch
from fathom.index.base import Vector
from fathom.index.bm25 import Statistics, norms, quantised, query_weights
from fathom.index.filters import Allowed, Numbers
from fathom.index.postgres import segments
from fathom.index.postgres.connections import Connections
from fathom.index.postgres.halfvec import packed, to_vectors
from fathom.index.postgres.legs import Posted, Scored, Transaction
from fathom.index.postgres.spaces import build_graph
from fathom.index.postgres.store import Store, StoredSpace
from fathom.index.rows import HalfMatrix, cosines

# What pgvector computes of vectors of 16 bits may err by this much against the exact cosine.
MARGIN = 6e-4
GRAPH_FROM_CHUNKS = 20_000
MOST_DEAD = 0.02
FEW_DEAD = 400
FEW_CHUNKS = 10_000
MERGED_EVERY = 16
"""So many changes that add chunks."""
MOST_POSTINGS = 4_000_000
"""So many are remembered, of 12 bytes each."""


class DatabaseLegs:
    """See `legs.Legs`."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._held: _Held | None = None
        self._merging = segments.Merging()
        self._is_due = False

    def make_index(self, store: Store) -> None:
        """See `Legs.make_index`."""

    def reserve(self, transaction: Transaction, chunks: int) -> int | None:  # noqa: ARG002
        """See `Legs.reserve`: with its transaction all of a change is undone."""
        return None

    def add(self, store: Store, chunks: Sequence[Posted]) -> None:
        """See `Legs.add`: those that have words are a segment of their own."""
        worded = [each for each in chunks if each.counts]
        if worded:
            self._is_due |= segments.add(store, worded) % MERGED_EVERY == 0

    def add_vectors(
        self, store: Store, space: StoredSpace, vectors: Mapping[int, HalfMatrix]
    ) -> None:
        """See `Legs.add_vectors`: the table is what is searched."""

    def remove(self, store: Store, numbers: Sequence[int]) -> None:
        """See `Legs.remove`: their words stay until `purge`."""
        store.run(
            "INSERT INTO fathom.removed SELECT %(index)s, %(workspace)s, unnest(%(gone)s::int[])",
            gone=list(numbers),
        )

    def purge(self, store: Store) -> None:
        """See `Legs.purge`: writes every row anew that has a removed chunk."""
        gone = store.column("DELETE FROM fathom.removed WHERE index_no = %s RETURNING chunk_no")
        if gone:
            segments.purge(store, np.array(sorted(gone), dtype=np.int64))
            store.publish(chunks=True)  # who read before it is not to remember beside who reads now

    def drop_space(self, store: Store, space: StoredSpace) -> None:
        """See `Legs.drop_space`."""

    def drop_index(self, store: Store) -> None:
        """See `Legs.drop_index`."""

    def optimize(self, store: Store) -> None:
        """See `Legs.optimize`: builds graphs of many vectors."""
        dead = store.value("SELECT count(*) FROM fathom.removed WHERE index_no = %s")
        if dead and dead >= MOST_DEAD * store.index.chunks - FEW_DEAD:
            self.purge(store)
        for space in store.spaces():
            if space.filled > GRAPH_FROM_CHUNKS:
                build_graph(store, space)

    def committed(self, connections: Connections, index: int) -> None:
        """See `Legs.committed`: merges segments, once there are many new ones."""
        if self._is_due:
            self._is_due = False
            self._merging.begin(connections, index)

    def settle(self, connections: Connections, index: int) -> None:
        """See `Legs.settle`."""
        self._merging.wait()
        segments.merge(connections, index)

    def opened(self, store: Store) -> None:
        """See `Legs.opened`."""
        if store.has_other_legs():
            raise IndexMismatch(
                "Qdrant searches this index; add +qdrant:https://HOST:PORT to its URL, or move it: "
                "`fathom copy FROM TO`"
            )

    def catch_up(self, store: Store) -> None:
        """See `Legs.catch_up`: they are never behind."""

    def remake(self, store: Store) -> None:
        """See `Legs.remake`."""
        self.optimize(store)

    def findings(self, store: Store) -> Iterator[str]:
        """See `Legs.findings`."""
        if wrong := segments.miscounted(store):
            yield (
                f"of {len(wrong)} words the postings are not those of the chunks, as of "
                f"{wrong[0]!r}; restore a backup or run `fathom ingest --rebuild PATH...`"
            )

    def close(self) -> None:
        """See `Legs.close`; ends what is being merged."""
        self._merging.wait()

    def keyword_search(
        self, store: Store, terms: Mapping[str, int], *, k: int, allowed: Allowed | None
    ) -> Scored:
        """See `Legs.keyword_search`."""
        held = self._held_of(store, terms)
        weights = query_weights(terms, held.statistics(store))
        scores = np.zeros(store.index.next_chunk)
        for term, weight in weights.items():
            numbers, shares = held.postings[term]
            scores[numbers] += weight * shares
        scores[held.removed] = 0
        rounded = scores.astype(np.float32)
        inside = np.flatnonzero(rounded)
        if allowed is not None:
            inside = allowed.chunks[allowed.chunks < len(rounded)]
            inside = inside[rounded[inside] > 0]
        found = rounded[inside]
        if len(found) > k:
            best = found >= _largest(found, k)
            inside, found = inside[best], found[best]
        return list(zip(inside.tolist(), found.tolist(), strict=True))

    def _held_of(self, store: Store, terms: Iterable[str]) -> "_Held":
        """What is known of the words of the store's state, at least of these terms."""
        held, state = self._held, (store.index.lineage, store.index.chunks_at)
        if held is None or held.state != state or held.size > MOST_POSTINGS:
            held = _Held(state, _removed(store))
        lacking = [term for term in terms if term not in held.postings]
        if lacking:
            held.read(store, lacking)
        self._held = held
        return held

    def chunks_with(self, store: Store, terms: Sequence[str]) -> int:
        """See `Legs.chunks_with`; exact."""
        found = store.column(
            "SELECT numbers FROM fathom.postings WHERE index_no = %s AND term = ANY(%s)",
            list(terms),
        )
        numbers = np.unique(np.frombuffer(b"".join(found), "<u4"))
        return int((~np.isin(numbers, _removed(store))).sum())

    def vector_search(
        self, store: Store, vector: Vector, space: StoredSpace, *, k: int, allowed: Allowed | None
    ) -> Scored:
        """See `Legs.vector_search`; may miss some where a graph is asked."""
        limit = k + k // 2 + 32
        inside = None if allowed is None else allowed.chunks
        while True:
            numbers, near, vectors = _near(store, vector, space, limit, inside)
            exact = cosines(vectors, vector)
            complete = len(near) < limit
            if complete or (len(exact) > k and _largest(exact, k) > float(near.min()) + MARGIN):
                return list(zip(numbers.tolist(), exact.tolist(), strict=True))
            limit *= 4


Shares = NDArray[np.float64]
"""Of each posting `f / (f + norm)`; see `bm25`."""


class _Held:
    """Words of one state of an index: what was read of them is not read again.

    Several threads may add to it; they add the same.
    """

    def __init__(self, state: tuple[str, int], removed: Numbers) -> None:
        self.state = state
        self.removed = removed
        self.postings: dict[str, tuple[NDArray[np.uint32], Shares]] = {}
        self.size = 0
        self._frequencies: dict[str, int] = {}

    def statistics(self, store: Store) -> Statistics:
        """What BM25 has to know."""
        return Statistics(store.index.chunks, store.index.terms, self._frequencies)

    def read(self, store: Store, terms: Sequence[str]) -> None:
        """Read the postings of terms, in one way there and back."""
        rows = store.connection.execute(
            "SELECT term, chunks, numbers, frequencies, lengths FROM fathom.terms "
            "LEFT JOIN fathom.postings USING (index_no, term) "
            "WHERE index_no = %s AND term = ANY(%s) ORDER BY term, segment",
            (store.index.no, list(terms)),
            binary=True,
        ).fetchall()
        self._frequencies.update((row[0], row[1]) for row in rows)
        # All at once, as a term may have many rows: then each is a part of these.
        numbers = np.frombuffer(b"".join(row[2] or b"" for row in rows), "<u4")
        counts = np.frombuffer(b"".join(row[3] or b"" for row in rows), "<u2").astype(np.float64)
        lengths = np.frombuffer(b"".join(row[4] or b"" for row in rows), "<u4")
        by_length = norms(
            quantised(np.arange(lengths.max(initial=0) + 1)), self.statistics(store).average
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


def _removed(store: Store) -> Numbers:
    found = store.column("SELECT chunk_no FROM fathom.removed WHERE index_no = %s")
    return np.array(found, dtype=np.int64)


def _near(
    store: Store, vector: Vector, space: StoredSpace, k: int, allowed: Numbers | None
) -> tuple[Numbers, NDArray[np.float64], HalfMatrix]:
    """About the `k` chunks with the highest cosines, these as pgvector computes them, the vectors.

    Exact where there is no graph, or few are allowed.
    """
    few = allowed is not None and len(allowed) <= FEW_CHUNKS
    # The graph is of the cast column: whoever does not cast passes it by.
    column = "vector" if few else f"(vector::halfvec({space.dimension}))"
    condition = "" if allowed is None else "WHERE chunk_no = ANY(%(allowed)s) "
    # The limit is no value, as a plan that is made for any limit passes the graph by.
    rows = store.connection.execute(
        f"SELECT chunk_no, -({column} <#> %(vector)s::halfvec({space.dimension})), vector "  # noqa: S608 - numbers make the names
        f"FROM {space.table} {condition}"
        f"ORDER BY {column} <#> %(vector)s::halfvec({space.dimension}) LIMIT {k:d}",
        {
            "vector": packed(vector),
            "allowed": None if allowed is None else allowed.tolist(),
        },
        binary=True,
    ).fetchall()
    return (
        np.array([row[0] for row in rows], dtype=np.int64),
        np.array([row[1] for row in rows], dtype=np.float64),
        to_vectors([row[2] for row in rows], space.dimension),
    )


def _largest(values: NDArray[np.floating[Any]], k: int) -> float:
    """The `k`-th largest."""
    return float(np.partition(values, len(values) - k)[len(values) - k])
