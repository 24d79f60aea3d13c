"""Words and vectors searched in the database itself: postings of Fathom's own terms, and pgvector.

The chunks that one step stored are a segment. A row of `postings` has, of one term in one segment,
the numbers of the chunks that have it (four bytes each), how often (two) and how long these
are (four). A search reads the rows of its terms and scores them here.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathom.errors import IndexMismatch
from fathom.index.base import Vector
from fathom.index.bm25 import norms, quantised, query_weights
from fathom.index.filters import Allowed, Numbers
from fathom.index.postgres.legs import Posted, Scored, Transaction
from fathom.index.postgres.spaces import build_graph
from fathom.index.postgres.store import Store, StoredSpace, as_text
from fathom.index.rows import HalfMatrix, cosines

# What pgvector computes of vectors of 16 bits may err by this much against the exact cosine.
MARGIN = 6e-4
GRAPH_FROM_CHUNKS = 20_000
MOST_DEAD = 0.02
FEW_DEAD = 400
FEW_CHUNKS = 10_000
MERGED_EVERY = 16
_LARGEST = 2**16 - 1


class DatabaseLegs:
    """See `legs.Legs`."""

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
        store.insert(
            "postings(index_no, workspace_no, term, segment, numbers, frequencies, lengths)",
            [
                (store.index.no, store.index.workspace_no, term, segment, *_packed(found))
                for term, found in entered.items()
            ],
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
        scores = _scores(store, terms)
        gone = store.column("SELECT chunk_no FROM fathom.removed WHERE index_no = %s")
        scores[gone] = 0
        if allowed is None:
            numbers: Numbers = np.flatnonzero(scores)
        else:
            numbers = allowed.chunks[allowed.chunks < len(scores)]
            numbers = numbers[scores[numbers] > 0]
        found = scores[numbers]
        if len(found) > k:
            inside = found >= _largest(found, k)
            numbers, found = numbers[inside], found[inside]
        return list(zip(numbers.tolist(), found.tolist(), strict=True))

    def chunks_with(self, store: Store, terms: Sequence[str]) -> int:
        """See `Legs.chunks_with`; exact."""
        found = store.column(
            "SELECT numbers FROM fathom.postings WHERE index_no = %s AND term = ANY(%s)",
            list(terms),
        )
        numbers = np.unique(np.frombuffer(b"".join(found), "<u4"))
        gone = store.column("SELECT chunk_no FROM fathom.removed WHERE index_no = %s")
        return int((~np.isin(numbers, gone)).sum())

    def vector_search(
        self, store: Store, vector: Vector, space: StoredSpace, *, k: int, allowed: Allowed | None
    ) -> Scored:
        """See `Legs.vector_search`; may miss some where a graph is asked."""
        limit = k + k // 2 + 32
        inside = None if allowed is None else allowed.chunks
        while True:
            near = _near(store, vector, space, limit, inside)
            numbers, vectors = store.vectors([number for number, _ in near], space)
            exact = cosines(vectors, vector)
            complete = len(near) < limit
            if complete or (
                len(exact) > k and _largest(exact, k) > min(each[1] for each in near) + MARGIN
            ):
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


def _scores(store: Store, terms: Mapping[str, int]) -> NDArray[np.float32]:
    """By the number of the chunk; those of removed ones too."""
    statistics = store.statistics(terms)
    weights = query_weights(terms, statistics)
    rows = store.connection.execute(
        "SELECT term, numbers, frequencies, lengths FROM fathom.postings "
        "WHERE index_no = %s AND term = ANY(%s)",
        (store.index.no, list(weights)),
        binary=True,
    ).fetchall()
    by_term: dict[str, list[Sequence[bytes]]] = defaultdict(list)
    for term, *columns in rows:
        by_term[term].append(columns)
    scores = np.zeros(store.index.next_chunk)
    for term, weight in weights.items():
        for numbers, counts, lengths in by_term[term]:
            frequency = np.frombuffer(counts, "<u2").astype(np.float64)
            length = quantised(np.frombuffer(lengths, "<u4").astype(np.int64))
            against = norms(length, statistics.average)
            scores[np.frombuffer(numbers, "<u4")] += weight * frequency / (frequency + against)
    return scores.astype(np.float32)


def _near(
    store: Store, vector: Vector, space: StoredSpace, k: int, allowed: Numbers | None
) -> Scored:
    """About the `k` chunks with the highest cosines, as pgvector computes them.

    Exact where there is no graph, or few are allowed.
    """
    few = allowed is not None and len(allowed) <= FEW_CHUNKS
    # The graph is of the cast column: whoever does not cast passes it by.
    column = "vector" if few else f"(vector::halfvec({space.dimension}))"
    condition = "" if allowed is None else "WHERE chunk_no = ANY(%(allowed)s) "
    rows = store.connection.execute(
        f"SELECT chunk_no, -({column} <#> %(vector)s::halfvec({space.dimension})) "  # noqa: S608 - numbers make the names
        f"FROM {space.table} {condition}"
        f"ORDER BY {column} <#> %(vector)s::halfvec({space.dimension}) LIMIT %(k)s",
        {
            "vector": as_text(vector),
            "allowed": None if allowed is None else allowed.tolist(),
            "k": k,
        },
    ).fetchall()
    return [(int(row[0]), float(row[1])) for row in rows]


def _largest(values: NDArray[np.floating[Any]], k: int) -> float:
    """The `k`-th largest."""
    return float(np.partition(values, len(values) - k)[len(values) - k])


def _packed(found: Sequence[tuple[int, int, int]]) -> tuple[bytes, ...]:
    """Numbers, frequencies and lengths, each as the bytes of an array."""
    columns = np.array(found, dtype=np.int64).T
    kinds = ("<u4", "<u2", "<u4")
    return tuple(column.astype(kind).tobytes() for column, kind in zip(columns, kinds, strict=True))
