"""A small SQLite file beside an index, readable by its owner only."""

import os
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fathom.errors import RunError


class FileDatabase:
    """See `Database`; safe from threads and processes."""

    clock = "(julianday('now') - 2440587.5) * 86400.0"
    is_near = True

    def __init__(self, path: Path, tables: Sequence[str]) -> None:
        """Nothing is opened or made before it is needed.

        Args:
            path: The file.
            tables: Make what is not there yet.
        """
        self.path = path
        self._tables = tables
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file = (0, 0)  # what is connected, see `_identify`

    def is_there(self) -> bool:
        """Whether there is a file yet."""
        return self._connection is not None or self.path.exists()

    def ask(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run one statement; gives its rows.

        A file that has been put in the place of the one in use is used from then on.

        Raises:
            RunError: If the file cannot be used.
        """
        with self._lock:
            try:
                self._let_go_of_another()
                self._connection = self._connection or self._opened()
                with self._connection:
                    return self._connection.execute(statement, values).fetchall()
            except (OSError, sqlite3.Error) as error:
                told = f"{self.path}: {error}; check free space and permissions"
                raise RunError(told) from error

    def close(self) -> None:
        """Let go of the file; it may be used again."""
        with self._lock:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _let_go_of_another(self) -> None:
        """Disconnect from a file in whose place another stands; one that is gone stays in use."""
        if self._connection is None:
            return
        with suppress(FileNotFoundError):
            if _identify(self.path.stat()) != self._file:
                self._disconnect()

    def _opened(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        made = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._file = _identify(os.fstat(made))
        finally:
            os.close(made)
        connection = sqlite3.connect(self.path, check_same_thread=False)
        connection.execute("PRAGMA busy_timeout = 10000")
        connection.execute("PRAGMA secure_delete = ON")
        for table in self._tables:
            connection.execute(table)
        connection.commit()
        return connection


def _identify(found: os.stat_result) -> tuple[int, int]:
    """Tell a file from all others that are there at the same time."""
    return found.st_dev, found.st_ino
