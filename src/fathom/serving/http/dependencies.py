"""What the routes ask for: who calls, and that caller's workspace."""

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request

from fathom.serving.http.access import Caller, Scope
from fathom.serving.http.problems import Problem
from fathom.serving.http.workspaces import Workspace, Workspaces


def caller(request: Request) -> Caller:
    """Who calls."""
    found: Caller = request.app.state.access.caller(request.headers.get("authorization", ""))
    return found


def _scoped(scope: Scope) -> Callable[[Caller], Caller]:
    def check(known: Annotated[Caller, Depends(caller)]) -> Caller:
        if scope not in known.scopes:
            raise Problem(
                403,
                "scope_missing",
                f"this key has no scope {scope!r}",
                next=f"make one that has it: fathom keys add NAME --scope {scope}",
            )
        return known

    return check


read, ingest, admin = _scoped("read"), _scoped("ingest"), _scoped("admin")
MayRead = Annotated[Caller, Depends(read)]
MayIngest = Annotated[Caller, Depends(ingest)]
MayAdmin = Annotated[Caller, Depends(admin)]


def workspace(request: Request, known: Annotated[Caller, Depends(caller)]) -> Workspace:
    """The workspace of who calls; the request has no say in it."""
    spaces: Workspaces = request.app.state.workspaces
    return spaces.of(known)


Here = Annotated[Workspace, Depends(workspace)]
