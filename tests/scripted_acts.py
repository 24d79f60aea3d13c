"""Acts of a scripted server on one request, in the wire format of OpenAI's chat protocol."""

import asyncio
import json
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

Usage = Mapping[str, object] | None
HONEST: Usage = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
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
    """The connection back to one client; counts the bytes sent."""

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


Act = Callable[[ReceivedRequest, Wire], Awaitable[None]]


def says(
    *parts: str,
    usage: Usage = HONEST,
    finish: str | None = "stop",
    reasoning: str = "",
    done: bool = True,
    refusal: str = "",
) -> Act:
    """Stream a reply, one event for each of `parts`, in one buffer."""

    async def act(request: ReceivedRequest, wire: Wire) -> None:
        deltas: list[dict[str, str]] = [{"reasoning_content": reasoning}] if reasoning else []
        deltas += [{"refusal": refusal}] if refusal else []
        deltas += [{"content": part} for part in parts]
        events = [encode_event(delta) for delta in deltas]
        events += [encode_event({}, finish=finish)] if finish else []
        if request.body.get("stream_options") and usage is not None:
            events.append(encode_data({"id": "1", "model": "m", "choices": [], "usage": usage}))
        events += ["data: [DONE]\n\n"] if done else []
        await wire.send(encode_head(200, {"Content-Type": "text/event-stream"}))
        await wire.send("".join(events).encode("utf-8", "surrogatepass"))

    return act


def status(code: int, message: str = "scripted", *, headers: Mapping[str, str] = {}) -> Act:
    """Send an error with a body in OpenAI's format."""
    return raw(json.dumps({"error": {"message": message}}), code=code, headers=headers)


def raw(body: str, *, code: int = 200, headers: Mapping[str, str] = {}) -> Act:
    """Send any body; server-sent events unless the headers or the status say otherwise."""

    async def act(request: ReceivedRequest, wire: Wire) -> None:
        kind = "text/event-stream" if code == 200 else "application/json"
        plain = body.encode()
        length = {"Content-Length": str(len(plain))}
        await wire.send(encode_head(code, {"Content-Type": kind, **length, **headers}) + plain)

    return act


def echoes_the_key(code: int) -> Act:
    """Send an error that quotes the request's own Authorization header, as some servers do."""

    async def act(request: ReceivedRequest, wire: Wire) -> None:
        message = f"Incorrect API key provided: {request.headers.get('authorization')}"
        await status(code, message)(request, wire)

    return act


def waits(seconds: float, then: Act) -> Act:
    """Wait before the first byte."""

    async def act(request: ReceivedRequest, wire: Wire) -> None:
        await asyncio.sleep(seconds)
        await then(request, wire)

    return act


def drips(text: str, *, every_s: float, size: int = 1) -> Act:
    """Send a correct reply, `size` bytes at a time."""

    async def act(request: ReceivedRequest, wire: Wire) -> None:
        await wire.send(encode_head(200, {"Content-Type": "text/event-stream"}))
        whole = (
            encode_event({"content": text}) + encode_event({}, finish="stop") + "data: [DONE]\n\n"
        )
        whole_bytes = whole.encode()
        for start in range(0, len(whole_bytes), size):
            await wire.send(whole_bytes[start : start + size])
            await asyncio.sleep(every_s)

    return act


def stalls(*parts: str) -> Act:
    """Send some words, then keep the connection open in silence."""

    async def act(request: ReceivedRequest, wire: Wire) -> None:
        await wire.send(encode_head(200, {"Content-Type": "text/event-stream"}))
        await wire.send("".join(encode_event({"content": part}) for part in parts).encode())
        await asyncio.Event().wait()

    return act


def never_ends(word: str = "and ", *, reasoning: bool = False, every_s: float = 0.0) -> Act:
    """Send a stream without end, as fast as the client reads unless `every_s` says otherwise."""

    async def act(request: ReceivedRequest, wire: Wire) -> None:
        await wire.send(encode_head(200, {"Content-Type": "text/event-stream"}))
        more = encode_event({"reasoning_content" if reasoning else "content": word}).encode()
        while True:
            await wire.send(more)
            await asyncio.sleep(every_s)

    return act


def floods(total: int = 1 << 30, *, block: int = 1 << 16, code: int = 200) -> Act:
    """Send `total` bytes (1 GB) that are no line and no reply."""

    async def act(request: ReceivedRequest, wire: Wire) -> None:
        length = {"Content-Type": "text/event-stream", "Content-Length": str(total)}
        await wire.send(encode_head(code, length) + b"data: ")
        for _ in range(total // block):
            await wire.send(b"x" * block)

    return act


def resets(*parts: str) -> Act:
    """Send some words, then reset the connection; without words, reset instead of replying."""

    async def act(request: ReceivedRequest, wire: Wire) -> None:
        if parts:
            await wire.send(encode_head(200, {"Content-Type": "text/event-stream"}))
            await wire.send("".join(encode_event({"content": part}) for part in parts).encode())
        wire.reset()

    return act


def encode_head(code: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {code} Scripted", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def encode_event(delta: Mapping[str, str], *, finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return encode_data(
        {"id": "1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}
    )


def encode_data(value: Mapping[str, object]) -> str:
    return f"data: {json.dumps(value)}\n\n"
