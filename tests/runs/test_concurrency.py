"""Work for synchronous and asynchronous callers: equal answers, equal errors, nothing left
running.
"""

import asyncio
import errno
import gc
import os
import threading
from typing import NoReturn

import pytest

from fathom.runs.concurrency import run_in_loop, stream_events, stream_from_thread
from fathom.runs.events import FinalEvent, Listener, StepEnd, StepStart, StreamEvent, TextEvent
from fathom.runs.trace import Step
from fathom.types import Answer
from fathom.usage import Budget, Usage

ANSWER = Answer(
    question="q", status="abstained", strategy="s", phase="", stop_reason="no_evidence",
    usage=Usage(), budget=Budget(),
)  # fmt: skip
READ_STEP = Step(id="read", name="read")


async def answer_with_events(listener: Listener) -> Answer:
    listener.on_event(StepStart(READ_STEP))
    await asyncio.sleep(0)
    event = TextEvent("One word.")
    await asyncio.get_running_loop().run_in_executor(None, listener.on_event, event)
    listener.on_event(StepEnd(READ_STEP))
    return ANSWER


EVENTS: list[StreamEvent] = [
    StepStart(READ_STEP),
    TextEvent("One word."),
    StepEnd(READ_STEP),
    FinalEvent(ANSWER),
]


async def fail_with_events(listener: Listener) -> Answer:
    listener.on_event(StepStart(READ_STEP))
    raise KeyError("nobody foresaw this")


def refuse_files() -> NoReturn:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


class EndlessAnswer:
    """An answer that never comes, and that records whether its work was ended."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    async def __call__(self, listener: Listener) -> Answer:
        listener.on_event(StepStart(READ_STEP))
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()
        raise AssertionError


def test_a_coroutine_is_run_to_its_end_inside_and_outside_of_a_loop() -> None:
    async def run_inside() -> str:
        return run_in_loop(asyncio.sleep(0, "done"))  # as in a notebook

    assert run_in_loop(asyncio.sleep(0, "done")) == "done"
    assert asyncio.run(run_inside()) == "done"


def test_a_stream_yields_steps_text_and_the_answer_in_order() -> None:
    async def listen() -> list[StreamEvent]:
        return [event async for event in stream_events(answer_with_events)]

    assert list(stream_from_thread(answer_with_events)) == EVENTS
    assert asyncio.run(listen()) == EVENTS


def test_an_error_is_raised_to_the_listener() -> None:
    events = stream_from_thread(fail_with_events)
    assert next(events) == StepStart(READ_STEP)
    with pytest.raises(KeyError, match="nobody foresaw"):
        next(events)


@pytest.mark.filterwarnings("error")
def test_a_loop_that_cannot_be_opened_is_an_error_and_no_hang(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = set(threading.enumerate())
    events = stream_from_thread(answer_with_events)
    monkeypatch.setattr(asyncio, "new_event_loop", refuse_files)
    monkeypatch.setattr(asyncio.events, "new_event_loop", refuse_files)
    with pytest.raises(OSError, match="Too many open files"):
        next(events)
    assert set(threading.enumerate()) <= threads
    with pytest.raises(OSError, match="Too many open files"):
        run_in_loop(asyncio.sleep(0))
    gc.collect()  # a coroutine that was never awaited warns when it is collected


def test_ending_the_stream_ends_the_work() -> None:
    threads, waits = set(threading.enumerate()), EndlessAnswer()
    events = stream_from_thread(waits)
    assert next(events) == StepStart(READ_STEP)
    events.close()
    assert waits.ended.is_set()
    assert set(threading.enumerate()) <= threads

    async def leave_stream() -> None:
        events = stream_events(waits)
        assert await anext(events) == StepStart(READ_STEP)
        await events.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    waits.ended.clear()
    asyncio.run(leave_stream())
    assert waits.ended.is_set()
