"""Warnings of work that a server tries again and again; each is logged once until it changes."""

import threading
from collections.abc import Hashable
from logging import Logger


class RepeatedWarnings:
    """The last warning about each piece of work; safe from threads."""

    def __init__(self, log: Logger) -> None:
        """Create the object.

        Args:
            log: The log that gets the warnings.
        """
        self._log = log
        self._lock = threading.Lock()
        self._last: dict[Hashable, str] = {}

    def warn(self, work: Hashable, line: str) -> None:
        """Log a line about a piece of work, unless it is the last one about it.

        Args:
            work: The name of the work.
            line: The line.
        """
        with self._lock:
            is_new = self._last.get(work) != line
            self._last[work] = line
        if is_new:
            self._log.warning("%s", line)

    def forget(self, work: Hashable) -> None:
        """Forget the last line about a piece of work that has succeeded."""
        with self._lock:
            self._last.pop(work, None)
