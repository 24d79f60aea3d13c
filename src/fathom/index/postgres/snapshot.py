"""One state of an index on a server, for a call or for as long as a question lasts."""

import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.rows import dict_row

from fathom.errors import RunError
from fathom.index.identity import missing
from fathom.index.postgres.connections import Connection, Connections, named
from fathom.index.postgres.store import IndexRow, Store, index_query

IDLE_S = 600
"""So long the server keeps a state that nobody asks."""
_BEGIN = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
    f"SET LOCAL idle_in_transaction_session_timeout = '{IDLE_S}s'"
)


class Snapshot:
    """A transaction that is left open; several threads may read in it, one statement at a time.

    Where the server has ended it, as nobody asked for long, another one takes its place, provided
    that the index is still what it was.
    """

    def __init__(self, connections: Connections, number: int | None) -> None:
        """Begin it.

        Args:
            connections: To the workspace.
            number: Of an index that is being made there; by default it is the current one.

        Raises:
            IndexMissing: If there is none.
            RunError: If the server cannot be reached.
        """
        self._connections = connections
        self._number = number
        self._lock = threading.Lock()
        self._users = 0
        self._closed = False
        with named(connections.address):
            self._store = self._begun()

    def _begun(self) -> Store:
        connection = self._connections.take()
        try:
            with connection.cursor(row_factory=dict_row) as cursor:
                cursor.execute(f"{_BEGIN}; {index_query(self._number)}")  # one way there and back
                while cursor.nextset():
                    pass
                row = cursor.fetchone()
        except BaseException:
            self._connections.give_back(connection)
            raise
        if row is None:
            self._connections.give_back(connection)
            raise missing(self._connections.address)
        return Store(connection, IndexRow(**row), fixed=True)

    @contextmanager
    def reading(self) -> Iterator[Store]:
        """What reads the state.

        Raises:
            RunError: If the server has let it go, and the index has changed since.
        """
        with named(self._connections.address):
            with self._lock:
                if not self._users and not _is_open(self._store.connection):
                    self._renew()
                self._users += 1
            try:
                yield self._store
            finally:
                with self._lock:
                    self._users -= 1
                    self._let_go()

    def _renew(self) -> None:
        begun, before = self._begun(), self._store
        if begun.index.name != before.index.name:
            self._connections.give_back(begun.connection)
            raise RunError(
                f"{self._connections.address} was changed while a question waited, and its state "
                "was not kept any longer; ask again"
            )
        self._store = begun
        self._connections.give_back(before.connection)

    def close(self) -> None:
        """End it once nobody reads any more; calling it twice is fine."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._let_go()

    def _let_go(self) -> None:
        if self._closed and not self._users:
            self._connections.give_back(self._store.connection)


def _is_open(connection: Connection) -> bool:
    """Whether the transaction is still there, as far as is known without asking."""
    if connection.closed:
        return False
    if connection.info.transaction_status != psycopg.pq.TransactionStatus.INTRANS:
        return False
    # Whom nobody asked has nothing to say, but that it ends the connection.
    return not select.select([connection.fileno()], [], [], 0)[0]
