"""The kept state of sources: what was added, and which objects were ingested in which state.

The index stays the only truth about documents. This state says which state of an object gave the
content that the index has; where it is lost, objects are fetched again and nothing else happens.
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
"""The number of objects in memory during an iteration."""
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
"""The columns of sources that files of earlier versions lack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSource:
    """A source that was added.

    Attributes:
        include: If there are any, objects must match one of these patterns.
        exclude: Objects must match none of these patterns.
        allow_private: Whether the host that the URL names may be inside of a private network.
        every: The interval of its synchronizations, such as `1h`; empty if somebody starts each.
        with_secrets: Whether it may use passwords of this machine.
        paused: Whether it is left out when all sources are synchronized.
        synced: When it was last synchronized, as ISO 8601 in UTC; empty if it never was.
        fault: Why the last synchronization was not complete; empty if it was.
        objects: The number of objects whose state is kept.
        running: Whether it is being synchronized now.
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
    objects: int = 0
    running: bool = False

    def is_due(self, now: datetime) -> bool:
        """Return whether its interval has passed since its last synchronization."""
        return not self.paused and is_over(self.every, self.synced, now)

    @property
    def is_folder(self) -> bool:
        """True for a folder of this machine; its URL is its path."""
        return self.url.startswith("/")


class ObjectState(NamedTuple):
    """The state of an object from which the index has its content.

    Attributes:
        token: The token with which it was listed.
        digest: The digest of its content, as the index records it.
    """

    address: str
    token: str
    digest: str


class SidecarState(NamedTuple):
    """The state of an object that names the readers of a document.

    Attributes:
        address: The address of the document.
        token: The token with which the object was listed; empty if it must be read again.
        readers: Those who may read the document.
    """

    address: str
    token: str
    readers: tuple[str, ...]


class SourceStore:
    """The state of all sources of an index, in one SQLite file that only its owner can read."""

    def __init__(self, directory: Path) -> None:
        """Create the store; a file is created with the first source."""
        self._path = directory / FILE

    def add(self, source: StoredSource) -> None:
        """Store a new source.

        Raises:
            UsageError: If there is one with this name, or with this URL.
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
        """Return all sources by name."""
        if not self._path.exists():
            return []
        with self._open() as connection:
            rows = connection.execute(
                "SELECT name, url, include, exclude, allow_private, every, with_secrets, paused, "
                "synced, fault, (SELECT count(*) FROM objects WHERE source = name) AS objects "
                "FROM sources ORDER BY name"
            )
            names = [column[0] for column in rows.description]
            return [_build_source(dict(zip(names, row, strict=True))) for row in rows]

    def get(self, name: str) -> StoredSource:
        """Return the source of this name.

        Raises:
            UsageError: If there is none.
        """
        source = next((source for source in self.list() if source.name == name), None)
        if source is None:
            raise UsageError(f"no source {name!r}; `fathom source list` shows them")
        return source

    def map_readers(self) -> Mapping[str, Clause]:
        """Return the readers that the sidecars of all sources name, by the documents' addresses."""
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
        """Store whether a source is left out when all are synchronized."""
        with self._open() as connection:
            connection.execute("UPDATE sources SET paused = ? WHERE name = ?", (paused, name))

    def set_outcome(self, name: str, synced: str, fault: str) -> None:
        """Store when a source was synchronized, and why that was not complete."""
        with self._open() as connection:
            connection.execute(
                "UPDATE sources SET synced = ?, fault = ? WHERE name = ?", (synced, fault, name)
            )

    def remove(self, name: str) -> None:
        """Remove a source with the state of its objects."""
        with self._open() as connection:
            connection.execute("DELETE FROM objects WHERE source = ?", (name,))
            connection.execute("DELETE FROM sidecars WHERE source = ?", (name,))
            connection.execute("DELETE FROM sources WHERE name = ?", (name,))

    @contextmanager
    def open_objects(self, name: str) -> "Iterator[ObjectStates]":
        """Open the states of the objects of a source for the length of a `with` block."""
        with closing(self._connect()) as connection:
            yield ObjectStates(connection, name, self._path)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the file in one transaction, which ends with the block."""
        with (
            closing(self._connect()) as connection,
            _explain_errors(self._path),
            connection,
        ):
            yield connection

    def _connect(self) -> sqlite3.Connection:
        with _explain_errors(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            create_private_file(self._path)
            # Several threads may take turns with it: one fetches, another one ingests.
            connection = sqlite3.connect(self._path, timeout=10, check_same_thread=False)
            for table in _TABLES:
                connection.execute(table)
            _add_columns(connection)
            return connection


def _add_columns(connection: sqlite3.Connection) -> None:
    """Add the columns that an earlier version did not make."""
    columns = {row[1] for row in connection.execute("PRAGMA table_info(sources)")}
    for name in _LATER_COLUMNS.keys() - columns:
        # Another process may have been faster.
        with suppress(sqlite3.OperationalError):
            connection.execute(f"ALTER TABLE sources ADD COLUMN {name} {_LATER_COLUMNS[name]}")


def _build_source(row: Mapping[str, Any]) -> StoredSource:
    lists = {key: tuple(json.loads(row[key])) for key in ("include", "exclude")}
    flags = {key: bool(row[key]) for key in ("allow_private", "with_secrets", "paused")}
    return StoredSource(**{**row, **lists, **flags})


@contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise RunError(f"{path}: {error}; check free space and permissions") from error


class ObjectStates:
    """The states of the objects of one source; each change is durable when it returns."""

    def __init__(self, connection: sqlite3.Connection, name: str, path: Path) -> None:
        """Use a connection that another one opened and closes."""
        self._connection, self._name, self._path = connection, name, path

    def get(self, address: str) -> ObjectState | None:
        """Return the state of an object, or `None`."""
        rows = self._select(
            "SELECT address, token, digest FROM objects WHERE source = ? AND address = ?",
            self._name,
            address,
        )
        return ObjectState(*rows[0]) if rows else None

    def put(self, states: Iterable[ObjectState]) -> None:
        """Store states of objects, in one step."""
        self._change(
            "INSERT OR REPLACE INTO objects(source, address, token, digest) VALUES (?, ?, ?, ?)",
            [(self._name, *state) for state in states],
        )

    def forget(self, addresses: Iterable[str]) -> None:
        """Forget the states of objects, in one step."""
        self._change(
            "DELETE FROM objects WHERE source = ? AND address = ?",
            [(self._name, address) for address in addresses],
        )

    def iterate_addresses(self) -> Iterator[str]:
        """Yield the addresses in order; the caller may change states meanwhile."""
        return self._iterate(
            "SELECT address FROM objects WHERE source = ? AND address > ? ORDER BY 1 LIMIT ?"
        )

    def get_sidecar(self, address: str) -> SidecarState | None:
        """Return the state of the sidecar of a document, or `None`."""
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
        """Store states of sidecars, in one step."""
        self._change(
            "INSERT OR REPLACE INTO sidecars(source, address, token, readers) VALUES (?, ?, ?, ?)",
            [
                (self._name, state.address, state.token, json.dumps(state.readers))
                for state in states
            ],
        )

    def forget_sidecars(self, addresses: Iterable[str]) -> None:
        """Forget the sidecars of documents, in one step."""
        self._change(
            "DELETE FROM sidecars WHERE source = ? AND address = ?",
            [(self._name, address) for address in addresses],
        )

    def iterate_sidecars(self) -> Iterator[str]:
        """Yield the addresses of the documents that have sidecars, as `iterate_addresses` does."""
        return self._iterate(
            "SELECT address FROM sidecars WHERE source = ? AND address > ? ORDER BY 1 LIMIT ?"
        )

    def _iterate(self, query: str) -> Iterator[str]:
        after = ""
        while page := self._select(query, self._name, after, PAGE):
            yield from (address for (address,) in page)
            after = page[-1][0]

    def is_shared(self, address: str) -> bool:
        """Return whether another source has an object of this address."""
        query = "SELECT 1 FROM objects WHERE address = ? AND source <> ? LIMIT 1"
        return bool(self._select(query, address, self._name))

    def _select(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with _explain_errors(self._path):
            return self._connection.execute(query, values).fetchall()

    def _change(self, statement: str, rows: Sequence[tuple[str, ...]]) -> None:
        with _explain_errors(self._path), self._connection:
            self._connection.executemany(statement, rows)
