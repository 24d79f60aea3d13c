"""The reading process: takes one path after the other, sends back what the files hold."""

import json
import mimetypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from fathom.documents.base import Failure, Parsed, ParseLimits, Refused
from fathom.documents.parse import parse_stream
from fathom.documents.sandbox import jail
from fathom.documents.sandbox.frames import MEMORY_EXIT, Frame, encode
from fathom.extensions import Extension

_BATCH_CHARS = 1_000_000
_BATCH_VALUES = 500


def main() -> None:
    """Serve until the parent closes the pipe; arguments: limits as JSON, parent's process id."""
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
        serve(commands, replies, gate, limits)
    except MemoryError:
        os._exit(MEMORY_EXIT)
    except BrokenPipeError:
        os._exit(0)


def serve(commands: BinaryIO, replies: BinaryIO, gate: jail.Gate, limits: ParseLimits) -> None:
    """Answer each command line with the file's frames.

    A line is the path of a file, and what reads it where Fathom itself does not, in hexadecimal.
    """
    for command in commands:
        path, *added = (bytes.fromhex(part) for part in command.decode("ascii").split())
        extension = _admitted(json.loads(added[0]), gate) if added else None
        gate.give(path)
        jail.renew_cpu(limits.cpu_s)
        for frame in _frames(path, limits, extension):
            replies.write(frame)
            replies.flush()
            jail.renew_cpu(limits.cpu_s)
        gate.give(None)


def _admitted(added: dict[str, Any], gate: jail.Gate) -> Extension:
    """What reads the next file; its module may be imported from now on, wherever it lies."""
    folder = added.pop("folder")
    extension = Extension(**added)
    if folder and folder not in sys.path:
        sys.path.append(folder)
        gate.admit(folder, extension.module.partition(".")[0])
    return extension


def _frames(path: bytes, limits: ParseLimits, extension: Extension | None) -> Iterator[bytes]:
    refused: Refused | None = None
    try:
        with Path(os.fsdecode(path)).open("rb") as file:
            name = Path(os.fsdecode(path)).name
            for values in _batches(parse_stream(file, name, limits, extension)):
                yield encode(Frame(values=values))
    except Refused as refusal:
        refused = refusal
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - parsers of hostile input raise anything
        refused = Refused("failed", _told(error))
    yield encode(Frame(done=True, refused=refused, peak_bytes=jail.peak_bytes()))


def _batches(values: Iterator[Parsed | Failure]) -> Iterator[tuple[Parsed | Failure, ...]]:
    batch: list[Parsed | Failure] = []
    chars = 0
    for value in values:
        batch.append(value)
        chars += len(value.text) if isinstance(value, Parsed) else 0
        if chars >= _BATCH_CHARS or len(batch) >= _BATCH_VALUES:
            yield tuple(batch)
            batch, chars = [], 0
    if batch:
        yield tuple(batch)


def _told(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"
    words = " ".join(str(error).split())[:200]
    return f"damaged content ({type(error).__name__}: {words})"
