"""The traces of a workspace on the server, shared by every machine that asks its index."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, replace
from typing import Any

from typing_extensions import override

from fathom.index.postgres.connections import Connections
from fathom.index.postgres.schema import IN_WORKSPACE, check_version
from fathom.index.postgres.workspace_tables import WorkspaceTables
from fathom.index.sql import SqlTransaction
from fathom.index.sql_traces import SqlTraces
from fathom.index.traces import MAX_BYTES, SUMMARY_COLUMNS, StoredTrace, describe_damaged_traces

MIN_LAYOUT = 2
"""The first version of the layout that has tables for traces."""
_SWEEPING, _EVICTING = 507_210, 507_211
"""The first keys of advisory locks; the second key is the number of the workspace."""


class PostgresTraces(SqlTraces):
    """The `TraceStore` of a workspace; several machines may use it at once."""

    scope = IN_WORKSPACE
    owner = ("workspace_no, ", "current_setting('fathom.workspace')::int, ")
    signals = "signals"
    warnings = "warnings"

    def __init__(self, tables: WorkspaceTables, *, max_bytes: int = MAX_BYTES) -> None:
        """Create the store; nothing is read yet."""
        super().__init__(max_bytes)
        self._tables = tables

    @override
    @contextmanager
    def _begin(self, *, write: bool = True) -> Iterator[SqlTransaction]:
        with self._tables.begin() as connection:
            yield SqlTransaction(connection, "%s")

    @override
    def _select(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return self._tables.execute(statement.replace("?", "%s"), values)

    @override
    def _insert_trace(self, transaction: SqlTransaction, stored: StoredTrace) -> int | None:
        insert = self._build_insert(
            "traces", *SUMMARY_COLUMNS.split(", "), "signals", "warnings", "data"
        )
        question = stored.summary.question.replace("\0", "\ufffd")
        rows = transaction.execute(
            f"{insert} ON CONFLICT DO NOTHING RETURNING no",
            (
                *astuple(replace(stored.summary, question=question)),
                *(stored.signals, stored.warnings, stored.data),
            ),
        )
        return rows[0][0] if rows else None

    @override
    def _has_owners(self) -> bool:
        # Tables of an older Fathom lack them until somebody writes.
        [(table,)] = self._select("SELECT to_regclass('fathom.trace_owners')::text")
        return table is not None

    @override
    def _lock_sweeps(self, transaction: SqlTransaction, *, shared: bool = False) -> None:
        # Without the lock a sweep could overlook a trace that is stored at the same time.
        self._lock(transaction, _SWEEPING, "_shared" if shared else "")

    @override
    def _lock_evictions(self, transaction: SqlTransaction) -> None:
        self._lock(transaction, _EVICTING)

    def _lock(self, transaction: SqlTransaction, key: int, suffix: str = "") -> None:
        """Take an advisory lock of the workspace until the transaction ends."""
        transaction.execute(
            f"SELECT pg_advisory_xact_lock{suffix}(?, ?)",
            (key, self._tables.workspace),
        )

    def list_findings(self) -> Iterator[str]:
        """Yield a line for each damaged trace."""
        for (number,) in self._select(f"SELECT no FROM traces WHERE {self.scope}"):  # noqa: S608 - constant
            yield from describe_damaged_traces(
                self._select(
                    f"SELECT id, data FROM traces WHERE {self.scope} AND no = ?",  # noqa: S608 - constant
                    number,
                )
            )

    @override
    def close(self) -> None:
        pass  # the connections are shared, so they stay open


def has_traces(connections: Connections) -> bool:
    """Return whether the server's tables include those for traces."""
    with connections.borrow() as connection:
        return check_version(connection, connections.address) >= MIN_LAYOUT
