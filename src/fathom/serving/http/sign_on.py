"""Sign-on by OpenID Connect: from the first redirect to the session of a browser.

Two cookies carry it, both signed with a key made from the client's secret: one for the minutes in
which the user is at the issuer, one for the session. Who the user is stands beside the index, so
that signing out ends the session at every server.
"""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from secrets import token_urlsafe
from typing import Any, Literal
from urllib.parse import urlsplit

from fastapi import Request
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey
from starlette.responses import Response

from fathom.errors import RunError, UsageError
from fathom.redaction import open_log
from fathom.serving.http.access import Caller, build_unauthorized_problem
from fathom.serving.http.keys import GROUP, SCOPES, Key, Scope
from fathom.serving.http.object_store import Objects
from fathom.serving.http.openid import Issuer, PendingSignOn, TokenRefusal
from fathom.serving.http.problems import Problem
from fathom.serving.sockets import LOOPBACK

Use = Literal["session", "sign_on"]
"""The use of a cookie, and the kind of what is stored about it."""
REPLY_PATH = "/sign-on/reply"
PENDING_S = 600
"""The time for signing on at the issuer."""
LOG = open_log("fathom.serving")
_USER = re.compile(r"[^,*\x00-\x1f\x7f]{1,255}")
_PLACE = re.compile(r"#[\x21-\x7e]{0,500}")
ROLES: Mapping[str, frozenset[Scope]] = {
    "reader": frozenset({"read"}),
    "editor": frozenset({"read", "ingest"}),
    "admin": frozenset(SCOPES),
}
"""The scopes of each role."""
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_LABELS = ("preferred_username", "name", "email")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOnPlan:
    """The way from the claims of a token to a user.

    Attributes:
        user_claim: The claim with the name by which the user reads and owns.
        groups_claim: The claim with the user's groups.
        roles_claim: The claim with the user's roles; empty if everybody reads.
        hours: The life of a session.
    """

    user_claim: str = "sub"
    groups_claim: str = "groups"
    roles_claim: str = ""
    hours: float = 1.0


class SignOn:
    """The sign-on of users by an issuer, and their sessions; safe from threads and processes."""

    def __init__(
        self,
        issuer: Issuer,
        *,
        plan: SignOnPlan | None = None,
        public_url: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Create the sign-on. Nothing is fetched yet.

        Args:
            issuer: The issuer that users sign on at.
            plan: How claims become a user.
            public_url: The address of the page from outside; empty on this machine.
            clock: The seconds since 1970.
        """
        self.issuer, self.plan, self.public_url = issuer, plan or SignOnPlan(), public_url
        self._key = OctKey.import_key(issuer.derive_key(b"cookies of fathom"))
        self._clock = clock

    async def begin(self, request: Request, place: str) -> tuple[str, str]:
        """Return the issuer's address at which a user signs on, and the value of the cookie.

        Args:
            request: The request of the browser.
            place: The place of the page to return to, from its `#` on.

        Raises:
            Problem: 421 if the browser asks at an address that the issuer cannot return to; 502 if
                the issuer cannot be reached.
        """
        pending = PendingSignOn(
            state=token_urlsafe(32),
            nonce=token_urlsafe(32),
            verifier=token_urlsafe(48),
            redirect_uri=f"{self.find_address(request)}{REPLY_PATH}",
        )
        try:
            url = await self.issuer.build_authorization_url(pending, "openid profile email")
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

    async def finish(self, request: Request, objects: Objects) -> tuple[str, str]:
        """Return the place of the page to return to, and the value of the session's cookie.

        Args:
            request: The request by which the issuer sends the user back.
            objects: The store of sessions.

        Raises:
            Problem: 400 if the reply is not to this browser's sign-on, or was used; 401 if the
                issuer or its token names no user; 502 if the issuer cannot be reached.
        """
        content = self._read(request, "sign_on")
        query = request.query_params
        state = query.get("state", "")
        if content is None or not compare_digest(state.encode(), str(content["state"]).encode()):
            raise _build_state_problem("it answers no sign-on of this browser")
        if query.get("iss", self.issuer.url) != self.issuer.url:
            raise _build_state_problem("it comes from another issuer")
        if not await asyncio.to_thread(self._use_state, objects, content):
            raise _build_state_problem("it was used before")
        if "error" in query or not query.get("code"):
            reason = "".join(filter(str.isprintable, query.get("error", "it gives no code")))[:100]
            raise Problem(
                401,
                "sign_on_refused",
                f"{self.issuer.url} signs nobody on: {reason}",
                next="sign on again, or ask whoever manages the issuer",
            )
        pending = PendingSignOn(
            state=state,
            nonce=str(content["nonce"]),
            verifier=str(content["verifier"]),
            redirect_uri=str(content["redirect_uri"]),
        )
        try:
            claims = await self.issuer.exchange_code(query["code"], pending)
        except RunError as error:
            status = 401 if isinstance(error, TokenRefusal) else 502
            raise build_sign_on_problem(status, error) from None
        cookie = await asyncio.to_thread(self._open_session, objects, claims)
        return f"/{content['place']}", cookie

    def _use_state(self, objects: Objects, content: Mapping[str, Any]) -> bool:
        """Return whether a state is used for the first time, at any server."""
        return objects.put_once(
            "sign_on", _make_id(int(content["exp"]), str(content["state"])), {}, self._clock()
        )

    def _open_session(self, objects: Objects, claims: Mapping[str, Any]) -> str:
        user = self._parse_user(claims)
        number, ends = token_urlsafe(32), int(self._clock() + self.plan.hours * 3600)
        objects.put_once("session", _make_id(ends, number), user, self._clock())
        return self._sign("session", {"session": number}, ends)

    def _parse_user(self, claims: Mapping[str, Any]) -> dict[str, Any]:
        claim = self.plan.user_claim
        name = find_claim(claims, claim)
        is_proven = claim != "email" or claims.get("email_verified") is True
        if not isinstance(name, str) or not _USER.fullmatch(name) or not is_proven:
            raise Problem(
                401,
                "sign_on_refused",
                f"the token of {self.issuer.url} names no user in its claim {claim!r}"
                + ("" if is_proven else " that the issuer has verified"),
                next="let the issuer send the claim, or name another one with --oidc-user",
            )
        labels = (claims.get(label) for label in _LABELS)
        label = next((text for text in labels if isinstance(text, str) and text), name)
        groups = sorted(parse_groups(find_claim(claims, self.plan.groups_claim)))
        scopes = sorted(self._parse_scopes(claims))
        return {"name": name, "label": label[:100], "groups": groups, "scopes": scopes}

    def _parse_scopes(self, claims: Mapping[str, Any]) -> frozenset[Scope]:
        """Return the scopes of all roles of a user.

        Raises:
            Problem: 401 if roles count, and the user has none.
        """
        if not self.plan.roles_claim:
            return ROLES["reader"]
        roles = parse_groups(find_claim(claims, self.plan.roles_claim)) & ROLES.keys()
        if not roles:
            raise Problem(
                401,
                "sign_on_refused",
                f"the token of {self.issuer.url} names no role in its claim "
                f"{self.plan.roles_claim!r}",
                next=f"let the issuer give the user one of {', '.join(ROLES)}",
            )
        return frozenset().union(*(ROLES[role] for role in roles))

    def find_user(self, request: Request, objects: Objects) -> dict[str, Any] | None:
        """Return the name, the label and the groups of a browser's user; `None` for nobody."""
        content = self._read(request, "session")
        if content is None:
            return None
        return objects.get("session", _make_id(int(content["exp"]), str(content["session"])))

    def identify_user(self, request: Request, objects: Objects) -> Caller | None:
        """Return the signed-on user behind a request; `None` if it carries no session.

        Raises:
            Problem: 401 if the session has ended; 403 if a request that changes something does not
                say which page it comes from.
        """
        if self.get_cookie_name("session") not in request.cookies:
            return None
        user = self.find_user(request, objects)
        if user is None:
            raise build_unauthorized_problem("the session has ended", "sign on again")
        # The guard has refused foreign origins; a browser sends its own with every change.
        if request.method not in _SAFE_METHODS and "origin" not in request.headers:
            raise Problem(
                403,
                "foreign_origin",
                "a session changes nothing without the header Origin",
                next="ask from the page of this server, or with a key",
            )
        key = Key(
            id=f"oidc:{user['name']}",
            name=user["name"],
            groups=frozenset(user["groups"]),
            scopes=frozenset(user["scopes"]),
        )
        return Caller(key=key, scopes=key.scopes)

    def end_session(self, request: Request, objects: Objects) -> None:
        """End the session of a browser, at every server."""
        if (content := self._read(request, "session")) is not None:
            objects.drop("session", _make_id(int(content["exp"]), str(content["session"])))

    def set_cookie(self, reply: Response, use: Use, value: str) -> None:
        """Give a browser a cookie that no script reads and no page of another site sends."""
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
        """The question whether browsers reach the page by https."""
        return self.public_url.startswith("https://")

    def get_cookie_name(self, use: Use) -> str:
        """Return the name of a cookie; behind https one that no other host can set."""
        return f"{'__Host-' if self.is_secure else ''}fathom_{use}"

    def find_address(self, request: Request) -> str:
        """Return the address of the page as the issuer may return to it.

        Raises:
            Problem: 421 if the browser asks under a name that is not that of this machine.
        """
        if self.public_url:
            return self.public_url.rstrip("/")
        url = request.url
        if url.hostname not in LOOPBACK:
            raise Problem(
                421,
                "unknown_host",
                "nobody signs on under this name of the server",
                next="set serve.public_url to the address of the page",
            )
        return f"{url.scheme}://{url.netloc}"

    def _sign(self, use: Use, content: Mapping[str, Any], ends: int) -> str:
        """Return the value of a cookie that counts until a second since 1970."""
        claims = {**content, "aud": use, "exp": ends}
        return jwt.encode({"alg": "HS256"}, claims, self._key)

    def _read(self, request: Request, use: Use) -> dict[str, Any] | None:
        """Return the content of a cookie; `None` if it is missing, altered or too old."""
        try:
            value = request.cookies.get(self.get_cookie_name(use), "")
            claims = jwt.decode(value, self._key, algorithms=["HS256"]).claims
        except (JoseError, ValueError):
            return None
        is_valid = claims.get("aud") == use and claims.get("exp", 0) > self._clock()
        return claims if is_valid else None


def check_public_url(public_url: str, host: str) -> None:
    """Accept the address of the page, to which the issuer sends users back.

    Args:
        public_url: The address of the page from outside; empty for none.
        host: The address at which the server listens.

    Raises:
        UsageError: If sessions would travel without https, or no address is known.
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


def find_claim(claims: Mapping[str, Any], name: str) -> object:
    """Return a claim by its name, or by a path such as `realm_access.roles`; `None` without one.

    Args:
        claims: The claims of a token.
        name: The name; one that holds a dot itself comes before a path.
    """
    if name in claims:
        return claims[name]
    value: object = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def parse_groups(claim: object) -> frozenset[str]:
    """Return the groups in a claim, a list or one name; those that no rule could name are left out.

    Args:
        claim: The value of the claim; nothing of use gives no group.
    """
    names = [claim] if isinstance(claim, str) else claim if isinstance(claim, list) else []
    return frozenset(name for name in names if isinstance(name, str) and GROUP.fullmatch(name))


def build_sign_on_problem(status: int, error: RunError) -> Problem:
    """Build the problem of a sign-on that fails; the server's log names it too."""
    detail, _, step = str(error).partition("; ")
    LOG.warning("sign-on: %s", detail)
    return Problem(
        status, "sign_on_refused" if status == 401 else "sign_on_failed", detail, next=step
    )


def _build_state_problem(reason: str) -> Problem:
    return Problem(
        400, "sign_on_refused", f"this reply is not used: {reason}", next="sign on again"
    )


def _make_id(ends: int, number: str) -> str:
    """Return the id under which a session or a state is stored; it sorts by its end."""
    return f"{ends:012d}{sha256(number.encode()).hexdigest()}"
