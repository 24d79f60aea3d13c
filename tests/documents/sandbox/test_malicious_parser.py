"""A parser that is malicious on purpose, in Python and in native code, inside the real sandbox."""

import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.documents.sandbox.test_parent import read_text, wait_for_end
from tests.foreign_packages import add_to_path, install

from fathom import extensions
from fathom.documents.base import ParseLimits, ParseRefusal
from fathom.documents.sandbox.landlock import find_version
from fathom.documents.sandbox.parent import Sandbox, read_file
from fathom.documents.sandbox.seccomp import is_available

pytestmark = pytest.mark.skipif(
    find_version() < 3 or not is_available(), reason="needs Landlock 3 and seccomp"
)
PARSER = '''
import ctypes, os, signal, time
from fathom.documents.base import Builder

LIBC = ctypes.CDLL(None, use_errno=True)


def read(path):
    handle = LIBC.open(path.encode(), os.O_RDONLY)
    buffer = ctypes.create_string_buffer(99)
    return handle >= 0 and LIBC.read(handle, buffer, 99) > 0


def read_in_python(path):
    return open(path, "rb").read()


def find_neighbours(path):
    return [name for name in os.listdir(os.path.dirname(path))]


def write(path):
    return LIBC.open((path + ".new").encode(), os.O_CREAT | os.O_WRONLY, 0o600) >= 0


def remove(path):
    return LIBC.unlink(path.encode()) == 0


def connect(address):
    family, where = (1, address.encode()) if address.startswith("/") else (2, b"")
    handle = LIBC.socket(family, 1, 0)
    if family == 1:
        place = family.to_bytes(2, "little") + where
    else:
        place = b"\\x02\\x00" + int(address).to_bytes(2, "big") + b"\\x7f\\x00\\x00\\x01" + bytes(8)
    return LIBC.connect(handle, place, len(place)) == 0


def connect_in_python(address):
    import socket
    return socket.create_connection(("127.0.0.1", int(address)), 1)


def kill(process):
    return LIBC.kill(int(process), 9) == 0


def leave_a_child(_):
    return LIBC.fork() >= 0


def start(_):
    return LIBC.execv(b"/bin/true", (ctypes.c_char_p * 2)(b"true", None)) == 0


def read_by_ptrace(process):
    return LIBC.ptrace(16, int(process), 0, 0) == 0


def list_open_files(_):
    """Find a file that is open beside its own: one that can be read, and is no pipe or socket."""
    sizes = [os.fstat(number).st_size for number in range(64) if is_file(number)]
    return len(sizes) > 1


def is_file(number):
    try:
        return os.path.stat.S_ISREG(os.fstat(number).st_mode)
    except OSError:
        return False


def spin(_):
    for number in (signal.SIGXCPU, signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    while True:
        pass


def sleep(_):
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    time.sleep(600)


def parse(data):
    builder = Builder()
    for order in data.decode().splitlines():
        name, argument = order.split(" ", 1)
        try:
            outcome = globals()[name](argument)
        except PermissionError:
            outcome = False
        builder.add_paragraph(f"{name}: {'worked' if outcome else 'refused'}")
    return builder.build()
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    package = tmp_path / "packages"
    install(
        package,
        name="evil",
        groups={"fathom.formats": {"evil": "evil_x:parse"}},
        files={"evil_x.py": PARSER},
    )
    add_to_path(package, monkeypatch)
    extensions._read_entry_points.cache_clear()
    yield tmp_path
    extensions._read_entry_points.cache_clear()
    sys.modules.pop("evil_x", None)


def order(folder: Path, *orders: str) -> Path:
    file = folder / "documents" / "orders.evil"
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(orders))
    return file


def test_it_reads_writes_and_removes_no_other_file(
    folder: Path, count_probes: Callable[[int], None]
) -> None:
    secret = folder / "documents" / "secret.txt"
    secret.parent.mkdir()
    secret.write_text("secret")
    paths = (str(secret), str(secret.parent / "orders.evil"), "/etc/passwd")
    acts = ("read", "read_in_python", "find_neighbours", "write", "remove")
    count_probes(len(acts) * len(paths))
    file = order(folder, *(f"{act} {path}" for act in acts for path in paths))
    with Sandbox() as sandbox:
        text = read_text(file, sandbox)
    assert text.count("refused") == len(acts) * len(paths), text
    assert sorted(path.name for path in secret.parent.iterdir()) == ["orders.evil", "secret.txt"]


def test_it_finds_no_other_file_open(folder: Path, count_probes: Callable[[int], None]) -> None:
    before = folder / "before.txt"
    before.write_text("The text before.")
    with Sandbox() as sandbox:
        assert read_text(before, sandbox) == "The text before."
        orders = (f"read {before}", "list_open_files x")
        count_probes(len(orders))
        text = read_text(order(folder, *orders), sandbox)
    assert text.count("refused") == len(orders), text


def test_it_opens_no_socket(folder: Path, count_probes: Callable[[int], None]) -> None:
    place = folder / "listening"
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(place))
        unix.listen()
        port = tcp.getsockname()[1]
        tcp.settimeout(0.2)
        unix.settimeout(0.2)
        orders = (f"connect {port}", f"connect_in_python {port}", f"connect {place}")
        count_probes(len(orders))
        with Sandbox() as sandbox:
            text = read_text(order(folder, *orders), sandbox)
        for server in (tcp, unix):
            with pytest.raises(TimeoutError):
                server.accept()
    assert text.count("refused") == len(orders), text


def test_it_starts_and_touches_no_process(
    folder: Path, count_probes: Callable[[int], None]
) -> None:
    parent = os.getpid()
    orders = (f"kill {parent}", f"read_by_ptrace {parent}", "leave_a_child x", "start x")
    count_probes(len(orders))
    with Sandbox() as sandbox:
        text = read_text(order(folder, *orders), sandbox)
    assert text.count("refused") == len(orders), text


@pytest.mark.parametrize("act", ["spin x", "sleep x"])
def test_it_does_not_outlive_its_limits(folder: Path, act: str) -> None:
    threads = threading.active_count()
    with Sandbox(ParseLimits(cpu_s=60, wall_s=2)) as sandbox:
        assert sandbox._child is not None
        pid = sandbox._child.pid
        with pytest.raises(ParseRefusal, match="took longer than 2 s"):
            list(read_file(order(folder, act), sandbox))
        assert wait_for_end(pid)
        fine = folder / "fine.txt"
        fine.write_text("The next one.")
        assert read_text(fine, sandbox) == "The next one."
    assert threading.active_count() == threads
