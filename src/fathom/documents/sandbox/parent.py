"""The sandbox: files are read in a separate process, which may be killed at any time."""

import contextlib
import dataclasses
import json
import os
import select
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Self

from fathom.documents.base import (
    NEEDS_OCR,
    ParsedDocument,
    ParseLimits,
    ParseRefusal,
    RecordFailure,
)
from fathom.documents.ocr.availability import can_retry
from fathom.documents.sandbox.commands import CommandWriter
from fathom.documents.sandbox.frames import HEAD_BYTES, LENGTHS, MEMORY_EXIT, Frame, decode_frame
from fathom.documents.sandbox.jail import KernelLayers
from fathom.extensions import Extension, find_format, iterate_extensions
from fathom.system import is_end_by

_BOOT = (
    "import sys; sys.path[:] = sys.argv.pop().split('\\n'); "
    "from fathom.documents.sandbox.child import main; main()"
)
_TICK_S = 0.05
_READ_BYTES = 1 << 20
_SLACK_BYTES = 8_000_000
_LEAST_COMMAND_BYTES = 1
_MOST_LOCK_BYTES = 1024
"""The size of the largest file with which Office marks an open document; theirs have 165 bytes."""
_PENDING_BYTES = 16_000
"""The size of waiting commands above which no more are sent, in bytes.

So many fit into any pipe, so the two sides never wait for each other.
"""


class ReadingProcess:
    """A running reading process; its replies are as untrusted as the documents.

    Args:
        limits: The limits for a file.
        folder: The working directory of the process.
        recognises: Whether to read the text of pictures too; the times then hold for each page.
    """

    def __init__(self, limits: ParseLimits, folder: str, *, recognises: bool = False) -> None:
        self._limits = limits
        role = ["ocr"] if recognises else []
        line, other_end = socket.socketpair()
        self._largest = 0
        self._received = 0
        self._pending: deque[int] = deque()
        self._unread = bytearray()
        arguments = (
            json.dumps(dataclasses.asdict(limits)),
            json.dumps(_list_extension_folders()),
            str(os.getpid()),
        )
        # S603: our own interpreter with our own code; -I and -S keep the user's settings out.
        self._process = subprocess.Popen(  # noqa: S603
            [
                *(sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT),
                *(*arguments, *role, list_import_path()),
            ],
            stdin=other_end.fileno(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            # Each thread of a numerical library takes address space, and order from its sums.
            env={"LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            bufsize=0,
        )
        other_end.close()
        if self._process.stdout is None:
            raise RuntimeError("a process started with a pipe has one")
        self._commands, self._replies = CommandWriter(line), self._process.stdout

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def has_ended(self) -> bool:
        """Return whether the process has ended."""
        return self._process.poll() is not None

    @property
    def pending_files(self) -> int:
        """The number of requested files whose reply was not begun."""
        return len(self._pending)

    @property
    def has_room(self) -> bool:
        """True if another file may be requested before the next reply is received."""
        return sum(self._pending) < _PENDING_BYTES

    def send(self, path: Path, extension: Extension | None) -> None:
        """Request the contents of a file.

        Args:
            path: The file.
            extension: The extension that reads it; `None` for Fathom's own parsers.
        """
        self._pending.append(_LEAST_COMMAND_BYTES)
        # If the process has ended, the wait for its reply reports the reason.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._pending[-1] = self._commands.send(path, extension)

    def begin_reply(self) -> None:
        """Begin the reply to the next requested file."""
        self._pending.popleft()
        self._largest = self._received = 0

    def receive(self) -> Frame:
        """Receive the next frame of the reply that was begun.

        Raises:
            ParseRefusal: `failed` if the process broke a limit, which is named, or died.
        """
        deadline = time.monotonic() + self._limits.wall_s
        sizes = LENGTHS.unpack(self._read_exactly(LENGTHS.size, deadline))
        self._received += sum(sizes)
        head_bytes, text_bytes = sizes
        text_cap = 4 * self._limits.text_chars + _SLACK_BYTES
        too_much = self._received > self._limits.corpus_bytes
        if head_bytes > HEAD_BYTES or text_bytes > text_cap or too_much:
            raise ParseRefusal("failed", "gives more text than the limit allows")
        head = self._read_exactly(head_bytes, deadline)
        text = self._read_exactly(text_bytes, deadline)
        try:
            return decode_frame(head, text)
        except ValueError:
            raise ParseRefusal("failed", "the parser gave a damaged reply") from None

    def close(self) -> None:
        """Kill the process and wait for its end."""
        self._process.kill()
        self._process.wait()
        self._commands.close()
        self._replies.close()

    def _read_exactly(self, count: int, deadline: float) -> bytes:
        """Return the next bytes of the replies.

        Raises:
            ParseRefusal: If they do not come before the deadline, or the process has ended.
        """
        while len(self._unread) < count:
            self._wait_for_bytes(deadline)
            received = os.read(self._replies.fileno(), _READ_BYTES)
            if not received:
                raise ParseRefusal("failed", self._explain_end())
            self._unread += received
        content = bytes(self._unread[:count])
        del self._unread[:count]
        return content

    def _wait_for_bytes(self, deadline: float) -> None:
        """Wait for bytes, and watch the memory of the process meanwhile."""
        while not select.select([self._replies], [], [], _TICK_S)[0]:
            self._largest = max(self._largest, _measure_resident(self.pid))
            if time.monotonic() > deadline:
                raise ParseRefusal("failed", f"took longer than {self._limits.wall_s:g} s")

    def _explain_end(self) -> str:
        """Return the reason why the process ended, in words for a refusal."""
        code = self._process.wait()
        if is_end_by(code, "SIGXCPU"):
            return f"took more than {self._limits.cpu_s} s of processor time"
        # A native library without memory aborts silently; the size of the process reveals it.
        if code == MEMORY_EXIT or self._largest * 3 > self._limits.memory_bytes:
            return f"needs more than {_format_size(self._limits.memory_bytes)} of memory"
        if code < 0:
            return f"the parser crashed (signal {-code})"
        return f"the parser ended early (exit {code})"


def _receive_frame(child: ReadingProcess) -> Frame:
    """Receive the next frame; a broken limit or an ended process gives a last, refusing frame."""
    try:
        return child.receive()
    except ParseRefusal as refusal:
        return Frame(done=True, refused=refusal, peak_bytes=sys.maxsize)


def _list_extension_folders() -> list[str]:
    """Return the folders, outside of the installed packages, of extensions that read files."""
    installed = {*list_import_path().split("\n"), ""}
    # The search for extensions takes a while, and is needless if all are installed packages.
    if installed.issuperset(sys.path):
        return []
    formats = (entry for entry in iterate_extensions() if entry.kind == "format")
    return sorted({entry.folder for entry in formats if not entry.is_refused} - installed)


def probe_layers() -> KernelLayers:
    """Return the layers that the kernel of this machine enforces, tried in a process.

    Raises:
        subprocess.SubprocessError: If the process fails or takes more than a minute.
    """
    script = _BOOT.replace("child import main; main", "jail import report_layers; report_layers")
    done = subprocess.run(  # noqa: S603 - our own interpreter with our own code
        [sys.executable, "-I", "-S", "-X", "utf8", "-c", script, list_import_path()],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=True,
    )
    namespace, landlock, seccomp = json.loads(done.stdout)
    return KernelLayers(namespace=namespace, landlock=landlock, seccomp=seccomp)


def list_import_path() -> str:
    """Return the folders from which our processes import modules, one on each line."""
    package = str(Path(__file__).parents[3])
    # The user's own folders stay out: a module beside a document must never be imported.
    libraries = [p for p in sys.path if p.endswith((".zip", "-packages", "lib-dynload"))]
    standard = str(Path(os.__file__).parent)
    return "\n".join(dict.fromkeys([package, standard, *libraries]))


def _measure_resident(pid: int) -> int:
    """Return the resident memory of a process in bytes; 0 if it is unknown."""
    with contextlib.suppress(OSError, IndexError):
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _format_size(size: int) -> str:
    """Return a number of bytes in GiB or MiB."""
    gib = size / (1 << 30)
    return f"{gib:g} GiB" if gib >= 1 else f"{size >> 20} MiB"


OnPage = Callable[[int, int], None]
"""A callback with the number of recognised pages of a file, and the number of all to recognise."""


def _ignore_page(_page: int, _pages: int) -> None:
    pass


class Sandbox:
    """A reader of files in a child process under `ParseLimits`, one file at a time.

    The child is started once and used until it breaks a limit, crashes or has grown large; then the
    next file gets a new child. It reads ahead the files that were begun. A file with pictures of
    text is read by a second child, which can recognise text and has its own limits, if the extra
    `ocr` is installed. The sandbox is a context manager for use by one thread.
    """

    def __init__(self, limits: ParseLimits | None = None) -> None:
        self._limits = limits or ParseLimits()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._child: ReadingProcess | None = None
        self._next: deque[Path] = deque()
        self._receiving = False
        self._recognising: ReadingProcess | None = None

    @property
    def limits(self) -> ParseLimits:
        """The limits for a file."""
        return self._limits

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="fathom-")
        self._prepare_child()
        return self

    def __exit__(self, *error: object) -> None:
        self._drop_child()
        self._drop_recognising()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def begin(self, path: Path) -> None:
        """Begin to read a file ahead; `parse` must be called for files in the order of `begin`."""
        self._next.append(path)
        if not self._receiving:
            self._prepare_child()

    def parse(
        self, path: Path, on_page: OnPage = _ignore_page
    ) -> Iterator[ParsedDocument | RecordFailure]:
        """Yield the contents of a file, in file order.

        Files that were begun earlier are skipped. If other files were begun but not this one, or
        another file is being read, a separate process reads it.

        Args:
            path: A regular file.
            on_page: A callback for each recognised page.

        Raises:
            ParseRefusal: If the file gives no text, or no more text; `failed` names a broken limit.
        """
        try:
            for value in self._parse_file(path):
                if isinstance(value, ParsedDocument) and self._can_recognise(value.unread):
                    yield self._add_scanned_pages(value, path, on_page)
                else:
                    yield value
        except ParseRefusal as refusal:
            if not self._can_recognise(refusal.reason):
                raise
            yield from self._recognise_file(path, on_page)

    def _can_recognise(self, reason: str) -> bool:
        """Return whether recognition of text can help against the reason of a refusal."""
        return can_retry(reason) and self._limits.ocr_pages > 0

    def _add_scanned_pages(
        self, document: ParsedDocument, path: Path, on_page: OnPage
    ) -> ParsedDocument:
        """Return a document with the text of its scanned pages.

        If they cannot be read, the document is returned as it is, with the reason in `unread`.
        """
        try:
            whole = next(self._recognise_file(path, on_page))
        except ParseRefusal as refusal:
            pages = document.unread.removesuffix(f"; {NEEDS_OCR}")
            return dataclasses.replace(document, unread=f"{pages}: {refusal.reason}")
        return whole if isinstance(whole, ParsedDocument) else document

    def _parse_file(self, path: Path) -> Iterator[ParsedDocument | RecordFailure]:
        """Yield the contents of a file, without recognition of text."""
        if self._receiving or (self._next and path not in self._next):
            with Sandbox(self._limits) as other:
                yield from other._parse_file(path)
            return
        self._skip_to(path)
        child = self._prepare_child()
        self._next.popleft()
        child.begin_reply()
        healthy, self._receiving = False, True
        try:
            values: tuple[ParsedDocument | RecordFailure, ...] = ()
            while True:
                frame = _receive_frame(child)
                # In a process that has grown, the next file could break the limit.
                healthy = frame.done and frame.peak_bytes * 2 < self._limits.memory_bytes
                # The values are yielded one frame late: a caller may stop after a file's only
                # document, and by then the last frame has shown that the process can go on.
                yield from values
                values = frame.values
                if frame.done:
                    yield from values
                    if frame.refused is not None:
                        raise frame.refused
                    return
        finally:
            self._receiving = False
            if not healthy:
                self._drop_child()

    def _skip_to(self, path: Path) -> None:
        """Make a file the next one; files that were begun before it are dropped."""
        if self._next and self._next[0] != path:
            self._drop_child()  # it is reading a file that is not wanted any more
        while self._next and self._next[0] != path:
            self._next.popleft()
        if not self._next:
            self._next.append(path)

    def _recognise_file(
        self, path: Path, on_page: OnPage
    ) -> Iterator[ParsedDocument | RecordFailure]:
        """Yield the contents of a file, with the recognised text of its pictures."""
        child = self._prepare_recogniser()
        values: list[ParsedDocument | RecordFailure] = []
        healthy = False
        try:
            child.send(path, None)
            child.begin_reply()
            done = False
            while not done:
                frame = child.receive()
                if frame.pages:
                    on_page(frame.page, frame.pages)
                values += frame.values
                done = frame.done
            healthy = frame.peak_bytes * 5 < self._limits.ocr_memory_bytes * 4
        finally:
            if not healthy:
                self._drop_recognising()
        if frame.refused is not None:
            raise frame.refused
        yield from values

    def _prepare_child(self) -> ReadingProcess:
        """Return a running child, and send it the files that were begun."""
        if self._child is None or self._child.has_ended():
            self._drop_child()
            self._child = ReadingProcess(self._limits, self._get_folder())
        while self._child.pending_files < len(self._next) and self._child.has_room:
            path = self._next[self._child.pending_files]
            self._child.send(path, find_format(path))
        return self._child

    def _prepare_recogniser(self) -> ReadingProcess:
        """Return a running child that can recognise text."""
        if self._recognising is None or self._recognising.has_ended():
            self._drop_recognising()
            limits = dataclasses.replace(
                self._limits,
                memory_bytes=self._limits.ocr_memory_bytes,
                cpu_s=self._limits.ocr_cpu_s,
                wall_s=self._limits.ocr_wall_s,
            )
            self._recognising = ReadingProcess(limits, self._get_folder(), recognises=True)
        return self._recognising

    def _get_folder(self) -> str:
        """Return the working directory of the children; it exists inside the `with` block."""
        if self._folder is None:
            raise RuntimeError("a sandbox is used inside its with statement only")
        return self._folder.name

    def _drop_child(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None

    def _drop_recognising(self) -> None:
        if self._recognising is not None:
            self._recognising.close()
            self._recognising = None


def begin_file(path: Path, sandbox: Sandbox) -> None:
    """Begin to read a file ahead, as `Sandbox.begin` does; an unreadable file is ignored."""
    with contextlib.suppress(ParseRefusal):
        _check_readable(path)
        sandbox.begin(path)


def read_file(
    path: Path, sandbox: Sandbox, on_page: OnPage = _ignore_page
) -> Generator[ParsedDocument | RecordFailure]:
    """Yield the contents of a file: a document, or a value for each record of a corpus.

    Args:
        path: Any path.
        sandbox: The sandbox that reads the file.
        on_page: A callback for each recognised page.

    Raises:
        ParseRefusal: If the file gives no text, or no more text.
    """
    _check_readable(path)
    yield from sandbox.parse(path, on_page)


def check_large_file(path: Path, sandbox: Sandbox) -> None:
    """Check that a file above the limit of size gives text, as a corpus can.

    Little of the file is read, and nothing of a file below the limit.

    Raises:
        OSError: If the file cannot be examined.
        ParseRefusal: If the file gives no text.
    """
    if path.stat().st_size > sandbox.limits.file_bytes:
        with contextlib.closing(read_file(path, sandbox)) as parts:
            next(parts, None)


def _check_readable(path: Path) -> None:
    """Check that a path is a regular file with contents.

    Raises:
        ParseRefusal: `failed`, `no_document` or `empty` if it is not.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise ParseRefusal("failed", f"cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise ParseRefusal("no_document", "not a regular file")
    if not status.st_size:
        raise ParseRefusal("empty", "the file has no bytes")
    if path.name.startswith("~$") and status.st_size <= _MOST_LOCK_BYTES:
        raise ParseRefusal("no_document", "marks a document that is open in Office")
    if path.name.lower() == "thumbs.db":
        raise ParseRefusal("no_document", "is a store of thumbnails")
