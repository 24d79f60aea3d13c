"""Asynchronous work: run to its end for callers of either colour, side by side, told on the way."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

from fathom.runs.context import Listener
from fathom.types import Answer

T = TypeVar("T")
E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class StepEvent:
    """A step of the strategy begins (`news` is empty), or this came of it."""

    name: str
    news: str


@dataclass(frozen=True, slots=True)
class TextEvent:
    """A sentence, its quote found, of an answer that a language model is still writing."""

    text: str


@dataclass(frozen=True, slots=True)
class FinalEvent:
    """The whole answer; the last event of every stream."""

    answer: Answer


StreamEvent = StepEvent | TextEvent | FinalEvent


HOSTS = "fathom-hosts"
"""What threads are called that look up names of hosts, the only ones that are not waited for."""


class _Unwaited(ThreadPoolExecutor):
    """Where a loop looks up names of hosts: a slow name server must not delay its end."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        super().shutdown(wait=False, cancel_futures=True)


def in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in a loop of its own.

    Where the calling thread has a running loop already, as in a notebook, another thread does it
    and this one waits.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(work)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="fathom-loop") as thread:
        return thread.submit(_run, work).result()


def _run(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner() as runner:
        runner.get_loop().set_default_executor(_Unwaited(4, HOSTS))
        return runner.run(work)


async def beside(executor: Executor, job: Callable[[], T]) -> T:
    """Do synchronous work in a thread of these, which carries the context of the caller."""
    return await asyncio.get_running_loop().run_in_executor(executor, copy_context().run, job)


async def side_by_side(jobs: Iterable[Awaitable[T]]) -> list[T]:
    """The values of jobs that are done at the same time, in their order.

    What one of them raises is raised when all have ended: none goes on behind its caller's back.
    """
    ends = await asyncio.gather(*jobs, return_exceptions=True)
    for end in ends:
        if isinstance(end, BaseException):
            raise end
    return [end for end in ends if not isinstance(end, BaseException)]


class _Teller(Listener):
    """Passes on what it is told as events, from whatever thread."""

    wants_text = True

    def __init__(self, tell: Callable[[StreamEvent], None]) -> None:
        self._tell = tell

    def step(self, name: str, news: str) -> None:
        self._tell(StepEvent(name, news))

    def text(self, words: str) -> None:
        self._tell(TextEvent(words))


def stream(ask: Callable[[Listener], Awaitable[Answer]]) -> AsyncGenerator[StreamEvent, None]:
    """What happens while a question is answered; who stops listening ends the work.

    Args:
        ask: Answers, telling a listener.
    """
    return stream_of(ask, _Teller)


async def stream_of(
    ask: Callable[[Listener], Awaitable[Answer]],
    ear: Callable[[Callable[[E], None]], Listener],
) -> AsyncGenerator[E | FinalEvent, None]:
    """As `stream`, told as a listener of one's own puts it.

    Args:
        ask: Answers, telling a listener.
        ear: Makes the listener, which passes on events from whatever thread.
    """
    loop, events = asyncio.get_running_loop(), asyncio.Queue[E | None]()

    def tell(event: E) -> None:
        loop.call_soon_threadsafe(events.put_nowait, event)

    task = asyncio.ensure_future(ask(ear(tell)))
    task.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await events.get()) is not None:
            yield event
        yield FinalEvent(await task)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task])


def stream_in_loop(
    ask: Callable[[Listener], Awaitable[Answer]],
) -> Generator[StreamEvent, None, None]:
    """As `stream`, for a caller without a loop: another thread does the work."""
    work = _StreamThread(ask)
    try:
        while (event := work.events.get()) is not None:
            if isinstance(event, BaseException):
                raise event
            yield event
    finally:
        work.end()


class _StreamThread:
    """A thread that follows a stream; what happens is put into `events`, `None` at the end."""

    def __init__(self, ask: Callable[[Listener], Awaitable[Answer]]) -> None:
        self.events = SimpleQueue[StreamEvent | BaseException | None]()
        self._ask = ask
        self._loop: Future[asyncio.AbstractEventLoop] = Future()
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=lambda: _run(self._work()), name="fathom-stream")
        self._thread.start()

    async def _work(self) -> None:
        self._task = asyncio.ensure_future(self._follow())
        self._loop.set_result(asyncio.get_running_loop())
        try:
            await self._task
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again where somebody listens
            self.events.put(error)
        self.events.put(None)

    async def _follow(self) -> None:
        async for event in stream(self._ask):
            self.events.put(event)

    def end(self) -> None:
        """End the work, whatever it has come to."""
        loop = self._loop.result()
        with suppress(RuntimeError):  # it has ended already
            loop.call_soon_threadsafe(lambda: self._task and self._task.cancel())
        self._thread.join()
