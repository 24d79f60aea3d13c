"""The index of `--docs`, which lets a command ask about files without any preparation.

It is in the user's cache folder, one for each selection of files. Each command brings it up to
date. Questions are answered as soon as all files are read, at first without vectors. Vectors are
made meanwhile, until all are made or Ctrl-C. The next command continues.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from fathom.errors import IndexLocked, Interrupted, UsageError
from fathom.serving.cli.progress import show_count, show_ingest_progress

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from fathom.engine import Engine
    from fathom.ingest.progress import IngestState
    from fathom.ingest.report import IngestProgress, IngestReport

_DIGITS = 16


def choose_index(docs: Sequence[Path] | None, index: str | None) -> str | None:
    """Return the folder of the index of `--docs`, or else the value of `--index`.

    Raises:
        UsageError: If both options are given.
    """
    if not docs:
        return index
    if index:
        raise UsageError("--docs has an index of its own; leave out --index")
    import hashlib  # `--help` must not wait for it

    places = sorted({os.path.realpath(path) for path in docs})
    digest = hashlib.sha256("\0".join(places).encode("utf-8", "surrogateescape")).hexdigest()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return str(cache / "fathom" / digest[:_DIGITS])


@contextmanager
def fill_from(engine: "Engine", docs: Sequence[Path] | None) -> Iterator[None]:
    """Bring the index of `--docs` up to date, and run the block as soon as all files are read.

    Vectors are made while the block runs; after the block, wait for them.

    Raises:
        FathomError: If the files cannot be read.
    """
    if not docs:
        yield
        return
    filling = _Filling(engine, docs)
    with show_ingest_progress(verbose=False) as on_progress:
        filling.wait_until_read(on_progress)
    try:
        yield
    except BaseException:
        # The engine closes next, and must not close during an ingestion.
        filling.end()
        raise
    filling.wait_until_complete()


@contextmanager
def fill_beside(engine: "Engine", docs: Sequence[Path] | None) -> Iterator[None]:
    """Bring the index of `--docs` up to date while the block runs; stop at the end of the block.

    This is for a server, which must answer its client at once. An error is reported on stderr.
    """
    filling = _Filling(engine, docs, reports=True) if docs else None
    try:
        yield
    finally:
        if filling:
            filling.end()


class _Filling:
    """An ingestion in its own thread."""

    def __init__(self, engine: "Engine", docs: Sequence[Path], *, reports: bool = False) -> None:
        """Start the ingestion; with `reports`, report an error on stderr as soon as it occurs."""
        self._reports = reports
        self._engine = engine
        self._docs = docs
        self._is_read, self._stop = Event(), Event()
        self._error: Exception | None = None
        self._state: tuple[IngestReport, IngestState] | None = None
        self._thread = Thread(target=self._ingest, name="fathom-docs", daemon=True)
        self._thread.start()

    def wait_until_read(self, on_progress: "IngestProgress") -> None:
        """Wait until all files are read and can be searched by words.

        Raises:
            FathomError: If the files cannot be read.
        """
        try:
            while not self._is_read.wait(0.1):
                if self._state:
                    on_progress(*self._state)
        except KeyboardInterrupt:
            self.end()
            raise
        if isinstance(self._error, IndexLocked):
            # Another command fills the same index; the files that it has read can be asked about.
            _report(self._error)
        elif self._error is not None:
            raise self._error

    def wait_until_complete(self) -> None:
        """Wait until all vectors are made; Ctrl-C ends the wait, and the next command continues."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.2)
                if self._state and (state := self._state[1]).lacking:
                    show_count("vectors", state.vectors, state.vectors + state.lacking)
        except KeyboardInterrupt:
            self.end()

    def end(self) -> None:
        """Stop the ingestion; stored documents and vectors stay."""
        self._stop.set()
        self._thread.join()

    def _ingest(self) -> None:
        try:
            self._engine.ingest([*self._docs], prune=True, on_progress=self._note)
        except Exception as error:  # noqa: BLE001 - `wait_until_read` raises it again
            self._error = error
            if self._reports and not self._stop.is_set():
                _report(error)
        finally:
            self._is_read.set()

    def _note(self, report: "IngestReport", state: "IngestState") -> None:
        """Store the progress, and stop the ingestion after `end`."""
        if self._stop.is_set():
            raise Interrupted("the vectors are not complete; the next command continues")
        self._state = report, state
        if state.lacking or state.stage == "finishing":
            self._is_read.set()


def _report(error: Exception) -> None:
    sys.stderr.write(f"fathom: {error}\n")
