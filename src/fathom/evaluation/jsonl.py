"""Files with one JSON object in each line, which survive a kill of the process that writes them."""

import json
from os import SEEK_END
from pathlib import Path
from typing import BinaryIO

from fathom.jsonable import Json, dump_canonical


def read_whole_lines(file: Path | None) -> list[bytes]:
    """Return the lines of a file; none if there is no file.

    An incomplete object at the end, which a killed process left, is removed from the file. Any
    other content stays, so that the caller can refuse a file of another kind.
    """
    if file is None or not file.exists():
        return []
    data = file.read_bytes()
    end = data.rfind(b"\n") + 1
    if not _is_torn(data[end:]):
        return data.splitlines()
    with file.open("rb+") as torn:
        # Otherwise the next line would be appended to the incomplete one.
        torn.truncate(end)
    return data[:end].splitlines()


def _is_torn(line: bytes) -> bool:
    """Return whether a line without a line break is an incomplete object."""
    try:
        json.loads(line)
    except ValueError:
        return line.startswith(b"{")
    return False


def append_line(file: Path | None, value: Json) -> None:
    """Append an object to a file, and create the file if needed; without a file do nothing."""
    if file is None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab+") as lines:
        # The last line may lack only its line break.
        gap = b"" if _has_end(lines) else b"\n"
        # One write, so that a killed process leaves at most one incomplete line.
        lines.write(gap + f"{dump_canonical(value)}\n".encode())


def _has_end(lines: BinaryIO) -> bool:
    """Return whether a file is empty or ends with a line break."""
    if not lines.seek(0, SEEK_END):
        return True
    lines.seek(-1, SEEK_END)
    return lines.read(1) == b"\n"
