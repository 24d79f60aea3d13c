"""A loop that keeps an index in line with files while they change."""

import time
from collections.abc import Callable, Mapping
from functools import partial

INTERVAL_S = 2.0
"""The time between two looks at the files, in seconds."""
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

    Ctrl-C ends the loop quietly only while it waits, not within `act`.

    Args:
        look: Takes a snapshot.
        act: Brings the index in line.
        wait: Returns when something may have changed; by default after an interval.
        sleep: Waits for a number of seconds.
    """
    wait = wait or partial(sleep, INTERVAL_S)
    # The snapshot comes before the work, so that a change during the work is noticed afterwards.
    last = look()
    act()
    while True:
        try:
            wait()
            current = look()
            if current == last:
                continue
            while (newer := _wait_and_look(sleep, look)) != current:
                current = newer  # a file is still being written
        except KeyboardInterrupt:
            return
        act()
        # The snapshot is again the one from before the work.
        last = current


def _wait_and_look(sleep: Callable[[float], None], look: Callable[[], Snapshot]) -> Snapshot:
    sleep(INTERVAL_S / 2)
    return look()
