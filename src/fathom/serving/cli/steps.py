"""The progress of a question on stderr."""

import sys

from typing_extensions import override

from fathom.runs.events import Listener, RunEvent, StepEnd, TextEvent
from fathom.serving.invisible import replace_controls

_REPLACE_LINE = "\x1b[A\x1b[2K\r"


def make_step_listener() -> Listener:
    """Return a listener that shows the steps of a question if stderr is a terminal."""
    return _StepPrinter() if sys.stderr.isatty() else Listener()


class _StepPrinter(Listener):
    """A printer of finished steps, and of each new sentence of a language model.

    A step that is repeated in a row has one line with the number of times.
    """

    wants_text = True

    def __init__(self) -> None:
        self._last, self._times = "", 0

    @override
    def on_event(self, event: RunEvent) -> None:
        if isinstance(event, TextEvent):
            self._last = ""
            self._write(f"  > {' '.join(event.text.split())}", again=False)
        # A step without an outcome only contains other steps, which have their own lines.
        elif isinstance(event, StepEnd) and event.step.has_outcome:
            self._times = self._times + 1 if event.name == self._last else 1
            self._last = event.name
            repetition = f" ({self._times} times)" if self._times > 1 else ""
            news = " ".join(event.news.split())
            self._write(f"  {event.name}{repetition}: {news}", again=self._times > 1)

    def _write(self, line: str, *, again: bool) -> None:
        """Write a line, or replace the last one."""
        sys.stderr.write(f"{_REPLACE_LINE if again else ''}{replace_controls(line)}\n")
        sys.stderr.flush()
