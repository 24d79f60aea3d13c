"""Segments of postings: how words are added, merged beside what is written, and let go of.

The chunks that one step stored are a segment. A row of `postings` has, of one term in one segment,
the numbers of the chunks that have it (four bytes each), how often (two) and how long these
are (four). Segments never change but by `purge`; `merge` puts one in the place of several.
"""

import threading
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from fathom.errors import FathomError
from fathom.index.filters import Numbers
from fathom.index.postgres.connections import Connections
from fathom.index.postgres.legs import Posted
from fathom.index.postgres.store import Store, index_row

AT_ONCE = 100
"""So many rows are held while they are written anew."""
_LARGEST = 2**16 - 1
_MERGING = 50_722
"""Of the server's advisory locks: who holds it with the number of an index merges or purges."""


def add(store: Store, chunks: Sequence[Posted]) -> int:
    """Add the words of new chunks, each of which has some, as a segment; its number."""
    entered: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for chunk in chunks:
        for term, count in chunk.counts.items():
            entered[term].append((chunk.number, min(count, _LARGEST), chunk.length))
    segment = _next(store)
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
    return segment


def purge(store: Store, gone: Numbers) -> None:
    """Let go of chunks: writes every row anew that has one of them.

    Waits for a merge, as that carries rows of before to a place where they would not be seen.
    """
    store.run("SELECT pg_advisory_xact_lock(%(lock)s, %(index)s)", lock=_MERGING)
    query = (
        "SELECT term, segment, numbers, frequencies, lengths FROM fathom.postings "
        "WHERE index_no = %s"
    )
    # What is read is what was there before the first row is written.
    reading, writing = store.connection.cursor("postings"), store.connection.cursor()
    with reading, writing:
        reading.execute(query, (store.index.no,))
        while rows := reading.fetchmany(AT_ONCE):
            left = ((_without(columns, gone), term, number) for term, number, *columns in rows)
            writing.executemany(
                "UPDATE fathom.postings SET numbers = %s, frequencies = %s, lengths = %s "
                "WHERE index_no = %s AND term = %s AND segment = %s",
                [(*kept, store.index.no, term, number) for kept, term, number in left if kept],
            )
    store.run("DELETE FROM fathom.postings WHERE index_no = %(index)s AND numbers = ''")


def _without(columns: Sequence[bytes], gone: Numbers) -> list[bytes]:
    """The columns of a row without the chunks that are gone; nothing where it has none of them."""
    kept = ~np.isin(np.frombuffer(columns[0], "<u4"), gone)
    if kept.all():
        return []
    return [
        np.frombuffer(column, kind)[kept].tobytes()
        for column, kind in zip(columns, ("<u4", "<u2", "<u4"), strict=True)
    ]


def merge(connections: Connections, index: int) -> None:
    """Make one segment of the small ones, in a step of its own that changes no result.

    It holds up nobody who asks, and of those who write only who purges or removes the index. Whose
    state is older still sees the rows that were merged.

    Args:
        connections: To the workspace.
        index: Its number; nothing is done where it is gone, or somebody else merges.
    """
    with connections.taken() as connection:
        found = index_row(connection, index)
        if found is None or not _small(Store(connection, found)):
            return
        with connection.transaction():  # of its own: it waits for who is writing
            number = _next(Store(connection, found))
        with connection.transaction():
            # Whoever changes the index passes by this lock, but for him who removes it.
            row = connection.execute(
                "SELECT pg_try_advisory_xact_lock(%s, no) FROM fathom.indexes WHERE no = %s "
                "FOR KEY SHARE",
                (_MERGING, index),
            ).fetchone()
            if row == (True,):
                store = Store(connection, found)
                _merge(store, _small(store), number)


def _small(store: Store) -> list[int]:
    """Those to be merged, so that then each has twice as much as all smaller ones together."""
    rows = store.rows(
        "SELECT segment, sum(octet_length(numbers)) AS size FROM fathom.postings "
        "WHERE index_no = %s GROUP BY segment ORDER BY size, segment"
    )
    below, merged = 0, 0
    for at, row in enumerate(rows):
        if at and row["size"] < 2 * below:
            merged = at + 1
        below += row["size"]
    return [row["segment"] for row in rows[:merged]]


def _merge(store: Store, segments: Sequence[int], number: int) -> None:
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


def miscounted(store: Store) -> list[str]:
    """Terms whose postings, but for those of removed chunks, are not as many as was counted."""
    removed = set(store.column("SELECT chunk_no FROM fathom.removed WHERE index_no = %s"))
    gone = np.array(sorted(removed), dtype=np.int64)
    found: dict[str, int] = defaultdict(int)
    with store.connection.cursor("counted") as cursor:
        cursor.execute(
            "SELECT term, numbers FROM fathom.postings WHERE index_no = %s", (store.index.no,)
        )
        for term, numbers in cursor:
            found[term] += int((~np.isin(np.frombuffer(numbers, "<u4"), gone)).sum())
    rows = store.rows("SELECT term, chunks FROM fathom.terms WHERE index_no = %s")
    counted = {row["term"]: row["chunks"] for row in rows}
    terms = sorted(counted.keys() | found.keys())
    return [each for each in terms if counted.get(each, 0) != found.get(each, 0)]


class Merging:
    """Merges in a thread beside whoever writes; one merge at a time."""

    def __init__(self) -> None:
        """Nothing is merged yet."""
        self._thread: threading.Thread | None = None

    def begin(self, connections: Connections, index: int) -> None:
        """Have the segments of an index merged meanwhile, unless that is going on."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(
                target=_merge_quietly, args=(connections, index), name="merging", daemon=True
            )
            self._thread.start()

    def wait(self) -> None:
        """Wait until nothing is merged any more."""
        if self._thread is not None:
            self._thread.join()


def _merge_quietly(connections: Connections, index: int) -> None:
    # Where the server is gone the next change says so; the next merge takes what this one left.
    with suppress(FathomError):
        merge(connections, index)


def _next(store: Store) -> int:
    """The number of a new segment."""
    return int(
        store.value(
            "UPDATE fathom.indexes SET next_segment = next_segment + 1 WHERE no = %s "
            "RETURNING next_segment - 1"
        )
    )


def _packed(found: Sequence[tuple[int, int, int]]) -> tuple[bytes, ...]:
    """Numbers, frequencies and lengths, each as the bytes of an array."""
    columns = np.array(found, dtype=np.int64).T
    kinds = ("<u4", "<u2", "<u4")
    return tuple(column.astype(kind).tobytes() for column, kind in zip(columns, kinds, strict=True))
