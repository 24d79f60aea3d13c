"""Vector search: exact cosines over candidates from the graph and over all chunks outside it."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fathom.index.base import Vector, check_dimension
from fathom.index.embedded.hnsw import Graph, GraphRecord
from fathom.index.embedded.scan import Floats, Scan
from fathom.index.embedded.spaces import SqliteSpace
from fathom.index.embedded.store import SqliteStore
from fathom.index.filters import Numbers, SearchScope
from fathom.index.rows import HalfMatrix, compute_cosines

FEW_CHUNKS = 10_000
"""Up to so many chunks are all compared exactly, without the graph."""

Scored = list[tuple[int, float]]


class VectorIndex:
    """The data in memory for the vector searches of one revision; `refresh` moves it to another.

    Scores are computed in float64 from the stored float16 vectors, the same way for every chunk, so
    they depend neither on the graph nor on the other chunks searched. Without a graph the search is
    exact. With a graph it may miss chunks; which ones depends on the shape of the graph, and so on
    the order in which the threads of its builder worked. Every vector with a number up to the
    graph's last one is in the graph: a writer that fills in an earlier vector drops the graph.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._state = ""
        self._space = SqliteSpace(number=0, name="", dimension=0, graph=None)
        self._graph: Graph | None = None
        self._record: GraphRecord | None = None
        self._numbers: Numbers = np.empty(0, dtype=np.int64)
        self._tail = Scan(np.empty((0, 0), dtype=np.float16))

    def refresh(self, store: SqliteStore, space: SqliteSpace) -> None:
        """Load the chunks of a space at the store's revision, unless they are loaded already.

        Chunks without a vector are left out.
        """
        record, revision = space.graph, store.revision
        state = f"{store.format_marker(revision)} {space.number}"
        if state == self._state and record == self._record:
            return
        self._space = space
        if record != self._record:
            self._open_graph(record)
        self._numbers = store.list_chunks_with_vectors(space, revision)
        self._tail = self._read_tail(store, revision)
        self._state = state

    def _open_graph(self, record: GraphRecord | None) -> None:
        """Open the graph of a record; without one, or if its file is unsound, use no graph."""
        self._graph, self._record = None, record
        if record is not None:
            try:
                self._graph = Graph(self._directory, record, self._space.dimension)
            except OSError:
                self._graph = None  # all chunks are scanned until a writer rebuilds the graph

    def _read_tail(self, store: SqliteStore, revision: int) -> Scan:
        """Read the vectors of the chunks after those in the graph."""
        if not self._space.dimension:
            return Scan(np.empty((0, 0), dtype=np.float16))
        return Scan(store.read_vectors_after(revision, self._until, self._space))

    @property
    def _until(self) -> int:
        """The largest chunk number in the graph; 0 without a graph."""
        return self._graph.record.until if self._graph else 0

    def search(
        self, store: SqliteStore, vector: Vector, k: int, allowed: SearchScope | None
    ) -> Scored:
        """Return at least the `k` nearest chunks, and all ties of the last.

        Args:
            store: The store of the loaded state.
            vector: A vector of unit length.
            k: The number of chunks, at least 1.
            allowed: The chunks that may be returned; `None` for all.

        Returns:
            The numbers and cosines of the chunks, in any order; fewer than `k` if fewer match.

        Raises:
            IndexMismatch: If the vector has another dimension than the stored ones.
        """
        if not len(self._numbers):
            return []
        check_dimension(vector, self._space.dimension)
        inside = self._numbers
        if allowed is not None:
            inside = allowed.chunks
            if self._space.lacking:
                inside = inside[_mark_members(inside, self._numbers)]
        near, exact = self._search_tail(vector, k, inside)
        covered = inside[: np.searchsorted(inside, self._until, side="right")]
        if len(covered):
            candidates = self._search_graph(vector, k, covered)
            graph_cosines = compute_cosines(self._read_vectors(store, candidates), vector)
            near, exact = np.concatenate([candidates, near]), np.concatenate([graph_cosines, exact])
        return _select_best(near, exact, k)

    def _search_tail(self, vector: Vector, k: int, inside: Numbers) -> tuple[Numbers, Floats]:
        """Return the nearest chunks after those in the graph, with their cosines."""
        if not len(self._tail):
            return np.empty(0, dtype=np.int64), np.empty(0)
        numbers = self._numbers[len(self._numbers) - len(self._tail) :]
        mask = None if len(inside) == len(self._numbers) else _mark_members(numbers, inside)
        places, exact = self._tail.find_nearest(vector, k, mask)
        return numbers[places], exact

    def _search_graph(self, vector: Vector, k: int, covered: Numbers) -> Numbers:
        """Return the chunks to score exactly: at least `k` near ones, or all.

        Args:
            vector: A vector of unit length.
            k: The number of chunks wanted.
            covered: The allowed chunks with numbers that the graph covers, ascending.
        """
        if self._graph is None or len(covered) <= min(FEW_CHUNKS, 2 * k):
            return covered
        total = self._graph.record.chunks
        if len(covered) <= FEW_CHUNKS:
            return covered
        # More than k, in proportion to the chunks that the filters exclude, because the graph knows
        # no filters.
        count = (k + k // 2 + 32) * total // len(covered)
        while count < total:
            matches = self._graph.find_nearest(vector, count)
            inside = matches[_mark_members(matches, covered)]
            if len(inside) >= k:
                return inside
            count *= 4
        return covered

    def _read_vectors(self, store: SqliteStore, numbers: Numbers) -> HalfMatrix:
        """Return the vectors of chunks in the graph, in the order of their numbers."""
        vectors = self._graph.read_vectors(numbers) if self._graph else None
        if vectors is None:
            _, vectors = store.read_vectors(numbers.tolist(), self._space)
        return vectors


def _select_best(near: Numbers, exact: Floats, k: int) -> Scored:
    """Return the `k` chunks with the highest cosines, and all ties of the last."""
    if len(exact) > k:
        threshold = np.partition(exact, len(exact) - k)[len(exact) - k]
        near, exact = near[exact >= threshold], exact[exact >= threshold]
    return list(zip(near.tolist(), exact.tolist(), strict=True))


def _mark_members(numbers: Numbers, ascending: Numbers) -> NDArray[np.bool_]:
    """Mark the numbers that are in another array, which is long and ascending."""
    if not len(ascending):
        return np.zeros(len(numbers), dtype=np.bool_)
    # By bisection, because `np.isin` would sort the long array again.
    places = np.searchsorted(ascending, numbers).clip(max=len(ascending) - 1)
    return np.asarray(ascending[places] == numbers, dtype=np.bool_)
