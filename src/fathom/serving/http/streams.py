"""Server-sent events: what happens while a question is answered, told as it happens."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import StreamingResponse

T = TypeVar("T")
HEARTBEAT_S = 15.0
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def json_text(value: object) -> str:
    """JSON as every reply has it."""
    return json.dumps(value, ensure_ascii=False)


class Event:
    """One event: its name, and the JSON of what it tells."""

    __slots__ = ("data", "name")

    def __init__(self, name: str, data: str) -> None:
        self.name, self.data = name, data

    def frame(self, number: int) -> bytes:
        """As it goes over the wire; JSON has no line breaks of its own."""
        return f"id: {number}\nevent: {self.name}\ndata: {self.data}\n\n".encode()


async def frames(events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
    """The events with running numbers, and a comment whenever nothing was told for a while."""
    number = 0
    pending: asyncio.Future[Event] | None = None
    try:
        while True:
            pending = pending or asyncio.ensure_future(_next(events))
            done, _ = await asyncio.wait({pending}, timeout=HEARTBEAT_S)
            if not done:
                yield b": still at work\n\n"
                continue
            try:
                event = pending.result()
            except StopAsyncIteration:
                return
            pending, number = None, number + 1
            yield event.frame(number)
    finally:
        if pending is not None:
            pending.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration):
                await pending
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()


async def _next(events: AsyncIterator[Event]) -> Event:
    # A task cannot end with StopAsyncIteration of its own making, an async function can.
    return await anext(events)


def streamed(events: AsyncIterator[Event]) -> StreamingResponse:
    """The reply that tells the events."""
    return StreamingResponse(frames(events), media_type="text/event-stream", headers=HEADERS)


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Do the work, unless the client leaves meanwhile: then it is cancelled.

    Raises:
        CancelledError: If the client has left.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise asyncio.CancelledError("the client has left")
        return await task
    finally:
        for each in (task, gone):
            each.cancel()
        await asyncio.wait({task, gone})


async def _left(request: Request) -> None:
    """Returns when the client has left; the body must have been read already."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


Ask = Awaitable[Any]
