"""The trace of a run: its inputs, every step, every outside event, its answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from fathom.jsonable import Json, dump_canonical, hash_text
from fathom.usage import Budget, Usage

LEFT_OUT = "left out"
"""The verdict of a branch of which no value counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The inputs of a run: all that a replay needs beside the index and the events.

    Attributes:
        settings: The settings that can change an answer, without secrets.
        index_revision: The state of the index that was read.
        seed: The seed of everything random.
        arguments: Everything else that came with the question, such as filters.
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
        return hash_text(dump_canonical(self.settings))


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One act of an agent, a retriever or a control law.

    Attributes:
        id: The path of names from the run down to this step, such as `debate/round#2/judge`; equal
            runs give equal ids.
        agent: The role that acted.
        parent: The id of the step around it; empty at the top.
        started_at: The seconds since the run began.
        usage: The expenses of the step, without those of the steps inside it.
        verdict: The decision, if there was one.
        reason: The reason of the decision.
        error: The error that broke the step off, `Type: message`; empty if it ended well.
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

    @property
    def has_outcome(self) -> bool:
        """True if the step gave or decided something; a mere frame of other steps did not."""
        return bool(self.outputs or self.verdict or self.reason or self.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something from outside that a replay must be given: a reply, a search, a clock, a seed.

    Attributes:
        step: The id of the step that asked; empty for the run itself.
        kind: The kind of request: `llm`, `web`, `clock`, `seed` ...
        key: The sha256 of the kind and the whole request.
        occurrence: The number of the same requests of this step before this one.
        request: The request, with long texts cut.
        value: The whole answer.
        error: The exception that it ended with, `Type: message`; empty if there is a value.
        omitted: The size in bytes of a value that was too large to be recorded; such a trace cannot
            be replayed.
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
        id: The start of the hash of the last line.
        started_at: ISO 8601 in UTC.
        records: The steps and events, in the order in which they ended.
        answer: The answer's JSON; its `trace_id` is null, because it cannot hold its own hash.
        seconds: The time of the whole run.
        dropped: The number of records that found no room below the size cap.
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
        """The outside events, in the order in which their values arrived."""
        return tuple(record for record in self.records if isinstance(record, Event))

    @cached_property
    def signals(self) -> Mapping[str, float]:
        """The answer's signals in the last step; empty in older traces."""
        return self._get_last_output("signals")

    @cached_property
    def withheld(self) -> Mapping[str, str]:
        """The draft that the last step withheld, `answer` and `short_answer`; empty without one."""
        return self._get_last_output("withheld")

    def _get_last_output(self, name: str) -> Mapping[str, Json]:
        """Return an output of the last finalizer; empty where there is none."""
        outputs = [step.outputs.get(name) for step in self.steps if step.agent == "finalizer"]
        return outputs[-1] if outputs and isinstance(outputs[-1], dict) else {}

    @property
    def usage(self) -> Usage:
        """The sum over the steps; the seconds are those of the whole run."""
        spent = sum((step.usage for step in self.steps), Usage())
        return replace(spent, seconds=self.seconds)

    @property
    def is_replayable(self) -> bool:
        """True if every event was recorded whole."""
        return not self.dropped and not any(event.omitted for event in self.events)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLimits:
    """The limits on the size of a trace.

    Attributes:
        chars: The length of each string in the inputs and outputs of a step and in a request.
        items: The length of each list and object there.
        event_bytes: The size of one event's value; a larger one is left out, and the trace cannot
            be replayed.
        trace_bytes: The size of all records; beyond it records are stripped, then dropped and
            counted.
    """

    chars: int = 4_000
    items: int = 100
    event_bytes: int = 512_000
    trace_bytes: int = 4_000_000


class EventSource(Protocol):
    """The source of the outside events of a run."""

    def find(self, step: str, kind: str, key: str, occurrence: int) -> Event | None:
        """Return the event that answers a request, or `None` if the outside itself must be asked.

        Raises:
            RunError: If only recorded events count and there is none, or it was an error.
        """
        ...
