"""The writing of the audit log: each request for documents gets a line.

The line is stored before the first byte of the reply is sent. What a stream shows later is stored
before it is sent. A reply whose line cannot be stored is not sent.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fathom.errors import FathomError
from fathom.jsonable import Json
from fathom.redaction import open_log
from fathom.serving.http.access import Caller
from fathom.serving.http.audit_log import (
    AuditLine,
    AuditLog,
    Shown,
    ShownPlace,
    collect_shown,
    format_instant,
)
from fathom.serving.http.error_replies import build_error_response
from fathom.serving.http.event_stream import build_error_event
from fathom.serving.http.mcp import PATH as MCP_PATH
from fathom.serving.http.metrics import OPENAI_PREFIX, get_route_pattern
from fathom.serving.http.problems import Problem
from fathom.serving.http.sign_on_events import SIGN_ON_KEY, SignOnEvent, find_event

LOG = open_log("fathom.serving")
PREFIXES = ("/api/v1/", f"{OPENAI_PREFIX}/", "/sign-on/")
UNWRITTEN = frozenset(
    {
        "/api/v1/session",
        "/api/v1/status",
        "/api/v1/strategies",
        "/api/v1/jobs",
        "/api/v1/jobs/{job_id}",
        "/v1/models",
        "/v1/models/{name}",
        "/v1/embeddings",
    }
)
"""The routes that show no document; the page requests some of them every second."""
MCP_METHODS = frozenset({"tools/call", "resources/read", "resources/list"})
"""The methods of MCP that show documents."""
MOST_CHARS = 2_000
"""The number of characters of a text in a line, at most; a question is rarely longer."""
MOST_ASKED = 20_000
"""The number of characters of all fields of a request in a line, at most."""
_ASKED = (
    *("question", "query", "texts", "documents", "filters", "conversation", "trace_id"),
    *("correct", "url", "previous_response_id", "method", "params"),
)
"""The fields of a body that a line includes."""
_SPOKEN = ("messages", "input")
"""The fields with the turns of a conversation; the last one of the user is the question."""
_STREAM = "text/event-stream"


class AuditTrail:
    """An ASGI middleware that writes the lines of requests."""

    def __init__(self, app: ASGIApp, log: AuditLog) -> None:
        self._app = app
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and send its reply once its line is stored, as ASGI defines it."""
        is_written = scope["type"] == "http" and (
            scope["path"].startswith(PREFIXES) or scope["path"] == MCP_PATH
        )
        if not is_written:
            await self._app(scope, receive, send)
            return
        body = _Body(scope, receive)
        reply = _WrittenReply(scope, body, send, self._log)
        try:
            await self._app(scope, body.receive, reply.send)
        except Exception:
            await reply.note_failure()
            raise


class _Body:
    """The body of a request; a JSON body is copied while it is read, an upload is not."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive = receive
        # The application accepts the media type in capitals too.
        self._is_json = "json" in Headers(scope=scope).get("content-type", "").lower()
        self._pieces: list[bytes] = []

    async def receive(self) -> Message:
        message = await self._receive()
        if self._is_json and message["type"] == "http.request":
            self._pieces.append(message.get("body", b""))
        return message

    def parse(self) -> dict[str, Any]:
        """Return the JSON object in the body; empty if there is none."""
        value = _parse_json(b"".join(self._pieces))
        return value if isinstance(value, dict) else {}


class _WrittenReply:
    """A reply that is being sent; its head waits until the line is stored."""

    def __init__(self, scope: Scope, body: _Body, send: Send, log: AuditLog) -> None:
        self._scope, self._body, self._send, self._log = scope, body, send, log
        self._requested = format_instant(datetime.now(UTC))
        self._head: Message | None = None
        self._line: int | None = None
        self._shown = Shown()
        self._is_stream = self._is_silent = self._is_refused = False

    async def send(self, message: Message) -> None:
        """Store what a message shows, and then send it; drop it after a refusal."""
        if message["type"] == "http.response.start":
            self._head = message
            return
        if self._is_refused:
            return
        try:
            await self._store(message)
        except FathomError as error:
            await self._refuse(error)
            return
        head, self._head = self._head, None
        if head is not None:
            await self._send(head)
        await self._send(message)

    async def note_failure(self) -> None:
        """Store the line of a request that ends in an error without a reply."""
        if self._line is None and not self._is_refused:
            try:
                await self._log.run(lambda: self._add_line(500, Shown()))
            except FathomError as error:
                self._report(error)

    async def _store(self, message: Message) -> None:
        """Store the line at the first message, and what is new in each later message."""
        if self._head is not None:
            head = self._head
            kind = Headers(raw=head["headers"]).get("content-type", "")
            self._is_stream = kind.startswith(_STREAM)
            whole = kind.startswith("application/json") and not message.get("more_body")
            body = message.get("body", b"") if whole else b""
            await self._log.run(
                lambda: self._add_line(head["status"], collect_shown(_parse_json(body)))
            )
        if self._is_stream and not self._is_silent and (body := message.get("body", b"")):
            await self._log.run(lambda: self._add_shown(body))

    def _find_caller(self) -> Caller | None:
        """Return the caller; `None` if the request was not authenticated."""
        caller: Caller | None = self._scope.get("state", {}).get("caller")
        return caller

    def _add_line(self, status: int, shown: Shown) -> None:
        caller, asked = self._find_caller(), self._body.parse()
        route = _name_route(self._scope)
        if (event := find_event(self._scope)) is not None:
            self._is_silent = True
            self._line = self._log.add(self._describe_event(event, route, status))
            return
        self._is_silent = caller is None or route in UNWRITTEN or _is_silent_call(route, asked)
        if caller is None or self._is_silent:
            return
        parameters = self._scope.get("path_params", {})
        query = dict(parse_qsl(self._scope["query_string"].decode("latin-1")))
        if self._scope["method"] == "GET" and status < 400:
            shown = _list_opened(parameters, query) + shown
        key = caller.key
        self._shown = shown if status < 400 else Shown()
        self._line = self._log.add(
            AuditLine(
                requested=self._requested,
                key=caller.key_id,
                name=key.name if key else "",
                groups=tuple(sorted(key.groups)) if key else (),
                workspace=caller.workspace,
                route=f"{self._scope['method']} {route}",
                asked=_shorten_asked({**parameters, **query, **_pick_asked(asked)}),
                status=status,
                shown=self._shown,
            )
        )

    def _describe_event(self, event: SignOnEvent, route: str, status: int) -> AuditLine:
        return AuditLine(
            requested=self._requested,
            key=f"{SIGN_ON_KEY}:{event.name}" if event.name else SIGN_ON_KEY,
            name=event.name,
            groups=event.groups,
            route=f"{self._scope['method']} {route}",
            asked=event.to_json(),
            status=status,
        )

    def _add_shown(self, frame: bytes) -> None:
        shown = _read_frame(frame) - self._shown
        if shown and self._line is not None:
            self._log.add_shown(self._line, shown)
            self._shown += shown

    async def _refuse(self, error: FathomError) -> None:
        """Send a problem in place of the reply, or of its rest: the log cannot be written."""
        self._is_refused = True
        self._report(error)
        problem = Problem(
            503,
            "audit_failed",
            "the audit log cannot be written, and this server shows nothing without it",
            next="tell the operator of the server, whose log has the reason",
            retry_after=30,
        )
        if self._head is not None:
            response = build_error_response(problem, self._scope["path"])
            await response(self._scope, self._body.receive, self._send)
            return
        frame = build_error_event(problem).encode_frame(0)
        await self._send({"type": "http.response.body", "body": frame, "more_body": False})

    def _report(self, error: FathomError) -> None:
        caller = self._find_caller()
        who = f"key {caller.key_id!r}" if caller and caller.key else "this machine"
        method, path = self._scope["method"], self._scope["path"]
        LOG.error("not in the audit log: %s %s of %s: %s", method, path, who, error)


def _name_route(scope: Scope) -> str:
    """Return the whole pattern of the matched route."""
    if scope["path"] == MCP_PATH:
        return MCP_PATH
    return get_route_pattern(scope)


def _is_silent_call(route: str, asked: Mapping[str, Json]) -> bool:
    return route == MCP_PATH and asked.get("method") not in MCP_METHODS


def _list_opened(parameters: Mapping[str, Any], query: Mapping[str, str]) -> Shown:
    """Return the document, file or answer that the path of a request names."""
    names = [parameters[name] for name in ("document_id", "file_id") if name in parameters]
    start, end = (
        int(text) if (text := query.get(name, "")).isdecimal() and len(text) < 20 else None
        for name in ("start", "end")
    )
    answers = [parameters[name] for name in ("trace_id",) if name in parameters]
    return Shown(tuple(answers), tuple(ShownPlace(name, start, end) for name in names))


def _pick_asked(body: Mapping[str, Json]) -> dict[str, Json]:
    """Return the fields of a body that a line includes, without earlier turns of a conversation."""
    asked = {name: body[name] for name in _ASKED if body.get(name)}
    for name in _SPOKEN:
        if name in body:
            asked["question"] = _pick_last_turn(body[name])
    return asked


def _pick_last_turn(turns: Json) -> Json:
    """Return the content of the user's last turn."""
    if not isinstance(turns, list):
        return turns
    contents = (
        turn.get("content")
        for turn in reversed(turns)
        if isinstance(turn, dict) and turn.get("role") == "user"
    )
    return next(contents, None)


def _shorten_asked(asked: Json) -> Json:
    """Return the fields of a request, cut to a bounded length."""
    shortened = _shorten(asked)
    text = json.dumps(shortened)
    return shortened if len(text) <= MOST_ASKED else {"cut": text[:MOST_ASKED]}


def _shorten(value: Json, levels: int = 5) -> Json:
    """Return JSON whose texts are cut at `MOST_CHARS`; values below `levels` levels become null."""
    if isinstance(value, str):
        return value[:MOST_CHARS]
    if not isinstance(value, list | dict):
        return value
    if not levels:
        return None
    if isinstance(value, list):
        return [_shorten(item, levels - 1) for item in value]
    return {name: _shorten(item, levels - 1) for name, item in value.items()}


def _read_frame(frame: bytes) -> Shown:
    """Return the answers and documents that a frame of a stream shows."""
    return sum((collect_shown(_parse_json(data)) for data in _iterate_data(frame)), Shown())


def _iterate_data(frame: bytes) -> Iterator[bytes]:
    for line in frame.splitlines():
        if line.startswith(b"data: "):
            yield line.removeprefix(b"data: ")


def _parse_json(text: bytes) -> Json:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
