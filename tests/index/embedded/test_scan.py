"""Neighbours by bytes and bounds, against plain cosines."""

import numpy as np
import pytest
from numpy.typing import NDArray

from fathom.index.embedded.scan import BLOCK, Scan
from fathom.index.rows import HalfMatrix, compute_cosines

DIMENSION = 48


def halves(count: int, seed: int) -> HalfMatrix:
    vectors = np.random.default_rng(seed).normal(size=(count, DIMENSION))
    vectors[::7] *= np.random.default_rng(seed + 1).pareto(1.0, size=DIMENSION)  # some are spiky
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float16)


def plain(
    rows: HalfMatrix, vector: NDArray[np.float32], k: int, kept: NDArray[np.bool_]
) -> dict[int, float]:
    exact = compute_cosines(rows, vector)
    among = np.sort(exact[kept])[::-1]
    floor = among[min(k, len(among)) - 1]
    return {at: float(exact[at]) for at in np.flatnonzero(kept & (exact >= floor)).tolist()}


@pytest.mark.parametrize("count", [1, 3, BLOCK, 2 * BLOCK + 5])
@pytest.mark.parametrize("k", [1, 10, 100])
def test_all_the_nearest_are_found_and_no_other(count: int, k: int) -> None:
    rows = halves(count, 3)
    rows[count // 2] = rows[0]  # equal ones are found together
    scan = Scan(rows)
    for vector in halves(20, 5).astype(np.float32):
        for kept in (None, np.arange(count) % 3 == 0):
            every = np.ones(count, dtype=np.bool_) if kept is None else kept
            places, exact = scan.find_nearest(vector, k, kept)
            assert dict(zip(places.tolist(), exact.tolist(), strict=True)) == plain(
                rows, vector, k, every
            )


def test_an_empty_vector_is_near_to_nothing() -> None:
    rows = halves(5, 1)
    rows[2] = 0
    places, exact = Scan(rows).find_nearest(rows[3].astype(np.float32), 5)
    assert exact[places.tolist().index(2)] == 0.0


def test_where_none_is_kept_none_is_found() -> None:
    scan = Scan(halves(5, 1))
    places, exact = scan.find_nearest(halves(1, 2)[0].astype(np.float32), 3, np.zeros(5, np.bool_))
    assert len(places) == len(exact) == 0
