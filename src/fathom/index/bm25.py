"""BM25 as tantivy computes it, for engines without tantivy: the same scores to six digits.

A chunk's score for a query is the sum over the query's terms of `query weight * f / (f + norm)`,
where `f` is the number of times that the chunk has the term. Source: Robertson and Zaragoza (2009),
with chunk lengths rounded as tantivy stores them (`quantise_lengths`).
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
    """The statistics that BM25 needs of all chunks of an index at one revision.

    Attributes:
        chunks: The number of chunks.
        tokens: The number of terms in all chunks, repetitions counted.
        frequencies: The number of chunks in which each of the query's terms occurs; terms that
            occur nowhere are left out.
    """

    chunks: int
    tokens: int
    frequencies: Mapping[str, int]

    @property
    def mean_length(self) -> float:
        """The mean number of terms in a chunk."""
        return max(self.tokens, 1) / max(self.chunks, 1)


def quantise_lengths(lengths: Numbers) -> Numbers:
    """Round lengths down to the values that tantivy stores in a byte.

    Lengths below 40 stay exact. Of a longer one, the four highest bits of `length - 24` are kept.
    """
    beyond = np.maximum(lengths - _OFFSET, 1)
    # Doubles hold every length that a chunk can have exactly.
    shift = np.maximum(np.frexp(beyond.astype(np.float64))[1] - 4, 0)
    coarse = ((beyond >> shift) << shift) + _OFFSET
    return np.where(lengths < _EXACT, lengths, coarse)


def compute_norms(lengths: Numbers, average: float) -> Floats:
    """Compute the norm of each quantised length: `K1 * (1 - B + B * length / average)`."""
    return np.asarray(K1 * (1 - B + B * lengths / average), dtype=np.float64)


def compute_query_weights(terms: Mapping[str, int], statistics: Statistics) -> dict[str, float]:
    """Compute the query weight of each term that occurs in the index.

    The weight bounds what the term can add to a score.

    Args:
        terms: The number of times that the query has each term.
        statistics: The statistics of the whole index, whatever part of it is searched.

    Returns:
        The positive weights by term, without terms that occur nowhere.
    """
    return {
        term: terms[term] * (K1 + 1) * _compute_inverse_frequency(statistics, count)
        for term in terms
        if (count := statistics.frequencies.get(term, 0))
    }


def _compute_inverse_frequency(statistics: Statistics, count: int) -> float:
    """Compute the inverse document frequency of a term that `count` chunks have."""
    rarity = (statistics.chunks - count + 0.5) / (count + 0.5)
    # Tantivy adds in single precision, which changes the sum for terms that are nearly everywhere.
    return float(np.log(np.float32(1) + np.float32(rarity)))
