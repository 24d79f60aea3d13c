"""The trace of a run: its inputs, its steps, its outside events and its answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from fathom.jsonable import Json, dump_canonical, hash_text
from fathom.usage import Budget, Usage

LEFT_OUT = "left out"
"""The verdict of a branch whose value is not used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The inputs of a run: everything that a replay needs besides the index and the events.

    Attributes:
        question: The text of the question.
        strategy: The name of the strategy.
        settings: The settings that can change an answer, without secrets.
        index_revision: The state of the index that was read.
        seed: The seed of all random choices.
        budget: The limits on what may be spent.
        arguments: Everything else that was given with the question, such as filters.
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
        """The SHA-256 of the settings' canonical JSON, in hexadecimal digits."""
        return hash_text(dump_canonical(self.settings))


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One act of an agent, a retriever or a control law.

    Attributes:
        id: The path of names from the run down to this step, such as `debate/round#2/judge`; equal
            runs give equal ids.
        name: The name of the step; repeated steps have the same name.
        agent: The role that acted; may be empty.
        parent: The id of the step around it; empty at the top.
        started_at: The start, in seconds since the start of the run.
        seconds: The duration.
        usage: The expenses of the step, without those of the steps inside it.
        inputs: The inputs, with long texts and lists cut (`TraceLimits`).
        outputs: The outputs, cut in the same way.
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
        """Return whether the step has an output, a decision or an error.

        A step that only contains other steps has none.
        """
        return bool(self.outputs or self.verdict or self.reason or self.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A value from outside that a replay must be given: a reply, a search, a time, a seed.

    Attributes:
        step: The id of the step that asked; empty for the run itself.
        kind: The kind of request: `llm`, `web`, `clock`, `seed` ...
        key: The SHA-256 of the kind and the whole request, in hexadecimal digits.
        occurrence: The number of equal requests of this step before this one.
        request: The request, with long texts and lists cut (`TraceLimits`).
        value: The whole answer.
        error: The exception that it ended with, `Type: message`; empty if there is a value.
        omitted: The size in bytes of a value that was too large to be recorded, else 0. A trace
            with such an event cannot be replayed.
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
    """The sealed trace of a run.

    Attributes:
        id: The first 32 hexadecimal digits of the hash of the last line.
        origin: The inputs of the run.
        started_at: The time of the start, in ISO 8601 and UTC.
        records: The steps and events, in the order in which they ended.
        answer: The answer as JSON. Its `trace_id` is null, because the id depends on the answer.
        seconds: The duration of the run.
        dropped: The number of records that were left out because the trace was full.
        data: The lines as they are stored, in UTF-8.
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
        """The outside events, in the order in which they were recorded."""
        return tuple(record for record in self.records if isinstance(record, Event))

    @cached_property
    def signals(self) -> Mapping[str, float]:
        """The signals of the answer by name, from the last finalizer; empty in older traces."""
        return self._get_last_output("signals")

    @cached_property
    def withheld(self) -> Mapping[str, str]:
        """The answer that the last finalizer withheld, as `answer` and `short_answer`; or empty."""
        return self._get_last_output("withheld")

    def _get_last_output(self, name: str) -> Mapping[str, Json]:
        """Return an output of the last step of the finalizer; empty if there is none."""
        outputs = [step.outputs.get(name) for step in self.steps if step.agent == "finalizer"]
        return outputs[-1] if outputs and isinstance(outputs[-1], dict) else {}

    @property
    def usage(self) -> Usage:
        """The sum of the steps' usage, with the seconds of the whole run."""
        spent = sum((step.usage for step in self.steps), Usage())
        return replace(spent, seconds=self.seconds)

    @property
    def is_replayable(self) -> bool:
        """Return whether no record was dropped and all events were recorded in full."""
        return not self.dropped and not any(event.omitted for event in self.events)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLimits:
    """The limits on the size of a trace.

    Attributes:
        chars: The largest number of characters of each text in the inputs and outputs of a step and
            in a request.
        items: The largest number of entries of each list and object there.
        event_bytes: The largest size of an event's value. A larger one is left out, and the trace
            cannot be replayed.
        trace_bytes: The largest size of all records. Further records are written without texts or,
            if they do not fit either, counted only.
    """

    chars: int = 4_000
    items: int = 100
    event_bytes: int = 512_000
    trace_bytes: int = 4_000_000


class EventSource(Protocol):
    """The protocol of a source of recorded events for a run."""

    def find(self, step: str, kind: str, key: str, occurrence: int) -> Event | None:
        """Return the event that answers a request; `None` if the outside itself must be asked.

        Args:
            step: The id of the step that asks; empty for the run itself.
            kind: The kind of event.
            key: The hash of the kind and the request.
            occurrence: The number of equal requests of this step before this one.

        Raises:
            RunError: If only recorded events may answer and there is none, or it was an error.
        """
        ...
