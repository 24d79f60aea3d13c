"""The events of a run, for listeners, streams and servers.

The events of a step have the id that its record in the trace has.
"""

from dataclasses import dataclass

from typing_extensions import override

from fathom.runs.trace import Step
from fathom.types import Answer


@dataclass(frozen=True, slots=True)
class StepEvent:
    """A step that begins or ends.

    Attributes:
        step: The step, in the form in which the trace has it.
    """

    step: Step

    @property
    def id(self) -> str:
        """The id of the step: the same at its start, at its end and in the trace."""
        return self.step.id

    @property
    def name(self) -> str:
        """The name of the step; repeated steps have the same name."""
        return self.step.name

    @property
    def news(self) -> str:
        """The outcome in a few words; empty while it is unknown."""
        return ""


class StepStart(StepEvent):
    """The start of a step; its outcome is still unknown."""

    __slots__ = ()


class StepEnd(StepEvent):
    """The end of a step, with its outcome or its error."""

    __slots__ = ()

    @property
    @override
    def news(self) -> str:
        return self.step.reason or self.step.verdict or self.step.error or "done"


@dataclass(frozen=True, slots=True)
class TextEvent:
    """A sentence of an answer that a model is still writing; its quote is verified."""

    text: str


@dataclass(frozen=True, slots=True)
class FinalEvent:
    """The whole answer; the last event of every stream."""

    answer: Answer


RunEvent = StepStart | StepEnd | TextEvent
"""An event during a run."""
StreamEvent = RunEvent | FinalEvent
"""An event of a stream, which ends with the answer."""


class Listener:
    """A receiver of the events of a run; this base class ignores them.

    It may be called from any thread, and its call should return at once.

    Attributes:
        wants_text: Whether to send `TextEvent`s too.
    """

    wants_text: bool = False

    def on_event(self, event: RunEvent) -> None:
        """Handle an event."""
