"""The dependencies of routes: the caller, the caller's workspace, and the question runner."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request

from fathom.serving.http.access import COOKIE, Access, Caller
from fathom.serving.http.asking import Asking
from fathom.serving.http.keys import Scope
from fathom.serving.http.problems import Problem
from fathom.serving.http.workspaces import Workspace, Workspaces


async def caller(request: Request) -> Caller:
    """Return the caller, by the key in `Authorization`, else by the browser's session."""
    access: Access = request.app.state.access
    header = request.headers.get("authorization", "")
    scheme, _, credential = header.partition(" ")
    if header and scheme.lower() != "bearer":
        raise Problem(401, "unauthorized", "Authorization must be Bearer fth_...")
    return await access.known(credential.strip() or request.cookies.get(COOKIE, ""))


def _scoped(scope: Scope) -> Callable[[Caller], Awaitable[Caller]]:
    async def check(holder: Annotated[Caller, Depends(caller)]) -> Caller:
        if scope not in holder.scopes:
            raise lack_scope(scope)
        return holder

    return check


def lack_scope(scope: Scope, action: str = "") -> Problem:
    """Build the problem of a key that lacks a scope; `what` is the refused action."""
    return Problem(
        403,
        "scope_missing",
        f"this key has no scope {scope!r}" + (f", which it takes to {action}" if action else ""),
        next=f"make one that has it: fathom keys add NAME --scope {scope}",
    )


read, ingest, admin = _scoped("read"), _scoped("ingest"), _scoped("admin")
MayRead = Annotated[Caller, Depends(read)]
MayIngest = Annotated[Caller, Depends(ingest)]
MayAdmin = Annotated[Caller, Depends(admin)]


async def workspace(request: Request, holder: Annotated[Caller, Depends(caller)]) -> Workspace:
    """Return the caller's workspace; nothing in the request can choose another one."""
    spaces: Workspaces = request.app.state.workspaces
    return spaces.of(holder)


async def asking(request: Request) -> Asking:
    """Return the runner of questions, which respects turn, budget and time."""
    runner: Asking = request.app.state.asking
    return runner


Here = Annotated[Workspace, Depends(workspace)]
Ask = Annotated[Asking, Depends(asking)]
