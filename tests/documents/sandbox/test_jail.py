"""The jail, entered in a child process, since there is no way back out of it."""

import subprocess
import sys
from pathlib import Path

import pytest

SETUP = """
import os, sys
from fathom.documents.sandbox import jail
from fathom.documents.base import ParseLimits
gate = jail.enter_jail(ParseLimits(), os.getppid())
gate.allow_file(os.fsencode(sys.argv[1]))
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


def test_the_allowed_file_can_be_read(allowed_file: Path) -> None:
    assert run_jailed("print(open(sys.argv[1]).read())", allowed_file) == "given"


@pytest.mark.parametrize(
    "code",
    [
        "import socket; print(socket.socket())",
        "import socket; print(socket.getaddrinfo('localhost', 80))",
        "import subprocess; print(subprocess.run(['true']))",
        "print(os.system('true'))",
        "print(os.fork())",
        "print(os.execv('/bin/true', ['true']))",
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


def test_libraries_can_still_be_imported(allowed_file: Path) -> None:
    assert run_jailed("import csv, lxml.html, pypdfium2; print('fine')", allowed_file) == "fine"
