"""Progress on stderr: what goes in, what is asked, what is done of so many."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from fathom.errors import Interrupted
from fathom.runs.context import Listener
from fathom.serving.cli.terminal import plain

if TYPE_CHECKING:  # who asks does not ingest
    from fathom.index.ingest_progress import Advance
    from fathom.index.ingest_report import IngestProgress, IngestReport

_LINE_BEFORE = "\x1b[A\x1b[2K\r"


@contextmanager
def ingest_progress(*, verbose: bool) -> "Iterator[IngestProgress]":
    """Show how far an ingestion is.

    Args:
        verbose: Write a line for each file as soon as its outcome is stored, instead of the live
            line of what is done, how fast and how long it will take, which is shown where stderr
            is a terminal.
    """
    if verbose:
        yield _Lines()
        return
    if not sys.stderr.isatty():
        yield lambda _report, _advance: None
        return
    from fathom.serving.cli.progress_bar import ingest_bar

    with ingest_bar() as update:
        yield update


class _Lines:
    """Writes what has come to the report since the last time."""

    def __init__(self) -> None:
        self._written = 0

    def __call__(self, report: "IngestReport", advance: "Advance") -> None:
        for number, file in enumerate(report.files[self._written :], start=self._written + 1):
            reason = f": {file.reason}" if file.reason else ""
            line = f"{number}/{advance.files} {file.outcome} {file.path}{reason}"
            sys.stderr.write(plain(line) + "\n")
        self._written = len(report.files)
        sys.stderr.flush()


class Told:
    """Passes on what an ingestion tells; broken off inside, it says what is kept."""

    def __init__(self, on_progress: "IngestProgress", *, anew: bool) -> None:
        self._on_progress = on_progress
        self._anew = anew
        self._documents, self._read, self._files = 0, 0, 0

    def __call__(self, report: "IngestReport", advance: "Advance") -> None:
        """See `IngestProgress`."""
        self._documents, self._read = report.documents, len(report.files)
        self._files = advance.files
        self._on_progress(report, advance)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is KeyboardInterrupt:
            where = "of the new index, and the old one as it was" if self._anew else "in the index"
            raise Interrupted(
                f"interrupted; {self._documents} documents are kept {where} "
                f"({self._read} of {self._files} files); run the same command again to go on"
            ) from None


def show_count(what: str, done: int, total: int) -> None:
    """Say how much is done, in one line that counts, where stderr is a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{plain(what)}: {done}/{total}" + ("\n" if done == total else ""))
        sys.stderr.flush()


def steps_shown() -> Listener:
    """Shows the steps of a question where stderr is a terminal, else nothing."""
    return _Steps() if sys.stderr.isatty() else Listener()


class _Steps(Listener):
    """A line for each step that is over, and the sentences of a language model as they come.

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
        counted = f" ({self._times} times)" if self._times > 1 else ""
        self._write(f"  {name}{counted}: {' '.join(news.split())}", again=self._times > 1)

    def on_text(self, words: str) -> None:
        self._last = ""
        self._write(f"  > {' '.join(words.split())}", again=False)

    def _write(self, line: str, *, again: bool) -> None:
        """Write a line, or write it anew."""
        sys.stderr.write(f"{_LINE_BEFORE if again else ''}{plain(line)}\n")
        sys.stderr.flush()
