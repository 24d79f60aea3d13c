"""How work grows with the length of a text."""

import time
from collections.abc import Callable

SHORT, LONG = 5_000, 20_000
_SLACK_S = 0.03
"""So much a machine that is busy with something else may add."""


def assert_linear(work: Callable[[str], object], unit: str, around: str = "") -> None:
    """Four times the text takes about four times the work; a square would make it sixteen.

    Args:
        work: What is done with a text.
        unit: What the text repeats.
        around: Stands before it and after it.
    """
    short, long = (f"{around}{(unit * length)[:length]}{around}" for length in (SHORT, LONG))
    assert _seconds(work, long) < 8 * _seconds(work, short) + _SLACK_S, repr(unit)


def _seconds(work: Callable[[str], object], text: str) -> float:
    """Of this thread's processor time, the best of three."""
    found = []
    for _ in range(3):
        begun = time.thread_time()
        work(text)
        found.append(time.thread_time() - begun)
        if found[-1] > 1:
            break  # it is slow enough to tell
    return min(found)
