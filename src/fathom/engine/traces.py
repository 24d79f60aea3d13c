"""The traces of an engine: the records of its answers."""

from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING

from fathom.engine.opened_index import OpenedIndex
from fathom.errors import RunError
from fathom.index.traces import TraceStore, TraceSummary, sweep_store
from fathom.redaction import open_log
from fathom.runs.outline import format_tree
from fathom.runs.recorder import restore_answer
from fathom.runs.trace import Step, Trace
from fathom.types import Answer

if TYPE_CHECKING:
    from fathom.settings import Settings
    from fathom.strategies.run import RunOutcome

LOG = open_log("fathom")


class Traces:
    """The traces stored with the index of an engine."""

    def __init__(self, settings: "Settings", index: OpenedIndex) -> None:
        """Create the facade; the store is opened on first use."""
        self._settings = settings
        self._index = index
        self._store: TraceStore | None = None
        self._lock = RLock()

    @property
    def store(self) -> TraceStore:
        """The store of the traces.

        Raises:
            IndexMissing: If nothing has been ingested.
            UsageError: If the index is read on behalf of a viewer: a trace holds texts of any
                document.
        """
        self._index.refuse_viewer("records of answers")
        with self._lock:
            if self._store is None:
                index = self._index.reader(checked=False)
                max_bytes = self._settings.trace.max_mb << 20
                self._store = sweep_store(self._index.place.open_traces(max_bytes=max_bytes), index)
            return self._store

    def exist(self) -> bool:
        """Return whether any trace may be stored."""
        if self._index.viewer is not None:
            return False
        return self._store is not None or self._index.place.has_traces()

    def get(self, trace_id: str) -> Trace:
        """Return the record of an answer: every step, every outside event.

        Args:
            trace_id: The id, or its beginning.

        Raises:
            MissingTraceError: If there is no such trace.
            TamperedTraceError: If the trace is not what was stored.
        """
        return self.store.get(trace_id)

    def list(self, limit: int = 50) -> tuple[TraceSummary, ...]:
        """Return the latest traces, newest first."""
        return self.store.list(limit)

    def delete(self, trace_id: str) -> str:
        """Delete a trace and return its whole id.

        Raises:
            MissingTraceError: If there is no such trace.
        """
        return self.store.delete(trace_id)

    def answer(self, trace_id: str) -> Answer:
        """Return an answer as it was given, whatever has changed since; it raises as `get` does."""
        trace = self.get(trace_id)
        warnings = self.store.get_warnings(trace.id)
        return replace(restore_answer(trace.answer), trace_id=trace.id, warnings=warnings)

    def steps(self, answer: Answer) -> tuple[Step, ...] | None:
        """Return the steps of an answer in order of their start; `None` if they are not stored."""
        if answer.trace_id is None:
            return None
        trace = self.store.get(answer.trace_id)
        return tuple(sorted(trace.steps, key=lambda step: step.started_at))

    def explain(self, answer: Answer) -> str:
        """Return the steps of an answer with their reasons, as a tree of lines."""
        if answer.trace_id is None:
            return "its steps were not stored; trace.enabled turns recording on"
        return format_tree(self.store.get(answer.trace_id))

    def save(self, outcome: "RunOutcome") -> "RunOutcome":
        """Store the trace of an outcome, and return the outcome with the id of its trace.

        A trace that cannot be stored is logged: the answer is worth more than its record.
        """
        if not self._settings.trace.enabled:
            return outcome
        from fathom.retrieval.search import collect_texts

        try:
            held = collect_texts(outcome.trace)
            self.store.put(outcome.trace, held=held, warnings=outcome.answer.warnings)
        except RunError as error:
            LOG.warning("the trace was not stored: %s", error)
            return outcome
        return replace(outcome, answer=replace(outcome.answer, trace_id=outcome.trace.id))

    def sweep(self) -> None:
        """Delete the traces whose texts are no longer in the index."""
        if not self.exist():
            return
        try:
            self.store.sweep(self._index.reader(checked=False))
        except RunError as error:
            LOG.warning("%s; it may hold texts that are no longer in the index", error)

    def close(self) -> None:
        """Close the store; it may be opened again."""
        with self._lock:
            if self._store is not None:
                self._store.close()
            self._store = None
