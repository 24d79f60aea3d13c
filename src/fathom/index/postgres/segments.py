"""Segments of postings: words are added, merged in the background, and deleted.

The chunks that one change stored are a segment. A row of `postings` belongs to one term in one
segment. It has the numbers of the chunks with the term (four bytes each), the number of times that
each has it (two bytes), and the lengths of the chunks in terms (four bytes). Only `purge_chunks`
changes the rows of a segment; `merge_segments` replaces several segments by one.
"""

import threading
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from fathom.errors import FathomError
from fathom.index.filters import Numbers
from fathom.index.postgres.connections import Connections
from fathom.index.postgres.search_backend import ChunkPostings
from fathom.index.postgres.store import PostgresStore, read_index_row

BATCH_ROWS = 100
"""The number of rows held in memory while they are rewritten."""
_MAX_FREQUENCY = 2**16 - 1
_MERGE_LOCK = 50_722
"""The first key of an advisory lock; its holder merges or purges the index of the second key."""


def add_segment(store: PostgresStore, chunks: Sequence[ChunkPostings]) -> int:
    """Add the words of new chunks as a segment; return the segment's number.

    Args:
        store: The store of the change.
        chunks: The chunks, at least one; each has words.
    """
    postings: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for chunk in chunks:
        for term, count in chunk.counts.items():
            postings[term].append((chunk.number, min(count, _MAX_FREQUENCY), chunk.length))
    segment = _take_number(store)
    columns = zip(*map(_pack_columns, postings.values()), strict=True)
    numbers, frequencies, lengths = (list(column) for column in columns)
    store.run(
        "INSERT INTO fathom.postings(index_no, workspace_no, term, segment, numbers, "
        "frequencies, lengths) SELECT %(index)s, %(workspace)s, given.term, %(segment)s, "
        "given.numbers, given.frequencies, given.lengths FROM unnest(%(terms)b::text[], "
        "%(numbers)b::bytea[], %(frequencies)b::bytea[], %(lengths)b::bytea[]) "
        "AS given(term, numbers, frequencies, lengths)",
        segment=segment,
        terms=list(postings),
        numbers=numbers,
        frequencies=frequencies,
        lengths=lengths,
    )
    return segment


def purge_chunks(store: PostgresStore, removed: Numbers) -> None:
    """Delete chunks from the postings by rewriting every row that has one of them.

    The function waits for a merge, which would copy rows with these chunks to a new segment.
    """
    store.run("SELECT pg_advisory_xact_lock(%(lock)s, %(index)s)", lock=_MERGE_LOCK)
    query = (
        "SELECT term, segment, numbers, frequencies, lengths FROM fathom.postings "
        "WHERE index_no = %s"
    )
    # The cursor sees the rows as they were before the first update.
    reading, writing = store.connection.cursor("postings"), store.connection.cursor()
    with reading, writing:
        reading.execute(query, (store.index.no,))
        while rows := reading.fetchmany(BATCH_ROWS):
            left = (
                (_drop_chunks(columns, removed), term, number) for term, number, *columns in rows
            )
            writing.executemany(
                "UPDATE fathom.postings SET numbers = %s, frequencies = %s, lengths = %s "
                "WHERE index_no = %s AND term = %s AND segment = %s",
                [(*kept, store.index.no, term, number) for kept, term, number in left if kept],
            )
    store.run("DELETE FROM fathom.postings WHERE index_no = %(index)s AND numbers = ''")


def _drop_chunks(columns: Sequence[bytes], removed: Numbers) -> list[bytes]:
    """Return the columns of a row without some chunks; an empty list if it has none of them."""
    remaining = ~np.isin(np.frombuffer(columns[0], "<u4"), removed)
    if remaining.all():
        return []
    return [
        np.frombuffer(column, kind)[remaining].tobytes()
        for column, kind in zip(columns, ("<u4", "<u2", "<u4"), strict=True)
    ]


def merge_segments(connections: Connections, index: int) -> None:
    """Merge the small segments into one, in transactions of its own; no search result changes.

    Searches never wait for a merge. Of the writers, only those wait that purge or remove the index.
    Readers of an older state still see the rows that were merged. Nothing happens if the index is
    gone, or if somebody else merges.

    Args:
        connections: The connections to the server.
        index: The number of the index.
    """
    with connections.borrow() as connection:
        index_state = read_index_row(connection, index)
        if index_state is None or not _select_small_segments(
            PostgresStore(connection, index_state)
        ):
            return
        with connection.transaction():  # separate, as it waits for writers
            number = _take_number(PostgresStore(connection, index_state))
        with connection.transaction():
            # FOR KEY SHARE does not block those who change the index, only the one who removes it.
            row = connection.execute(
                "SELECT pg_try_advisory_xact_lock(%s, no) FROM fathom.indexes WHERE no = %s "
                "FOR KEY SHARE",
                (_MERGE_LOCK, index),
            ).fetchone()
            if row == (True,):
                store = PostgresStore(connection, index_state)
                _replace_segments(store, _select_small_segments(store), number)


def _select_small_segments(store: PostgresStore) -> list[int]:
    """Return the numbers of the segments to merge; empty if none are small enough.

    After the merge each segment is at least twice as large as all smaller ones together, so the
    number of segments grows with the logarithm of the index.
    """
    rows = store.select_rows(
        "SELECT segment, sum(octet_length(numbers)) AS size FROM fathom.postings "
        "WHERE index_no = %s GROUP BY segment ORDER BY size, segment"
    )
    below, merged = 0, 0
    for position, row in enumerate(rows):
        if position and row["size"] < 2 * below:
            merged = position + 1
        below += row["size"]
    return [row["segment"] for row in rows[:merged]]


def _replace_segments(store: PostgresStore, segments: Sequence[int], number: int) -> None:
    """Replace segments by one with all their postings."""
    store.run(
        "WITH old AS (DELETE FROM fathom.postings WHERE index_no = %(index)s AND "
        "segment = ANY(%(segments)s) RETURNING *) "
        "INSERT INTO fathom.postings(index_no, workspace_no, term, segment, numbers, "
        "frequencies, lengths) "
        "SELECT index_no, workspace_no, term, %(number)s, string_agg(numbers, ''::bytea ORDER BY "
        "segment), string_agg(frequencies, ''::bytea ORDER BY segment), "
        "string_agg(lengths, ''::bytea ORDER BY segment) FROM old "
        "GROUP BY index_no, workspace_no, term",
        segments=list(segments),
        number=number,
    )


def find_miscounted_terms(store: PostgresStore) -> list[str]:
    """Return the terms whose number of postings, removed chunks apart, differs from the count."""
    removed = set(store.select_column("SELECT chunk_no FROM fathom.removed WHERE index_no = %s"))
    gone = np.array(sorted(removed), dtype=np.int64)
    posted: dict[str, int] = defaultdict(int)
    with store.connection.cursor("counted") as cursor:
        cursor.execute(
            "SELECT term, numbers FROM fathom.postings WHERE index_no = %s", (store.index.no,)
        )
        for term, numbers in cursor:
            posted[term] += int((~np.isin(np.frombuffer(numbers, "<u4"), gone)).sum())
    rows = store.select_rows("SELECT term, chunks FROM fathom.terms WHERE index_no = %s")
    counted = {row["term"]: row["chunks"] for row in rows}
    terms = sorted(counted.keys() | posted.keys())
    return [term for term in terms if counted.get(term, 0) != posted.get(term, 0)]


class BackgroundMerge:
    """A background thread for merges, one merge at a time."""

    def __init__(self) -> None:
        """Create the object; no thread is started yet."""
        self._thread: threading.Thread | None = None

    def start(self, connections: Connections, index: int) -> None:
        """Start to merge the segments of an index, unless a merge is running."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(
                target=_merge_quietly, args=(connections, index), name="merging", daemon=True
            )
            self._thread.start()

    def wait(self) -> None:
        """Wait until no merge is running."""
        if self._thread is not None:
            self._thread.join()


def _merge_quietly(connections: Connections, index: int) -> None:
    """Merge the segments of an index; drop errors of the server."""
    # If the server is gone the next change reports it, and the next merge does the work.
    with suppress(FathomError):
        merge_segments(connections, index)


def _take_number(store: PostgresStore) -> int:
    """Reserve the number of a new segment, and return it."""
    return int(
        store.select_value(
            "UPDATE fathom.indexes SET next_segment = next_segment + 1 WHERE no = %s "
            "RETURNING next_segment - 1"
        )
    )


def _pack_columns(postings: Sequence[tuple[int, int, int]]) -> tuple[bytes, ...]:
    """Return numbers, frequencies and lengths, each as the bytes of an array."""
    columns = np.array(postings, dtype=np.int64).T
    kinds = ("<u4", "<u2", "<u4")
    return tuple(column.astype(kind).tobytes() for column, kind in zip(columns, kinds, strict=True))
