"""Idempotency keys: a request that is sent again, because its reply was lost, is done once."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from secrets import token_hex
from typing import NamedTuple

from starlette.responses import Response

from fathom.errors import FathomError
from fathom.index.database import Database
from fathom.index.engines import Index
from fathom.serving.http.kept import REPLIES
from fathom.serving.http.problems import Problem

MOST_KEPT = 256
"""Replies of a workspace; the oldest go first."""
LEASE_S = 15.0
"""A server that is not heard of for so long has died; the request may be done again."""
BEAT_S = 3.0
LOOK_S = 0.2
"""So often it is looked whether another server has done a request."""
Work = Callable[[], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Noted:
    """How a reply is noted, and made again of the note, so that no text of a document is in it.

    Attributes:
        note: Of a reply; empty where there is none.
        text: Of a note; a `FathomError` where it is not to be had any more.
    """

    note: Callable[[Response], str] = lambda reply: bytes(reply.body).decode()
    text: Callable[[str], str] = lambda note: note


WHOLE = Noted()
"""The reply itself."""


class _Done(NamedTuple):
    body: str
    reply: "asyncio.Future[Response]"


class Once:
    """The replies of one workspace, by the keys that the clients chose."""

    def __init__(self, kept: Database) -> None:
        """Nothing is opened before there is a key.

        Args:
            kept: Holds the table `replies`, which other servers see too.
        """
        self._done: OrderedDict[str, _Done] = OrderedDict()
        self._kept = kept
        self._server = token_hex(8)

    async def do(self, key: str, body: str, work: Work, noted: Noted = WHOLE) -> Response:
        """The reply of the work, or that which was given for the same key before.

        Args:
            key: What the client calls the request; empty for none.
            body: What was asked.
            work: Does it.
            noted: How its reply is kept for other servers, and after this one.

        Raises:
            Problem: 422 if the key stands for another request.
        """
        if not key:
            return await work()
        key = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        asked = sha256(body.encode("utf-8", "surrogatepass")).hexdigest()
        known = self._done.get(key)
        if known is not None:
            if known.body != asked:
                raise _reused()
            return await asyncio.shield(known.reply)
        return await self._first(key, asked, work, noted)

    def close(self) -> None:
        """Let go of the replies."""
        self._kept.close()

    async def _first(self, key: str, asked: str, work: Work, noted: Noted) -> Response:
        reply: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._done[key] = _Done(asked, reply)
        while len(self._done) > MOST_KEPT:
            self._done.popitem(last=False)
        try:
            made, is_noted = await self._alone(key, asked, work, noted)
        except BaseException as error:
            # What failed may be tried again; who waits for it is told why.
            self._done.pop(key, None)
            reply.set_exception(error if isinstance(error, Exception) else _left_off())
            reply.exception()  # it is told, whether anybody waits or not
            raise
        reply.set_result(made)
        if is_noted:  # and so given as long as what it rests on is there, and no longer
            self._done.pop(key, None)
        return made

    async def _alone(self, key: str, asked: str, work: Work, noted: Noted) -> tuple[Response, bool]:
        """Do the work if no server has done it; while another one is at it, wait.

        Returns:
            The reply, and whether it can be made again of its note.
        """
        while not await asyncio.to_thread(self._begin, key, asked):
            known = await asyncio.to_thread(self._known, key, asked, noted)
            if known is not None:
                return known, True
            await asyncio.sleep(LOOK_S)
        beating = asyncio.ensure_future(self._beat(key))
        try:
            made = await work()
        except BaseException:
            await asyncio.shield(asyncio.to_thread(self._forget, key))
            raise
        finally:
            beating.cancel()
        return made, await asyncio.to_thread(self._keep, key, made, noted)

    async def _beat(self, key: str) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            with suppress(FathomError):  # the next one tells
                await asyncio.to_thread(
                    self._kept.ask,
                    f"UPDATE replies SET lease = {self._kept.clock} + ? "  # noqa: S608 - constant
                    "WHERE key = ? AND server = ?",
                    (LEASE_S, key, self._server),
                )

    def _begin(self, key: str, asked: str) -> bool:
        """Whether it is this server's to do: nobody has begun, or who has died."""
        lease = f"{self._kept.clock} + ?"
        begun = self._kept.ask(
            f"INSERT INTO replies(key, body, server, lease) VALUES (?, ?, ?, {lease}) "  # noqa: S608 - constant
            "ON CONFLICT DO NOTHING RETURNING key",
            (key, asked, self._server, LEASE_S),
        )
        return bool(begun) or bool(
            self._kept.ask(
                f"UPDATE replies SET server = ?, lease = {lease} WHERE key = ? AND body = ? "  # noqa: S608 - constant
                f"AND status = 0 AND lease < {self._kept.clock} RETURNING key",
                (self._server, LEASE_S, key, asked),
            )
        )

    def _known(self, key: str, asked: str, noted: Noted) -> Response | None:
        """The reply of another server, or of before; `None` while it is not there."""
        asked_for = "SELECT body, status, media, reply FROM replies WHERE key = ?"
        for body, status, media, note in self._kept.ask(asked_for, (key,)):
            if body != asked:
                raise _reused()
            if status:
                try:
                    return Response(noted.text(note), status, media_type=media)
                except FathomError:  # it went with its documents: what is there now is asked
                    self._forget(key)
        return None

    def _keep(self, key: str, made: Response, noted: Noted) -> bool:
        note = noted.note(made)
        if not note:
            self._forget(key)
            return False
        self._kept.ask(
            "UPDATE replies SET status = ?, media = ?, reply = ? WHERE key = ? AND server = ?",
            (made.status_code, made.media_type or "", note, key, self._server),
        )
        self._kept.ask(
            "DELETE FROM replies WHERE status > 0 AND no <= (SELECT max(no) FROM replies) - ?",
            (MOST_KEPT,),
        )
        return True

    def _forget(self, key: str) -> None:
        self._kept.ask("DELETE FROM replies WHERE key = ?", (key,))


def once_of(index: Index) -> Once:
    """The replies of who serves an index."""
    return Once(index.database(REPLIES.file, REPLIES.tables))


def _reused() -> Problem:
    return Problem(
        422,
        "key_reused",
        "this Idempotency-Key stands for another request",
        next="choose a new one for each request",
    )


def _left_off() -> Problem:
    return Problem(
        503, "left_off", "the same request was left off", next="send it again", retry_after=1
    )
