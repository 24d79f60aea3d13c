"""Counts, sizes and the content hash of an embedded index."""

import hashlib
import json
from pathlib import Path

from fathom.index.base import IndexStatus, MetadataKey, SpaceStatus
from fathom.index.embedded.dialect import IS_DATE
from fathom.index.embedded.schema import FILE
from fathom.index.embedded.spaces import SqliteSpace
from fathom.index.embedded.store import SqliteStore
from fathom.index.filters import KEY


def read_status(directory: Path, store: SqliteStore, revision: int) -> IndexStatus:
    """Return the state of the index at a revision; the caller holds a read transaction."""

    def count(table: str, condition: str = "TRUE") -> int:
        query = f"SELECT count(*) FROM {table} WHERE added <= ? AND {condition}"  # noqa: S608 - constants
        return int(store.connection.execute(query, (revision,)).fetchone()[0])

    return IndexStatus(
        revision=revision,
        documents=count("documents"),
        chunks=count("chunks"),
        sources=count("sources"),
        failed=count("sources", "outcome NOT IN ('ok', 'stale', 'no_document')"),
        stale=count("sources", "outcome = 'stale' AND document_id IS NOT NULL"),
        content=compute_content_hash(store, revision),
        identity=store.read_identity(),
        keys=list_keys(store, revision),
        bytes_on_disk=_measure_sizes(directory, store.get_keyword_folder()),
        spaces=tuple(_summarize_space(space, count("chunks")) for space in store.list_spaces()),
        lacking=store.get_main_space().lacking,
    )


def _summarize_space(space: SqliteSpace, chunks: int) -> SpaceStatus:
    return SpaceStatus(
        name=space.name,
        identity=space.identity,
        dimension=space.dimension,
        chunks=chunks - space.lacking,
    )


def list_keys(store: SqliteStore, revision: int) -> dict[str, MetadataKey]:
    """Return the metadata keys that filters may use at a revision, as `IndexStatus.keys`."""
    rows = store.connection.execute(
        "SELECT key, CASE WHEN type IN ('integer', 'real') THEN 'number' "  # noqa: S608 - constant
        "WHEN type IN ('true', 'false') THEN 'bool' "
        f"WHEN value {IS_DATE} THEN 'date' ELSE 'text' END AS kind, count(*) "
        "FROM documents, json_each(metadata) WHERE added <= ? GROUP BY key, kind "
        "ORDER BY key, count(*) DESC, kind",
        (revision,),
    )
    keys: dict[str, MetadataKey] = {}
    for key, kind, count in rows:
        if KEY.fullmatch(key):  # filters accept no other keys
            before = keys.get(key, MetadataKey((), 0))
            keys[key] = MetadataKey((*before.kinds, kind), before.documents + count)
    return keys


def compute_content_hash(store: SqliteStore, revision: int) -> str:
    """Compute sha256 over all documents with their chunks and vectors, and over all places."""
    select = store.connection.execute
    documents = select("SELECT fingerprint FROM documents WHERE added <= ?", (revision,))
    places = select(
        "SELECT path, digest, outcome, document_id FROM sources WHERE added <= ?", (revision,)
    )
    fingerprints = [row[0] for row in documents]
    fingerprints += [json.dumps(list(row)).encode() for row in places]
    # Sorted, so that the order of ingestion does not matter.
    return hashlib.sha256(b"\n".join(sorted(fingerprints))).hexdigest()


def _measure_sizes(directory: Path, keyword: str) -> dict[str, int]:
    files = [path for path in directory.glob(f"{FILE}*") if path.is_file()]
    return {
        "sqlite": sum(path.stat().st_size for path in files),
        "tantivy": sum(path.stat().st_size for path in (directory / keyword).glob("*")),
        "usearch": sum(path.stat().st_size for path in directory.glob("vectors-*.usearch")),
    }
