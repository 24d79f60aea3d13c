"""The recorder: it writes the trace of a run, and returns recorded events to a replay.

Everything that could differ in another run with the same index, settings and question goes through
`observe`: a model's reply, a web search, a reading of the clock, the rest of the budget, a seed,
the time spent. The run continues with the return value of `observe`, which is the value in the
trace, so that a replay with the same values does the same.

    recorder = Recorder(Origin(question=question, strategy="naive", ...), secrets=[key])
    with recorder.step("retrieve", agent="retriever", inputs={"query": query}) as step:
        hits = retriever.retrieve(...)
        step.set_outcome(outputs={"hits": [hit.chunk.id for hit in hits]},
        usage=Usage(retrievals=1))
    with recorder.step("read", agent="reader", inputs=...) as step:
        reply = await step.aobserve("llm", request, lambda: send(request))
        step.set_outcome(outputs=reply, usage=booking.usage, verdict="accept", reason="...")
    trace = recorder.seal(answer)

Branches that run at the same time need names that do not depend on their order (`step(f"agent
{n}")`), or must be opened before any of them waits. Then steps and events have the same ids in
every replay.
"""

import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Self

from fathom.jsonable import Cleaner, Json, dump_canonical, hash_text
from fathom.runs.chain import format_record, open_chain, seal_chain
from fathom.runs.recorded_chunks import RecordedChunks
from fathom.runs.trace import Event, EventSource, Origin, Step, Trace, TraceLimits, TraceRecord
from fathom.types import Answer, Calculation, CalculationCell, Citation, Conflict
from fathom.usage import Budget, Usage


class _TraceWriter:
    """The trace under construction, shared by all steps of a run; safe for threads."""

    def __init__(
        self,
        origin: Origin,
        events: EventSource | None,
        clean: Cleaner,
        limits: TraceLimits,
        clock: Callable[[], float],
    ) -> None:
        self.events = events
        self.whole = clean
        self.short = Cleaner(clean.secrets, chars=limits.chars, items=limits.items)
        self.limits = limits
        # Secrets are removed first, because the first line of the chain is written from it.
        self.origin = Origin(
            question=clean.clean_text(origin.question),
            strategy=clean.clean_text(origin.strategy),
            settings=clean(origin.settings),
            index_revision=clean.clean_text(origin.index_revision),
            seed=origin.seed,
            budget=origin.budget,
            arguments=clean(origin.arguments),
        )
        self._clock = clock
        self._started_at = clock()
        self._chain = open_chain(self.origin, datetime.now(UTC).isoformat(timespec="milliseconds"))
        self._chunks = RecordedChunks()
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._dropped = 0
        self._sealed = False

    def measure_seconds(self) -> float:
        """Return the seconds since the start, to the microsecond."""
        return round(self._clock() - self._started_at, 6)

    def count_occurrence(self, *what: str) -> int:
        """Count one more occurrence of a step or event; return the number of earlier ones."""
        with self._lock:
            self._counts[what] += 1
            return self._counts[what] - 1

    def list_occurrences(self) -> dict[tuple[str, ...], int]:
        """Return the numbers of occurrences counted so far."""
        with self._lock:
            return dict(self._counts)

    def set_occurrences(self, counts: Mapping[tuple[str, ...], int]) -> None:
        """Replace the numbers of some occurrences."""
        with self._lock:
            self._counts.update({what: n - self._counts[what] for what, n in counts.items()})

    def add(self, record: TraceRecord) -> None:
        """Add a record, without its texts or not at all if the trace is full.

        Raises:
            ValueError: If the trace is sealed.
        """
        with self._lock:
            if self._sealed:
                raise ValueError(f"the trace is sealed; {format_record(record)[1]} comes too late")
            # At the size limit, a record without its texts is better than none.
            for candidate in (record, _strip_record(record)):
                short = self._chunks.shorten(candidate)
                line = self._chain.format_line(*format_record(short))
                if self._chain.size + len(line.encode()) <= self.limits.trace_bytes:
                    self._chain.add(line)
                    self._chunks.add(candidate)
                    return
            self._dropped += 1

    def seal(self, answer: object) -> Trace:
        """End the trace with the answer, as `Recorder.seal`."""
        with self._lock:
            if self._sealed:
                raise ValueError("the trace is sealed already")
            self._sealed = True
            return seal_chain(
                self._chain,
                answer=format_answer(answer, self.whole),
                seconds=self.measure_seconds(),
                dropped=self._dropped,
            )


class _Scope:
    """A place in the run, the run itself or a step, where steps are opened and events recorded.

    Attributes:
        id: The id of the step; empty for the run itself.
    """

    def __init__(self, book: _TraceWriter, scope_id: str) -> None:
        self._book = book
        self.id = scope_id

    def step(
        self, name: str, *, agent: str = "", inputs: Mapping[str, object] | None = None
    ) -> "OpenStep":
        """Return a step inside this one, for use in a `with` statement.

        Args:
            name: A short name. The second step with the same name here gets the id `name#2`. A
                slash becomes a hyphen.
            agent: The role that does the step.
            inputs: The inputs of the step: ids and scores rather than texts.
        """
        # In an id, slashes separate the names of steps.
        name = self._book.whole.clean_text(name).replace("/", "-") or "step"
        path = f"{self.id}/{name}" if self.id else name
        number = self._book.count_occurrence("step", path)
        unique = f"{path}#{number + 1}" if number else path
        step = Step(id=unique, name=name, agent=self._book.whole.clean_text(agent), parent=self.id)
        return OpenStep(self._book, step, inputs or {})

    def observe(self, kind: str, request: object, ask: Callable[[], object]) -> Json:
        """Ask the outside, or in a replay the record, and record the answer.

        Args:
            kind: The kind of event: `llm`, `web`, `clock`, `budget`, `seed` ...
            request: Everything that the answer depends on. All of it is hashed, without secrets.
            ask: The function that gets the answer if this is no replay. A fault that the run can
                handle should be returned as a value, because an exception is recorded and raised
                again. A cancellation is not recorded: it says nothing about the outside.

        Returns:
            The answer as plain JSON, as it was recorded. Use it instead of the original.

        Raises:
            RunError: If a replay has no answer (`EventSource.find`).
            Exception: Whatever `ask` raises.
        """
        with self._open_event(kind, request) as pending:
            recorded = pending.recorded
            return self._record_value(pending, ask() if recorded is None else recorded.value)

    async def aobserve(
        self, kind: str, request: object, ask: Callable[[], Awaitable[object]]
    ) -> Json:
        """Ask the outside as `observe` does, with a function whose answer is awaited."""
        with self._open_event(kind, request) as pending:
            recorded = pending.recorded
            return self._record_value(pending, await ask() if recorded is None else recorded.value)

    @contextmanager
    def _open_event(self, kind: str, request: object) -> "Iterator[_PendingEvent]":
        """Yield an event and, in a replay, its record; record an error if there is no record."""
        book = self._book
        kind = book.whole.clean_text(kind)
        key = hash_text(dump_canonical([kind, book.whole(request)]))
        # The same request may get different answers over time, so its occurrences are numbered.
        number = book.count_occurrence("event", self.id, key)
        event = Event(
            step=self.id, kind=kind, key=key, occurrence=number, request=book.short(request)
        )
        source = book.events
        recorded = None if source is None else source.find(self.id, kind, key, number)
        pending = _PendingEvent(event, recorded)
        try:
            yield pending
        except Exception as error:
            if recorded is None:
                self._book.add(replace(event, error=_format_error(error, book.short)))
            raise

    def _record_value(self, pending: "_PendingEvent", value: object) -> Json:
        """Record the value of an event, or its size if it is too large; return it as plain JSON."""
        plain = self._book.whole(value)
        size = len(dump_canonical(plain).encode())
        if size > self._book.limits.event_bytes:
            self._book.add(replace(pending.event, omitted=size))
        else:
            self._book.add(replace(pending.event, value=plain))
        return plain


@dataclass(frozen=True, slots=True)
class _PendingEvent:
    """An event whose value is not yet known, with its record in a replay.

    Attributes:
        event: The event.
        recorded: The recorded event that answers it; `None` if the outside must be asked.
    """

    event: Event
    recorded: Event | None


class OpenStep(_Scope):
    """A step in progress; it is recorded when its `with` block ends, also by an error."""

    def __init__(self, book: _TraceWriter, step: Step, inputs: Mapping[str, object]) -> None:
        super().__init__(book, step.id)
        self._step = replace(step, started_at=book.measure_seconds(), inputs=book.short(inputs))

    @property
    def record(self) -> Step:
        """The step in the form of the trace, with its outcome so far."""
        return self._step

    def set_outcome(
        self,
        *,
        outputs: Mapping[str, object] | None = None,
        usage: Usage | None = None,
        verdict: str = "",
        reason: str = "",
    ) -> None:
        """Set the outcome of the step; a later call replaces an earlier one.

        Args:
            outputs: The outputs of the step: ids and scores rather than texts.
            usage: The expenses of the step, without those of steps inside it.
            verdict: The decision, if there was one.
            reason: The reason of the decision.
        """
        short = self._book.short
        self._step = replace(
            self._step,
            outputs=short(outputs or {}),
            usage=usage or Usage(),
            verdict=short.clean_text(verdict),
            reason=short.clean_text(reason),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        seconds = round(self._book.measure_seconds() - self._step.started_at, 6)
        message = _format_error(error, self._book.short) if error is not None else ""
        self._step = replace(self._step, seconds=seconds, error=message)
        self._book.add(self._step)


class Recorder(_Scope):
    """The writer of the trace of one run."""

    def __init__(
        self,
        origin: Origin,
        *,
        events: EventSource | None = None,
        secrets: Iterable[str] = (),
        limits: TraceLimits | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Begin a trace.

        Args:
            origin: The inputs of the run.
            events: The recorded events of a replay; `None` if the outside itself is asked.
            secrets: Texts that must not be in the trace, such as keys.
            limits: The limits on the size of the trace; by default those of `TraceLimits`.
            clock: The clock for the durations of steps, in seconds. A replay reads it too, but does
                not compare durations.
        """
        book = _TraceWriter(origin, events, Cleaner(secrets), limits or TraceLimits(), clock)
        super().__init__(book, "")

    def count_steps(self) -> dict[str, int]:
        """Return the number of steps of each name that were opened outside any other step."""
        counts = self._book.list_occurrences()
        return {
            what[1]: n for what, n in counts.items() if what[0] == "step" and "/" not in what[1]
        }

    def set_step_counts(self, counts: Mapping[str, int]) -> None:
        """Set the numbers of steps that count as opened before, for the ids of further steps."""
        self._book.set_occurrences({("step", name): n for name, n in counts.items()})

    def seal(self, answer: object) -> Trace:
        """End the trace with the answer; nothing can be recorded afterwards.

        Raises:
            ValueError: If the trace is sealed already.
        """
        return self._book.seal(answer)


def format_answer(answer: object, clean: Cleaner | None = None) -> Json:
    """Return an answer as a trace has it: plain JSON, `trace_id` null, without `warnings`.

    Fields that older traces do not have are left out if they are empty: `standalone_question`,
    `calibration`, `calculation`, `tentative` and `disputed`, and `recognised` and `date` of
    citations.

    Args:
        answer: An `Answer`, or any other value.
        clean: The cleaner that makes plain JSON; by default one without secrets.
    """
    plain = (clean or Cleaner())(answer)
    if not isinstance(plain, dict):
        return plain
    # Fields that were added later are left out if empty, so that answers equal those of older
    # traces.
    for name in ("standalone_question", "calibration", "calculation", "tentative", "disputed"):
        if plain.get(name) in (None, False):
            plain.pop(name, None)
    for citation in plain.get("citations", ()):
        if citation.get("recognised", 0) is None:
            del citation["recognised"]
        if not citation.get("date", True):
            del citation["date"]
    return {key: value for key, value in plain.items() if key != "warnings"} | {"trace_id": None}


def restore_answer(recorded: Json) -> Answer:
    """Restore an answer from its form in a trace; it has no `trace_id` and no warnings."""
    citations = tuple(Citation(**citation) for citation in recorded["citations"])
    conflicts = tuple(
        Conflict(**{**conflict, "citations": tuple(conflict["citations"])})
        for conflict in recorded["conflicts"]
    )
    calculation = recorded.get("calculation")
    return Answer(
        **{
            **recorded,
            "calculation": calculation and _restore_calculation(calculation),
            "citations": citations,
            "conflicts": conflicts,
            "usage": Usage(**recorded["usage"]),
            "budget": Budget(**recorded["budget"]),
        }
    )


def _restore_calculation(recorded: Json) -> Calculation:
    """Restore a calculation with its cells from plain JSON."""
    cells = tuple(CalculationCell(**cell) for cell in recorded["cells"])
    return Calculation(**{**recorded, "cells": cells})


def _strip_record(record: TraceRecord) -> TraceRecord:
    """Return a step without inputs, outputs and reason, or an event without request and value."""
    if isinstance(record, Step):
        return replace(record, inputs={}, outputs={}, reason="(the trace is full)")
    size = len(dump_canonical(record.value).encode())
    return replace(record, request=None, value=None, omitted=record.omitted or size)


def _format_error(error: BaseException, clean: Cleaner) -> str:
    """Return an error as `Type: message` in one line."""
    message = " ".join(str(error).split())
    return clean.clean_text(
        f"{type(error).__name__}: {message}" if message else type(error).__name__
    )
