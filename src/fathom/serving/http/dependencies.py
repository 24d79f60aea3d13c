"""What the routes ask for: who calls, that caller's workspace, and the way to ask."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request

from fathom.serving.http.access import COOKIE, Access, Caller
from fathom.serving.http.asking import Asking
from fathom.serving.http.keys import Scope
from fathom.serving.http.problems import Problem
from fathom.serving.http.workspaces import Workspace, Workspaces


async def caller(request: Request) -> Caller:
    """Who calls, by the key in `Authorization`, else by that of the browser's session."""
    access: Access = request.app.state.access
    given = request.headers.get("authorization", "")
    scheme, _, credential = given.partition(" ")
    if given and scheme.lower() != "bearer":
        raise Problem(401, "unauthorized", "Authorization must be Bearer fth_...")
    return await access.known(credential.strip() or request.cookies.get(COOKIE, ""))


def _scoped(scope: Scope) -> Callable[[Caller], Awaitable[Caller]]:
    async def check(known: Annotated[Caller, Depends(caller)]) -> Caller:
        if scope not in known.scopes:
            raise lack_scope(scope)
        return known

    return check


def lack_scope(scope: Scope, what: str = "") -> Problem:
    """Make what a key is told that lacks a scope, and what it wanted to do with it."""
    return Problem(
        403,
        "scope_missing",
        f"this key has no scope {scope!r}" + (f", which it takes to {what}" if what else ""),
        next=f"make one that has it: fathom keys add NAME --scope {scope}",
    )


read, ingest, admin = _scoped("read"), _scoped("ingest"), _scoped("admin")
MayRead = Annotated[Caller, Depends(read)]
MayIngest = Annotated[Caller, Depends(ingest)]
MayAdmin = Annotated[Caller, Depends(admin)]


async def workspace(request: Request, known: Annotated[Caller, Depends(caller)]) -> Workspace:
    """The workspace of who calls; the request has no say in it."""
    spaces: Workspaces = request.app.state.workspaces
    return spaces.of(known)


async def asking(request: Request) -> Asking:
    """The way to ask, within turn, budget and time."""
    found: Asking = request.app.state.asking
    return found


Here = Annotated[Workspace, Depends(workspace)]
Ask = Annotated[Asking, Depends(asking)]
