"""The events of a run: the one vocabulary of listeners, streams and servers.

A step begins and ends under one id, which its record in the trace has too.
"""

from dataclasses import dataclass

from typing_extensions import override

from fathom.runs.trace import Step
from fathom.types import Answer


@dataclass(frozen=True, slots=True)
class StepEvent:
    """A step that begins or ends.

    Attributes:
        step: The step in the trace's form.
    """

    step: Step

    @property
    def id(self) -> str:
        """The id of the step: the same at its begin, at its end and in the trace."""
        return self.step.id

    @property
    def name(self) -> str:
        """The name of the step, which repeated steps share."""
        return self.step.name

    @property
    def news(self) -> str:
        """The outcome in a few words; empty while it is unknown."""
        return ""


class StepStart(StepEvent):
    """The begin of a step; its outcome is still unknown."""

    __slots__ = ()


class StepEnd(StepEvent):
    """The end of a step, however it ended."""

    __slots__ = ()

    @property
    @override
    def news(self) -> str:
        return self.step.reason or self.step.verdict or self.step.error or "done"


@dataclass(frozen=True, slots=True)
class TextEvent:
    """A sentence, with its quote verified, of an answer that a model is still writing."""

    text: str


@dataclass(frozen=True, slots=True)
class FinalEvent:
    """The whole answer; the last event of every stream."""

    answer: Answer


RunEvent = StepStart | StepEnd | TextEvent
"""An event of a run that goes on."""
StreamEvent = RunEvent | FinalEvent


class Listener:
    """A receiver of the events of a run, from any thread. This base class ignores them.

    Attributes:
        wants_text: Whether to pass on text before it is final.
    """

    wants_text: bool = False

    def on_event(self, event: RunEvent) -> None:
        """Handle an event."""
