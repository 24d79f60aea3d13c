"""Results of models that are kept while there is room, so that nothing is worked out twice."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fathom.models.base import Embedder, Matrix

K = TypeVar("K")
V = TypeVar("V")
_TEXTS = 8192  # about 16 MB with the shipped model


class LRUCache(Generic[K, V]):
    """Keeps values up to a total weight, the least recently used go first.

    May be used from several threads.
    """

    def __init__(self, capacity: int, weight: Callable[[V], int]) -> None:
        """Nothing is kept yet.

        Args:
            capacity: The total weight that is kept.
            weight: Of a value, at least 1.
        """
        self._capacity = capacity
        self._weight = weight
        self._used = 0
        self._kept: OrderedDict[K, V] = OrderedDict()
        self._lock = Lock()

    def get(self, keys: Iterable[K]) -> dict[K, V]:
        """The values of those keys that are still kept."""
        with self._lock:
            values = {key: self._kept[key] for key in keys if key in self._kept}
            for key in values:
                self._kept.move_to_end(key)
        return values

    def put(self, values: Mapping[K, V]) -> None:
        """Keep values, and drop the least recently used ones that there is no more room for."""
        with self._lock:
            for key, value in values.items():
                self._drop(key)
                self._kept[key] = value
                self._used += self._weight(value)
            while self._used > self._capacity:
                self._drop(next(iter(self._kept)))

    def _drop(self, key: K) -> None:
        if key in self._kept:
            self._used -= self._weight(self._kept.pop(key))


def _vectors() -> LRUCache[str, NDArray[np.float32]]:
    return LRUCache(_TEXTS, lambda _vector: 1)


@dataclass(frozen=True, slots=True)
class CachedEmbedder:
    """An `Embedder` with a cache; for texts that come again, as sentences of an index do."""

    embedder: Embedder
    cache: LRUCache[str, NDArray[np.float32]] = field(default_factory=_vectors)

    @property
    def dimension(self) -> int:
        """See `Embedder.dimension`."""
        return self.embedder.dimension

    @property
    def identity(self) -> Mapping[str, str]:
        """See `Embedder.identity`."""
        return self.embedder.identity

    def count(self, text: str) -> int:
        """See `Embedder.count`."""
        return self.embedder.count(text)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed`."""
        known = self.cache.get(texts)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        fresh = dict(zip(new, self.embedder.embed(new), strict=True)) if new else {}
        self.cache.put(fresh)
        vectors = known | fresh
        return np.stack([vectors[text] for text in texts]) if texts else self.embedder.embed([])
