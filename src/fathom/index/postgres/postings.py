"""Words and vectors searched in the database itself: postings of Fathom's own terms, and pgvector.

The chunks that one step stored are a segment. A row of `postings` has, of one term in one segment,
the numbers of the chunks that have it (four bytes each), how often (two) and how long these
are (four). A search reads the rows of its terms and scores them here.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathom.errors import IndexMismatch
from fathom.index.base import Vector
from fathom.index.bm25 import Statistics, norms, quantised, query_weights
from fathom.index.filters import Allowed, Numbers
from fathom.index.postgres.connections import EXPANSION_SEARCH
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
MOST_POSTINGS = 4_000_000
"""So many are remembered, of 12 bytes each."""
_LARGEST = 2**16 - 1


class DatabaseLegs:
    """See `legs.Legs`."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._held: _Held | None = None

    def make_index(self, store: Store) -> None:
        """See `Legs.make_index`."""

    def reserve(self, transaction: Transaction, chunks: int) -> int | None:  # noqa: ARG002
        """See `Legs.reserve`: with its transaction all of a change is undone."""
        return None

    def add(self, store: Store, chunks: Sequence[Posted]) -> None:
        """See `Legs.add`: they are a segment of their own."""
        if not chunks:
            return
        entered: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for chunk in chunks:
            for term, count in chunk.counts.items():
                entered[term].append((chunk.number, min(count, _LARGEST), chunk.length))
        segment = _next_segment(store)
        columns = zip(*map(_packed, entered.values()), strict=True)
        numbers, frequencies, lengths = (list(each) for each in columns)
        store.run(
            "INSERT INTO fathom.postings(index_no, workspace_no, term, segment, numbers, "
            "frequencies, lengths) SELECT %(index)s, %(workspace)s, given.term, %(segment)s, "
            "given.numbers, given.frequencies, given.lengths FROM unnest(%(terms)b::text[], "
            "%(numbers)b::bytea[], %(frequencies)b::bytea[], %(lengths)b::bytea[]) "
            "AS given(term, numbers, frequencies, lengths)",
            segment=segment,
            terms=list(entered),
            numbers=numbers,
            frequencies=frequencies,
            lengths=lengths,
        )
        if segment % MERGED_EVERY == 0:
            _merge(store)

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
            _delete(store, np.array(sorted(gone), dtype=np.int64))

    def drop_space(self, store: Store, space: StoredSpace) -> None:
        """See `Legs.drop_space`."""

    def drop_index(self, store: Store) -> None:
        """See `Legs.drop_index`."""

    def optimize(self, store: Store) -> None:
        """See `Legs.optimize`: merges segments, builds graphs of many vectors."""
        dead = store.value("SELECT count(*) FROM fathom.removed WHERE index_no = %s")
        if dead and dead >= MOST_DEAD * store.index.chunks - FEW_DEAD:
            self.purge(store)
        _merge(store)
        for space in store.spaces():
            if space.filled > GRAPH_FROM_CHUNKS:
                build_graph(store, space)

    def committed(self) -> None:
        """See `Legs.committed`."""

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

    def findings(self, store: Store) -> Iterator[str]:  # noqa: ARG002 - see `status.findings`
        """See `Legs.findings`."""
        yield from ()

    def close(self) -> None:
        """See `Legs.close`."""

    def keyword_search(
        self, store: Store, terms: Mapping[str, int], *, k: int, allowed: Allowed | None
    ) -> Scored:
        """See `Legs.keyword_search`."""
        held = self._held_of(store, terms)
        weights = query_weights(terms, held.statistics(store))
        scores = np.zeros(store.index.next_chunk)
        for term, weight in weights.items():
            for numbers, shares in held.postings[term]:
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


def _next_segment(store: Store) -> int:
    return int(
        store.value(
            "UPDATE fathom.indexes SET next_segment = next_segment + 1 WHERE no = %s "
            "RETURNING next_segment - 1"
        )
    )


def _delete(store: Store, gone: Numbers) -> None:
    """Let go of chunks: writes every row anew that has one of them."""
    query = (
        "SELECT term, segment, numbers, frequencies, lengths FROM fathom.postings "
        "WHERE index_no = %s"
    )
    changed = []
    with store.connection.cursor("postings") as cursor:
        cursor.execute(query, (store.index.no,))
        for term, segment, *columns in cursor:
            kept = ~np.isin(np.frombuffer(columns[0], "<u4"), gone)
            if not kept.all():
                left = [
                    np.frombuffer(column, kind)[kept].tobytes()
                    for column, kind in zip(columns, ("<u4", "<u2", "<u4"), strict=True)
                ]
                changed.append((*left, store.index.no, term, segment))
    with store.connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE fathom.postings SET numbers = %s, frequencies = %s, lengths = %s "
            "WHERE index_no = %s AND term = %s AND segment = %s",
            changed,
        )
    store.run("DELETE FROM fathom.postings WHERE index_no = %(index)s AND numbers = ''")


def _merge(store: Store) -> None:
    """Make one segment of the small ones, so that none is less than twice what is smaller."""
    sizes = store.rows(
        "SELECT segment, sum(octet_length(numbers)) AS size FROM fathom.postings "
        "WHERE index_no = %s GROUP BY segment ORDER BY size, segment"
    )
    merged: list[int] = []
    total = 0
    for row in sizes:
        if merged and row["size"] > 2 * total:
            break
        merged.append(row["segment"])
        total += row["size"]
    if len(merged) > 1:
        _merge_all(store, merged)


def _merge_all(store: Store, segments: Sequence[int]) -> None:
    store.run(
        "WITH old AS (DELETE FROM fathom.postings WHERE index_no = %(index)s AND "
        "segment = ANY(%(segments)s) RETURNING *) "
        "INSERT INTO fathom.postings(index_no, workspace_no, term, segment, numbers, "
        "frequencies, lengths) "
        "SELECT index_no, workspace_no, term, %(next)s, string_agg(numbers, ''::bytea ORDER BY "
        "segment), string_agg(frequencies, ''::bytea ORDER BY segment), "
        "string_agg(lengths, ''::bytea ORDER BY segment) FROM old "
        "GROUP BY index_no, workspace_no, term",
        segments=list(segments),
        next=_next_segment(store),
    )


Shares = NDArray[np.float64]
"""Of each posting `f / (f + norm)`; see `bm25`."""


class _Held:
    """Words of one state of an index: what was read of them is not read again.

    Several threads may add to it; they add the same.
    """

    def __init__(self, state: tuple[str, int], removed: Numbers) -> None:
        self.state = state
        self.removed = removed
        self.postings: dict[str, list[tuple[NDArray[np.uint32], Shares]]] = {}
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
        average = self.statistics(store).average
        found: dict[str, list[tuple[NDArray[np.uint32], Shares]]] = {term: [] for term in terms}
        for term, chunks, numbers, frequencies, lengths in rows:
            self._frequencies[term] = chunks
            if numbers:
                counts = np.frombuffer(frequencies, "<u2").astype(np.float64)
                against = norms(quantised(np.frombuffer(lengths, "<u4").astype(np.int64)), average)
                found[term].append((np.frombuffer(numbers, "<u4"), counts / (counts + against)))
                self.size += len(counts)
        self.postings.update(found)


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
    if not few and (allowed is not None or k > EXPANSION_SEARCH):  # the graph is asked for more
        store.run("SET LOCAL hnsw.iterative_scan = strict_order")
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


def _packed(found: Sequence[tuple[int, int, int]]) -> tuple[bytes, ...]:
    """Numbers, frequencies and lengths, each as the bytes of an array."""
    columns = np.array(found, dtype=np.int64).T
    kinds = ("<u4", "<u2", "<u4")
    return tuple(column.astype(kind).tobytes() for column, kind in zip(columns, kinds, strict=True))
