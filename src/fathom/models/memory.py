"""A memory that forgets what was not asked for longest."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Memory(Generic[K, V]):
    """Keeps values up to a total weight; may be used from several threads."""

    def __init__(self, room: int, weight: Callable[[V], int]) -> None:
        """Nothing is known yet.

        Args:
            room: The total weight that is kept.
            weight: Of a value, at least 1.
        """
        self._room = room
        self._weight = weight
        self._used = 0
        self._kept: OrderedDict[K, V] = OrderedDict()
        self._lock = Lock()

    def known(self, keys: Iterable[K]) -> dict[K, V]:
        """The values of those keys that are still known."""
        with self._lock:
            found = {key: self._kept[key] for key in keys if key in self._kept}
            for key in found:
                self._kept.move_to_end(key)
        return found

    def keep(self, values: Mapping[K, V]) -> None:
        """Remember values, and forget the oldest ones that there is no more room for."""
        with self._lock:
            for key, value in values.items():
                self._drop(key)
                self._kept[key] = value
                self._used += self._weight(value)
            while self._used > self._room:
                self._drop(next(iter(self._kept)))

    def _drop(self, key: K) -> None:
        if key in self._kept:
            self._used -= self._weight(self._kept.pop(key))
