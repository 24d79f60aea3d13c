"""The renewal of sessions: the issuer is asked again for a user's groups, which may have changed.

The tokens for it are stored in the session beside the index. They are encrypted with a key made
from the client's secret and from a number that only the cookie of the browser holds, so reading the
store alone reveals no token.
"""

import asyncio
import hmac
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from secrets import token_hex

from joserfc import jwe
from joserfc.jwk import OctKey

from fathom.errors import RunError
from fathom.redaction import open_log
from fathom.serving.http.object_store import ObjectData
from fathom.serving.http.openid import Issuer, TokenGrant, TokenRefusal
from fathom.serving.http.problems import Problem
from fathom.serving.http.sessions import Sessions, make_session_id
from fathom.serving.http.sign_on_plan import SignedOnUser, SignOnPlan

INTERVAL_S = 60.0
"""The seconds for which a user's rights count before the issuer is asked again."""
MOST_S = 20.0
"""The seconds for one renewal, and for waiting for the renewal of another request."""
LEASE_S = 30.0
"""The seconds after which another request takes over from one that was killed."""
PAUSE_S = 5.0
"""The seconds before an unreachable issuer is asked again for the same session."""
REVOCATION_S = 3.0
"""The seconds for revoking tokens, during which a user who signs out waits."""
POLL_S = 0.05
LOG = open_log("fathom.serving")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMark:
    """The content of the cookie of a session.

    Attributes:
        number: The secret number of the session.
        ends: The second since 1970 at which it ends.
    """

    number: str = field(repr=False)
    ends: int

    @property
    def id(self) -> str:
        """The id under which the session is stored; it does not reveal the number."""
        return make_session_id(self.ends, self.number)


class SessionRenewal:
    """The renewal of all sessions of an issuer's users; safe from threads and processes."""

    def __init__(
        self,
        issuer: Issuer,
        plan: SignOnPlan,
        *,
        clock: Callable[[], float],
        interval_s: float = INTERVAL_S,
    ) -> None:
        """Create the renewal.

        Args:
            issuer: The issuer at which users sign on.
            plan: The conversion of claims to a user.
            clock: Returns the seconds since 1970.
            interval_s: The seconds for which a user's rights count before the issuer is asked
                again.
        """
        self.issuer, self._plan = issuer, plan
        self._clock, self._interval_s = clock, interval_s
        self._key = issuer.derive_key(b"tokens of fathom")

    async def find_grant(self, user: SignedOnUser, grant: TokenGrant) -> TokenGrant | None:
        """Return tokens with which the issuer confirms the user's rights; `None` without any.

        They are tried at once: an issuer may leave groups out of later tokens, and the user must
        not lose rights because of that.

        Args:
            user: The user that the ID token of the sign-on describes.
            grant: The tokens of the sign-on.

        Raises:
            IssuerFailure: If the issuer cannot be reached.
        """
        try:
            token = ""
            if grant.refresh:
                grant, token = await self.issuer.refresh_grant(grant)
            if token:
                claims = await self.issuer.read_later_token(token, grant)
                if user.has_same_rights(self._plan.parse_user(claims)):
                    return grant
            claims = await self.issuer.fetch_user_info(grant)
            if user.has_same_rights(self._plan.parse_user(claims)):
                return replace(grant, is_from_user_info=True)
        except TokenRefusal as refusal:
            LOG.debug("sign-on: %s", refusal)
        LOG.warning(
            "sign-on: %s does not send groups again; those of this session count until it ends",
            self.issuer.url,
        )
        return None

    def describe_session(
        self, mark: SessionMark, user: SignedOnUser, grant: TokenGrant | None, asked: float
    ) -> ObjectData:
        """Return the stored form of a new session.

        Args:
            mark: The content of the session's cookie.
            user: The user of the session.
            grant: The tokens for the renewal; `None` without any.
            asked: The second since 1970 at which the issuer was asked for the user.
        """
        return {
            **asdict(user),
            "renewed": asked,
            "tokens": self._encrypt(mark, grant) if grant else "",
            "turn": "",
            "turn_ends": 0.0,
        }

    async def revoke_tokens(self, mark: SessionMark, session: ObjectData) -> None:
        """Revoke the tokens of a session that has ended; if the issuer fails, they only expire."""
        if not session["tokens"]:
            return
        try:
            async with asyncio.timeout(REVOCATION_S):
                await self.issuer.revoke_grant(self._decrypt(mark, session["tokens"]))
        except (RunError, TimeoutError) as error:
            LOG.warning("sign-on: tokens are not revoked: %s", str(error).partition(";")[0])

    def is_due(self, session: ObjectData) -> bool:
        """Return whether the issuer must be asked again before a session counts."""
        age = self._clock() - session["renewed"]
        return bool(session["tokens"]) and not 0 <= age < self._interval_s

    async def renew(
        self, sessions: Sessions, mark: SessionMark, session: ObjectData
    ) -> ObjectData | None:
        """Return a session once its rights are up to date.

        One request at one server asks the issuer, and all others wait for its outcome, because many
        issuers accept a refresh token only once.

        Args:
            sessions: The store of sessions.
            mark: The content of the browser's cookie.
            session: The session as it is stored.

        Returns:
            The session; `None` if it has ended meanwhile.

        Raises:
            TokenRefusal: If the issuer has revoked the sign-on; the session has then ended.
            Problem: 502 if the issuer cannot be reached, so that the rights are unknown.
        """
        turn, end = token_hex(8), asyncio.get_running_loop().time() + MOST_S
        current: ObjectData | None = session
        while current is not None and self.is_due(current):
            if current["turn_ends"] <= self._clock():
                current = await sessions.change(mark.id, lambda stored: self._take(stored, turn))
            if current is not None and current["turn"] == turn:
                return await self._ask_issuer(sessions, mark, current)
            if asyncio.get_running_loop().time() > end or (current and not current["turn"]):
                raise self._build_problem(f"{self.issuer.url} was not reached a moment ago")
            await asyncio.sleep(POLL_S)
            current = await sessions.get(mark.id)
        return current

    def _take(self, stored: ObjectData, turn: str) -> ObjectData:
        """Return a session in which the request holds the turn, unless another request holds it."""
        now = self._clock()
        if stored["turn_ends"] > now or not self.is_due(stored):
            return stored
        return {**stored, "turn": turn, "turn_ends": now + LEASE_S}

    async def _ask_issuer(
        self, sessions: Sessions, mark: SessionMark, session: ObjectData
    ) -> ObjectData | None:
        """Return a session with the rights that the issuer now grants; end it if it refuses."""
        asked = self._clock()
        try:
            async with asyncio.timeout(MOST_S):
                user = await self._fetch_user(sessions, mark, session)
        except TokenRefusal as refusal:
            LOG.info("sign-on: a session ends: %s", refusal)
            await sessions.drop(mark.id)
            raise
        except (RunError, TimeoutError) as error:
            reason = str(error).partition(";")[0] or "it takes too long"
            LOG.warning("sign-on: a session waits: %s", reason)
            await self._change(sessions, mark, turn="", turn_ends=self._clock() + PAUSE_S)
            raise self._build_problem(reason) from None
        rights = {"groups": user.groups, "scopes": user.scopes}
        return await self._change(sessions, mark, **rights, renewed=asked, turn="", turn_ends=0.0)

    async def _fetch_user(
        self, sessions: Sessions, mark: SessionMark, session: ObjectData
    ) -> SignedOnUser:
        """Fetch the user of a session from the issuer."""
        grant, token = self._decrypt(mark, session["tokens"]), ""
        if grant.refresh:
            grant, token = await self.issuer.refresh_grant(grant)
            # Stored before anything can fail, as the old refresh token may be void now.
            await self._change(sessions, mark, tokens=self._encrypt(mark, grant))
        claims = await (
            self.issuer.fetch_user_info(grant)
            if grant.is_from_user_info
            else self.issuer.read_later_token(token, grant)
        )
        user = self._plan.parse_user(claims)
        if user.name != session["name"]:
            raise TokenRefusal(f"{self.issuer.url} gives the user another name; sign on again")
        return user

    async def _change(
        self, sessions: Sessions, mark: SessionMark, **fields: object
    ) -> ObjectData | None:
        return await sessions.change(mark.id, lambda stored: {**stored, **fields})

    def _build_problem(self, reason: str) -> Problem:
        return Problem(
            502,
            "sign_on_failed",
            f"the groups of this session are unknown: {reason}",
            next="try again; a session shows nothing while the issuer does not answer",
            retry_after=PAUSE_S,
        )

    def _encrypt(self, mark: SessionMark, grant: TokenGrant) -> str:
        text = json.dumps(asdict(grant)).encode()
        return jwe.encrypt_compact({"alg": "dir", "enc": "A256GCM"}, text, self._make_key(mark))

    def _decrypt(self, mark: SessionMark, tokens: str) -> TokenGrant:
        text = jwe.decrypt_compact(tokens, self._make_key(mark)).plaintext
        return TokenGrant(**json.loads(text or b""))

    def _make_key(self, mark: SessionMark) -> OctKey:
        return OctKey.import_key(hmac.digest(self._key, mark.number.encode(), "sha256"))
