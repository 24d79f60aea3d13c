"""Landlock: the Linux kernel takes rights away from a process, also from its native code.

A process cannot get back the rights that it gives up, and its children lack them as well. Source:
linux/landlock.h and Documentation/userspace-api/landlock.rst of the kernel.
"""

import ctypes
import os
import sys
from collections.abc import Iterable
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""The numbers of system calls, the same on all machines."""
_GIVE_VERSION = 1
_PATH_BENEATH = 1
_EXECUTE = 1 << 0
_WRITE_FILE = 1 << 1
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE, _CONTROL_DEVICES = 1 << 13, 1 << 14, 1 << 15
_ALL_TCP = 0b11
_ALL_SCOPES = 0b11
_MOST_KNOWN = 6
"""The version of the kernel's interface whose rights are given up; later versions add others."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("parent", ctypes.c_int32))


def find_version() -> int:
    """Return the version of Landlock in this kernel; 0 if it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    version = ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _GIVE_VERSION)
    return max(int(version), 0)


def describe_landlock(version: int) -> str:
    """Describe in one line which acts a version of Landlock refuses, and which it cannot.

    Args:
        version: The version of Landlock; 0 without Landlock.
    """
    if not version:
        return (
            "no Landlock in this kernel: the sandbox cannot keep native code of a parser from "
            "reading and writing files; Linux 5.13 and later can"
        )
    lacks = [name for name, least in (("TCP", 4), ("signals", 6)) if version < least]
    lacking = f", but not {' and '.join(lacks)}; a newer kernel does" if lacks else ""
    return f"Landlock {version} refuses native code all files but libraries{lacking}"


def give_up_rights(readable: Iterable[str]) -> bool:
    """Give up files, TCP, and signals to other processes, as far as the kernel can refuse them.

    Open files stay open. The process must have set `no_new_privs` before.

    Args:
        readable: The files and folders that may still be read; those that do not exist are left
            out.

    Returns:
        Whether the rights were given up; `False` if the kernel has no Landlock or refuses.
    """
    version = min(find_version(), _MOST_KNOWN)
    if not version:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    handled = _EXECUTE | _WRITE_FILE | _READ_FILE | _READ_FOLDER | _REMOVE_AND_MAKE
    for right, since in ((_REFER, 2), (_TRUNCATE, 3), (_CONTROL_DEVICES, 5)):
        handled |= right if version >= since else 0
    rules = _Ruleset(handled, _ALL_TCP, _ALL_SCOPES)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    handle = libc.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), 0)
    if handle < 0:
        return False
    try:
        _allow(libc, handle, os.devnull, _WRITE_FILE | _READ_FILE)
        for path in readable:
            # The kernel refuses a rule that gives a file the right to be listed.
            _allow(libc, handle, path, _READ_FILE | (_READ_FOLDER if Path(path).is_dir() else 0))
        return bool(libc.syscall(_RESTRICT_SELF, handle, 0) == 0)
    finally:
        os.close(handle)


def _allow(libc: ctypes.CDLL, handle: int, path: str, rights: int) -> None:
    """Add a rule that keeps rights to a file, or to a folder with its contents, if it exists."""
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = _PathBeneath(rights, opened)
        libc.syscall(_ADD_RULE, handle, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(opened)
