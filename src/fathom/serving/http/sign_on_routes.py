"""The routes by which browsers sign on at an issuer, and sign out."""

from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from fathom.serving.http.access import Access
from fathom.serving.http.event_stream import build_json_reply
from fathom.serving.http.problems import Problem
from fathom.serving.http.sessions import Sessions
from fathom.serving.http.sign_on_events import REFUSALS_PER_MINUTE, SignOnEvent, note_event

if TYPE_CHECKING:  # needs the extra `oidc`
    from fathom.serving.http.sign_on import SignOn

router = APIRouter(prefix="/sign-on", include_in_schema=False)


@router.get("")
async def begin_sign_on(request: Request, place: str = "") -> Response:
    """Send a browser to the issuer."""
    sign_on = _get_sign_on(request)
    url, cookie = await sign_on.begin(request, place)
    reply = RedirectResponse(url, status_code=303)
    sign_on.set_cookie(reply, "sign_on", cookie)
    return reply


@router.get("/reply")
async def finish_sign_on(request: Request) -> Response:
    """Begin a session with the issuer's reply."""
    sign_on, sessions = _get_sign_on(request), _get_sessions(request)
    # A browser has one session, so an earlier user's session ends.
    earlier = sign_on.read_mark(request)
    try:
        place, cookie = await sign_on.finish(request, sessions)
    except Problem as problem:
        access: Access = request.app.state.access
        if await access.count_event("sign-on refused", REFUSALS_PER_MINUTE):
            note_event(request, SignOnEvent(act="refused", reason=problem.detail))
        refusal = problem.build_response()
        sign_on.delete_cookie(refusal, "sign_on")
        return refusal
    if earlier is not None:
        await sessions.drop(earlier.id)
    reply = RedirectResponse(place, status_code=303)
    sign_on.delete_cookie(reply, "sign_on")
    sign_on.set_cookie(reply, "session", cookie)
    return reply


@router.get("/user")
async def get_user(request: Request) -> Response:
    """Get the display name of the user who is signed on, and whether sign-on is offered."""
    sign_on: SignOn | None = request.app.state.sign_on
    if sign_on is None:
        return build_json_reply({"is_offered": False, "label": ""})
    label = await sign_on.find_label(request, _get_sessions(request))
    return build_json_reply({"is_offered": True, "label": label})


@router.post("/end", status_code=204)
async def end_session(request: Request) -> Response:
    """End the session of this browser at every server, and delete its cookie."""
    sign_on = _get_sign_on(request)
    if "origin" not in request.headers:
        raise Problem(403, "foreign_origin", "only the page of this server can sign a user out")
    await sign_on.end_session(request, _get_sessions(request))
    reply = Response(status_code=204)
    sign_on.delete_cookie(reply, "session")
    return reply


@router.post("/back-channel")
async def end_sessions(request: Request) -> Response:
    """End the sessions that a logout token of the issuer names."""
    sign_on = _get_sign_on(request)
    fields = parse_qs((await request.body()).decode("utf-8", "replace"))
    token = fields.get("logout_token", [""])[0]
    await sign_on.end_sessions(request, token, _get_sessions(request))
    return Response(status_code=200)


def _get_sign_on(request: Request) -> "SignOn":
    sign_on: SignOn | None = request.app.state.sign_on
    if sign_on is None:
        raise Problem(
            404,
            "not_found",
            "this server offers no sign-on",
            next="start it with `fathom serve --oidc ISSUER`, or use a key",
        )
    return sign_on


def _get_sessions(request: Request) -> Sessions:
    sessions: Sessions = request.app.state.sessions
    return sessions
