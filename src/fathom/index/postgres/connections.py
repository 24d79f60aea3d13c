"""Reusable connections to a server, and its errors as one line without a password."""

import os
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
from psycopg.rows import TupleRow

from fathom.errors import FathomError, IndexCorrupt, RunError, UsageError
from fathom.index.postgres.address import Address
from fathom.index.postgres.halfvec import register_dumper
from fathom.index.rows import DamagedRowError

Connection = psycopg.Connection[TupleRow]

CONNECT_S = 10
"""The longest wait in seconds for a new connection."""
MAX_IDLE_CONNECTIONS = 4
"""The largest number of idle connections to an address that are kept."""
EXPANSION_SEARCH = 200
"""The number of chunks that a graph of neighbours returns at once."""
SETTINGS = (
    "SET default_transaction_isolation = 'read committed'",
    "SET default_transaction_read_only = off",
    "SET search_path = pg_catalog, fathom, public, extensions",
    f"SET hnsw.ef_search = {EXPANSION_SEARCH}",
    "SET hnsw.iterative_scan = strict_order",  # continue if filters or removals drop hits
    "SET hnsw.max_scan_tuples = 100000",
    "SET jit = off",
    "SET max_parallel_workers_per_gather = 0",  # starting a worker takes as long as a search
)
"""The settings of each connection; a graph of neighbours returns its hits in exact order."""
_REFUSALS = (
    psycopg.errors.InvalidPassword,
    psycopg.errors.InvalidAuthorizationSpecification,
    psycopg.errors.InvalidCatalogName,
)


def connect(address: Address) -> Connection:
    """Open a new connection.

    Raises:
        UsageError: If the server refuses the user, the password or the database, or the parameters
            of the URL are malformed.
        RunError: If the server cannot be reached.
    """
    name = f"fathom, process {os.getpid()} on {socket.gethostname()}"[:63]
    parameters: dict[str, str] = {
        "connect_timeout": str(CONNECT_S),
        "application_name": name,
        "client_encoding": "UTF8",
        **address.build_connection_parameters(),
    }
    try:
        connection = psycopg.connect(autocommit=True, **parameters)  # type: ignore[arg-type]
    except psycopg.OperationalError as error:
        raise _make_connect_error(address, error) from None  # its chain may hold the password
    except psycopg.Error as error:
        raise UsageError(
            f"the index's URL is malformed: {_summarise_error(error, address)}"
        ) from None
    try:
        register_dumper(connection)
        connection.execute("; ".join(SETTINGS))
    except psycopg.Error as error:
        connection.close()
        raise RunError(f"{address}: {_summarise_error(error, address)}") from None
    return connection


def _make_connect_error(address: Address, error: psycopg.OperationalError) -> FathomError:
    """Return the error to raise if a connection cannot be opened."""
    reason = _summarise_error(error, address)
    refused = ("password", "authentication", "role ", "database ", "pg_hba.conf")
    # libpq itself reports a missing password; every other refusal comes from the server.
    is_refusal = "FATAL" in str(error) or "no password supplied" in reason
    if isinstance(error, _REFUSALS) or (is_refusal and any(sign in reason for sign in refused)):
        return UsageError(
            f"{address.server} refuses index.url ({reason}); "
            "check user, password and database there"
        )
    return RunError(
        f"{address.server} cannot be reached ({reason}); see that PostgreSQL runs there and that "
        "index.url names it"
    )


class Connections:
    """A pool of connections to one address, each used by one thread at a time.

    After `enter` all of them see the rows of one workspace only.
    """

    def __init__(self, address: Address) -> None:
        """Create the pool; the first connection is opened on first use."""
        self.address = address
        self._lock = threading.Lock()
        self._free: list[Connection] = []
        self._workspace: int | None = None
        self._closed = False

    def enter(self, workspace: int) -> None:
        """Restrict all later connections to the rows of a workspace, by row-level security.

        Idle connections are closed; a connection in use keeps its workspace.

        Args:
            workspace: The number of the workspace.
        """
        with self._lock:
            self._workspace = workspace
            for connection in self._free:
                connection.close()
            self._free.clear()

    @contextmanager
    def borrow(self) -> Iterator[Connection]:
        """Yield a connection that is in no transaction, for the `with` block.

        Raises:
            UsageError: If the server refuses the user, the password or the database.
            RunError: If the server cannot be reached, or ends the statements inside the block.
            IndexCorrupt: If the stored rows are damaged.
        """
        with translate_errors(self.address):
            connection = self.take()
            try:
                yield connection
            finally:
                self.give_back(connection)

    def take(self) -> Connection:
        """Return a connection that is in no transaction; the caller gives it back.

        Raises:
            UsageError: As in `connect`.
            RunError: As in `connect`.
        """
        with self._lock:
            while self._free:
                connection = self._free.pop()
                if _is_alive(connection):
                    return connection
                connection.close()
        fresh = connect(self.address)
        if self._workspace is not None:
            fresh.execute(
                "SELECT set_config('fathom.workspace', %s, false)", (str(self._workspace),)
            )
        return fresh

    def give_back(self, connection: Connection) -> None:
        """Take a connection back; uncommitted changes are rolled back."""
        with suppress(psycopg.Error):  # a broken connection is not idle, so it is closed below
            connection.rollback()
        idle = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            if idle and not self._closed and len(self._free) < MAX_IDLE_CONNECTIONS:
                self._free.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close all connections; a second call does nothing."""
        with self._lock:
            self._closed = True
            for connection in self._free:
                connection.close()
            self._free.clear()


def _is_alive(connection: Connection) -> bool:
    """Return whether an idle connection is still open."""
    if connection.closed:
        return False
    # An idle server sends nothing except the end of the connection; no bytes mean it is open.
    if not select.select([connection.fileno()], [], [], 0)[0]:
        return True
    try:
        connection.execute("")
    except psycopg.Error:
        return False
    return True


@contextmanager
def translate_errors(address: Address) -> Iterator[None]:
    """Turn the server's errors into one line that names the server and the next step.

    Raises:
        IndexCorrupt: If the stored rows are damaged.
        RunError: If the index cannot be read or written.
    """
    try:
        yield
    except DamagedRowError as error:
        raise _make_damage_error(address, str(error)) from error
    except (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted) as error:
        raise _make_damage_error(address, _summarise_error(error, address)) from error
    except psycopg.OperationalError as error:
        raise RunError(
            f"{address}: {_summarise_error(error, address)}; nothing was changed by what was "
            "going on: see "
            "that the server runs and has room, and try again"
        ) from error
    except psycopg.Error as error:
        raise RunError(f"{address}: {_summarise_error(error, address)}") from error


def _make_damage_error(address: Address, fault: str) -> IndexCorrupt:
    """Return the error for a damaged index."""
    return IndexCorrupt(
        f"{address} is damaged ({fault}); restore it from a backup or make the index anew with "
        "`fathom ingest --rebuild PATH...`"
    )


def _summarise_error(error: psycopg.Error, address: Address) -> str:
    """Return the server's message as one line, without the password or a document's text."""
    # The primary message never quotes rows; the detail does.
    message = (
        error.diag.message_primary or (str(error).strip().splitlines() or ["no reason told"])[-1]
    )
    message = message.rpartition("FATAL:")[2].strip()
    return message.replace(address.password, "***") if address.password else message
