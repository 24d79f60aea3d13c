"""The intervals at which sources are synchronized: `30m`, `1h`, `7d`."""

import re
from datetime import datetime, timedelta

from fathom.errors import UsageError

SHORTEST, LONGEST = timedelta(minutes=1), timedelta(days=30)
_INTERVAL = re.compile(r"([1-9][0-9]{0,4})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def parse_interval(text: str) -> timedelta:
    """Return the time that a text such as `1h` names.

    Raises:
        UsageError: If it names none from a minute to thirty days.
    """
    match = _INTERVAL.fullmatch(text)
    interval = timedelta(**{_UNITS[match[2]]: int(match[1])}) if match else timedelta()
    if not SHORTEST <= interval <= LONGEST:
        raise UsageError(f"{text!r} is no interval; write 1m to 30d, such as 30m, 1h or 7d")
    return interval


def is_over(interval: str, since: str, now: datetime) -> bool:
    """Return whether an interval has passed.

    Args:
        interval: The interval; empty if it never passes.
        since: When it began, as ISO 8601; empty if it has always passed.
        now: The present, with its time zone.
    """
    if not interval or not since:
        return bool(interval)
    # A clock that was set back must not stop a source for as long.
    return not timedelta() <= now - datetime.fromisoformat(since) < parse_interval(interval)
