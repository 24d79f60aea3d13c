"""The graph of neighbours (HNSW) over the bulk of the vectors, in a file of its own."""

import json
import os
import weakref
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from fathom.index.base import Vector
from fathom.index.filters import Numbers
from fathom.index.rows import LARGEST, HalfMatrix, file_checksum, to_matrix

if TYPE_CHECKING:
    from usearch.index import Index

CONNECTIVITY = 16
EXPANSION_ADD = 128
EXPANSION_SEARCH = 192
BLOCK = 10_000
"""So many vectors go into it at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRecord:
    """What SQLite knows of the graph file.

    Attributes:
        file: Name in the index directory.
        until: The largest chunk number in the graph; later chunks are scanned.
        chunks: How many chunks it holds.
        size: Of the file, in bytes.
        crc: Its CRC-32, for `verify`.
        kind: What it compares: `i8`, or `f16` in older ones.
        vectors_at: Where in the file the vectors follow; 0 in older ones, where none do.
    """

    file: str
    until: int
    chunks: int
    size: int
    crc: int
    kind: Literal["i8", "f16"] = "f16"
    vectors_at: int = 0

    def dumps(self) -> str:
        """As text for `meta`."""
        return json.dumps(asdict(self))

    @classmethod
    def loads(cls, text: str) -> "GraphRecord | None":
        """The inverse of `dumps`; `None` for an empty text."""
        return cls(**json.loads(text)) if text else None


class Graph:
    """A memory-mapped graph; finds likely neighbours, whose scores are then computed exactly.

    It compares bytes, and the vectors that they were made of follow in the same file, by number:
    they are read where a score is wanted, in a third of the time that SQLite takes. (Graphs that
    were made before compare 16 bits and hold no others.)
    """

    def __init__(self, directory: Path, record: GraphRecord, dimension: int) -> None:
        """Map the file.

        Raises:
            OSError: If it is missing or not what was recorded.
        """
        path = directory / record.file
        if path.stat().st_size != record.size:
            raise OSError(f"{path} has {path.stat().st_size} bytes, {record.size} were written")
        self.record = record
        self._index = _empty(dimension, record.kind)
        try:
            self._index.view(str(path))
        except RuntimeError as error:
            raise OSError(f"{path}: {error}") from error
        if len(self._index) != record.chunks or self._index.ndim != dimension:
            raise OSError(f"{path} does not hold the {record.chunks} chunks that were written")
        self._vectors = _Vectors(path, record, dimension) if record.vectors_at else None

    def nearest(self, vector: Vector, count: int) -> Numbers:
        """About `count` chunks near the vector, by number, ascending."""
        if self.record.kind == "i8":
            asked = _codes(vector, float(np.abs(vector).max()) or 1.0)
        else:
            asked = vector.astype(np.float16)
        found = self._index.search(asked, min(count, self.record.chunks), threads=1)
        return np.sort(found.keys.astype(np.int64))

    def vectors(self, numbers: Numbers) -> HalfMatrix | None:
        """Those of chunks that are in it, ascending; `None` where the file does not hold them."""
        return self._vectors.of(numbers) if self._vectors else None


class _Vectors:
    """The vectors behind a graph: first the numbers of their chunks, then themselves.

    They are read, not mapped: mapped, each would bring its surroundings into memory.
    """

    def __init__(self, path: Path, record: GraphRecord, dimension: int) -> None:
        self._numbers = np.fromfile(path, np.int64, record.chunks, offset=record.vectors_at)
        self._start = record.vectors_at + self._numbers.nbytes
        self._dimension = dimension
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._file)

    def of(self, numbers: Numbers) -> HalfMatrix:
        size = 2 * self._dimension
        rows = np.searchsorted(self._numbers, numbers).tolist()
        return to_matrix(
            [os.pread(self._file, size, self._start + size * row) for row in rows], self._dimension
        )


def build(directory: Path, name: str, numbers: Numbers, vectors: HalfMatrix) -> GraphRecord:
    """Build the graph of these chunks and put it at its place in one step.

    Raises:
        OSError: If the disk is full; then no file is left behind.
    """
    index = _empty(vectors.shape[1], "i8")
    blocks = [slice(start, start + BLOCK) for start in range(0, len(vectors), BLOCK)]
    largest = max(float(np.abs(vectors[block]).max()) for block in blocks) or 1.0
    for block in blocks:
        index.add(numbers[block].astype(np.uint64), _codes(vectors[block], largest))
    path, raw = directory / name, directory / f"{name}.part"
    try:
        index.save(str(raw))
        with raw.open("ab") as file:
            vectors_at = file.tell()
            numbers.astype(np.int64).tofile(file)
            vectors.tofile(file)
            os.fsync(file.fileno())
        size, crc = raw.stat().st_size, file_checksum(raw)
        raw.replace(path)
    except (RuntimeError, OSError) as error:
        raw.unlink(missing_ok=True)
        raise OSError(f"{path} cannot be written: {error}") from error
    return GraphRecord(
        file=name,
        until=int(numbers[-1]),
        chunks=len(numbers),
        size=size,
        crc=crc,
        kind="i8",
        vectors_at=vectors_at,
    )


def _codes(vectors: NDArray[np.floating], largest: float) -> NDArray[np.int8]:
    """Numbers as bytes, so that `largest` is 127; products are in the order of the cosines."""
    whole: NDArray[np.float32] = np.rint(vectors.astype(np.float32) * (LARGEST / largest))
    return whole.astype(np.int8)


def _empty(dimension: int, kind: str) -> "Index":
    from usearch.index import Index  # small indexes have no graph, and it takes a while

    return Index(
        ndim=dimension,
        metric="ip",
        dtype=kind,
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=EXPANSION_SEARCH,
        enable_key_lookups=False,
    )
