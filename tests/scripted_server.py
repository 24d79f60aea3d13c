"""An HTTP server of OpenAI's chat protocol that does as it is told, well or badly.

Each request is answered by the next act of the script; `Extractive` answers every request by a
function of its messages instead. Real sockets on 127.0.0.1, one connection per request.

    async with ScriptedServer(status(429, headers={"Retry-After": "0"}), says("Paris")) as server:
        model = load_chat("openai:m", base_url=server.base_url)
"""

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self

Usage = Mapping[str, object] | None
HONEST: Usage = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it arrived; header names are lower case."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def messages(self) -> list[dict[str, str]]:
        """The conversation, oldest first."""
        return list(self.body["messages"])


@dataclass(slots=True)
class Wire:
    """The way back to one client; counts what was sent."""

    writer: asyncio.StreamWriter
    sent: int = 0

    async def send(self, data: bytes) -> None:
        """Write and wait until the socket takes more."""
        self.writer.write(data)
        await self.writer.drain()
        self.sent += len(data)

    def reset(self) -> None:
        """End the connection with RST instead of FIN."""
        plug: socket.socket = self.writer.get_extra_info("socket")
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Act = Callable[[Asked, Wire], Awaitable[None]]


def says(
    *parts: str,
    usage: Usage = HONEST,
    finish: str | None = "stop",
    reasoning: str = "",
    done: bool = True,
    refusal: str = "",
) -> Act:
    """A streamed reply, one event for each of `parts`, in one buffer."""

    async def act(asked: Asked, wire: Wire) -> None:
        deltas: list[dict[str, str]] = [{"reasoning_content": reasoning}] if reasoning else []
        deltas += [{"refusal": refusal}] if refusal else []
        deltas += [{"content": part} for part in parts]
        events = [_event(delta) for delta in deltas]
        events += [_event({}, finish=finish)] if finish else []
        if asked.body.get("stream_options") and usage is not None:
            events.append(_data({"id": "1", "model": "m", "choices": [], "usage": usage}))
        events += ["data: [DONE]\n\n"] if done else []
        await wire.send(_head(200, {"Content-Type": "text/event-stream"}))
        await wire.send("".join(events).encode("utf-8", "surrogatepass"))

    return act


def status(code: int, message: str = "scripted", *, headers: Mapping[str, str] = {}) -> Act:
    """An error with a body as OpenAI writes it."""
    return raw(json.dumps({"error": {"message": message}}), code=code, headers=headers)


def raw(body: str, *, code: int = 200, headers: Mapping[str, str] = {}) -> Act:
    """Any body; server-sent events unless the headers or the status say otherwise."""

    async def act(asked: Asked, wire: Wire) -> None:
        kind = "text/event-stream" if code == 200 else "application/json"
        data = body.encode()
        length = {"Content-Length": str(len(data))}
        await wire.send(_head(code, {"Content-Type": kind, **length, **headers}) + data)

    return act


def echoes_the_key(code: int) -> Act:
    """An error that quotes the request's own Authorization header, as some servers do."""

    async def act(asked: Asked, wire: Wire) -> None:
        message = f"Incorrect API key provided: {asked.headers.get('authorization')}"
        await status(code, message)(asked, wire)

    return act


def waits(seconds: float, then: Act) -> Act:
    """A slow first byte."""

    async def act(asked: Asked, wire: Wire) -> None:
        await asyncio.sleep(seconds)
        await then(asked, wire)

    return act


def drips(text: str, *, every_s: float, size: int = 1) -> Act:
    """A correct reply, `size` bytes at a time."""

    async def act(asked: Asked, wire: Wire) -> None:
        await wire.send(_head(200, {"Content-Type": "text/event-stream"}))
        whole = _event({"content": text}) + _event({}, finish="stop") + "data: [DONE]\n\n"
        data = whole.encode()
        for start in range(0, len(data), size):
            await wire.send(data[start : start + size])
            await asyncio.sleep(every_s)

    return act


def stalls(*parts: str) -> Act:
    """Some words, then silence on an open connection."""

    async def act(asked: Asked, wire: Wire) -> None:
        await wire.send(_head(200, {"Content-Type": "text/event-stream"}))
        await wire.send("".join(_event({"content": part}) for part in parts).encode())
        await asyncio.Event().wait()

    return act


def never_ends(word: str = "and ", *, reasoning: bool = False, every_s: float = 0.0) -> Act:
    """A stream without end; as fast as the client reads unless `every_s` says otherwise."""

    async def act(asked: Asked, wire: Wire) -> None:
        await wire.send(_head(200, {"Content-Type": "text/event-stream"}))
        event = _event({"reasoning_content" if reasoning else "content": word}).encode()
        while True:
            await wire.send(event)
            await asyncio.sleep(every_s)

    return act


def floods(total: int = 1 << 30, *, block: int = 1 << 16, code: int = 200) -> Act:
    """`total` bytes (1 GB) that are no line and no reply."""

    async def act(asked: Asked, wire: Wire) -> None:
        length = {"Content-Type": "text/event-stream", "Content-Length": str(total)}
        await wire.send(_head(code, length) + b"data: ")
        for _ in range(total // block):
            await wire.send(b"x" * block)

    return act


def resets(*parts: str) -> Act:
    """Some words, then a reset; without words, a reset instead of a reply."""

    async def act(asked: Asked, wire: Wire) -> None:
        if parts:
            await wire.send(_head(200, {"Content-Type": "text/event-stream"}))
            await wire.send("".join(_event({"content": part}) for part in parts).encode())
        wire.reset()

    return act


@dataclass(frozen=True, slots=True)
class Extractive:
    """Answers every request by `answer`, a function of its messages; never runs out."""

    answer: Callable[[list[dict[str, str]]], str]

    async def __call__(self, asked: Asked, wire: Wire) -> None:
        await says(self.answer(asked.messages))(asked, wire)


@dataclass(slots=True)
class ScriptedServer:
    """Plays its acts, one per request; afterwards, and for nothing, 599.

    Attributes:
        asked: The requests so far.
        sent: Bytes written for each request that is over.
    """

    acts: tuple[Act, ...]
    asked: list[Asked] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    base_url: str = ""
    _server: asyncio.Server | None = None
    _busy: set[asyncio.Task[None]] = field(default_factory=set)

    def __init__(self, *acts: Act) -> None:
        self.acts, self.asked, self.sent, self.base_url = acts, [], [], ""
        self._server, self._busy = None, set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
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
        """How many requests came."""
        return len(self.asked)

    async def idle(self) -> None:
        """Wait until every connection has been noticed as closed."""
        while self._busy:
            await asyncio.sleep(0.005)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        wire = Wire(writer)
        try:
            # Streams log a handler that was cancelled, so closing time ends here.
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._answer(await _read(reader), reader, wire)
        finally:
            self.sent.append(wire.sent)
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()
            self._busy.discard(task)

    async def _answer(self, asked: Asked, reader: asyncio.StreamReader, wire: Wire) -> None:
        turn = len(self.asked)
        self.asked.append(asked)
        always = self.acts and isinstance(self.acts[-1], Extractive)
        last = self.acts[-1] if always else status(599, "the script is over")
        act = self.acts[turn] if turn < len(self.acts) else last
        acting = asyncio.ensure_future(act(asked, wire))
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
def served(*acts: Act) -> Iterator[ScriptedServer]:
    """The server in a thread of its own, for tests that are not asynchronous."""
    server, loop = ScriptedServer(*acts), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(5)
        yield server
        asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(5)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def refused_url() -> str:
    """An address of this machine where nobody listens."""
    with socket.socket() as plug:
        plug.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{plug.getsockname()[1]}/v1"


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    path = head[0].split(" ")[1]
    pairs = (line.split(": ", 1) for line in head[1:] if line)
    headers = {name.lower(): value for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(path=path, headers=headers, body=json.loads(body or b"{}"))


def _head(code: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {code} Scripted", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _event(delta: Mapping[str, str], *, finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _data({"id": "1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]})


def _data(value: Mapping[str, object]) -> str:
    return f"data: {json.dumps(value)}\n\n"
