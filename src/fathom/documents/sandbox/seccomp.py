"""Seccomp: the Linux kernel refuses system calls that reading a file does not need.

The filter is a program for the kernel's packet filter. Source: Documentation/userspace-api/
seccomp_filter.rst of the kernel, and its tables of system calls for the numbers.
"""

import ctypes
import os
import platform
import sys
from collections.abc import Mapping
from typing import Any

_PR_GET_SECCOMP, _PR_SET_SECCOMP = 21, 22
_FILTER_MODE = 2
_ALLOW, _REFUSE, _UNKNOWN = 0x7FFF0000, 0x00050000 | 1, 0x00050000 | 38
"""The return values of the program: the call goes on, fails with EPERM, fails with ENOSYS."""
_LOAD, _RETURN, _IF_EQUAL, _IF_LEAST, _IF_BITS = 0x20, 0x06, 0x15, 0x35, 0x45
_NUMBER, _MACHINE, _FIRST_ARGUMENT = 0, 4, 16
"""The offsets of the fields in the description of a call, which the program can load."""
_FOREIGN_CALLS = 0x40000000
"""The number from which on calls are those of x32, which have other numbers."""
_CLONE_THREAD = 0x10000

_MACHINES: Mapping[str, int] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_REFUSED: Mapping[str, tuple[int, int]] = {
    # Sockets and programs, in the order of the machines; aarch64 has no `fork` and no `vfork`.
    "socket": (41, 198), "socketpair": (53, 199), "bind": (49, 200), "connect": (42, 203),
    "execve": (59, 221), "execveat": (322, 281), "fork": (57, 1079), "vfork": (58, 1071),
    # Other processes.
    "kill": (62, 129), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_send_signal": (424, 424), "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    # The kernel's wide surfaces.
    "io_uring_setup": (425, 425), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "keyctl": (250, 219), "add_key": (248, 217),
    "request_key": (249, 218), "mount": (165, 40), "umount2": (166, 39), "unshare": (272, 97),
    "setns": (308, 268), "chroot": (161, 51), "pivot_root": (155, 41),
    "open_by_handle_at": (304, 265), "init_module": (175, 105), "finit_module": (313, 273),
}  # fmt: skip
_CLONE, _TGKILL, _CLONE3 = (56, 220), (234, 131), (435, 435)


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("jump_if", ctypes.c_uint8),
        ("jump_else", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("steps", ctypes.POINTER(_Instruction)))


def is_available() -> bool:
    """Return whether this kernel and machine can refuse system calls."""
    if not sys.platform.startswith("linux") or platform.machine() not in _MACHINES:
        return False
    return int(ctypes.CDLL(None).prctl(_PR_GET_SECCOMP, 0, 0, 0, 0)) >= 0


def refuse_calls() -> bool:
    """Give up sockets, programs, and acts on other processes; threads may still start.

    The process must have set `no_new_privs` before.

    Returns:
        Whether the kernel refuses them from now on.
    """
    if not is_available():
        return False
    machine = list(_MACHINES).index(platform.machine())
    steps = _build_program(list(_MACHINES.values())[machine], machine, os.getpid())
    program = _Program(len(steps), (_Instruction * len(steps))(*steps))
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(_PR_SET_SECCOMP, _FILTER_MODE, ctypes.byref(program), 0, 0) == 0)


def _build_program(kind: int, machine: int, process: int) -> list[_Instruction]:
    """Build the program; each test ends in one of the returns that follow it or jumps over them.

    Args:
        kind: The kernel's number of the machine.
        machine: The index of the machine in the tables above.
        process: The id of this process, to which signals may still be sent.
    """

    def step(code: int, value: int, jump_if: int = 0, jump_else: int = 0) -> _Instruction:
        return _Instruction(code, jump_if, jump_else, value)

    def answer(number: int, value: int) -> list[_Instruction]:
        return [step(_IF_EQUAL, number, 0, 1), step(_RETURN, value)]

    def allow_if(number: int, code: int, argument: int) -> list[Any]:
        """Refuse a call unless its first argument passes a test."""
        return [
            step(_IF_EQUAL, number, 0, 4),
            step(_LOAD, _FIRST_ARGUMENT),
            step(code, argument, 0, 1),
            step(_RETURN, _ALLOW),
            step(_RETURN, _REFUSE),
        ]

    return [
        step(_LOAD, _MACHINE),
        step(_IF_EQUAL, kind, 1, 0),
        step(_RETURN, _REFUSE),
        step(_LOAD, _NUMBER),
        step(_IF_LEAST, _FOREIGN_CALLS, 0, 1),
        step(_RETURN, _REFUSE),
        *(part for numbers in _REFUSED.values() for part in answer(numbers[machine], _REFUSE)),
        # The filter cannot see the flags of `clone3`; without it glibc starts threads by `clone`.
        *answer(_CLONE3[machine], _UNKNOWN),
        *allow_if(_CLONE[machine], _IF_BITS, _CLONE_THREAD),
        *allow_if(_TGKILL[machine], _IF_EQUAL, process),
        step(_RETURN, _ALLOW),
    ]
