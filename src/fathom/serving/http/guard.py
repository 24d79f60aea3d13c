"""What no request gets past: whose name is asked for, from which page, and how much is sent."""

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fathom.serving.http.access import Access
from fathom.serving.http.admission import Admission
from fathom.serving.http.problems import Problem
from fathom.settings.serve import ServeSettings

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
CSP = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox"
SAFE = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": CSP,
    "Cache-Control": "no-store",
}
"""Of every reply that has no others of its own."""
UPLOADS = "/api/v1/documents"
QUESTIONS = "/api/v1/ask"


class Guard:
    """Stands before the application.

    A page of another site can make a browser send requests here, under a name that it points to
    this machine (DNS rebinding) or straight across: the first is known by its `Host`, the second
    by its `Origin`.
    """

    def __init__(
        self, app: ASGIApp, access: Access, admission: Admission, settings: ServeSettings
    ) -> None:
        self._app = app
        self._admission = admission
        self._access = access
        self._public = urlsplit(settings.public_url)
        named = {self._public.hostname or "", *(each.lower() for each in settings.allowed_hosts)}
        self._hosts = LOOPBACK | (named - {""})
        self._any_host = not (named - {""})
        self._upload_bytes = settings.upload_mb << 20
        self._body_bytes = settings.body_mb << 20

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        safe = _safely(send)
        problem = self._host(headers) or self._origin(headers) or self._size(scope, headers)
        problem = problem or self._crowd(scope)
        if problem is not None:
            await problem.response()(scope, receive, safe)
            return
        await self._app(scope, self._counted(scope, receive), safe)

    def _host(self, headers: Headers) -> Problem | None:
        hosts = headers.getlist("host")
        name = _hostname(hosts[0]) if len(hosts) == 1 else ""
        # Who must show a key cannot be made to ask by a name: the browser keeps it for the other.
        if name in self._hosts or (name and self._any_host and self._access.needs_key()):
            return None
        return Problem(
            421,
            "unknown_host",
            f"this server is not {name[:80]!r}",
            next="add the name to serve.allowed_hosts, or set serve.public_url",
        )

    def _origin(self, headers: Headers) -> Problem | None:
        origins = headers.getlist("origin")
        if not origins:
            return None
        own = {headers.get("host", "").lower(), self._public.netloc.lower()} - {""}
        if len(origins) == 1 and urlsplit(origins[0]).netloc.lower() in own:
            return None
        return Problem(
            403,
            "foreign_origin",
            "a page of another site may not ask here",
            next="ask from the page of this server, or from a program",
        )

    def _crowd(self, scope: Scope) -> Problem | None:
        """In a crowd, to read what is asked would cost those who are at work."""
        is_question = scope["method"] == "POST" and scope["path"].startswith(QUESTIONS)
        return self._admission.refusal() if is_question else None

    def _most(self, scope: Scope) -> int:
        is_upload = scope["method"] == "POST" and scope["path"] == UPLOADS
        return self._upload_bytes if is_upload else self._body_bytes

    def _size(self, scope: Scope, headers: Headers) -> Problem | None:
        told = headers.get("content-length", "0")
        if told.isascii() and told.isdigit() and len(told) < 20 and int(told) <= self._most(scope):
            return None
        return _too_large(self._most(scope))

    def _counted(self, scope: Scope, receive: Receive) -> Receive:
        most, read = self._most(scope), 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:  # a body that did not say how long it is
                raise HTTPException(413, str(_too_large(most)))
            return message

        return counted


def _too_large(most: int) -> Problem:
    return Problem(
        413,
        "too_large",
        f"more than {most >> 20} MB were sent",
        next="send less at once, or raise serve.upload_mb or serve.body_mb",
    )


def _hostname(host: str) -> str:
    """The name in a `Host` header, without its port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _safely(send: Send) -> Send:
    async def safe(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SAFE.items():
                headers.setdefault(name, value)
        await send(message)

    return safe
