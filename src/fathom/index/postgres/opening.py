"""An index on a server is opened, made, made anew, and removed."""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import psycopg

from fathom.errors import RunError
from fathom.index.base import IndexReader, Space
from fathom.index.identity import check_identity, missing, named
from fathom.index.postgres.address import Address
from fathom.index.postgres.connections import Connection, Connections
from fathom.index.postgres.legs import Legs
from fathom.index.postgres.postings import DatabaseLegs
from fathom.index.postgres.reader import PostgresReader
from fathom.index.postgres.schema import ENTERED, check_version, migrate
from fathom.index.postgres.spaces import drop_space, make_space, sweep
from fathom.index.postgres.store import IndexRow, Store, index_row
from fathom.index.postgres.writer import PostgresWriter

_MAKING = 50_721
"""Of the server's advisory locks: who holds it with the number of an index makes that."""


def open_reader(
    address: Address,
    expected_identity: Mapping[str, str] | None = None,
    legs: Legs | None = None,
) -> PostgresReader:
    """Open the index of a workspace for reading; see `embedded.opening.open_reader`.

    Args:
        address: The workspace.
        expected_identity: What must agree of what made it.
        legs: What finds its chunks, closed with the reader; by default the database itself.

    Raises:
        IndexMissing: If there is none.
        IndexMismatch: If it was made otherwise, naming what differs, or by a newer Fathom.
        UsageError: If the server refuses the user, the password or the database.
        RunError: If the server cannot be reached.
    """
    connections, legs = Connections(address), legs or DatabaseLegs()
    try:
        found = _there(connections, _entered(connections))
        if expected_identity is not None:
            made = named(found.identity, expected_identity)
            check_identity(address, made, expected_identity)
        with connections.taken() as connection:
            legs.opened(Store(connection, found))
    except BaseException:
        legs.close()
        connections.close()
        raise
    return PostgresReader(connections, legs)


def open_writer(
    address: Address, identity: Mapping[str, str] | None, legs: Legs | None = None
) -> PostgresWriter:
    """Open the index of a workspace for writing, making it where there is none.

    Args:
        address: The workspace.
        identity: What makes the index; `None` takes an existing one as it is.
        legs: See `open_reader`; they take first what they lack.

    Raises:
        IndexMissing: If there is none and no identity to make it with.
        IndexMismatch: See `open_reader`.
        UsageError: Likewise.
        RunError: Likewise, or if the server has no pgvector.
    """
    connections, legs = Connections(address), legs or DatabaseLegs()
    try:
        if identity is not None:
            lay_out(connections, address)
        found = _entered(connections)
        if found is not None:
            with connections.taken() as connection:
                migrate(connection, address)
            _clear(connections, legs)
        if found is None and identity is not None:
            with connections.taken() as connection, connection.transaction():
                connection.execute(
                    "SELECT FROM fathom.workspaces WHERE name = %s FOR UPDATE", (address.workspace,)
                )
                found = index_row(connection) or _make(connection, legs, identity)
        found = _there(connections, found)
        if identity is not None:
            check_identity(address, found.identity, identity)
        writer = PostgresWriter(connections, legs, found.no)
        writer.catch_up()
    except BaseException:
        legs.close()
        connections.close()
        raise
    return writer


@contextmanager
def rebuilding(
    address: Address,
    identity: Mapping[str, str],
    roots: Sequence[str],
    legs: Legs | None = None,
) -> Iterator[tuple[PostgresWriter, IndexReader | None]]:
    """Make an index anew; at the end of the block it takes the place of the old in one step.

    Args:
        address: The workspace.
        identity: What makes the new one.
        roots: What it is to hold.
        legs: See `open_reader`; of the old one and of the new one.

    Raises:
        RunError: If somebody changed the old one meanwhile; it stays then, with that change.
    """
    connections, legs = Connections(address), legs or DatabaseLegs()
    try:
        lay_out(connections, address)
        old = _entered(connections)
        _clear(connections, legs)
        before = PostgresReader(connections, legs) if old else None
        with _being_made(connections, legs, identity) as made:
            writer = PostgresWriter(connections, legs, made.no)
            try:
                writer.set_roots(roots)
                yield writer, before
                with connections.taken() as connection, connection.transaction():
                    _swap(connection, legs, old, made)
            except BaseException:
                with connections.taken() as connection, connection.transaction():
                    _drop(connection, legs, made)
                raise
    finally:
        legs.close()
        connections.close()


@contextmanager
def _being_made(
    connections: Connections, legs: Legs, identity: Mapping[str, str]
) -> Iterator[IndexRow]:
    """An index that is to replace another; a lock of the server's says that somebody makes it.

    It goes with the connection, so also with the death of this process: see `_clear`.
    """
    with connections.taken() as connection:
        with connection.transaction():
            made = _make(connection, legs, identity, is_current=False)
            connection.execute("SELECT pg_advisory_lock(%s, %s)", (_MAKING, made.no))
        try:
            yield made
        finally:
            connection.close()


def _clear(connections: Connections, legs: Legs) -> None:
    """Remove what somebody began to make and did not end, and tables that nobody reads."""
    with connections.taken() as connection:
        unfinished = connection.execute(
            f"SELECT no FROM fathom.indexes WHERE NOT is_current AND {ENTERED}"  # noqa: S608 - constant
        ).fetchall()
        for (number,) in unfinished:
            with connection.transaction():
                query = "SELECT pg_try_advisory_xact_lock(%s, %s)"
                if connection.execute(query, (_MAKING, number)).fetchone() == (True,):
                    found = index_row(connection, number, lock=True)
                    if found is not None and not found.is_current:
                        _drop(connection, legs, found)
        sweep(connection)


def _swap(connection: Connection, legs: Legs, old: IndexRow | None, made: IndexRow) -> None:
    """Put the new index in the place of the old, unless that is not any more what was read."""
    found = index_row(connection, lock=True)
    if (found and (found.no, found.revision)) != (old and (old.no, old.revision)):
        raise RunError("the index was changed while it was made anew; run it again")
    if found is not None:
        connection.execute(
            "INSERT INTO fathom.calibrations(index_no, workspace_no, strategy, data) "
            "SELECT %s, workspace_no, strategy, data FROM fathom.calibrations WHERE index_no = %s",
            (made.no, found.no),
        )
        _drop(connection, legs, found)
    connection.execute("UPDATE fathom.indexes SET is_current = true WHERE no = %s", (made.no,))


def stamp_of(connections: Connections, workspace: str) -> str | None:
    """What tells the index of a workspace from one that has taken its place since.

    Args:
        connections: To its database, whatever workspace they see.
        workspace: Its name.
    """
    entering = (
        "SELECT set_config('fathom.workspace', "
        "(SELECT no::text FROM fathom.workspaces WHERE name = %s), true)"
    )
    with connections.taken() as connection:
        try:
            with connection.pipeline():  # one transaction, and one way there and back
                connection.execute(entering, (workspace,))
                found = connection.execute(
                    f"SELECT lineage FROM fathom.indexes WHERE is_current AND {ENTERED}"  # noqa: S608 - constant
                )
            row = found.fetchone()
        except psycopg.errors.UndefinedTable:
            return None  # nothing was ever ingested there
    return row[0] if row else None


def lay_out(connections: Connections, address: Address) -> None:
    """Lay the tables out, with a row for the workspace; see `migrate`."""
    with connections.taken() as connection:
        migrate(connection, address)
        connection.execute(
            "INSERT INTO fathom.workspaces(name) VALUES (%s) ON CONFLICT DO NOTHING",
            (address.workspace,),
        )


def _entered(connections: Connections) -> IndexRow | None:
    """The index of the workspace that the connections see from now on, if there is one."""
    address = connections.address
    with connections.taken() as connection:
        if not check_version(connection, address):
            return None
        row = connection.execute(
            "SELECT no FROM fathom.workspaces WHERE name = %s", (address.workspace,)
        ).fetchone()
    if row is None:
        return None
    connections.enter(row[0])
    with connections.taken() as connection:
        return index_row(connection)


def _there(connections: Connections, found: IndexRow | None) -> IndexRow:
    if found is None:
        raise missing(connections.address)
    return found


def _make(
    connection: Connection, legs: Legs, identity: Mapping[str, str], *, is_current: bool = True
) -> IndexRow:
    workspace = "current_setting('fathom.workspace')::int"
    row = connection.execute(
        "INSERT INTO fathom.indexes(workspace_no, is_current, lineage, identity) "  # noqa: S608 - constant
        f"VALUES ({workspace}, %s, %s, %s) RETURNING no",
        (is_current, secrets.token_hex(8), json.dumps(dict(identity))),
    ).fetchone()
    made = index_row(connection, row[0]) if row else None
    assert made is not None  # it was inserted just now
    store = Store(connection, made)
    make_space(store, Space(name="", identity={}))
    legs.make_index(store)
    return made


def _drop(connection: Connection, legs: Legs, index: IndexRow) -> None:
    store = Store(connection, index)
    legs.drop_index(store)
    for space in store.spaces():
        drop_space(store, space)
    connection.execute("DELETE FROM fathom.indexes WHERE no = %s", (index.no,))
