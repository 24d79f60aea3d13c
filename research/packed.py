"""Compressed files with one JSON object per line: the same rows give the same bytes."""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fathom.jsonable import Json


def pack(file: Path, rows: Iterable[Json], *, level: int = 9) -> None:
    """Write rows to a new file whose header contains neither a name nor a time."""
    with file.open("wb") as raw, gzip.GzipFile("", "wb", level, raw, mtime=0) as packed:
        for row in rows:
            packed.write(json.dumps(row).encode() + b"\n")


def unpack(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows that `pack` wrote."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
