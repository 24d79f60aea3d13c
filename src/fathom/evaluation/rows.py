"""The lines of a data set's files, read strictly: a mistake names its file and line."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fathom.errors import UsageError


def rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines, plain or gzip, with their numbers from 1.

    Raises:
        UsageError: If a line is no object with a text `_id`, or an id comes twice.
    """
    seen: set[str] = set()
    for number, line in lines(file):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise UsageError(f"{file}:{number}: not JSON: {error.msg}") from None
        if not isinstance(row, dict) or not isinstance(row.get("_id"), str):
            raise UsageError(f"{file}:{number}: expected an object with a text '_id'")
        if row["_id"] in seen:
            raise UsageError(f"{file}:{number}: the id {row['_id']!r} comes twice")
        seen.add(row["_id"])
        yield number, row


def lines(file: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file, plain or gzip, that are not blank, with their numbers from 1.

    Raises:
        UsageError: If the file is not UTF-8, or no whole gzip file.
    """
    opened = gzip.open if file.suffix == ".gz" else open
    number = 0
    try:
        with opened(file, "rt", encoding="utf-8") as text:
            for number, line in enumerate(text, start=1):
                if line.strip():
                    yield number, line
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        kind = "UTF-8" if isinstance(error, UnicodeDecodeError) else "a whole gzip file"
        raise UsageError(f"{file}:{number + 1}: not {kind}") from None
