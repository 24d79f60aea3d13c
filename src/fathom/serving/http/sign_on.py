"""Sign-on by OpenID Connect: from the first redirect to the session of a browser.

It uses two cookies, both signed with a key made from the client's secret: one while the user is at
the issuer, one for the session. The user is stored beside the index, so that signing out ends the
session at every server. The issuer is asked again for the user's rights every minute.
"""

import re
import time
from collections.abc import Callable, Mapping
from hmac import compare_digest
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey
from starlette.responses import Response

from fathom.errors import RunError, UsageError
from fathom.redaction import open_log
from fathom.serving.http.access import Caller, build_unauthorized_problem
from fathom.serving.http.keys import Key
from fathom.serving.http.object_store import ObjectData
from fathom.serving.http.openid import Issuer, PendingSignOn, TokenRefusal
from fathom.serving.http.problems import Problem
from fathom.serving.http.session_renewal import INTERVAL_S, SessionMark, SessionRenewal
from fathom.serving.http.sessions import Sessions, Use, make_session_id
from fathom.serving.http.sign_on_events import SIGN_ON_KEY, SignOnAct, SignOnEvent, note_event
from fathom.serving.http.sign_on_plan import SignedOnUser, SignOnPlan
from fathom.serving.sockets import LOOPBACK

REPLY_PATH = "/sign-on/reply"
PENDING_S = 600
"""The seconds for signing on at the issuer."""
LOG = open_log("fathom.serving")
_PLACE = re.compile(r"#[\x21-\x7e]{0,500}")
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class SignOn:
    """The sign-on of users by an issuer, and their sessions; safe from threads and processes."""

    def __init__(
        self,
        issuer: Issuer,
        *,
        plan: SignOnPlan | None = None,
        public_url: str = "",
        renewal_s: float = INTERVAL_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Create the sign-on. Nothing is fetched yet.

        Args:
            issuer: The issuer at which users sign on.
            plan: The conversion of claims to a user.
            public_url: The address of the page from outside; empty on this machine.
            renewal_s: The seconds for which a user's rights count before the issuer is asked again.
            clock: Returns the seconds since 1970.
        """
        self.issuer, self.plan, self.public_url = issuer, plan or SignOnPlan(), public_url
        self._key = OctKey.import_key(issuer.derive_key(b"cookies of fathom"))
        self._clock = clock
        self._renewal = SessionRenewal(issuer, self.plan, clock=clock, interval_s=renewal_s)

    async def begin(self, request: Request, place: str) -> tuple[str, str]:
        """Return the issuer's address at which a user signs on, and the value of the cookie.

        Args:
            request: The request of the browser.
            place: The part of the page's address after which to return, from `#` on.

        Raises:
            Problem: 421 if the issuer cannot return to the address that the browser used; 502 if
                the issuer cannot be reached.
        """
        pending = PendingSignOn(
            state=token_urlsafe(32),
            nonce=token_urlsafe(32),
            verifier=token_urlsafe(48),
            redirect_uri=f"{self.find_address(request)}{REPLY_PATH}",
        )
        try:
            addresses = await self.issuer.fetch_addresses()
            scopes = self.plan.choose_scopes(addresses)
            url = await self.issuer.build_authorization_url(pending, scopes)
        except RunError as error:
            raise build_sign_on_problem(502, error) from None
        content = {
            "state": pending.state,
            "nonce": pending.nonce,
            "verifier": pending.verifier,
            "redirect_uri": pending.redirect_uri,
            "place": place if _PLACE.fullmatch(place) else "",
        }
        return url, self._sign("sign_on", content, int(self._clock()) + PENDING_S)

    async def finish(self, request: Request, sessions: Sessions) -> tuple[str, str]:
        """Open a session; return the address of the page to return to, and the cookie's value.

        Args:
            request: The request by which the issuer sends the user back.
            sessions: The store of sessions.

        Raises:
            Problem: 400 if the reply does not belong to a sign-on of this browser, or was used
                before; 401 if the issuer or its token names no user; 502 if the issuer cannot be
                reached.
        """
        content = self._read(request, "sign_on")
        query = request.query_params
        state = query.get("state", "")
        if content is None or not compare_digest(state.encode(), str(content["state"]).encode()):
            raise _build_state_problem("it answers no sign-on of this browser")
        if query.get("iss", self.issuer.url) != self.issuer.url:
            raise _build_state_problem("it comes from another issuer")
        used = make_session_id(int(content["exp"]), state)
        if not await sessions.put_once("sign_on", used, {}, self._clock()):
            raise _build_state_problem("it was used before")
        if "error" in query or not query.get("code"):
            reason = "".join(filter(str.isprintable, query.get("error", "it gives no code")))[:100]
            raise Problem(
                401,
                "sign_on_refused",
                f"{self.issuer.url} refuses the sign-on: {reason}",
                next=(
                    "name the scopes that the client may request with --oidc-scopes"
                    if reason == "invalid_scope"
                    else "sign on again, or ask the administrator of the issuer"
                ),
            )
        pending = PendingSignOn(
            state=state,
            nonce=str(content["nonce"]),
            verifier=str(content["verifier"]),
            redirect_uri=str(content["redirect_uri"]),
        )
        try:
            user, cookie = await self._open_session(query["code"], pending, sessions)
        except RunError as error:
            status = 401 if isinstance(error, TokenRefusal) else 502
            raise build_sign_on_problem(status, error) from None
        note_event(request, SignOnEvent(act="signed on", name=user.name, groups=user.groups))
        return f"/{content['place']}", cookie

    async def _open_session(
        self, code: str, pending: PendingSignOn, sessions: Sessions
    ) -> tuple[SignedOnUser, str]:
        """Store a session for the user of a code; return the user and the value of its cookie."""
        asked = self._clock()
        claims, first_grant = await self.issuer.exchange_code(code, pending)
        user = self.plan.parse_user(claims)
        grant = await self._renewal.find_grant(user, first_grant)
        mark = SessionMark(
            number=token_urlsafe(32), ends=int(self._clock() + self.plan.hours * 3600)
        )
        session = {
            **self._renewal.describe_session(mark, user, grant, asked),
            "subject": first_grant.subject,
            "issuer_session": first_grant.session,
        }
        await sessions.put_once("session", mark.id, session, self._clock())
        return user, self._sign("session", {"session": mark.number}, mark.ends)

    def read_mark(self, request: Request) -> SessionMark | None:
        """Return the content of a browser's session cookie; `None` without a valid one."""
        content = self._read(request, "session")
        if content is None:
            return None
        return SessionMark(number=str(content["session"]), ends=int(content["exp"]))

    async def find_label(self, request: Request, sessions: Sessions) -> str:
        """Return the display name of the user who is signed on in a browser; empty if nobody is."""
        mark = self.read_mark(request)
        session = await sessions.get(mark.id) if mark else None
        return str(session["label"]) if session else ""

    async def _find_session(self, request: Request, sessions: Sessions) -> ObjectData | None:
        """Return the session of a browser with up-to-date rights; `None` if there is none."""
        mark = self.read_mark(request)
        session = await sessions.get(mark.id) if mark else None
        if mark is None or session is None or not self._renewal.is_due(session):
            return session
        try:
            return await self._renewal.renew(sessions, mark, session)
        except TokenRefusal as refusal:
            note_event(request, _describe_event("ended by the issuer", session, str(refusal)))
            return None

    async def identify_user(self, request: Request, sessions: Sessions) -> Caller | None:
        """Return the signed-on user behind a request; `None` if it carries no session.

        Raises:
            Problem: 401 if the session has ended; 403 if a request that changes something has no
                `Origin`; 502 if the issuer cannot be asked for the user's rights.
        """
        if self.get_cookie_name("session") not in request.cookies:
            return None
        session = await self._find_session(request, sessions)
        if session is None:
            raise build_unauthorized_problem("the session has ended", "sign on again")
        # The guard has refused foreign origins; a browser sends `Origin` with every change.
        if request.method not in _SAFE_METHODS and "origin" not in request.headers:
            raise Problem(
                403,
                "foreign_origin",
                "a request in a session that changes something needs the header Origin",
                next="ask from the page of this server, or with a key",
            )
        key = Key(
            id=f"{SIGN_ON_KEY}:{session['name']}",
            name=session["name"],
            groups=frozenset(session["groups"]),
            scopes=frozenset(session["scopes"]),
        )
        return Caller(key=key, scopes=key.scopes)

    async def end_session(self, request: Request, sessions: Sessions) -> None:
        """End the session of a browser, at every server."""
        mark = self.read_mark(request)
        session = await sessions.get(mark.id) if mark else None
        if mark is not None and session is not None:
            await sessions.drop(mark.id)
            note_event(request, _describe_event("signed out", session))
            await self._renewal.revoke_tokens(mark, session)

    async def end_sessions(self, request: Request, token: str, sessions: Sessions) -> None:
        """End the sessions that a logout token of the issuer names, at every server.

        Args:
            request: The request of the issuer.
            token: The logout token, which names a user or a session.
            sessions: The store of sessions.

        Raises:
            Problem: 400 if the token is invalid; 502 if it cannot be verified.
        """
        try:
            signed_out = await self.issuer.verify_logout_token(token)
        except RunError as error:
            raise build_sign_on_problem(
                400 if isinstance(error, TokenRefusal) else 502, error
            ) from None
        reason = f"{self.issuer.url} signs the user out"
        for session_id, session in (await sessions.list_all()).items():
            if signed_out.matches(session["subject"], session["issuer_session"]):
                await sessions.drop(session_id)
                note_event(request, _describe_event("ended by the issuer", session, reason))

    def set_cookie(self, reply: Response, use: Use, value: str) -> None:
        """Set a cookie that no script can read and no page of another site can send."""
        reply.set_cookie(
            self.get_cookie_name(use),
            value,
            max_age=PENDING_S if use == "sign_on" else round(self.plan.hours * 3600),
            httponly=True,
            samesite="lax",
            secure=self.is_secure,
        )

    def delete_cookie(self, reply: Response, use: Use) -> None:
        """Make a browser forget a cookie."""
        reply.delete_cookie(
            self.get_cookie_name(use), httponly=True, samesite="lax", secure=self.is_secure
        )

    @property
    def is_secure(self) -> bool:
        """True if browsers reach the page by https."""
        return self.public_url.startswith("https://")

    def get_cookie_name(self, use: Use) -> str:
        """Return the name of a cookie; with https, a name that no other host can set."""
        return f"{'__Host-' if self.is_secure else ''}fathom_{use}"

    def find_address(self, request: Request) -> str:
        """Return the address of the page to which the issuer may return.

        Raises:
            Problem: 421 if no public address is set, and the browser did not use a loopback name.
        """
        if self.public_url:
            return self.public_url.rstrip("/")
        url = request.url
        if url.hostname not in LOOPBACK:
            raise Problem(
                421,
                "unknown_host",
                "nobody can sign on under this name of the server",
                next="set serve.public_url to the address of the page",
            )
        return f"{url.scheme}://{url.netloc}"

    def _sign(self, use: Use, content: Mapping[str, Any], ends: int) -> str:
        """Return the value of a cookie that is valid until `ends`, a second since 1970."""
        claims = {**content, "aud": use, "exp": ends}
        return jwt.encode({"alg": "HS256"}, claims, self._key)

    def _read(self, request: Request, use: Use) -> dict[str, Any] | None:
        """Return the content of a cookie; `None` if it is missing, altered or expired."""
        try:
            value = request.cookies.get(self.get_cookie_name(use), "")
            claims = jwt.decode(value, self._key, algorithms=["HS256"]).claims
        except (JoseError, ValueError):
            return None
        is_valid = claims.get("aud") == use and claims.get("exp", 0) > self._clock()
        return claims if is_valid else None


def check_public_url(public_url: str, host: str) -> None:
    """Check the address of the page, to which the issuer sends users back.

    Args:
        public_url: The address of the page from outside; empty for none.
        host: The address at which the server listens.

    Raises:
        UsageError: If the address is missing, has a path, or would send sessions without https.
    """
    if not public_url and host in LOOPBACK:
        return
    parts = urlsplit(public_url)
    is_private = parts.scheme == "http" and parts.hostname in LOOPBACK
    if not parts.hostname or not (parts.scheme == "https" or is_private):
        raise UsageError(
            f"serve.public_url {public_url!r}: the issuer sends users back to this address; give "
            "one with https, such as --set serve.public_url=https://ask.example.org"
        )
    if parts.path.strip("/"):
        raise UsageError(
            f"serve.public_url {public_url!r}: the page needs a host of its own for its sessions; "
            "give an address without a path"
        )


def build_sign_on_problem(status: int, error: RunError) -> Problem:
    """Build the problem of a failed sign-on, and log it."""
    detail, _, step = str(error).partition("; ")
    LOG.warning("sign-on: %s", detail)
    return Problem(
        status, "sign_on_failed" if status == 502 else "sign_on_refused", detail, next=step
    )


def _describe_event(act: SignOnAct, session: ObjectData, reason: str = "") -> SignOnEvent:
    return SignOnEvent(
        act=act,
        name=session["name"],
        groups=tuple(session["groups"]),
        reason=reason.partition("; ")[0],
    )


def _build_state_problem(reason: str) -> Problem:
    return Problem(
        400, "sign_on_refused", f"this reply is not used: {reason}", next="sign on again"
    )
