"""The store of traces over SQL tables, whatever engine holds them."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple
from typing import Any, ClassVar, Self

from typing_extensions import override

from fathom.index.base import IndexReader
from fathom.index.feedback import Feedback
from fathom.index.sql import SqlTransaction
from fathom.index.trace_retention import QuotedText, TextLookup
from fathom.index.traces import (
    MAX_BYTES,
    SUMMARY_COLUMNS,
    UNOWNED,
    Ownership,
    StoredFeedback,
    StoredRecord,
    StoredTrace,
    TraceStore,
    TraceSummary,
    build_dropped_error,
    build_summary,
    check_rank,
    pack_trace,
    resolve_trace_id,
    unpack_trace,
)
from fathom.jsonable import dump_canonical
from fathom.runs.trace import Trace

_TEXT = ("document", "start", '"end"', "mark")
_TEXT_COLUMNS = ", ".join(_TEXT)
_BATCH = 200
"""The number of ids in one statement."""
_NEXT = "\x7f"
"""A character that sorts after every character of an id.

So all ids with a beginning sort before the beginning + `_NEXT`.
"""


class SqlTraces(TraceStore, ABC):
    """A `TraceStore` in SQL tables.

    The tables are named `traces`, `held`, `feedback`, `feedback_held`, `swept`, `trace_owners` and
    `trace_documents`. An engine adds its transactions and locks, and the columns in which its
    tables differ.
    """

    scope: ClassVar[str]
    """The condition that a row belongs to this store."""
    owner: ClassVar[tuple[str, str]]
    """The columns that assign a new row to this store, and their values, as SQL.

    Both end in a comma; both are empty if all rows of the tables belong to this store.
    """
    signals: ClassVar[str]
    """The signals of a trace as an SQL expression, empty or NULL if there are none."""
    warnings: ClassVar[str]
    """The warnings of a trace as an SQL expression, empty or NULL if there are none."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        """Create a store that drops the oldest traces beyond `max_bytes` of compressed data."""
        self.max_bytes = max_bytes

    @abstractmethod
    def _begin(self, *, write: bool = True) -> AbstractContextManager[SqlTransaction]:
        """Open a transaction, committed at the end of the `with` block unless an error leaves it.

        Raises:
            RunError: If the tables cannot be used.
        """

    @abstractmethod
    def _insert_trace(self, transaction: SqlTransaction, stored: StoredTrace) -> int | None:
        """Insert a trace and return its number; `None` if its id is stored already."""

    def _lock_sweeps(self, transaction: SqlTransaction, *, shared: bool = False) -> None:
        """Keep sweeps out until the transaction ends.

        An engine overrides this if its write transactions may run at the same time.

        Args:
            transaction: The transaction.
            shared: Whether other holders of a shared lock may run; `False` keeps all writers out.
        """

    def _lock_evictions(self, transaction: SqlTransaction) -> None:
        """Keep other evictions out until the transaction ends."""

    def _erase(self) -> None:
        """Erase deleted rows from the disk, if the engine would leave them readable there."""

    def _select(self, statement: str, *values: object) -> Sequence[tuple[Any, ...]]:
        """Return the rows of one statement in a transaction of its own."""
        with self._begin(write=False) as transaction:
            return transaction.execute(statement, values)

    def _has_owners(self) -> bool:
        """Return whether the store has the tables of owners."""
        return True

    @override
    def put(
        self,
        trace: Trace,
        *,
        held: Iterable[QuotedText] = (),
        warnings: Sequence[str] = (),
        ownership: Ownership = UNOWNED,
    ) -> None:
        self.import_records([pack_trace(trace, held, warnings, ownership)])

    @override
    def get(self, trace_id: str) -> Trace:
        whole_id = self._find_id(trace_id)
        rows = self._select(f"SELECT data FROM traces WHERE {self.scope} AND id = ?", whole_id)  # noqa: S608 - constant
        if not rows:
            raise build_dropped_error(trace_id)
        return unpack_trace(whole_id, rows[0][0])

    @override
    def get_warnings(self, trace_id: str) -> tuple[str, ...]:
        if not _is_possible_id(trace_id):
            return ()
        rows = self._select(
            f"SELECT {self.warnings} FROM traces WHERE {self.scope} AND id = ?",  # noqa: S608 - constants
            trace_id,
        )
        return tuple(json.loads(rows[0][0] or "[]")) if rows else ()

    @override
    def list(self, limit: int = 50) -> tuple[TraceSummary, ...]:
        rows = self._select(
            f"SELECT {SUMMARY_COLUMNS} FROM traces WHERE {self.scope} ORDER BY no DESC LIMIT ?",  # noqa: S608 - constants
            limit,
        )
        return tuple(build_summary(row) for row in rows)

    @override
    def list_owned(self, owner: str, *, limit: int, skip: int = 0) -> tuple[TraceSummary, ...]:
        rows = self._select(
            f"SELECT {SUMMARY_COLUMNS} FROM traces WHERE {self.scope} AND {self._owner_condition} "  # noqa: S608 - constants
            "ORDER BY no DESC LIMIT ? OFFSET ?",
            *(owner, limit, skip),
        )
        return tuple(build_summary(row) for row in rows)

    @override
    def get_documents(self, trace_ids: Sequence[str], owner: str) -> dict[str, frozenset[str]]:
        documents: dict[str, set[str]] = {}
        possible_ids = list(filter(_is_possible_id, trace_ids))
        for first in range(0, len(possible_ids), _BATCH):
            ids = possible_ids[first : first + _BATCH]
            marks = ", ".join("?" * len(ids))
            for trace_id, document in self._select(
                "SELECT id, document FROM "  # noqa: S608 - constants
                f"(SELECT no, id FROM traces WHERE {self.scope} AND {self._owner_condition} "
                f"AND id IN ({marks})) AS owned LEFT JOIN "
                f"(SELECT trace_no, document FROM trace_documents WHERE {self.scope}) AS shown "
                "ON trace_no = no",
                *(owner, *ids),
            ):
                documents.setdefault(trace_id, set())
                if document is not None:
                    documents[trace_id].add(document)
        return {trace_id: frozenset(names) for trace_id, names in documents.items()}

    @property
    def _owner_condition(self) -> str:
        """The condition that a trace belongs to an owner, who is its bound value."""
        return f"no IN (SELECT trace_no FROM trace_owners WHERE {self.scope} AND owner = ?)"  # noqa: S608 - constant

    @override
    def delete(self, trace_id: str) -> str:
        whole_id = self._find_id(trace_id)
        with self._begin() as transaction:
            for table, column in (("traces", "id"), ("feedback", "trace_id")):
                transaction.execute(
                    f"DELETE FROM {table} WHERE {self.scope} AND {column} = ?",  # noqa: S608 - names
                    (whole_id,),
                )
        self._erase()
        return whole_id

    @override
    def sweep(self, index: IndexReader) -> int:
        revision = index.get_revision()
        if self._select(
            f"SELECT revision FROM swept WHERE {self.scope} AND revision = ?",  # noqa: S608 - constant
            revision,
        ):
            return 0
        lookup = TextLookup(index)
        with self._begin(write=False) as transaction:
            held = self._read_all_texts(transaction)
        # Looked up before the write transaction, because others wait for that one.
        lookup.find_missing(held)
        with self._begin() as transaction:
            self._lock_sweeps(transaction)
            # More texts may have been stored meanwhile; the lookup remembers those from above.
            gone = lookup.find_missing(self._read_all_texts(transaction))
            removed = self._remove(transaction, "traces", "trace_no FROM held", gone)
            forgotten = self._remove(
                transaction, "feedback", "feedback_no FROM feedback_held", gone
            )
            transaction.execute(f"DELETE FROM swept WHERE {self.scope}")  # noqa: S608 - constant
            transaction.execute(self._build_insert("swept", "revision"), (revision,))
        if removed or forgotten:
            self._erase()
        return removed

    @override
    def list_signals(self, strategy: str, limit: int) -> tuple[Mapping[str, float], ...]:
        rows = self._select(
            f"SELECT {self.signals} FROM traces WHERE {self.scope} AND strategy = ? "  # noqa: S608 - constants
            f"AND {self.signals} <> '' ORDER BY no DESC LIMIT ?",
            strategy,
            limit,
        )
        return tuple(json.loads(row[0]) for row in rows)

    @override
    def put_feedback(self, feedback: Feedback, *, held: Iterable[QuotedText] = ()) -> None:
        with self._begin() as transaction:
            self._lock_sweeps(transaction, shared=True)
            self._discard_feedback(transaction, feedback)
            self._add_feedback(transaction, StoredFeedback(feedback, tuple(held)))

    @override
    def list_feedback(
        self, *, strategy: str = "", keys: Sequence[str] = ()
    ) -> tuple[Feedback, ...]:
        has_key = f"AND key IN ({', '.join('?' * len(keys))}) " if keys else ""
        rows = self._select(
            f"SELECT data FROM feedback WHERE {self.scope} "  # noqa: S608 - constants
            f"AND (? = '' OR strategy = ?) {has_key}ORDER BY no",
            *(strategy, strategy, *keys),
        )
        return tuple(Feedback.from_json(json.loads(row[0])) for row in rows)

    @override
    def export_records(self) -> Iterator[StoredRecord]:
        has_owners = self._has_owners()
        for (number,) in self._select(f"SELECT no FROM traces WHERE {self.scope} ORDER BY no"):  # noqa: S608 - constant
            for row in self._select(
                f"SELECT {SUMMARY_COLUMNS}, data, {self.signals}, {self.warnings} FROM traces "  # noqa: S608 - constants
                f"WHERE {self.scope} AND no = ?",
                number,
            ):  # no row if the trace has been deleted since
                *summary, data, signals, warnings = row
                yield StoredTrace(
                    summary=build_summary(summary),
                    data=data,
                    signals=signals or "",
                    warnings=warnings or "",
                    held=self._read_texts("held", "trace_no", number),
                    ownership=self._read_ownership(number) if has_owners else UNOWNED,
                )
        for number, data in self._select(
            f"SELECT no, data FROM feedback WHERE {self.scope} ORDER BY no"  # noqa: S608 - constant
        ):
            feedback = Feedback.from_json(json.loads(data))
            yield StoredFeedback(feedback, self._read_texts("feedback_held", "feedback_no", number))

    @override
    def import_records(self, records: Iterable[StoredRecord]) -> None:
        with self._begin() as transaction:
            self._lock_sweeps(transaction, shared=True)
            for stored in records:
                if isinstance(stored, StoredTrace):
                    self._add_trace(transaction, stored)
                else:
                    self._add_feedback(transaction, stored, "ON CONFLICT DO NOTHING")
            self._evict(transaction)

    def _add_trace(self, transaction: SqlTransaction, stored: StoredTrace) -> None:
        """Insert a trace with its texts and owner, unless it is stored already."""
        number = self._insert_trace(transaction, stored)
        if number is None:
            return
        self._insert_texts(transaction, "held", "trace_no", number, stored.held)
        self._insert_ownership(transaction, number, stored.ownership)
        # If the index changed while the question was answered, or its revision is unknown, the next
        # sweep must not be skipped.
        transaction.execute(
            f"DELETE FROM swept WHERE {self.scope} AND revision <> ?",  # noqa: S608 - constant
            (stored.revision,),
        )

    def _discard_feedback(self, transaction: SqlTransaction, feedback: Feedback) -> None:
        """Delete the earlier feedback on the trace of new feedback.

        Raises:
            OutrankedFeedbackError: As in `check_rank`.
        """
        for (before,) in transaction.execute(
            f"DELETE FROM feedback WHERE {self.scope} AND trace_id = ? RETURNING data",  # noqa: S608 - constant
            (feedback.trace_id,),
        ):
            check_rank(feedback, before)  # an error rolls the deletion back

    def _add_feedback(
        self, transaction: SqlTransaction, stored: StoredFeedback, on_conflict: str = ""
    ) -> None:
        """Insert feedback with its texts.

        Args:
            transaction: The transaction.
            stored: The feedback.
            on_conflict: The clause for the case that its trace has feedback; by default an error.
        """
        feedback = stored.feedback
        insert = self._build_insert("feedback", "trace_id", "key", "strategy", "data")
        data = dump_canonical(feedback.to_json())
        for (number,) in transaction.execute(
            f"{insert} {on_conflict} RETURNING no",
            (feedback.trace_id, feedback.key, feedback.strategy, data),
        ):
            self._insert_texts(transaction, "feedback_held", "feedback_no", number, stored.held)
        # The index may have changed since the run, so the next sweep must not be skipped.
        transaction.execute(f"DELETE FROM swept WHERE {self.scope}")  # noqa: S608 - constant

    def _build_insert(self, table: str, *columns: str) -> str:
        """Return the statement that inserts a row of this store.

        Args:
            table: The table.
            columns: The columns, in the order in which their values are bound.
        """
        owner, number = self.owner
        marks = ", ".join("?" * len(columns))
        return f"INSERT INTO {table}({owner}{', '.join(columns)}) VALUES ({number}{marks})"  # noqa: S608 - names

    def _insert_texts(
        self,
        transaction: SqlTransaction,
        table: str,
        column: str,
        number: int,
        held: Iterable[QuotedText],
    ) -> None:
        """Insert the quoted texts of one trace or one piece of feedback.

        Args:
            transaction: The transaction.
            table: `held` or `feedback_held`.
            column: The column of the number in this table.
            number: The number of the trace or the feedback.
            held: The texts.
        """
        transaction.execute_many(
            self._build_insert(table, *_TEXT, column),
            [(*astuple(text), number) for text in dict.fromkeys(held)],
        )

    def _insert_ownership(
        self, transaction: SqlTransaction, number: int, ownership: Ownership
    ) -> None:
        """Insert the owner of a trace and the documents in it; nothing for an unowned trace."""
        if not ownership.owner:
            return
        transaction.execute(
            self._build_insert("trace_owners", "trace_no", "owner"), (number, ownership.owner)
        )
        transaction.execute_many(
            self._build_insert("trace_documents", "trace_no", "document"),
            [(number, document) for document in dict.fromkeys(ownership.documents)],
        )

    def _read_ownership(self, number: int) -> Ownership:
        """Return the owner of the trace with a number; `UNOWNED` if it has none."""
        owners = self._select(
            f"SELECT owner FROM trace_owners WHERE {self.scope} AND trace_no = ?",  # noqa: S608 - constant
            number,
        )
        documents = self._select(
            f"SELECT document FROM trace_documents WHERE {self.scope} AND trace_no = ? "  # noqa: S608 - constant
            "ORDER BY document",
            number,
        )
        return Ownership(owners[0][0], tuple(row[0] for row in documents)) if owners else UNOWNED

    def _remove(
        self, transaction: SqlTransaction, table: str, quoting: str, gone: Sequence[QuotedText]
    ) -> int:
        """Delete the rows of a table that quote one of these texts and return their number.

        Args:
            transaction: The transaction.
            table: `traces` or `feedback`.
            quoting: The column and table that give the numbers of quoting rows, as `column FROM
                table`.
            gone: The texts.
        """
        return transaction.execute_many(
            f"DELETE FROM {table} WHERE {self.scope} AND no IN (SELECT {quoting} "  # noqa: S608 - names
            f'WHERE {self.scope} AND document = ? AND start = ? AND "end" = ? AND mark = ?)',
            [astuple(text) for text in gone],
        )

    def _evict(self, transaction: SqlTransaction) -> None:
        """Delete the oldest traces beyond the size limit."""
        [(size,)] = transaction.execute(f"SELECT sum(size) FROM traces WHERE {self.scope}")  # noqa: S608 - constant
        if (size or 0) <= self.max_bytes:
            return
        self._lock_evictions(transaction)
        transaction.execute(
            # The newest trace always stays, even if it alone is larger than the cap.
            "DELETE FROM traces WHERE no IN (SELECT no FROM (SELECT no, sum(size) "  # noqa: S608 - constant
            "OVER (ORDER BY no DESC) AS total, max(no) OVER () AS newest FROM traces "
            f"WHERE {self.scope}) AS sized WHERE total > ? AND no < newest)",
            (self.max_bytes,),
        )

    def _read_all_texts(self, transaction: SqlTransaction) -> Sequence[QuotedText]:
        """Return all quoted texts, in the order of their documents."""
        rows = transaction.execute(
            f"SELECT {_TEXT_COLUMNS} FROM held WHERE {self.scope} UNION "  # noqa: S608 - constants
            f"SELECT {_TEXT_COLUMNS} FROM feedback_held WHERE {self.scope} ORDER BY document"
        )
        return [QuotedText(*row) for row in rows]

    def _read_texts(self, table: str, column: str, number: int) -> tuple[QuotedText, ...]:
        """Return the quoted texts of one trace or one piece of feedback."""
        rows = self._select(
            f"SELECT {_TEXT_COLUMNS} FROM {table} WHERE {self.scope} AND {column} = ?",  # noqa: S608 - names
            number,
        )
        return tuple(QuotedText(*row) for row in rows)

    def _find_id(self, beginning: str) -> str:
        """Return the whole id of the only trace with this beginning.

        Raises:
            MissingTraceError: If no trace, or more than one, has it.
        """
        rows: Sequence[tuple[Any, ...]] = ()
        if _is_possible_id(beginning):
            rows = self._select(
                f"SELECT id FROM traces WHERE {self.scope} AND id >= ? AND id < ? LIMIT 2",  # noqa: S608 - constant
                *(beginning, beginning + _NEXT),
            )
        return resolve_trace_id([row[0] for row in rows], beginning)

    @override
    def __enter__(self) -> Self:
        return self

    @override
    def __exit__(self, *error: object) -> None:
        self.close()


def _is_possible_id(text: str) -> bool:
    """Return whether a text may be an id or its beginning: ids are ASCII."""
    return text.isascii() and "\0" not in text  # PostgreSQL takes no NUL
