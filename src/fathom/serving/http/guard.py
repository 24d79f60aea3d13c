"""The guard of the application, which checks the host, origin and size of each request."""

import asyncio
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fathom.serving.http.access import Access
from fathom.serving.http.admission import Admission
from fathom.serving.http.error_replies import build_error_response
from fathom.serving.http.problems import SEND_LESS, Problem
from fathom.serving.sockets import LOOPBACK
from fathom.settings.serve import ServeSettings

CSP = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox"
SAFE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": CSP,
    "Cache-Control": "no-store",
}
"""The default headers of every reply; a route may set others."""
UPLOAD_PATHS = frozenset({"/api/v1/documents", "/v1/files"})
QUESTION_PATH = "/api/v1/ask"


class Guard:
    """An ASGI middleware that refuses dangerous requests before the application reads them.

    A page of another site can make a browser send requests here, either under a host name that it
    resolves to this machine (DNS rebinding) or directly. The `Host` header reveals the first, the
    `Origin` header the second.
    """

    def __init__(
        self, app: ASGIApp, access: Access, admission: Admission, settings: ServeSettings
    ) -> None:
        self._app = app
        self._admission = admission
        self._access = access
        self._public = urlsplit(settings.public_url)
        allowed = {self._public.hostname or "", *(host.lower() for host in settings.allowed_hosts)}
        self._hosts = LOOPBACK | (allowed - {""})
        self._any_host = not (allowed - {""})
        self._upload_bytes = settings.upload_mb << 20
        self._body_bytes = settings.body_mb << 20
        self._body_s, self._upload_s = settings.body_s, settings.upload_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on to the application, as ASGI defines it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        safe = _add_safe_headers(send)
        problem = (
            self._check_host(headers)
            or self._check_origin(headers)
            or self._check_size(scope, headers)
            or self._check_load(scope)
        )
        if problem is not None:
            response = build_error_response(problem, scope["path"])
            await response(scope, receive, safe)
            return
        await self._app(scope, self._limit_body(scope, receive), safe)

    def _check_host(self, headers: Headers) -> Problem | None:
        # Two `Host` headers are refused: a proxy and this server might each use another one.
        hosts = headers.getlist("host")
        name = _parse_hostname(hosts[0]) if len(hosts) == 1 else ""
        # DNS rebinding cannot use a key: the browser keeps its cookie for the other host name.
        if name in self._hosts or (name and self._any_host and self._access.needs_key()):
            return None
        return Problem(
            421,
            "unknown_host",
            f"this server is not {name[:80]!r}",
            next="add the name to serve.allowed_hosts, or set serve.public_url",
        )

    def _check_origin(self, headers: Headers) -> Problem | None:
        origins = headers.getlist("origin")
        if not origins:
            return None
        allowed = {headers.get("host", "").lower(), self._public.netloc.lower()} - {""}
        if len(origins) == 1 and _parse_address(origins[0]).netloc.lower() in allowed:
            return None
        return Problem(
            403,
            "foreign_origin",
            "a page of another site may not use this server",
            next="ask from the page of this server, or from a program",
        )

    def _check_load(self, scope: Scope) -> Problem | None:
        """Refuse a question while the server is overloaded, before its body takes any time."""
        is_question = scope["method"] == "POST" and scope["path"].startswith(QUESTION_PATH)
        return self._admission.find_refusal() if is_question else None

    def _get_byte_limit(self, scope: Scope) -> int:
        return self._upload_bytes if _is_upload(scope) else self._body_bytes

    def _check_size(self, scope: Scope, headers: Headers) -> Problem | None:
        length = headers.get("content-length", "0")
        # `int` alone would accept signs, blanks and digits of other scripts.
        if (
            length.isascii()
            and length.isdigit()
            and len(length) < 20
            and int(length) <= self._get_byte_limit(scope)
        ):
            return None
        return _build_size_problem(self._get_byte_limit(scope))

    def _limit_body(self, scope: Scope, receive: Receive) -> Receive:
        limit, read, is_complete = self._get_byte_limit(scope), 0, False
        loop = asyncio.get_running_loop()
        end = loop.time() + (self._upload_s if _is_upload(scope) else self._body_s)

        async def receive_limited() -> Message:
            nonlocal read, is_complete
            if is_complete:  # only the end of the connection follows
                return await receive()
            try:
                async with asyncio.timeout_at(min(end, loop.time() + self._body_s)):
                    message = await receive()
            except TimeoutError:
                raise _SlowBody from None
            read += len(message.get("body", b""))
            if read > limit:  # a body without a true Content-Length
                raise HTTPException(413, str(_build_size_problem(limit)))
            is_complete = not message.get("more_body", False)
            return message

        return receive_limited


class _SlowBody(HTTPException):
    """The refusal of a body that takes too long; it ends the connection."""

    def __init__(self) -> None:
        detail = "the body of the request came too slowly; send it again"
        super().__init__(408, detail, headers={"Connection": "close"})


def _is_upload(scope: Scope) -> bool:
    return bool(scope["method"] == "POST" and scope["path"] in UPLOAD_PATHS)


def _build_size_problem(limit: int) -> Problem:
    return Problem(
        413,
        "too_large",
        f"more than {limit >> 20} MB were sent",
        next=SEND_LESS,
    )


def _parse_hostname(host: str) -> str:
    """Return the name in a `Host` header, without its port."""
    return (_parse_address(f"//{host}").hostname or "").lower()


def _parse_address(address: str) -> SplitResult:
    """Split an address; all parts are empty if it is invalid, such as `http://[`."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def _add_safe_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SAFE_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers
