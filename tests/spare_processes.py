"""Reading processes that serve one sandbox after the other, as starting one takes a quarter second.

The sandbox starts a process for each ingestion. Here a process that has answered all that it was
asked waits for the next sandbox with the same limits instead; the tests of the sandbox itself start
their own.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

import pytest

from fathom.documents.base import ParseLimits
from fathom.documents.sandbox import parent
from fathom.documents.sandbox.frames import Frame
from fathom.documents.sandbox.parent import ReadingProcess, list_import_path
from fathom.extensions import Extension

_MOST = 2
Kind = tuple[ParseLimits, bool, int, str]
"""The limits, whether text is recognised, the user and the folders of modules."""


class SpareProcesses:
    """The processes that wait, at most one of each kind.

    Any thread may take and keep them.

    Args:
        folder: Working directory of the processes.
        starter: The thread that starts the processes, as the system ends a process with the thread
            that started it.
    """

    def __init__(self, folder: Path, starter: ThreadPoolExecutor) -> None:
        self._folder = str(folder)
        self._starter = starter
        self._lock = Lock()
        self._waiting: dict[Kind, KeptProcess] = {}

    def take(self, limits: ParseLimits, folder: str, *, recognises: bool = False) -> ReadingProcess:
        """Return a process that waits, or a new one."""
        kind = limits, recognises, os.geteuid(), list_import_path()
        with self._lock:
            process = self._waiting.pop(kind, None)
        if process is not None and not process.has_ended():
            return process
        return self._starter.submit(KeptProcess, self, kind, self._folder).result()

    def keep(self, kind: Kind, process: "KeptProcess") -> None:
        """Let a process wait, in place of the one that has waited longest."""
        with self._lock:
            waiting = [self._waiting.pop(kind, None)]
            if len(self._waiting) == _MOST:
                waiting.append(self._waiting.pop(next(iter(self._waiting))))
            self._waiting[kind] = process
        for other in filter(None, waiting):
            other.end()

    def end(self) -> None:
        """End all of them."""
        for process in self._waiting.values():
            process.end()


class KeptProcess(ReadingProcess):
    """A process that waits for another sandbox instead of being closed, if it may serve one."""

    def __init__(self, spare: SpareProcesses, kind: Kind, folder: str) -> None:
        super().__init__(kind[0], folder, recognises=kind[1])
        self._spare, self._kind = spare, kind
        self._may_serve = True
        self._is_answering = False

    def send(self, path: Path, extension: Extension | None) -> None:
        """Request a file; a process that has imported foreign code serves no other sandbox."""
        self._may_serve = self._may_serve and extension is None
        super().send(path, extension)

    def begin_reply(self) -> None:
        """Begin a reply, which is answered at its last frame."""
        super().begin_reply()
        self._is_answering = True

    def receive(self) -> Frame:
        """Receive a frame; a process that has grown serves no other sandbox."""
        frame = super().receive()
        self._is_answering = not frame.done
        self._may_serve = self._may_serve and frame.peak_bytes * 2 < self._kind[0].memory_bytes
        return frame

    def close(self) -> None:
        """Let the process wait; end it if it may serve no other sandbox."""
        if self._may_serve and not (self._is_answering or self.pending_files or self.has_ended()):
            self._spare.keep(self._kind, self)
        else:
            self.end()

    def end(self) -> None:
        """Kill the process."""
        super().close()


@contextmanager
def keep_reading_processes(folder: Path) -> Iterator[None]:
    """Let reading processes serve all sandboxes of the body of a `with` statement."""
    with (
        ThreadPoolExecutor(1, "starter-of-reading-processes") as starter,
        pytest.MonkeyPatch.context() as patch,
    ):
        # It starts now, as tests compare the threads before and after them.
        starter.submit(os.getpid).result()
        spare = SpareProcesses(folder, starter)
        patch.setattr(parent, "ReadingProcess", spare.take)
        yield
        spare.end()
