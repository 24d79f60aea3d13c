"""The traces of a workspace on the server, shared by every machine that asks its index."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any, Self

from fathom.index.base import IndexReader
from fathom.index.feedback import Feedback
from fathom.index.postgres.connections import Connection, Connections
from fathom.index.postgres.schema import check_version
from fathom.index.postgres.workspace_tables import WorkspaceTables
from fathom.index.trace_retention import QuotedText, TextLookup
from fathom.index.traces import (
    MAX_BYTES,
    SUMMARY_COLUMNS,
    StoredFeedback,
    StoredRecord,
    StoredTrace,
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

MIN_LAYOUT = 2
"""The first version of the layout that has tables for traces."""
_SWEEPING, _EVICTING = 507_210, 507_211
"""The first keys of advisory locks by workspace: a sweep overlooks no trace stored meanwhile."""
_TEXT = 'document, start, "end", mark'


class PostgresTraces:
    """The `TraceStore` of a workspace; several machines may use it at once."""

    def __init__(self, tables: WorkspaceTables, *, max_bytes: int = MAX_BYTES) -> None:
        """Create the store; nothing is read yet.

        Args:
            tables: The tables of the workspace; its connections stay open.
            max_bytes: The size of the compressed traces beyond which the oldest are removed.
        """
        self.max_bytes = max_bytes
        self._tables = tables

    def put(
        self, trace: Trace, *, held: Iterable[QuotedText] = (), warnings: Sequence[str] = ()
    ) -> None:
        """Store a trace with its quoted texts, and remove the oldest beyond the size limit."""
        self.import_records([pack_trace(trace, held, warnings)])

    def get(self, trace_id: str) -> Trace:
        """Return the verified trace with this id, or the only one whose id begins so.

        Raises:
            MissingTraceError: If there is none or more than one.
            TraceTampered: If the stored trace was changed.
        """
        full_id = self._find_id(trace_id)
        rows = self._tables.select_rows(
            "SELECT data FROM fathom.traces WHERE workspace_no = %s AND id = %s", full_id
        )
        if not rows:
            raise build_dropped_error(trace_id)
        return unpack_trace(full_id, rows[0][0])

    def get_warnings(self, trace_id: str) -> tuple[str, ...]:
        """Return the warnings that came with the answer of the trace with this whole id."""
        rows = self._tables.select_rows(
            "SELECT warnings FROM fathom.traces WHERE workspace_no = %s AND id = %s", trace_id
        )
        return tuple(json.loads(rows[0][0] or "[]")) if rows else ()

    def list(self, limit: int = 50) -> tuple[TraceSummary, ...]:
        """Return summaries of the newest traces, newest first."""
        query = (
            f"SELECT {SUMMARY_COLUMNS} FROM fathom.traces "  # noqa: S608 - constant
            "WHERE workspace_no = %s ORDER BY no DESC LIMIT %s"
        )
        return tuple(build_summary(row) for row in self._tables.select_rows(query, limit))

    def delete(self, trace_id: str) -> str:
        """Remove a trace and its feedback for good, and return its whole id.

        Raises:
            MissingTraceError: If there is none or more than one with this beginning.
        """
        full_id = self._find_id(trace_id)
        with self._tables.begin() as connection:
            for table, column in (("traces", "id"), ("feedback", "trace_id")):
                connection.execute(
                    f"DELETE FROM fathom.{table} WHERE workspace_no = %s AND {column} = %s",  # noqa: S608 - names
                    (self._tables.workspace, full_id),
                )
        return full_id

    def sweep(self, index: IndexReader) -> int:
        """Remove all traces and feedback with a text that its document no longer holds.

        Most texts are looked up while others go on storing traces. Writers wait only while the
        texts are looked up that were stored in the meantime.

        Returns:
            The number of removed traces.
        """
        revision = index.get_revision()
        if self._read_swept_revision() == revision:
            return 0
        lookup = TextLookup(index)
        with self._tables.begin() as connection:
            held = self._read_all_texts(connection)
        # The first look-up runs without the lock; the second one, below, finds most texts cached.
        lookup.find_missing(held)
        with self._tables.begin() as connection:
            self._lock(connection, _SWEEPING)
            gone = lookup.find_missing(self._read_all_texts(connection))
            removed = self._remove(connection, "traces", "held", "trace_no", gone)
            self._remove(connection, "feedback", "feedback_held", "feedback_no", gone)
            connection.execute(
                "INSERT INTO fathom.swept(workspace_no, revision) VALUES (%s, %s) "
                "ON CONFLICT (workspace_no) DO UPDATE SET revision = excluded.revision",
                (self._tables.workspace, revision),
            )
        return removed

    def list_signals(self, strategy: str, limit: int) -> tuple[Mapping[str, float], ...]:
        """Return the signals of the newest answers of a strategy, newest first."""
        rows = self._tables.select_rows(
            "SELECT signals FROM fathom.traces WHERE workspace_no = %s AND strategy = %s "
            "AND signals <> '' ORDER BY no DESC LIMIT %s",
            strategy,
            limit,
        )
        return tuple(json.loads(row[0]) for row in rows)

    def put_feedback(self, feedback: Feedback, *, held: Iterable[QuotedText] = ()) -> None:
        """Store feedback on an answer, in place of earlier feedback.

        Raises:
            OutrankedFeedbackError: If the earlier feedback counts and the new one does not.
        """
        self.import_records([StoredFeedback(feedback, tuple(held))])

    def list_feedback(self, *, strategy: str = "", key: str = "") -> tuple[Feedback, ...]:
        """Return the feedback, oldest first: on a strategy's answers, or on those to a question."""
        rows = self._tables.select_rows(
            "SELECT data FROM fathom.feedback WHERE workspace_no = %s "
            "AND (%s = '' OR strategy = %s) AND (%s = '' OR key = %s) ORDER BY no",
            *(strategy, strategy, key, key),
        )
        return tuple(Feedback.from_json(json.loads(row[0])) for row in rows)

    def export_records(self) -> Iterator[StoredRecord]:
        """Yield all stored records: the traces, oldest first, then the feedback."""
        for (number,) in self._tables.select_rows(
            "SELECT no FROM fathom.traces WHERE workspace_no = %s ORDER BY no"
        ):
            for row in self._tables.select_rows(
                f"SELECT {SUMMARY_COLUMNS}, data, signals, warnings FROM fathom.traces "  # noqa: S608 - constant
                "WHERE workspace_no = %s AND no = %s",
                number,
            ):  # none if it was removed in the meantime
                *summary, data, signals, warnings = row
                yield StoredTrace(
                    summary=build_summary(summary),
                    data=data,
                    signals=signals,
                    warnings=warnings,
                    held=self._read_texts("held", "trace_no", number),
                )
        for number, data in self._tables.select_rows(
            "SELECT no, data FROM fathom.feedback WHERE workspace_no = %s ORDER BY no"
        ):
            opinion = Feedback.from_json(json.loads(data))
            yield StoredFeedback(opinion, self._read_texts("feedback_held", "feedback_no", number))

    def import_records(self, records: Iterable[StoredRecord]) -> None:
        """Store the records of another store in one step; existing ones stay."""
        with self._tables.begin() as connection:
            self._lock(connection, _SWEEPING, shared=True)
            for stored in records:
                if isinstance(stored, StoredTrace):
                    self._insert(connection, stored)
                else:
                    self._replace(connection, stored)
            self._evict(connection)

    def list_findings(self) -> Iterator[str]:
        """Yield a line for each damaged trace."""
        for (number,) in self._tables.select_rows(
            "SELECT no FROM fathom.traces WHERE workspace_no = %s"
        ):
            yield from describe_damaged_traces(
                self._tables.select_rows(
                    "SELECT id, data FROM fathom.traces WHERE workspace_no = %s AND no = %s", number
                )
            )

    def close(self) -> None:
        """Do nothing: the connections stay open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _insert(self, connection: Connection, stored: StoredTrace) -> None:
        """Insert a trace, unless it is stored already."""
        summary = stored.summary
        row = connection.execute(
            f"INSERT INTO fathom.traces(workspace_no, {SUMMARY_COLUMNS}, signals, warnings, data) "  # noqa: S608 - constant
            "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) "
            "ON CONFLICT (workspace_no, id) DO NOTHING RETURNING no",
            (
                self._tables.workspace,
                *(summary.id, summary.started_at, summary.question.replace("\0", "\ufffd")),
                *(summary.strategy, summary.status, summary.size),
                *(stored.signals, stored.warnings, stored.data),
            ),
        ).fetchone()
        if row is None:
            return
        self._insert_texts(connection, "held", "trace_no", row[0], stored.held)
        # The index may have changed while the question was answered: sweep again then.
        connection.execute(
            "DELETE FROM fathom.swept WHERE workspace_no = %s AND revision <> %s",
            (self._tables.workspace, stored.revision),
        )

    def _replace(self, connection: Connection, stored: StoredFeedback) -> None:
        """Insert feedback in place of earlier feedback on the same answer."""
        feedback, workspace = stored.feedback, self._tables.workspace
        for (before,) in connection.execute(
            "DELETE FROM fathom.feedback WHERE workspace_no = %s AND trace_id = %s RETURNING data",
            (workspace, feedback.trace_id),
        ).fetchall():
            check_rank(feedback, before)  # an error rolls the deletion back
        row = connection.execute(
            "INSERT INTO fathom.feedback(workspace_no, trace_id, key, strategy, data) "
            "VALUES (%s, %s, %s, %s, %s) RETURNING no",
            (
                workspace,
                feedback.trace_id,
                feedback.key,
                feedback.strategy,
                dump_canonical(feedback.to_json()),
            ),
        ).fetchone()
        assert row is not None
        self._insert_texts(connection, "feedback_held", "feedback_no", row[0], stored.held)
        # The index may have changed since the run: sweep again.
        connection.execute("DELETE FROM fathom.swept WHERE workspace_no = %s", (workspace,))

    def _insert_texts(
        self,
        connection: Connection,
        table: str,
        column: str,
        number: int,
        held: Iterable[QuotedText],
    ) -> None:
        """Insert the quoted texts of a trace or of feedback."""
        rows = [(self._tables.workspace, *astuple(text), number) for text in dict.fromkeys(held)]
        with connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO fathom.{table}(workspace_no, {_TEXT}, {column}) "  # noqa: S608 - names
                "VALUES (%s, %s, %s, %s, %s, %s)",
                rows,
            )

    def _remove(
        self, connection: Connection, table: str, held: str, column: str, gone: Sequence[QuotedText]
    ) -> int:
        """Delete the rows of a table that quote one of these texts; return how many."""
        columns = list(zip(*map(astuple, gone), strict=True)) or [()] * 4
        return connection.execute(
            f"DELETE FROM fathom.{table} WHERE workspace_no = %s AND no IN (SELECT {column} "  # noqa: S608 - names
            f"FROM fathom.{held} JOIN unnest(%s::text[], %s::int[], %s::int[], %s::text[]) "
            f"AS gone({_TEXT}) USING ({_TEXT}) WHERE workspace_no = %s)",
            (self._tables.workspace, *map(list, columns), self._tables.workspace),
        ).rowcount

    def _evict(self, connection: Connection) -> None:
        """Delete the oldest traces beyond the size limit; the newest one stays."""
        workspace = self._tables.workspace
        row = connection.execute(
            "SELECT sum(size) FROM fathom.traces WHERE workspace_no = %s", (workspace,)
        ).fetchone()
        if row is None or (row[0] or 0) <= self.max_bytes:
            return
        self._lock(connection, _EVICTING)
        connection.execute(
            "DELETE FROM fathom.traces WHERE no IN (SELECT no FROM (SELECT no, sum(size) "
            "OVER (ORDER BY no DESC) AS total, max(no) OVER () AS newest FROM fathom.traces "
            "WHERE workspace_no = %s) AS sized WHERE total > %s AND no < newest)",
            (workspace, self.max_bytes),
        )

    def _lock(self, connection: Connection, key: int, *, shared: bool = False) -> None:
        """Take an advisory lock of the workspace until the transaction ends."""
        suffix = "_shared" if shared else ""
        connection.execute(
            f"SELECT pg_advisory_xact_lock{suffix}(%s, %s)",
            (key, self._tables.workspace),
        )

    def _read_swept_revision(self) -> str:
        """Return the revision of the index at the last sweep; empty before the first."""
        rows = self._tables.select_rows("SELECT revision FROM fathom.swept WHERE workspace_no = %s")
        return str(rows[0][0]) if rows else ""

    def _read_all_texts(self, connection: Connection) -> Sequence[QuotedText]:
        """Return all quoted texts, ordered by document."""
        workspace = self._tables.workspace
        rows = connection.execute(
            f"SELECT {_TEXT} FROM fathom.held WHERE workspace_no = %s UNION "  # noqa: S608 - constant
            f"SELECT {_TEXT} FROM fathom.feedback_held WHERE workspace_no = %s ORDER BY document",
            (workspace, workspace),
        ).fetchall()
        return [QuotedText(*row) for row in rows]

    def _read_texts(self, table: str, column: str, number: int) -> tuple[QuotedText, ...]:
        """Return the quoted texts of one trace or one piece of feedback."""
        rows = self._tables.select_rows(
            f"SELECT {_TEXT} FROM fathom.{table} WHERE workspace_no = %s AND {column} = %s",  # noqa: S608 - names
            number,
        )
        return tuple(QuotedText(*row) for row in rows)

    def _find_id(self, beginning: str) -> str:
        """Return the whole id of the only trace with this beginning."""
        rows: Sequence[tuple[Any, ...]] = ()
        if beginning.isascii() and "\0" not in beginning:
            rows = self._tables.select_rows(
                "SELECT id FROM fathom.traces WHERE workspace_no = %s AND id >= %s "
                "AND starts_with(id, %s) LIMIT 2",
                *(beginning, beginning),
            )
        return resolve_trace_id([row[0] for row in rows], beginning)


def has_traces(connections: Connections) -> bool:
    """Return whether the server's tables include those for traces."""
    with connections.borrow() as connection:
        return check_version(connection, connections.address) >= MIN_LAYOUT
