"""Nearest neighbours by bytes and bounds, compared with plain cosines."""

import numpy as np
import pytest
from numpy.typing import NDArray

from fathom.index.embedded.scan import BLOCK, Scan
from fathom.index.rows import HalfMatrix, compute_cosines

DIMENSION = 48


def make_halves(count: int, seed: int) -> HalfMatrix:
    vectors = np.random.default_rng(seed).normal(size=(count, DIMENSION))
    vectors[::7] *= np.random.default_rng(seed + 1).pareto(1.0, size=DIMENSION)  # some are spiky
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float16)


def rank_by_cosine(
    rows: HalfMatrix, vector: NDArray[np.float32], k: int, allowed: NDArray[np.bool_]
) -> dict[int, float]:
    exact = compute_cosines(rows, vector)
    among = np.sort(exact[allowed])[::-1]
    floor = among[min(k, len(among)) - 1]
    return {at: float(exact[at]) for at in np.flatnonzero(allowed & (exact >= floor)).tolist()}


@pytest.mark.parametrize("count", [1, 3, BLOCK, 2 * BLOCK + 5])
@pytest.mark.parametrize("k", [1, 10, 100])
def test_exactly_the_nearest_are_found(count: int, k: int) -> None:
    rows = make_halves(count, 3)
    rows[count // 2] = rows[0]  # equal ones are found together
    scan = Scan(rows)
    for vector in make_halves(20, 5).astype(np.float32):
        for allowed in (None, np.arange(count) % 3 == 0):
            every = np.ones(count, dtype=np.bool_) if allowed is None else allowed
            places, exact = scan.find_nearest(vector, k, allowed)
            assert dict(zip(places.tolist(), exact.tolist(), strict=True)) == rank_by_cosine(
                rows, vector, k, every
            )


def test_an_empty_vector_is_near_to_nothing() -> None:
    rows = make_halves(5, 1)
    rows[2] = 0
    places, exact = Scan(rows).find_nearest(rows[3].astype(np.float32), 5)
    assert exact[places.tolist().index(2)] == 0.0


def test_nothing_is_found_if_no_row_is_allowed() -> None:
    scan = Scan(make_halves(5, 1))
    places, exact = scan.find_nearest(
        make_halves(1, 2)[0].astype(np.float32), 3, np.zeros(5, np.bool_)
    )
    assert len(places) == len(exact) == 0
