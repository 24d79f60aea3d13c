"""A loop that keeps an index in line with files while they change."""

import time
from collections.abc import Callable, Mapping
from functools import partial

from fathom.errors import IndexLocked
from fathom.redaction import open_log

LOG = open_log("fathom")
INTERVAL_S = 2.0
"""The time between two looks at the files, in seconds."""
MOST_LOOKS = 60
"""The looks, one a second, after which files that go on changing are read all the same."""
Snapshot = Mapping[str, object]
"""The state of all files; it differs after every change."""


def watch(
    look: Callable[[], Snapshot],
    act: Callable[[], object],
    *,
    wait: Callable[[], object] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Act now, and again whenever something has changed and come to rest, until Ctrl-C.

    What does not come to rest is acted on after `MOST_LOOKS` looks. If another process writes to
    the index, all but the first act are tried again.

    Ctrl-C ends the loop quietly only while it waits, not within `act`.

    Args:
        look: Takes a snapshot.
        act: Brings the index in line.
        wait: Returns when something may have changed; by default after an interval.
        sleep: Waits for a number of seconds.
    """
    wait = wait or partial(sleep, INTERVAL_S)
    # The snapshot comes before the work, so that a change during the work is noticed afterwards.
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
        # The snapshot is again the one from before the work.
        last, was_locked = current, False


def _wait_and_look(sleep: Callable[[float], None], look: Callable[[], Snapshot]) -> Snapshot:
    sleep(INTERVAL_S / 2)
    return look()
