"""Landlock: the Linux kernel refuses a process acts that native code could try, too.

The rights that a process gives up so cannot come back, and its children lack them as well. Source:
linux/landlock.h and Documentation/userspace-api/landlock.rst of the kernel.
"""

import ctypes
import os
import sys
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""Numbers of system calls, the same on all machines."""
_GIVE_VERSION = 1
_PATH_BENEATH = 1
_EXECUTE = 1 << 0
_WRITE_FILE = 1 << 1
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE, _CONTROL_DEVICES = 1 << 13, 1 << 14, 1 << 15
_ALL_TCP = 0b11
_ALL_SCOPES = 0b11
_MOST_KNOWN = 6
"""The version of the kernel's interface whose rights are given up; later ones only add others."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("parent", ctypes.c_int32))


def find_version() -> int:
    """Return the version of Landlock in this kernel; 0 where there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    version = ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _GIVE_VERSION)
    return max(int(version), 0)


def describe_landlock(version: int) -> str:
    """Describe in one line what the kernel adds to the sandbox, and what it lacks.

    Args:
        version: The version of Landlock, as `find_version` gives it.
    """
    if not version:
        return (
            "no Landlock in this kernel: the sandbox cannot keep native code of a parser from "
            "writing files; Linux 5.13 and later can"
        )
    lacks = [name for name, least in (("TCP", 4), ("signals", 6)) if version < least]
    lacking = f", but not {' and '.join(lacks)}; a newer kernel does" if lacks else ""
    return f"Landlock {version} refuses native code to write files and start programs{lacking}"


def give_up_rights() -> bool:
    """Give up writing, removing, making and running files, TCP, and signals to other processes.

    Returns:
        Whether the kernel has Landlock. New privileges must have been given up before.
    """
    version = min(find_version(), _MOST_KNOWN)
    if not version:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    handled = _EXECUTE | _WRITE_FILE | _REMOVE_AND_MAKE
    for right, since in ((_REFER, 2), (_TRUNCATE, 3), (_CONTROL_DEVICES, 5)):
        handled |= right if version >= since else 0
    rules = _Ruleset(handled, _ALL_TCP, _ALL_SCOPES)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    handle = libc.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), 0)
    if handle < 0:
        return False
    try:
        _allow_writing(libc, handle, Path(os.devnull))
        return bool(libc.syscall(_RESTRICT_SELF, handle, 0) == 0)
    finally:
        os.close(handle)


def _allow_writing(libc: ctypes.CDLL, handle: int, file: Path) -> None:
    opened = os.open(file, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = _PathBeneath(_WRITE_FILE, opened)
        libc.syscall(_ADD_RULE, handle, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(opened)
