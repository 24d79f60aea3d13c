"""A limit on the bytes of a reply, for the HTTP client of any provider's SDK."""

import asyncio
import importlib
from collections.abc import AsyncIterator, Callable
from typing import Any

Hooks = dict[str, list[Callable[[Any], Any]]]

_SLICE = 4096


class ReplyTooLarge(Exception):
    """The error that a reply is too large, or compressed and so may become too large."""


def limit_bytes(reply_bytes: int) -> Hooks:
    """Return event hooks that limit the reply of one call, for a client of httpx or httpx2.

    The hooks refuse compressed replies, because a small one can become arbitrarily large. They make
    the client raise `ReplyTooLarge`.

    Args:
        reply_bytes: The largest number of bytes of the reply.
    """

    async def request_plain(request: Any) -> None:  # noqa: ANN401 - of httpx or httpx2
        request.headers["accept-encoding"] = "identity"

    async def limit_response(response: Any) -> None:  # noqa: ANN401 - of httpx or httpx2
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ReplyTooLarge("a compressed reply, although a plain one was asked for")
        response.stream = _limit_stream(response, reply_bytes)

    return {"request": [request_plain], "response": [limit_response]}


def _limit_stream(response: Any, reply_bytes: int) -> Any:  # noqa: ANN401
    """Return the stream of a response, cut into slices and with a limit on its bytes."""
    # A client accepts only streams of its own library, and each SDK uses one of two libraries.
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
                    # An SDK processes all data that it has without a pause, in which no deadline
                    # could interrupt it.
                    await asyncio.sleep(0)
                    yield chunk[start : start + _SLICE]

        async def aclose(self) -> None:
            await stream.aclose()

    return LimitedStream()
