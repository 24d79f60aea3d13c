"""Work for callers of either colour: the same answers, the same errors, nothing left running."""

import asyncio
import threading

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
READ = Step(id="read", name="read")


async def telling(listener: Listener) -> Answer:
    listener.on_event(StepStart(READ))
    await asyncio.sleep(0)
    event = TextEvent("One word.")
    await asyncio.get_running_loop().run_in_executor(None, listener.on_event, event)
    listener.on_event(StepEnd(READ))
    return ANSWER


TOLD: list[StreamEvent] = [
    StepStart(READ),
    TextEvent("One word."),
    StepEnd(READ),
    FinalEvent(ANSWER),
]


async def breaking(listener: Listener) -> Answer:
    listener.on_event(StepStart(READ))
    raise KeyError("nobody foresaw this")


class Waits:
    """An answer that never comes; knows whether its work was ended."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    async def __call__(self, listener: Listener) -> Answer:
        listener.on_event(StepStart(READ))
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()
        raise AssertionError


def test_a_coroutine_is_run_to_its_end_with_and_without_a_loop_around() -> None:
    async def inside() -> str:
        return run_in_loop(asyncio.sleep(0, "done"))  # as in a notebook

    assert run_in_loop(asyncio.sleep(0, "done")) == "done"
    assert asyncio.run(inside()) == "done"


def test_a_stream_tells_steps_text_and_the_answer_in_order() -> None:
    async def listened() -> list[StreamEvent]:
        return [event async for event in stream_events(telling)]

    assert list(stream_from_thread(telling)) == TOLD
    assert asyncio.run(listened()) == TOLD


def test_what_breaks_is_raised_where_somebody_listens() -> None:
    events = stream_from_thread(breaking)
    assert next(events) == StepStart(READ)
    with pytest.raises(KeyError, match="nobody foresaw"):
        next(events)


def test_who_stops_listening_ends_the_work() -> None:
    threads, waits = set(threading.enumerate()), Waits()
    events = stream_from_thread(waits)
    assert next(events) == StepStart(READ)
    events.close()
    assert waits.ended.is_set()
    assert set(threading.enumerate()) <= threads

    async def leaves() -> None:
        events = stream_events(waits)
        assert await anext(events) == StepStart(READ)
        await events.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    waits.ended.clear()
    asyncio.run(leaves())
    assert waits.ended.is_set()
