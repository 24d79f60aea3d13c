"""Search by words and by vectors on a Qdrant cluster; the result does not hang on the cluster.

The cluster proposes candidates: by weights that were made with an older average length, by
vectors of half precision, from shards of whatever layout. The truth scores them exactly and drops
what it does not list, and more are asked for until none that was left out could be among the best.
So the result is that of BM25 over the index's present statistics and of exact cosines; only what a
graph of neighbours misses is missed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.index.bm25 import norms, quantised
from fathom.index.filters import Allowed, Numbers
from fathom.index.qdrant.collection import DIGITS, Found, Point, TenantPoints, sparse

FEW_CHUNKS = 10_000
"""So many are all looked at, without a graph."""
FEW_DOCUMENTS = 10_000
"""So many can be named in a request."""
MARGIN = 2e-4
"""A product of half precision may err by this much."""
ROUNDING = 1e-5
"""A sum of single precision may err by this share."""

Floats = NDArray[np.float64]
Scored = list[tuple[int, float]]
Exact = Callable[[Numbers], tuple[Numbers, Floats]]
"""Of chunks by number those that the truth lists, and their exact scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which chunks a search may give, and when.

    Attributes:
        chunks: How many chunks there are in the whole index.
        allowed: Only these of them; all where it is `None`.
        mark: That the collection must have; see `collection`.
    """

    chunks: int
    allowed: Allowed | None = None
    mark: int = 0

    @property
    def size(self) -> int:
        """How many chunks may be given."""
        return self.chunks if self.allowed is None else len(self.allowed.chunks)

    @property
    def named(self) -> Sequence[int] | None:
        """The documents, where they are few enough to be named in a request."""
        if self.allowed is None or len(self.allowed.documents) > FEW_DOCUMENTS:
            return None
        return [int(one) for one in self.allowed.documents]

    def among(self, found: Sequence[Found]) -> Numbers:
        """Those of the chunks found that may be given."""
        numbers = np.array([one.chunk for one in found], dtype=np.int64)
        return numbers if self.allowed is None else numbers[np.isin(numbers, self.allowed.chunks)]


class QdrantWords:
    """Keyword search of one tenant."""

    def __init__(self, points: TenantPoints, average: float) -> None:
        """Take over a tenant's points in the collection of words.

        Args:
            points: Of this tenant.
            average: The mean length of a chunk that weights are made with. While points made with
                several are about, the lowest.
        """
        self._points = points
        self._average = average

    def put(self, chunks: Iterable[tuple[int, int, Mapping[int, int]]]) -> None:
        """Store chunks; durable when it returns, and harmless to repeat.

        Args:
            chunks: Of each its number, its document's, and how often it has each term.
        """
        self._points.put(self._point(*one) for one in chunks)

    def _point(self, chunk: int, document: int, terms: Mapping[int, int]) -> Point:
        norm = norms(quantised(np.array([sum(terms.values())])), self._average)
        counts = np.fromiter(terms.values(), dtype=np.float64, count=len(terms))
        weights = np.round(counts / (counts + norm), 7).tolist()
        vector = sparse(dict(zip(terms, weights, strict=True)))
        return Point(chunk=chunk, document=document, vector=vector)

    def search(
        self,
        weights: Mapping[int, float],
        average: float,
        exact: Exact,
        *,
        k: int,
        scope: Scope,
    ) -> Scored:
        """The chunks with the highest BM25, by number, `k` and what ties with the last.

        Args:
            weights: `bm25.query_weights` by the numbers of the terms.
            average: The mean length of a chunk at the revision.
            exact: BM25 at the revision.
            k: See above.
            scope: What may be given.

        Raises:
            Unmarked: If the collection lacks the mark of the scope.
        """
        if not weights or not scope.size:
            return []
        # A shorter average than now makes norms larger, and so what the cluster sums too small.
        most = max(1.0, average / self._average) * (1 + ROUNDING)
        return _certain(
            lambda limit: self._points.worded(weights, limit, scope.named, scope.mark),
            exact,
            lambda score: score * most,
            k=k,
            scope=scope,
        )


class QdrantVectors:
    """Vector search of one tenant."""

    def __init__(self, points: TenantPoints) -> None:
        """Take over a tenant's points in the collection of vectors of their dimension."""
        self._points = points

    def put(self, chunks: Iterable[tuple[int, int, NDArray[np.float16]]]) -> None:
        """Store chunks; durable when it returns, and harmless to repeat.

        Args:
            chunks: Of each its number, its document's, and its vector, of unit length.
        """
        self._points.put(
            Point(
                chunk=chunk,
                document=document,
                vector=np.round(vector.astype(np.float64), DIGITS).tolist(),
            )
            for chunk, document, vector in chunks
        )

    def search(self, vector: NDArray[np.float32], exact: Exact, *, k: int, scope: Scope) -> Scored:
        """The chunks with the highest cosine, by number, `k` and what ties with the last.

        Args:
            vector: Of unit length.
            exact: Cosines.
            k: See above.
            scope: What may be given.

        Raises:
            Unmarked: If the collection lacks the mark of the scope.
        """
        if not scope.size:
            return []
        every = scope.size <= FEW_CHUNKS
        return _certain(
            lambda limit: self._points.nearest(
                vector, limit, scope.named, exact=every, mark=scope.mark
            ),
            exact,
            lambda score: score + MARGIN,
            k=k,
            scope=scope,
        )


def _certain(
    ask: Callable[[int], list[Found]],
    exact: Exact,
    bound: Callable[[float], float],
    *,
    k: int,
    scope: Scope,
) -> Scored:
    """The best `k` and what ties with the last, once nothing that was not found can be better.

    Args:
        ask: The first so many by the cluster's scores.
        exact: Their exact scores.
        bound: The highest exact score that goes with a score of the cluster's.
        k: How many are wanted.
        scope: What may be given.
    """
    limit = k + k // 2 + 16
    while True:
        found = ask(limit)
        numbers, scores = exact(scope.among(found))
        least = _kth(scores, k)
        if len(found) < limit:
            break
        if least is not None and least > bound(found[-1].score):
            break
        limit *= 4
    if least is not None:
        numbers, scores = numbers[scores >= least], scores[scores >= least]
    return list(zip(numbers.tolist(), scores.tolist(), strict=True))


def _kth(scores: Floats, k: int) -> float | None:
    """The score of rank `k`, where there are more."""
    if len(scores) <= k:
        return None
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])
