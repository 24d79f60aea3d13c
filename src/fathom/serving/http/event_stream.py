"""Server-sent events, JSON replies, and the cancelling of requests whose client leaves."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from fathom.serving.http.problems import Problem, build_problem, build_stopping_problem

T = TypeVar("T")
HEARTBEAT_S = 15.0
"""The seconds of silence after which a comment keeps the connection open."""
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def encode_json(value: object) -> str:
    """Encode a value as JSON, the same way for every reply."""
    return json.dumps(value, ensure_ascii=False)


def build_json_reply(value: object, status: int = 200) -> Response:
    """Build a reply of JSON."""
    return Response(encode_json(value), status_code=status, media_type="application/json")


class ServerEvent(NamedTuple):
    """A server-sent event: its name (may be empty) and its data as JSON."""

    name: str
    data: str

    def encode_frame(self, number: int) -> bytes:
        """Encode the event with its number; `data` has no line break, because JSON escapes them."""
        head = f"id: {number}\nevent: {self.name}\n" if self.name else ""
        return f"{head}data: {self.data}\n\n".encode()


class Shutdown:
    """The end of the server, and the time that running work has until then."""

    def __init__(self, drain_s: float) -> None:
        self._announced = asyncio.Event()
        self._drain_s = drain_s

    def announce(self) -> None:
        """Announce the end of the server."""
        self._announced.set()

    @property
    def is_announced(self) -> bool:
        """True once the end of the server was announced."""
        return self._announced.is_set()

    async def wait_until_over(self) -> None:
        """Wait for the announcement, and then for as long as running work may go on."""
        await self._announced.wait()
        await asyncio.sleep(self._drain_s)


def build_error_event(problem: Problem) -> ServerEvent:
    """Build the event of a failure after the reply has begun."""
    return ServerEvent("error", encode_json(problem.to_json()))


async def iterate_frames(
    events: AsyncGenerator[ServerEvent, None],
    stopping: Shutdown,
    last: Callable[[Problem], ServerEvent] = build_error_event,
) -> AsyncIterator[bytes]:
    """Yield the numbered frames of events, and a comment after each `HEARTBEAT_S` without an event.

    If an event fails or the server ends, the stream ends with an event that `last` builds.
    """
    number = 0
    ending = asyncio.ensure_future(stopping.wait_until_over())
    pending: asyncio.Future[ServerEvent | None] | None = None
    try:
        while True:
            # The same future over several heartbeats: a cancelled `anext` would end the generator.
            pending = pending or asyncio.ensure_future(_draw_event(events, last))
            futures: set[asyncio.Future[Any]] = {pending, ending}
            done, _ = await asyncio.wait(
                futures, timeout=HEARTBEAT_S, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                yield b": still at work\n\n"
                continue
            # An event that has come is sent even if the server ends: it may be the last one.
            is_over = pending not in done
            event = last(build_stopping_problem()) if is_over else pending.result()
            if event is None:
                return
            pending, number = (pending if is_over else None), number + 1
            yield event.encode_frame(number)
            if is_over:
                return
    finally:
        unfinished: list[asyncio.Future[Any]] = [ending, *([pending] if pending else [])]
        for future in unfinished:
            future.cancel()
            with suppress(asyncio.CancelledError):
                await future
        await events.aclose()


async def _draw_event(
    events: AsyncGenerator[ServerEvent, None], last: Callable[[Problem], ServerEvent]
) -> ServerEvent | None:
    try:
        return await anext(events, None)
    except Exception as error:  # noqa: BLE001 - the reply has begun: the error ends it
        return last(build_problem(error))


def build_event_stream(
    events: AsyncGenerator[ServerEvent, None],
    stopping: Shutdown,
    last: Callable[[Problem], ServerEvent] = build_error_event,
) -> StreamingResponse:
    """Build the reply that streams the frames of events."""
    body = iterate_frames(events, stopping, last)
    return StreamingResponse(body, media_type="text/event-stream", headers=HEADERS)


async def run_while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Run the work; cancel it if the client leaves or the server ends.

    Raises:
        Problem: 499 if the client has left, 503 if the server ends.
    """
    task = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_wait_for_disconnect(request))
    ending = asyncio.ensure_future(request.app.state.stopping.wait_until_over())
    try:
        await asyncio.wait({task, leaving, ending}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise (
            Problem(499, "client_gone", "the client has left")
            if leaving.done()
            else build_stopping_problem()
        )
    finally:
        for future in (task, leaving, ending):
            future.cancel()
        await asyncio.wait({task, leaving, ending})


async def _wait_for_disconnect(request: Request) -> None:
    """Wait until the client has left; the body must have been read already."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
