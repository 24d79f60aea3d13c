"""Connections to a server: few, kept open, and every error in one line without a password."""

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
from fathom.index.postgres.halfvec import register
from fathom.index.rows import Damaged

Connection = psycopg.Connection[TupleRow]

CONNECT_S = 10
KEPT = 4
EXPANSION_SEARCH = 200
"""So many chunks a graph of neighbours gives at once."""
SETTINGS = (
    "SET default_transaction_isolation = 'read committed'",
    "SET default_transaction_read_only = off",
    "SET search_path = pg_catalog, fathom, public, extensions",
    f"SET hnsw.ef_search = {EXPANSION_SEARCH}",
    "SET hnsw.iterative_scan = strict_order",  # more at a time where those were removed
    "SET hnsw.max_scan_tuples = 100000",
    "SET jit = off",
    "SET max_parallel_workers_per_gather = 0",  # to start others takes as long as a search
)
"""Of each connection. What is searched for is found by exact order, whatever it takes."""
_REFUSED = (
    psycopg.errors.InvalidPassword,
    psycopg.errors.InvalidAuthorizationSpecification,
    psycopg.errors.InvalidCatalogName,
)


def connect(address: Address) -> Connection:
    """A connection of its own.

    Raises:
        UsageError: If the server does not know the user, the password or the database.
        RunError: If it cannot be reached.
    """
    name = f"fathom, process {os.getpid()} on {socket.gethostname()}"[:63]
    given: dict[str, str] = {
        "connect_timeout": str(CONNECT_S),
        "application_name": name,
        "client_encoding": "UTF8",
        **address.connection(),
    }
    try:
        connection = psycopg.connect(autocommit=True, **given)  # type: ignore[arg-type]
    except psycopg.OperationalError as error:
        raise _unreachable(address, error) from None  # its chain may hold the password
    except psycopg.Error as error:
        raise UsageError(f"the index's URL is malformed: {_line(error, address)}") from None
    try:
        register(connection)
        connection.execute("; ".join(SETTINGS))
    except psycopg.Error as error:
        connection.close()
        raise RunError(f"{address}: {_line(error, address)}") from None
    return connection


def _unreachable(address: Address, error: psycopg.OperationalError) -> FathomError:
    told = _line(error, address)
    refused = ("password", "authentication", "role ", "database ", "pg_hba.conf")
    # That a password is wanted is libpq's own word; all else the server says.
    said = "FATAL" in str(error) or "no password supplied" in told
    if isinstance(error, _REFUSED) or (said and any(sign in told for sign in refused)):
        return UsageError(
            f"{address.server} refuses index.url ({told}); check user, password and database there"
        )
    return RunError(
        f"{address.server} cannot be reached ({told}); see that PostgreSQL runs there and that "
        "index.url names it"
    )


class Connections:
    """Connections of one address, each used by one thread at a time; they see one workspace."""

    def __init__(self, address: Address) -> None:
        """Nothing is connected before it is needed."""
        self.address = address
        self._lock = threading.Lock()
        self._free: list[Connection] = []
        self._workspace: int | None = None
        self._closed = False

    def enter(self, workspace: int) -> None:
        """From now on connections see the rows of this workspace alone; see `schema`."""
        with self._lock:
            self._workspace = workspace
            for each in self._free:
                each.close()
            self._free.clear()

    @contextmanager
    def taken(self) -> Iterator[Connection]:
        """A connection for the `with` block, in no transaction.

        Raises:
            RunError: If the server cannot be reached, or ends what is inside.
            IndexCorrupt: If what is stored there is damaged.
        """
        with named(self.address):
            connection = self.take()
            try:
                yield connection
            finally:
                self.give_back(connection)

    def take(self) -> Connection:
        """A connection in no transaction, to be given back."""
        with self._lock:
            while self._free:
                found = self._free.pop()
                if _is_alive(found):
                    return found
                found.close()
        made = connect(self.address)
        if self._workspace is not None:
            made.execute(
                "SELECT set_config('fathom.workspace', %s, false)", (str(self._workspace),)
            )
        return made

    def give_back(self, connection: Connection) -> None:
        """Take back a connection; what was not committed in it is undone."""
        with suppress(psycopg.Error):  # it is broken, which is seen below
            connection.rollback()
        idle = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            if idle and not self._closed and len(self._free) < KEPT:
                self._free.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close all; calling it twice is fine."""
        with self._lock:
            self._closed = True
            for each in self._free:
                each.close()
            self._free.clear()


def _is_alive(connection: Connection) -> bool:
    """Whether the server has not ended it while nobody looked."""
    if connection.closed:
        return False
    if not select.select([connection.fileno()], [], [], 0)[0]:
        return True
    try:
        connection.execute("")
    except psycopg.Error:
        return False
    return True


@contextmanager
def named(address: Address) -> Iterator[None]:
    """Turn complaints of the server into one line that names it and the next step.

    Raises:
        IndexCorrupt: If what is stored is damaged.
        RunError: If it cannot be read or written.
    """
    try:
        yield
    except Damaged as error:
        raise _damaged(address, str(error)) from error
    except (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted) as error:
        raise _damaged(address, _line(error, address)) from error
    except psycopg.OperationalError as error:
        raise RunError(
            f"{address}: {_line(error, address)}; nothing was changed by what was going on: see "
            "that the server runs and has room, and try again"
        ) from error
    except psycopg.Error as error:
        raise RunError(f"{address}: {_line(error, address)}") from error


def _damaged(address: Address, fault: str) -> IndexCorrupt:
    return IndexCorrupt(
        f"{address} is damaged ({fault}); restore it from a backup or make the index anew with "
        "`fathom ingest --rebuild PATH...`"
    )


def _line(error: psycopg.Error, address: Address) -> str:
    """What the server says, in one line; never the password, nor a document's text."""
    told = error.diag.message_primary or (str(error).strip().splitlines() or ["no reason told"])[-1]
    told = told.rpartition("FATAL:")[2].strip()
    return told.replace(address.password, "***") if address.password else told
