"""Commands to a reading process; each of them passes a file that is open already.

So the process need not open any file of the user, and the kernel can refuse to open them.
"""

import errno
import json
import os
import socket
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from fathom.extensions import Extension

_READ_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A request for the contents of a file.

    Attributes:
        name: The name of the file, without its folder.
        extension: The fields of the extension that reads it, and its `folder`; empty if Fathom's
            own parsers do.
        fault: The number of the error (`errno`) if the file could not be opened; 0 if it is open.
        handle: The descriptor of the open file; -1 if it could not be opened.
    """

    name: str
    extension: Mapping[str, Any]
    fault: int = 0
    handle: int = -1

    def open_file(self) -> BinaryIO:
        """Return the file, to be closed by the caller.

        Raises:
            OSError: If the parent could not open it.
        """
        if self.fault:
            raise OSError(self.fault, os.strerror(self.fault))
        return os.fdopen(self.handle, "rb")


class CommandWriter:
    """The parent's end of the line to a reading process; it sends commands."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line

    def send(self, path: Path, extension: Extension | None) -> int:
        """Open a file and request its contents.

        A file that cannot be opened is requested too, and refused by the process.

        Args:
            path: The file.
            extension: The extension that reads it; `None` for Fathom's own parsers.

        Returns:
            The size of the command in bytes.
        """
        handle, fault = _open_regular(path)
        fields = {} if extension is None else {**asdict(extension), "folder": extension.folder}
        name = os.fsencode(path.name).hex()
        command = json.dumps([name, fault, fields]).encode("ascii") + b"\n"
        try:
            socket.send_fds(self._line, [command], [handle] if handle >= 0 else [])
        finally:
            if handle >= 0:
                os.close(handle)
        return len(command)

    def close(self) -> None:
        """Close the line, which ends the process."""
        self._line.close()


class CommandReader:
    """The reading process's end of the line; it receives commands."""

    def __init__(self, descriptor: int) -> None:
        self._line = socket.socket(fileno=descriptor)
        self._unread = b""
        self._handles: list[int] = []

    def __iter__(self) -> Iterator[Command]:
        """Yield commands until the parent closes the line."""
        while True:
            while b"\n" not in self._unread:
                received, handles, _, _ = socket.recv_fds(self._line, _READ_BYTES, 1)
                if not received:
                    return
                self._unread += received
                self._handles += handles
            command, _, self._unread = self._unread.partition(b"\n")
            name, fault, extension = json.loads(command)
            handle = -1 if fault else self._handles.pop(0)
            name = os.fsdecode(bytes.fromhex(name))
            yield Command(name=name, extension=extension, fault=fault, handle=handle)


def _open_regular(path: Path) -> tuple[int, int]:
    """Open a regular file; return its descriptor and 0, or -1 and the number of the error."""
    try:
        # Without O_NONBLOCK, opening a pipe in place of the file would wait for a writer.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        return -1, error.errno or errno.EIO
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle, 0
    os.close(handle)
    return -1, errno.EINVAL
