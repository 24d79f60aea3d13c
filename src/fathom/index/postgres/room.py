"""What is kept beside the index of a workspace is read and written in its room alone."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fathom.errors import RunError
from fathom.index.postgres.address import Address
from fathom.index.postgres.connections import Connection, Connections
from fathom.index.postgres.schema import check_version


class Room:
    """The rows of one workspace, each step a transaction of its own; safe from threads.

    Connections may be those of several rooms: each transaction enters its own.
    """

    def __init__(self, connections: Connections, workspace: int) -> None:
        """See `open_room`."""
        self.connections = connections
        self.workspace = workspace

    @contextmanager
    def entered(self) -> Iterator[Connection]:
        """A transaction that sees the rows of the workspace alone.

        Raises:
            RunError: If the server cannot be reached, or ends what is inside.
        """
        with self.connections.taken() as connection, connection.transaction():
            self._enter(connection)
            yield connection

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of one statement, whose first value is the workspace's number."""
        return self.ask(query, (self.workspace, *values))

    def ask(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """As `entered` for one statement, all in one way there and back; gives its rows."""
        with self.connections.taken() as connection:
            with connection.pipeline():  # is one transaction too
                self._enter(connection)
                cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def _enter(self, connection: Connection) -> None:
        connection.execute(
            "SELECT set_config('fathom.workspace', %s, true)", (str(self.workspace),)
        )


def workspace_no(connection: Connection, name: str) -> int | None:
    """The number of a workspace; `None` where there is none of this name."""
    row = connection.execute("SELECT no FROM fathom.workspaces WHERE name = %s", (name,)).fetchone()
    return row[0] if row else None


def open_room(connections: Connections, address: Address, *, since: int) -> Room:
    """The room of the workspace that an address names.

    Args:
        connections: Of its server.
        address: See above.
        since: The version of the tables in which it has its own.

    Raises:
        RunError: If an older Fathom laid the tables out, or nothing was ingested.
        IndexMismatch: If a newer one did.
    """
    with connections.taken() as connection:
        found = check_version(connection, address)
        if found < since:
            raise RunError(
                f"{address} has layout {found or 'none'}, this needs {since}; `fathom ingest` "
                "brings it there"
            )
        number = workspace_no(connection, address.workspace)
    if number is None:
        raise RunError(f"{address} has no workspace of this name; run `fathom ingest PATH`")
    return Room(connections, number)


class Shared:
    """Connections that all workspaces of a server have in common, one of them at a time."""

    def __init__(self) -> None:
        """Nothing is connected before it is needed."""
        self._lock = threading.Lock()
        self._opened: dict[tuple[tuple[str, str], ...], Connections] = {}

    def to(self, address: Address) -> Connections:
        """Those to the server and database of an address."""
        with self._lock:
            key = tuple(sorted(address.connection().items()))
            if key not in self._opened:
                self._opened[key] = Connections(address)
            return self._opened[key]

    def close(self) -> None:
        """Close all; may be used again."""
        with self._lock:
            for each in self._opened.values():
                each.close()
            self._opened.clear()
