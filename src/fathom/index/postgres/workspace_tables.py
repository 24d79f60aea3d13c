"""The tables of one workspace, in addition to those of its index."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fathom.errors import RunError
from fathom.index.postgres.address import Address
from fathom.index.postgres.connections import Connection, Connections
from fathom.index.postgres.schema import check_version


class WorkspaceTables:
    """The rows of one workspace, read and written in transactions; safe for threads.

    Several workspaces may share the connections: each transaction enters its own workspace.
    """

    def __init__(self, connections: Connections, workspace: int) -> None:
        """Take over connections, which may be shared, and the number of a workspace."""
        self.connections = connections
        self.workspace = workspace

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """Yield a connection in a transaction that sees only the rows of the workspace.

        Raises:
            RunError: If the server cannot be reached, or ends the statements inside the block.
        """
        with self.connections.borrow() as connection, connection.transaction():
            self._enter(connection)
            yield connection

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run one statement for the workspace in one round trip, and return its rows.

        Args:
            statement: The statement, with `%s` for values.
            values: The values.
        """
        with self.connections.borrow() as connection:
            with connection.pipeline():  # a batch of statements is one transaction too
                self._enter(connection)
                cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def _enter(self, connection: Connection) -> None:
        """Let the present transaction see only the rows of the workspace."""
        connection.execute(
            "SELECT set_config('fathom.workspace', %s, true)", (str(self.workspace),)
        )


def find_workspace_number(connection: Connection, name: str) -> int | None:
    """Return the number of a workspace; `None` if no workspace has this name."""
    row = connection.execute("SELECT no FROM fathom.workspaces WHERE name = %s", (name,)).fetchone()
    return row[0] if row else None


def open_tables(connections: Connections, address: Address, *, min_layout: int) -> WorkspaceTables:
    """Return the tables of the workspace that an address names.

    Args:
        connections: The connections to the database of the address.
        address: The address.
        min_layout: The first version of the layout that has the tables.

    Raises:
        RunError: If an older Fathom created the tables, or nothing was ingested.
        IndexMismatch: If a newer Fathom created them.
    """
    with connections.borrow() as connection:
        layout = check_version(connection, address)
        if layout < min_layout:
            raise RunError(
                f"{address} has layout {layout or 'none'}, this needs {min_layout}; "
                "`fathom ingest` "
                "brings it there"
            )
        number = find_workspace_number(connection, address.workspace)
    if number is None:
        raise RunError(f"{address} has no workspace of this name; run `fathom ingest PATH`")
    return WorkspaceTables(connections, number)


class SharedConnections:
    """The connections that all workspaces of a database share, each used by one at a time."""

    def __init__(self) -> None:
        """Create the set; the first connection is opened on first use."""
        self._lock = threading.Lock()
        self._opened: dict[tuple[tuple[str, str], ...], Connections] = {}

    def get_connections(self, address: Address) -> Connections:
        """Return the connections to the server and database of an address."""
        with self._lock:
            # The key leaves the workspace out, so all workspaces of a database share connections.
            key = tuple(sorted(address.build_connection_parameters().items()))
            if key not in self._opened:
                self._opened[key] = Connections(address)
            return self._opened[key]

    def close(self) -> None:
        """Close all connections; they may be opened again."""
        with self._lock:
            for connections in self._opened.values():
                connections.close()
            self._opened.clear()
