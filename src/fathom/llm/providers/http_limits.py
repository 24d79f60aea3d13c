"""Byte limits for a provider's HTTP client, whichever SDK owns the client."""

import asyncio
import importlib
from collections.abc import AsyncIterator, Callable
from typing import Any

Hooks = dict[str, list[Callable[[Any], Any]]]

_SLICE = 4096


class ReplyTooLarge(Exception):
    """A reply exceeded its bytes, or may do so; the message says which."""


def limit_bytes(reply_bytes: int) -> Hooks:
    """Return event hooks for one call's HTTP client, of httpx or httpx2, that limit its reply.

    Compressed replies are refused, because a small one can become arbitrarily large.
    """

    async def request_plain(request: Any) -> None:  # noqa: ANN401 - of httpx or httpx2
        request.headers["accept-encoding"] = "identity"

    async def limit_response(response: Any) -> None:  # noqa: ANN401 - of httpx or httpx2
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ReplyTooLarge("a compressed reply, although a plain one was asked for")
        response.stream = _limit_stream(response, reply_bytes)

    return {"request": [request_plain], "response": [limit_response]}


def _limit_stream(response: Any, reply_bytes: int) -> Any:  # noqa: ANN401
    # A client accepts streams of its own library only, and SDKs bring one of two libraries.
    library = importlib.import_module(type(response).__module__.partition(".")[0])
    stream = response.stream

    class LimitedStream(library.AsyncByteStream):  # type: ignore[misc, name-defined]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            bytes_left = reply_bytes
            async for chunk in stream:
                bytes_left -= len(chunk)
                if bytes_left < 0:
                    raise ReplyTooLarge("more bytes than its tokens can need")
                for start in range(0, len(chunk), _SLICE):
                    # An SDK processes all the data that it has without a pause; deadlines need one.
                    await asyncio.sleep(0)
                    yield chunk[start : start + _SLICE]

        async def aclose(self) -> None:
            await stream.aclose()

    return LimitedStream()
