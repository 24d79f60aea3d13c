"""Errors as `application/problem+json` (RFC 9457), with the cause and the next step."""

import errno
from collections.abc import Mapping
from math import ceil
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Send

from fathom.errors import (
    FathomError,
    IndexLocked,
    IndexMismatch,
    IndexMissing,
    MalformedReply,
    ModelRefused,
    ModelUnavailable,
    UsageError,
    locate_error,
)
from fathom.index.traces import MissingTraceError, OutrankedFeedbackError
from fathom.redaction import open_log
from fathom.runs.ledger import BudgetRefused

MEDIA_TYPE = "application/problem+json"
_SCHEMA = "see /openapi.json"
LOG = open_log("fathom.serving")


class Problem(Exception):
    """The failure of a request, which becomes a `problem+json` reply.

    Attributes:
        status: The status of the reply.
        kind: A stable word for programs, such as `overloaded`; it ends the `type` of the problem.
        detail: What is wrong, in one line.
        next: The next step, in one line; empty if there is none.
        retry_after: The seconds after which the request may succeed; `None` if it never will.
        headers: Further headers of the reply.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        next: str = "",  # noqa: A002 - the member's name
        retry_after: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail, self.next = status, kind, detail, next
        self.retry_after = retry_after
        self.headers = dict(headers or {})

    def to_json(self) -> dict[str, Any]:
        """Return the members of the problem."""
        members: dict[str, Any] = {
            "type": f"urn:fathom:problem:{self.kind}",
            "title": self.kind.replace("_", " "),
            "status": self.status,
            "detail": self.detail,
            "next": self.next,
        }
        if self.retry_after is not None:
            members["retry_after"] = _round_up_seconds(self.retry_after)
        return members

    def build_message(self) -> str:
        """Build one line with the detail and the next step."""
        return "; ".join(filter(None, (self.detail, self.next)))

    def build_headers(self) -> dict[str, str]:
        """Build the headers of a reply in any form."""
        if self.retry_after is None:
            return dict(self.headers)
        return {**self.headers, "Retry-After": str(_round_up_seconds(self.retry_after))}

    def build_response(self) -> Response:
        """Build the reply."""
        return JSONResponse(
            self.to_json(),
            status_code=self.status,
            headers=self.build_headers(),
            media_type=MEDIA_TYPE,
        )


def _round_up_seconds(seconds: float) -> int:
    return max(1, ceil(seconds))


_PROBLEMS: tuple[tuple[type[FathomError], int, str, float | None], ...] = (
    (MissingTraceError, 404, "trace_missing", None),
    (OutrankedFeedbackError, 409, "judged_already", None),
    (IndexMissing, 409, "index_empty", None),
    (IndexMismatch, 409, "index_mismatch", None),
    (UsageError, 400, "bad_request", None),
    (BudgetRefused, 429, "budget_spent", None),
    (IndexLocked, 503, "index_busy", 5.0),
    (ModelUnavailable, 503, "model_unavailable", 10.0),
    (ModelRefused, 502, "model_refused", None),
    (MalformedReply, 502, "model_refused", None),
)
"""Status, kind and retry time of the problem of each error class; the first match counts."""
_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
"""The errors of a disk that is full or cannot be written."""
_NEXT_STEPS = {
    "trace_missing": "GET /api/v1/traces lists them",
    "index_empty": "upload something (POST /api/v1/documents), or run `fathom ingest PATH`",
}
"""Next steps by kind of problem, in place of those in the error's message for the command line."""


SEND_LESS = "send less at once, or raise serve.upload_mb for uploads"
"""The next step after a body that is too large."""
_HTTP_PROBLEMS = {
    400: ("bad_request", "", _SCHEMA),
    404: ("not_found", "nothing is at this address", _SCHEMA),
    405: ("method_not_allowed", "this address does not take this method", _SCHEMA),
    408: ("too_slow", "", ""),
    413: ("too_large", "", SEND_LESS),
}
"""The kind of the framework's errors by status; what is wrong, if not their message; the next step.
"""


def build_problem(error: BaseException) -> Problem:
    """Build the problem of an error; log an unforeseen error, and do not send its message."""
    if isinstance(error, Problem):
        return error
    message = " ".join(str(error).split())
    for kind, status, name, retry_after in _PROBLEMS:
        if isinstance(error, kind):
            detail, _, next_step = message.partition("; ")
            return Problem(
                status, name, detail, next=_NEXT_STEPS.get(name, next_step), retry_after=retry_after
            )
    # The message of an unforeseen error may contain private text, so only the log gets it.
    LOG.error("%s", locate_error(error), exc_info=error)
    if isinstance(error, FathomError):
        return Problem(500, "failed", message)
    if isinstance(error, OSError) and error.errno in _UNWRITABLE:
        place = error.filename or "the folder of the index"
        return Problem(
            500, "failed", f"{place}: {error.strerror}; check free space and permissions"
        )
    return Problem(
        500,
        "bug",
        f"a bug: {locate_error(error)}",
        next="please report what the server's log shows",
    )


def build_stopping_problem() -> Problem:
    """Build the problem of a request that the server refuses or ends because it is stopping."""
    return Problem(
        503, "stopping", "the server is stopping", next="ask again in a moment", retry_after=5
    )


def build_validation_problem(error: RequestValidationError) -> Problem:
    """Build the problem of the first invalid field of a request, named by its path."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return Problem(
            422, "invalid", f"the body is not JSON at character {first['loc'][-1]}", next=_SCHEMA
        )
    place = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
    if "UploadFile" in first["msg"]:  # the framework's words for a text in place of a file
        step = "send it with a file name, as `curl -F files=@PATH` does"
        return Problem(422, "invalid", f"{place}: it is no file", next=step)
    return Problem(422, "invalid", f"{place}: {first['msg']}", next=_SCHEMA)


def build_http_problem(error: HTTPException) -> Problem:
    """Build the problem of a framework error, such as an unknown route or an unreadable body."""
    kind, detail, step = _HTTP_PROBLEMS.get(error.status_code, ("refused", "", ""))
    headers = dict(error.headers or {})
    detail = detail or str(error.detail)
    return Problem(error.status_code, kind, detail, next=step, headers=headers)


class StartedReply:
    """A reply that records whether any part of it was sent."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def send(self, message: Message) -> None:
        """Send a message, as ASGI defines it."""
        self.has_begun = True
        await self._send(message)
