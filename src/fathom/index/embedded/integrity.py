"""Searches for damage in the files of an index; every finding is one line of text."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from fathom.index.embedded.hnsw import Graph, GraphRecord
from fathom.index.embedded.keyword import KeywordIndex, find_damaged_files
from fathom.index.embedded.schema import FILE
from fathom.index.embedded.spaces import SqliteSpace
from fathom.index.embedded.store import SqliteStore
from fathom.index.rows import DamagedRowError, compute_checksum, compute_file_checksum

MEND = "run `fathom doctor --fix`"
REBUILD = "restore a backup or run `fathom ingest --rebuild PATH...`"


def find_database_faults(directory: Path, store: SqliteStore) -> Iterator[str]:
    """Yield the faults of the SQLite file, which no other file can restore."""
    file = directory / FILE
    for row in store.connection.execute("PRAGMA integrity_check"):
        if row[0] != "ok":
            yield f"{file}: {row[0]}; {REBUILD}"
    try:
        yield from _find_damaged_contents(store)
        for space in store.list_spaces():
            yield from _find_damaged_vectors(store, space)
        yield from _find_broken_references(store)
    except (sqlite3.Error, DamagedRowError, ValueError, TypeError, AttributeError) as error:
        yield f"{file}: rows cannot be read ({error}); {REBUILD}"


def _find_damaged_contents(store: SqliteStore) -> Iterator[str]:
    """Yield the documents with a wrong checksum, and the chunks outside their documents."""
    select = store.connection.execute
    lengths: dict[int, int] = {}
    for number, text, blocks, expected in select("SELECT * FROM contents"):
        lengths[number] = len(text)
        if compute_checksum(text.encode(), blocks) != expected:
            yield f"document number {number} differs from what was stored; {REBUILD}"
    for chunk, number, start, end in select('SELECT id, document_no, start, "end" FROM chunks'):
        if not 0 <= start <= end <= lengths.get(number, -1):
            yield f"chunk {chunk!r} lies outside its document; {REBUILD}"


def _find_damaged_vectors(store: SqliteStore, space: SqliteSpace) -> Iterator[str]:
    """Yield the vectors of a space with a wrong size or checksum."""
    size = 2 * space.dimension
    owner, remedy = "", REBUILD
    if space.number:
        owner = f" by {space.name!r}"
        remedy = f"run `fathom vectors drop {space.name}`, then `fathom ingest`"
    for number, vector, expected in store.connection.execute(f"SELECT * FROM {space.table}"):  # noqa: S608 - a number makes the name
        if len(vector) != size or compute_checksum(vector) != expected:
            yield (
                f"the vector{owner} of chunk number {number} differs from what was stored; {remedy}"
            )


def _find_broken_references(store: SqliteStore) -> Iterator[str]:
    """Yield the rows that refer to missing rows, and wrong counts of missing vectors."""
    select = store.connection.execute
    orphans = select(
        "SELECT count(*) FROM documents LEFT JOIN contents ON no = document_no "
        "WHERE document_no IS NULL"
    ).fetchone()[0]
    if orphans:
        yield f"{orphans} rows of documents have none in contents; {REBUILD}"
    for space in store.list_spaces():
        lacking = store.count_lacking(space)
        if lacking != space.lacking:
            yield (
                f"{lacking} chunks have no vector, of {space.lacking} it is known; {MEND}, then "
                "`fathom ingest`"
            )
    query = (
        "SELECT path FROM sources WHERE document_id IS NOT NULL "
        "AND document_id NOT IN (SELECT id FROM documents)"
    )
    for row in select(query):
        yield f"{row[0]!r} points to a document that is gone; run `fathom ingest` on it again"


def find_keyword_faults(
    directory: Path, keyword: KeywordIndex, store: SqliteStore
) -> Iterator[str]:
    """Yield the faults of the keyword index, which can be made anew.

    Two states look like faults but are sound. A writer that is at work, or was killed, between
    applying and publishing a change leaves the keyword index one change ahead; the next writer
    finishes the change. An index into which nothing was ever stored may have no keyword index,
    because its writer was killed early.
    """
    if int(store.read_meta("revision")) == 0 and not keyword.count_chunks():
        return
    folder = directory / store.get_keyword_folder()
    for path in find_damaged_files(folder):
        yield f"{path} is damaged; {MEND}"
    if store.is_unfinished() and keyword.get_marker() == store.format_marker(
        int(store.read_meta("revision"))
    ):
        return
    if keyword.get_marker() != store.format_marker(store.read_chunks_revision()):
        yield f"{folder} holds another state than {FILE}; {MEND}"
    actual, expected = (
        keyword.count_chunks(),
        len(store.list_chunk_numbers(store.read_published_revision())),
    )
    if actual != expected:
        yield f"{folder} holds {actual} chunks, {FILE} {expected}; {MEND}"


def find_graph_faults(directory: Path, store: SqliteStore) -> Iterator[str]:
    """Yield the faults of the graphs of neighbours, which can be made anew."""
    for space in store.list_spaces():
        if space.graph is not None:
            yield from _check_graph(directory, space.graph, space.dimension)


def _check_graph(directory: Path, record: GraphRecord, dimension: int) -> Iterator[str]:
    """Yield a line if the file of a graph is missing, differs from its record or is damaged."""
    try:
        # Opening compares the size, the dimension and the number of chunks with the record.
        Graph(directory, record, dimension)
    except OSError as error:
        yield f"{error}; searches scan all chunks; {MEND}"
        return
    if compute_file_checksum(directory / record.file) != record.crc:
        yield f"{directory / record.file} is damaged; {MEND}"
