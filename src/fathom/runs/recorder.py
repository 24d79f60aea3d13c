"""The recorder: how a run writes its trace, and how a replay is told what happened outside.

Everything that another run of the same index, settings and question could see differently goes
through `observe`: a model's reply, a search in the web, a reading of the clock, what the budget
still allows, a seed, the time spent. The run goes on with what `observe` returns, which is what
was written down, so a replay that is told the same goes the same way.

    recorder = Recorder(Origin(question=question, strategy="naive", ...), secrets=[key])
    with recorder.step("retrieve", agent="retriever", inputs={"query": query}) as step:
        hits = retriever.retrieve(...)
        step.done(outputs={"hits": [hit.chunk.id for hit in hits]}, usage=Usage(retrievals=1))
    with recorder.step("read", agent="reader", inputs=...) as step:
        reply = await step.aobserve("llm", request, lambda: send(request))
        step.done(outputs=reply, usage=booked.usage, verdict="accept", reason="...")
    trace = recorder.seal(answer)

Branches that run at the same time need names that do not depend on who is first
(`step(f"agent {n}")`), or must be opened before any of them waits: then steps and events have
the same ids in every replay.
"""

import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Self

from fathom.jsonable import Cleaner, Json, canonical, digest
from fathom.runs.chain import open_chain, record_json, seal
from fathom.runs.trace import Event, Events, Origin, Step, Trace, TraceLimits, TraceRecord
from fathom.types import Answer, Citation, Conflict
from fathom.usage import Budget, Usage


class Outside:
    """The events of a first run: each is asked for."""

    def find(self, step: str, kind: str, key: str, occurrence: int) -> Event | None:  # noqa: ARG002
        """Always `None`."""
        return None


class _Book:
    """The trace under construction, shared by all steps of a run; safe from threads."""

    def __init__(
        self,
        origin: Origin,
        events: Events,
        clean: Cleaner,
        limits: TraceLimits,
        clock: Callable[[], float],
    ) -> None:
        self.events = events
        self.whole = clean
        self.short = Cleaner(clean.secrets, chars=limits.chars, items=limits.items)
        self.limits = limits
        self.origin = Origin(
            question=clean.text(origin.question),
            strategy=clean.text(origin.strategy),
            settings=clean(origin.settings),
            index_revision=clean.text(origin.index_revision),
            seed=origin.seed,
            budget=origin.budget,
            arguments=clean(origin.arguments),
        )
        self._clock = clock
        self._began = clock()
        self._chain = open_chain(self.origin, datetime.now(UTC).isoformat(timespec="milliseconds"))
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._dropped = 0
        self._sealed = False

    def seconds(self) -> float:
        return round(self._clock() - self._began, 6)

    def ordinal(self, *what: str) -> int:
        with self._lock:
            self._counts[what] += 1
            return self._counts[what] - 1

    def add(self, record: TraceRecord) -> None:
        with self._lock:
            if self._sealed:
                raise ValueError(f"the trace is sealed; {record_json(record)[1]} comes too late")
            for kept in (record, _stripped(record)):
                line = self._chain.line(*record_json(kept))
                if self._chain.size + len(line.encode()) <= self.limits.trace_bytes:
                    self._chain.add(line)
                    return
            self._dropped += 1

    def seal(self, answer: object) -> Trace:
        with self._lock:
            if self._sealed:
                raise ValueError("the trace is sealed already")
            self._sealed = True
            return seal(
                self._chain,
                answer=answer_json(answer, self.whole),
                seconds=self.seconds(),
                dropped=self._dropped,
            )


class _Scope:
    """A place in the run from which steps can be opened and the outside be asked."""

    def __init__(self, book: _Book, scope_id: str) -> None:
        self._book = book
        self.id = scope_id

    def step(
        self, name: str, *, agent: str = "", inputs: Mapping[str, object] | None = None
    ) -> "OpenStep":
        """A step inside this one, to be entered with `with`.

        Args:
            name: Short; the second one of the same name here gets the id `name#2`.
            agent: The role that does it.
            inputs: What it works on: ids and scores rather than texts.
        """
        name = self._book.whole.text(name).replace("/", "-") or "step"
        path = f"{self.id}/{name}" if self.id else name
        number = self._book.ordinal("step", path)
        unique = f"{path}#{number + 1}" if number else path
        step = Step(id=unique, name=name, agent=self._book.whole.text(agent), parent=self.id)
        return OpenStep(self._book, step, inputs or {})

    def observe(self, kind: str, request: object, ask: Callable[[], object]) -> Json:
        """Ask the outside, or the record of it.

        Args:
            kind: `llm`, `web`, `clock`, `budget`, `seed` ...
            request: All that the answer depends on. It is hashed whole and without secrets.
            ask: Gives the answer in a first run. A fault that the run survives is better
                returned as a value than raised; an exception is recorded and raised again. What
                is cancelled is not recorded: nobody has learnt anything.

        Returns:
            The answer as plain JSON, as it was written down: use it, not the original.
        """
        asked = self._asked(kind, request)
        if asked.found is None:
            try:
                return self._note(asked, ask())
            except Exception as error:
                self._note_error(asked, error)
                raise
        return self._note(asked, asked.found.value)

    async def aobserve(
        self, kind: str, request: object, ask: Callable[[], Awaitable[object]]
    ) -> Json:
        """`observe` for what must be awaited."""
        asked = self._asked(kind, request)
        if asked.found is None:
            try:
                return self._note(asked, await ask())
            except Exception as error:
                self._note_error(asked, error)
                raise
        return self._note(asked, asked.found.value)

    def _asked(self, kind: str, request: object) -> "_Asked":
        book = self._book
        kind = book.whole.text(kind)
        key = digest(canonical([kind, book.whole(request)]))
        number = book.ordinal("event", self.id, key)
        event = Event(
            step=self.id, kind=kind, key=key, occurrence=number, request=book.short(request)
        )
        return _Asked(event, book.events.find(self.id, kind, key, number))

    def _note(self, asked: "_Asked", value: object) -> Json:
        plain = self._book.whole(value)
        size = len(canonical(plain).encode())
        if size > self._book.limits.event_bytes:
            self._book.add(replace(asked.event, omitted=size))
        else:
            self._book.add(replace(asked.event, value=plain))
        return plain

    def _note_error(self, asked: "_Asked", error: Exception) -> None:
        self._book.add(replace(asked.event, error=_named(error, self._book.short)))


@dataclass(frozen=True, slots=True)
class _Asked:
    event: Event
    found: Event | None


class OpenStep(_Scope):
    """A step that is going on; it is written down when its `with` block ends, however it ends."""

    def __init__(self, book: _Book, step: Step, inputs: Mapping[str, object]) -> None:
        super().__init__(book, step.id)
        self._step = replace(step, started_at=book.seconds(), inputs=book.short(inputs))

    @property
    def record(self) -> Step:
        """What is known of it by now, as it is written down."""
        return self._step

    def done(
        self,
        *,
        outputs: Mapping[str, object] | None = None,
        usage: Usage | None = None,
        verdict: str = "",
        reason: str = "",
    ) -> None:
        """Say what came of it; may be called again, the last word counts.

        Args:
            outputs: What it made: ids and scores rather than texts.
            usage: Its own, without that of steps inside it.
            verdict: What was decided, where something was.
            reason: Why.
        """
        short = self._book.short
        self._step = replace(
            self._step,
            outputs=short(outputs or {}),
            usage=usage or Usage(),
            verdict=short.text(verdict),
            reason=short.text(reason),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        seconds = round(self._book.seconds() - self._step.started_at, 6)
        named = _named(error, self._book.short) if error is not None else ""
        self._step = replace(self._step, seconds=seconds, error=named)
        self._book.add(self._step)


class Recorder(_Scope):
    """Writes the trace of one run."""

    def __init__(
        self,
        origin: Origin,
        *,
        events: Events | None = None,
        secrets: Iterable[str] = (),
        limits: TraceLimits | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Begin a trace.

        Args:
            origin: What the run is given.
            events: Where outside events come from; the outside itself, unless it is a replay.
            secrets: Texts that must not enter the trace, such as keys.
            limits: How much is kept.
            clock: Seconds, for the durations of steps; read also in a replay, never compared.
        """
        book = _Book(origin, events or Outside(), Cleaner(secrets), limits or TraceLimits(), clock)
        super().__init__(book, "")

    def seal(self, answer: object) -> Trace:
        """End the trace with the answer; nothing can be recorded afterwards.

        Raises:
            ValueError: If it is sealed already.
        """
        return self._book.seal(answer)


def answer_json(answer: object, clean: Cleaner | None = None) -> Json:
    """An answer as it stands in a trace: plain JSON, its `trace_id` null, without `warnings`.

    `standalone_question` stands there only where there was a conversation or a slip of the fingers
    was mended, `calibration` only where there was one, `recognised` only of recognised text.
    """
    plain = (clean or Cleaner())(answer)
    if not isinstance(plain, dict):
        return plain
    for name in ("standalone_question", "calibration"):
        if plain.get(name) is None:
            plain.pop(name, None)
    for citation in plain.get("citations", ()):
        if citation.get("recognised", 0) is None:
            del citation["recognised"]
    return {key: value for key, value in plain.items() if key != "warnings"} | {"trace_id": None}


def answer_of(recorded: Json) -> Answer:
    """The answer that stands in a trace; its `trace_id` and `warnings` are not told there."""
    citations = tuple(Citation(**each) for each in recorded["citations"])
    conflicts = tuple(
        Conflict(**{**each, "citations": tuple(each["citations"])})
        for each in recorded["conflicts"]
    )
    return Answer(
        **{
            **recorded,
            "citations": citations,
            "conflicts": conflicts,
            "usage": Usage(**recorded["usage"]),
            "budget": Budget(**recorded["budget"]),
        }
    )


def _stripped(record: TraceRecord) -> TraceRecord:
    if isinstance(record, Step):
        return replace(record, inputs={}, outputs={}, reason="(the trace is full)")
    size = len(canonical(record.value).encode())
    return replace(record, request=None, value=None, omitted=record.omitted or size)


def _named(error: BaseException, clean: Cleaner) -> str:
    message = " ".join(str(error).split())
    return clean.text(f"{type(error).__name__}: {message}" if message else type(error).__name__)
