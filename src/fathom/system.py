"""Acts of POSIX systems, with stand-ins elsewhere.

- Lock a file. Elsewhere: an exclusive transaction on an SQLite file beside it, which ends with its
  process too.
- Limit the memory, files and processor time of a process. Elsewhere: no limit; the clock, the limit
  of text and the gate of the sandbox remain.
- End a process after a time. Elsewhere: nothing; a worker is killed when its task takes too long.
- Measure the memory of the machine. Elsewhere: 8 GB are assumed.
- Bring the names in a folder to the disk. Elsewhere: nothing; the file system orders them.
"""

import importlib
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

ASSUMED_MEMORY = 8_000_000_000
"""The bytes of memory of a machine that does not tell."""


def _find_module(name: str) -> Any:  # noqa: ANN401 - a module
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


_fcntl, _resource = _find_module("fcntl"), _find_module("resource")


def lock_file(handle: int, path: Path, *, shared: bool = False) -> Callable[[], None] | None:
    """Lock an open file, without waiting; the lock ends with this process at the latest.

    Args:
        handle: The open file.
        path: Its path.
        shared: Whether other shared locks are allowed at the same time; elsewhere none is.

    Returns:
        The function that unlocks the file; `None` if it is locked already.
    """
    if _fcntl is None:
        return _lock_beside(path)
    kind = _fcntl.LOCK_SH if shared else _fcntl.LOCK_EX
    try:
        _fcntl.flock(handle, kind | _fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    return lambda: _fcntl.flock(handle, _fcntl.LOCK_UN)


def _lock_beside(path: Path) -> Callable[[], None] | None:
    import sqlite3  # slow, and needed here alone

    connection = sqlite3.connect(
        f"{path}.sqlite", timeout=0, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        connection.close()
        return None
    return connection.close


def limit_resource(kind: Literal["AS", "CORE", "FSIZE", "NOFILE"], value: int) -> None:
    """Limit a resource of this process for good."""
    if _resource is None:
        return
    limit = getattr(_resource, f"RLIMIT_{kind}")
    _, hard = _resource.getrlimit(limit)
    if hard != _resource.RLIM_INFINITY:
        value = min(value, hard)
    # macOS has no working limit on address space; the parent's clock still holds there.
    with suppress(ValueError, OSError):
        _resource.setrlimit(limit, (value, value))


def create_folder(folder: Path) -> None:
    """Create a folder and those above it, so that a loss of power does not take them away.

    Raises:
        OSError: If one of them cannot be created.
    """
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in missing:
        sync_folder(place.parent)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk; the sync of a file does not bring its own."""
    # Windows opens no folder, and a folder may be without the permission to read.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def renew_cpu(seconds: int) -> None:
    """Allow `seconds` of processor time from now on; then SIGXCPU ends the process."""
    if _resource is None:
        return
    used = _resource.getrusage(_resource.RUSAGE_SELF)
    spent = int(used.ru_utime + used.ru_stime) + 1
    _, hard = _resource.getrlimit(_resource.RLIMIT_CPU)
    _resource.setrlimit(_resource.RLIMIT_CPU, (spent + seconds, hard))


def measure_memory() -> int:
    """Return the bytes of memory of the machine."""
    if not hasattr(os, "sysconf"):
        return ASSUMED_MEMORY
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def set_alarm(seconds: float) -> None:
    """End this process by SIGALRM after so many seconds; 0 revokes it."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def is_end_by(code: int, name: Literal["SIGALRM", "SIGXCPU"]) -> bool:
    """Return whether a process with this exit code was ended by the signal of this name."""
    number: int | None = getattr(signal, name, None)
    return number is not None and code == -number
