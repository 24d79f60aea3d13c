"""Probes that fail, for the test of their count; pytest collects them only where they are named."""

import os
from collections.abc import Callable

import pytest


@pytest.mark.parametrize("number", range(int(os.environ.get("MANY", "4"))))
def test_the_third_fails(number: int) -> None:
    assert number != 2


@pytest.mark.slow
def test_the_seventh_of_its_own_fails(count_probes: Callable[[int], None]) -> None:
    for number in range(10):
        count_probes(1)
        assert number < 6


@pytest.mark.skip
def test_one_is_skipped() -> None:
    pass
