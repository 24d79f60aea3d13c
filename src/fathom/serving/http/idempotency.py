"""Idempotency keys: a request that is sent again, because its reply was lost, is done once."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import NamedTuple

from starlette.responses import Response

from fathom.serving.http.problems import Problem

MOST_KEPT = 256
"""Replies; the oldest go first. They do not outlive the server."""


class _Done(NamedTuple):
    body: str
    reply: "asyncio.Future[Response]"


class Once:
    """The replies of one workspace, by the keys that the clients chose."""

    def __init__(self) -> None:
        self._done: OrderedDict[str, _Done] = OrderedDict()

    async def do(self, key: str, body: str, work: Callable[[], Awaitable[Response]]) -> Response:
        """The reply of the work, or that which was given for the same key before.

        Args:
            key: What the client calls the request; empty for none.
            body: What was asked.
            work: Does it.

        Raises:
            Problem: 422 if the key stands for another request.
        """
        if not key:
            return await work()
        asked = sha256(body.encode("utf-8", "surrogatepass")).hexdigest()
        known = self._done.get(key)
        if known is not None:
            if known.body != asked:
                raise Problem(
                    422,
                    "key_reused",
                    "this Idempotency-Key stands for another request",
                    next="choose a new one for each request",
                )
            return await asyncio.shield(known.reply)
        return await self._first(key, asked, work)

    async def _first(
        self, key: str, asked: str, work: Callable[[], Awaitable[Response]]
    ) -> Response:
        reply: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._done[key] = _Done(asked, reply)
        while len(self._done) > MOST_KEPT:
            self._done.popitem(last=False)
        try:
            made = await work()
        except BaseException as error:
            # What failed may be tried again; who waits for it is told why.
            self._done.pop(key, None)
            reply.set_exception(error if isinstance(error, Exception) else _left_off())
            reply.exception()  # it is told, whether anybody waits or not
            raise
        reply.set_result(made)
        return made


def _left_off() -> Problem:
    return Problem(
        503, "left_off", "the same request was left off", next="send it again", retry_after=1
    )
