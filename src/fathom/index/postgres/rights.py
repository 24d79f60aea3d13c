"""Rights of documents on a server: row-level security hides rows from a viewer.

A transaction for a viewer sets `fathom.viewer` to the viewer's names. Policies of the server then
limit every statement in it, also one that is written later. Row-level security binds neither
superusers nor roles that bypass it, so such a role may not open an index for a viewer.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

from psycopg import sql

from fathom.errors import UsageError
from fathom.index.postgres.connections import Connection
from fathom.index.postgres.store import PostgresStore
from fathom.index.rights import (
    METADATA_KEY,
    ReadingRule,
    Rights,
    Viewer,
    dump_rules,
    list_own_readers,
)
from fathom.types import Scalar

_OWN = -1
"""The clause of a document's own readers; places have clauses from 0."""


def build_viewer_statement(viewer: Viewer, connection: Connection) -> str:
    """Return the statement that limits the present transaction to what a viewer may read."""
    names = sql.Literal(sorted(viewer.names)).as_string(connection)
    return f"SELECT set_config('fathom.viewer', ({names}::text[])::text, true)"


def check_viewer_role(connection: Connection) -> None:
    """Check that row-level security binds the role of a connection.

    Raises:
        UsageError: If it does not.
    """
    row = connection.execute(
        "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    if row is None or row[0]:
        raise UsageError(
            "rights of documents do not bind a superuser of PostgreSQL; let index.url name a role "
            "without SUPERUSER and BYPASSRLS"
        )


def store_rules(store: PostgresStore, rules: Sequence[ReadingRule]) -> None:
    """Store rules in place of earlier ones, with the readers of all places and documents.

    Raises:
        UsageError: If there are rules, and row-level security does not bind the role, so that
            viewers would see everything.
    """
    store.run("DELETE FROM fathom.rights WHERE index_no = %(index)s")
    store.run("DELETE FROM fathom.readers WHERE index_no = %(index)s")
    if not rules:
        return
    check_viewer_role(store.connection)
    store.run(
        "INSERT INTO fathom.rights(index_no, workspace_no, data) "
        "VALUES (%(index)s, %(workspace)s, %(data)s)",
        data=dump_rules(rules),
    )
    places = store.select_rows("SELECT path, document_id FROM fathom.sources WHERE index_no = %s")
    add_place_readers(store, {row["path"]: row["document_id"] for row in places})
    # Most documents name no readers; a wrong match does no harm.
    rows = store.select_rows(
        "SELECT id, metadata FROM fathom.documents WHERE index_no = %s "
        "AND strpos(metadata, %s) > 0",
        METADATA_KEY,
    )
    add_document_readers(store, ((row["id"], json.loads(row["metadata"])) for row in rows))


def add_place_readers(store: PostgresStore, places: Mapping[str, str | None]) -> None:
    """Store the readers of places by the rules, in place of earlier ones.

    Args:
        store: The store of the change in which the places are stored.
        places: The id of the document of each place; `None` without one.
    """
    rules = store.read_rights()
    if not rules:
        return
    remove_place_readers(store, list(places))
    rights = Rights(rules)
    _insert(
        store,
        (
            (path, number, reader, document)
            for path, document in places.items()
            for number, clause in enumerate(rights.list_clauses(path))
            for reader in clause
        ),
    )


def remove_place_readers(store: PostgresStore, paths: Sequence[str]) -> None:
    """Delete the readers of places."""
    _delete(store, paths, "clause <> %(own)s")


def add_document_readers(
    store: PostgresStore, documents: Iterable[tuple[str, Mapping[str, Scalar]]]
) -> None:
    """Store the readers that documents name in their metadata.

    Args:
        store: The store of the change in which the documents are stored.
        documents: The id and the metadata of each document.
    """
    _insert(
        store,
        (
            (document, _OWN, reader, document)
            for document, metadata in documents
            for reader in list_own_readers(metadata)
        ),
    )


def remove_document_readers(store: PostgresStore, ids: Sequence[str]) -> None:
    """Delete the readers that documents name in their metadata."""
    _delete(store, ids, "clause = %(own)s")


def _delete(store: PostgresStore, keys: Sequence[str], condition: str) -> None:
    """Delete the readers of some keys whose clauses meet a condition."""
    store.run(
        "DELETE FROM fathom.readers WHERE index_no = %(index)s AND key = ANY(%(keys)s) "  # noqa: S608 - constant
        f"AND {condition}",
        keys=list(keys),
        own=_OWN,
    )


def _insert(store: PostgresStore, rows: Iterable[tuple[str, int, str, str | None]]) -> None:
    """Insert readers: the key, the clause, the reader and the document of each."""
    store.insert(
        "readers(index_no, workspace_no, key, clause, reader, document_id)",
        [(store.index.no, store.index.workspace_no, *row) for row in dict.fromkeys(rows)],
    )
