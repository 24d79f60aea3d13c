"""A listing of a source on disk, because a source may have more objects than memory holds."""

import sqlite3
from collections.abc import Iterator
from typing import Self

from fathom.ingest.sources.base import SourceObject

PAGE = 512
"""The number of objects that are in memory at a time during an iteration."""


class DiskListing:
    """Listed objects in their order, in an unnamed temporary file that `close` removes."""

    def __init__(self) -> None:
        """Create an empty listing."""
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute(
            "CREATE TABLE objects(no INTEGER PRIMARY KEY, address TEXT NOT NULL UNIQUE, "
            "name TEXT NOT NULL, token TEXT NOT NULL)"
        )

    def add(self, item: SourceObject) -> bool:
        """Add an object; return False, and add nothing, if its address was added before."""
        statement = "INSERT OR IGNORE INTO objects(address, name, token) VALUES (?, ?, ?)"
        return bool(
            self._database.execute(statement, (item.address, item.name, item.token)).rowcount
        )

    def get(self, address: str) -> SourceObject | None:
        """Return the object of an address; `None` if it was not added."""
        query = "SELECT name, token FROM objects WHERE address = ?"
        row = self._database.execute(query, (address,)).fetchone()
        return None if row is None else SourceObject(name=row[0], address=address, token=row[1])

    def __contains__(self, address: object) -> bool:
        query = "SELECT 1 FROM objects WHERE address = ?"
        return self._database.execute(query, (address,)).fetchone() is not None

    def __len__(self) -> int:
        (number,) = self._database.execute("SELECT count(*) FROM objects").fetchone()
        return int(number)

    def __iter__(self) -> Iterator[SourceObject]:
        """Iterate in the order in which objects were added; more may be added meanwhile."""
        last = 0
        query = "SELECT no, name, address, token FROM objects WHERE no > ? ORDER BY no LIMIT ?"
        while rows := self._database.execute(query, (last, PAGE)).fetchall():
            for _, name, address, token in rows:
                yield SourceObject(name=name, address=address, token=token)
            last = rows[-1][0]

    def close(self) -> None:
        """Remove the file; a second call does nothing."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
