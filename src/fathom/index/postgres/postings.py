"""Words and vectors on the server: postings of Fathom's own terms, and pgvector.

The chunks that one step stored are a segment. A row of `postings` has, of one term in one segment,
the numbers of the chunks that have it (four bytes each), how often (two) and how long these
are (four). A search reads the rows of its terms and scores them here.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.index.base import Vector
from fathom.index.bm25 import norms, quantised, query_weights
from fathom.index.filters import Numbers
from fathom.index.postgres.store import Store, StoredSpace, as_text

FEW_CHUNKS = 10_000
MERGED_EVERY = 16
_LARGEST = 2**16 - 1


Scored = list[tuple[int, float]]
"""Chunks by number with their scores, the best first."""


@dataclass(frozen=True, slots=True)
class Posted:
    """A chunk as the postings take it: its number, and how often it has each term."""

    number: int
    counts: Mapping[str, int]

    @property
    def length(self) -> int:
        """How many terms it has, all together."""
        return sum(self.counts.values())


class Postings:
    """The words and vectors of one index, inside one transaction."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._connection = store.connection
        self._index = store.index

    def add(self, chunks: Sequence[Posted]) -> None:
        """Take chunks, as a segment of their own."""
        if not chunks:
            return
        entered: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for chunk in chunks:
            for term, count in chunk.counts.items():
                entered[term].append((chunk.number, min(count, _LARGEST), chunk.length))
        segment = self._next_segment()
        self._store.insert(
            "postings(index_no, workspace_no, term, segment, numbers, frequencies, lengths)",
            [
                (self._index.no, self._index.workspace_no, term, segment, *_packed(found))
                for term, found in entered.items()
            ],
        )
        if segment % MERGED_EVERY == 0:
            self.merge()

    def _next_segment(self) -> int:
        return int(
            self._store.value(
                "UPDATE fathom.indexes SET next_segment = next_segment + 1 WHERE no = %s "
                "RETURNING next_segment - 1"
            )
        )

    def delete(self, numbers: Sequence[int]) -> None:
        """Let go of chunks: writes every row anew that has one of them."""
        gone = np.array(sorted(numbers), dtype=np.int64)
        query = (
            "SELECT term, segment, numbers, frequencies, lengths FROM fathom.postings "
            "WHERE index_no = %s"
        )
        changed = []
        with self._connection.cursor("postings") as cursor:
            cursor.execute(query, (self._index.no,))
            for term, segment, *columns in cursor:
                kept = ~np.isin(np.frombuffer(columns[0], "<u4"), gone)
                if not kept.all():
                    left = [
                        np.frombuffer(column, kind)[kept].tobytes()
                        for column, kind in zip(columns, ("<u4", "<u2", "<u4"), strict=True)
                    ]
                    changed.append((*left, self._index.no, term, segment))
        with self._connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE fathom.postings SET numbers = %s, frequencies = %s, lengths = %s "
                "WHERE index_no = %s AND term = %s AND segment = %s",
                changed,
            )
        self._connection.execute(
            "DELETE FROM fathom.postings WHERE index_no = %s AND numbers = ''", (self._index.no,)
        )

    def merge(self) -> None:
        """Make one segment of the small ones, so that none is less than twice what is smaller."""
        sizes = self._store.rows(
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
            self._merge(merged)

    def _merge(self, segments: Sequence[int]) -> None:
        self._connection.execute(
            "WITH old AS (DELETE FROM fathom.postings WHERE index_no = %s AND segment = ANY(%s) "
            "RETURNING *) "
            "INSERT INTO fathom.postings(index_no, workspace_no, term, segment, numbers, "
            "frequencies, lengths) "
            "SELECT index_no, workspace_no, term, %s, string_agg(numbers, ''::bytea ORDER BY "
            "segment), string_agg(frequencies, ''::bytea ORDER BY segment), "
            "string_agg(lengths, ''::bytea ORDER BY segment) FROM old "
            "GROUP BY index_no, workspace_no, term",
            (self._index.no, list(segments), self._next_segment()),
        )

    def keyword_search(
        self, terms: Mapping[str, int], *, k: int, allowed: Numbers | None = None
    ) -> Scored:
        """At least the `k` chunks with the highest BM25 scores, with all ties of the last one.

        Args:
            terms: How often the query has each.
            k: See above; chunks that were removed may be among them.
            allowed: Only these chunks, ascending.
        """
        scores = self._scores(terms)
        numbers = np.flatnonzero(scores) if allowed is None else allowed[allowed < len(scores)]
        found = scores[numbers]
        numbers, found = numbers[found > 0], found[found > 0]
        if len(found) > k:
            inside = found >= np.partition(found, len(found) - k)[len(found) - k]
            numbers, found = numbers[inside], found[inside]
        order = np.argsort(-found, kind="stable")
        return list(zip(numbers[order].tolist(), found[order].tolist(), strict=True))

    def chunks_with(self, terms: Sequence[str]) -> int:
        """How many chunks have one of the terms."""
        found = self._store.column(
            "SELECT numbers FROM fathom.postings WHERE index_no = %s AND term = ANY(%s)",
            list(terms),
        )
        numbers = np.unique(np.frombuffer(b"".join(found), "<u4"))
        gone = self._store.column("SELECT chunk_no FROM fathom.removed WHERE index_no = %s")
        return int((~np.isin(numbers, gone)).sum())

    def _scores(self, terms: Mapping[str, int]) -> NDArray[np.float32]:
        """By the number of the chunk."""
        statistics = self._store.statistics(terms)
        weights = query_weights(terms, statistics)
        rows = self._connection.execute(
            "SELECT term, numbers, frequencies, lengths FROM fathom.postings "
            "WHERE index_no = %s AND term = ANY(%s)",
            (self._index.no, list(weights)),
            binary=True,
        ).fetchall()
        by_term: dict[str, list[Sequence[bytes]]] = defaultdict(list)
        for term, *columns in rows:
            by_term[term].append(columns)
        scores = np.zeros(self._index.next_chunk)
        for term, weight in weights.items():
            for numbers, counts, lengths in by_term[term]:
                frequency = np.frombuffer(counts, "<u2").astype(np.float64)
                length = quantised(np.frombuffer(lengths, "<u4").astype(np.int64))
                against = norms(length, statistics.average)
                scores[np.frombuffer(numbers, "<u4")] += weight * frequency / (frequency + against)
        return scores.astype(np.float32)

    def vector_search(
        self, vector: Vector, stored: StoredSpace, *, k: int, allowed: Numbers | None = None
    ) -> Scored:
        """About the `k` chunks with the highest cosines, which are computed again exactly.

        Exact where there is no graph, or few are allowed.
        """
        few = allowed is not None and len(allowed) <= FEW_CHUNKS
        # The graph is of the cast column: whoever does not cast passes it by.
        column = "vector" if few else f"(vector::halfvec({stored.dimension}))"
        condition = "" if allowed is None else "WHERE chunk_no = ANY(%(allowed)s) "
        rows = self._connection.execute(
            f"SELECT chunk_no, -({column} <#> %(vector)s::halfvec({stored.dimension})) "  # noqa: S608 - numbers make the names
            f"FROM {stored.table} {condition}"
            f"ORDER BY {column} <#> %(vector)s::halfvec({stored.dimension}) LIMIT %(k)s",
            {
                "vector": as_text(vector),
                "allowed": None if allowed is None else allowed.tolist(),
                "k": k,
            },
        ).fetchall()
        return [(int(row[0]), float(row[1])) for row in rows]


def _packed(found: Sequence[tuple[int, int, int]]) -> tuple[bytes, ...]:
    """Numbers, frequencies and lengths, each as the bytes of an array."""
    columns = np.array(found, dtype=np.int64).T
    kinds = ("<u4", "<u2", "<u4")
    return tuple(column.astype(kind).tobytes() for column, kind in zip(columns, kinds, strict=True))
