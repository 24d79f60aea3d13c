"""Traces on the server, beside the index of their workspace, for every machine that asks it."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any, Self

from fathom.index.base import IndexReader
from fathom.index.feedback import Feedback
from fathom.index.postgres.connections import Connection, Connections
from fathom.index.postgres.room import Room
from fathom.index.postgres.schema import check_version
from fathom.index.trace_retention import Held, Looked
from fathom.index.traces import (
    LISTED,
    MAX_BYTES,
    Kept,
    KeptFeedback,
    KeptTrace,
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

SINCE = 2
"""The version of the tables that has those of traces."""
_SWEEPING, _EVICTING = 507_210, 507_211
"""Of the server's advisory locks, by workspace: what is stored meanwhile is not overlooked."""
_TEXT = 'document, start, "end", mark'


class PostgresTraces:
    """The traces of a workspace; see `TraceStore`. Several machines may use them at once."""

    def __init__(self, room: Room, *, max_bytes: int = MAX_BYTES) -> None:
        """Nothing is asked yet.

        Args:
            room: Of the workspace; its connections stay open.
            max_bytes: Beyond it the oldest traces go. What is stored is compressed.
        """
        self.max_bytes = max_bytes
        self._room = room

    def put(self, trace: Trace, *, held: Iterable[Held] = (), warnings: Sequence[str] = ()) -> None:
        """See `TraceStore.put`."""
        self.take([kept_of(trace, held, warnings)])

    def get(self, trace_id: str) -> Trace:
        """See `TraceStore.get`."""
        found = self._find(trace_id)
        rows = self._room.rows(
            "SELECT data FROM fathom.traces WHERE workspace_no = %s AND id = %s", found
        )
        if not rows:
            raise dropped(trace_id)
        return unpacked(found, rows[0][0])

    def warnings(self, trace_id: str) -> tuple[str, ...]:
        """See `TraceStore.warnings`."""
        rows = self._room.rows(
            "SELECT warnings FROM fathom.traces WHERE workspace_no = %s AND id = %s", trace_id
        )
        return tuple(json.loads(rows[0][0] or "[]")) if rows else ()

    def list(self, limit: int = 50) -> tuple[TraceSummary, ...]:
        """See `TraceStore.list`."""
        query = (
            f"SELECT {LISTED} FROM fathom.traces WHERE workspace_no = %s ORDER BY no DESC LIMIT %s"  # noqa: S608 - constant
        )
        return tuple(listed(row) for row in self._room.rows(query, limit))

    def delete(self, trace_id: str) -> str:
        """See `TraceStore.delete`."""
        found = self._find(trace_id)
        with self._room.entered() as connection:
            for table, column in (("traces", "id"), ("feedback", "trace_id")):
                connection.execute(
                    f"DELETE FROM fathom.{table} WHERE workspace_no = %s AND {column} = %s",  # noqa: S608 - names
                    (self._room.workspace, found),
                )
        return found

    def sweep(self, index: IndexReader) -> int:
        """See `TraceStore.sweep`.

        Texts are looked up while others go on storing traces; only those that came meanwhile are
        looked up while these wait.
        """
        revision = index.revision()
        if self._swept() == revision:
            return 0
        looked_up = Looked(index)
        with self._room.entered() as connection:
            held = self._held(connection)
        looked_up.gone(held)
        with self._room.entered() as connection:
            self._lock(connection, _SWEEPING)
            gone = looked_up.gone(self._held(connection))
            removed = self._remove(connection, "traces", "held", "trace_no", gone)
            self._remove(connection, "feedback", "feedback_held", "feedback_no", gone)
            connection.execute(
                "INSERT INTO fathom.swept(workspace_no, revision) VALUES (%s, %s) "
                "ON CONFLICT (workspace_no) DO UPDATE SET revision = excluded.revision",
                (self._room.workspace, revision),
            )
        return removed

    def signals(self, strategy: str, limit: int) -> tuple[Mapping[str, float], ...]:
        """See `TraceStore.signals`."""
        rows = self._room.rows(
            "SELECT signals FROM fathom.traces WHERE workspace_no = %s AND strategy = %s "
            "AND signals <> '' ORDER BY no DESC LIMIT %s",
            strategy,
            limit,
        )
        return tuple(json.loads(row[0]) for row in rows)

    def put_feedback(self, feedback: Feedback, *, held: Iterable[Held] = ()) -> None:
        """See `TraceStore.put_feedback`."""
        self.take([KeptFeedback(feedback, tuple(held))])

    def feedback(self, *, strategy: str = "", key: str = "") -> tuple[Feedback, ...]:
        """See `TraceStore.feedback`."""
        rows = self._room.rows(
            "SELECT data FROM fathom.feedback WHERE workspace_no = %s "
            "AND (%s = '' OR strategy = %s) AND (%s = '' OR key = %s) ORDER BY no",
            *(strategy, strategy, key, key),
        )
        return tuple(Feedback.from_json(json.loads(row[0])) for row in rows)

    def records(self) -> Iterator[Kept]:
        """See `TraceStore.records`."""
        for (number,) in self._room.rows(
            "SELECT no FROM fathom.traces WHERE workspace_no = %s ORDER BY no"
        ):
            for row in self._room.rows(
                f"SELECT {LISTED}, data, signals, warnings FROM fathom.traces "  # noqa: S608 - constant
                "WHERE workspace_no = %s AND no = %s",
                number,
            ):  # none where it has gone since
                *summary, data, signals, warnings = row
                yield KeptTrace(
                    summary=listed(summary),
                    data=data,
                    signals=signals,
                    warnings=warnings,
                    held=self._held_by("held", "trace_no", number),
                )
        for number, data in self._room.rows(
            "SELECT no, data FROM fathom.feedback WHERE workspace_no = %s ORDER BY no"
        ):
            said = Feedback.from_json(json.loads(data))
            yield KeptFeedback(said, self._held_by("feedback_held", "feedback_no", number))

    def take(self, records: Iterable[Kept]) -> None:
        """See `TraceStore.take`."""
        with self._room.entered() as connection:
            self._lock(connection, _SWEEPING, shared=True)
            for kept in records:
                if isinstance(kept, KeptTrace):
                    self._insert(connection, kept)
                else:
                    self._replace(connection, kept)
            self._evict(connection)

    def findings(self) -> Iterator[str]:
        """What is wrong with them, in words."""
        for (number,) in self._room.rows("SELECT no FROM fathom.traces WHERE workspace_no = %s"):
            yield from damaged(
                self._room.rows(
                    "SELECT id, data FROM fathom.traces WHERE workspace_no = %s AND no = %s", number
                )
            )

    def close(self) -> None:
        """See `TraceStore.close`; the connections stay open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _insert(self, connection: Connection, kept: KeptTrace) -> None:
        summary = kept.summary
        row = connection.execute(
            f"INSERT INTO fathom.traces(workspace_no, {LISTED}, signals, warnings, data) "  # noqa: S608 - constant
            "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) "
            "ON CONFLICT (workspace_no, id) DO NOTHING RETURNING no",
            (
                self._room.workspace,
                *(summary.id, summary.started_at, summary.question.replace("\0", "\ufffd")),
                *(summary.strategy, summary.status, summary.size),
                *(kept.signals, kept.warnings, kept.data),
            ),
        ).fetchone()
        if row is None:
            return
        self._hold(connection, "held", "trace_no", row[0], kept.held)
        # The index may have changed while the question was answered.
        connection.execute(
            "DELETE FROM fathom.swept WHERE workspace_no = %s AND revision <> %s",
            (self._room.workspace, kept.revision),
        )

    def _replace(self, connection: Connection, kept: KeptFeedback) -> None:
        said, own = kept.feedback, self._room.workspace
        for (before,) in connection.execute(
            "DELETE FROM fathom.feedback WHERE workspace_no = %s AND trace_id = %s RETURNING data",
            (own, said.trace_id),
        ).fetchall():
            check_rank(said, before)  # what it raises brings the row back
        row = connection.execute(
            "INSERT INTO fathom.feedback(workspace_no, trace_id, key, strategy, data) "
            "VALUES (%s, %s, %s, %s, %s) RETURNING no",
            (own, said.trace_id, said.key, said.strategy, canonical(said.to_json())),
        ).fetchone()
        assert row is not None
        self._hold(connection, "feedback_held", "feedback_no", row[0], kept.held)
        # The index may have changed since the run.
        connection.execute("DELETE FROM fathom.swept WHERE workspace_no = %s", (own,))

    def _hold(
        self, connection: Connection, table: str, column: str, number: int, held: Iterable[Held]
    ) -> None:
        rows = [(self._room.workspace, *astuple(text), number) for text in dict.fromkeys(held)]
        with connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO fathom.{table}(workspace_no, {_TEXT}, {column}) "  # noqa: S608 - names
                "VALUES (%s, %s, %s, %s, %s, %s)",
                rows,
            )

    def _remove(
        self, connection: Connection, table: str, held: str, column: str, gone: Sequence[Held]
    ) -> int:
        """Remove the rows of a table that hold one of these texts; how many went."""
        columns = list(zip(*map(astuple, gone), strict=True)) or [()] * 4
        return connection.execute(
            f"DELETE FROM fathom.{table} WHERE workspace_no = %s AND no IN (SELECT {column} "  # noqa: S608 - names
            f"FROM fathom.{held} JOIN unnest(%s::text[], %s::int[], %s::int[], %s::text[]) "
            f"AS gone({_TEXT}) USING ({_TEXT}) WHERE workspace_no = %s)",
            (self._room.workspace, *map(list, columns), self._room.workspace),
        ).rowcount

    def _evict(self, connection: Connection) -> None:
        own = self._room.workspace
        row = connection.execute(
            "SELECT sum(size) FROM fathom.traces WHERE workspace_no = %s", (own,)
        ).fetchone()
        if row is None or (row[0] or 0) <= self.max_bytes:
            return
        self._lock(connection, _EVICTING)
        connection.execute(
            "DELETE FROM fathom.traces WHERE no IN (SELECT no FROM (SELECT no, sum(size) "
            "OVER (ORDER BY no DESC) AS total, max(no) OVER () AS newest FROM fathom.traces "
            "WHERE workspace_no = %s) AS sized WHERE total > %s AND no < newest)",
            (own, self.max_bytes),
        )

    def _lock(self, connection: Connection, what: int, *, shared: bool = False) -> None:
        suffix = "_shared" if shared else ""
        connection.execute(
            f"SELECT pg_advisory_xact_lock{suffix}(%s, %s)",
            (what, self._room.workspace),
        )

    def _swept(self) -> str:
        rows = self._room.rows("SELECT revision FROM fathom.swept WHERE workspace_no = %s")
        return str(rows[0][0]) if rows else ""

    def _held(self, connection: Connection) -> Sequence[Held]:
        own = self._room.workspace
        rows = connection.execute(
            f"SELECT {_TEXT} FROM fathom.held WHERE workspace_no = %s UNION "  # noqa: S608 - constant
            f"SELECT {_TEXT} FROM fathom.feedback_held WHERE workspace_no = %s ORDER BY document",
            (own, own),
        ).fetchall()
        return [Held(*row) for row in rows]

    def _held_by(self, table: str, column: str, number: int) -> tuple[Held, ...]:
        rows = self._room.rows(
            f"SELECT {_TEXT} FROM fathom.{table} WHERE workspace_no = %s AND {column} = %s",  # noqa: S608 - names
            number,
        )
        return tuple(Held(*row) for row in rows)

    def _find(self, beginning: str) -> str:
        rows: Sequence[tuple[Any, ...]] = ()
        if beginning.isascii() and "\0" not in beginning:
            rows = self._room.rows(
                "SELECT id FROM fathom.traces WHERE workspace_no = %s AND id >= %s "
                "AND starts_with(id, %s) LIMIT 2",
                *(beginning, beginning),
            )
        return the_only([row[0] for row in rows], beginning)


def has_traces(connections: Connections) -> bool:
    """Whether the tables of a server have room for traces."""
    with connections.taken() as connection:
        return check_version(connection, connections.address) >= SINCE
