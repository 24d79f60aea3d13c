"""Counts, sizes and a fingerprint of an index on a server."""

import hashlib
import json
from collections.abc import Iterator

from fathom.index.base import IndexStatus, MetadataKey, SpaceStatus
from fathom.index.filters import KEY
from fathom.index.postgres.dialect import IS_DATE
from fathom.index.postgres.store import Store


def status(store: Store) -> IndexStatus:
    """The state of the index; call it inside a transaction."""
    [counts] = store.rows(
        "SELECT count(*) AS sources, count(*) FILTER (WHERE outcome NOT IN "
        "('ok', 'stale', 'no_document')) AS failed, count(*) FILTER (WHERE outcome = 'stale' "
        "AND document_id IS NOT NULL) AS stale FROM fathom.sources WHERE index_no = %s"
    )
    spaces = store.spaces()
    return IndexStatus(
        revision=store.index.revision,
        documents=store.value("SELECT count(*) FROM fathom.documents WHERE index_no = %s"),
        chunks=store.index.chunks,
        sources=counts["sources"],
        failed=counts["failed"],
        stale=counts["stale"],
        content=_content(store),
        identity=dict(sorted(store.index.identity.items())),
        keys=keys_of(store),
        bytes_on_disk=_sizes(store),
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
        lacking=next(store.lacking(space) for space in spaces if not space.name),
    )


def keys_of(store: Store) -> dict[str, MetadataKey]:
    """What documents can be filtered by; see `IndexStatus.keys`. Call it inside a transaction."""
    rows = store.rows(
        "SELECT key, CASE jsonb_typeof(value) WHEN 'number' THEN 'number' WHEN 'boolean' THEN "  # noqa: S608 - constant
        f"'bool' ELSE CASE WHEN value #>> '{{}}' {IS_DATE} THEN 'date' ELSE 'text' END END AS kind,"
        " count(*) AS documents FROM fathom.documents, jsonb_each(fields) WHERE index_no = %s "
        'GROUP BY key, kind ORDER BY key COLLATE "C", count(*) DESC, kind'
    )
    found: dict[str, MetadataKey] = {}
    for row in rows:
        if KEY.fullmatch(row["key"]):  # by others nothing can be filtered
            before = found.get(row["key"], MetadataKey((), 0))
            found[row["key"]] = MetadataKey(
                (*before.kinds, row["kind"]), before.documents + row["documents"]
            )
    return found


def _content(store: Store) -> str:
    """As the embedded index makes it: over all documents with their chunks, and all places."""
    parts = [
        bytes(each)
        for each in store.column("SELECT fingerprint FROM fathom.documents WHERE index_no = %s")
    ]
    parts += [
        json.dumps([row["path"], row["digest"], row["outcome"], row["document_id"]]).encode()
        for row in store.rows(
            "SELECT path, digest, outcome, document_id FROM fathom.sources WHERE index_no = %s"
        )
    ]
    return hashlib.sha256(b"\n".join(sorted(parts))).hexdigest()


def _sizes(store: Store) -> dict[str, int]:
    """Of vectors those of this index; words are estimated by what the rows hold."""
    table = "chunk_terms" if store.has_other_legs() else "postings"
    words = store.value(
        f"SELECT coalesce(sum(pg_column_size({table}.*)), 0)::bigint FROM fathom.{table} "  # noqa: S608 - one of the two
        "WHERE index_no = %s"
    )
    vectors = sum(
        int(store.run(f"SELECT pg_total_relation_size('{space.table}')"))
        for space in store.spaces()
    )
    return {table: int(words), "vectors": vectors}


def findings(store: Store) -> Iterator[str]:
    """What is wrong with the index, in words."""
    todo = "restore a backup or run `fathom ingest --rebuild PATH...`"
    [row] = store.rows(
        "SELECT (SELECT count(*) FROM fathom.chunks WHERE index_no = indexes.no) AS listed, "
        "chunks FROM fathom.indexes WHERE no = %s"
    )
    if row["listed"] != row["chunks"]:
        yield f"{row['listed']} chunks are listed, {row['chunks']} were counted; {todo}"
    for space in store.spaces():
        held = store.run(f"SELECT count(*) FROM {space.table}")  # noqa: S608 - a number makes the name
        if held != space.filled:
            yield f"{held} vectors of {space.name!r} are there, {space.filled} counted; {todo}"
    for name in store.column("SELECT id FROM fathom.documents WHERE index_no = %s"):
        store.document(name)  # raises where it is not what was stored
