"""The jail, entered in a child process, since there is no way back out of it."""

import subprocess
import sys
from pathlib import Path

import pytest

import fathom
from fathom.documents.sandbox.jail import KernelLayers
from fathom.documents.sandbox.landlock import describe_landlock, find_version
from fathom.documents.sandbox.parent import probe_layers
from fathom.documents.sandbox.seccomp import is_available

SETUP = f"""
import os, sys
sys.path.insert(0, {str(Path(fathom.__file__).parents[1])!r})  # `-I` ignores PYTHONPATH
from fathom.documents.sandbox import jail
from fathom.documents.base import ParseLimits
given = open(sys.argv[1])
gate = jail.enter_jail(ParseLimits(), os.getppid())
"""


def run_jailed(code: str, allowed_file: Path) -> str:
    """Return the output of `code`, or the last line of its error."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", SETUP + code, str(allowed_file)],
        capture_output=True, text=True, check=False, cwd=allowed_file.parent,
    )  # fmt: skip
    return done.stdout.strip() or done.stderr.strip().rpartition("\n")[2]


@pytest.fixture
def allowed_file(tmp_path: Path) -> Path:
    path = tmp_path / "given.txt"
    path.write_text("given")
    (tmp_path / "other.txt").write_text("other")
    return path


def test_the_open_file_can_be_read(allowed_file: Path) -> None:
    assert run_jailed("print(given.read())", allowed_file) == "given"


@pytest.mark.parametrize(
    "code",
    [
        "import socket; print(socket.socket())",
        "import socket; print(socket.getaddrinfo('localhost', 80))",
        "import subprocess; print(subprocess.run(['true']))",
        "print(os.system('true'))",
        "print(os.fork())",
        "print(os.execv('/bin/true', ['true']))",
        "print(open(sys.argv[1]).read())",
        "print(open('other.txt').read())",
        "print(open('/etc/passwd').read())",
        "print(os.open('/etc/passwd', os.O_RDONLY))",
        "print(open('new.txt', 'w'))",
        "print(open(sys.argv[1], 'a'))",
        "print(os.listdir('/'))",
        "print(os.listdir())",
        "print(os.remove(sys.argv[1]))",
        "print(os.mkdir('new'))",
        "print(os.rename(sys.argv[1], 'x'))",
    ],
)
def test_everything_else_is_forbidden(code: str, allowed_file: Path) -> None:
    assert run_jailed(code, allowed_file).startswith("PermissionError: a document may not cause")
    assert sorted(path.name for path in allowed_file.parent.iterdir()) == ["given.txt", "other.txt"]
    assert allowed_file.read_text() == "given"


START = (
    "read, write = os.pipe(); arguments = [b'/bin/true'], [b'/bin/true'], True, (), None, None; "
    "pipes = -1, -1, -1, -1, -1, -1, read, write; "
    "rest = False, False, -1, None, None, None, -1, None, False; "
    "print(_posixsubprocess.fork_exec(*arguments, *pipes, *rest))"
)


@pytest.mark.parametrize(
    "code",
    [
        f"import _posixsubprocess; {START}",
        f"del sys.modules['_posixsubprocess']; import _posixsubprocess; {START}",
        "import subprocess; print(subprocess._fork_exec(*range(23)))",
    ],
)
def test_no_program_is_started_past_the_audit_hook(code: str, allowed_file: Path) -> None:
    assert run_jailed(code, allowed_file).startswith("PermissionError: a document may not cause")


@pytest.mark.parametrize(
    ("call", "least"),
    [
        ("libc.open(b'other.txt', os.O_RDONLY)", 1),
        ("libc.open(sys.argv[1].encode(), os.O_RDONLY)", 1),
        ("libc.open(b'/etc/passwd', os.O_RDONLY)", 1),
        ("libc.open(f'/proc/{os.getppid()}/environ'.encode(), os.O_RDONLY)", 1),
        ("libc.open(b'/', os.O_RDONLY | os.O_DIRECTORY)", 1),
        ("libc.unlink(b'other.txt')", 1),
        ("libc.rename(b'other.txt', b'third.txt')", 1),
        ("libc.mkdir(b'new', 0o700)", 1),
        ("libc.open(b'new.txt', os.O_CREAT | os.O_WRONLY, 0o600)", 1),
        ("libc.open(b'other.txt', os.O_WRONLY)", 1),
        ("libc.execv(b'/bin/true', (ctypes.c_char_p * 2)(b'true', None))", 1),
        ("libc.truncate(b'other.txt', ctypes.c_long(0))", 3),
        ("libc.kill(os.getppid(), 0)", 6),
    ],
)
def test_native_code_reads_writes_removes_starts_and_signals_nothing(
    call: str, least: int, allowed_file: Path
) -> None:
    if find_version() < least:
        pytest.skip(f"needs Landlock {least}")
    native = f"import ctypes; libc = ctypes.CDLL(None); print({call}, libc.getpid() > 0)"
    assert run_jailed(native, allowed_file) == "-1 True"
    assert sorted(path.name for path in allowed_file.parent.iterdir()) == ["given.txt", "other.txt"]
    assert (allowed_file.parent / "other.txt").read_text() == "other"


@pytest.mark.parametrize(
    ("version", "part"),
    [
        (0, "no Landlock in this kernel: "),
        (3, "all files but libraries, but not TCP and signals; a newer kernel does"),
        (4, "all files but libraries, but not signals; a newer kernel does"),
        (7, "Landlock 7 refuses native code all files but libraries"),
    ],
)
def test_it_is_told_what_the_kernel_lacks(version: int, part: str) -> None:
    assert part in describe_landlock(version)


@pytest.mark.skipif(not is_available(), reason="needs seccomp")
@pytest.mark.parametrize(
    "call",
    [
        *(f"libc.socket({family}, {kind}, 0)" for family in (1, 2, 10, 16, 40) for kind in (1, 2)),
        "libc.socketpair(1, 1, 0, (ctypes.c_int * 2)())",
        "libc.connect(0, b'', 0)",
        "libc.fork()",
        "libc.vfork()",
        "libc.execv(b'/bin/true', (ctypes.c_char_p * 2)(b'true', None))",
        "libc.kill(os.getppid(), 0)",
        "libc.kill(-1, 0)",
        "libc.ptrace(16, os.getppid(), 0, 0)",
        "libc.syscall(434, os.getppid(), 0)",
        "libc.syscall(425, 8, (ctypes.c_char * 256)())",
        "libc.unshare(0x10000000)",
    ],
)
def test_native_code_opens_no_socket_and_touches_no_process(call: str, allowed_file: Path) -> None:
    native = (
        "import ctypes; libc = ctypes.CDLL(None, use_errno=True); "
        f"print({call}, ctypes.get_errno() == 1)"
    )
    assert run_jailed(native, allowed_file) == "-1 True"


@pytest.mark.skipif(not is_available(), reason="needs seccomp")
def test_threads_start(allowed_file: Path) -> None:
    code = (
        "import threading; t = threading.Thread(target=print, args=('ran',)); t.start(); t.join()"
    )
    assert run_jailed(code, allowed_file) == "ran"


def test_layers_that_are_absent_are_told() -> None:
    nothing = KernelLayers().describe()
    assert "no Landlock in this kernel" in nothing
    assert "no seccomp: native code of a parser may open sockets" in nothing
    assert "no network namespace allowed" in nothing
    assert probe_layers().landlock == find_version()
    assert probe_layers().seccomp == is_available()


def test_nothing_may_still_be_written_to(allowed_file: Path) -> None:
    code = "print(open('/dev/null', 'w').write('x'), given.read())"
    assert run_jailed(code, allowed_file) == "1 given"


def test_libraries_can_still_be_imported(allowed_file: Path) -> None:
    assert run_jailed("import csv, lxml.html, pypdfium2; print('fine')", allowed_file) == "fine"
