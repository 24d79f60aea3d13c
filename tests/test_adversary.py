"""Whole runs against a hostile server; `benchmarks/adversary.py` plays many more."""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.adversary import PANEL, PRICES, play_scenario
from tests.factories import index_fees, list_open_sockets
from tests.scripted_server import serve

from fathom.assembly.calibrations import load_shipped_calibrations
from fathom.registry import STRATEGIES

FIRST = int(os.environ.get("ADVERSARY_FIRST", "0"))
LATE_S = float(os.environ.get("ADVERSARY_LATE_S", "2"))  # for a busy machine
RUNS = int(os.environ.get("ADVERSARY_RUNS", "60"))
AT_ONCE = 10
QUICK = 20
"""So many runs are played each time, the others where there is time."""


@pytest.fixture(scope="module")
def index_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    pytest.importorskip("langchain_openai")
    folder = index_fees(tmp_path_factory.mktemp("adversary"))
    (folder / "prices.toml").write_text(PRICES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(STRATEGIES, "panel", PANEL)
        yield folder
    load_shipped_calibrations.cache_clear()  # they are of all strategies, so of the panel too


@pytest.mark.parametrize(
    "first",
    [
        first if first < FIRST + QUICK else pytest.param(first, marks=pytest.mark.slow)
        for first in range(FIRST, FIRST + RUNS, AT_ONCE)
    ],
)
def test_budgets_hold_and_no_task_thread_or_socket_is_left(
    index_folder: Path, first: int, count_probes: Callable[[int], None]
) -> None:
    with serve() as server:
        for number in range(first, first + AT_ONCE):
            count_probes(1)
            played = play_scenario(number, index_folder, server, replay=number % 3 == 0)
            assert played.overrun_s < LATE_S  # the benchmark measures it


def test_ten_runs_leave_no_socket_open(index_folder: Path) -> None:
    before = list_open_sockets()
    with serve() as server:
        for number in range(1_000_000, 1_000_010):
            play_scenario(number, index_folder, server)
    gc.collect()
    assert list_open_sockets() <= before
