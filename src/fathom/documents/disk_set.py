"""A set of texts that may be larger than memory."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Self

BATCH_SIZE = 512
"""The number of texts that an iteration reads at a time."""


class DiskSet:
    """A sorted set of texts in an unnamed temporary file, which is deleted with the set.

    It takes about two megabytes of memory at most, however many texts it has. It is a context
    manager; a set that is not closed is closed when it is garbage-collected.
    """

    def __init__(self) -> None:
        """Create an empty set."""
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("CREATE TABLE texts (text TEXT PRIMARY KEY) WITHOUT ROWID")
        self._size = 0

    def add(self, text: str) -> bool:
        """Add a text and return whether it is new."""
        added = self._database.execute("INSERT OR IGNORE INTO texts VALUES (?)", (text,)).rowcount
        self._size += added
        return bool(added)

    def update(self, texts: Iterable[str]) -> None:
        """Add several texts."""
        for text in texts:
            self.add(text)

    def __contains__(self, text: object) -> bool:
        rows = self._database.execute("SELECT 1 FROM texts WHERE text = ?", (text,))
        return rows.fetchone() is not None

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[str]:
        """Iterate in order; a text added meanwhile is yielded if its position is still ahead."""
        # A new query for each page, because an open cursor would not allow additions meanwhile.
        query = "SELECT text FROM texts WHERE text > ? ORDER BY text LIMIT ?"
        page = self._database.execute("SELECT text FROM texts ORDER BY text LIMIT ?", (BATCH_SIZE,))
        while texts := [text for (text,) in page.fetchall()]:
            yield from texts
            page = self._database.execute(query, (texts[-1], BATCH_SIZE))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._database.close()
