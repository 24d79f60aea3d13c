"""Replay: the recorded events of a trace for a new run, and the differences of its answer."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fathom.errors import RunError
from fathom.jsonable import Json, dump_canonical
from fathom.runs.recorder import format_answer
from fathom.runs.trace import LEFT_OUT, Event, Step, Trace


class MissingEventError(RunError):
    """An error of a request to the outside for which the trace has no answer."""


class RecordedFailure(RunError):
    """An error that the recorded run met, of a class that the replay does not know."""


class RecordedEvents:
    """The outside events of a trace, as the source of a `Recorder`; the outside is never asked.

    A request is answered by the event with the same step, request and occurrence. If there is none,
    because the steps of a changed run have other ids, the first unused event with the same request
    answers.

    Attributes:
        missing: The requests without an answer, as `kind in step: reason`, in order.
    """

    def __init__(self, trace: Trace, errors: Iterable[type[Exception]] = (TimeoutError,)) -> None:
        """Take the events of a trace.

        Args:
            trace: The trace.
            errors: The classes of exceptions that the replay raises again if the run had met them.
                Each must accept its message as the only argument.
        """
        self._events: dict[str, list[Event]] = defaultdict(list)
        for event in trace.events:
            self._events[event.key].append(event)
        self._errors = {error.__name__: error for error in errors}
        self.missing: list[str] = []

    def find(self, step: str, kind: str, key: str, occurrence: int) -> Event | None:
        """Return the recorded event that answers a request, and mark it as used.

        Args:
            step: The id of the step that asks; empty for the run itself.
            kind: The kind of event.
            key: The hash of the kind and the request.
            occurrence: The number of equal requests of this step before this one.

        Raises:
            MissingEventError: If there is none, or its value was too large to be recorded.
            RecordedFailure: If the event was an error of an unknown class; an error of a known
                class is raised itself.
        """
        unused = self._events[key]
        matches = (e for e in unused if (e.step, e.occurrence) == (step, occurrence))
        # In a changed run the steps may have other ids, so the same request is enough.
        event = next(matches, unused[0] if unused else None)
        place = f"{kind} in {step or 'the run'}"
        if event is None or event.omitted:
            fault = "is not in the trace" if event is None else "was too large to be recorded"
            self.missing.append(f"{place}: {fault}")
            raise MissingEventError(f"replay: {place} {fault}; ask the question again instead")
        unused.remove(event)
        if event.error:
            raise self._restore_error(event.error)
        return event

    def list_unused(self) -> tuple[Event, ...]:
        """Return the events that the replay has not used so far."""
        return tuple(event for events in self._events.values() for event in events)

    def _restore_error(self, error: str) -> Exception:
        """Return the exception of a recorded error; a `RecordedFailure` for an unknown class."""
        name, _, message = error.partition(": ")
        kind = self._errors.get(name)
        return kind(message) if kind else RecordedFailure(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first difference between a replay and its record.

    Attributes:
        where: The place of the difference, such as a step and its field.
        recorded: The value in the record; `None` if it has none.
        replayed: The value in the replay; `None` if it has none.
    """

    where: str
    recorded: Json
    replayed: Json

    def __str__(self) -> str:
        return (
            f"{self.where}: {_shorten(self.recorded)} was {_shorten(self.replayed)} in the replay"
        )


def is_same_answer(recorded: Trace, answer: object) -> bool:
    """Return whether an answer equals the recorded one, byte for byte.

    `trace_id` and `warnings` are ignored, because a trace does not have them.
    """
    return dump_canonical(format_answer(answer)) == dump_canonical(recorded.answer)


def find_difference(recorded: Trace, replayed: Trace) -> Difference | None:
    """Return the first difference of a replay from its record; `None` if there is none.

    The index revisions, the steps and the answers are compared, but no times, durations and usages
    of steps, and no steps inside a branch that both runs left out.
    """
    if recorded.origin.index_revision != replayed.origin.index_revision:
        return Difference(
            where="index revision",
            recorded=recorded.origin.index_revision,
            replayed=replayed.origin.index_revision,
        )
    old = {step.id: step for step in recorded.steps}
    new = {step.id: step for step in replayed.steps}
    for name in _merge_ids(recorded, replayed):
        difference = _compare_counterparts(name, old, new)
        if difference:
            return difference
    return _compare_values("answer", recorded.answer, replayed.answer)


def _merge_ids(recorded: Trace, replayed: Trace) -> Iterator[str]:
    """Yield the ids of the steps of both traces, in the order of the record.

    A step of the replay only comes before the common step that follows it in the replay.
    """
    recorded_ids = {step.id for step in recorded.steps}
    extras: list[str] = []
    extras_before: dict[str, list[str]] = {}
    for step in replayed.steps:
        if step.id in recorded_ids:
            extras_before[step.id], extras = extras, []
        else:
            extras.append(step.id)
    for step in recorded.steps:
        yield from extras_before.get(step.id, ())
        yield step.id
    yield from extras


def _compare_counterparts(
    name: str, old: Mapping[str, Step], new: Mapping[str, Step]
) -> Difference | None:
    """Return the difference of the two steps with an id, or of the branch around them.

    Args:
        name: The id.
        old: The recorded steps by id.
        new: The replayed steps by id.
    """
    for branch in _list_outer_ids(name):
        first, second = old.get(branch), new.get(branch)
        left_out = [step is not None and step.verdict == LEFT_OUT for step in (first, second)]
        if all(left_out):
            return None  # a replay does not begin such a branch, and no later step used its value
        # The reason why the branch was left out says more than its different steps.
        if any(left_out) or (first is None) != (second is None):
            return _compare_steps(branch, first, second)
    return _compare_steps(name, old.get(name), new.get(name))


def _list_outer_ids(name: str) -> list[str]:
    """Return the ids of the steps around a step, the outermost first."""
    parts = name.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _compare_steps(name: str, old: Step | None, new: Step | None) -> Difference | None:
    """Return the first difference of two steps, either of which may be missing; else `None`."""
    place = f"step {name}"
    if old is None or new is None:
        return Difference(where=place, recorded=old and old.name, replayed=new and new.name)
    # The verdict comes before the outputs, because it says more.
    for field in ("agent", "inputs", "verdict", "outputs", "reason", "error"):
        difference = _compare_values(f"{place}, {field}", getattr(old, field), getattr(new, field))
        if difference:
            return difference
    return None


def _compare_values(where: str, old: Json, new: Json) -> Difference | None:
    """Return the first difference of two values, objects by sorted keys; `None` if equal."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            difference = _compare_values(f"{where}.{name}", old.get(name), new.get(name))
            if difference:
                return difference
        return None
    if dump_canonical(old) != dump_canonical(new):
        return Difference(where=where, recorded=old, replayed=new)
    return None


def _shorten(value: Json) -> str:
    """Return a value as JSON of at most 200 characters and an ellipsis."""
    text = dump_canonical(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
