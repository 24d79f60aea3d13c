"""Exact searches by words and by vectors on a Qdrant cluster.

The cluster proposes candidates: by weights that were made with an older average length, by vectors
of half precision, from shards of any layout. PostgreSQL scores them exactly and drops those that it
does not list. More candidates are requested until none of the others could be among the best. So
the hits are those of BM25 over the index's present statistics and of exact cosines, whatever the
cluster; only a graph of neighbours may miss some.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.index.bm25 import norms, quantised
from fathom.index.filters import Allowed, Numbers
from fathom.index.qdrant.collection import DIGITS, Found, Point, TenantPoints, sparse

FEW_CHUNKS = 10_000
"""Up to so many chunks are all compared, without a graph."""
FEW_DOCUMENTS = 10_000
"""Up to so many documents are named in a request."""
MARGIN = 2e-4
"""The largest error of a product in half precision."""
ROUNDING = 1e-5
"""The largest relative error of a sum in single precision."""

Floats = NDArray[np.float64]
Scored = list[tuple[int, float]]
Exact = Callable[[Numbers], tuple[Numbers, Floats]]
"""Returns those of the chunks that PostgreSQL lists, and their exact scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The chunks that a search may return, and the state of the index.

    Attributes:
        chunks: The number of chunks in the whole index.
        allowed: The chunks that may be returned; `None` allows all.
        mark: The mark that the collection must have, as in `collection`.
    """

    chunks: int
    allowed: Allowed | None = None
    mark: int = 0

    @property
    def size(self) -> int:
        """The number of chunks that may be returned."""
        return self.chunks if self.allowed is None else len(self.allowed.chunks)

    @property
    def named(self) -> Sequence[int] | None:
        """The documents, if they are few enough to be named in a request."""
        if self.allowed is None or len(self.allowed.documents) > FEW_DOCUMENTS:
            return None
        return [int(document) for document in self.allowed.documents]

    def among(self, points: Sequence[Found]) -> Numbers:
        """Return the numbers of those points that may be returned."""
        numbers = np.array([point.chunk for point in points], dtype=np.int64)
        return numbers if self.allowed is None else numbers[np.isin(numbers, self.allowed.chunks)]


class QdrantWords:
    """The keyword search of one tenant."""

    def __init__(self, points: TenantPoints, average: float) -> None:
        """Take over a tenant's points in the collection of words.

        Args:
            points: The points of the tenant.
            average: The mean length of a chunk for which weights are computed. If points exist that
                were made with several means, the lowest.
        """
        self._points = points
        self._average = average

    def put(self, chunks: Iterable[tuple[int, int, Mapping[int, int]]]) -> None:
        """Store chunks; the call is durable when it returns, and harmless to repeat.

        Args:
            chunks: The number of each chunk, of its document, and how often it has each term.
        """
        self._points.put(self._point(*chunk) for chunk in chunks)

    def _point(self, chunk: int, document: int, terms: Mapping[int, int]) -> Point:
        """Return the point of a chunk, with the weight of each of its terms."""
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
        """Return the `k` chunks with the highest BM25, and all ties of the last one, by number.

        Args:
            weights: `bm25.compute_query_weights` by the numbers of the terms.
            average: The mean length of a chunk at the revision.
            exact: Returns BM25 at the revision.
            k: The number of chunks to return without ties.
            scope: The chunks that may be returned.

        Raises:
            MissingMarkError: If the collection lacks the mark of the scope.
        """
        if not weights or not scope.size:
            return []
        # Weights made for a shorter average than now have larger norms, so the cluster's sums are
        # too small, at most by this factor.
        growth = max(1.0, average / self._average) * (1 + ROUNDING)
        return _certain(
            lambda limit: self._points.worded(weights, limit, scope.named, scope.mark),
            exact,
            lambda score: score * growth,
            k=k,
            scope=scope,
        )


class QdrantVectors:
    """The vector search of one tenant."""

    def __init__(self, points: TenantPoints) -> None:
        """Take over a tenant's points in the collection of vectors of their dimension."""
        self._points = points

    def put(self, chunks: Iterable[tuple[int, int, NDArray[np.float16]]]) -> None:
        """Store chunks; the call is durable when it returns, and harmless to repeat.

        Args:
            chunks: The number of each chunk, of its document, and its vector of unit length.
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
        """Return the `k` chunks with the highest cosine, and all ties of the last one, by number.

        Args:
            vector: The query's vector, of unit length.
            exact: Returns cosines.
            k: The number of chunks to return without ties.
            scope: The chunks that may be returned.

        Raises:
            MissingMarkError: If the collection lacks the mark of the scope.
        """
        if not scope.size:
            return []
        compare_all = scope.size <= FEW_CHUNKS
        return _certain(
            lambda limit: self._points.nearest(
                vector, limit, scope.named, exact=compare_all, mark=scope.mark
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
    """Return the best `k` and all ties of the last one, once no other chunk can be better.

    Args:
        ask: Returns the first so many points by the cluster's scores.
        exact: Returns their exact scores.
        bound: Returns the highest exact score that is possible for a score of the cluster.
        k: The number of chunks to return without ties.
        scope: The chunks that may be returned.
    """
    limit = k + k // 2 + 16
    while True:
        points = ask(limit)
        numbers, scores = exact(scope.among(points))
        threshold = _kth(scores, k)
        # The cluster has no more points, so none can be missing.
        if len(points) < limit:
            break
        if threshold is not None and threshold > bound(points[-1].score):
            break
        limit *= 4
    if threshold is not None:
        numbers, scores = numbers[scores >= threshold], scores[scores >= threshold]
    return list(zip(numbers.tolist(), scores.tolist(), strict=True))


def _kth(scores: Floats, k: int) -> float | None:
    """Return the score of rank `k`, if there are more scores."""
    if len(scores) <= k:
        return None
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])
