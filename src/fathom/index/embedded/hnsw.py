"""The graph of neighbours (HNSW) over the bulk of the vectors, in a file of its own."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fathom.index.filters import Numbers
from fathom.index.rows import HalfMatrix, checksum

if TYPE_CHECKING:
    from usearch.index import Index

CONNECTIVITY = 16
EXPANSION_ADD = 128
EXPANSION_SEARCH = 192


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRecord:
    """What SQLite knows of the graph file.

    Attributes:
        file: Name in the index directory.
        until: The largest chunk number in the graph; later chunks are scanned.
        chunks: How many chunks it holds.
        size: Of the file, in bytes.
        crc: Its CRC-32, for `verify`.
    """

    file: str
    until: int
    chunks: int
    size: int
    crc: int

    def dumps(self) -> str:
        """As text for `meta`."""
        return json.dumps(asdict(self))

    @classmethod
    def loads(cls, text: str) -> "GraphRecord | None":
        """The inverse of `dumps`; `None` for an empty text."""
        return cls(**json.loads(text)) if text else None


class Graph:
    """A memory-mapped graph; finds likely neighbours, whose scores are then computed exactly."""

    def __init__(self, directory: Path, record: GraphRecord, dimension: int) -> None:
        """Map the file.

        Raises:
            OSError: If it is missing or not what was recorded.
        """
        path = directory / record.file
        if path.stat().st_size != record.size:
            raise OSError(f"{path} has {path.stat().st_size} bytes, {record.size} were written")
        self.record = record
        self._index = _empty(dimension)
        try:
            self._index.view(str(path))
        except RuntimeError as error:
            raise OSError(f"{path}: {error}") from error
        if len(self._index) != record.chunks or self._index.ndim != dimension:
            raise OSError(f"{path} does not hold the {record.chunks} chunks that were written")

    def nearest(self, vector: HalfMatrix, count: int) -> Numbers:
        """About `count` chunks near the vector, by number, ascending."""
        found = self._index.search(vector, min(count, self.record.chunks), threads=1)
        return np.sort(found.keys.astype(np.int64))


def build(directory: Path, name: str, numbers: Numbers, vectors: HalfMatrix) -> GraphRecord:
    """Build the graph of these chunks and put it at its place in one step.

    Raises:
        OSError: If the disk is full; then no file is left behind.
    """
    index = _empty(vectors.shape[1])
    index.add(numbers.astype(np.uint64), vectors, copy=False)
    path, raw = directory / name, directory / f"{name}.part"
    try:
        index.save(str(raw))
        with raw.open("rb") as written:
            os.fsync(written.fileno())
        size, crc = raw.stat().st_size, checksum(raw.read_bytes())
        raw.replace(path)
    except (RuntimeError, OSError) as error:
        raw.unlink(missing_ok=True)
        raise OSError(f"{path} cannot be written: {error}") from error
    return GraphRecord(file=name, until=int(numbers[-1]), chunks=len(numbers), size=size, crc=crc)


def _empty(dimension: int) -> "Index":
    from usearch.index import Index  # small indexes have no graph, and it takes a while

    return Index(
        ndim=dimension,
        metric="ip",
        dtype="f16",
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=EXPANSION_SEARCH,
        enable_key_lookups=False,
    )
