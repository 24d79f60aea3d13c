"""Intervals of synchronizations, and when they are over."""

from datetime import UTC, datetime, timedelta

import pytest

from fathom.errors import UsageError
from fathom.ingest.sources.interval import is_over, parse_interval

NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "interval"),
    [("1m", timedelta(minutes=1)), ("36h", timedelta(hours=36)), ("30d", timedelta(days=30))],
)
def test_an_interval_is_a_number_with_a_unit(text: str, interval: timedelta) -> None:
    assert parse_interval(text) == interval


@pytest.mark.parametrize("text", ["", "1", "h", "0m", "59s", "1.5h", "31d", "-1h", "1h ", "99999d"])
def test_other_intervals_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="1m to 30d"):
        parse_interval(text)


@pytest.mark.parametrize(
    ("interval", "passed", "over"),
    [
        ("", timedelta(days=9), False),
        ("1h", timedelta(minutes=59), False),
        ("1h", timedelta(hours=1), True),
        ("1h", timedelta(hours=-3), True),  # the clock was set back
    ],
)
def test_an_interval_is_over_after_its_time(interval: str, passed: timedelta, over: bool) -> None:
    assert is_over(interval, (NOW - passed).isoformat(), NOW) is over


def test_an_interval_without_a_beginning_is_over() -> None:
    assert is_over("1h", "", NOW)
    assert not is_over("", "", NOW)
