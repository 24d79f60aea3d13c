"""Whether the server lives, and whether it is ready."""

from typing import Any

from fastapi import APIRouter, Request

from fathom.serving.http.problems import Problem

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def alive() -> Any:  # noqa: ANN401
    """The server lives."""
    return {"status": "ok"}


@router.get("/readyz")
async def ready(request: Request) -> Any:  # noqa: ANN401
    """The server takes questions."""
    if request.app.state.stopping.is_set():
        raise Problem(503, "stopping", "the server is stopping", retry_after=5)
    return {"status": "ready"}
