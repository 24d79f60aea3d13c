"""Asynchronous work for callers with or without an event loop, and streams of its events."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, suppress
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, TypeVar

from typing_extensions import override

from fathom.runs.events import FinalEvent, Listener, RunEvent, StreamEvent
from fathom.types import Answer

T = TypeVar("T")


HOSTS = "fathom-hosts"
"""The prefix of the names of threads that look up host names; nothing waits for their end."""


class _LookupExecutor(ThreadPoolExecutor):
    """An executor for looking up host names.

    Its shutdown does not wait, so that a slow name server does not delay the end of a loop.
    """

    @override
    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait=False, cancel_futures=True)


def run_in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in a new event loop and return its value.

    If the calling thread already runs a loop, as in a notebook, another thread runs the coroutine
    and this one waits.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run_coroutine(work)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="fathom-loop") as thread:
        return thread.submit(_run_coroutine, work).result()


def _run_coroutine(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a new event loop of this thread and return its value."""
    # If no loop can be opened, the coroutine never starts; Python warns of one that is not closed.
    with closing(work), asyncio.Runner() as runner:
        runner.get_loop().set_default_executor(_LookupExecutor(4, HOSTS))
        return runner.run(work)


async def run_in_thread(executor: Executor, job: Callable[[], T]) -> T:
    """Run synchronous work in a thread of the executor, with the caller's context variables."""
    # The variables tell the state of the index that the question sees, so every thread needs them.
    return await asyncio.get_running_loop().run_in_executor(executor, copy_context().run, job)


async def gather_all(jobs: Iterable[Awaitable[T]]) -> list[T]:
    """Run jobs at the same time and return their values, in the order of the jobs.

    If jobs raise, the first exception in that order is raised after all jobs have ended, so that no
    job goes on unnoticed.
    """
    outcomes = await asyncio.gather(*jobs, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]


class _EventSender(Listener):
    """A listener that passes each event on to a function."""

    wants_text = True

    def __init__(self, send: Callable[[RunEvent], None]) -> None:
        self._send = send

    @override
    def on_event(self, event: RunEvent) -> None:
        self._send(event)


async def stream_events(
    ask: Callable[[Listener], Awaitable[Answer]],
) -> AsyncGenerator[StreamEvent, None]:
    """Yield the events of a question while it is answered, and the answer last.

    Closing the stream cancels the question and waits for its end.

    Args:
        ask: The function that answers the question and calls the listener.

    Raises:
        Exception: Whatever `ask` raises.
    """
    loop, events = asyncio.get_running_loop(), asyncio.Queue[RunEvent | None]()

    def send(event: RunEvent) -> None:
        # Listeners are called from threads, and an asyncio queue belongs to its loop.
        loop.call_soon_threadsafe(events.put_nowait, event)

    task = asyncio.ensure_future(ask(_EventSender(send)))
    task.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await events.get()) is not None:
            yield event
        yield FinalEvent(await task)
    finally:
        # The question must not go on after its stream was closed.
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task])


def stream_from_thread(
    ask: Callable[[Listener], Awaitable[Answer]],
) -> Generator[StreamEvent, None, None]:
    """Yield the events of a question as `stream_events` does, for a caller without an event loop.

    Another thread answers the question. Closing the stream cancels it and waits for its end.

    Args:
        ask: The function that answers the question and calls the listener.

    Raises:
        BaseException: Whatever `ask` raises.
    """
    work = _StreamThread(ask)
    try:
        while (event := work.events.get()) is not None:
            if isinstance(event, BaseException):
                raise event
            yield event
    finally:
        work.end()


class _StreamThread:
    """A thread that reads a stream into a queue.

    Attributes:
        events: The queue of the events, then an exception if there was one, then `None`.
    """

    def __init__(self, ask: Callable[[Listener], Awaitable[Answer]]) -> None:
        self.events = SimpleQueue[StreamEvent | BaseException | None]()
        self._ask = ask
        self._cancel: Future[Callable[[], object]] = Future()
        self._thread = threading.Thread(target=self._run, name="fathom-stream")
        self._thread.start()

    def _run(self) -> None:
        """Read the stream in an event loop, and put its exception and `None` into the queue."""
        try:
            _run_coroutine(self._follow_stream())
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again in the thread of the caller
            self.events.put(error)
        if not self._cancel.done():  # the loop could not be opened, for lack of files or memory
            self._cancel.set_result(lambda: None)
        self.events.put(None)

    async def _follow_stream(self) -> None:
        """Put the events of the stream into the queue; set the function that cancels this task."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        # Set before the first wait, so that `end` can always reach the loop.
        self._cancel.set_result(lambda: loop.call_soon_threadsafe(task.cancel))
        async for event in stream_events(self._ask):
            self.events.put(event)

    def end(self) -> None:
        """Cancel the work if it still goes on, and wait for the end of the thread."""
        cancel = self._cancel.result()
        with suppress(RuntimeError):  # the loop has ended already
            cancel()
        self._thread.join()
