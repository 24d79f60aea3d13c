"""The reading process: takes one path after the other, sends back what the files hold."""

import json
import mimetypes
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from fathom.documents.base import Failure, Parsed, ParseLimits, Refused
from fathom.documents.parse import parse_stream
from fathom.documents.sandbox import jail
from fathom.documents.sandbox.frames import MEMORY_EXIT, Frame, encode
from fathom.extensions import Extension

if TYPE_CHECKING:
    from fathom.documents.formats.pdf.lines import Recogniser

_BATCH_CHARS = 1_000_000
_BATCH_VALUES = 500


def main() -> None:
    """Serve until the parent closes the pipe.

    Arguments: limits as JSON, the parent's process id, and `ocr` for a process that recognises.
    """
    limits = ParseLimits(**json.loads(sys.argv[1]))
    commands = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    # Native libraries print what they like; none of it may reach the frames or the terminal.
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silence, descriptor)
    mimetypes.init([])  # else the first parser that asks for a type opens files of the system
    gate = jail.enter(limits, int(sys.argv[2]))
    try:
        Server(replies, limits, recognises="ocr" in sys.argv[3:]).serve(commands, gate)
    except MemoryError:
        os._exit(MEMORY_EXIT)
    except BrokenPipeError:
        os._exit(0)


class Server:
    """Answers each command line with the file's frames.

    A line is the path of a file, and what reads it where Fathom itself does not, in hexadecimal.
    """

    def __init__(self, replies: BinaryIO, limits: ParseLimits, *, recognises: bool = False) -> None:
        """Nothing is read yet.

        Args:
            replies: Where the frames go.
            limits: What one file may cost, of one that is recognised each page.
            recognises: Read the text of pictures too.
        """
        self._replies = replies
        self._limits = limits
        self._recogniser: Recogniser | None = None
        if recognises:
            from fathom.documents.ocr.recogniser import RapidRecogniser

            self._recogniser = RapidRecogniser(
                limits.ocr_pages, lambda page, pages: self._send(Frame(page=page, pages=pages))
            )

    def serve(self, commands: BinaryIO, gate: jail.Gate) -> None:
        """Until there are no more commands."""
        for command in commands:
            path, *added = (bytes.fromhex(part) for part in command.decode("ascii").split())
            extension = _admitted(json.loads(added[0]), gate) if added else None
            gate.give(path)
            jail.renew_cpu(self._limits.cpu_s)
            self._answer(path, extension)
            gate.give(None)

    def _send(self, frame: Frame) -> None:
        self._replies.write(encode(frame))
        self._replies.flush()
        jail.renew_cpu(self._limits.cpu_s)

    def _answer(self, path: bytes, extension: Extension | None) -> None:
        refused: Refused | None = None
        batch = _Values()
        try:
            with Path(os.fsdecode(path)).open("rb") as file:
                name = Path(os.fsdecode(path)).name
                for value in parse_stream(file, name, self._limits, extension, self._recogniser):
                    batch.add(value)
                    if batch.is_full:
                        self._send(Frame(values=batch.taken()))
        except Refused as refusal:
            refused = refusal
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - parsers of hostile input raise anything
            refused = Refused("failed", _told(error))
        try:
            self._end(batch.taken(), refused)
        except Refused as refusal:  # too much for a frame
            self._end((), refusal)

    def _end(self, values: tuple[Parsed | Failure, ...], refused: Refused | None) -> None:
        peak = jail.peak_bytes()
        self._send(Frame(values=values, done=True, refused=refused, peak_bytes=peak))


class _Values:
    """What a file gave and is not sent yet."""

    def __init__(self) -> None:
        self._values: list[Parsed | Failure] = []
        self._chars = 0

    @property
    def is_full(self) -> bool:
        return self._chars >= _BATCH_CHARS or len(self._values) >= _BATCH_VALUES

    def add(self, value: Parsed | Failure) -> None:
        self._values.append(value)
        self._chars += len(value.text) if isinstance(value, Parsed) else 0

    def taken(self) -> tuple[Parsed | Failure, ...]:
        taken = tuple(self._values)
        self._values.clear()
        self._chars = 0
        return taken


def _admitted(added: dict[str, Any], gate: jail.Gate) -> Extension:
    """What reads the next file; its module may be imported from now on, wherever it lies."""
    folder = added.pop("folder")
    extension = Extension(**added)
    if folder and folder not in sys.path:
        sys.path.append(folder)
        gate.admit(folder, extension.module.partition(".")[0])
    return extension


def _told(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"
    words = " ".join(str(error).split())[:200]
    return f"damaged content ({type(error).__name__}: {words})"
