"""The dependencies of routes: the caller, the caller's workspace, and the question runner."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Header, Request
from fastapi.routing import APIRoute
from starlette.responses import Response
from typing_extensions import override

from fathom.serving.http.access import COOKIE, Access, Caller
from fathom.serving.http.keys import Scope
from fathom.serving.http.problems import Problem
from fathom.serving.http.question_runner import QuestionRunner
from fathom.serving.http.trusted_proxy import TrustedProxy
from fathom.serving.http.workspaces import Workspace, Workspaces

if TYPE_CHECKING:  # needs the extra `oidc`
    from fathom.serving.http.sign_on import SignOn

OPEN_TO_VIEWERS = {
    ("POST", "/api/v1/ask"),
    ("POST", "/api/v1/ask/stream"),
    ("POST", "/api/v1/search"),
    ("POST", "/api/v1/lines"),
    ("GET", "/api/v1/documents"),
    ("GET", "/api/v1/documents/{document_id:path}"),
    ("GET", "/api/v1/documents/{document_id:path}/text"),
    ("GET", "/api/v1/documents/{document_id:path}/chunks"),
    ("GET", "/api/v1/answers/{trace_id}"),
    ("GET", "/api/v1/traces"),
    ("GET", "/api/v1/traces/{trace_id}"),
    ("POST", "/api/v1/traces/{trace_id}/replay"),
    ("POST", "/api/v1/feedback"),
    ("GET", "/api/v1/conversations"),
    ("POST", "/api/v1/conversations"),
    ("GET", "/api/v1/conversations/{conversation_id}"),
    ("DELETE", "/api/v1/conversations/{conversation_id}"),
    ("GET", "/api/v1/strategies"),
    ("GET", "/api/v1/status"),
}
"""The routes for callers who may not read all documents: they show only what the caller may read.

Jobs, files, vector stores and reports belong to the whole workspace.
"""
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


async def identify_caller(request: Request) -> Caller:
    """Identify the caller by a trusted proxy, the key in `Authorization`, or a browser's cookie."""
    if not hasattr(request.state, "caller"):  # a request counts once against the key's rate
        request.state.caller = await _find_caller(request)
    caller: Caller = request.state.caller
    return caller


async def _find_caller(request: Request) -> Caller:
    proxy: TrustedProxy | None = request.app.state.proxy
    if proxy is not None and (user := proxy.identify_user(request.scope)):
        return user
    access: Access = request.app.state.access
    header = request.headers.get("authorization", "")
    scheme, _, credential = header.partition(" ")
    if header and scheme.lower() != "bearer":
        raise Problem(401, "unauthorized", "Authorization must be Bearer fth_...")
    sign_on: SignOn | None = request.app.state.sign_on
    # A key that is sent counts; a browser that is signed on sends none.
    if sign_on is not None and not header:
        user = await sign_on.identify_user(request, request.app.state.sessions)
        if user is not None:
            return user
    return await access.identify_caller(credential.strip() or request.cookies.get(COOKIE, ""))


def _require_scope(scope: Scope) -> Callable[[Caller], Awaitable[Caller]]:
    async def check(caller: Annotated[Caller, Depends(identify_caller)]) -> Caller:
        if scope not in caller.scopes:
            raise build_scope_problem(scope)
        return caller

    return check


def build_scope_problem(scope: Scope, action: str = "") -> Problem:
    """Build the problem of a key that lacks a scope; `action` names what the caller may not do."""
    return Problem(
        403,
        "scope_missing",
        f"this key has no scope {scope!r}" + (f", which is needed to {action}" if action else ""),
        next=f"make one that has it: fathom keys add NAME --scope {scope}",
    )


require_read, require_ingest, require_admin = (
    _require_scope("read"),
    _require_scope("ingest"),
    _require_scope("admin"),
)
ReadCaller = Annotated[Caller, Depends(require_read)]
IngestCaller = Annotated[Caller, Depends(require_ingest)]
AdminCaller = Annotated[Caller, Depends(require_admin)]
_SCOPE_CHECKS = (require_read, require_ingest, require_admin)


class KeyFirstRoute(APIRoute):
    """A route that checks key and scope before it reads the body, which may be large."""

    @override
    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()
        needed = {dependency.call for dependency in self.dependant.dependencies}
        checks = [check for check in _SCOPE_CHECKS if check in needed]

        async def handle_request(request: Request) -> Response:
            for check in checks:
                await check(await identify_caller(request))
            return await handle(request)

        return handle_request


async def get_workspace(
    request: Request, caller: Annotated[Caller, Depends(identify_caller)]
) -> Workspace:
    """Return the caller's workspace; nothing in the request can choose another one.

    Raises:
        Problem: 403 if documents are hidden from the caller and the route could reveal them.
    """
    spaces: Workspaces = request.app.state.workspaces
    space = spaces.get_workspace(caller)
    if space.engine.is_limited:
        route = request.method, request.scope["route"].path
        if route not in OPEN_TO_VIEWERS:
            raise _build_viewer_problem()
    return space


def _build_viewer_problem() -> Problem:
    """Build the problem of a caller who may not read all documents."""
    return Problem(
        403,
        "documents_hidden",
        "only a caller who may read all documents may do this",
        next="ask, search and read documents; a key with --group '*' may do the rest",
    )


async def get_question_runner(request: Request) -> QuestionRunner:
    """Return the runner of questions."""
    runner: QuestionRunner = request.app.state.asking
    return runner


async def get_idempotency_key(
    caller: Annotated[Caller, Depends(identify_caller)],
    idempotency_key: Annotated[
        str,
        Header(
            max_length=200,
            description="A text of the client; a repeated request with it gets the first reply.",
        ),
    ] = "",
) -> str:
    """Return the idempotency key of a request, prefixed with the API key's id; may be empty."""
    is_shared = not idempotency_key or caller.key is None
    # The name of a signed-on user may contain a colon, which must not make two texts equal.
    key_id = quote(caller.key_id, safe="")
    return idempotency_key if is_shared else f"{key_id}:{idempotency_key}"


IdempotencyKey = Annotated[str, Depends(get_idempotency_key)]
CurrentWorkspace = Annotated[Workspace, Depends(get_workspace)]
Runner = Annotated[QuestionRunner, Depends(get_question_runner)]
