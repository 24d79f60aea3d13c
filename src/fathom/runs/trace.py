"""The trace of a run: what it was given, every step, every outside event, what it answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from fathom.jsonable import Json, canonical, digest
from fathom.usage import Budget, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a run was given: all that a replay needs beside the index and the events.

    Attributes:
        settings: The settings that can change an answer, without secrets.
        index_revision: Which state of the index was read.
        seed: Of everything random.
        arguments: Whatever else the question came with, such as filters.
    """

    question: str
    strategy: str
    settings: Mapping[str, Json] = field(default_factory=dict)
    index_revision: str = ""
    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    arguments: Mapping[str, Json] = field(default_factory=dict)

    @property
    def settings_hash(self) -> str:
        """The sha256 of the settings' canonical JSON."""
        return digest(canonical(self.settings))


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing an agent, a retriever or a control law did.

    Attributes:
        id: The path of names from the run down to this step, such as `debate/round#2/judge`;
            equal runs give equal ids.
        agent: The role that did it.
        parent: Id of the step around it; empty at the top.
        started_at: Seconds since the run began.
        usage: Its own, without that of the steps inside it.
        verdict: What was decided, where something was.
        reason: Why.
        error: What broke it off, `Type: message`; empty when it ended well.
    """

    id: str
    name: str
    agent: str = ""
    parent: str = ""
    started_at: float = 0.0
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    inputs: Mapping[str, Json] = field(default_factory=dict)
    outputs: Mapping[str, Json] = field(default_factory=dict)
    verdict: str = ""
    reason: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something from outside that a replay must be told: a reply, a search, a clock, a seed.

    Attributes:
        step: Id of the step that asked; empty for the run itself.
        kind: What was asked: `llm`, `web`, `clock`, `seed` ...
        key: sha256 of the kind and the whole request.
        occurrence: How often this step had asked the same before, from 0.
        request: What was asked, long texts cut.
        value: What came back, whole.
        error: The exception it ended with, `Type: message`; empty when there is a value.
        omitted: Size in bytes of a value that was too large to be kept; such a trace cannot be
            replayed.
    """

    step: str = ""
    kind: str = ""
    key: str
    occurrence: int = 0
    request: Json = None
    value: Json = None
    error: str = ""
    omitted: int = 0


TraceRecord = Step | Event


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A sealed run.

    Attributes:
        id: Start of the hash of the last line.
        started_at: ISO 8601 in UTC.
        records: Steps and events in the order in which they ended.
        answer: The answer's JSON; its `trace_id` is null, for it cannot hold its own hash.
        seconds: Of the whole run.
        dropped: How many records had no place below the size cap.
        data: The lines as they are stored.
    """

    id: str
    origin: Origin
    started_at: str
    records: tuple[TraceRecord, ...]
    answer: Json
    seconds: float
    dropped: int
    data: bytes = field(repr=False)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps, in the order in which they ended."""
        return tuple(record for record in self.records if isinstance(record, Step))

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """The outside events, in the order in which they were known."""
        return tuple(record for record in self.records if isinstance(record, Event))

    @cached_property
    def signals(self) -> Mapping[str, float]:
        """What the last step knew of its answer, in numbers; empty of older traces."""
        told = [step.outputs.get("signals") for step in self.steps if step.agent == "finalizer"]
        return told[-1] if told and isinstance(told[-1], dict) else {}

    @property
    def usage(self) -> Usage:
        """The sum over the steps; the seconds are those of the whole run."""
        spent = sum((step.usage for step in self.steps), Usage())
        return replace(spent, seconds=self.seconds)

    @property
    def replayable(self) -> bool:
        """Whether every event was kept whole."""
        return not self.dropped and not any(event.omitted for event in self.events)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLimits:
    """How much a trace keeps.

    Attributes:
        chars: Of each string in the inputs and outputs of a step and in a request.
        items: Of each list and object there.
        event_bytes: Of one event's value; a larger one is left out, and the trace cannot be
            replayed.
        trace_bytes: Of all records; beyond it they are stripped, then dropped and counted.
    """

    chars: int = 4_000
    items: int = 100
    event_bytes: int = 512_000
    trace_bytes: int = 4_000_000


class Events(Protocol):
    """Where the outside events of a run come from."""

    def find(self, step: str, kind: str, key: str, occurrence: int) -> Event | None:
        """The event that answers, or `None` when the outside itself must be asked.

        Raises:
            RunError: If only recorded events count and there is none, or it was an error.
        """
        ...
