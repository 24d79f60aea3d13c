"""Files of one JSON object a line, which survive the death of the process that adds to them."""

import json
from os import SEEK_END
from pathlib import Path
from typing import BinaryIO

from fathom.jsonable import Json, dump_canonical


def read_whole_lines(file: Path | None) -> list[bytes]:
    """Return the lines of a file, or none if there is no file.

    Half an object at the end, left by a process that died, is cut off. Anything else stays, so that
    whoever reads the lines can refuse a file that is of another kind.
    """
    if file is None or not file.exists():
        return []
    data = file.read_bytes()
    end = data.rfind(b"\n") + 1
    if not _is_torn(data[end:]):
        return data.splitlines()
    with file.open("rb+") as torn:
        # Without the cut the next line would be appended to the torn one.
        torn.truncate(end)
    return data[:end].splitlines()


def _is_torn(line: bytes) -> bool:
    """Return whether a line without an end is the beginning of an object."""
    try:
        json.loads(line)
    except ValueError:
        return line.startswith(b"{")
    return False


def append_line(file: Path | None, value: Json) -> None:
    """Append an object to a file, which is created where needed; without a file do nothing."""
    if file is None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab+") as lines:
        # The last line may be whole but for its end.
        gap = b"" if _has_end(lines) else b"\n"
        # One write for line and end, so that a killed process leaves at most half a line.
        lines.write(gap + f"{dump_canonical(value)}\n".encode())


def _has_end(lines: BinaryIO) -> bool:
    """Return whether the last line of a file has its end, or there is none."""
    if not lines.seek(0, SEEK_END):
        return True
    lines.seek(-1, SEEK_END)
    return lines.read(1) == b"\n"
