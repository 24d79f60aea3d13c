"""The protocol of a store of traces and of feedback on them, beside an index.

A trace stays as long as the documents still contain every text that the trace holds: text that is
removed from the index, or changed in it, does not live on in the traces.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from fathom.errors import UsageError
from fathom.index.base import IndexReader
from fathom.index.feedback import Feedback
from fathom.index.trace_retention import QuotedText
from fathom.jsonable import dump_canonical
from fathom.runs.chain import TamperedTraceError, decode_trace
from fathom.runs.trace import Trace

MAX_BYTES = 256 << 20
"""The default cap on the compressed data of all traces in a store, in bytes."""
MAX_TRACE_BYTES = 64 << 20
"""The largest accepted size of an unpacked trace, in bytes."""
QUESTION_CHARS = 1_000
"""The number of a question's characters in a list of traces."""


class MissingTraceError(UsageError):
    """An id, or beginning of an id, that no trace has or several traces have."""


class OutrankedFeedbackError(UsageError):
    """An opinion on an answer that already has feedback that counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSummary:
    """The entry of a trace in a list.

    Attributes:
        started_at: The time at which the run began, ISO 8601 in UTC.
        question: The question; the end of a long one is cut off.
        strategy: The name of the strategy.
        status: The status of the answer; `tentative` if the answer is shown although it is not
            sure; empty if the run gave no answer.
        size: The size of the stored, compressed trace in bytes.
    """

    id: str
    started_at: str
    question: str
    strategy: str
    status: str
    size: int


@dataclass(frozen=True, slots=True)
class Ownership:
    """The owner of a trace, and the documents that the owner must still be allowed to read.

    Attributes:
        owner: The name of the key that asked; empty if the trace is only for those who may read all
            documents.
        documents: The ids of all documents from which the trace holds something.
    """

    owner: str = ""
    documents: tuple[str, ...] = ()


UNOWNED = Ownership()
"""The ownership of traces that nobody owns, such as those of the command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTrace:
    """A trace as it is stored, with all data that is deleted together with it.

    Attributes:
        data: The lines of the trace, compressed by zlib.
        revision: The revision of the index that was searched; empty if it is unknown, as in an
            exported trace.
        signals: The signals of the answer, as JSON; empty if there are none.
        warnings: The warnings of the answer, as JSON; empty if there are none.
        held: The texts of documents that the trace contains.
        ownership: The owner of the trace.
    """

    summary: TraceSummary
    data: bytes
    revision: str = ""
    signals: str = ""
    warnings: str = ""
    held: tuple[QuotedText, ...] = ()
    ownership: Ownership = UNOWNED


@dataclass(frozen=True, slots=True)
class StoredFeedback:
    """Feedback on an answer, with the texts of documents that the feedback cites."""

    feedback: Feedback
    held: tuple[QuotedText, ...] = ()


StoredRecord = StoredTrace | StoredFeedback


SUMMARY_COLUMNS = "id, started_at, question, strategy, status, size"
"""The columns of a summary, in the order that `build_summary` takes."""


def build_summary(row: Sequence[Any]) -> TraceSummary:
    """Build a summary from a row of `SUMMARY_COLUMNS`."""
    return TraceSummary(**dict(zip(SUMMARY_COLUMNS.split(", "), row, strict=True)))


class TraceStore(Protocol):
    """The traces of one index and the feedback on them, safe for threads and processes.

    The store is capped in size: beyond the cap the oldest traces are dropped. Every method raises a
    `RunError` if the store cannot be used.
    """

    def put(
        self,
        trace: Trace,
        *,
        held: Iterable[QuotedText] = (),
        warnings: Sequence[str] = (),
        ownership: Ownership = UNOWNED,
    ) -> None:
        """Store a trace, and drop the oldest ones beyond the cap; the newest always stays.

        Args:
            trace: A sealed trace; a trace that is stored already is not stored again.
            held: The texts of documents in the trace, for `sweep`.
            warnings: The warnings of its answer.
            ownership: The owner of the trace.
        """
        ...

    def get(self, trace_id: str) -> Trace:
        """Return the trace with this id or beginning of an id, verified.

        Raises:
            MissingTraceError: If no trace, or more than one, has this id or beginning.
            TamperedTraceError: If it differs from the trace that was stored.
        """
        ...

    def get_warnings(self, trace_id: str) -> tuple[str, ...]:
        """Return the warnings of the answer of a trace, by its whole id; empty without a trace."""
        ...

    def list(self, limit: int = 50) -> tuple[TraceSummary, ...]:
        """Return the newest traces, newest first."""
        ...

    def list_owned(self, owner: str, *, limit: int, skip: int = 0) -> tuple[TraceSummary, ...]:
        """Return the traces of an owner, newest first, without the newest `skip` of them."""
        ...

    def get_documents(self, trace_ids: Sequence[str], owner: str) -> dict[str, frozenset[str]]:
        """Return the ids of the documents from which an owner's traces hold something, by trace id.

        Traces of other owners are left out.

        Args:
            trace_ids: The whole ids of traces.
            owner: The name of the owner; not empty.
        """
        ...

    def delete(self, trace_id: str) -> str:
        """Remove a trace and the feedback on it for good, and return its whole id.

        Raises:
            MissingTraceError: If no trace, or more than one, has this id or beginning.
        """
        ...

    def sweep(self, index: IndexReader) -> int:
        """Remove for good all traces with a text that its document no longer contains.

        Feedback on answers that cited such a text is removed too. Nothing is looked up if the index
        has not changed since the last sweep.

        Returns:
            The number of removed traces.
        """
        ...

    def list_signals(self, strategy: str, limit: int) -> tuple[Mapping[str, float], ...]:
        """Return the signals of the newest answers of a strategy, newest first."""
        ...

    def put_feedback(self, feedback: Feedback, *, held: Iterable[QuotedText] = ()) -> None:
        """Store feedback on an answer in place of the earlier feedback on it.

        Args:
            feedback: Feedback on a stored trace. It outlives the trace, unless the trace is deleted
                by hand.
            held: The texts of documents that the feedback cites, for `sweep`.

        Raises:
            OutrankedFeedbackError: If the feedback does not count and an earlier one does; that one
                stays.
        """
        ...

    def list_feedback(
        self, *, strategy: str = "", keys: Sequence[str] = ()
    ) -> tuple[Feedback, ...]:
        """Return the feedback that meets all given conditions, oldest first.

        Args:
            strategy: The strategy whose answers were judged; empty for any.
            keys: The keys of the question (`list_question_keys`); empty for any.
        """
        ...

    def export_records(self) -> Iterator[StoredRecord]:
        """Yield all stored records: the traces, oldest first, then the feedback."""
        ...

    def import_records(self, records: Iterable[StoredRecord]) -> None:
        """Store the exported records of another store in one step, all or none.

        What is stored already stays as it is: a trace, and feedback on a trace, which may be newer
        than that of the other store.
        """
        ...

    def close(self) -> None:
        """Close the store; a second call does nothing."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


def sweep_store(store: TraceStore, index: IndexReader) -> TraceStore:
    """Sweep a newly opened store and return it.

    The sweep is needed because a process that changed the index may have been killed before it
    swept the traces.

    Raises:
        RunError: If the store cannot be swept; it is then closed.
    """
    try:
        store.sweep(index)
    # The caller never gets the store, so it must be closed here, even after an interrupt.
    except BaseException:
        store.close()
        raise
    return store


def pack_trace(
    trace: Trace,
    held: Iterable[QuotedText],
    warnings: Sequence[str],
    ownership: Ownership = UNOWNED,
) -> StoredTrace:
    """Pack a trace for storage, as `TraceStore.put` takes it."""
    data = zlib.compress(trace.data, 6)
    answer = trace.answer if isinstance(trace.answer, dict) else {}
    summary = TraceSummary(
        id=trace.id,
        started_at=trace.started_at,
        question=trace.origin.question[:QUESTION_CHARS],
        strategy=trace.origin.strategy,
        status="tentative" if answer.get("tentative") else str(answer.get("status", "")),
        size=len(data),
    )
    return StoredTrace(
        summary=summary,
        data=data,
        revision=trace.origin.index_revision,
        signals=dump_canonical(dict(trace.signals)) if trace.signals else "",
        warnings=dump_canonical([*warnings]) if warnings else "",
        # Each text once, in order: several hits may come from the same place.
        held=tuple(dict.fromkeys(held)),
        ownership=ownership,
    )


def unpack_trace(trace_id: str, data: bytes) -> Trace:
    """Unpack a stored trace and verify it.

    Raises:
        TamperedTraceError: If it differs from the trace that was stored.
    """
    unpacker = zlib.decompressobj()
    try:
        # Bounded, because a damaged or forged row could expand to any size.
        lines = unpacker.decompress(data, MAX_TRACE_BYTES)
    except zlib.error as error:
        raise TamperedTraceError(f"trace {trace_id}: the stored data is damaged") from error
    if not unpacker.eof:
        raise TamperedTraceError(f"trace {trace_id}: the stored data is cut or far too large")
    return decode_trace(lines, trace_id)


def resolve_trace_id(matches: Sequence[str], beginning: str) -> str:
    """Return the only id that has a beginning.

    Args:
        matches: The ids that have the beginning; two are enough to show that it is ambiguous.
        beginning: The beginning, as the user gave it.

    Raises:
        MissingTraceError: If there is none or more than one.
    """
    # An empty beginning is refused: it would match the only trace of a store.
    if len(matches) == 1 and beginning:
        return matches[0]
    fault = "more than one trace begins" if beginning and matches else "no trace begins"
    raise MissingTraceError(f"{fault} with {beginning[:64]!r}; `fathom trace` lists them")


def check_rank(feedback: Feedback, before: str) -> None:
    """Check that feedback may replace the earlier feedback, given in its stored form.

    Raises:
        OutrankedFeedbackError: If the feedback does not count and the earlier one does.
    """
    if not feedback.counts and Feedback.from_json(json.loads(before)).counts:
        raise OutrankedFeedbackError(
            "feedback: somebody who may say what is right has judged this answer; their word stays"
        )


def build_dropped_error(trace_id: str) -> MissingTraceError:
    """Return the error for a trace that was found a moment ago and is gone now."""
    return MissingTraceError(f"trace {trace_id!r} was dropped or deleted just now")


def describe_damaged_traces(stored: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    """Yield a line for each stored trace that is damaged.

    Args:
        stored: The id and the compressed data of each trace.
    """
    for trace_id, data in stored:
        try:
            unpack_trace(trace_id, data)
        except TamperedTraceError as error:
            yield f"{error}; remove it with `fathom trace --delete {trace_id}`"
