"""The traces of an embedded index, in one SQLite file of capped size.

The file is separate from the index, because a question's trace must be stored even while another
process writes to the index.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import astuple
from pathlib import Path

from typing_extensions import override

from fathom.errors import RunError
from fathom.index.embedded.database import create_private_file
from fathom.index.sql import SqlTransaction
from fathom.index.sql_traces import SqlTraces
from fathom.index.traces import (
    MAX_BYTES,
    SUMMARY_COLUMNS,
    StoredTrace,
    TraceStore,
    describe_damaged_traces,
)
from fathom.system import create_folder

FILE = "traces.db"

_TABLES = (
    "CREATE TABLE IF NOT EXISTS traces("
    "no INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, started_at TEXT NOT NULL, "
    "question TEXT NOT NULL, strategy TEXT NOT NULL, status TEXT NOT NULL, "
    "size INTEGER NOT NULL, data BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS held("
    'document TEXT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, mark TEXT NOT NULL, '
    'trace_no INTEGER NOT NULL, PRIMARY KEY(document, start, "end", mark, trace_no)'
    ") WITHOUT ROWID",
    "CREATE TRIGGER IF NOT EXISTS let_go AFTER DELETE ON traces "
    "BEGIN DELETE FROM held WHERE trace_no = OLD.no; END",
    "CREATE INDEX IF NOT EXISTS held_by ON held(trace_no)",
    "CREATE TABLE IF NOT EXISTS swept(revision TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS signals("
    "trace_no INTEGER PRIMARY KEY, strategy TEXT NOT NULL, data TEXT NOT NULL)",
    "CREATE TRIGGER IF NOT EXISTS let_go_of_signals AFTER DELETE ON traces "
    "BEGIN DELETE FROM signals WHERE trace_no = OLD.no; END",
    "CREATE TABLE IF NOT EXISTS warnings(trace_no INTEGER PRIMARY KEY, data TEXT NOT NULL)",
    "CREATE TRIGGER IF NOT EXISTS let_go_of_warnings AFTER DELETE ON traces "
    "BEGIN DELETE FROM warnings WHERE trace_no = OLD.no; END",
    "CREATE TABLE IF NOT EXISTS trace_owners(trace_no INTEGER PRIMARY KEY, owner TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS trace_owners_by_name ON trace_owners(owner)",
    "CREATE TABLE IF NOT EXISTS trace_documents(trace_no INTEGER NOT NULL, "
    "document TEXT NOT NULL, PRIMARY KEY(trace_no, document)) WITHOUT ROWID",
    "CREATE TRIGGER IF NOT EXISTS let_go_of_owners AFTER DELETE ON traces BEGIN "
    "DELETE FROM trace_owners WHERE trace_no = OLD.no; "
    "DELETE FROM trace_documents WHERE trace_no = OLD.no; END",
    "CREATE TABLE IF NOT EXISTS feedback("
    "no INTEGER PRIMARY KEY AUTOINCREMENT, trace_id TEXT NOT NULL UNIQUE, key TEXT NOT NULL, "
    "strategy TEXT NOT NULL, data TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS feedback_by_key ON feedback(key)",
    "CREATE TABLE IF NOT EXISTS feedback_held("
    'document TEXT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, mark TEXT NOT NULL, '
    'feedback_no INTEGER NOT NULL, PRIMARY KEY(document, start, "end", mark, feedback_no)'
    ") WITHOUT ROWID",
    "CREATE TRIGGER IF NOT EXISTS let_go_of_feedback AFTER DELETE ON feedback "
    "BEGIN DELETE FROM feedback_held WHERE feedback_no = OLD.no; END",
)


class EmbeddedTraces(SqlTraces):
    """The `TraceStore` of an embedded index, safe for threads and processes."""

    scope = "TRUE"
    owner = ("", "")
    signals = "(SELECT signals.data FROM signals WHERE trace_no = traces.no)"
    warnings = "(SELECT warnings.data FROM warnings WHERE trace_no = traces.no)"

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES) -> None:
        """Open the file, or create it, readable by its owner only.

        Args:
            path: The SQLite file; its folder must exist.
            max_bytes: The size beyond which the oldest traces are dropped, in bytes of compressed
                data.

        Raises:
            RunError: If the file cannot be opened or is no database.
        """
        super().__init__(max_bytes)
        self.path = path
        self._lock = threading.Lock()
        with self._name_failures():
            create_private_file(path)
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._connection.execute("PRAGMA busy_timeout = 10000")
            self._connection.execute("PRAGMA secure_delete = ON")
            with self._begin():
                for table in _TABLES:
                    self._connection.execute(table)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")

    @override
    def _insert_trace(self, transaction: SqlTransaction, stored: StoredTrace) -> int | None:
        summary = stored.summary
        insert = self._build_insert("traces", *SUMMARY_COLUMNS.split(", "), "data")
        rows = transaction.execute(
            f"{insert} ON CONFLICT DO NOTHING RETURNING no", (*astuple(summary), stored.data)
        )
        if not rows:
            return None
        [(number,)] = rows
        if stored.signals:
            transaction.execute(
                "INSERT INTO signals VALUES (?, ?, ?)", (number, summary.strategy, stored.signals)
            )
        if stored.warnings:
            transaction.execute("INSERT INTO warnings VALUES (?, ?)", (number, stored.warnings))
        return int(number)

    @override
    def close(self) -> None:
        self._connection.close()

    @override
    def _erase(self) -> None:
        # Deleted rows would stay readable in the log until later writes overwrite it.
        with self._lock, self._name_failures():
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @override
    @contextmanager
    def _begin(self, *, write: bool = True) -> Iterator[SqlTransaction]:
        with self._lock, self._name_failures():
            self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield SqlTransaction(self._connection)
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _name_failures(self) -> Iterator[None]:
        """Turn errors of the file into a `RunError` that names it and the next step."""
        try:
            yield
        except OSError as error:
            raise RunError(f"{self.path}: {error.strerror}; traces cannot be kept there") from error
        except sqlite3.OperationalError as error:
            raise RunError(f"{self.path}: {error}; check free space and permissions") from error
        except sqlite3.Error as error:
            raise RunError(
                f"{self.path}: {error}; restore it from a backup, or delete the file: "
                "it holds nothing but traces and feedback"
            ) from error


def open_traces(directory: Path, *, max_bytes: int) -> EmbeddedTraces:
    """Open the traces of an index in a directory, which is created if missing.

    Raises:
        RunError: If they cannot be opened.
    """
    try:
        create_folder(directory)
    except OSError as error:
        raise RunError(f"{directory}: {error.strerror}; traces cannot be kept there") from error
    return EmbeddedTraces(directory / FILE, max_bytes=max_bytes)


def move_traces(directory: Path, store: TraceStore) -> None:
    """Move the traces and feedback in a directory, if there are any, to another store.

    Their file is deleted at the end; after a kill before that, the next call copies what the other
    store lacks.

    Raises:
        RunError: If they cannot be read or stored; the file then stays.
    """
    file = directory / FILE
    if not file.is_file():
        return
    with EmbeddedTraces(file) as old_store:
        store.import_records(old_store.export_records())
    for path in (file, *directory.glob(f"{FILE}-*")):
        path.unlink(missing_ok=True)


def verify_trace_file(file: Path) -> list[str]:
    """Return a line for each fault of the traces in a file; none if they are sound."""
    next_step = "delete the file: it holds nothing but traces and feedback"
    try:
        with closing(
            sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
        ) as connection:
            faults = [row[0] for row in connection.execute("PRAGMA integrity_check")]
            findings = [f"{file}: {fault}; {next_step}" for fault in faults if fault != "ok"]
            return [
                *findings,
                *describe_damaged_traces(connection.execute("SELECT id, data FROM traces")),
            ]
    except sqlite3.Error as error:
        return [f"{file}: {error}; {next_step}"]
