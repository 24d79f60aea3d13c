"""Keeping an index in line with files while they change."""

import time
from collections.abc import Callable, Mapping

EVERY_S = 2.0
Snapshot = Mapping[str, object]
"""What stands where; another one after every change."""


def watch(
    look: Callable[[], Snapshot],
    act: Callable[[], object],
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Act now and whenever something has changed and come to rest, until Ctrl-C while waiting.

    Args:
        look: Takes a snapshot.
        act: Brings the index in line.
        sleep: Waits so many seconds.
    """
    seen = look()
    act()
    while True:
        try:
            sleep(EVERY_S)
            now = look()
            if now == seen:
                continue
            while (later := _after(sleep, look)) != now:
                now = later  # still being written
        except KeyboardInterrupt:
            return
        act()
        seen = now


def _after(sleep: Callable[[float], None], look: Callable[[], Snapshot]) -> Snapshot:
    sleep(EVERY_S / 2)
    return look()
