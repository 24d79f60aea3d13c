"""System calls of POSIX, with substitutes on other systems.

- Lock a file. Elsewhere: an exclusive transaction on an SQLite file beside it, which ends with its
  process too.
- Limit the memory, files and processor time of a process. Elsewhere: no limit; the sandbox still
  limits time and text, and forbids what a parser may not do.
- End a process after a time. Elsewhere: nothing; a worker is killed when its task takes too long.
- Measure the memory of the machine. Elsewhere: 8 GB are assumed.
- Write the names in a folder to the disk. Elsewhere: nothing; this is left to the file system.
"""

import importlib
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

ASSUMED_MEMORY = 8_000_000_000
"""The bytes of memory that are assumed where the system does not tell."""


def _find_module(name: str) -> Any:  # noqa: ANN401 - a module
    """Return a module of the standard library; `None` if this system does not have it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


_fcntl, _resource = _find_module("fcntl"), _find_module("resource")


def lock_file(handle: int, path: Path, *, shared: bool = False) -> Callable[[], None] | None:
    """Lock an open file, without waiting; the lock ends with this process at the latest.

    Args:
        handle: The descriptor of the open file.
        path: The path of the file.
        shared: Whether other shared locks are allowed at the same time; on other systems than
            POSIX every lock is exclusive.

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
    """Lock the file at a path by an SQLite file beside it; return as `lock_file` does."""
    import sqlite3  # takes a while to import, and is needed only here

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
    """Limit a resource of this process; the limit cannot be raised again.

    Args:
        kind: The name of the limit after `RLIMIT_`.
        value: The limit, in bytes or, for `NOFILE`, in open files; a lower hard limit stays.
    """
    if _resource is None:
        return
    limit = getattr(_resource, f"RLIMIT_{kind}")
    _, hard = _resource.getrlimit(limit)
    if hard != _resource.RLIM_INFINITY:
        value = min(value, hard)
    # macOS has no working limit on address space; there only the parent's timeout holds.
    with suppress(ValueError, OSError):
        _resource.setrlimit(limit, (value, value))


def create_folder(folder: Path) -> None:
    """Create a folder and those above it, and write their names to the disk.

    So the folders survive a loss of power.

    Raises:
        OSError: If one of them cannot be created.
    """
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in missing:
        sync_folder(place.parent)


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk, which a sync of the files in it does not do."""
    # Windows cannot open a folder, and the permission to read a folder may be missing.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def renew_cpu(seconds: int) -> None:
    """Allow this process `seconds` of processor time from now on; then SIGXCPU ends it."""
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
    """Set the number of seconds after which SIGALRM ends this process; 0 for never."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def is_end_by(code: int, name: Literal["SIGALRM", "SIGXCPU"]) -> bool:
    """Return whether a process with this exit code was ended by a signal.

    Args:
        code: The exit code as `subprocess` gives it; negative after a signal.
        name: The name of the signal.
    """
    number: int | None = getattr(signal, name, None)
    return number is not None and code == -number
