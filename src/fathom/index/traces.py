"""Traces beside the index, and what people said of them: one SQLite file, capped in size.

A file of its own, because a question is asked, and its trace stored, also while another process
writes to the index. A trace stays as long as the documents hold every text that it holds: what
is removed from the index, or changed in it, does not live on here.
"""

import json
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self

from fathom.errors import RunError, UsageError
from fathom.index.base import IndexReader
from fathom.index.feedback import Feedback
from fathom.index.trace_retention import Held
from fathom.jsonable import canonical
from fathom.tracing.chain import TraceTampered, decode
from fathom.tracing.trace import Trace

FILE = "traces.db"
MAX_BYTES = 256 << 20
MAX_TRACE_BYTES = 64 << 20

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


class TraceMissing(UsageError):
    """No trace, or more than one, has this id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSummary:
    """A trace as listed; `size` is in bytes as stored."""

    id: str
    started_at: str
    question: str
    strategy: str
    status: str
    size: int


class TraceStore:
    """The traces of one index; safe from threads, and from several processes at once."""

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
        """Store a trace, and drop the oldest ones beyond the cap; the newest always stays.

        Args:
            trace: A sealed trace; one that is there already is not stored again.
            held: The texts of documents in it, for `sweep`.
            warnings: What its answer was given with.
        """
        data = zlib.compress(trace.data, 6)
        answer = trace.answer if isinstance(trace.answer, dict) else {}
        origin = trace.origin
        row = (
            trace.id,
            trace.started_at,
            origin.question[:1_000],
            origin.strategy,
            str(answer.get("status", "")),
            len(data),
            data,
        )
        with self._transaction():
            cursor = self._connection.execute(
                "INSERT OR IGNORE INTO traces(id, started_at, question, strategy, status, size, "
                "data) VALUES (?, ?, ?, ?, ?, ?, ?)",
                row,
            )
            if cursor.rowcount:
                number = cursor.lastrowid
                if trace.signals:
                    self._connection.execute(
                        "INSERT INTO signals VALUES (?, ?, ?)",
                        (number, origin.strategy, canonical(dict(trace.signals))),
                    )
                if warnings:
                    self._connection.execute(
                        "INSERT INTO warnings VALUES (?, ?)", (number, canonical([*warnings]))
                    )
                self._connection.executemany(
                    "INSERT OR IGNORE INTO held VALUES (?, ?, ?, ?, ?)",
                    [(text.document, text.start, text.end, text.mark, number) for text in held],
                )
                # The index may have changed while the question was answered.
                self._connection.execute(
                    "DELETE FROM swept WHERE revision <> ?", (origin.index_revision,)
                )
                self._evict()

    def get(self, trace_id: str) -> Trace:
        """The trace with this id, or the only one whose id starts so; verified.

        Raises:
            TraceMissing: If there is none or more than one.
            TraceTampered: If it is not what was stored.
        """
        found = self._find(trace_id)
        with self._transaction(write=False):
            row = self._connection.execute(
                "SELECT data FROM traces WHERE id = ?", (found,)
            ).fetchone()
        if row is None:
            raise TraceMissing(f"trace {trace_id!r} was dropped or deleted just now")
        return decode(_unpacked(found, row[0]), found)

    def warnings(self, trace_id: str) -> tuple[str, ...]:
        """What the answer of the trace with this whole id was given with."""
        with self._transaction(write=False):
            row = self._connection.execute(
                "SELECT warnings.data FROM warnings JOIN traces ON traces.no = trace_no "
                "WHERE traces.id = ?",
                (trace_id,),
            ).fetchone()
        return tuple(json.loads(row[0])) if row else ()

    def list(self, limit: int = 50) -> "tuple[TraceSummary, ...]":
        """The newest traces, newest first."""
        with self._transaction(write=False):
            rows = self._connection.execute(
                "SELECT id, started_at, question, strategy, status, size FROM traces "
                "ORDER BY no DESC LIMIT ?",
                (limit,),
            ).fetchall()
        names = ("id", "started_at", "question", "strategy", "status", "size")
        return tuple(TraceSummary(**dict(zip(names, row, strict=True))) for row in rows)

    def delete(self, trace_id: str) -> str:
        """Remove a trace for good; returns its whole id.

        Raises:
            TraceMissing: If there is none or more than one of this id or beginning.
        """
        found = self._find(trace_id)
        with self._transaction():
            self._connection.execute("DELETE FROM traces WHERE id = ?", (found,))
            self._connection.execute("DELETE FROM feedback WHERE trace_id = ?", (found,))
        self._empty_log()
        return found

    def sweep(self, index: IndexReader) -> int:
        """Remove for good all with a text that its document does not hold any more.

        Traces go, and feedback on answers that cited it.

        Nothing is looked up where the index has not changed since the last time.

        Returns:
            How many traces went.
        """
        revision = index.revision()
        if self._swept() == revision:
            return 0
        document = lru_cache(1)(index.document)  # they come in the order of their documents
        gone = [text for text in self._all_held() if not text.still_in(document(text.document))]
        with self._transaction():
            removed = sum(self._remove(text) for text in gone)
            forgotten = sum(self._forget(text) for text in gone)
            self._connection.execute("DELETE FROM swept")
            self._connection.execute("INSERT INTO swept VALUES (?)", (revision,))
        if removed or forgotten:
            self._empty_log()
        return removed

    def signals(self, strategy: str, limit: int) -> tuple[Mapping[str, float], ...]:
        """The signals of the newest answers of a strategy, newest first."""
        with self._transaction(write=False):
            rows = self._connection.execute(
                "SELECT data FROM signals WHERE strategy = ? ORDER BY trace_no DESC LIMIT ?",
                (strategy, limit),
            ).fetchall()
        return tuple(json.loads(row[0]) for row in rows)

    def put_feedback(self, feedback: Feedback, *, held: Iterable[Held] = ()) -> None:
        """Keep what was said of an answer, instead of what was said of it before.

        Args:
            feedback: On a trace that is there; it outlives it, unless that is deleted by hand.
            held: The texts of documents that it cites, for `sweep`.
        """
        row = (feedback.trace_id, feedback.key, feedback.strategy, canonical(feedback.to_json()))
        with self._transaction():
            execute = self._connection.execute
            execute("DELETE FROM feedback WHERE trace_id = ?", (feedback.trace_id,))
            made = execute(
                "INSERT INTO feedback(trace_id, key, strategy, data) VALUES (?, ?, ?, ?)", row
            )
            self._connection.executemany(
                "INSERT OR IGNORE INTO feedback_held VALUES (?, ?, ?, ?, ?)",
                [(each.document, each.start, each.end, each.mark, made.lastrowid) for each in held],
            )
            execute("DELETE FROM swept")  # the index may have changed since the run

    def feedback(self, *, strategy: str = "", key: str = "") -> tuple[Feedback, ...]:
        """What was said, oldest first: of a strategy's answers, or of those to a question."""
        with self._transaction(write=False):
            rows = self._connection.execute(
                "SELECT data FROM feedback WHERE (? = '' OR strategy = ?) AND (? = '' OR key = ?) "
                "ORDER BY no",
                (strategy, strategy, key, key),
            ).fetchall()
        return tuple(Feedback.from_json(json.loads(row[0])) for row in rows)

    def take(self, other: sqlite3.Connection) -> None:
        """Become what another file holds."""
        with self._lock, self._named():
            other.backup(self._connection)

    def close(self) -> None:
        """Let go of the file; calling it twice is fine."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _find(self, beginning: str) -> str:
        if not beginning.isascii():
            raise TraceMissing(
                f"no trace begins with {beginning[:64]!r}; `fathom trace` lists them"
            )
        with self._transaction(write=False):
            rows = self._connection.execute(
                "SELECT id FROM traces WHERE substr(id, 1, ?) = ? LIMIT 2",
                (len(beginning), beginning),
            ).fetchall()
        if len(rows) == 1 and beginning:
            return str(rows[0][0])
        what = "more than one trace begins" if beginning and rows else "no trace begins"
        raise TraceMissing(f"{what} with {beginning[:64]!r}; `fathom trace` lists them")

    def _swept(self) -> str:
        with self._transaction(write=False):
            row = self._connection.execute("SELECT revision FROM swept").fetchone()
        return str(row[0]) if row else ""

    def _all_held(self) -> "tuple[Held, ...]":
        with self._transaction(write=False):
            rows = self._connection.execute(
                'SELECT document, start, "end", mark FROM held UNION '
                'SELECT document, start, "end", mark FROM feedback_held ORDER BY document'
            ).fetchall()
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


def _unpacked(trace_id: str, data: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        lines = unpacker.decompress(data, MAX_TRACE_BYTES)
    except zlib.error as error:
        raise TraceTampered(f"trace {trace_id}: what is stored is damaged") from error
    if not unpacker.eof:
        raise TraceTampered(f"trace {trace_id}: what is stored is cut or far too large")
    return lines


def open_traces(directory: Path, index: IndexReader, *, max_bytes: int) -> TraceStore:
    """The traces of an index, swept: who changed it last may have been killed before that.

    Raises:
        RunError: If they cannot be opened.
    """
    store = TraceStore(directory / FILE, max_bytes=max_bytes)
    store.sweep(index)
    return store


def copy_traces(source: Path, target: Path) -> None:
    """Copy the traces of one folder to another, which is made; what is there is replaced.

    Raises:
        RunError: If they cannot be read or written.
    """
    try:
        target.mkdir(parents=True, exist_ok=True)
        with (
            closing(
                sqlite3.connect(f"{(source / FILE).absolute().as_uri()}?mode=ro", uri=True)
            ) as old,
            TraceStore(target / FILE) as new,
        ):
            new.take(old)
    except (OSError, sqlite3.Error) as error:
        raise RunError(f"{source / FILE} cannot be copied to {target}: {error}") from error


def trace_findings(file: Path) -> "list[str]":
    """What is wrong with the traces in a file, in words; empty when they are sound."""
    todo = "delete the file: it holds nothing but traces and feedback"
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            faults = [row[0] for row in opened.execute("PRAGMA integrity_check")]
            found = [f"{file}: {fault}; {todo}" for fault in faults if fault != "ok"]
            for trace_id, data in opened.execute("SELECT id, data FROM traces"):
                try:
                    decode(_unpacked(trace_id, data), trace_id)
                except TraceTampered as error:
                    found.append(f"{error}; remove it with `fathom trace --delete {trace_id}`")
    except sqlite3.Error as error:
        return [f"{file}: {error}; {todo}"]
    return found
