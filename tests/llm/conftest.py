"""Fixtures that run coroutines and check that nothing is left behind."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

import pytest
from tests.factories import index_fees, list_open_sockets

from fathom.llm.endpoint import PROVIDERS

T = TypeVar("T")
Run = Callable[[Coroutine[Any, Any, T]], T]


@pytest.fixture(autouse=True, scope="session")
def _import_provider() -> None:
    """Do the slow import outside of every deadline."""
    pytest.importorskip(PROVIDERS["openai"].package)


@pytest.fixture(autouse=True, scope="session")
def _start_reading_process(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Start the process that reads files, whose socket all later tests share."""
    index_fees(tmp_path_factory.mktemp("fees"))


@pytest.fixture(autouse=True)
def _check_nothing_is_left() -> Iterator[None]:
    threads, sockets = set(threading.enumerate()), list_open_sockets()
    yield
    assert set(threading.enumerate()) <= threads
    assert list_open_sockets() <= sockets


@pytest.fixture
def run() -> Run[Any]:
    """Return a function that runs a coroutine and fails if it leaves a task behind."""

    async def run_whole(work: Coroutine[Any, Any, T]) -> T:
        try:
            return await work
        finally:
            leftover = asyncio.all_tasks() - {asyncio.current_task()}
            assert not leftover, f"tasks left behind: {leftover}"

    return lambda work: asyncio.run(run_whole(work))
