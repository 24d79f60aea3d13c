"""Replay: a run with recorded events in place of the outside."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from fathom.errors import RunError
from fathom.jsonable import Json, dump_canonical
from fathom.runs.recorder import format_answer
from fathom.runs.trace import Event, Step, Trace


class MissingEventError(RunError):
    """A request to the outside that the trace has no answer to."""


class RecordedFailure(RunError):
    """An error of the recorded run whose class the replay does not know."""


class RecordedEvents:
    """The outside events of a trace, for a `Recorder`; nothing is opened.

    An event answers the same step with the same request for the n-th time. If the steps of a
    changed run have other ids, the first unused event with the same request answers.

    Attributes:
        missing: The requests without an answer, as `kind in step: request`, in order.
    """

    def __init__(self, trace: Trace, errors: Iterable[type[Exception]] = (TimeoutError,)) -> None:
        """Take the events of a trace.

        Args:
            trace: The trace.
            errors: The classes of exceptions that the replay raises itself if the run had met them;
                each is made from its message alone.
        """
        self._events: dict[str, list[Event]] = defaultdict(list)
        for event in trace.events:
            self._events[event.key].append(event)
        self._errors = {error.__name__: error for error in errors}
        self.missing: list[str] = []

    def find(self, step: str, kind: str, key: str, occurrence: int) -> Event | None:
        """Return the recorded event.

        Raises:
            MissingEventError: If there is none, or its value was too large to be recorded.
            RecordedFailure: If the event was an error; or the error itself if its class is known.
        """
        unused = self._events[key]
        matches = (e for e in unused if (e.step, e.occurrence) == (step, occurrence))
        # A changed run gives its steps other ids; the request alone must do then.
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
        """Return the events that the replay has not used."""
        return tuple(event for events in self._events.values() for event in events)

    def _restore_error(self, error: str) -> Exception:
        name, _, message = error.partition(": ")
        kind = self._errors.get(name)
        return kind(message) if kind else RecordedFailure(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first difference between a replay and its record."""

    where: str
    recorded: Json
    replayed: Json

    def __str__(self) -> str:
        return (
            f"{self.where}: {_shorten(self.recorded)} was {_shorten(self.replayed)} in the replay"
        )


def is_same_answer(recorded: Trace, answer: object) -> bool:
    """Return whether an answer is the recorded one, byte for byte, but for its `trace_id`."""
    return dump_canonical(format_answer(answer)) == dump_canonical(recorded.answer)


def find_difference(recorded: Trace, replayed: Trace) -> Difference | None:
    """Return the first difference of a replay from its record; `None` if there is none.

    Times, durations and the seconds in usages do not count.
    """
    if recorded.origin.index_revision != replayed.origin.index_revision:
        return Difference(
            where="index revision",
            recorded=recorded.origin.index_revision,
            replayed=replayed.origin.index_revision,
        )
    new = {step.id: step for step in replayed.steps}
    for step in recorded.steps:
        difference = _compare_steps(step, new.pop(step.id, None))
        if difference:
            return difference
    for step in new.values():
        return Difference(where=f"step {step.id}", recorded=None, replayed=step.name)
    return _compare_values("answer", recorded.answer, replayed.answer)


def _compare_steps(old: Step, new: Step | None) -> Difference | None:
    place = f"step {old.id}"
    if new is None:
        return Difference(where=place, recorded=old.name, replayed=None)
    # A verdict says more than the outputs that led to it.
    for name in ("agent", "inputs", "verdict", "outputs", "reason", "error"):
        difference = _compare_values(f"{place}, {name}", getattr(old, name), getattr(new, name))
        if difference:
            return difference
    return None


def _compare_values(where: str, old: Json, new: Json) -> Difference | None:
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
    text = dump_canonical(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
