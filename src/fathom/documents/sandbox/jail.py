"""The rights that the reading process gives up before it reads a file.

There are several layers. Resource limits hold for native code too. A network namespace, if the
system grants one, takes the network away from native code. Landlock, if the kernel has it, takes
away all files but libraries; seccomp, if the kernel has it, takes away sockets, programs and acts
on other processes. The audit hook keeps Python code from all of these. The file to read arrives
open.
"""

import contextlib
import importlib
import json
import os
import signal
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from fathom.documents.base import ParseLimits
from fathom.documents.sandbox.landlock import describe_landlock, find_version, give_up_rights
from fathom.documents.sandbox.seccomp import refuse_calls
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
_SYSTEM = (
    *_DEVICES, "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/fonts",
    "/usr/share/zoneinfo", "/etc/ld.so.cache", "/etc/fonts", "/proc/self", "/proc/cpuinfo",
    "/proc/meminfo", "/sys/devices/system/cpu",
)  # fmt: skip
"""The files and folders of the system that libraries read while they work."""
_LIBRARY_ENDINGS = (".zip", "-packages", "lib-dynload")


_STARTER = "_posixsubprocess"
"""The module that starts programs without an event for the audit hook."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelLayers:
    """The layers of the sandbox that the kernel enforces, also against native code.

    Attributes:
        namespace: Whether the process has a network namespace of its own, without connections.
        landlock: The version of Landlock; 0 if files are not refused.
        seccomp: Whether sockets, programs and acts on other processes are refused.
    """

    namespace: bool = False
    landlock: int = 0
    seccomp: bool = False

    def describe(self) -> str:
        """Describe in one line which layers the kernel adds to the sandbox, and which it lacks."""
        network = "a network of its own" if self.namespace else "no network namespace allowed"
        calls = (
            "seccomp refuses sockets and programs"
            if self.seccomp
            else "no seccomp: native code of a parser may open sockets where a network is reachable"
        )
        return f"{describe_landlock(self.landlock)}; {calls}; {network}"


def report_layers() -> None:
    """Give up rights as `enter_jail` does, and print the layers of the kernel as JSON.

    This is the entry point of a process that probes the kernel.
    """
    layers = _restrict_kernel(os.getppid(), ())
    sys.stdout.write(json.dumps([layers.namespace, layers.landlock, layers.seccomp]))


class AuditGate:
    """An audit hook that allows the interpreter's libraries to be read, and no other file."""

    def __init__(self) -> None:
        paths = sysconfig.get_paths()
        roots = {paths["stdlib"], paths["platstdlib"], str(Path(__file__).parents[2])}
        roots.update(entry for entry in sys.path if entry.endswith(_LIBRARY_ENDINGS))
        self._roots = tuple(os.path.realpath(root) + os.sep for root in roots)
        self._listable = {os.path.realpath(entry) for entry in sys.path}

    def allow_module(self, folder: str, module: str) -> None:
        """Allow the import of a module or package from a folder outside of the interpreter's."""
        real = os.path.realpath(folder)
        self._listable.add(real)
        self._roots += tuple(f"{real}{os.sep}{module}{end}" for end in (os.sep, ".py"))

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        """Check an audited act; the interpreter calls this before each act.

        Args:
            event: The name of the act, such as `open`.
            args: The arguments of the act.

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
        """Check that a file is opened for reading and belongs to the libraries."""
        if isinstance(path, int):
            return
        name = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
        writing = bool(flags & _WRITING) if isinstance(flags, int) else mode not in {None, "r"}
        if name in _DEVICES:
            return
        if writing or not self._is_readable(name):
            raise PermissionError(f"a document may not cause the opening of {name!r}")

    def _is_readable(self, name: str) -> bool:
        """Return whether a file belongs to the libraries."""
        return (os.path.realpath(name)).startswith(self._roots)

    def _check_listing(self, path: object) -> None:
        """Check that a folder that is listed belongs to the libraries or the import path."""
        name = os.fsdecode(path) if isinstance(path, str | bytes) else "."
        real = os.path.realpath(name)
        if real not in self._listable and not (real + os.sep).startswith(self._roots):
            raise PermissionError(f"a document may not cause the listing of {name!r}")


def open_reply() -> BinaryIO:
    """Return the standard output for replies alone, and lead the standard streams nowhere.

    Native libraries print messages, and none of these may reach the replies or the terminal.
    """
    reply = os.fdopen(os.dup(1), "wb")
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silence, descriptor)
    return reply


def enter_jail(limits: ParseLimits, parent: int, folders: Sequence[str] = ()) -> AuditGate:
    """Give up everything that reading an open file does not need; this cannot be undone.

    Args:
        limits: The limits, of which the memory is set here.
        parent: The process id of the parent; the kernel kills this process when the parent dies.
        folders: The folders of modules that may be allowed later.

    Returns:
        The gate by which further modules can be allowed.
    """
    _restrict_kernel(parent, folders)
    limit_resource("AS", limits.memory_bytes)
    limit_resource("CORE", 0)
    limit_resource("FSIZE", 0)
    limit_resource("NOFILE", 64)
    _disable_starter()
    gate = AuditGate()
    sys.addaudithook(gate)
    return gate


def _disable_starter() -> None:
    """Replace the function that starts programs by one that refuses, in all modules."""

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
    """Return the largest memory of this process so far, in bytes; 0 if the system reports none."""
    # `ru_maxrss` would count the parent's memory from before the exec.
    with contextlib.suppress(OSError), Path("/proc/self/status").open("rb", buffering=0) as status:
        _, label, rest = status.read(_STATUS_BYTES).partition(b"VmHWM:")
        return int(rest.split(None, 1)[0]) * 1024 if label else 0
    return 0


def _restrict_kernel(parent: int, folders: Sequence[str]) -> "KernelLayers":
    """Give up rights that the kernel can take away, as far as this one can; return the layers.

    The process ends if its parent is not `parent` any more.
    """
    if not sys.platform.startswith("linux"):
        return KernelLayers()
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)  # the parent died before it could be watched
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # Only root may take a network namespace directly; others need a user namespace with it.
    namespace = (
        libc.unshare(_CLONE_NEWNET) == 0 or libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0
    )
    landlock = find_version() if give_up_rights(_list_readable(folders)) else 0
    return KernelLayers(namespace=namespace, landlock=landlock, seccomp=refuse_calls())


def _list_readable(folders: Sequence[str]) -> list[str]:
    """Return the files and folders that libraries need at work, and no documents.

    Args:
        folders: The folders of modules that may be allowed later.
    """
    paths = sysconfig.get_paths()
    library = sysconfig.get_config_var("LIBDIR") or ""
    package = str(Path(__file__).parents[2])
    libraries = {paths["stdlib"], paths["platstdlib"], library, package, *folders}
    libraries.update(entry for entry in sys.path if entry.endswith(_LIBRARY_ENDINGS))
    return sorted({os.path.realpath(path) for path in libraries if path} | set(_SYSTEM))
