"""All vectors looked at: their cosines within bounds from bytes, then exactly where it matters."""

import numpy as np
import simsimd
from numpy.typing import NDArray

from fathom.index.base import Vector
from fathom.index.rows import LARGEST, HalfMatrix, cosines

BLOCK = 64
"""So many rows are turned into bytes at a time."""
ROUNDING = 1e-6
"""More than the bounds themselves may err by, which are computed in float32."""

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


class _Bytes:
    """Rows as whole numbers of steps: a row is `codes * steps`, but for `errors`.

    Attributes:
        codes: (rows, dimension) int8.
        steps: One a row.
        errors: The length of what a row differs by.
        lengths: Of the rows as they are here.
    """

    def __init__(self, rows: NDArray[np.floating]) -> None:
        count = len(rows)
        self.codes = np.empty(rows.shape, dtype=np.int8)
        self.steps, self.errors, self.lengths = (np.empty(count) for _ in range(3))
        for start in range(0, count, BLOCK):
            part = slice(start, start + BLOCK)
            exact = rows[part].astype(np.float32)
            largest = np.abs(exact).max(axis=1)
            steps = np.where(largest > 0, largest, np.float32(1)) / np.float32(LARGEST)
            codes = np.rint(exact / steps[:, None])
            near = codes * steps[:, None]
            self.codes[part], self.steps[part] = codes, steps
            self.errors[part] = _lengths(exact - near)
            self.lengths[part] = _lengths(near)


def _lengths(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    lengths: NDArray[np.floating] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return lengths


class Scan:
    """Finds the nearest of its vectors, all of them and no other.

    Products of bytes are exact on every processor and a quarter of the work. How far they can be
    from a cosine is known (Cauchy and Schwarz), so few cosines have to be computed.
    """

    def __init__(self, halves: HalfMatrix) -> None:
        """Take over vectors of unit length."""
        self._halves = halves
        self._bytes = _Bytes(halves)

    def __len__(self) -> int:
        return len(self._halves)

    def nearest(
        self, vector: Vector, k: int, kept: NDArray[np.bool_] | None = None
    ) -> tuple[Places, Floats]:
        """The places of the `k` highest cosines and of all that equal the last, and the cosines.

        Args:
            vector: Of unit length.
            k: At least 1.
            kept: Which vectors are looked at; by default all.
        """
        low, high = self._bounds(vector)
        places = np.arange(len(self)) if kept is None else np.flatnonzero(kept)
        if kept is not None:
            low, high = low[kept], high[kept]
        if len(places) > k:
            places = places[high >= _highest(low, k)]
        exact = cosines(self._halves[places], vector)
        best = exact >= _highest(exact, k)
        return places[best], exact[best]

    def _bounds(self, vector: Vector) -> tuple[Floats, Floats]:
        """What each cosine is not below, and not above."""
        known, asked = self._bytes, _Bytes(vector[None])
        products = np.asarray(simsimd.dot(asked.codes[0], known.codes)).reshape(-1)
        about = products * (known.steps * asked.steps[0])
        length = float(np.linalg.norm(vector.astype(np.float64)))
        reach = known.errors * length + known.lengths * asked.errors[0] + ROUNDING
        return about - reach, about + reach


def _highest(values: Floats, k: int) -> float:
    """The `k`-th of the highest; of fewer the last."""
    if not len(values):
        return 0.0
    at = max(0, len(values) - k)
    return float(np.partition(values, at)[at])
