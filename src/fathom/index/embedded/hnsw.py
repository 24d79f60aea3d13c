"""The graph of neighbours (HNSW) over most of the vectors, in a file of its own."""

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
from fathom.index.rows import MAX_CODE, HalfMatrix, build_matrix, compute_file_checksum
from fathom.system import sync_folder

if TYPE_CHECKING:
    from usearch.index import Index

CONNECTIVITY = 16
"""The number of links of a vector in a layer of the graph (M)."""
EXPANSION_ADD = 128
"""The number of candidates for the links of a new vector (efConstruction)."""
EXPANSION_SEARCH = 192
"""The number of candidates of a search (ef)."""
BLOCK = 10_000
"""The number of vectors that are added to the graph at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRecord:
    """The record that SQLite keeps of a graph file.

    Attributes:
        file: The name of the file in the index directory.
        until: The largest chunk number in the graph; later chunks are scanned.
        chunks: The number of chunks in the graph.
        size: The size of the file in bytes.
        crc: The CRC-32 of the file, for `verify`.
        kind: The type of the compared numbers: `i8`, or `f16` in older graphs.
        vectors_at: The offset in bytes of the numbers and vectors that follow the graph in the
            file; 0 in older graphs, which hold none.
    """

    file: str
    until: int
    chunks: int
    size: int
    crc: int
    kind: Literal["i8", "f16"] = "f16"
    vectors_at: int = 0

    def dumps(self) -> str:
        """Return the record as text, which `loads` parses."""
        return json.dumps(asdict(self))

    @classmethod
    def loads(cls, text: str) -> "GraphRecord | None":
        """Parse a record that `dumps` returned; return `None` for an empty text."""
        return cls(**json.loads(text)) if text else None


class Graph:
    """A memory-mapped graph that finds likely neighbours; the caller then scores them exactly.

    The graph compares vectors that are rounded to bytes. The exact vectors follow in the same file,
    by number, because reading them there takes a third of the time that SQLite takes. (Older graphs
    compare 16-bit floats and hold no vectors.)
    """

    def __init__(self, directory: Path, record: GraphRecord, dimension: int) -> None:
        """Map the file.

        Raises:
            OSError: If the file is missing or differs from the record.
        """
        path = directory / record.file
        if path.stat().st_size != record.size:
            raise OSError(f"{path} has {path.stat().st_size} bytes, {record.size} were written")
        self.record = record
        self._index = _create_index(dimension, record.kind)
        try:
            self._index.view(str(path))
        except RuntimeError as error:
            raise OSError(f"{path}: {error}") from error
        if len(self._index) != record.chunks or self._index.ndim != dimension:
            raise OSError(f"{path} does not hold the {record.chunks} chunks that were written")
        self._vectors = _VectorFile(path, record, dimension) if record.vectors_at else None

    def find_nearest(self, vector: Vector, count: int) -> Numbers:
        """Return the numbers of at most `count` chunks near a vector, ascending.

        Args:
            vector: A vector of unit length, (dimension,).
            count: The number of chunks to ask for.
        """
        if self.record.kind == "i8":
            query = _encode(vector, float(np.abs(vector).max()) or 1.0)
        else:
            query = vector.astype(np.float16)
        matches = self._index.search(query, min(count, self.record.chunks), threads=1)
        # Ascending, as the callers look numbers up by bisection.
        return np.sort(matches.keys.astype(np.int64))

    def read_vectors(self, numbers: Numbers) -> HalfMatrix | None:
        """Return the vectors of chunks of the graph, (n, dimension).

        Args:
            numbers: The numbers of the chunks; all are in the graph.

        Returns:
            The vectors in the order of the numbers; `None` if the file holds no vectors.
        """
        return self._vectors.read(numbers) if self._vectors else None


class _VectorFile:
    """The part of a graph file after the graph: the numbers of the chunks, then their vectors.

    The vectors are read, not mapped: a mapped page would bring its surroundings into memory.
    """

    def __init__(self, path: Path, record: GraphRecord, dimension: int) -> None:
        self._numbers = np.fromfile(path, np.int64, record.chunks, offset=record.vectors_at)
        self._start = record.vectors_at + self._numbers.nbytes
        self._dimension = dimension
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._file)

    def read(self, numbers: Numbers) -> HalfMatrix:
        """Return the vectors of chunks in the order of their numbers, (n, dimension)."""
        size = 2 * self._dimension
        rows = np.searchsorted(self._numbers, numbers).tolist()
        return build_matrix(
            [os.pread(self._file, size, self._start + size * row) for row in rows], self._dimension
        )


def build_graph(directory: Path, name: str, numbers: Numbers, vectors: HalfMatrix) -> GraphRecord:
    """Build the graph of chunks and put its file in place in one step.

    Args:
        directory: The folder of the index.
        name: The name of the file.
        numbers: The numbers of the chunks, ascending; at least one.
        vectors: Their vectors of unit length, (n, dimension).

    Returns:
        The record of the graph, which the caller stores.

    Raises:
        OSError: If the file cannot be written, for example on a full disk; no file is left then.
    """
    index = _create_index(vectors.shape[1], "i8")
    blocks = [slice(start, start + BLOCK) for start in range(0, len(vectors), BLOCK)]
    # One scale for all vectors, so that products of bytes keep the order of the cosines.
    largest = max(float(np.abs(vectors[block]).max()) for block in blocks) or 1.0
    for block in blocks:
        index.add(numbers[block].astype(np.uint64), _encode(vectors[block], largest))
    path, raw = directory / name, directory / f"{name}.part"
    try:
        index.save(str(raw))
        with raw.open("ab") as file:
            vectors_at = file.tell()
            numbers.astype(np.int64).tofile(file)
            vectors.tofile(file)
            os.fsync(file.fileno())
        size, crc = raw.stat().st_size, compute_file_checksum(raw)
        raw.replace(path)
        # The record in SQLite must never name a file that the disk does not hold.
        sync_folder(directory)
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


def _encode(vectors: NDArray[np.floating], largest: float) -> NDArray[np.int8]:
    """Scale and round numbers to bytes, so that `largest` becomes 127 (`MAX_CODE`)."""
    whole: NDArray[np.float32] = np.rint(vectors.astype(np.float32) * (MAX_CODE / largest))
    return whole.astype(np.int8)


def _create_index(dimension: int, kind: str) -> "Index":
    """Create an empty graph for vectors of a dimension, compared as numbers of a kind."""
    from usearch.index import Index  # slow to import, and small indexes have no graph

    return Index(
        ndim=dimension,
        metric="ip",
        dtype=kind,
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=EXPANSION_SEARCH,
        enable_key_lookups=False,
    )
