"""The system's notifications of changes in folders, of the extra `watch`."""

import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Set
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.redaction import open_log

if TYPE_CHECKING:  # the extra may be missing
    from watchfiles._rust_notify import RustNotify

LOG = open_log("fathom.serving")
PACKAGE = "watchfiles"
PACE_S = 2.0
"""The least seconds between two returns of `wait`, and between two checks for replaced folders.

So many notifications cost no more than polling at this interval."""
LONGEST_S = 30.0
"""The seconds without a notification after which a change is assumed.

Notifications can be missing: queues overflow, network drives do not report changes by other
machines, links lead elsewhere, and a folder whose name is not UTF-8 cannot be watched."""
STEP_MS = 100
"""The milliseconds between two checks for notifications and for Ctrl-C."""
DEBOUNCE_MS = 1000
"""The milliseconds for which continuing notifications are collected, at most."""
WATCHES_TREES = sys.platform in {"darwin", "win32"}
"""True if one watch covers a folder with everything below it.

On other systems each folder is watched separately, as the library would follow links."""

Identity = tuple[int, int] | None
"""The device and the number of a folder; `None` if there is none."""


def can_notify() -> bool:
    """Return whether the extra `watch` is installed."""
    return find_spec(PACKAGE) is not None


def choose_wait(list_folders: Callable[[], Iterable[Path]]) -> Callable[[], object] | None:
    """Return a function that waits for a change in folders; `None` without the extra `watch`."""
    return Notifications(list_folders).wait if can_notify() else None


class Notifications:
    """The system's notifications of changes in folders.

    They only say when to read the folders again; the caller finds the changes in the files.
    """

    def __init__(
        self, list_folders: Callable[[], Iterable[Path]], ending: threading.Event | None = None
    ) -> None:
        """Create the notifications; nothing is watched before the first `wait`.

        Args:
            list_folders: Returns the folders to watch, including all subfolders.
            ending: An event that ends a wait early.
        """
        self._list_folders = list_folders
        self._ending = ending or threading.Event()
        self._identities: Mapping[Path, Identity] = {}
        self._watcher: RustNotify | None = None
        self._answered = time.monotonic() - PACE_S
        self._polls = False

    def wait(self, longest_s: float | None = None) -> Set[Path]:
        """Wait until something may have changed since the last call.

        Args:
            longest_s: The seconds after which a change is assumed, by default `LONGEST_S`.

        Returns:
            The changed files and folders, as far as they are known; newly watched folders count as
            changed.

        Raises:
            KeyboardInterrupt: At Ctrl-C.
        """
        identities = {} if self._polls else {path: _identify(path) for path in self._list_folders()}
        if self._watcher is None or identities != self._identities:
            changed = self._subscribe(identities)
        else:
            changed = self._await_change(self._watcher, longest_s or LONGEST_S)
        self._ending.wait(max(0.0, self._answered + PACE_S - time.monotonic()))
        self._answered = time.monotonic()
        return changed

    def _subscribe(self, identities: Mapping[Path, Identity]) -> Set[Path]:
        """Watch these folders; return those that are new, replaced or not watched any more."""
        from watchfiles._rust_notify import RustNotify

        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None
        if self._polls:
            return frozenset()
        folders = [
            str(path)
            for path, identity in identities.items()
            if identity is not None and _is_text(path)
        ]
        try:
            self._watcher = RustNotify(folders, False, False, 0, WATCHES_TREES, True)
        except (OSError, RuntimeError) as error:
            self._polls = True
            LOG.warning(
                "changes are polled, because the system sends no more notifications: %s; raise "
                "fs.inotify.max_user_watches and max_user_instances",
                error,
            )
        changed = {path for path, _ in identities.items() ^ self._identities.items()}
        self._identities = identities
        return changed

    def _await_change(self, watcher: "RustNotify", longest_s: float) -> Set[Path]:
        if not self._identities:
            self._ending.wait(longest_s)
            return frozenset()
        stop_event = _StopEvent(self._identities, self._ending)
        try:
            changes = watcher.watch(DEBOUNCE_MS, STEP_MS, int(longest_s * 1000), stop_event)
        except RuntimeError as error:  # such as a name that is not UTF-8
            LOG.debug("the folders are watched anew: %s", error)
            self._identities = {}
            return frozenset()
        if changes == "signal":
            raise KeyboardInterrupt
        if isinstance(changes, str):
            # The library forgets the notifications just before it stopped, so all counts as
            # changed.
            self._identities = {} if changes == "stop" else self._identities
            return frozenset()
        changed = {Path(path) for _, path in changes}
        # A replaced folder may have the same number as before, but is not watched any more.
        self._identities = {
            path: identity for path, identity in self._identities.items() if path not in changed
        }
        return changed


class _StopEvent:
    """The event that ends a wait of the library, at the end of the server or for a new folder."""

    def __init__(self, identities: Mapping[Path, Identity], ending: threading.Event) -> None:
        self._identities, self._ending = identities, ending
        self._looked = time.monotonic()

    def is_set(self) -> bool:
        """Return whether the server ends, or a folder was replaced."""
        if self._ending.is_set():
            return True
        now = time.monotonic()
        if now < self._looked + PACE_S:
            return False
        self._looked = now
        return any(_identify(path) != identity for path, identity in self._identities.items())


def _is_text(folder: Path) -> bool:
    """Return whether the library can watch a folder of this name, which must be UTF-8."""
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        return False
    return True


def _identify(folder: Path) -> Identity:
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
