"""A cache of the contents of model files, for a process that makes many engines."""

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")


class ModelCache:
    """A cache of weights, tokenizers and digests, each read once while its file does not change.

    A file whose size or modification time has changed is read again. All cached objects are safe to
    use from several threads, and hold no state of their users. So is the cache itself.
    """

    def __init__(self) -> None:
        """Create an empty cache."""
        self._loaded: dict[object, Any] = {}
        self._lock = Lock()

    def load(self, load: Callable[..., T], file: Path, **options: object) -> T:
        """Return `load(file, **options)`; a repeated call returns the same object.

        Args:
            load: The function that reads the file.
            file: The file.
            options: The keyword arguments of `load`, which can be hashed.

        Raises:
            ModelError: As `load` does.
        """
        try:
            status = file.stat()
        except OSError:
            return load(file, **options)  # reports the missing file in its own words
        key = (load, file, status.st_mtime_ns, status.st_size, *sorted(options.items()))
        with self._lock:
            if key not in self._loaded:
                self._loaded[key] = load(file, **options)
            loaded: T = self._loaded[key]
            return loaded


def load_through(
    cache: ModelCache | None, load: Callable[..., T], file: Path, **options: object
) -> T:
    """Return `load(file, **options)`, through the cache if there is one."""
    return cache.load(load, file, **options) if cache else load(file, **options)
