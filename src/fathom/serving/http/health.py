"""The routes of liveness, readiness, metrics, and a browser's session."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Header, Request
from starlette.responses import PlainTextResponse, Response

from fathom.serving.http.access import COOKIE, Access
from fathom.serving.http.api import Body
from fathom.serving.http.dependencies import AdminCaller
from fathom.serving.http.event_stream import build_json_reply
from fathom.serving.http.metrics import CONTENT_TYPE
from fathom.serving.http.problems import Problem, build_stopping_problem
from fathom.serving.http.reply_schemas import StateReply

router = APIRouter(tags=["server"])


class SessionBody(Body):
    """A key, as `fathom keys add` printed it."""

    key: str


@router.get("/healthz", response_model=StateReply)
async def get_liveness() -> Response:
    """Report that the server is running."""
    return build_json_reply({"status": "ok"})


@router.get("/readyz", response_model=StateReply)
async def get_readiness(request: Request) -> Response:
    """Report that the server accepts questions.

    The reply is 503 if the index cannot be opened for questions, and once the server is stopping.
    """
    if request.app.state.stopping.is_announced:
        raise build_stopping_problem()
    await request.app.state.readiness.check()
    return build_json_reply({"status": "ready"})


@router.get("/metrics", response_class=PlainTextResponse)
async def get_metrics(request: Request, _: AdminCaller) -> Response:
    """Get the metrics for Prometheus."""
    return Response(request.app.state.metrics.render_text(), headers={"Content-Type": CONTENT_TYPE})


@router.post("/api/v1/session", status_code=204)
async def create_session(
    body: SessionBody,
    request: Request,
    x_forwarded_proto: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Store a key in a cookie of this browser until it is closed; scripts cannot read the key."""
    access: Access = request.app.state.access
    if not body.key.isascii():
        raise Problem(401, "unauthorized", "the key is unknown")
    # A session without a key is fine where none is needed.
    is_needed = await asyncio.to_thread(access.needs_key)
    if body.key or is_needed:
        await access.identify_caller(body.key)
    reply = Response(status_code=204)
    # Behind a proxy that ends TLS the request itself arrives as http.
    is_secure = request.url.scheme == "https" or x_forwarded_proto == "https"
    reply.set_cookie(COOKIE, body.key, httponly=True, samesite="strict", secure=is_secure)
    return reply


@router.delete("/api/v1/session", status_code=204)
async def delete_session() -> Response:
    """Make this browser forget its key."""
    reply = Response(status_code=204)
    reply.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return reply
