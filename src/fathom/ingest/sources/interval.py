"""The intervals at which sources are synchronized: `30m`, `1h`, `7d`."""

import re
from datetime import datetime, timedelta

from fathom.errors import UsageError

SHORTEST, LONGEST = timedelta(minutes=1), timedelta(days=30)
_INTERVAL = re.compile(r"([1-9][0-9]{0,4})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def parse_interval(text: str) -> timedelta:
    """Return the interval that a text such as `1h` names.

    Raises:
        UsageError: If the text is not of this form, or names less than a minute or more than 30
            days.
    """
    match = _INTERVAL.fullmatch(text)
    interval = timedelta(**{_UNITS[match[2]]: int(match[1])}) if match else timedelta()
    if not SHORTEST <= interval <= LONGEST:
        raise UsageError(f"{text!r} is no interval; write 1m to 30d, such as 30m, 1h or 7d")
    return interval


def is_over(interval: str, since: str, now: datetime) -> bool:
    """Return whether an interval has passed.

    Args:
        interval: The interval, such as `1h`; if it is empty, the result is False.
        since: When the interval began, as ISO 8601 with a time zone; if it is empty, the interval
            has passed.
        now: The present time with a time zone.

    Raises:
        UsageError: If the interval is malformed.
    """
    if not interval or not since:
        return bool(interval)
    # A beginning in the future (the clock was set back) counts as passed, or nothing would happen
    # until the clock has caught up.
    return not timedelta() <= now - datetime.fromisoformat(since) < parse_interval(interval)
