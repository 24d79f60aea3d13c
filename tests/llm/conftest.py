"""Runs coroutines, and sees to it that nothing is left behind."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

import pytest
from tests.making import list_open_sockets

from fathom.llm.endpoint import PROVIDERS

T = TypeVar("T")
Run = Callable[[Coroutine[Any, Any, T]], T]


@pytest.fixture(autouse=True, scope="session")
def _provider_is_imported() -> None:
    """The slow import happens outside of every deadline."""
    pytest.importorskip(PROVIDERS["openai"].package)


@pytest.fixture(autouse=True)
def _leaves_nothing_behind() -> Iterator[None]:
    threads, sockets = set(threading.enumerate()), list_open_sockets()
    yield
    assert set(threading.enumerate()) <= threads
    assert list_open_sockets() <= sockets


@pytest.fixture
def run() -> Run[Any]:
    """Runs a coroutine to its end and fails if it leaves a task behind."""

    async def whole(work: Coroutine[Any, Any, T]) -> T:
        try:
            return await work
        finally:
            left = asyncio.all_tasks() - {asyncio.current_task()}
            assert not left, f"tasks left behind: {left}"

    return lambda work: asyncio.run(whole(work))
