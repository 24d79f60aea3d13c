"""The rights that the reading process gives up before it reads a file.

Layers, weakest assumption first: resource limits hold for native code too; the network namespace,
if the system grants one, takes the network away from native code, and Landlock, if the kernel has
it, writing, removing and running files and signals to other processes; the audit hook stops Python
code from opening sockets, programs and any file but the given one.
"""

import contextlib
import importlib
import os
import signal
import sys
import sysconfig
from pathlib import Path
from typing import Any, BinaryIO

from fathom.documents.base import ParseLimits
from fathom.documents.sandbox.landlock import give_up_rights
from fathom.system import limit_resource

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_FORBIDDEN = (
    "socket.", "subprocess.", "shutil.", "os.system", "os.exec", "os.posix_spawn", "os.spawn",
    "os.fork", "os.kill", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link",
    "os.symlink", "os.chmod", "os.chown", "os.truncate", "pty.",
)  # fmt: skip
_STATUS_BYTES = 1 << 14
_DEVICES = ("/dev/null", "/dev/urandom", "/dev/random")


_STARTER = "_posixsubprocess"
"""The module that starts programs without an event for the audit hook."""


class AuditGate:
    """An audit hook that lets one file and the interpreter's libraries be read, nothing else."""

    def __init__(self) -> None:
        paths = sysconfig.get_paths()
        roots = {paths["stdlib"], paths["platstdlib"], str(Path(__file__).parents[2])}
        roots.update(entry for entry in sys.path if entry.endswith(("-packages", "lib-dynload")))
        self._roots = tuple(os.path.realpath(root) + os.sep for root in roots)
        self._listable = {os.path.realpath(entry) for entry in sys.path}
        self._allowed_file: bytes | None = None

    def allow_file(self, path: bytes | None) -> None:
        """Allow this file, and no longer the one before."""
        self._allowed_file = path

    def allow_module(self, folder: str, module: str) -> None:
        """Allow a module, or a package, in a folder outside of the interpreter's own."""
        real = os.path.realpath(folder)
        self._listable.add(real)
        self._roots += tuple(f"{real}{os.sep}{module}{end}" for end in (os.sep, ".py"))

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        """Check an audited act; the interpreter calls this before each one.

        Raises:
            PermissionError: If the act is not allowed.
        """
        if event == "open":
            self._check_open(*args)
        elif event == "import" and args[0] == _STARTER:
            raise PermissionError(f"a document may not cause the import of {_STARTER}")
        elif event in {"os.listdir", "os.scandir"}:
            self._check_listing(args[0])
        elif event.startswith(_FORBIDDEN):
            raise PermissionError(f"a document may not cause {event}")

    def _check_open(self, path: object, mode: object, flags: object) -> None:
        if isinstance(path, int):
            return
        name = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
        writing = bool(flags & _WRITING) if isinstance(flags, int) else mode not in {None, "r"}
        if name in _DEVICES:
            return
        if writing or not self._is_readable(name):
            raise PermissionError(f"a document may not cause the opening of {name!r}")

    def _is_readable(self, name: str) -> bool:
        if os.fsencode(name) == self._allowed_file:
            return True
        return (os.path.realpath(name)).startswith(self._roots)

    def _check_listing(self, path: object) -> None:
        name = os.fsdecode(path) if isinstance(path, str | bytes) else "."
        real = os.path.realpath(name)
        if real not in self._listable and not (real + os.sep).startswith(self._roots):
            raise PermissionError(f"a document may not cause the listing of {name!r}")


def open_reply() -> BinaryIO:
    """Return the standard output for replies alone; the standard streams lead nowhere from then on.

    Native libraries print messages, and none of them may reach the replies or the terminal.
    """
    reply = os.fdopen(os.dup(1), "wb")
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silence, descriptor)
    return reply


def enter_jail(limits: ParseLimits, parent: int) -> AuditGate:
    """Give up everything that reading a document does not need; this cannot be undone.

    Args:
        limits: The memory this process may take.
        parent: Process id of the parent; when it dies, so does this process.

    Returns:
        The gate through which the one readable file is set.
    """
    _restrict_kernel(parent)
    limit_resource("AS", limits.memory_bytes)
    limit_resource("CORE", 0)
    limit_resource("FSIZE", 0)
    limit_resource("NOFILE", 64)
    _disable_starter()
    gate = AuditGate()
    sys.addaudithook(gate)
    return gate


def _disable_starter() -> None:
    """Disable the function that starts programs, for modules that import it later too."""

    def refuse(*_: object) -> None:
        raise PermissionError("a document may not cause the start of a program")

    # Imported here, because the audit hook refuses the module from then on.
    starter = importlib.import_module(_STARTER)
    start = starter.fork_exec
    for module in (starter, sys.modules.get("subprocess")):
        for name, value in list(vars(module).items()) if module else ():
            if value is start:
                setattr(module, name, refuse)


def measure_peak() -> int:
    """Return the most memory this process has held in bytes; 0 if the system does not report it."""
    # `ru_maxrss` would count the parent's memory from before the exec.
    with contextlib.suppress(OSError), Path("/proc/self/status").open("rb", buffering=0) as status:
        _, label, rest = status.read(_STATUS_BYTES).partition(b"VmHWM:")
        return int(rest.split(None, 1)[0]) * 1024 if label else 0
    return 0


def _restrict_kernel(parent: int) -> None:
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)  # the parent died before it could be watched
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # Only root may take a network namespace directly; others need a user namespace with it.
    if libc.unshare(_CLONE_NEWNET) != 0:
        libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    give_up_rights()
