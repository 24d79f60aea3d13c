"""Tables of `fathom serve` in a SQLite file beside an index, readable by its owner only."""

import os
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fathom.errors import RunError


class FileDatabase:
    """A `Database` in one SQLite file, safe for threads and processes."""

    clock = "(julianday('now') - 2440587.5) * 86400.0"
    is_near = True

    def __init__(self, path: Path, tables: Sequence[str]) -> None:
        """Prepare the database; nothing is opened before the first statement.

        Args:
            path: The SQLite file, which the first statement creates if it is missing.
            tables: The statements that create missing tables.
        """
        self.path = path
        self._tables = tables
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file = (0, 0)  # the open file, as `_identify` names it

    def is_there(self) -> bool:
        """Return whether the file exists."""
        return self._connection is not None or self.path.exists()

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows.

        If another file has replaced the file in use, the statement runs in the new one.

        Raises:
            RunError: If the file cannot be used.
        """
        with self._lock:
            try:
                self._leave_replaced_file()
                self._connection = self._connection or self._open()
                with self._connection:
                    return self._connection.execute(statement, values).fetchall()
            except (OSError, sqlite3.Error) as error:
                # The text of an `OSError` has its number and names the file again.
                reason = (isinstance(error, OSError) and error.strerror) or error
                message = f"{self.path}: {reason}; check free space and permissions"
                raise RunError(message) from error

    def close(self) -> None:
        """Close the file; the next statement opens it again."""
        with self._lock:
            self._disconnect()

    def _disconnect(self) -> None:
        """Close the connection if it is open; the caller holds the lock."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _leave_replaced_file(self) -> None:
        """Disconnect from a file that another one has replaced; a deleted file stays in use."""
        if self._connection is None:
            return
        with suppress(FileNotFoundError):
            if _identify(self.path.stat()) != self._file:
                self._disconnect()

    def _open(self) -> sqlite3.Connection:
        """Open the file, and create it and its tables if they are missing."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        create_private_file(self.path)
        self._file = _identify(self.path.stat())
        connection = sqlite3.connect(self.path, check_same_thread=False)
        connection.execute("PRAGMA busy_timeout = 10000")
        connection.execute("PRAGMA secure_delete = ON")
        for table in self._tables:
            connection.execute(table)
        connection.commit()
        return connection


def _identify(status: os.stat_result) -> tuple[int, int]:
    """Return a value that no other file has at the same time."""
    return status.st_dev, status.st_ino


def create_private_file(file: Path) -> None:
    """Create a file that only its owner can read; one that exists stays as it is.

    SQLite would let others read a new file, and gives its logs the permissions of the file. A file
    that exists is not opened, because closing it would release all locks that this process has on
    it, and another process could then remove its log.
    """
    with suppress(FileExistsError):
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        os.close(os.open(os.path.realpath(file), flags, 0o600))
