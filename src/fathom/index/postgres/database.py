"""The tables that `fathom serve` keeps in a workspace of the database, such as keys and jobs."""

import threading
from collections.abc import Sequence
from typing import Any

from fathom.errors import UsageError
from fathom.index.postgres.address import Address
from fathom.index.postgres.connections import Connection, Connections
from fathom.index.postgres.opening import create_tables
from fathom.index.postgres.workspace_tables import WorkspaceTables, open_tables

MIN_LAYOUT = 10
"""The first version of the layout that has these tables."""


class ServerDatabase:
    """A `Database` in a workspace on PostgreSQL; missing tables are created on first use."""

    clock = "extract(epoch FROM clock_timestamp())::float8"
    is_near = False

    def __init__(self, connections: Connections, address: Address) -> None:
        """Create the database; nothing is sent to the server yet."""
        self._connections = connections
        self._address = address
        self._lock = threading.Lock()
        self._tables: WorkspaceTables | None = None
        self._is_checked = False

    @property
    def tables(self) -> WorkspaceTables:
        """The tables of the workspace.

        Raises:
            RunError: If the server cannot be reached, or has no tables and the user may not create
                them.
        """
        with self._lock:
            if self._tables is None:
                create_tables(self._connections, self._address)
                self._tables = open_tables(self._connections, self._address, min_layout=MIN_LAYOUT)
            return self._tables

    def is_there(self) -> bool:
        """Return True: the tables are created on first use."""
        return True

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run one statement with `?` for its values, and return its rows.

        Raises:
            UsageError: If row-level security does not bind the user, who would see the rows of
                other workspaces too.
            RunError: If the tables cannot be used.
        """
        room = self.tables
        # The check costs a round trip, so it is made once.
        if not self._is_checked:
            with room.begin() as connection:
                _check_user(connection)
            self._is_checked = True
        return room.execute(statement.replace("?", "%s"), values)

    def close(self) -> None:
        """Close the idle connections; one in use is closed when it is given back."""
        self._connections.close()


def _check_user(connection: Connection) -> None:
    """Check that row-level security binds the user of a connection.

    Raises:
        UsageError: If it does not.
    """
    row = connection.execute(
        "SELECT rolname FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls)"
    ).fetchone()
    if row is not None:
        raise UsageError(
            f"{row[0]!r} passes by row-level security, so tenants would not be apart; serve as a "
            "user who owns the database and is no superuser"
        )
