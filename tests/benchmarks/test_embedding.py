"""The table of embedding methods and their losses."""

import numpy as np
from benchmarks.embedding import Padded, count_lost, find_nearest, read_texts

from fathom.models.embedder import load_embedder


def test_nearest_texts_and_losses_are_measured() -> None:
    vectors = np.eye(24, 8, dtype=np.float32) + 0.01 * np.arange(24, dtype=np.float32)[:, None]
    exact = find_nearest(vectors)
    assert exact.shape == (24, 10)
    assert all(place not in row for place, row in enumerate(exact.tolist()))
    assert count_lost(exact, exact) == 0
    assert count_lost(find_nearest(-vectors[::-1]), exact) > 0


def test_padding_is_counted_and_changes_the_vectors_of_the_shipped_model() -> None:
    texts = [*read_texts(None, 3), "harbour"]
    way = Padded(in_order=True)
    assert not np.array_equal(way(texts), load_embedder().embed(texts))
    assert 0 < way.wasted < 1
    assert np.array_equal(way(texts[:1]), load_embedder().embed(texts[:1]))
    assert way.wasted == 0
