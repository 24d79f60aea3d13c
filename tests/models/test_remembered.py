from collections.abc import Sequence

import numpy as np

from fathom.models.base import Matrix
from fathom.models.hashing import HashingEmbedder
from fathom.models.memory import Memory
from fathom.models.remembered import RememberingEmbedder


class Counts(HashingEmbedder):
    """Keeps what it was asked to embed."""

    def __init__(self) -> None:
        super().__init__(64)
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.asked += texts
        return super().embed(texts)


def test_a_text_is_embedded_once() -> None:
    counts = Counts()
    embedder = RememberingEmbedder(counts)

    first = embedder.embed(["ferry", "noon", "ferry"])
    again = embedder.embed(["noon", "harbour", "ferry"])

    assert counts.asked == ["ferry", "noon", "harbour"]
    assert np.array_equal(first[[1, 0]], again[[0, 2]])


def test_what_is_forgotten_is_embedded_again() -> None:
    counts = Counts()
    embedder = RememberingEmbedder(counts, Memory(1, lambda _vector: 1))

    vectors = embedder.embed(["ferry", "noon"])
    embedder.embed(["noon"])
    again = embedder.embed(["ferry"])

    assert counts.asked == ["ferry", "noon", "ferry"]
    assert np.array_equal(vectors[:1], again)


def test_it_is_the_embedder_it_remembers_for() -> None:
    inner = HashingEmbedder(64)
    embedder = RememberingEmbedder(inner)
    assert (embedder.dimension, embedder.identity) == (64, inner.identity)
    assert embedder.count("the ferry") == inner.count("the ferry")
