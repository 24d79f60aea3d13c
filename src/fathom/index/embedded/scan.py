"""An exact scan over all vectors: bounds of their cosines from bytes, then the exact cosines."""

import numpy as np
import simsimd
from numpy.typing import NDArray

from fathom.index.base import Vector
from fathom.index.rows import MAX_CODE, HalfMatrix, compute_cosines

BLOCK = 64
"""The number of rows that are converted to bytes at a time."""
ROUNDING = 1e-6
"""An allowance for the rounding of the bounds, which are computed in float32."""

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


class _QuantisedRows:
    """Vectors that are rounded to bytes: row `i` is about `codes[i] * steps[i]`.

    Attributes:
        codes: The rounded rows, (n, dimension) int8.
        steps: The step of each row, (n,).
        errors: The length of the difference between each row and its rounded form, (n,).
        lengths: The length of the rounded form of each row, (n,).
    """

    def __init__(self, rows: NDArray[np.floating]) -> None:
        count = len(rows)
        self.codes = np.empty(rows.shape, dtype=np.int8)
        self.steps, self.errors, self.lengths = (np.empty(count) for _ in range(3))
        # Block by block, because a float32 copy of all rows would take twice their memory.
        for start in range(0, count, BLOCK):
            block = slice(start, start + BLOCK)
            exact = rows[block].astype(np.float32)
            largest = np.abs(exact).max(axis=1)
            steps = np.where(largest > 0, largest, np.float32(1)) / np.float32(MAX_CODE)
            codes = np.rint(exact / steps[:, None])
            rounded = codes * steps[:, None]
            self.codes[block], self.steps[block] = codes, steps
            self.errors[block] = _compute_lengths(exact - rounded)
            self.lengths[block] = _compute_lengths(rounded)


def _compute_lengths(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    """Compute the Euclidean length of each row."""
    lengths: NDArray[np.floating] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return lengths


class Scan:
    """An exact search for the nearest of a set of vectors.

    Products of bytes are exact on every processor and take a quarter of the work. The difference
    between such a product and the cosine is bounded (Cauchy and Schwarz), so few cosines have to be
    computed.
    """

    def __init__(self, halves: HalfMatrix) -> None:
        """Take over vectors of unit length, (n, dimension)."""
        self._halves = halves
        self._bytes = _QuantisedRows(halves)

    def __len__(self) -> int:
        return len(self._halves)

    def find_nearest(
        self, vector: Vector, k: int, mask: NDArray[np.bool_] | None = None
    ) -> tuple[Places, Floats]:
        """Return the places of the `k` highest cosines and of all ties of the last.

        Args:
            vector: A vector of unit length.
            k: The number of places, at least 1.
            mask: True for each vector to search, (n,) bool; by default all.

        Returns:
            The places (row numbers), ascending, and the cosines, in the same order.
        """
        low, high = self._limit_cosines(vector)
        places = np.arange(len(self)) if mask is None else np.flatnonzero(mask)
        if mask is not None:
            low, high = low[mask], high[mask]
        if len(places) > k:
            # At least k cosines reach this floor, so a vector whose upper bound is lower cannot be
            # among them.
            places = places[high >= _find_kth_highest(low, k)]
        exact = compute_cosines(self._halves[places], vector)
        best = exact >= _find_kth_highest(exact, k)
        return places[best], exact[best]

    def _limit_cosines(self, vector: Vector) -> tuple[Floats, Floats]:
        """Compute the lower and the upper bound of each cosine."""
        rows, query = self._bytes, _QuantisedRows(vector[None])
        products = np.asarray(simsimd.dot(query.codes[0], rows.codes)).reshape(-1)
        about = products * (rows.steps * query.steps[0])
        length = float(np.linalg.norm(vector.astype(np.float64)))
        reach = rows.errors * length + rows.lengths * query.errors[0] + ROUNDING
        return about - reach, about + reach


def _find_kth_highest(values: Floats, k: int) -> float:
    """Return the `k`-th highest value; the lowest of fewer values, and 0 without values."""
    if not len(values):
        return 0.0
    at = max(0, len(values) - k)
    return float(np.partition(values, at)[at])
