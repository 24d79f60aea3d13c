"""The recorder: it writes the trace of a run, and returns recorded events to a replay.

Everything that another run of the same index, settings and question could see differently goes
through `observe`: a model's reply, a search in the web, a reading of the clock, the rest of the
budget, a seed, the time spent. The run goes on with the return value of `observe`, which is the
value in the trace, so a replay with the same values takes the same way.

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
{n}")`), or must be opened before any of them waits: then steps and events have the same ids in
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
    """The trace under construction, shared by all steps of a run; safe from threads."""

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
        # Cleaned of secrets first: the first line of the chain is written from it.
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
        return round(self._clock() - self._started_at, 6)

    def count_occurrence(self, *what: str) -> int:
        with self._lock:
            self._counts[what] += 1
            return self._counts[what] - 1

    def list_occurrences(self) -> dict[tuple[str, ...], int]:
        with self._lock:
            return dict(self._counts)

    def set_occurrences(self, counts: Mapping[tuple[str, ...], int]) -> None:
        with self._lock:
            self._counts.update({what: n - self._counts[what] for what, n in counts.items()})

    def add(self, record: TraceRecord) -> None:
        with self._lock:
            if self._sealed:
                raise ValueError(f"the trace is sealed; {format_record(record)[1]} comes too late")
            # At the size limit a step without its texts is worth more than no step.
            for candidate in (record, _strip_record(record)):
                short = self._chunks.shorten(candidate)
                line = self._chain.format_line(*format_record(short))
                if self._chain.size + len(line.encode()) <= self.limits.trace_bytes:
                    self._chain.add(line)
                    self._chunks.add(candidate)
                    return
            self._dropped += 1

    def seal(self, answer: object) -> Trace:
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
    """A place in the run from which steps can be opened and the outside can be asked."""

    def __init__(self, book: _TraceWriter, scope_id: str) -> None:
        self._book = book
        self.id = scope_id

    def step(
        self, name: str, *, agent: str = "", inputs: Mapping[str, object] | None = None
    ) -> "OpenStep":
        """Return a step inside this one, for use in a `with` statement.

        Args:
            name: A short name; the second step of the same name here gets the id `name#2`.
            agent: The role that does the step.
            inputs: The inputs of the step: ids and scores rather than texts.
        """
        # A slash separates the steps of an id.
        name = self._book.whole.clean_text(name).replace("/", "-") or "step"
        path = f"{self.id}/{name}" if self.id else name
        number = self._book.count_occurrence("step", path)
        unique = f"{path}#{number + 1}" if number else path
        step = Step(id=unique, name=name, agent=self._book.whole.clean_text(agent), parent=self.id)
        return OpenStep(self._book, step, inputs or {})

    def observe(self, kind: str, request: object, ask: Callable[[], object]) -> Json:
        """Ask the outside, or the record of it.

        Args:
            kind: `llm`, `web`, `clock`, `budget`, `seed` ...
            request: Everything that the answer depends on. It is hashed whole and without secrets.
            ask: The function that gets the answer in a first run. It should return a fault that the
                run survives as a value rather than raise it: an exception is recorded and raised
                again. A cancellation is not recorded, because it tells nothing.

        Returns:
            The answer as plain JSON, as it was recorded: use it, not the original.
        """
        with self._open_event(kind, request) as pending:
            recorded = pending.recorded
            return self._record_value(pending, ask() if recorded is None else recorded.value)

    async def aobserve(
        self, kind: str, request: object, ask: Callable[[], Awaitable[object]]
    ) -> Json:
        """Ask the outside as `observe` does, for an answer that must be awaited."""
        with self._open_event(kind, request) as pending:
            recorded = pending.recorded
            return self._record_value(pending, await ask() if recorded is None else recorded.value)

    @contextmanager
    def _open_event(self, kind: str, request: object) -> "Iterator[_PendingEvent]":
        """Yield an event with its record, if it has one; a live one that fails is recorded too."""
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
        plain = self._book.whole(value)
        size = len(dump_canonical(plain).encode())
        if size > self._book.limits.event_bytes:
            self._book.add(replace(pending.event, omitted=size))
        else:
            self._book.add(replace(pending.event, value=plain))
        return plain


@dataclass(frozen=True, slots=True)
class _PendingEvent:
    event: Event
    recorded: Event | None


class OpenStep(_Scope):
    """A step in progress; it is recorded when its `with` block ends, however it ends."""

    def __init__(self, book: _TraceWriter, step: Step, inputs: Mapping[str, object]) -> None:
        super().__init__(book, step.id)
        self._step = replace(step, started_at=book.measure_seconds(), inputs=book.short(inputs))

    @property
    def record(self) -> Step:
        """The step in the trace's form, with its outcome so far."""
        return self._step

    def set_outcome(
        self,
        *,
        outputs: Mapping[str, object] | None = None,
        usage: Usage | None = None,
        verdict: str = "",
        reason: str = "",
    ) -> None:
        """Set the outcome of the step. The last call counts.

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
            events: The source of outside events; the outside itself, unless the run is a replay.
            secrets: Texts that must not enter the trace, such as keys.
            limits: The limits on the size of the trace.
            clock: The clock for the durations of steps, in seconds; it is read in a replay too, but
                never compared.
        """
        book = _TraceWriter(origin, events, Cleaner(secrets), limits or TraceLimits(), clock)
        super().__init__(book, "")

    def count_steps(self) -> dict[str, int]:
        """Return how many steps of each name were opened in the run, none inside another one."""
        counts = self._book.list_occurrences()
        return {
            what[1]: n for what, n in counts.items() if what[0] == "step" and "/" not in what[1]
        }

    def set_step_counts(self, counts: Mapping[str, int]) -> None:
        """Number the next steps of each name as if so many had been opened before."""
        self._book.set_occurrences({("step", name): n for name, n in counts.items()})

    def seal(self, answer: object) -> Trace:
        """End the trace with the answer; nothing can be recorded afterwards.

        Raises:
            ValueError: If the trace is sealed already.
        """
        return self._book.seal(answer)


def format_answer(answer: object, clean: Cleaner | None = None) -> Json:
    """Return an answer in the form of a trace: plain JSON, `trace_id` null, without `warnings`.

    `standalone_question` is there only for an answer in a conversation or after a slip of the
    fingers was mended, `calibration` and `calculation` only if there was one, `recognised` only for
    recognised text, `date` only where there is one, `tentative` and `disputed` only if they are
    true.
    """
    plain = (clean or Cleaner())(answer)
    if not isinstance(plain, dict):
        return plain
    # Later fields are left out if empty, so that answers compare equal with older traces.
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
    """Restore the answer in a trace; a trace holds no `trace_id` and no `warnings`."""
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
    cells = tuple(CalculationCell(**cell) for cell in recorded["cells"])
    return Calculation(**{**recorded, "cells": cells})


def _strip_record(record: TraceRecord) -> TraceRecord:
    if isinstance(record, Step):
        return replace(record, inputs={}, outputs={}, reason="(the trace is full)")
    size = len(dump_canonical(record.value).encode())
    return replace(record, request=None, value=None, omitted=record.omitted or size)


def _format_error(error: BaseException, clean: Cleaner) -> str:
    message = " ".join(str(error).split())
    return clean.clean_text(
        f"{type(error).__name__}: {message}" if message else type(error).__name__
    )
