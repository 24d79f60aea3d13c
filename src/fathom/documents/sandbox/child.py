"""The reading process: it receives one open file after the other and sends back the contents."""

import json
import mimetypes
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from fathom.documents.base import ParsedDocument, ParseLimits, ParseRefusal, RecordFailure
from fathom.documents.parse import parse_stream
from fathom.documents.sandbox import jail
from fathom.documents.sandbox.commands import Command, CommandReader
from fathom.documents.sandbox.frames import MEMORY_EXIT, Frame, encode_frame
from fathom.extensions import Extension
from fathom.system import renew_cpu

if TYPE_CHECKING:
    from fathom.documents.formats.pdf.lines import Recogniser

_BATCH_CHARS = 1_000_000
"""The number of characters from which on a batch of documents is sent."""
_BATCH_VALUES = 500
"""The number of documents from which on a batch is sent."""


def main() -> None:
    """Answer commands until the parent closes the line; the entry point of the process.

    The arguments of the process are the limits and the folders of extensions as JSON, the parent's
    process id, and `ocr` for a process that recognises text on pictures.
    """
    limits = ParseLimits(**json.loads(sys.argv[1]))
    commands = CommandReader(os.dup(0))
    replies = jail.open_reply()
    mimetypes.init([])  # otherwise the first look-up of a type would open files of the system
    gate = jail.enter_jail(limits, int(sys.argv[3]), json.loads(sys.argv[2]))
    try:
        ReadingServer(replies, limits, recognises="ocr" in sys.argv[4:]).serve(commands, gate)
    except MemoryError:
        os._exit(MEMORY_EXIT)
    except BrokenPipeError:
        os._exit(0)


class ReadingServer:
    """A server that answers each command with the frames of a file."""

    def __init__(self, replies: BinaryIO, limits: ParseLimits, *, recognises: bool = False) -> None:
        """Create the server without reading anything.

        Args:
            replies: The stream that receives the frames.
            limits: The limits for a file; for a file that is recognised, those for each page.
            recognises: Whether to read the text of pictures too.
        """
        self._replies = replies
        self._limits = limits
        self._recogniser: Recogniser | None = None
        if recognises:
            from fathom.documents.ocr.recogniser import RapidRecogniser

            self._recogniser = RapidRecogniser(
                limits.ocr_pages, lambda page, pages: self._send(Frame(page=page, pages=pages))
            )

    def serve(self, commands: CommandReader, gate: jail.AuditGate) -> None:
        """Answer commands until there are no more.

        Args:
            commands: The commands.
            gate: The gate that admits the modules of extensions.
        """
        for command in commands:
            fields = command.extension
            extension = _admit_extension(fields, gate) if fields else None
            renew_cpu(self._limits.cpu_s)
            self._answer(command, extension)

    def _send(self, frame: Frame) -> None:
        """Send a frame, and begin the processor time for the next batch or page."""
        self._replies.write(encode_frame(frame))
        self._replies.flush()
        renew_cpu(self._limits.cpu_s)

    def _answer(self, command: Command, extension: Extension | None) -> None:
        """Send the contents of a file; any error of a parser becomes a refusal."""
        final_refusal: ParseRefusal | None = None
        batch = _ValueBatch()
        try:
            with command.open_file() as file:
                name, recogniser = command.name, self._recogniser
                for value in parse_stream(file, name, self._limits, extension, recogniser):
                    batch.add(value)
                    if batch.is_full:
                        self._send(Frame(values=batch.take_all()))
        except ParseRefusal as refusal:
            final_refusal = refusal
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - parsers of hostile input raise anything
            final_refusal = ParseRefusal("failed", _describe_error(error))
        try:
            self._send_end(batch.take_all(), final_refusal)
        except ParseRefusal as refusal:  # the batch is too much for a frame
            self._send_end((), refusal)

    def _send_end(
        self, values: tuple[ParsedDocument | RecordFailure, ...], refusal: ParseRefusal | None
    ) -> None:
        """Send the last frame of a file."""
        peak = jail.measure_peak()
        self._send(Frame(values=values, done=True, refused=refusal, peak_bytes=peak))


class _ValueBatch:
    """The documents and failures of a file that are not sent yet."""

    def __init__(self) -> None:
        self._values: list[ParsedDocument | RecordFailure] = []
        self._chars = 0

    @property
    def is_full(self) -> bool:
        """True if the batch is to be sent."""
        return self._chars >= _BATCH_CHARS or len(self._values) >= _BATCH_VALUES

    def add(self, value: ParsedDocument | RecordFailure) -> None:
        """Add a value."""
        self._values.append(value)
        self._chars += len(value.text) if isinstance(value, ParsedDocument) else 0

    def take_all(self) -> tuple[ParsedDocument | RecordFailure, ...]:
        """Empty the batch and return its values."""
        values = tuple(self._values)
        self._values.clear()
        self._chars = 0
        return values


def _admit_extension(fields: Mapping[str, Any], gate: jail.AuditGate) -> Extension:
    """Return the extension that reads the next file, after allowing the import of its module."""
    folder = fields["folder"]
    extension = Extension(**{name: fields[name] for name in fields if name != "folder"})
    if folder and folder not in sys.path:
        sys.path.append(folder)
        gate.allow_module(folder, extension.module.partition(".")[0])
    return extension


def _describe_error(error: Exception) -> str:
    """Return the reason of a refusal for an error of a parser, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"
    words = " ".join(str(error).split())[:200]
    return f"damaged content ({type(error).__name__}: {words})"
