"""Server-sent events: what happens while a question is answered, told as it happens."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from fathom.serving.http.problems import Problem, problem_of

T = TypeVar("T")
HEARTBEAT_S = 15.0
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def json_text(value: object) -> str:
    """JSON as every reply has it."""
    return json.dumps(value, ensure_ascii=False)


def json_reply(value: object, status: int = 200) -> Response:
    """A reply of JSON."""
    return Response(json_text(value), status_code=status, media_type="application/json")


class Event(NamedTuple):
    """One event: its name, where it has one, and the JSON of what it tells."""

    name: str
    data: str

    def frame(self, number: int) -> bytes:
        """As it goes over the wire; JSON has no line breaks of its own."""
        head = f"id: {number}\nevent: {self.name}\n" if self.name else ""
        return f"{head}data: {self.data}\n\n".encode()


class Stopping:
    """Whether the server is to end, and when what is at work then must have ended."""

    def __init__(self, drain_s: float) -> None:
        self._told = asyncio.Event()
        self._drain_s = drain_s

    def tell(self) -> None:
        """The server is to end."""
        self._told.set()

    @property
    def is_told(self) -> bool:
        """Whether it is to end."""
        return self._told.is_set()

    async def over(self) -> None:
        """Returns when the time is over for what was at work."""
        await self._told.wait()
        await asyncio.sleep(self._drain_s)


def cut() -> Problem:
    """What becomes of a question that was at work when the server ended."""
    return Problem(
        503, "stopping", "the server is stopping", next="ask again in a moment", retry_after=5
    )


def broken(problem: Problem) -> Event:
    """What breaks on the way, as an event."""
    return Event("error", json_text(problem.to_json()))


async def frames(
    events: AsyncGenerator[Event, None],
    stopping: Stopping,
    last: Callable[[Problem], Event] = broken,
) -> AsyncIterator[bytes]:
    """The events with running numbers, and a comment whenever nothing was told for a while.

    What breaks on the way is the last event, and so is the end of the server.

    Args:
        events: What happens.
        stopping: Whether the server is to end.
        last: Makes the event of what breaks.
    """
    number = 0
    over = asyncio.ensure_future(stopping.over())
    pending: asyncio.Future[Event | None] | None = None
    try:
        while True:
            pending = pending or asyncio.ensure_future(_next(events, last))
            both: set[asyncio.Future[Any]] = {pending, over}
            done, _ = await asyncio.wait(
                both, timeout=HEARTBEAT_S, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                yield b": still at work\n\n"
                continue
            event = pending.result() if pending in done else last(cut())
            if event is None:
                return
            pending, number = (None if pending in done else pending), number + 1
            yield event.frame(number)
            if over in done:
                return
    finally:
        left: list[asyncio.Future[Any]] = [over, *([pending] if pending else [])]
        for each in left:
            each.cancel()
            with suppress(asyncio.CancelledError):
                await each
        await events.aclose()


async def _next(
    events: AsyncGenerator[Event, None], last: Callable[[Problem], Event]
) -> Event | None:
    try:
        return await anext(events, None)
    except Exception as error:  # noqa: BLE001 - the reply has begun: it ends with what broke
        return last(problem_of(error))


def streamed(
    events: AsyncGenerator[Event, None],
    stopping: Stopping,
    last: Callable[[Problem], Event] = broken,
) -> StreamingResponse:
    """The reply that tells the events; see `frames`."""
    told = frames(events, stopping, last)
    return StreamingResponse(told, media_type="text/event-stream", headers=HEADERS)


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Do the work, unless the client leaves, or the server has to end: then it is cancelled.

    Raises:
        Problem: 499 if the client has left, 503 if the server ends.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_left(request))
    over = asyncio.ensure_future(request.app.state.stopping.over())
    try:
        await asyncio.wait({task, gone, over}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise Problem(499, "client_gone", "the client has left") if gone.done() else cut()
    finally:
        for each in (task, gone, over):
            each.cancel()
        await asyncio.wait({task, gone, over})


async def _left(request: Request) -> None:
    """Returns when the client has left; the body must have been read already."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
