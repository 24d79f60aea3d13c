"""Functions that open, create and rebuild the index of a workspace on a server."""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import psycopg

from fathom.errors import RunError, UsageError
from fathom.index.base import IndexReader, Space
from fathom.index.identity import build_missing_error, check_identity, select_expected
from fathom.index.postgres.address import Address
from fathom.index.postgres.connections import Connection, Connections
from fathom.index.postgres.postings import PostgresBackend
from fathom.index.postgres.reader import PostgresReader
from fathom.index.postgres.rights import check_viewer_role
from fathom.index.postgres.schema import IN_WORKSPACE, check_version, migrate
from fathom.index.postgres.search_backend import SearchBackend
from fathom.index.postgres.spaces import create_space, drop_space, sweep_spaces
from fathom.index.postgres.store import IndexRow, PostgresStore, read_index_row
from fathom.index.postgres.writer import PostgresWriter
from fathom.index.rights import Viewer

_BUILD_LOCK = 50_721
"""The first key of an advisory lock; its holder creates the index of the second key."""


def open_reader(
    address: Address,
    expected_identity: Mapping[str, str] | None = None,
    backend: SearchBackend | None = None,
    viewer: Viewer | None = None,
) -> PostgresReader:
    """Open the index of a workspace for reading.

    Args:
        address: The workspace.
        expected_identity: The entries that the index's identity must have; other entries may
            differ, and `None` accepts any identity.
        backend: The backend that searches the chunks, closed with the reader; by default the
            database itself.
        viewer: Show only the documents that this viewer may read.

    Raises:
        IndexMissing: If there is no index.
        IndexMismatch: If the index has another identity (the message names the difference), was
            made by a newer Fathom, or is searched by another backend.
        UsageError: If the server refuses the user, the password or the database; or if there is a
            viewer, and the index holds no rights or they do not bind the user.
        RunError: If the server cannot be reached.
    """
    connections, backend = Connections(address), backend or PostgresBackend()
    try:
        row = _require_row(connections, _enter_workspace(connections))
        if expected_identity is not None:
            stored = select_expected(row.identity, expected_identity)
            check_identity(address, stored, expected_identity)
        with connections.borrow() as connection:
            store = PostgresStore(connection, row)
            backend.check_backend(store)
            if viewer is not None:
                _check_rights(store)
    except BaseException:
        backend.close()
        connections.close()
        raise
    return PostgresReader(connections, backend, viewer=viewer)


def _check_rights(store: PostgresStore) -> None:
    """Check that the database can hold rights, and that they bind the role of the connection.

    Raises:
        UsageError: If it cannot, or if they do not.
    """
    if not store.holds_rights():
        raise UsageError(
            "this index holds no rights of documents; `fathom ingest --readers FILE` gives them"
        )
    check_viewer_role(store.connection)


def open_writer(
    address: Address, identity: Mapping[str, str] | None, backend: SearchBackend | None = None
) -> PostgresWriter:
    """Open the index of a workspace for writing, and create it if it is missing.

    Args:
        address: The workspace.
        identity: The identity of the index; `None` accepts an existing index as it is.
        backend: The backend that searches the chunks, closed with the writer; by default the
            database itself. It first takes the rows that it lacks.

    Raises:
        IndexMissing: If there is no index, and no identity to create it with.
        IndexMismatch: If the index has another identity (the message names the difference), was
            made by a newer Fathom, or is searched by another backend.
        UsageError: If the server refuses the user, the password or the database, or the database
            has another encoding than UTF-8.
        RunError: If the server cannot be reached, has no pgvector, or does not let the user create
            tables.
    """
    connections, backend = Connections(address), backend or PostgresBackend()
    try:
        if identity is not None:
            create_tables(connections, address)
        row = _enter_workspace(connections)
        if row is not None:
            with connections.borrow() as connection:
                migrate(connection, address)
            _remove_unfinished(connections, backend)
        if row is None and identity is not None:
            with connections.borrow() as connection, connection.transaction():
                # Two processes may open a new workspace at once; the second waits, then finds the
                # index of the first.
                connection.execute(
                    "SELECT FROM fathom.workspaces WHERE name = %s FOR UPDATE", (address.workspace,)
                )
                row = read_index_row(connection) or _insert_index(connection, backend, identity)
        row = _require_row(connections, row)
        if identity is not None:
            check_identity(address, row.identity, identity)
        writer = PostgresWriter(connections, backend, row.no)
        writer.catch_up()
    except BaseException:
        backend.close()
        connections.close()
        raise
    return writer


@contextmanager
def rebuild(
    address: Address,
    identity: Mapping[str, str],
    roots: Sequence[str],
    backend: SearchBackend | None = None,
) -> Iterator[tuple[PostgresWriter, IndexReader | None]]:
    """Make an index anew; at the end of the `with` block it replaces the old one in one step.

    Until then the old index serves readers. After an error the new index is removed; after a kill
    the next writer or rebuild removes it.

    Args:
        address: The workspace.
        identity: The identity of the new index.
        roots: The files and folders that the index shall hold.
        backend: The backend that searches the chunks of both indexes, closed at the end; by default
            the database itself.

    Yields:
        The writer of the new index, and a reader of the old one, `None` without an old one.

    Raises:
        RunError: If somebody changed the old index meanwhile; it stays, with that change.
    """
    connections, backend = Connections(address), backend or PostgresBackend()
    try:
        create_tables(connections, address)
        old = _enter_workspace(connections)
        _remove_unfinished(connections, backend)
        before = PostgresReader(connections, backend) if old else None
        with _create_replacement(connections, backend, identity) as replacement:
            writer = PostgresWriter(connections, backend, replacement.no)
            try:
                writer.set_roots(roots)
                # Before the first document is stored, so that each has its rights at once.
                writer.set_rights(before.get_rights() if before else ())
                yield writer, before
                with connections.borrow() as connection, connection.transaction():
                    _replace_index(connection, backend, old, replacement)
            except BaseException:
                with connections.borrow() as connection, connection.transaction():
                    _drop_index(connection, backend, replacement)
                raise
    finally:
        backend.close()
        connections.close()


@contextmanager
def _create_replacement(
    connections: Connections, backend: SearchBackend, identity: Mapping[str, str]
) -> Iterator[IndexRow]:
    """Insert an index that will replace another, and hold its lock while it is built.

    The lock belongs to the connection, so the server releases it even if this process dies; then
    `_remove_unfinished` deletes the index.
    """
    with connections.borrow() as connection:
        with connection.transaction():
            row = _insert_index(connection, backend, identity, is_current=False)
            connection.execute("SELECT pg_advisory_lock(%s, %s)", (_BUILD_LOCK, row.no))
        try:
            yield row
        finally:
            # Closing the connection is what releases the lock.
            connection.close()


def _remove_unfinished(connections: Connections, backend: SearchBackend) -> None:
    """Remove unfinished replacements whose process has ended, and old tables of dropped spaces."""
    with connections.borrow() as connection:
        unfinished = connection.execute(
            f"SELECT no FROM fathom.indexes WHERE NOT is_current AND {IN_WORKSPACE}"  # noqa: S608 - constant
        ).fetchall()
        for (number,) in unfinished:
            with connection.transaction():
                query = "SELECT pg_try_advisory_xact_lock(%s, %s)"
                if connection.execute(query, (_BUILD_LOCK, number)).fetchone() == (True,):
                    row = read_index_row(connection, number, lock=True)
                    if row is not None and not row.is_current:
                        _drop_index(connection, backend, row)
        sweep_spaces(connection)


def _replace_index(
    connection: Connection, backend: SearchBackend, old: IndexRow | None, replacement: IndexRow
) -> None:
    """Replace the old index by the new one, with the old calibrations.

    Raises:
        RunError: If the current index is not the one that was read, or has changed since.
    """
    current = read_index_row(connection, lock=True)
    if (current and (current.no, current.revision)) != (old and (old.no, old.revision)):
        raise RunError("the index was changed while it was made anew; run it again")
    if current is not None:
        connection.execute(
            "INSERT INTO fathom.calibrations(index_no, workspace_no, strategy, data) "
            "SELECT %s, workspace_no, strategy, data FROM fathom.calibrations WHERE index_no = %s",
            (replacement.no, current.no),
        )
        _drop_index(connection, backend, current)
    connection.execute(
        "UPDATE fathom.indexes SET is_current = true WHERE no = %s", (replacement.no,)
    )


def read_stamp(connections: Connections, workspace: str) -> str | None:
    """Return a stamp of a workspace's index, which changes when another index replaces it.

    The connections may serve several workspaces: only this transaction enters the workspace.

    Returns:
        The stamp; `None` if there is no index.
    """
    entering = (
        "SELECT set_config('fathom.workspace', "
        "(SELECT no::text FROM fathom.workspaces WHERE name = %s), true)"
    )
    with connections.borrow() as connection:
        try:
            with connection.pipeline():  # one transaction and one round trip
                connection.execute(entering, (workspace,))
                cursor = connection.execute(
                    f"SELECT lineage FROM fathom.indexes WHERE is_current AND {IN_WORKSPACE}"  # noqa: S608 - constant
                )
            row = cursor.fetchone()
        except psycopg.errors.UndefinedTable:
            return None  # nobody has ingested anything there
    return row[0] if row else None


def create_tables(connections: Connections, address: Address) -> None:
    """Create the tables, or bring them to this version, and insert a row for the workspace.

    Raises:
        IndexMismatch: As in `migrate`.
        UsageError: As in `migrate`.
        RunError: As in `migrate`.
    """
    with connections.borrow() as connection:
        migrate(connection, address)
        connection.execute(
            "INSERT INTO fathom.workspaces(name) VALUES (%s) ON CONFLICT DO NOTHING",
            (address.workspace,),
        )


def _enter_workspace(connections: Connections) -> IndexRow | None:
    """Let all connections enter the workspace, and return the row of its index, or `None`."""
    address = connections.address
    with connections.borrow() as connection:
        if not check_version(connection, address):
            return None
        row = connection.execute(
            "SELECT no FROM fathom.workspaces WHERE name = %s", (address.workspace,)
        ).fetchone()
    if row is None:
        return None
    connections.enter(row[0])
    with connections.borrow() as connection:
        return read_index_row(connection)


def _require_row(connections: Connections, row: IndexRow | None) -> IndexRow:
    """Return the row of an index, if there is one.

    Raises:
        IndexMissing: If the row is `None`.
    """
    if row is None:
        raise build_missing_error(connections.address)
    return row


def _insert_index(
    connection: Connection,
    backend: SearchBackend,
    identity: Mapping[str, str],
    *,
    is_current: bool = True,
) -> IndexRow:
    """Insert an index with its space of vectors, and return its row."""
    workspace = "current_setting('fathom.workspace')::int"
    row = connection.execute(
        "INSERT INTO fathom.indexes(workspace_no, is_current, lineage, identity) "  # noqa: S608 - constant
        f"VALUES ({workspace}, %s, %s, %s) RETURNING no",
        (is_current, secrets.token_hex(8), json.dumps(dict(identity))),
    ).fetchone()
    index = read_index_row(connection, row[0]) if row else None
    assert index is not None  # the statement above inserted it
    store = PostgresStore(connection, index)
    create_space(store, Space(name="", identity={}))
    backend.create_index(store)
    return index


def _drop_index(connection: Connection, backend: SearchBackend, index: IndexRow) -> None:
    """Delete an index with all its rows, its spaces and its data in the backend."""
    store = PostgresStore(connection, index)
    backend.drop_index(store)
    for space in store.list_spaces():
        drop_space(store, space)
    connection.execute("DELETE FROM fathom.indexes WHERE no = %s", (index.no,))
