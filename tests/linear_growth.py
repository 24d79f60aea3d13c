"""A check that work grows linearly with the length of a text."""

import time
from collections.abc import Callable

SHORT, LONG = 5_000, 20_000
_SLACK_S = 0.03
"""The time that a busy machine may add, in seconds."""


def assert_linear(work: Callable[[str], object], unit: str, around: str = "") -> None:
    """Check that four times the text takes about four times the work, not sixteen times.

    Args:
        work: The function under test.
        unit: The string that the text repeats.
        around: A string put before the text and after it.
    """
    short, long = (f"{around}{(unit * length)[:length]}{around}" for length in (SHORT, LONG))
    limit = 8 * min(measure_seconds(work, short) for _ in range(3)) + _SLACK_S
    # The best of three counts; a first one within the limit needs no other.
    assert any(measure_seconds(work, long) < limit for _ in range(3)), repr(unit)


def measure_seconds(work: Callable[[str], object], text: str) -> float:
    """Return the processor time of this thread in seconds."""
    begun = time.thread_time()
    work(text)
    return time.thread_time() - begun
