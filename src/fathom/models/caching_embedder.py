"""Caches of the values that models compute."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from fathom.models.base import EmbedderWrapper, Matrix, get_bulk_embedder

K = TypeVar("K")
V = TypeVar("V")
_TEXTS = 8192  # about 16 MB with the shipped model


class LRUCache(Generic[K, V]):
    """A cache of values up to a total weight, which drops the least recently used values first.

    It is safe to use from several threads.
    """

    def __init__(self, capacity: int, weigh: Callable[[V], int]) -> None:
        """Create an empty cache.

        Args:
            capacity: The largest total weight of the cached values.
            weigh: A function that returns the weight of a value, at least 1.
        """
        self._capacity = capacity
        self._weigh = weigh
        self._used = 0
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = Lock()

    def get(self, keys: Iterable[K]) -> dict[K, V]:
        """Return the cached values of these keys; a key that is not cached is left out."""
        with self._lock:
            values = {key: self._values[key] for key in keys if key in self._values}
            for key in values:
                self._values.move_to_end(key)
        return values

    def put(self, values: Mapping[K, V]) -> None:
        """Add values, and drop the least recently used ones that exceed the capacity."""
        with self._lock:
            for key, value in values.items():
                self._drop(key)
                self._values[key] = value
                self._used += self._weigh(value)
            while self._used > self._capacity:
                self._drop(next(iter(self._values)))

    def _drop(self, key: K) -> None:
        """Drop a key, if it is cached; the caller holds the lock."""
        if key in self._values:
            self._used -= self._weigh(self._values.pop(key))


def _make_vector_cache() -> LRUCache[str, NDArray[np.float32]]:
    """Return a cache of the vectors of `_TEXTS` texts."""
    return LRUCache(_TEXTS, lambda _vector: 1)


@dataclass(frozen=True, slots=True)
class CachedEmbedder(EmbedderWrapper):
    """An `Embedder` with a cache, for texts that recur, such as the sentences of an index."""

    cache: LRUCache[str, NDArray[np.float32]] = field(default_factory=_make_vector_cache)

    @property
    def bulk_embedder(self) -> "CachedEmbedder":
        """The embedder for many texts, with the same cache."""
        return CachedEmbedder(get_bulk_embedder(self.embedder), self.cache)

    @override
    def embed(self, texts: Sequence[str]) -> Matrix:
        cached = self.cache.get(texts)
        new = [text for text in dict.fromkeys(texts) if text not in cached]
        fresh = dict(zip(new, self.embedder.embed(new), strict=True)) if new else {}
        self.cache.put(fresh)
        vectors = cached | fresh
        return np.stack([vectors[text] for text in texts]) if texts else self.embedder.embed([])
