"""The system's notifications of changes in folders, of the extra `watch`."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.redaction import open_log

if TYPE_CHECKING:  # the extra may be missing
    from watchfiles._rust_notify import RustNotify

LOG = open_log("fathom.serving")
PACKAGE = "watchfiles"
PACE_S = 2.0
"""The seconds between two answers, at least; and between two looks whether a folder was replaced.

So many notifications cost no more than polling at this interval."""
LONGEST_S = 30.0
"""The seconds after which a change is supposed without a notification.

Queues overflow, network drives tell nothing of other machines, links lead elsewhere, and a folder
whose name is not UTF-8 cannot be watched."""
STEP_MS = 100
"""The milliseconds between two looks whether something was notified, or Ctrl-C pressed."""
DEBOUNCE_MS = 1000
"""The milliseconds for which notifications that go on are gathered, at most."""
WATCHES_TREES = sys.platform in {"darwin", "win32"}
"""If true, one watch covers a folder with all that lies below it.

Elsewhere each folder is watched by itself: the library would enter links to other folders."""

Identity = tuple[int, int] | None
"""The device and the number of a folder; `None` if there is none."""


def choose_wait(list_folders: Callable[[], Iterable[Path]]) -> Callable[[], None] | None:
    """Return what waits for a change in folders, or `None` without the extra `watch`."""
    return None if find_spec(PACKAGE) is None else Notifications(list_folders).wait


class Notifications:
    """The system's notifications of changes in folders.

    They only tell when to look: what has changed is found by a look at the files.
    """

    def __init__(self, list_folders: Callable[[], Iterable[Path]]) -> None:
        """Create it; nothing is watched before the first `wait`.

        Args:
            list_folders: Returns the folders to watch, each by itself.
        """
        self._list_folders = list_folders
        self._identities: Mapping[Path, Identity] = {}
        self._watcher: RustNotify | None = None
        self._answered = time.monotonic() - PACE_S
        self._polls = False

    def wait(self) -> None:
        """Return as soon as something may have changed since the files were looked at last.

        Raises:
            KeyboardInterrupt: At Ctrl-C.
        """
        identities = {} if self._polls else {path: _identify(path) for path in self._list_folders()}
        if self._watcher is None or identities != self._identities:
            # What changed before the folders were watched was not notified: look again at once.
            self._subscribe(identities)
        else:
            self._await_change(self._watcher)
        time.sleep(max(0.0, self._answered + PACE_S - time.monotonic()))
        self._answered = time.monotonic()

    def _subscribe(self, identities: Mapping[Path, Identity]) -> None:
        from watchfiles._rust_notify import RustNotify

        self._close()
        if self._polls:
            return
        folders = [
            str(path)
            for path, identity in identities.items()
            if identity is not None and _is_text(path)
        ]
        try:
            self._watcher = RustNotify(folders, False, False, 0, WATCHES_TREES, True)
        except FileNotFoundError:
            return  # removed since it was listed
        except (OSError, RuntimeError) as error:
            self._polls = True
            LOG.warning(
                "changes are looked for every %g s, as the system notifies no more folders: %s; "
                "raise fs.inotify.max_user_watches and max_user_instances",
                PACE_S,
                error,
            )
        self._identities = identities

    def _await_change(self, watcher: "RustNotify") -> None:
        try:
            changes = watcher.watch(DEBOUNCE_MS, STEP_MS, 0, _Doubt(self._identities))
        except RuntimeError as error:  # such as a name that is not UTF-8
            LOG.debug("the folders are watched anew: %s", error)
            self._close()
            return
        if changes == "signal":
            raise KeyboardInterrupt
        # A folder that was replaced may have its old number, but is not watched any more.
        if isinstance(changes, str) or any(Path(path) in self._identities for _, path in changes):
            self._close()

    def _close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None


class _Doubt:
    """A doubt that grows while nothing is notified; the library asks whether it ends a wait."""

    def __init__(self, identities: Mapping[Path, Identity]) -> None:
        self._identities = identities
        self._began = self._looked = time.monotonic()

    def is_set(self) -> bool:
        """Return whether a change is to be supposed."""
        now = time.monotonic()
        if now < self._looked + PACE_S:
            return False
        self._looked = now
        return now >= self._began + LONGEST_S or any(
            _identify(path) != identity for path, identity in self._identities.items()
        )


def _is_text(folder: Path) -> bool:
    """Return whether the library can watch a folder of this name, which must be UTF-8."""
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        return False
    return True


def _identify(folder: Path) -> Identity:
    try:
        status = os.stat(folder)  # noqa: PTH116 - asked for each folder every few seconds
    except OSError:
        return None
    return status.st_dev, status.st_ino
