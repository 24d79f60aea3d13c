"""Idempotency keys: a request that is sent again because its reply was lost runs only once."""

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
from fathom.serving.http.problems import Problem
from fathom.serving.http.tables import REPLY_TABLES

MOST_KEPT = 256
"""The number of stored replies of a workspace; the oldest are removed first."""
LEASE_S = 15.0
"""The seconds of silence after which a server counts as dead; its request may run again."""
BEAT_S = 3.0
"""The seconds between two renewals of a lease."""
LOOK_S = 0.2
"""The seconds between two checks whether another server has finished a request."""
Work = Callable[[], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class ReplyNote:
    """The conversion of a reply to a note and back; a note contains no text of a document.

    Attributes:
        make_note: Makes the note of a reply; empty if there is none.
        restore_text: Restores the reply from a note; raises a `FathomError` if it cannot.
        is_lasting: Whether this process may repeat a reply without a note. Restoring from a note
            checks what the caller may see; a reply without one would be repeated unchecked.
    """

    make_note: Callable[[Response], str] = lambda reply: bytes(reply.body).decode()
    restore_text: Callable[[str], str] = lambda note: note
    is_lasting: bool = True


WHOLE_REPLY = ReplyNote()
"""The note that is the reply itself."""


class _LocalReply(NamedTuple):
    body: str
    reply: "asyncio.Future[Response]"


class ReplyStore:
    """The replies of one workspace, by the keys that the clients chose."""

    def __init__(self, database: Database) -> None:
        """Create the store. Nothing is opened before a request has a key.

        Args:
            database: The database with the table `replies`, which other servers see too.
        """
        self._replies: OrderedDict[str, _LocalReply] = OrderedDict()
        self._database = database
        self._server = token_hex(8)

    async def run_once(
        self, key: str, body: str, work: Work, note: ReplyNote = WHOLE_REPLY
    ) -> Response:
        """Run the work, or return the reply that the same key had before.

        Args:
            key: The idempotency key, which the client chooses; empty for none.
            body: The request's content.
            work: Makes the reply.
            note: The conversion of the reply for the database, which other servers read too.

        Raises:
            Problem: 422 if the key was used for another request.
        """
        if not key:
            return await work()
        key = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        digest = sha256(body.encode("utf-8", "surrogatepass")).hexdigest()
        earlier = self._replies.get(key)
        if earlier is not None:
            if earlier.body != digest:
                raise _build_reuse_problem()
            return await asyncio.shield(earlier.reply)
        return await self._run_first(key, digest, work, note)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    async def _run_first(self, key: str, digest: str, work: Work, note: ReplyNote) -> Response:
        reply: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._replies[key] = _LocalReply(digest, reply)
        while len(self._replies) > MOST_KEPT:
            self._replies.popitem(last=False)
        try:
            response, is_noted = await self._run_alone(key, digest, work, note)
        except BaseException as error:
            # A failed request may be sent again; those that wait for it get the error.
            self._replies.pop(key, None)
            reply.set_exception(error if isinstance(error, Exception) else _build_abort_problem())
            reply.exception()  # else asyncio would log an error that nobody awaited
            raise
        reply.set_result(response)
        # From now on the note counts, which is void once its documents are removed.
        if is_noted or not note.is_lasting:
            self._replies.pop(key, None)
        return response

    async def _run_alone(
        self, key: str, digest: str, work: Work, note: ReplyNote
    ) -> tuple[Response, bool]:
        """Run the work unless a server has run it; wait while another server is running it.

        Returns:
            The reply, and whether it can be restored from its note.
        """
        while not await asyncio.to_thread(self._claim_request, key, digest):
            earlier = await asyncio.to_thread(self._find_reply, key, digest, note)
            if earlier is not None:
                return earlier, True
            await asyncio.sleep(LOOK_S)
        renewal = asyncio.ensure_future(self._renew_lease(key))
        try:
            response = await work()
        except BaseException:
            # Shielded: a cancelled request must give up its claim too.
            await asyncio.shield(asyncio.to_thread(self._forget_reply, key))
            raise
        finally:
            renewal.cancel()
        return response, await asyncio.to_thread(self._store_reply, key, response, note)

    async def _renew_lease(self, key: str) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            with suppress(FathomError):  # the next renewal reports it
                await asyncio.to_thread(
                    self._database.execute,
                    f"UPDATE replies SET lease = {self._database.clock} + ? "  # noqa: S608 - constant
                    "WHERE key = ? AND server = ?",
                    (LEASE_S, key, self._server),
                )

    def _claim_request(self, key: str, digest: str) -> bool:
        """Claim a request for this server: a new one, or one whose server has died."""
        lease = f"{self._database.clock} + ?"
        claimed = self._database.execute(
            f"INSERT INTO replies(key, body, server, lease) VALUES (?, ?, ?, {lease}) "  # noqa: S608 - constant
            "ON CONFLICT DO NOTHING RETURNING key",
            (key, digest, self._server, LEASE_S),
        )
        return bool(claimed) or bool(
            self._database.execute(
                f"UPDATE replies SET server = ?, lease = {lease} WHERE key = ? AND body = ? "  # noqa: S608 - constant
                f"AND status = 0 AND lease < {self._database.clock} RETURNING key",
                (self._server, LEASE_S, key, digest),
            )
        )

    def _find_reply(self, key: str, digest: str, note_kind: ReplyNote) -> Response | None:
        """Return the stored reply; `None` if there is none yet."""
        statement = "SELECT body, status, media, reply FROM replies WHERE key = ?"
        for body, status, media, note in self._database.execute(statement, (key,)):
            if body != digest:
                raise _build_reuse_problem()
            if status:
                try:
                    return Response(note_kind.restore_text(note), status, media_type=media)
                except FathomError:  # gone with its documents: run it again
                    self._forget_reply(key)
        return None

    def _store_reply(self, key: str, response: Response, note_kind: ReplyNote) -> bool:
        note = note_kind.make_note(response)
        if not note:
            self._forget_reply(key)
            return False
        self._database.execute(
            "UPDATE replies SET status = ?, media = ?, reply = ? WHERE key = ? AND server = ?",
            (response.status_code, response.media_type or "", note, key, self._server),
        )
        self._database.execute(
            "DELETE FROM replies WHERE status > 0 AND no <= (SELECT max(no) FROM replies) - ?",
            (MOST_KEPT,),
        )
        return True

    def _forget_reply(self, key: str) -> None:
        self._database.execute("DELETE FROM replies WHERE key = ?", (key,))


def create_reply_store(index: Index) -> ReplyStore:
    """Create the store of replies beside an index."""
    return ReplyStore(index.open_database(REPLY_TABLES.file, REPLY_TABLES.tables))


def _build_reuse_problem() -> Problem:
    return Problem(
        422,
        "key_reused",
        "this Idempotency-Key was used for another request",
        next="choose a new one for each request",
    )


def _build_abort_problem() -> Problem:
    return Problem(
        503, "left_off", "the same request was aborted", next="send it again", retry_after=1
    )
