"""Search by words and by vectors on a Qdrant cluster; the result does not hang on the cluster.

The cluster proposes candidates: by weights that were made with an older average length, by
vectors of half precision, from shards of whatever layout. They are scored exactly here, and more
of them are asked for until none that was left out could be among the best. So the result is that
of BM25 over the index's present statistics and of exact cosines; only what a graph of neighbours
misses is missed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.index.bm25 import norms, quantised
from fathom.index.qdrant.collection import Found, Point, TenantPoints, sparse

FEW_CHUNKS = 10_000
"""So many are all looked at, without a graph."""
FEW_DOCUMENTS = 10_000
"""So many can be named in a request."""
MARGIN = 2e-4
"""A product of half precision may err by this much."""
ROUNDING = 1e-5
"""A sum of single precision may err by this share."""

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
Scored = list[tuple[int, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which chunks a search may give.

    Attributes:
        chunks: How many there are of them.
        documents: Their documents by number, ascending; `None` where that is all of them.
        listed: Which of these chunks, by number, are among them at the reader's revision.
    """

    chunks: int
    documents: NDArray[np.int64] | None
    listed: Callable[[Numbers], NDArray[np.bool_]]

    @property
    def named(self) -> Sequence[int] | None:
        """The documents, where they are few enough to be named in a request."""
        if self.documents is None or len(self.documents) > FEW_DOCUMENTS:
            return None
        return [int(one) for one in self.documents]


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
        length = quantised(np.array([sum(terms.values())]))
        norm = float(norms(length, self._average)[0])
        return Point(
            chunk=chunk,
            document=document,
            vector=sparse({term: count / (count + norm) for term, count in terms.items()}),
            payload={"length": int(length[0]), "norm": norm},
        )

    def search(
        self, weights: Mapping[int, float], average: float, *, k: int, scope: Scope
    ) -> Scored:
        """The chunks with the highest BM25, by number, `k` and what ties with the last.

        Args:
            weights: `bm25.query_weights` by the numbers of the terms.
            average: The mean length of a chunk at the revision.
            k: See above.
            scope: What may be given.
        """
        if not weights or not scope.chunks:
            return []
        # A shorter average than now makes norms larger, and so what the cluster sums too small.
        most = max(1.0, average / self._average) * (1 + ROUNDING)
        return _certain(
            lambda limit: self._points.worded(weights, limit, scope.named),
            lambda found: _bm25(found, weights, average),
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
            Point(chunk=chunk, document=document, vector=vector.astype(np.float64).tolist())
            for chunk, document, vector in chunks
        )

    def search(
        self,
        vector: NDArray[np.float32],
        cosines: Callable[[Numbers], Floats],
        *,
        k: int,
        scope: Scope,
    ) -> Scored:
        """The chunks with the highest cosine, by number, `k` and what ties with the last.

        Args:
            vector: Of unit length.
            cosines: The exact ones of chunks, by number.
            k: See above.
            scope: What may be given.
        """
        if not scope.chunks:
            return []
        exact = scope.chunks <= FEW_CHUNKS
        return _certain(
            lambda limit: self._points.nearest(vector, limit, scope.named, exact=exact),
            lambda found: cosines(_numbers(found)),
            lambda score: score + MARGIN,
            k=k,
            scope=scope,
        )


def _certain(
    ask: Callable[[int], list[Found]],
    score: Callable[[list[Found]], Floats],
    bound: Callable[[float], float],
    *,
    k: int,
    scope: Scope,
) -> Scored:
    """The best `k` and what ties with the last, once nothing that was not found can be better.

    Args:
        ask: The first so many by the cluster's scores.
        score: Their exact scores.
        bound: The highest exact score that goes with a score of the cluster's.
        k: How many are wanted.
        scope: What may be given.
    """
    limit = k + k // 2 + 16
    while True:
        found = ask(limit)
        kept = _listed(found, scope)
        scores = score(kept)
        least = _kth(scores, k)
        if len(found) < limit:
            break
        if least is not None and least > bound(found[-1].score):
            break
        limit *= 4
    best = [(one.chunk, float(value)) for one, value in zip(kept, scores, strict=True)]
    return best if least is None else [pair for pair in best if pair[1] >= least]


def _kth(scores: Floats, k: int) -> float | None:
    """The score of rank `k`, where there are more."""
    if len(scores) <= k:
        return None
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])


def _listed(found: list[Found], scope: Scope) -> list[Found]:
    if not found:
        return []
    mask = scope.listed(_numbers(found))
    return [one for one, there in zip(found, mask, strict=True) if there]


def _numbers(found: list[Found]) -> Numbers:
    return np.array([one.chunk for one in found], dtype=np.int64)


def _bm25(found: list[Found], weights: Mapping[int, float], average: float) -> Floats:
    """Scores with the present average; how often a term occurs is read back from its weight."""
    lengths = np.array([one.payload["length"] for one in found], dtype=np.int64)
    old = np.array([one.payload["norm"] for one in found], dtype=np.float64)
    new = norms(lengths, average)
    scores = np.zeros(len(found))
    for term, weight in weights.items():
        held = np.array([one.weights.get(term, 0.0) for one in found])
        counts = np.rint(held * old / (1 - held))
        scores += weight * counts / (counts + new)
    return scores
