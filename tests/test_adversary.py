"""Whole runs against an adversary, over the wire; `benchmarks/adversary.py` plays many more."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adversary import PRICES, Panel, play
from tests.making import ingested, open_sockets
from tests.scripted_server import served

from fathom.strategies.base import STRATEGIES

RUNS = int(os.environ.get("ADVERSARY_RUNS", "60"))
AT_ONCE = 10
QUICK = 20
"""So many runs are played each time, the others where there is time."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    pytest.importorskip("langchain_openai")
    folder = ingested(tmp_path_factory.mktemp("adversary"))
    (folder / "prices.toml").write_text(PRICES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(STRATEGIES, "panel", Panel.of)
        yield folder


@pytest.mark.parametrize(
    "first",
    [
        first if first < QUICK else pytest.param(first, marks=pytest.mark.slow)
        for first in range(0, RUNS, AT_ONCE)
    ],
)
def test_nothing_is_overrun_and_nothing_left_behind(folder: Path, first: int) -> None:
    with served() as server:
        for number in range(first, first + AT_ONCE):
            played = play(number, folder, server, replay=number % 3 == 0)
            assert played.overrun_s < 2.0  # for a busy machine; the benchmark measures it


def test_no_socket_is_left_after_ten_runs(folder: Path) -> None:
    before = open_sockets()
    with served() as server:
        for number in range(1_000_000, 1_000_010):
            play(number, folder, server)
    gc.collect()
    assert open_sockets() <= before
