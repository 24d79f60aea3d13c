"""The replies to errors, in the form of the interface that a request addresses."""

from collections.abc import Iterable

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from fathom.errors import FathomError
from fathom.serving.http.mcp import PATH as MCP_PATH
from fathom.serving.http.metrics import OPENAI_PREFIX
from fathom.serving.http.openai.errors import build_openai_response
from fathom.serving.http.problems import (
    Problem,
    StartedReply,
    build_http_problem,
    build_problem,
    build_validation_problem,
)

_INVALID_REQUEST, _INTERNAL_ERROR = -32600, -32603
"""The codes of JSON-RPC for a fault of the request and of the server."""


def build_error_response(problem: Problem, path: str) -> Response:
    """Build the reply to a request for a path: other clients than our own expect other forms."""
    if path == MCP_PATH:
        return _build_rpc_response(problem)
    if path.startswith(f"{OPENAI_PREFIX}/"):
        return build_openai_response(problem)
    return problem.build_response()


def _build_rpc_response(problem: Problem) -> Response:
    """Build the reply as an error of JSON-RPC, the only one whose message clients of MCP show."""
    code = _INTERNAL_ERROR if problem.status >= 500 else _INVALID_REQUEST
    error = {"code": code, "message": problem.build_message(), "data": problem.to_json()}
    rpc = {"jsonrpc": "2.0", "id": None, "error": error}
    return JSONResponse(rpc, status_code=problem.status, headers=problem.build_headers())


def install_handlers(app: FastAPI) -> None:
    """Report every error of the app as a problem."""

    async def handle_error(request: Request, error: Exception) -> Response:
        return build_error_response(build_problem(error), request.scope["path"])

    async def handle_invalid_request(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return build_error_response(build_validation_problem(error), request.scope["path"])

    async def handle_http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        problem = build_http_problem(error)
        if problem.status == 405:
            # The framework names the methods of the first route of the address alone.
            problem.headers["Allow"] = ", ".join(list_methods(app.routes, request.scope))
        return build_error_response(problem, request.scope["path"])

    app.add_exception_handler(Problem, handle_error)
    app.add_exception_handler(FathomError, handle_error)
    app.add_exception_handler(RequestValidationError, handle_invalid_request)
    app.add_exception_handler(HTTPException, handle_http_error)
    app.add_exception_handler(Exception, handle_error)


def list_methods(routes: Iterable[BaseRoute], scope: Scope) -> list[str]:
    """Return the methods that the address of a request takes, in the order of the alphabet."""
    taken = [
        method
        for method in ("DELETE", "GET", "PATCH", "POST", "PUT")
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in routes)
    ]
    # Every address that answers GET answers HEAD too.
    return sorted([*taken, *(["HEAD"] if "GET" in taken else [])])


class BugReplies:
    """An ASGI middleware that replies to unforeseen errors.

    It is the innermost middleware, so that its replies pass through those that guard and count. A
    handler of the application would reply outside of them.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and reply if it fails without a reply, as ASGI defines it."""
        reply = StartedReply(send)
        try:
            await self._app(scope, receive, reply.send)
        except Exception as error:
            if scope["type"] != "http" or reply.has_begun:
                raise
            response = build_error_response(build_problem(error), scope["path"])
            await response(scope, receive, send)
