"""Progress of a question on stderr, for the commands that ask."""

import sys

from fathom.runs.context import Listener
from fathom.serving.cli.terminal import replace_controls

_REPLACE_LINE = "\x1b[A\x1b[2K\r"


def make_step_listener() -> Listener:
    """Return a listener that shows the steps of a question if stderr is a terminal."""
    return _StepPrinter() if sys.stderr.isatty() else Listener()


class _StepPrinter(Listener):
    """A printer of the finished steps, and of a language model's sentences as they come.

    A step that is taken several times in a row has one line, which counts.
    """

    wants_text = True

    def __init__(self) -> None:
        self._last, self._times = "", 0

    def on_step(self, name: str, news: str) -> None:
        if not news:
            return
        self._times = self._times + 1 if name == self._last else 1
        self._last = name
        repetition = f" ({self._times} times)" if self._times > 1 else ""
        self._write(f"  {name}{repetition}: {' '.join(news.split())}", again=self._times > 1)

    def on_text(self, words: str) -> None:
        self._last = ""
        self._write(f"  > {' '.join(words.split())}", again=False)

    def _write(self, line: str, *, again: bool) -> None:
        """Write a line, or replace the last one."""
        sys.stderr.write(f"{_REPLACE_LINE if again else ''}{replace_controls(line)}\n")
        sys.stderr.flush()
