"""Counts, sizes and a fingerprint of an index on a server."""

import hashlib
import json
from collections.abc import Iterator

from fathom.index.base import IndexStatus, MetadataKey, SpaceStatus
from fathom.index.filters import KEY
from fathom.index.postgres.dialect import IS_DATE
from fathom.index.postgres.store import PostgresStore


def read_status(store: PostgresStore) -> IndexStatus:
    """Return the state of the index; called inside a transaction."""
    [counts] = store.select_rows(
        "SELECT count(*) AS sources, count(*) FILTER (WHERE outcome NOT IN "
        "('ok', 'stale', 'no_document')) AS failed, count(*) FILTER (WHERE outcome = 'stale' "
        "AND document_id IS NOT NULL) AS stale FROM fathom.sources WHERE index_no = %s"
    )
    spaces = store.list_spaces()
    return IndexStatus(
        revision=store.index.revision,
        documents=store.select_value("SELECT count(*) FROM fathom.documents WHERE index_no = %s"),
        chunks=store.index.chunks,
        sources=counts["sources"],
        failed=counts["failed"],
        stale=counts["stale"],
        content=_hash_content(store),
        identity=dict(sorted(store.index.identity.items())),
        keys=list_keys(store),
        bytes_on_disk=_measure_sizes(store),
        spaces=tuple(
            SpaceStatus(
                name=space.name,
                identity=space.identity,
                dimension=space.dimension,
                chunks=space.filled,
            )
            for space in spaces
            if space.name
        ),
        lacking=next(store.count_unembedded(space) for space in spaces if not space.name),
    )


def list_keys(store: PostgresStore) -> dict[str, MetadataKey]:
    """Return the metadata keys that filters may use; called inside a transaction."""
    rows = store.select_rows(
        "SELECT key, CASE jsonb_typeof(value) WHEN 'number' THEN 'number' WHEN 'boolean' THEN "  # noqa: S608 - constant
        f"'bool' ELSE CASE WHEN value #>> '{{}}' {IS_DATE} THEN 'date' ELSE 'text' END END AS kind,"
        " count(*) AS documents FROM fathom.documents, jsonb_each(fields) WHERE index_no = %s "
        'GROUP BY key, kind ORDER BY key COLLATE "C", count(*) DESC, kind'
    )
    keys: dict[str, MetadataKey] = {}
    for row in rows:
        if KEY.fullmatch(row["key"]):  # filters refuse other keys
            earlier = keys.get(row["key"], MetadataKey((), 0))
            keys[row["key"]] = MetadataKey(
                (*earlier.kinds, row["kind"]), earlier.documents + row["documents"]
            )
    return keys


def _hash_content(store: PostgresStore) -> str:
    """Return sha256 over all documents and places, equal to that of the embedded index."""
    hashed = [
        bytes(mark)
        for mark in store.select_column(
            "SELECT fingerprint FROM fathom.documents WHERE index_no = %s"
        )
    ]
    hashed += [
        json.dumps([row["path"], row["digest"], row["outcome"], row["document_id"]]).encode()
        for row in store.select_rows(
            "SELECT path, digest, outcome, document_id FROM fathom.sources WHERE index_no = %s"
        )
    ]
    return hashlib.sha256(b"\n".join(sorted(hashed))).hexdigest()


def _measure_sizes(store: PostgresStore) -> dict[str, int]:
    """Return the bytes of this index's vectors, and an estimate for its words from the rows."""
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
    """Yield a line for each fault of the index."""
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
