"""The traces of an engine, which are the records of its answers."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING

from fathom.engine.opened_index import OpenedIndex
from fathom.errors import RunError
from fathom.index.feedback import Feedback
from fathom.index.trace_retention import QuotedText
from fathom.index.traces import (
    UNOWNED,
    Ownership,
    TraceStore,
    TraceSummary,
    resolve_trace_id,
    sweep_store,
)
from fathom.redaction import open_log
from fathom.runs.outline import format_tree
from fathom.runs.recorder import restore_answer
from fathom.runs.trace import Step, Trace
from fathom.types import Answer

if TYPE_CHECKING:
    from fathom.settings import Settings
    from fathom.strategies.run import RunOutcome

LOG = open_log("fathom")
BATCH = 100
"""The number of traces of an owner that are read from the store at a time."""


class Traces:
    """The traces stored with the index of an engine.

    An engine that reads on behalf of a viewer shows only the traces of the named owner, and of
    these only those whose documents the viewer may all read now.
    """

    def __init__(
        self, settings: "Settings", index: OpenedIndex, whole: "Traces | None" = None
    ) -> None:
        """Create the facade; the store is opened on first use.

        Args:
            settings: The settings of the engine.
            index: The index of the engine.
            whole: For an engine that reads on behalf of a viewer, the traces of the engine that
                reads all documents; without it the former has no traces.
        """
        self._settings = settings
        self._index = index
        self._whole = whole
        self._store: TraceStore | None = None
        self._lock = RLock()

    @property
    def store(self) -> TraceStore:
        """The store of the traces.

        Raises:
            IndexMissing: If nothing has been ingested.
            UsageError: If the index is read on behalf of a viewer, because a trace may have text of
                any document.
        """
        self._index.refuse_viewer("records of answers")
        with self._lock:
            if self._store is None:
                index = self._index.reader(checked=False)
                max_bytes = self._settings.trace.max_mb << 20
                self._store = sweep_store(self._index.place.open_traces(max_bytes=max_bytes), index)
            return self._store

    def _open_for(self, owner: str) -> TraceStore:
        """Return the store for an owner; the caller must check what the owner may see.

        Raises:
            UsageError: If the index is read on behalf of a viewer and there is no owner.
        """
        # The engine that reads all documents opens the store, because opening it deletes the traces
        # of removed documents, and to a viewer hidden documents look removed.
        if self._index.viewer is None or self._whole is None or not owner:
            return self.store
        return self._whole.store

    def exist(self) -> bool:
        """Return whether there is a store of traces; false for a viewer."""
        if self._index.viewer is not None:
            return False
        return self._store is not None or self._index.place.has_traces()

    def get(self, trace_id: str, *, owner: str = "") -> Trace:
        """Return the trace of an answer.

        Args:
            trace_id: The id, or its beginning; for a viewer the whole id.
            owner: The name of the key that asks. It matters for a viewer only, who gets the traces
                of this owner; an engine that reads all documents returns any trace.

        Raises:
            MissingTraceError: If there is no such trace, or the viewer may not see it.
            TamperedTraceError: If the trace was changed after it was stored.
            UsageError: If the index is read on behalf of a viewer and there is no owner.
        """
        store = self._open_for(owner)
        if self._index.viewer is not None:
            documents = store.get_documents([trace_id], owner).get(trace_id)
            if documents is None or not self._may_read(documents):
                resolve_trace_id([], trace_id)
        return store.get(trace_id)

    def list(self, limit: int = 50, *, owner: str = "") -> tuple[TraceSummary, ...]:
        """Return summaries of the latest traces, newest first.

        Args:
            limit: The largest number of traces.
            owner: For a viewer, the owner of the traces; otherwise ignored.
        """
        if self._index.viewer is None:
            return self.store.list(limit)
        store, visible, skip = self._open_for(owner), dict[str, TraceSummary](), 0
        while len(visible) < limit:
            batch = store.list_owned(owner, limit=BATCH, skip=skip)
            if not batch:
                break
            readable = self.list_readable([summary.id for summary in batch], owner=owner)
            visible |= {summary.id: summary for summary in batch if summary.id in readable}
            skip += len(batch)
        return tuple(visible.values())[:limit]

    def list_readable(self, trace_ids: Sequence[str], *, owner: str) -> frozenset[str]:
        """Return the ids of those traces of an owner whose documents the viewer may all read."""
        shown = self._open_for(owner).get_documents(trace_ids, owner)
        readable = self._find_readable(frozenset().union(*shown.values()))
        return frozenset(trace_id for trace_id, names in shown.items() if names <= readable)

    def list_hidden(self, trace_ids: Sequence[str], *, owner: str) -> frozenset[str]:
        """Return the ids of those traces of an owner with a document hidden from the viewer."""
        owned = self._open_for(owner).get_documents(trace_ids, owner)
        return frozenset(owned) - self.list_readable([*owned], owner=owner)

    def list_documents(self, trace_ids: Sequence[str], *, owner: str) -> frozenset[str] | None:
        """Return the ids of the documents in traces; `None` if a trace is not the owner's."""
        documents = self._open_for(owner).get_documents(trace_ids, owner) if trace_ids else {}
        is_known = documents.keys() >= set(trace_ids)
        return frozenset().union(*documents.values()) if is_known else None

    def _may_read(self, documents: frozenset[str]) -> bool:
        """Return whether all of the documents are in the index now and not hidden."""
        return documents <= self._find_readable(documents)

    def _find_readable(self, documents: Collection[str]) -> frozenset[str]:
        """Return those of the documents that are in the index now and not hidden."""
        return frozenset(self._index.reader(checked=False).get_paths(sorted(documents)))

    def put_feedback(
        self, feedback: Feedback, held: Iterable[QuotedText], *, owner: str = ""
    ) -> None:
        """Store feedback on a trace that `get` returned, as `TraceStore.put_feedback` does.

        Args:
            feedback: The feedback.
            held: The texts of documents that the feedback contains.
            owner: The name of the key that gives it, as for `get`.
        """
        self._open_for(owner).put_feedback(feedback, held=held)

    def delete(self, trace_id: str) -> str:
        """Delete a trace and return its whole id.

        Raises:
            MissingTraceError: If there is no such trace.
        """
        return self.store.delete(trace_id)

    def answer(self, trace_id: str, *, owner: str = "") -> Answer:
        """Return an answer as it was given, from its trace; arguments and errors as for `get`."""
        trace = self.get(trace_id, owner=owner)
        warnings = self._open_for(owner).get_warnings(trace.id)
        return replace(restore_answer(trace.answer), trace_id=trace.id, warnings=warnings)

    def steps(self, answer: Answer) -> tuple[Step, ...] | None:
        """Return the steps of an answer by their start; `None` if its trace was not stored."""
        if answer.trace_id is None:
            return None
        trace = self.store.get(answer.trace_id)
        return tuple(sorted(trace.steps, key=lambda step: step.started_at))

    def explain(self, answer: Answer) -> str:
        """Return the steps of an answer with their reasons, as a tree of lines."""
        if answer.trace_id is None:
            return "its steps were not stored; trace.enabled turns recording on"
        return format_tree(self.store.get(answer.trace_id))

    def save(
        self, outcome: "RunOutcome", *, owner: str = "", earlier: Iterable[str] = ()
    ) -> "RunOutcome":
        """Store the trace of a run, and return the outcome with the id of its trace.

        If the trace cannot be stored, a warning is logged and the answer has no trace id, because
        the answer matters more. Nothing is stored for a viewer without an owner, nor if
        `trace.enabled` is off.

        Args:
            outcome: The outcome of the run.
            owner: The name of the key that asked; empty for none.
            earlier: The ids of further documents that the trace has text of.
        """
        is_nobodys = self._index.viewer is not None and not (owner and self._whole)
        if is_nobodys or not self._settings.trace.enabled:
            return outcome
        from fathom.retrieval.search import collect_texts

        try:
            held = collect_texts(outcome.trace)
            self._open_for(owner).put(
                outcome.trace,
                held=held,
                warnings=outcome.answer.warnings,
                ownership=_build_ownership(owner, held, outcome.answer, earlier),
            )
        except RunError as error:
            LOG.warning("the trace was not stored: %s", error)
            return outcome
        return replace(outcome, answer=replace(outcome.answer, trace_id=outcome.trace.id))

    def sweep(self) -> None:
        """Delete the traces with texts that are no longer in the index; log any failure."""
        if not self.exist():
            return
        try:
            self.store.sweep(self._index.reader(checked=False))
        except RunError as error:
            LOG.warning("%s; it may hold texts that are no longer in the index", error)

    def close(self) -> None:
        """Close the store; a later use opens it again."""
        with self._lock:
            if self._store is not None:
                self._store.close()
            self._store = None


def _build_ownership(
    owner: str, held: Iterable[QuotedText], answer: Answer, earlier: Iterable[str]
) -> Ownership:
    """Build the ownership of a trace: its owner, and the ids of all documents in it.

    These are the documents of its texts, those that the answer cites, and those of earlier turns.
    """
    if not owner:
        return UNOWNED
    cited = (citation.document for citation in answer.citations if citation.source == "corpus")
    return Ownership(owner, tuple(sorted({*(text.document for text in held), *cited, *earlier})))
