"""The lock that admits one writer to an index directory."""

import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from fathom.errors import IndexLocked, RunError
from fathom.system import lock_file

TRIES = 5
"""The number of tries to take the lock, which `describe_holder` may hold for an instant."""
WAIT_S = 0.01
"""The wait between two tries, in seconds."""


class WriterLock:
    """An exclusive lock on a file, held by this process until `release` or its death.

    The kernel frees the lock however the process ends, so a lock is never stale. The content of the
    file is only for the messages of other processes. The lock does not work on network file systems
    that do not implement `flock`.
    """

    def __init__(self, path: Path) -> None:
        """Take the lock.

        Raises:
            IndexLocked: If another process, or another writer in this process, holds it.
            RunError: If the lock file cannot be written.
        """
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise RunError(
                f"{path}: {error.strerror}; the index needs a writable folder"
            ) from error
        unlock = self._try_to_take(path)
        if unlock is None:
            holder = os.read(self._handle, 200).decode(errors="replace").strip()
            os.close(self._handle)
            raise IndexLocked(
                f"{path.parent} is being written by {holder or 'another process'}; "
                "wait for it or stop it"
            )
        since = datetime.now(UTC).isoformat(timespec="seconds")
        holder = f"process {os.getpid()} on {platform.node()} (since {since})"
        self._unlock = unlock
        with suppress(OSError):  # on a full disk the lock holds too, only without a name
            os.ftruncate(self._handle, 0)
            os.write(self._handle, holder.encode())

    def _try_to_take(self, path: Path) -> Callable[[], None] | None:
        """Take the lock; return the function that frees it, or `None` if another holds it."""
        for tries_left in reversed(range(TRIES)):
            unlock = lock_file(self._handle, path)
            if unlock is None and tries_left:  # `describe_holder` takes the lock for an instant
                time.sleep(WAIT_S)
            else:
                return unlock
        return None

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._handle >= 0:
            os.ftruncate(self._handle, 0)
            self._unlock()
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()


def describe_holder(path: Path) -> str:
    """Return a description of the process that holds the lock on a file; `""` for none."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return ""
    try:
        description = os.read(handle, 200).decode(errors="replace").strip()
        # Empty after `release`; after the holder's death the lock is free.
        unlock = lock_file(handle, path, shared=True) if description else None
        if unlock is not None:
            unlock()
            return ""
        return description
    finally:
        os.close(handle)
