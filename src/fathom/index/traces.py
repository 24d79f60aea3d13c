"""Traces beside an index, and what people said of them: what a store of them keeps.

A trace stays as long as the documents hold every text that it holds: what is removed from the
index, or changed in it, does not live on here.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from fathom.errors import UsageError
from fathom.index.base import IndexReader
from fathom.index.feedback import Feedback
from fathom.index.trace_retention import Held
from fathom.jsonable import canonical
from fathom.runs.chain import TraceTampered, decode
from fathom.runs.trace import Trace

MAX_BYTES = 256 << 20
MAX_TRACE_BYTES = 64 << 20
QUESTION_CHARS = 1_000
"""So much of a question is listed."""


class TraceMissing(UsageError):
    """No trace, or more than one, has this id."""


class Outranked(UsageError):
    """An opinion on an answer of which somebody has said already what counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSummary:
    """A trace as listed; `size` is in bytes as stored."""

    id: str
    started_at: str
    question: str
    strategy: str
    status: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTrace:
    """A trace as it is stored, with all that goes when it goes.

    Attributes:
        data: Its lines, compressed.
        revision: Of the index that was asked; empty where that is another one now.
        signals: Those of its answer, as JSON; empty where there are none.
        warnings: What its answer was given with, likewise.
        held: The texts of documents in it.
    """

    summary: TraceSummary
    data: bytes
    revision: str = ""
    signals: str = ""
    warnings: str = ""
    held: tuple[Held, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptFeedback:
    """What was said of an answer, with the texts of documents that it cites."""

    feedback: Feedback
    held: tuple[Held, ...] = ()


Kept = KeptTrace | KeptFeedback


LISTED = "id, started_at, question, strategy, status, size"
"""The columns of a summary, in the order of `listed`."""


def listed(row: Sequence[Any]) -> TraceSummary:
    """The summary of a row."""
    return TraceSummary(**dict(zip(LISTED.split(", "), row, strict=True)))


class TraceStore(Protocol):
    """The traces of one index; safe from threads, and from several processes at once.

    Capped in size: beyond it the oldest traces go.
    """

    def put(self, trace: Trace, *, held: Iterable[Held] = (), warnings: Sequence[str] = ()) -> None:
        """Store a trace, and drop the oldest ones beyond the cap; the newest always stays.

        Args:
            trace: A sealed trace; one that is there already is not stored again.
            held: The texts of documents in it, for `sweep`.
            warnings: What its answer was given with.
        """
        ...

    def get(self, trace_id: str) -> Trace:
        """The trace with this id, or the only one whose id starts so; verified.

        Raises:
            TraceMissing: If there is none or more than one.
            TraceTampered: If it is not what was stored.
        """
        ...

    def warnings(self, trace_id: str) -> tuple[str, ...]:
        """What the answer of the trace with this whole id was given with."""
        ...

    def list(self, limit: int = 50) -> tuple[TraceSummary, ...]:
        """The newest traces, newest first."""
        ...

    def delete(self, trace_id: str) -> str:
        """Remove a trace for good; returns its whole id.

        Raises:
            TraceMissing: If there is none or more than one of this id or beginning.
        """
        ...

    def sweep(self, index: IndexReader) -> int:
        """Remove for good all with a text that its document does not hold any more.

        Traces go, and feedback on answers that cited it.

        Nothing is looked up where the index has not changed since the last time.

        Returns:
            How many traces went.
        """
        ...

    def signals(self, strategy: str, limit: int) -> tuple[Mapping[str, float], ...]:
        """The signals of the newest answers of a strategy, newest first."""
        ...

    def put_feedback(self, feedback: Feedback, *, held: Iterable[Held] = ()) -> None:
        """Keep what was said of an answer, instead of what was said of it before.

        Args:
            feedback: On a trace that is there; it outlives it, unless that is deleted by hand.
            held: The texts of documents that it cites, for `sweep`.

        Raises:
            Outranked: If it does not count, and what was said before does; that stays.
        """
        ...

    def feedback(self, *, strategy: str = "", key: str = "") -> tuple[Feedback, ...]:
        """What was said, oldest first: of a strategy's answers, or of those to a question."""
        ...

    def records(self) -> Iterator[Kept]:
        """All that is kept: the traces, oldest first, then what was said."""
        ...

    def take(self, records: Iterable[Kept]) -> None:
        """Keep what `records` of another store gives, in one step; what is there stays."""
        ...

    def close(self) -> None:
        """Let go of the store; calling it twice is fine."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


def swept(store: TraceStore, index: IndexReader) -> TraceStore:
    """A store that was opened just now, swept: who changed the index last may have been killed.

    Raises:
        RunError: If it cannot be swept; it is closed then.
    """
    try:
        store.sweep(index)
    except BaseException:
        store.close()
        raise
    return store


def kept_of(trace: Trace, held: Iterable[Held], warnings: Sequence[str]) -> KeptTrace:
    """A trace as it is stored; see `TraceStore.put`."""
    data = zlib.compress(trace.data, 6)
    answer = trace.answer if isinstance(trace.answer, dict) else {}
    summary = TraceSummary(
        id=trace.id,
        started_at=trace.started_at,
        question=trace.origin.question[:QUESTION_CHARS],
        strategy=trace.origin.strategy,
        status=str(answer.get("status", "")),
        size=len(data),
    )
    return KeptTrace(
        summary=summary,
        data=data,
        revision=trace.origin.index_revision,
        signals=canonical(dict(trace.signals)) if trace.signals else "",
        warnings=canonical([*warnings]) if warnings else "",
        held=tuple(dict.fromkeys(held)),
    )


def unpacked(trace_id: str, data: bytes) -> Trace:
    """The trace of stored bytes, verified.

    Raises:
        TraceTampered: If it is not what was stored.
    """
    unpacker = zlib.decompressobj()
    try:
        lines = unpacker.decompress(data, MAX_TRACE_BYTES)
    except zlib.error as error:
        raise TraceTampered(f"trace {trace_id}: what is stored is damaged") from error
    if not unpacker.eof:
        raise TraceTampered(f"trace {trace_id}: what is stored is cut or far too large")
    return decode(lines, trace_id)


def the_only(found: Sequence[str], beginning: str) -> str:
    """The id that is meant by its beginning, of at most two that were found.

    Raises:
        TraceMissing: If there is none or more than one.
    """
    if len(found) == 1 and beginning:
        return found[0]
    what = "more than one trace begins" if beginning and found else "no trace begins"
    raise TraceMissing(f"{what} with {beginning[:64]!r}; `fathom trace` lists them")


def check_rank(said: Feedback, before: str) -> None:
    """Accept what was said, instead of what was said before, which is given as it was stored.

    Raises:
        Outranked: If it does not count, and what was said before does.
    """
    if not said.counts and Feedback.from_json(json.loads(before)).counts:
        raise Outranked(
            "feedback: somebody who may say what is right has judged this answer; their word stays"
        )


def dropped(trace_id: str) -> TraceMissing:
    """Why a trace that was found a moment ago is not there."""
    return TraceMissing(f"trace {trace_id!r} was dropped or deleted just now")


def damaged(stored: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    """Which of these traces are not what was stored, in words."""
    for trace_id, data in stored:
        try:
            unpacked(trace_id, data)
        except TraceTampered as error:
            yield f"{error}; remove it with `fathom trace --delete {trace_id}`"
