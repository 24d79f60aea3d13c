"""The traces of an embedded index, in one SQLite file of capped size.

The file is separate from the index, because a question's trace must be stored even while another
process writes to the index.
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
from fathom.index.trace_retention import QuotedText, TextLookup
from fathom.index.traces import (
    MAX_BYTES,
    SUMMARY_COLUMNS,
    StoredFeedback,
    StoredRecord,
    StoredTrace,
    TraceStore,
    TraceSummary,
    build_dropped_error,
    build_summary,
    check_rank,
    describe_damaged_traces,
    pack_trace,
    resolve_trace_id,
    unpack_trace,
)
from fathom.jsonable import dump_canonical
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
    """The `TraceStore` of an embedded index, safe for threads and processes."""

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES) -> None:
        """Open the file, or create it, readable by its owner only.

        Args:
            path: The SQLite file; its folder must exist.
            max_bytes: The size beyond which the oldest traces are dropped, in bytes of compressed
                data.

        Raises:
            RunError: If the file cannot be opened or is no database.
        """
        self.path = path
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        with self._name_failures():
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

    def put(
        self, trace: Trace, *, held: Iterable[QuotedText] = (), warnings: Sequence[str] = ()
    ) -> None:
        """Store a trace, and drop the oldest ones beyond the cap."""
        with self._transaction():
            if self._insert(pack_trace(trace, held, warnings)):
                self._evict()

    def _insert(self, record: StoredTrace) -> bool:
        row = (*astuple(record.summary), record.data)
        cursor = self._connection.execute(
            "INSERT OR IGNORE INTO traces(id, started_at, question, strategy, status, size, "
            "data) VALUES (?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        if not cursor.rowcount:
            return False
        number = cursor.lastrowid
        if record.signals:
            self._connection.execute(
                "INSERT INTO signals VALUES (?, ?, ?)",
                (number, record.summary.strategy, record.signals),
            )
        if record.warnings:
            self._connection.execute(
                "INSERT INTO warnings VALUES (?, ?)", (number, record.warnings)
            )
        self._connection.executemany(
            "INSERT OR IGNORE INTO held VALUES (?, ?, ?, ?, ?)",
            [(*astuple(text), number) for text in record.held],
        )
        # If the index changed while the question was answered, the next sweep must not be skipped.
        self._connection.execute("DELETE FROM swept WHERE revision <> ?", (record.revision,))
        return True

    def get(self, trace_id: str) -> Trace:
        """Return the verified trace with this id, or the only one whose id starts so."""
        whole_id = self._find(trace_id)
        rows = self._select("SELECT data FROM traces WHERE id = ?", whole_id)
        if not rows:
            raise build_dropped_error(trace_id)
        return unpack_trace(whole_id, rows[0][0])

    def get_warnings(self, trace_id: str) -> tuple[str, ...]:
        """Return the warnings of the answer of the trace with this whole id."""
        rows = self._select(
            "SELECT warnings.data FROM warnings JOIN traces ON traces.no = trace_no "
            "WHERE traces.id = ?",
            trace_id,
        )
        return tuple(json.loads(rows[0][0])) if rows else ()

    def list(self, limit: int = 50) -> tuple[TraceSummary, ...]:
        """Return the newest traces, newest first."""
        rows = self._select(f"SELECT {SUMMARY_COLUMNS} FROM traces ORDER BY no DESC LIMIT ?", limit)  # noqa: S608 - constant
        return tuple(build_summary(row) for row in rows)

    def delete(self, trace_id: str) -> str:
        """Remove a trace for good and return its whole id."""
        whole_id = self._find(trace_id)
        with self._transaction():
            self._connection.execute("DELETE FROM traces WHERE id = ?", (whole_id,))
            self._connection.execute("DELETE FROM feedback WHERE trace_id = ?", (whole_id,))
        self._empty_log()
        return whole_id

    def sweep(self, index: IndexReader) -> int:
        """Remove all traces with a text that its document no longer contains."""
        revision = index.get_revision()
        if self._read_swept_revision() == revision:
            return 0
        lookup = TextLookup(index)
        with self._transaction(write=False):
            held = self._read_all_texts()
        # Looked up before the write transaction, which would make others wait for it.
        lookup.find_missing(held)
        with self._transaction():
            gone = lookup.find_missing(
                self._read_all_texts()
            )  # others may have been stored meanwhile
            removed = sum(self._remove_traces(text) for text in gone)
            forgotten = sum(self._remove_feedback(text) for text in gone)
            self._connection.execute("DELETE FROM swept")
            self._connection.execute("INSERT INTO swept VALUES (?)", (revision,))
        if removed or forgotten:
            self._empty_log()
        return removed

    def list_signals(self, strategy: str, limit: int) -> tuple[Mapping[str, float], ...]:
        """Return the signals of the newest answers of a strategy, newest first."""
        rows = self._select(
            "SELECT data FROM signals WHERE strategy = ? ORDER BY trace_no DESC LIMIT ?",
            strategy,
            limit,
        )
        return tuple(json.loads(row[0]) for row in rows)

    def put_feedback(self, feedback: Feedback, *, held: Iterable[QuotedText] = ()) -> None:
        """Store feedback on an answer in place of the earlier feedback on it."""
        with self._transaction():
            self._replace(StoredFeedback(feedback, tuple(held)))

    def _replace(self, record: StoredFeedback) -> None:
        execute, feedback = self._connection.execute, record.feedback
        forget = "DELETE FROM feedback WHERE trace_id = ? RETURNING data"
        for (before,) in execute(forget, (feedback.trace_id,)).fetchall():
            check_rank(feedback, before)  # an error rolls the deletion back
        cursor = execute(
            "INSERT INTO feedback(trace_id, key, strategy, data) VALUES (?, ?, ?, ?)",
            (
                feedback.trace_id,
                feedback.key,
                feedback.strategy,
                dump_canonical(feedback.to_json()),
            ),
        )
        self._connection.executemany(
            "INSERT OR IGNORE INTO feedback_held VALUES (?, ?, ?, ?, ?)",
            [(*astuple(text), cursor.lastrowid) for text in record.held],
        )
        execute("DELETE FROM swept")  # the index may have changed since the run

    def list_feedback(self, *, strategy: str = "", key: str = "") -> tuple[Feedback, ...]:
        """Return feedback, oldest first: on a strategy's answers, or on answers to a question."""
        rows = self._select(
            "SELECT data FROM feedback WHERE (? = '' OR strategy = ?) AND (? = '' OR key = ?) "
            "ORDER BY no",
            *(strategy, strategy, key, key),
        )
        return tuple(Feedback.from_json(json.loads(row[0])) for row in rows)

    def export_records(self) -> Iterator[StoredRecord]:
        """Yield all stored records: the traces, oldest first, then the feedback."""
        for (number,) in self._select("SELECT no FROM traces ORDER BY no"):
            for row in self._select(
                f"SELECT {SUMMARY_COLUMNS}, data, (SELECT data FROM signals WHERE trace_no = no), "  # noqa: S608 - constant
                "(SELECT data FROM warnings WHERE trace_no = no) FROM traces WHERE no = ?",
                number,
            ):  # no row if the trace has been deleted since
                *summary, data, signals, warnings = row
                yield StoredTrace(
                    summary=build_summary(summary),
                    data=data,
                    signals=signals or "",
                    warnings=warnings or "",
                    held=self._read_texts("held", "trace_no", number),
                )
        for number, data in self._select("SELECT no, data FROM feedback ORDER BY no"):
            feedback = Feedback.from_json(json.loads(data))
            yield StoredFeedback(feedback, self._read_texts("feedback_held", "feedback_no", number))

    def import_records(self, records: Iterable[StoredRecord]) -> None:
        """Store the records of another store, in one step; existing records stay."""
        with self._transaction():
            for record in records:
                if isinstance(record, StoredTrace):
                    self._insert(record)
                else:
                    self._replace(record)
            self._evict()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _find(self, beginning: str) -> str:
        rows = (
            self._select(
                "SELECT id FROM traces WHERE substr(id, 1, ?) = ? LIMIT 2",
                len(beginning),
                beginning,
            )
            if beginning.isascii()
            else []
        )
        return resolve_trace_id([row[0] for row in rows], beginning)

    def _select(self, query: str, *values: object) -> Sequence[Any]:
        with self._transaction(write=False):
            return self._connection.execute(query, values).fetchall()

    def _read_texts(self, table: str, column: str, number: int) -> tuple[QuotedText, ...]:
        rows = self._select(
            f'SELECT document, start, "end", mark FROM {table} WHERE {column} = ?',  # noqa: S608 - names
            number,
        )
        return tuple(QuotedText(*row) for row in rows)

    def _read_swept_revision(self) -> str:
        rows = self._select("SELECT revision FROM swept")
        return str(rows[0][0]) if rows else ""

    def _read_all_texts(self) -> tuple[QuotedText, ...]:
        rows = self._connection.execute(
            'SELECT document, start, "end", mark FROM held UNION '
            'SELECT document, start, "end", mark FROM feedback_held ORDER BY document'
        )
        return tuple(QuotedText(*row) for row in rows)

    def _remove_traces(self, text: QuotedText) -> int:
        return self._connection.execute(
            "DELETE FROM traces WHERE no IN (SELECT trace_no FROM held "
            'WHERE document = ? AND start = ? AND "end" = ? AND mark = ?)',
            (text.document, text.start, text.end, text.mark),
        ).rowcount

    def _remove_feedback(self, text: QuotedText) -> int:
        return self._connection.execute(
            "DELETE FROM feedback WHERE no IN (SELECT feedback_no FROM feedback_held "
            'WHERE document = ? AND start = ? AND "end" = ? AND mark = ?)',
            (text.document, text.start, text.end, text.mark),
        ).rowcount

    def _evict(self) -> None:
        self._connection.execute(
            # The newest trace always stays, even if it alone is larger than the cap.
            "DELETE FROM traces WHERE no IN (SELECT no FROM ("
            "SELECT no, sum(size) OVER (ORDER BY no DESC) AS total FROM traces) "
            "WHERE total > ?) AND no < (SELECT max(no) FROM traces)",
            (self.max_bytes,),
        )

    def _empty_log(self) -> None:
        # Deleted rows would stay readable in the log until later writes overwrite it.
        with self._lock, self._name_failures():
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def _transaction(self, *, write: bool = True) -> Iterator[None]:
        with self._lock, self._name_failures():
            self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _name_failures(self) -> Iterator[None]:
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
    """Open the traces of an index in a directory, which is created if missing.

    Raises:
        RunError: If they cannot be opened.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{directory}: {error.strerror}; traces cannot be kept there") from error
    return EmbeddedTraces(directory / FILE, max_bytes=max_bytes)


def move_traces(directory: Path, store: TraceStore) -> None:
    """Move the traces and feedback in a directory, if there are any, to another store.

    Raises:
        RunError: If they cannot be read; the file then stays.
    """
    file = directory / FILE
    if not file.is_file():
        return
    with EmbeddedTraces(file) as old_store:
        store.import_records(old_store.export_records())
    for path in (file, *directory.glob(f"{FILE}-*")):
        path.unlink(missing_ok=True)


def verify_trace_file(file: Path) -> list[str]:
    """Return a line for each fault of the traces in a file; empty when they are sound."""
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
