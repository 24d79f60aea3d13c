"""No generator of an SDK is still closing when a call ends, however it ends."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from tests.llm.factories import HELLO, Run, make_chat, make_deadline
from tests.llm.wire_formats import DIALECTS, Dialect
from tests.scripted_server import Act, drips, never_ends, says, serve

from fathom.llm.base import Call
from fathom.llm.chat import LangChainChat
from fathom.llm.endpoint import resolve_endpoint
from fathom.llm.faults import CallFailure

TURNS = 100
"""More turns of the loop than the longest chain of generators takes to close."""

Interruption = Callable[["asyncio.Task[object]", float], None]
"""An interruption of a task that calls a model with this deadline."""


def pass_deadline(_: "asyncio.Task[object]", deadline: float) -> None:
    """Hold the loop until the deadline is over, as a busy machine does."""
    time.sleep(max(0.0, deadline - time.monotonic()) + 0.01)


def cancel_task(task: "asyncio.Task[object]", _: float) -> None:
    task.cancel()


def cancel_past_deadline(task: "asyncio.Task[object]", deadline: float) -> None:
    pass_deadline(task, deadline)
    task.cancel()


def raise_error(_: "asyncio.Task[object]", __: float) -> None:
    raise ZeroDivisionError


async def count_tasks_after(chat: LangChainChat, interrupt: Interruption) -> int:
    """Call a model, interrupt it at its first text, and return how many tasks come up after."""
    deadline = make_deadline(0.5)
    task = asyncio.current_task()
    assert task is not None
    call = Call(
        HELLO,
        max_tokens=50,
        deadline=deadline,
        on_text=lambda _: interrupt(task, deadline),
    )
    with suppress(CallFailure, ZeroDivisionError, asyncio.CancelledError):
        await chat.complete(call)
    left: set[object] = set()
    for _ in range(TURNS):
        left |= asyncio.all_tasks()
        await asyncio.sleep(0)
    return len(left - {task})


@pytest.mark.parametrize(
    "interrupt", [pass_deadline, cancel_task, cancel_past_deadline, raise_error]
)
@pytest.mark.parametrize(
    "act",
    [says("Paris. "), says("Paris. " * 99), drips("Paris. ", every_s=0.01), never_ends("Paris. ")],
)
def test_an_interrupted_call_leaves_nothing_to_close(
    run: Run, act: Act, interrupt: Interruption
) -> None:
    with serve(act) as server:
        chat = make_chat(server.base_url)

        assert run(count_tasks_after(chat, interrupt)) == 0


@pytest.mark.parametrize("interrupt", [pass_deadline, cancel_task])
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.provider)
def test_an_interrupted_call_of_another_provider_leaves_nothing_to_close(
    run: Run, dialect: Dialect, interrupt: Interruption
) -> None:
    with serve(dialect.stream_reply("Paris. ", "It is. ")) as server:
        endpoint = resolve_endpoint(
            f"{dialect.provider}:m",
            base_url=server.base_url,
            key_env="CANARY",
            environment={"CANARY": "sk-canary"},
        )
        chat = LangChainChat(endpoint)
        chat.prepare()

        assert run(count_tasks_after(chat, interrupt)) == 0
