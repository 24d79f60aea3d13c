"""Exact searches by words and by vectors on a Qdrant cluster.

The cluster proposes candidates, whose scores are approximate: its word weights were made with an
older mean length, and its vectors have half precision. PostgreSQL scores the candidates exactly and
drops those that it does not list. More candidates are requested until no other chunk can be among
the best. So the hits are those of BM25 over the index's present statistics and of exact cosines;
only a graph of neighbours may miss some.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.index.bm25 import compute_norms, quantise_lengths
from fathom.index.filters import Numbers, SearchScope
from fathom.index.qdrant.collection import (
    DIGITS,
    QdrantPoint,
    ScoredPoint,
    TenantPoints,
    build_sparse_vector,
)

MAX_EXACT_CHUNKS = 10_000
"""Up to so many allowed chunks are all compared, without the graph."""
MAX_NAMED_DOCUMENTS = 10_000
"""Up to so many allowed documents are named in a request."""
MARGIN = 2e-4
"""The largest error of the cluster's product of two vectors, because of half precision."""
ROUNDING = 1e-5
"""The largest relative error of the cluster's sums, because of single precision."""

Floats = NDArray[np.float64]
ScoredChunks = list[tuple[int, float]]
ScoreExactly = Callable[[Numbers], tuple[Numbers, Floats]]
"""A function that returns those chunks that PostgreSQL lists, and their exact scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QdrantScope:
    """The chunks that a search may return, and the state of the index.

    Attributes:
        chunks: The number of chunks in the whole index.
        allowed: The chunks that may be returned; `None` allows all.
        mark: The mark that the collection must have, as in `collection`.
    """

    chunks: int
    allowed: SearchScope | None = None
    mark: int = 0

    @property
    def size(self) -> int:
        """The number of chunks that may be returned."""
        return self.chunks if self.allowed is None else len(self.allowed.chunks)

    @property
    def named_documents(self) -> Sequence[int] | None:
        """The allowed documents; `None` if all are allowed or too many to be named."""
        if self.allowed is None or len(self.allowed.documents) > MAX_NAMED_DOCUMENTS:
            return None
        return [int(document) for document in self.allowed.documents]

    def select_allowed(self, points: Sequence[ScoredPoint]) -> Numbers:
        """Return the numbers of those points that may be returned."""
        numbers = np.array([point.chunk for point in points], dtype=np.int64)
        return numbers if self.allowed is None else numbers[np.isin(numbers, self.allowed.chunks)]


class QdrantWords:
    """The keyword search of one tenant."""

    def __init__(self, points: TenantPoints, average: float) -> None:
        """Take over a tenant's points in the collection of words.

        Args:
            points: The points of the tenant.
            average: The mean length of a chunk for which the weights of the points are computed;
                the lowest one if the points were made with several.
        """
        self._points = points
        self._average = average

    def put(self, chunks: Iterable[tuple[int, int, Mapping[int, int]]]) -> None:
        """Store chunks; the call is durable when it returns, and harmless to repeat.

        Args:
            chunks: For each chunk its number, the number of its document, and the number of times
                that it has each term, by the number of the term.
        """
        self._points.put(self._build_point(*chunk) for chunk in chunks)

    def _build_point(self, chunk: int, document: int, terms: Mapping[int, int]) -> QdrantPoint:
        """Return the point of a chunk, with the weight of each of its terms."""
        norm = compute_norms(quantise_lengths(np.array([sum(terms.values())])), self._average)
        counts = np.fromiter(terms.values(), dtype=np.float64, count=len(terms))
        weights = np.round(counts / (counts + norm), 7).tolist()
        vector = build_sparse_vector(dict(zip(terms, weights, strict=True)))
        return QdrantPoint(chunk=chunk, document=document, vector=vector)

    def search(
        self,
        weights: Mapping[int, float],
        average: float,
        score_exactly: ScoreExactly,
        *,
        k: int,
        scope: QdrantScope,
    ) -> ScoredChunks:
        """Return the `k` chunks with the highest BM25 scores, and all ties of the last one.

        Args:
            weights: The query's weights, by the number of the term.
            average: The present mean length of a chunk in the whole index.
            score_exactly: The function that scores chunks exactly.
            k: The number of chunks, at least 1.
            scope: The chunks that may be returned.

        Returns:
            The numbers of the chunks and their exact scores, in any order.

        Raises:
            MissingMarkError: If the collection lacks the mark of the scope.
        """
        if not weights or not scope.size:
            return []
        # Weights that were made for a lower mean length than the present one have larger norms, so
        # the cluster's sums are too small, at most by this factor.
        growth = max(1.0, average / self._average) * (1 + ROUNDING)
        return _search_until_certain(
            lambda limit: self._points.search_words(
                weights, limit, scope.named_documents, scope.mark
            ),
            score_exactly,
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
            chunks: For each chunk its number, the number of its document, and its vector of unit
                length.
        """
        self._points.put(
            QdrantPoint(
                chunk=chunk,
                document=document,
                vector=np.round(vector.astype(np.float64), DIGITS).tolist(),
            )
            for chunk, document, vector in chunks
        )

    def search(
        self,
        vector: NDArray[np.float32],
        score_exactly: ScoreExactly,
        *,
        k: int,
        scope: QdrantScope,
    ) -> ScoredChunks:
        """Return the `k` chunks with the highest cosines, and all ties of the last one.

        A graph of neighbours may miss some of them, if more than `MAX_EXACT_CHUNKS` are allowed.

        Args:
            vector: A vector of unit length.
            score_exactly: The function that computes exact cosines.
            k: The number of chunks, at least 1.
            scope: The chunks that may be returned.

        Returns:
            The numbers of the chunks and their cosines, in any order.

        Raises:
            MissingMarkError: If the collection lacks the mark of the scope.
        """
        if not scope.size:
            return []
        compare_all = scope.size <= MAX_EXACT_CHUNKS
        return _search_until_certain(
            lambda limit: self._points.search_vectors(
                vector, limit, scope.named_documents, exact=compare_all, mark=scope.mark
            ),
            score_exactly,
            lambda score: score + MARGIN,
            k=k,
            scope=scope,
        )


def _search_until_certain(
    ask: Callable[[int], list[ScoredPoint]],
    score_exactly: ScoreExactly,
    bound: Callable[[float], float],
    *,
    k: int,
    scope: QdrantScope,
) -> ScoredChunks:
    """Return the best `k` and all ties of the last one, once no other chunk can be better.

    Args:
        ask: The function that returns the best points by the cluster's scores, given their number.
        score_exactly: The function that returns the exact scores of those chunks that exist.
        bound: The function that returns the highest exact score that a score of the cluster can
            stand for.
        k: The number of chunks to return, ties apart.
        scope: The chunks that may be returned.
    """
    limit = k + k // 2 + 16
    while True:
        points = ask(limit)
        numbers, scores = score_exactly(scope.select_allowed(points))
        threshold = _find_kth(scores, k)
        # The cluster has no more points, so none can be missing.
        if len(points) < limit:
            break
        if threshold is not None and threshold > bound(points[-1].score):
            break
        limit *= 4
    if threshold is not None:
        numbers, scores = numbers[scores >= threshold], scores[scores >= threshold]
    return list(zip(numbers.tolist(), scores.tolist(), strict=True))


def _find_kth(scores: Floats, k: int) -> float | None:
    """Return the score of rank `k`; `None` if there are at most `k` scores."""
    if len(scores) <= k:
        return None
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])
