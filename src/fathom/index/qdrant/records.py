"""The records that PostgreSQL keeps about a cluster: terms of chunks, marks, and leftover points.

`legs` has a row for the words of an index (space 0) and one for each of its spaces of vectors.
`chunk_terms` has, for each chunk, the number of each of its terms (four bytes) and the number of
times that the chunk has it (two bytes). `leftovers` are points to delete: those of removed chunks,
and those of changes that are not committed yet.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.index.bm25 import Statistics, compute_norms, quantise_lengths
from fathom.index.filters import Numbers
from fathom.index.postgres.search_backend import ChunkPostings
from fathom.index.postgres.store import PostgresStore, SpaceTable
from fathom.index.qdrant.collection import compute_marks_tenant

WORDS = 0
"""The number that stands for the words in place of a space."""
BATCH_CHUNKS = 1_000
"""The number of chunks that are sent again in one step."""
MAX_COUNT = 2**16 - 1
"""The largest count of a term in a chunk; higher counts are stored as this one."""

Floats = NDArray[np.float64]
Counts = Mapping[int, int]
"""The number of times that a chunk has each term, by the number of the term."""
_PAIR = np.dtype([("term", "<u4"), ("count", "<u2")])
_NAMESPACE = uuid.UUID("f0a7b0c1-3d52-4e0b-8c0e-7a4f6d1e9b25")


@dataclass(frozen=True, slots=True)
class CollectionRecord:
    """The state of an index's words, or of one space, in the cluster.

    Attributes:
        space: The number of the space; `WORDS` for the words.
        mark: The mark of the last change; 0 before the first.
        average: The lowest mean length of a chunk for which weights of words were made; 0 for
            vectors.
    """

    space: int
    mark: int
    average: float


@dataclass(frozen=True, slots=True)
class Leftover:
    """Points to be deleted from the cluster.

    Attributes:
        no: The number of the row.
        tenant: The tenant of the points.
        dimension: The dimension of the vectors; `None` for words.
        chunks: The numbers of the chunks or marks; `None` stands for all of the tenant's.
    """

    no: int
    tenant: uuid.UUID
    dimension: int | None
    chunks: Sequence[int] | None


def compute_tenant(store: PostgresStore, space: int) -> uuid.UUID:
    """Return the tenant of a space, or of the words (`WORDS`); it is the same on every cluster."""
    return uuid.uuid5(_NAMESPACE, f"{store.index.lineage}/{space}")


def read_collection_record(store: PostgresStore, space: int) -> CollectionRecord:
    """Return the record of the words or of a space; an empty one if there is none."""
    rows = store.select_rows(
        "SELECT mark, average FROM fathom.legs WHERE index_no = %s AND space_no = %s", space
    )
    return (
        CollectionRecord(space, rows[0]["mark"], rows[0]["average"])
        if rows
        else CollectionRecord(space, 0, 0.0)
    )


def delete_collection_record(store: PostgresStore, space: int) -> None:
    """Delete the record of a space."""
    store.run(
        "DELETE FROM fathom.legs WHERE index_no = %(index)s AND space_no = %(space)s", space=space
    )


def read_query_terms(
    store: PostgresStore, terms: Iterable[str]
) -> tuple[CollectionRecord, Statistics, dict[str, int]]:
    """Return what a keyword search needs, in one query.

    Returns:
        The record of the words, the statistics of the terms for BM25, and the numbers of the terms.
        Terms that occur nowhere are left out.
    """
    rows = store.select_rows(
        "SELECT mark, average, term, chunks, no FROM fathom.legs JOIN fathom.terms USING "
        "(index_no) JOIN fathom.term_numbers USING (index_no, term) "
        "WHERE index_no = %s AND space_no = 0 AND term = ANY(%s)",
        list(terms),
    )
    collection = (
        CollectionRecord(WORDS, rows[0]["mark"], rows[0]["average"])
        if rows
        else CollectionRecord(WORDS, 0, 0.0)
    )
    counts = {row["term"]: row["chunks"] for row in rows}
    statistics = Statistics(store.index.chunks, store.index.terms, counts)
    return collection, statistics, {row["term"]: row["no"] for row in rows}


def store_collection_record(store: PostgresStore, collection: CollectionRecord) -> None:
    """Store the record of a space, in place of an older one."""
    store.run(
        "INSERT INTO fathom.legs(index_no, workspace_no, space_no, mark, average) VALUES "
        "(%(index)s, %(workspace)s, %(space)s, %(mark)s, %(average)s) "
        "ON CONFLICT (index_no, space_no) DO UPDATE SET mark = excluded.mark, "
        "average = excluded.average",
        space=collection.space,
        mark=collection.mark,
        average=collection.average,
    )


def look_up_terms(store: PostgresStore, terms: Iterable[str]) -> dict[str, int]:
    """Return the numbers of those terms that have one."""
    rows = store.select_rows(
        "SELECT term, no FROM fathom.term_numbers WHERE index_no = %s AND term = ANY(%s)",
        list(terms),
    )
    return {row["term"]: row["no"] for row in rows}


def number_terms(store: PostgresStore, terms: Iterable[str]) -> dict[str, int]:
    """Return the numbers of terms; a term without a number gets one."""
    distinct = set(terms)
    existing = look_up_terms(store, distinct)
    fresh = sorted(distinct - set(existing))
    if not fresh:
        return existing
    # The update locks the row, so two changes cannot give one number to two terms.
    end = store.run(
        "UPDATE fathom.legs SET next_term = next_term + %(count)s WHERE index_no = %(index)s "
        "AND space_no = 0 RETURNING next_term",
        count=len(fresh),
    )
    assigned = dict(zip(fresh, range(end - len(fresh), end), strict=True))
    store.run(
        "INSERT INTO fathom.term_numbers(index_no, workspace_no, term, no) SELECT %(index)s, "
        "%(workspace)s, term, no FROM unnest(%(terms)s::text[], %(numbers)s::bigint[]) "
        "AS given(term, no)",
        terms=list(assigned),
        numbers=list(assigned.values()),
    )
    return {**existing, **assigned}


def store_terms(
    store: PostgresStore, chunks: Sequence[ChunkPostings]
) -> Sequence[tuple[int, int, Counts]]:
    """Store the terms of new chunks.

    Returns:
        For each chunk its number, the number of its document, and its counts.
    """
    numbers = number_terms(store, {term for chunk in chunks for term in chunk.counts})
    counted = [
        (
            chunk.number,
            chunk.document,
            {numbers[term]: min(count, MAX_COUNT) for term, count in chunk.counts.items()},
        )
        for chunk in chunks
    ]
    owner = (store.index.no, store.index.workspace_no)
    store.insert(
        "chunk_terms(index_no, workspace_no, chunk_no, document_no, length, terms)",
        [
            (*owner, chunk.number, chunk.document, chunk.length, _pack_counts(counts))
            for chunk, (_, _, counts) in zip(chunks, counted, strict=True)
        ],
    )
    return counted


def _pack_counts(counts: Counts) -> bytes:
    """Return the numbers and counts of terms as bytes."""
    return np.array(list(counts.items()), dtype=_PAIR).tobytes()


def delete_terms(store: PostgresStore, chunks: Sequence[int]) -> None:
    """Delete the terms of chunks."""
    store.run(
        "DELETE FROM fathom.chunk_terms WHERE index_no = %(index)s AND "
        "chunk_no = ANY(%(gone)s::int[])",
        gone=list(chunks),
    )


def list_chunks(store: PostgresStore, numbers: Sequence[int]) -> Iterator[tuple[int, int, Counts]]:
    """Yield number, document number and counts of those chunks that exist, ordered by number."""
    rows = store.connection.execute(
        "SELECT chunk_no, document_no, terms FROM fathom.chunk_terms WHERE index_no = %s "
        "AND chunk_no = ANY(%s) ORDER BY chunk_no",
        (store.index.no, list(numbers)),
        binary=True,
    ).fetchall()
    return (
        (no, document, dict(np.frombuffer(terms, _PAIR).tolist())) for no, document, terms in rows
    )


def list_chunk_numbers(store: PostgresStore, space: SpaceTable) -> Numbers:
    """Return the numbers of the chunks with a vector in a space, or with words, ascending."""
    source = (
        f"{space.table} WHERE %s IS NOT NULL"
        if space.no
        else "fathom.chunk_terms WHERE index_no = %s"
    )
    numbers = store.select_column(f"SELECT chunk_no FROM {source} ORDER BY chunk_no")  # noqa: S608 - a number makes the name
    return np.array(numbers, dtype=np.int64)


def look_up_documents(store: PostgresStore, chunks: Sequence[int]) -> dict[int, int]:
    """Return the numbers of the documents of chunks, by chunk number."""
    rows = store.select_rows(
        "SELECT no, document_no FROM fathom.chunks WHERE index_no = %s AND no = ANY(%s)",
        list(chunks),
    )
    return {row["no"]: row["document_no"] for row in rows}


def make_bm25_scorer(
    store: PostgresStore, weights: Mapping[int, float], average: float
) -> Callable[[Numbers], tuple[Numbers, Floats]]:
    """Return a function that scores chunks exactly by BM25, as `postings` does.

    Args:
        store: The store, which must stay in its transaction while the function is used.
        weights: The query's weights, by the number of the term.
        average: The mean length of a chunk in the whole index.

    Returns:
        A function that takes numbers of chunks, and returns those that exist, ascending, with their
        scores.
    """

    def exact(numbers: Numbers) -> tuple[Numbers, Floats]:
        rows = store.connection.execute(
            "SELECT chunk_no, length, terms FROM fathom.chunk_terms WHERE index_no = %s "
            "AND chunk_no = ANY(%s) ORDER BY chunk_no",
            (store.index.no, numbers.tolist()),
            binary=True,
        ).fetchall()
        lengths = np.array([row[1] for row in rows], dtype=np.int64)
        chunk_norms = compute_norms(quantise_lengths(lengths), average)
        pairs = np.frombuffer(b"".join(row[2] for row in rows), _PAIR)
        owners = np.repeat(np.arange(len(rows)), [len(row[2]) // _PAIR.itemsize for row in rows])
        scores = np.zeros(len(rows))
        for term, weight in weights.items():
            positions = np.flatnonzero(pairs["term"] == term)
            count, owner = pairs["count"][positions].astype(np.float64), owners[positions]
            scores[owner] += weight * count / (count + chunk_norms[owner])
        listed_numbers = np.array([row[0] for row in rows], dtype=np.int64)
        return listed_numbers, scores.astype(np.float32).astype(np.float64)

    return exact


def expire_mark(store: PostgresStore, space: SpaceTable, *, for_s: float) -> None:
    """Record that the present mark of a space is to be deleted after `for_s` seconds."""
    if mark := read_collection_record(store, space.no).mark:
        _insert_leftover(
            store, compute_marks_tenant(compute_tenant(store, space.no)), space, [mark], for_s
        )


def expire_points(
    store: PostgresStore, space: SpaceTable, chunks: Sequence[int] | None, *, for_s: float
) -> None:
    """Record that points of a space are to be deleted after `for_s` seconds.

    Args:
        store: The store of the change.
        space: The space, or the words.
        chunks: The numbers of the chunks; `None` for all points of the space.
        for_s: The time in seconds.
    """
    _insert_leftover(store, compute_tenant(store, space.no), space, chunks, for_s)


def _insert_leftover(
    store: PostgresStore,
    tenant: uuid.UUID,
    space: SpaceTable,
    points: Sequence[int] | None,
    for_s: float,
) -> None:
    """Record points of a tenant as left over, as in `Leftover`."""
    store.run(
        "INSERT INTO fathom.leftovers(workspace_no, tenant, dimension, chunks, until) VALUES "
        "(%(workspace)s, %(tenant)s, %(dimension)s, %(chunks)s::int[], "
        "clock_timestamp() + make_interval(secs => %(seconds)s))",
        tenant=tenant,
        dimension=space.dimension or None,
        chunks=None if points is None else list(points),
        seconds=for_s,
    )


def keep_points(store: PostgresStore, tenants: Sequence[uuid.UUID], chunks: Sequence[int]) -> int:
    """Delete the records that list exactly these points as left over; return their number."""
    return int(
        store.run(
            "WITH kept AS (DELETE FROM fathom.leftovers WHERE workspace_no = %(workspace)s AND "
            "tenant = ANY(%(tenants)s::uuid[]) AND chunks = %(chunks)s::int[] RETURNING 1) "
            "SELECT count(*) FROM kept",
            tenants=list(tenants),
            chunks=list(chunks),
        )
    )


def list_leftovers(store: PostgresStore, *, due: bool) -> list[Leftover]:
    """Return the leftovers of the workspace; with `due` only those that may be deleted now."""
    rows = store.select_rows(
        "SELECT no, tenant, dimension, chunks FROM fathom.leftovers WHERE %s IS NOT NULL "
        "AND workspace_no = %s AND (until <= clock_timestamp() OR NOT %s) ORDER BY no",
        store.index.workspace_no,
        due,
    )
    return [Leftover(**row) for row in rows]


def forget_leftovers(store: PostgresStore, done: Sequence[Leftover]) -> None:
    """Delete the records of leftovers whose points were deleted from the cluster."""
    store.run(
        "DELETE FROM fathom.leftovers WHERE no = ANY(%(done)s::int[])",
        done=[leftover.no for leftover in done],
    )
