"""Replay: a run that is told the recorded events instead of asking the outside."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from fathom.errors import RunError
from fathom.jsonable import Json, canonical
from fathom.runs.recorder import answer_json
from fathom.runs.trace import Event, Step, Trace


class EventMissing(RunError):
    """A replay asks the outside something that the trace has no answer to."""


class RecordedFailure(RunError):
    """What a replay raises where the run had met an error of a class it was not told of."""


class Recorded:
    """The outside events of a trace, to be given to a `Recorder`; opens nothing.

    An event answers the same step asking the same for the n-th time. Where the steps of a changed
    run have other ids, the first event still unused with the same request answers.

    Attributes:
        missing: What was asked in vain, as `kind in step: request`, in order.
    """

    def __init__(self, trace: Trace, errors: Iterable[type[Exception]] = (TimeoutError,)) -> None:
        """Take the events of a trace.

        Args:
            trace: Where they come from.
            errors: Exceptions that are raised again as themselves where the run had met them;
                each is made from its message alone.
        """
        self._events: dict[str, list[Event]] = defaultdict(list)
        for event in trace.events:
            self._events[event.key].append(event)
        self._errors = {error.__name__: error for error in errors}
        self.missing: list[str] = []

    def find(self, step: str, kind: str, key: str, occurrence: int) -> Event | None:
        """The recorded event.

        Raises:
            EventMissing: If there is none, or its value was too large to be kept.
            RecordedFailure: If it was an error; or the error itself if its class is known.
        """
        left = self._events[key]
        same = (e for e in left if (e.step, e.occurrence) == (step, occurrence))
        event = next(same, left[0] if left else None)
        where = f"{kind} in {step or 'the run'}"
        if event is None or event.omitted:
            why = "is not in the trace" if event is None else "was too large to be recorded"
            self.missing.append(f"{where}: {why}")
            raise EventMissing(f"replay: {where} {why}; it would have to be asked anew")
        left.remove(event)
        if event.error:
            raise self._failure(event.error)
        return event

    def unused(self) -> tuple[Event, ...]:
        """Events that nobody asked for (any more)."""
        return tuple(event for left in self._events.values() for event in left)

    def _failure(self, error: str) -> Exception:
        name, _, message = error.partition(": ")
        known = self._errors.get(name)
        return known(message) if known else RecordedFailure(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first thing that a replay saw differently."""

    where: str
    recorded: Json
    replayed: Json

    def __str__(self) -> str:
        return f"{self.where}: {_short(self.recorded)} was {_short(self.replayed)} in the replay"


def same_answer(recorded: Trace, answer: object) -> bool:
    """Whether an answer is, byte for byte, the recorded one; its `trace_id` does not count."""
    return canonical(answer_json(answer)) == canonical(recorded.answer)


def first_difference(recorded: Trace, replayed: Trace) -> Difference | None:
    """Where a replay first left the recorded way; `None` if it never did.

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
        found = _step_difference(step, new.pop(step.id, None))
        if found:
            return found
    for step in new.values():
        return Difference(where=f"step {step.id}", recorded=None, replayed=step.name)
    return _value_difference("answer", recorded.answer, replayed.answer)


def _step_difference(old: Step, new: Step | None) -> Difference | None:
    where = f"step {old.id}"
    if new is None:
        return Difference(where=where, recorded=old.name, replayed=None)
    for name in ("agent", "inputs", "outputs", "verdict", "reason", "error"):
        found = _value_difference(f"{where}, {name}", getattr(old, name), getattr(new, name))
        if found:
            return found
    return None


def _value_difference(where: str, old: Json, new: Json) -> Difference | None:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            found = _value_difference(f"{where}.{name}", old.get(name), new.get(name))
            if found:
                return found
        return None
    if canonical(old) != canonical(new):
        return Difference(where=where, recorded=old, replayed=new)
    return None


def _short(value: Json) -> str:
    text = canonical(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
