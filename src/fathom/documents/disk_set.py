"""A set of texts that may be larger than memory."""

import sqlite3
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

AT_ONCE = 512
"""So many texts are held while one goes over all of them."""


class DiskSet:
    """Texts, each once, in their order; they lie in a file without a name that ends with this set.

    About two megabytes are in memory at most, however many there are. A context manager; what is
    not closed is closed when nobody holds it any more.
    """

    def __init__(self) -> None:
        """Nothing is in it."""
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("CREATE TABLE texts (text TEXT PRIMARY KEY) WITHOUT ROWID")
        self._size = 0

    def add(self, text: str) -> bool:
        """Put a text into it; whether it was not in it."""
        added = self._database.execute("INSERT OR IGNORE INTO texts VALUES (?)", (text,)).rowcount
        self._size += added
        return bool(added)

    def update(self, texts: Iterable[str]) -> None:
        """Put texts into it."""
        for text in texts:
            self.add(text)

    def __contains__(self, text: object) -> bool:
        found = self._database.execute("SELECT 1 FROM texts WHERE text = ?", (text,))
        return found.fetchone() is not None

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[str]:
        """In order; what is added meanwhile comes too if its turn has not been."""
        query = "SELECT text FROM texts WHERE text > ? ORDER BY text LIMIT ?"
        page = self._database.execute("SELECT text FROM texts ORDER BY text LIMIT ?", (AT_ONCE,))
        while texts := [text for (text,) in page.fetchall()]:
            yield from texts
            page = self._database.execute(query, (texts[-1], AT_ONCE))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._database.close()
