"""One state of an index on a server, for one call or for a whole question."""

import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.rows import dict_row

from fathom.errors import RunError
from fathom.index.identity import build_missing_error
from fathom.index.postgres.connections import Connection, Connections, translate_errors
from fathom.index.postgres.rights import build_viewer_statement
from fathom.index.postgres.store import IndexRow, PostgresStore, build_index_query
from fathom.index.rights import Viewer

IDLE_TIMEOUT_S = 600
"""The time in seconds after which the server ends an idle transaction."""
_BEGIN = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
    f"SET LOCAL idle_in_transaction_session_timeout = '{IDLE_TIMEOUT_S}s'"
)


class Snapshot:
    """A transaction that stays open; several threads may read in it, one statement at a time.

    If the server has ended it because it was idle, another transaction replaces it, unless the
    index has changed since.
    """

    def __init__(
        self, connections: Connections, number: int | None, viewer: Viewer | None = None
    ) -> None:
        """Begin the transaction.

        Args:
            connections: The connections, which have entered the workspace.
            number: The number of an index that is being built; by default the current one is read.
            viewer: Show only the documents that this viewer may read.

        Raises:
            IndexMissing: If there is no index.
            RunError: If the server cannot be reached.
        """
        self._connections = connections
        self._number = number
        self._viewer = viewer
        self._lock = threading.Lock()
        self._users = 0
        self._closed = False
        with translate_errors(connections.address):
            self._store = self._begin()

    def _begin(self) -> PostgresStore:
        """Begin a transaction and return a store that reads in it."""
        connection = self._connections.take()
        try:
            steps = [_BEGIN, build_index_query(self._number)]
            if self._viewer is not None:
                steps.insert(1, build_viewer_statement(self._viewer, connection))
            with connection.cursor(row_factory=dict_row) as cursor:
                cursor.execute("; ".join(steps))  # one round trip
                while cursor.nextset():
                    pass
                row = cursor.fetchone()
        except BaseException:
            self._connections.give_back(connection)
            raise
        if row is None:
            self._connections.give_back(connection)
            raise build_missing_error(self._connections.address)
        return PostgresStore(
            connection, IndexRow(**row), fixed=True, is_limited=self._viewer is not None
        )

    @contextmanager
    def open_store(self) -> Iterator[PostgresStore]:
        """Yield a store that reads the state of the snapshot.

        Raises:
            RunError: If the server has ended the transaction, and the index has changed since.
        """
        with translate_errors(self._connections.address):
            with self._lock:
                if not self._users and not _is_open(self._store.connection):
                    self._renew()
                self._users += 1
            try:
                yield self._store
            finally:
                with self._lock:
                    self._users -= 1
                    self._release()

    def _renew(self) -> None:
        """Replace an ended transaction, if the index still has the same state.

        Raises:
            RunError: If the index has changed.
        """
        fresh, ended = self._begin(), self._store
        if fresh.state != ended.state:
            self._connections.give_back(fresh.connection)
            raise RunError(
                f"{self._connections.address} was changed while a question waited, and its state "
                "was not kept any longer; ask again"
            )
        self._store = fresh
        self._connections.give_back(ended.connection)

    def close(self) -> None:
        """End the transaction once nobody reads in it; a second call does nothing."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._release()

    def _release(self) -> None:
        """Give the connection back if the snapshot is closed and unused."""
        if self._closed and not self._users:
            self._connections.give_back(self._store.connection)


def _is_open(connection: Connection) -> bool:
    """Return whether the transaction is still open, as far as is known without a round trip."""
    if connection.closed:
        return False
    if connection.info.transaction_status != psycopg.pq.TransactionStatus.INTRANS:
        return False
    # An idle server sends bytes only to end the connection.
    return not select.select([connection.fileno()], [], [], 0)[0]
