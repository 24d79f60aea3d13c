"""BM25 as tantivy counts it, for engines that have no tantivy: the same scores to six digits.

A chunk's score for a query is the sum over the query's terms of `query weight * f / (f + norm)`,
with `f` how often the chunk has the term. Source: Robertson and Zaragoza (2009), with tantivy's
lengths of one byte.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

K1 = 1.2
B = 0.75

_EXACT = 40
_OFFSET = 24

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Statistics:
    """What BM25 has to know of all chunks of an index at one revision.

    Attributes:
        chunks: How many there are.
        tokens: How many terms they have together, repetitions counted.
        frequencies: In how many chunks each of the query's terms occurs; without those in none.
    """

    chunks: int
    tokens: int
    frequencies: Mapping[str, int]

    @property
    def average(self) -> float:
        """The mean length."""
        return max(self.tokens, 1) / max(self.chunks, 1)


def quantised(lengths: Numbers) -> Numbers:
    """Lengths as tantivy keeps them in a byte: exact below 40, then 3 bits after the first."""
    beyond = np.maximum(lengths - _OFFSET, 1)
    # Exact: doubles hold every length that a chunk can have.
    shift = np.maximum(np.frexp(beyond.astype(np.float64))[1] - 4, 0)
    coarse = ((beyond >> shift) << shift) + _OFFSET
    return np.where(lengths < _EXACT, lengths, coarse)


def norms(lengths: Numbers, average: float) -> Floats:
    """What a chunk's length adds below the fraction; of quantised lengths."""
    return np.asarray(K1 * (1 - B + B * lengths / average), dtype=np.float64)


def query_weights(terms: Mapping[str, int], statistics: Statistics) -> dict[str, float]:
    """Of each term that occurs somewhere, how much it can give at most; all are positive.

    Args:
        terms: How often the query has each.
        statistics: Of the whole index, whatever part of it is searched.
    """
    return {
        term: terms[term] * (K1 + 1) * _inverse_frequency(statistics, count)
        for term in terms
        if (count := statistics.frequencies.get(term, 0))
    }


def _inverse_frequency(statistics: Statistics, count: int) -> float:
    rarity = (statistics.chunks - count + 0.5) / (count + 0.5)
    # Tantivy adds in single precision, which tells for terms that are nearly everywhere.
    return float(np.log(np.float32(1) + np.float32(rarity)))
