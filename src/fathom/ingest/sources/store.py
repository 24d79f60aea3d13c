"""The stored state of sources: which were added, and which state of each object was ingested.

Only the index tells which documents there are. This file tells from which state of an object the
content in the index came. If it is lost, the sources must be added again, and all objects are
fetched again; no document is lost.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from fathom.errors import RunError, UsageError
from fathom.index.embedded.database import create_private_file
from fathom.index.rights import EVERYBODY, Clause, join_clauses
from fathom.ingest.sources.interval import is_over

FILE = "sources.db"
PAGE = 512
"""The number of objects that are in memory at a time during an iteration."""
_TABLES = (
    "CREATE TABLE IF NOT EXISTS sources(name TEXT PRIMARY KEY, url TEXT NOT NULL, "
    "include TEXT NOT NULL, exclude TEXT NOT NULL, allow_private INTEGER NOT NULL, "
    "paused INTEGER NOT NULL DEFAULT 0, synced TEXT NOT NULL DEFAULT '', "
    "fault TEXT NOT NULL DEFAULT '') WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS objects(source TEXT NOT NULL, address TEXT NOT NULL, "
    "token TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY(source, address)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS objects_by_address ON objects(address)",
    "CREATE TABLE IF NOT EXISTS sidecars(source TEXT NOT NULL, address TEXT NOT NULL, "
    "token TEXT NOT NULL, readers TEXT NOT NULL, PRIMARY KEY(source, address)) WITHOUT ROWID",
)


_LATER_COLUMNS = {
    "every": "TEXT NOT NULL DEFAULT ''",
    "with_secrets": "INTEGER NOT NULL DEFAULT 1",
}
"""The columns of the table `sources` that files of earlier versions do not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSource:
    """A source that was added.

    Attributes:
        name: The name of the source.
        url: Its URL, as `normalize_url` returns it; an absolute path for a folder.
        include: The patterns of the names of objects to read; if empty, all are read.
        exclude: The patterns of the names of objects not to read.
        allow_private: Whether the host in the URL may be in a private network.
        every: The interval of synchronizations, such as `1h`; empty if each is started by hand.
        with_secrets: Whether the source may use passwords of this machine.
        paused: Whether the source is left out when all sources are synchronized.
        synced: The time of the last synchronization, as ISO 8601 in UTC; empty if there was none.
        fault: The reason why the last synchronization was not complete; empty if it was complete.
        documents: The number of documents, which are the objects whose state is stored.
        running: Whether the source is being synchronized now. `SourceStore` leaves it False.
    """

    name: str
    url: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    allow_private: bool = False
    every: str = ""
    with_secrets: bool = True
    paused: bool = False
    synced: str = ""
    fault: str = ""
    documents: int = 0
    running: bool = False

    def is_due(self, now: datetime) -> bool:
        """Return whether the source is to be synchronized now, a time with a time zone."""
        return not self.paused and is_over(self.every, self.synced, now)

    @property
    def is_folder(self) -> bool:
        """True for a folder of this machine, whose URL is its path."""
        return self.url.startswith("/")


class ObjectState(NamedTuple):
    """The state of an object from which the content in the index came.

    Attributes:
        address: The address of the object.
        token: The token with which the object was listed.
        digest: The digest in the index's record of the address; empty if there is no record.
    """

    address: str
    token: str
    digest: str


class SidecarState(NamedTuple):
    """The state of an object that names the readers of a document.

    Attributes:
        address: The address of the document.
        token: The token with which the object was listed; empty if it must be read again.
        readers: The names of those who may read the document; empty if nobody may.
    """

    address: str
    token: str
    readers: tuple[str, ...]


class SourceStore:
    """The state of all sources of an index, in one SQLite file that only its owner can read.

    Each change is durable when its method returns.

    Raises:
        RunError: By all methods, if the file cannot be read or written.
    """

    def __init__(self, directory: Path) -> None:
        """Create the store; its file in the directory is created with the first source."""
        self._path = directory / FILE

    def add(self, source: StoredSource) -> None:
        """Store a new source.

        Raises:
            UsageError: If there is a source with this name or this URL.
        """
        for other in self.list():
            if source.name == other.name or source.url == other.url:
                raise UsageError(
                    f"the source {other.name} is there already; remove it first, or use --name"
                )
        with self._open() as connection:
            connection.execute(
                "INSERT INTO sources(name, url, include, exclude, allow_private, every, "
                "with_secrets) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    *(source.name, source.url, json.dumps(source.include)),
                    *(json.dumps(source.exclude), source.allow_private),
                    *(source.every, source.with_secrets),
                ),
            )

    def list(self) -> list[StoredSource]:
        """Return all sources in the order of their names."""
        if not self._path.exists():
            return []
        with self._open() as connection:
            rows = connection.execute(
                "SELECT name, url, include, exclude, allow_private, every, with_secrets, paused, "
                "synced, fault, (SELECT count(*) FROM objects WHERE source = name) AS documents "
                "FROM sources ORDER BY name"
            )
            names = [column[0] for column in rows.description]
            return [_build_source(dict(zip(names, row, strict=True))) for row in rows]

    def get(self, name: str) -> StoredSource:
        """Return the source of a name.

        Raises:
            UsageError: If there is no such source.
        """
        source = next((source for source in self.list() if source.name == name), None)
        if source is None:
            raise UsageError(f"no source {name!r}; `fathom source list` shows them")
        return source

    def map_readers(self) -> Mapping[str, Clause]:
        """Return the readers in the sidecars of all sources, by the addresses of documents.

        If several sources have a sidecar for a document, readers must be allowed by each.
        """
        if not self._path.exists():
            return {}
        readers: dict[str, Clause] = {}
        with self._open() as connection:
            for address, data in connection.execute("SELECT address, readers FROM sidecars"):
                readers[address] = join_clauses(
                    readers.get(address, (EVERYBODY,)), tuple(json.loads(data))
                )
        return readers

    def set_paused(self, name: str, *, paused: bool) -> None:
        """Store whether a source is left out when all are synchronized; ignore an unknown name."""
        with self._open() as connection:
            connection.execute("UPDATE sources SET paused = ? WHERE name = ?", (paused, name))

    def set_outcome(self, name: str, synced: str, fault: str) -> None:
        """Store the time of a synchronization (ISO 8601, UTC), and why it was not complete."""
        with self._open() as connection:
            connection.execute(
                "UPDATE sources SET synced = ?, fault = ? WHERE name = ?", (synced, fault, name)
            )

    def remove(self, name: str) -> None:
        """Remove a source with the states of its objects and sidecars; ignore an unknown name."""
        with self._open() as connection:
            connection.execute("DELETE FROM objects WHERE source = ?", (name,))
            connection.execute("DELETE FROM sidecars WHERE source = ?", (name,))
            connection.execute("DELETE FROM sources WHERE name = ?", (name,))

    @contextmanager
    def open_objects(self, name: str) -> "Iterator[ObjectStates]":
        """Open the states of the objects of a source for a `with` block."""
        with closing(self._connect()) as connection:
            yield ObjectStates(connection, name, self._path)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the file for a `with` block, which is one transaction."""
        with (
            closing(self._connect()) as connection,
            _explain_errors(self._path),
            connection,
        ):
            yield connection

    def _connect(self) -> sqlite3.Connection:
        """Open the file, and create or update its tables."""
        with _explain_errors(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            create_private_file(self._path)
            # Several threads may use the connection in turns: one fetches, another one ingests.
            connection = sqlite3.connect(self._path, timeout=10, check_same_thread=False)
            for table in _TABLES:
                connection.execute(table)
            _add_columns(connection)
            return connection


def _add_columns(connection: sqlite3.Connection) -> None:
    """Add the columns that a file of an earlier version does not have."""
    columns = {row[1] for row in connection.execute("PRAGMA table_info(sources)")}
    for name in _LATER_COLUMNS.keys() - columns:
        # It fails if another process has just added the column.
        with suppress(sqlite3.OperationalError):
            connection.execute(f"ALTER TABLE sources ADD COLUMN {name} {_LATER_COLUMNS[name]}")


def _build_source(row: Mapping[str, Any]) -> StoredSource:
    """Return the source of a row of the table."""
    lists = {key: tuple(json.loads(row[key])) for key in ("include", "exclude")}
    flags = {key: bool(row[key]) for key in ("allow_private", "with_secrets", "paused")}
    return StoredSource(**{**row, **lists, **flags})


@contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    """Turn errors of the file in a `with` block into a `RunError`."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        # The text of an `OSError` has its number and names the file again.
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise RunError(f"{path}: {reason}; check free space and permissions") from error


class ObjectStates:
    """The states of the objects and sidecars of one source.

    Each change is durable when its method returns.

    Raises:
        RunError: By all methods, if the file cannot be read or written.
    """

    def __init__(self, connection: sqlite3.Connection, name: str, path: Path) -> None:
        """Create the states of a source.

        Args:
            connection: The open file, which the caller closes.
            name: The name of the source.
            path: The path of the file for messages.
        """
        self._connection, self._name, self._path = connection, name, path

    def get(self, address: str) -> ObjectState | None:
        """Return the state of the object of an address; `None` if none is stored."""
        rows = self._select(
            "SELECT address, token, digest FROM objects WHERE source = ? AND address = ?",
            self._name,
            address,
        )
        return ObjectState(*rows[0]) if rows else None

    def put(self, states: Iterable[ObjectState]) -> None:
        """Store states of objects in one transaction; earlier ones are replaced."""
        self._change(
            "INSERT OR REPLACE INTO objects(source, address, token, digest) VALUES (?, ?, ?, ?)",
            [(self._name, *state) for state in states],
        )

    def forget(self, addresses: Iterable[str]) -> None:
        """Remove the states of objects in one transaction."""
        self._change(
            "DELETE FROM objects WHERE source = ? AND address = ?",
            [(self._name, address) for address in addresses],
        )

    def iterate_addresses(self) -> Iterator[str]:
        """Yield the addresses of objects in order; states may be changed meanwhile."""
        return self._iterate(
            "SELECT address FROM objects WHERE source = ? AND address > ? ORDER BY 1 LIMIT ?"
        )

    def get_sidecar(self, address: str) -> SidecarState | None:
        """Return the state of the sidecar of a document; `None` if none is stored."""
        rows = self._select(
            "SELECT address, token, readers FROM sidecars WHERE source = ? AND address = ?",
            self._name,
            address,
        )
        if not rows:
            return None
        ((_, token, readers),) = rows
        return SidecarState(address, token, tuple(json.loads(readers)))

    def put_sidecars(self, states: Iterable[SidecarState]) -> None:
        """Store states of sidecars in one transaction; earlier ones are replaced."""
        self._change(
            "INSERT OR REPLACE INTO sidecars(source, address, token, readers) VALUES (?, ?, ?, ?)",
            [
                (self._name, state.address, state.token, json.dumps(state.readers))
                for state in states
            ],
        )

    def forget_sidecars(self, addresses: Iterable[str]) -> None:
        """Remove the states of sidecars in one transaction, by the addresses of documents."""
        self._change(
            "DELETE FROM sidecars WHERE source = ? AND address = ?",
            [(self._name, address) for address in addresses],
        )

    def iterate_sidecars(self) -> Iterator[str]:
        """Yield the addresses of documents with sidecars; states may be changed meanwhile."""
        return self._iterate(
            "SELECT address FROM sidecars WHERE source = ? AND address > ? ORDER BY 1 LIMIT ?"
        )

    def _iterate(self, query: str) -> Iterator[str]:
        """Yield the results of a query page by page; it gets source, last address and page size."""
        after = ""
        while page := self._select(query, self._name, after, PAGE):
            yield from (address for (address,) in page)
            after = page[-1][0]

    def is_shared(self, address: str) -> bool:
        """Return whether another source has an object of this address."""
        query = "SELECT 1 FROM objects WHERE address = ? AND source <> ? LIMIT 1"
        return bool(self._select(query, address, self._name))

    def _select(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with _explain_errors(self._path):
            return self._connection.execute(query, values).fetchall()

    def _change(self, statement: str, rows: Sequence[tuple[str, ...]]) -> None:
        """Run a statement with each row of values, in one transaction."""
        with _explain_errors(self._path), self._connection:
            self._connection.executemany(statement, rows)
