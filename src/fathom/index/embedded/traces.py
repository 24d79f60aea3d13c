"""Traces beside an index in a directory: one SQLite file, capped in size.

A file of its own, because a question is asked, and its trace stored, also while another process
writes to the index.
"""

import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import Any, Self

from fathom.errors import RunError
from fathom.index.base import IndexReader
from fathom.index.feedback import Feedback
from fathom.index.trace_retention import Held, Looked
from fathom.index.traces import (
    LISTED,
    MAX_BYTES,
    Kept,
    KeptFeedback,
    KeptTrace,
    TraceStore,
    TraceSummary,
    check_rank,
    damaged,
    dropped,
    kept_of,
    listed,
    the_only,
    unpacked,
)
from fathom.jsonable import canonical
from fathom.runs.trace import Trace

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


class EmbeddedTraces:
    """The traces of an index in a directory; see `TraceStore`. Safe from threads and processes."""

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES) -> None:
        """Open the file, or make it, readable by its owner only.

        Args:
            path: The SQLite file; its folder must exist.
            max_bytes: Beyond it the oldest traces go. What is stored is compressed.

        Raises:
            RunError: If the file cannot be opened or is no database.
        """
        self.path = path
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        with self._named():
            # SQLite gives the log the permissions of the file, so it must be there first.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._connection.execute("PRAGMA busy_timeout = 10000")
            self._connection.execute("PRAGMA secure_delete = ON")
            with self._transaction():
                for table in _TABLES:
                    self._connection.execute(table)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")

    def put(self, trace: Trace, *, held: Iterable[Held] = (), warnings: Sequence[str] = ()) -> None:
        """See `TraceStore.put`."""
        with self._transaction():
            if self._insert(kept_of(trace, held, warnings)):
                self._evict()

    def _insert(self, kept: KeptTrace) -> bool:
        row = (*astuple(kept.summary), kept.data)
        cursor = self._connection.execute(
            "INSERT OR IGNORE INTO traces(id, started_at, question, strategy, status, size, "
            "data) VALUES (?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        if not cursor.rowcount:
            return False
        number = cursor.lastrowid
        if kept.signals:
            self._connection.execute(
                "INSERT INTO signals VALUES (?, ?, ?)",
                (number, kept.summary.strategy, kept.signals),
            )
        if kept.warnings:
            self._connection.execute("INSERT INTO warnings VALUES (?, ?)", (number, kept.warnings))
        self._connection.executemany(
            "INSERT OR IGNORE INTO held VALUES (?, ?, ?, ?, ?)",
            [(*astuple(text), number) for text in kept.held],
        )
        # The index may have changed while the question was answered.
        self._connection.execute("DELETE FROM swept WHERE revision <> ?", (kept.revision,))
        return True

    def get(self, trace_id: str) -> Trace:
        """See `TraceStore.get`."""
        found = self._find(trace_id)
        rows = self._rows("SELECT data FROM traces WHERE id = ?", found)
        if not rows:
            raise dropped(trace_id)
        return unpacked(found, rows[0][0])

    def warnings(self, trace_id: str) -> tuple[str, ...]:
        """See `TraceStore.warnings`."""
        rows = self._rows(
            "SELECT warnings.data FROM warnings JOIN traces ON traces.no = trace_no "
            "WHERE traces.id = ?",
            trace_id,
        )
        return tuple(json.loads(rows[0][0])) if rows else ()

    def list(self, limit: int = 50) -> tuple[TraceSummary, ...]:
        """See `TraceStore.list`."""
        rows = self._rows(f"SELECT {LISTED} FROM traces ORDER BY no DESC LIMIT ?", limit)  # noqa: S608 - constant
        return tuple(listed(row) for row in rows)

    def delete(self, trace_id: str) -> str:
        """See `TraceStore.delete`."""
        found = self._find(trace_id)
        with self._transaction():
            self._connection.execute("DELETE FROM traces WHERE id = ?", (found,))
            self._connection.execute("DELETE FROM feedback WHERE trace_id = ?", (found,))
        self._empty_log()
        return found

    def sweep(self, index: IndexReader) -> int:
        """See `TraceStore.sweep`."""
        revision = index.revision()
        if self._swept() == revision:
            return 0
        looked_up = Looked(index)
        with self._transaction(write=False):
            held = self._all_held()
        looked_up.gone(held)
        with self._transaction():
            gone = looked_up.gone(self._all_held())  # some may have come meanwhile
            removed = sum(self._remove(text) for text in gone)
            forgotten = sum(self._forget(text) for text in gone)
            self._connection.execute("DELETE FROM swept")
            self._connection.execute("INSERT INTO swept VALUES (?)", (revision,))
        if removed or forgotten:
            self._empty_log()
        return removed

    def signals(self, strategy: str, limit: int) -> tuple[Mapping[str, float], ...]:
        """See `TraceStore.signals`."""
        rows = self._rows(
            "SELECT data FROM signals WHERE strategy = ? ORDER BY trace_no DESC LIMIT ?",
            strategy,
            limit,
        )
        return tuple(json.loads(row[0]) for row in rows)

    def put_feedback(self, feedback: Feedback, *, held: Iterable[Held] = ()) -> None:
        """See `TraceStore.put_feedback`."""
        with self._transaction():
            self._replace(KeptFeedback(feedback, tuple(held)))

    def _replace(self, kept: KeptFeedback) -> None:
        execute, said = self._connection.execute, kept.feedback
        forget = "DELETE FROM feedback WHERE trace_id = ? RETURNING data"
        for (before,) in execute(forget, (said.trace_id,)).fetchall():
            check_rank(said, before)  # what it raises brings the row back
        made = execute(
            "INSERT INTO feedback(trace_id, key, strategy, data) VALUES (?, ?, ?, ?)",
            (said.trace_id, said.key, said.strategy, canonical(said.to_json())),
        )
        self._connection.executemany(
            "INSERT OR IGNORE INTO feedback_held VALUES (?, ?, ?, ?, ?)",
            [(*astuple(each), made.lastrowid) for each in kept.held],
        )
        execute("DELETE FROM swept")  # the index may have changed since the run

    def feedback(self, *, strategy: str = "", key: str = "") -> tuple[Feedback, ...]:
        """See `TraceStore.feedback`."""
        rows = self._rows(
            "SELECT data FROM feedback WHERE (? = '' OR strategy = ?) AND (? = '' OR key = ?) "
            "ORDER BY no",
            *(strategy, strategy, key, key),
        )
        return tuple(Feedback.from_json(json.loads(row[0])) for row in rows)

    def records(self) -> Iterator[Kept]:
        """See `TraceStore.records`."""
        for (number,) in self._rows("SELECT no FROM traces ORDER BY no"):
            for row in self._rows(
                f"SELECT {LISTED}, data, (SELECT data FROM signals WHERE trace_no = no), "  # noqa: S608 - constant
                "(SELECT data FROM warnings WHERE trace_no = no) FROM traces WHERE no = ?",
                number,
            ):  # none where it has gone since
                *summary, data, signals, warnings = row
                yield KeptTrace(
                    summary=listed(summary),
                    data=data,
                    signals=signals or "",
                    warnings=warnings or "",
                    held=self._held("held", "trace_no", number),
                )
        for number, data in self._rows("SELECT no, data FROM feedback ORDER BY no"):
            said = Feedback.from_json(json.loads(data))
            yield KeptFeedback(said, self._held("feedback_held", "feedback_no", number))

    def take(self, records: Iterable[Kept]) -> None:
        """See `TraceStore.take`."""
        with self._transaction():
            for kept in records:
                if isinstance(kept, KeptTrace):
                    self._insert(kept)
                else:
                    self._replace(kept)
            self._evict()

    def close(self) -> None:
        """Let go of the file; calling it twice is fine."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _find(self, beginning: str) -> str:
        rows = (
            self._rows(
                "SELECT id FROM traces WHERE substr(id, 1, ?) = ? LIMIT 2",
                len(beginning),
                beginning,
            )
            if beginning.isascii()
            else []
        )
        return the_only([row[0] for row in rows], beginning)

    def _rows(self, query: str, *values: object) -> Sequence[Any]:
        with self._transaction(write=False):
            return self._connection.execute(query, values).fetchall()

    def _held(self, table: str, column: str, number: int) -> tuple[Held, ...]:
        rows = self._rows(
            f'SELECT document, start, "end", mark FROM {table} WHERE {column} = ?',  # noqa: S608 - names
            number,
        )
        return tuple(Held(*row) for row in rows)

    def _swept(self) -> str:
        rows = self._rows("SELECT revision FROM swept")
        return str(rows[0][0]) if rows else ""

    def _all_held(self) -> tuple[Held, ...]:
        rows = self._connection.execute(
            'SELECT document, start, "end", mark FROM held UNION '
            'SELECT document, start, "end", mark FROM feedback_held ORDER BY document'
        )
        return tuple(Held(*row) for row in rows)

    def _remove(self, text: Held) -> int:
        return self._connection.execute(
            "DELETE FROM traces WHERE no IN (SELECT trace_no FROM held "
            'WHERE document = ? AND start = ? AND "end" = ? AND mark = ?)',
            (text.document, text.start, text.end, text.mark),
        ).rowcount

    def _forget(self, text: Held) -> int:
        return self._connection.execute(
            "DELETE FROM feedback WHERE no IN (SELECT feedback_no FROM feedback_held "
            'WHERE document = ? AND start = ? AND "end" = ? AND mark = ?)',
            (text.document, text.start, text.end, text.mark),
        ).rowcount

    def _evict(self) -> None:
        self._connection.execute(
            "DELETE FROM traces WHERE no IN (SELECT no FROM ("
            "SELECT no, sum(size) OVER (ORDER BY no DESC) AS total FROM traces) "
            "WHERE total > ?) AND no < (SELECT max(no) FROM traces)",
            (self.max_bytes,),
        )

    def _empty_log(self) -> None:
        # What is deleted would stay readable in the log until somebody writes over it.
        with self._lock, self._named():
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def _transaction(self, *, write: bool = True) -> Iterator[None]:
        with self._lock, self._named():
            self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunError(f"{self.path}: {error.strerror}; traces cannot be kept there") from error
        except sqlite3.Error as error:
            raise RunError(
                f"{self.path}: {error}; check free space and permissions, or delete the file: "
                "it holds nothing but traces and feedback"
            ) from error


def open_traces(directory: Path, *, max_bytes: int) -> EmbeddedTraces:
    """The traces of an index in a directory, which is made where it is missing.

    Raises:
        RunError: If they cannot be opened.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{directory}: {error.strerror}; traces cannot be kept there") from error
    return EmbeddedTraces(directory / FILE, max_bytes=max_bytes)


def move_traces(directory: Path, store: TraceStore) -> None:
    """Let another store keep what is in a directory, if there is anything, and remove it here.

    Raises:
        RunError: If it cannot be read; it stays then.
    """
    file = directory / FILE
    if not file.is_file():
        return
    with EmbeddedTraces(file) as left:
        store.take(left.records())
    for each in (file, *directory.glob(f"{FILE}-*")):
        each.unlink(missing_ok=True)


def trace_findings(file: Path) -> list[str]:
    """What is wrong with the traces in a file, in words; empty when they are sound."""
    todo = "delete the file: it holds nothing but traces and feedback"
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            faults = [row[0] for row in opened.execute("PRAGMA integrity_check")]
            found = [f"{file}: {fault}; {todo}" for fault in faults if fault != "ok"]
            return [*found, *damaged(opened.execute("SELECT id, data FROM traces"))]
    except sqlite3.Error as error:
        return [f"{file}: {error}; {todo}"]
