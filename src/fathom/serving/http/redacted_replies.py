"""The redaction of replies: no text that the server writes contains a secret of the process."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fathom.redaction import SECRETS

_TEXTS = (
    "application/json",
    "application/problem+json",
    "text/event-stream",
    "text/plain; version=",
)
"""The media types that are redacted; files and the page are sent unchanged."""


class RedactedReplies:
    """An ASGI middleware that removes the secrets of the process from replies.

    The server sends each event of a stream and each JSON reply as one message, so that no secret is
    split between two.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and send its reply without secrets, as ASGI defines it."""
        reply = _Reply(send)
        await self._app(scope, receive, reply.send if scope["type"] == "http" else send)


class _Reply:
    """A reply that is being sent; a head with a length waits for the body, which may change it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._head: Message | None = None
        self._is_text = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = Headers(raw=message["headers"])
            self._is_text = headers.get("content-type", "").startswith(_TEXTS)
            if self._is_text and "content-length" in headers:
                self._head = message
                return
        if self._is_text and message["type"] == "http.response.body":
            message = self._redact(message)
        if self._head is not None:
            await self._send(self._head)
            self._head = None
        await self._send(message)

    def _redact(self, message: Message) -> Message:
        body = bytes(message.get("body", b""))
        redacted = SECRETS.redact(body.decode("utf-8", "surrogateescape"))
        clean = redacted.encode("utf-8", "surrogateescape")
        if clean != body and self._head is not None:
            MutableHeaders(raw=self._head["headers"])["content-length"] = str(len(clean))
        return {**message, "body": clean}
