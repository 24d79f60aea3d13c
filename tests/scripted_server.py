"""An HTTP server of OpenAI's chat protocol that follows a script, well or badly.

Each request is answered by the next act of the script; `Extractive` answers every request by a
function of its messages instead. Real sockets on 127.0.0.1, one connection per request.

    async with ScriptedServer(status(429, headers={"Retry-After": "0"}), says("Paris")) as server:
        model = LangChainChat(endpoint_of("openai:m", base_url=server.base_url))
"""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Self

from tests.scripted_acts import (
    Act,
    ReceivedRequest,
    Wire,
    drips,
    echoes_the_key,
    floods,
    never_ends,
    raw,
    resets,
    says,
    stalls,
    status,
    waits,
)

__all__ = [
    "Act",
    "Extractive",
    "ReceivedRequest",
    "ScriptedServer",
    "Wire",
    "drips",
    "echoes_the_key",
    "find_closed_url",
    "floods",
    "never_ends",
    "raw",
    "resets",
    "says",
    "serve",
    "stalls",
    "status",
    "waits",
]


@dataclass(frozen=True, slots=True)
class Extractive:
    """An act that answers every request by `answer`, a function of its messages; never runs out."""

    answer: Callable[[list[dict[str, str]]], str]

    async def __call__(self, request: ReceivedRequest, wire: Wire) -> None:
        await says(self.answer(request.messages))(request, wire)


@dataclass(slots=True)
class ScriptedServer:
    """A server that plays one act per request, and answers 599 after its last act.

    Attributes:
        requests: The requests so far.
        bytes_sent: Bytes written for each request that is over.
    """

    acts: tuple[Act, ...]
    requests: list[ReceivedRequest] = field(default_factory=list)
    bytes_sent: list[int] = field(default_factory=list)
    base_url: str = ""
    _server: asyncio.Server | None = None
    _busy: set[asyncio.Task[None]] = field(default_factory=set)

    def __init__(self, *acts: Act) -> None:
        self.acts, self.requests, self.bytes_sent, self.base_url = acts, [], [], ""
        self._server, self._busy = None, set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._handle_connection, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._busy:
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def calls(self) -> int:
        """The number of requests so far."""
        return len(self.requests)

    async def wait_until_idle(self) -> None:
        """Wait until every connection is closed."""
        while self._busy:
            await asyncio.sleep(0.005)

    async def _handle_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        wire = Wire(writer)
        try:
            # asyncio streams log a cancelled handler, so cancellation must end here.
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._play_act(await _read_request(reader), reader, wire)
        finally:
            self.bytes_sent.append(wire.sent)
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()
            self._busy.discard(task)

    async def _play_act(
        self, request: ReceivedRequest, reader: asyncio.StreamReader, wire: Wire
    ) -> None:
        turn = len(self.requests)
        self.requests.append(request)
        always = self.acts and isinstance(self.acts[-1], Extractive)
        last = self.acts[-1] if always else status(599, "the script is over")
        act = self.acts[turn] if turn < len(self.acts) else last
        acting = asyncio.ensure_future(act(request, wire))
        gone = asyncio.ensure_future(reader.read())  # ends when the client closes
        try:
            await asyncio.wait({acting, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for part in (acting, gone):
                part.cancel()
            results = await asyncio.gather(acting, gone, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception) and not isinstance(result, ConnectionError):
                raise result


@contextmanager
def serve(*acts: Act) -> Iterator[ScriptedServer]:
    """Run the server in its own thread, for tests that are not asynchronous."""
    server, loop = ScriptedServer(*acts), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(5)
        try:
            yield server
        finally:
            asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(5)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def find_closed_url() -> str:
    """Return an address of this machine where nothing listens."""
    with socket.socket() as plug:
        plug.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{plug.getsockname()[1]}/v1"


async def _read_request(reader: asyncio.StreamReader) -> ReceivedRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    path = head[0].split(" ")[1]
    pairs = (line.split(": ", 1) for line in head[1:] if line)
    headers = {name.lower(): value for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return ReceivedRequest(path=path, headers=headers, body=json.loads(body or b"{}"))
