"""Progress on stderr, of an ingestion or of counted work."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from fathom.errors import Interrupted
from fathom.serving.cli.terminal import replace_breaks
from fathom.serving.invisible import replace_controls

if TYPE_CHECKING:  # a command that only asks does not load ingestion
    from fathom.ingest.progress import IngestState
    from fathom.ingest.report import IngestProgress, IngestReport


@contextmanager
def show_ingest_progress(*, verbose: bool) -> "Iterator[IngestProgress]":
    """Show the progress of an ingestion on stderr.

    Args:
        verbose: Whether to write a line for each file as soon as its outcome is stored. Otherwise,
            if stderr is a terminal, two live lines show the progress, the speed and the time left.
    """
    if verbose:
        yield _LinePrinter()
        return
    if not sys.stderr.isatty():
        yield lambda _report, _advance: None
        return
    from fathom.serving.cli.progress_bar import show_ingest_bar

    with show_ingest_bar() as update:
        yield update


class _LinePrinter:
    """A printer of the lines that were added to the report since the last call."""

    def __init__(self) -> None:
        self._written = 0

    def __call__(self, report: "IngestReport", advance: "IngestState") -> None:
        for number, file in enumerate(report.files[self._written :], start=self._written + 1):
            reason = f": {file.reason}" if file.reason else ""
            line = f"{number}/{advance.files} {file.outcome} {file.path}{reason}"
            sys.stderr.write(replace_breaks(line) + "\n")
        self._written = len(report.files)
        sys.stderr.flush()


class InterruptibleProgress:
    """A wrapper that passes progress on, and reports at Ctrl-C how much is stored."""

    def __init__(self, on_progress: "IngestProgress", *, anew: bool) -> None:
        self._on_progress = on_progress
        self._anew = anew
        self._documents, self._read, self._files = 0, 0, 0

    def __call__(self, report: "IngestReport", advance: "IngestState") -> None:
        """Store the counts, and pass them on."""
        self._documents, self._read = report.documents, len(report.files)
        self._files = advance.files
        self._on_progress(report, advance)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is KeyboardInterrupt:
            # A rebuild has its own folder, so the old index does not change.
            where = "in the new index beside the old one" if self._anew else "in the index"
            raise Interrupted(
                f"interrupted; {self._documents} documents are stored {where} "
                f"({self._read} of {self._files} files); run the same command again to continue"
            ) from None


def show_count(label: str, done: int, total: int) -> None:
    """Show a count in one line of stderr, if it is a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(
            f"\r{replace_controls(label)}: {done}/{total}" + ("\n" if done == total else "")
        )
        sys.stderr.flush()
