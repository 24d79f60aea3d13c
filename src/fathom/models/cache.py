"""A cache of what is read from the files of models, for a process that makes many engines."""

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")


class ModelCache:
    """Weights, tokenizers and digests, each read once from a file that stays as it is.

    A file whose size or time of change is another one than before is read again. All that is kept
    here may be used from several threads and keeps nothing of what it was asked.
    """

    def __init__(self) -> None:
        """Create it without anything in it."""
        self._loaded: dict[object, Any] = {}
        self._lock = Lock()

    def load(self, load: Callable[..., T], file: Path, **options: object) -> T:
        """Return what `load` made of the file with these options, calling it if need be.

        Raises:
            ModelError: As `load` does.
        """
        try:
            status = file.stat()
        except OSError:
            return load(file, **options)  # it says best that the file is missing
        key = (load, file, status.st_mtime_ns, status.st_size, *sorted(options.items()))
        with self._lock:
            if key not in self._loaded:
                self._loaded[key] = load(file, **options)
            loaded: T = self._loaded[key]
            return loaded


def load_through(
    cache: ModelCache | None, load: Callable[..., T], file: Path, **options: object
) -> T:
    """Return `load(file, **options)`, out of the cache if there is one."""
    return cache.load(load, file, **options) if cache else load(file, **options)
