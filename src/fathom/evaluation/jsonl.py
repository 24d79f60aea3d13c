"""Files of one JSON object a line, which survive the death of the process that adds to them."""

from pathlib import Path

from fathom.jsonable import Json, dump_canonical


def read_whole_lines(file: Path | None) -> list[bytes]:
    """Return the lines of a file, or none if there is no file.

    Half a line at the end, left by a process that died, is cut off.
    """
    if file is None or not file.exists():
        return []
    data = file.read_bytes()
    end = data.rfind(b"\n") + 1
    if end < len(data):
        with file.open("rb+") as torn:
            # Without the cut the next line would be appended to the torn one.
            torn.truncate(end)
    return data[:end].splitlines()


def append_line(file: Path | None, value: Json) -> None:
    """Append an object to a file, which is created where needed; without a file do nothing."""
    if file is None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as lines:
        # One write for line and end, so that a killed process leaves at most half a line.
        lines.write(dump_canonical(value) + "\n")
