"""A loop that keeps an index in line with files while they change."""

import time
from collections.abc import Callable, Mapping
from functools import partial

from fathom.errors import IndexLocked
from fathom.redaction import open_log

LOG = open_log("fathom")
INTERVAL_S = 2.0
"""The seconds between two looks at the files."""
MOST_LOOKS = 60
"""The number of looks, one a second, after which files that still change are read anyway."""
Snapshot = Mapping[str, object]
"""The state of all files; it differs after every change."""


def watch(
    look: Callable[[], Snapshot],
    act: Callable[[], object],
    *,
    wait: Callable[[], object] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Call `act` now, and again after each change of the files, until Ctrl-C.

    After a change, wait until the files rest, or for `MOST_LOOKS` looks. If another process is
    writing to the index, `act` is tried again later, except for the first time.

    Ctrl-C ends the loop without an error only while it waits, not during `act`.

    Args:
        look: Takes a snapshot.
        act: Brings the index in line with the files.
        wait: Returns when something may have changed; by default after `INTERVAL_S`.
        sleep: Waits for a number of seconds.
    """
    wait = wait or partial(sleep, INTERVAL_S)
    # The snapshot is taken before the work, so that changes during the work are noticed.
    last, was_locked = look(), False
    act()
    while True:
        try:
            wait()
            current = look()
            if current == last:
                continue
            for _ in range(MOST_LOOKS):
                previous, current = current, _wait_and_look(sleep, look)
                if current == previous:
                    break  # else a file is still being written, perhaps a log without an end
        except KeyboardInterrupt:
            return
        try:
            act()
        except IndexLocked as error:  # the next look tries again
            if not was_locked:
                LOG.warning("%s; the next look tries again", error)
            was_locked = True
            continue
        # Again the snapshot from before the work.
        last, was_locked = current, False


def _wait_and_look(sleep: Callable[[float], None], look: Callable[[], Snapshot]) -> Snapshot:
    sleep(INTERVAL_S / 2)
    return look()
