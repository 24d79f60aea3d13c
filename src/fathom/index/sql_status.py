"""Counts, metadata keys and the content hash of an index in SQL tables."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from fathom.index.base import IndexStatus, MetadataKey, SpaceStatus
from fathom.index.filters import KEY
from fathom.index.rights import METADATA_KEY
from fathom.index.sql_store import SqlStore


def read_status(store: SqlStore[Any], bytes_on_disk: Mapping[str, int]) -> IndexStatus:
    """Return the status of the index; the store must be in a transaction.

    Args:
        store: The store.
        bytes_on_disk: The sizes, as in `IndexStatus`.
    """
    [counts] = store.select_rows(
        "SELECT count(*) AS sources, "  # noqa: S608 - constant
        "count(*) FILTER (WHERE outcome NOT IN ('ok', 'stale', 'no_document')) AS failed, "
        "count(*) FILTER (WHERE outcome = 'stale' AND document_id IS NOT NULL) AS stale "
        f"FROM sources WHERE {store.scope}"
    )
    documents = f"SELECT count(*) FROM documents WHERE {store.scope}"  # noqa: S608 - constant
    chunks = store.count_chunks()
    main, *further = store.list_spaces()
    return IndexStatus(
        revision=store.revision,
        documents=store.select_value(documents),
        chunks=chunks,
        sources=counts["sources"],
        failed=counts["failed"],
        stale=counts["stale"],
        content=compute_content_hash(store),
        identity=dict(sorted(store.read_identity().items())),
        keys=list_keys(store),
        bytes_on_disk=bytes_on_disk,
        spaces=tuple(
            SpaceStatus(
                name=space.name,
                identity=space.identity,
                dimension=space.dimension,
                chunks=chunks - store.count_unembedded(space),
            )
            for space in further
        ),
        lacking=store.count_unembedded(main),
    )


def list_keys(store: SqlStore[Any]) -> dict[str, MetadataKey]:
    """Return the metadata keys that filters may use, as `IndexStatus.keys`."""
    rows = store.select_rows(
        f"SELECT key, {store.dialect.item_kind} AS kind, count(*) AS documents "  # noqa: S608 - constants
        f"FROM documents, {store.dialect.items} WHERE {store.scope} GROUP BY 1, 2"
    )
    keys: dict[str, MetadataKey] = {}
    for row in sorted(rows, key=lambda row: (row["key"], -row["documents"], row["kind"])):
        is_hidden = store.is_limited and row["key"] == METADATA_KEY
        if KEY.fullmatch(row["key"]) and not is_hidden:  # filters accept no other keys
            before = keys.get(row["key"], MetadataKey((), 0))
            keys[row["key"]] = MetadataKey(
                (*before.kinds, row["kind"]), before.documents + row["documents"]
            )
    return keys


def compute_content_hash(store: SqlStore[Any]) -> str:
    """Compute sha256 over all documents with their chunks and vectors, and over all places."""
    fingerprints = store.select_column(f"SELECT fingerprint FROM documents WHERE {store.scope}")  # noqa: S608 - constant
    fingerprints += [
        json.dumps([row["path"], row["digest"], row["outcome"], row["document_id"]]).encode()
        for row in store.select_rows(
            f"SELECT path, digest, outcome, document_id FROM sources WHERE {store.scope}"  # noqa: S608 - constant
        )
    ]
    # Sorted, so that the order of ingestion does not matter.
    return hashlib.sha256(b"\n".join(sorted(fingerprints))).hexdigest()
