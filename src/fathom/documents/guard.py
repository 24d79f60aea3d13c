"""The cage: files are read in a process of their own, which may be killed at any time."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from fathom.documents.base import Parsed
from fathom.documents.failure import Failure
from fathom.documents.limits import Limits
from fathom.documents.process import Child

__all__ = ["Cage", "Limits"]


class Cage:
    """Reads files in a child process under `Limits`, one file at a time.

    The child is started once and lives until it breaks a limit, crashes or has grown large; then
    the next file gets a new one. Use it as a context manager, from one thread.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._child: Child | None = None

    @property
    def limits(self) -> Limits:
        """What one file may cost."""
        return self._limits

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="fathom-")
        self._ready()
        return self

    def __exit__(self, *error: object) -> None:
        self._drop()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def parse(self, path: Path) -> Iterator[Parsed | Failure]:
        """What the file at `path` holds, in file order.

        Raises:
            Refused: When the file gives no (more) text; `failed` names the limit it broke.
        """
        child = self._ready()
        healthy = False
        try:
            child.send(path)
            while True:
                frame = child.receive()
                # A process that has grown would blame the next file for it.
                healthy = frame.done and frame.peak_bytes * 2 < self._limits.memory_bytes
                yield from frame.values
                if frame.refused is not None:
                    raise frame.refused
                if frame.done:
                    return
        finally:
            if not healthy:
                self._drop()

    def _ready(self) -> Child:
        if self._folder is None:
            raise RuntimeError("a cage is used inside its with statement only")
        if self._child is None or self._child.gone():
            self._drop()
            self._child = Child(self._limits, self._folder.name)
        return self._child

    def _drop(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None
