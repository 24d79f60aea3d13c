"""Sizes and faults of an index on a server."""

from collections.abc import Iterator

from fathom.index.postgres.store import PostgresStore


def measure_sizes(store: PostgresStore) -> dict[str, int]:
    """Return the sizes in bytes of the words and the vectors of an index, by component.

    The words are `postings`, or `chunk_terms` if another engine searches them; their size is
    estimated from the rows.
    """
    table = "chunk_terms" if store.has_other_backend() else "postings"
    words = store.select_value(
        f"SELECT coalesce(sum(pg_column_size({table}.*)), 0)::bigint FROM fathom.{table} "  # noqa: S608 - one of the two
        "WHERE index_no = %s"
    )
    vectors = sum(
        int(store.run(f"SELECT pg_total_relation_size('{space.table}')"))
        for space in store.list_spaces()
    )
    return {table: int(words), "vectors": vectors}


def list_findings(store: PostgresStore) -> Iterator[str]:
    """Yield a line for each fault of the rows of an index.

    Raises:
        DamagedRowError: If a document differs from the one that was stored.
    """
    remedy = "restore a backup or run `fathom ingest --rebuild PATH...`"
    [row] = store.select_rows(
        "SELECT (SELECT count(*) FROM fathom.chunks WHERE index_no = indexes.no) AS listed, "
        "chunks FROM fathom.indexes WHERE no = %s"
    )
    if row["listed"] != row["chunks"]:
        yield f"{row['listed']} chunks are listed, {row['chunks']} were counted; {remedy}"
    for space in store.list_spaces():
        stored = store.run(f"SELECT count(*) FROM {space.table}")  # noqa: S608 - a number makes the name
        if stored != space.filled:
            yield f"{stored} vectors of {space.name!r} are there, {space.filled} counted; {remedy}"
    for name in store.select_column("SELECT id FROM fathom.documents WHERE index_no = %s"):
        store.read_document(name)  # raises if the document is damaged
