"""Errors as `application/problem+json` (RFC 9457): what is wrong, and what to do next."""

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from fathom.errors import (
    FathomError,
    IndexLocked,
    IndexMismatch,
    IndexMissing,
    MalformedReply,
    ModelRefused,
    ModelUnavailable,
    UsageError,
    culprit,
)
from fathom.index.traces import Outranked, TraceMissing
from fathom.runs.ledger import BudgetRefused

MEDIA_TYPE = "application/problem+json"
_SCHEMA = "see /openapi.json"
LOG = logging.getLogger("fathom.serving")


class Problem(Exception):
    """A request cannot be done; becomes a `problem+json` reply.

    Attributes:
        status: Of the reply.
        kind: A stable word for programs, `overloaded`; ends the `type` of the problem.
        detail: What is wrong, in one line.
        next: What to do, in one line; empty where there is nothing.
        retry_after: Seconds after which the same may work; `None` where it will not.
        headers: Others of the reply.
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
        """The members of the problem."""
        told: dict[str, Any] = {
            "type": f"urn:fathom:problem:{self.kind}",
            "title": self.kind.replace("_", " "),
            "status": self.status,
            "detail": self.detail,
            "next": self.next,
        }
        if self.retry_after is not None:
            told["retry_after"] = _whole_seconds(self.retry_after)
        return told

    def response(self) -> Response:
        """The reply."""
        headers = dict(self.headers)
        if self.retry_after is not None:
            headers["Retry-After"] = str(_whole_seconds(self.retry_after))
        return JSONResponse(
            self.to_json(), status_code=self.status, headers=headers, media_type=MEDIA_TYPE
        )


def _whole_seconds(seconds: float) -> int:
    return max(1, round(seconds + 0.5))


_KINDS: tuple[tuple[type[FathomError], int, str, float | None], ...] = (
    (TraceMissing, 404, "trace_missing", None),
    (Outranked, 409, "judged_already", None),
    (IndexMissing, 409, "index_empty", None),
    (IndexMismatch, 409, "index_mismatch", None),
    (UsageError, 400, "bad_request", None),
    (BudgetRefused, 429, "budget_spent", None),
    (IndexLocked, 503, "index_busy", 5.0),
    (ModelUnavailable, 503, "model_unavailable", 10.0),
    (ModelRefused, 502, "model_refused", None),
    (MalformedReply, 502, "model_refused", None),
)
"""The first that an error is an instance of says what it becomes; what is none of them is ours."""
_NEXT_STEPS = {"trace_missing": "GET /api/v1/traces lists them"}
"""What to do instead of what the command line would."""


def problem_of(error: BaseException) -> Problem:
    """What an error becomes; one that nobody foresaw is logged and told without its message."""
    if isinstance(error, Problem):
        return error
    message = " ".join(str(error).split())
    for kind, status, name, again in _KINDS:
        if isinstance(error, kind):
            detail, _, todo = message.partition("; ")
            return Problem(
                status, name, detail, next=_NEXT_STEPS.get(name, todo), retry_after=again
            )
    LOG.error("%s", culprit(error), exc_info=error)
    if isinstance(error, FathomError):
        return Problem(500, "failed", message)
    return Problem(
        500, "bug", f"a bug: {culprit(error)}", next="please report what the server's log shows"
    )


def _invalid(error: RequestValidationError) -> Problem:
    """The first thing wrong with a request, by its place in it."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return Problem(
            422, "invalid", f"the body is not JSON at character {first['loc'][-1]}", next=_SCHEMA
        )
    place = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
    return Problem(422, "invalid", f"{place}: {first['msg']}", next=_SCHEMA)


def problem_of_http(error: HTTPException) -> Problem:
    """What an error of the framework becomes: no such route, a body that cannot be read."""
    kinds = {404: "not_found", 405: "method_not_allowed", 400: "bad_request"}
    kind = kinds.get(error.status_code, "refused")
    headers = dict(error.headers or {})
    return Problem(error.status_code, kind, str(error.detail), headers=headers)


def install(app: FastAPI) -> None:
    """Let every error of the app be told as a problem."""

    async def told(_: Request, error: Exception) -> Response:
        return problem_of(error).response()

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return _invalid(error).response()

    async def plain(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return problem_of_http(error).response()

    app.add_exception_handler(Problem, told)
    app.add_exception_handler(FathomError, told)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, plain)
    app.add_exception_handler(Exception, told)
