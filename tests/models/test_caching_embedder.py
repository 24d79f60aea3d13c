from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from fathom.models.base import Matrix
from fathom.models.caching_embedder import CachedEmbedder, LRUCache
from fathom.testing.doubles import HashingEmbedder


def test_the_least_recently_used_value_is_dropped_first() -> None:
    cache: LRUCache[str, str] = LRUCache(6, len)
    cache.put({"a": "aa", "b": "bb", "c": "cc"})
    assert cache.get(["a", "x"]) == {"a": "aa"}

    cache.put({"d": "dd"})

    assert cache.get("abcd") == {"a": "aa", "c": "cc", "d": "dd"}


def test_a_value_larger_than_the_cache_is_not_kept() -> None:
    cache: LRUCache[str, str] = LRUCache(3, len)
    cache.put({"a": "a", "b": "bbbb"})
    assert cache.get("ab") == {}
    cache.put({"a": "a"})
    assert cache.get("ab") == {"a": "a"}


def test_a_new_value_replaces_the_old_one() -> None:
    cache: LRUCache[str, str] = LRUCache(4, len)
    cache.put({"a": "aaa"})
    cache.put({"a": "aa", "b": "bb"})
    assert cache.get("ab") == {"a": "aa", "b": "bb"}


def test_threads_may_share_a_cache() -> None:
    cache: LRUCache[int, int] = LRUCache(50, lambda _: 1)

    def use_cache(first: int) -> None:
        for number in range(first, first + 2_000):
            cache.put({number % 97: number % 97})
            assert all(key == value for key, value in cache.get(range(97)).items())

    with ThreadPoolExecutor(4) as executor:
        list(executor.map(use_cache, range(4)))
    assert len(cache.get(range(97))) == 50


class CountingEmbedder(HashingEmbedder):
    """Records the texts it embeds."""

    def __init__(self) -> None:
        super().__init__(64)
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.asked += texts
        return super().embed(texts)


def test_a_text_is_embedded_once() -> None:
    counts = CountingEmbedder()
    embedder = CachedEmbedder(counts)

    first = embedder.embed(["ferry", "noon", "ferry"])
    again = embedder.embed(["noon", "harbour", "ferry"])

    assert counts.asked == ["ferry", "noon", "harbour"]
    assert np.array_equal(first[[1, 0]], again[[0, 2]])


def test_a_dropped_text_is_embedded_again() -> None:
    counts = CountingEmbedder()
    embedder = CachedEmbedder(counts, LRUCache(1, lambda _vector: 1))

    vectors = embedder.embed(["ferry", "noon"])
    embedder.embed(["noon"])
    again = embedder.embed(["ferry"])

    assert counts.asked == ["ferry", "noon", "ferry"]
    assert np.array_equal(vectors[:1], again)


def test_it_has_the_identity_of_its_embedder() -> None:
    inner = HashingEmbedder(64)
    embedder = CachedEmbedder(inner)
    assert (embedder.dimension, embedder.identity) == (64, inner.identity)
    assert embedder.count("the ferry") == inner.count("the ferry")


def test_the_form_for_many_texts_shares_the_cache() -> None:
    class TwoForms(CountingEmbedder):
        def __init__(self) -> None:
            super().__init__()
            self.bulk_embedder = CountingEmbedder()

    embedder = TwoForms()
    cached = CachedEmbedder(embedder)
    many = cached.bulk_embedder.embed(["a", "b"])

    assert (cached.embed(["b", "a"]) == many[::-1]).all()
    assert (embedder.asked, embedder.bulk_embedder.asked) == ([], ["a", "b"])
    assert cached.embed(["c"]).shape == (1, 64)
    assert cached.bulk_embedder.embed(["c"]).shape == (1, 64)
    assert (embedder.asked, embedder.bulk_embedder.asked) == (["c"], ["a", "b"])
