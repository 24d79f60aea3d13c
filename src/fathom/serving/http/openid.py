"""The issuer of OpenID Connect: its addresses, its keys, and the tokens that it signs.

The issuer's document at its own address names its other addresses. All of them need https, except
on this machine. Each reply is fetched without redirects, with bounds on its bytes and seconds.
Source: OpenID Connect Core 1.0 and Discovery 1.0, RFC 7636 (PKCE), RFC 9207 (issuer in the reply).
"""

import asyncio
import hmac
import json
import os
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import SplitResult, urlsplit

from authlib.integrations.httpx_client import AsyncOAuth2Client, OAuthError
from authlib.oidc.core import CodeIDToken
from httpx2 import (
    AsyncBaseTransport,
    AsyncByteStream,
    AsyncHTTPTransport,
    HTTPError,
    HTTPStatusError,
    InvalidURL,
    Request,
    Response,
    TransportError,
    create_ssl_context,
)
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key, RSAKey
from typing_extensions import override

from fathom.errors import RunError, UsageError
from fathom.redaction import SECRETS, hide_secrets
from fathom.serving.sockets import LOOPBACK

ID_VARIABLE, SECRET_VARIABLE = "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"
LEAST_SECRET_CHARS = 16
MOST_BYTES = 512 << 10
"""The size of a reply of the issuer in bytes, at most."""
SECONDS = 10.0
"""The seconds for one reply of the issuer."""
LIFE_S = 3600.0
"""The seconds after which addresses and keys are fetched again."""
LEAST_PAUSE_S = 30.0
"""The seconds before keys are fetched again because a token names an unknown one."""
LEEWAY_S = 60
"""The seconds by which the clocks of issuer and server may differ."""
LEAST_RSA_BITS = 2048
_ALGORITHMS: Mapping[str, frozenset[str]] = {
    "RSA": frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}),
    "P-256": frozenset({"ES256"}),
    "P-384": frozenset({"ES384"}),
    "P-521": frozenset({"ES512"}),
    "Ed25519": frozenset({"EdDSA", "Ed25519"}),
}
"""The accepted algorithms of each kind of public key; none of them uses a shared secret."""
_PUBLIC_KINDS = frozenset({"RSA", "EC", "OKP"})
_METHODS = ("client_secret_basic", "client_secret_post")
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
OFFLINE_SCOPE = "offline_access"
"""The scope for which many issuers give a refresh token."""
_PASSING_ERRORS = frozenset({"temporarily_unavailable", "server_error", "slow_down"})
"""The temporary errors of an issuer, which do not refuse a grant."""
_REFUSALS = frozenset({401, 403})


class IssuerFailure(RunError):
    """An issuer that cannot be reached, or whose reply cannot be used."""


class TokenRefusal(RunError):
    """A code or a token that is invalid or refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuerAddresses:
    """The addresses of an issuer, and what it supports.

    Attributes:
        authorization: The address at which users sign on.
        token: The address that exchanges codes and refresh tokens.
        keys: The address of the public keys.
        user_info: The address of the claims of a user; empty without one.
        revocation: The address that revokes tokens; empty without one.
        method: The method by which the client sends its secret.
        scopes: The scopes that the issuer names.
        grants: The types of grants that the issuer names.
    """

    authorization: str
    token: str
    keys: str
    user_info: str = ""
    revocation: str = ""
    method: str
    scopes: frozenset[str] = frozenset()
    grants: frozenset[str] = frozenset()

    @property
    def may_renew(self) -> bool:
        """True if the issuer names a way to ask again for the claims of a user."""
        return bool(
            self.user_info or OFFLINE_SCOPE in self.scopes or "refresh_token" in self.grants
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingSignOn:
    """A sign-on that has begun, with the values that its end must match.

    Attributes:
        state: Binds the issuer's reply to the browser that began the sign-on.
        nonce: Binds the token to this sign-on.
        verifier: Proves to the issuer that this server requested the code.
        redirect_uri: The address to which the issuer sends the user back.
    """

    state: str
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    redirect_uri: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenGrant:
    """The tokens with which the claims of a user can be requested again.

    Attributes:
        subject: The claim `sub`, which names the user.
        session: The claim `sid`, which names the user's session at the issuer; empty without it.
        nonce: The nonce of the sign-on.
        access: The access token.
        refresh: The refresh token; empty if the issuer gave none.
        is_from_user_info: Whether claims come from the UserInfo endpoint, not from ID tokens.
    """

    subject: str
    session: str = ""
    nonce: str = field(repr=False)
    access: str = field(repr=False)
    refresh: str = field(repr=False)
    is_from_user_info: bool = False


@dataclass(frozen=True, slots=True)
class SignedOut:
    """The user, or the session at the issuer, that a logout token names.

    Attributes:
        subject: The user; empty if the token names only a session.
        session: The session; empty for all sessions of the user.
    """

    subject: str
    session: str

    def matches(self, subject: str, session: str) -> bool:
        """Return whether a session of this server must end.

        Args:
            subject: The user of the session.
            session: The session at the issuer that belongs to it; empty if the issuer named none.
        """
        if self.session and session:
            return self.session == session
        return bool(self.subject) and self.subject == subject


class Issuer:
    """An issuer of OpenID Connect, as seen by one of its clients."""

    def __init__(
        self,
        url: str,
        client_id: str,
        secret: str,
        *,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create the issuer. Nothing is fetched yet.

        Args:
            url: The issuer's address, exactly as its tokens name it.
            client_id: The id of this server as a client of the issuer.
            secret: The secret of the client.
            seconds: The seconds for one whole reply.
            clock: Returns seconds since any instant.

        Raises:
            UsageError: If the address is neither https nor http on this machine, or the file of
                trusted authorities cannot be read.
        """
        self.url, self.client_id, self._secret = url, client_id, secret
        self._origin = _check_url(url)
        self._seconds, self._clock = seconds, clock
        self._tls = _load_authorities()
        self._addresses: tuple[float, IssuerAddresses] | None = None
        self._keys: tuple[float, tuple[Key, ...]] | None = None
        self._turns = asyncio.Semaphore(8)

    def derive_key(self, purpose: bytes) -> bytes:
        """Derive a key for a purpose from the client's secret; all servers get the same key."""
        return hmac.digest(self._secret.encode(), purpose, "sha256")

    async def fetch_addresses(self) -> IssuerAddresses:
        """Return the issuer's addresses; fetch them if they are older than `LIFE_S`.

        Raises:
            IssuerFailure: If they cannot be fetched, or belong to another issuer.
        """
        now = self._clock()
        if self._addresses is not None and now - self._addresses[0] < LIFE_S:
            return self._addresses[1]
        document = await self._fetch_json(
            f"{self.url.rstrip('/')}/.well-known/openid-configuration"
        )
        addresses = self._parse_addresses(document)
        self._addresses = now, addresses
        return addresses

    def _parse_addresses(self, document: Mapping[str, Any]) -> IssuerAddresses:
        if document.get("issuer") != self.url:
            raise IssuerFailure(
                f"{self.url} calls itself {str(document.get('issuer'))[:200]!r}; give --oidc the "
                "address by which it calls itself"
            )
        fields = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        urls = {name: str(document.get(name, "")) for name in fields}
        further = ("userinfo_endpoint", "revocation_endpoint")
        urls |= {name: str(document[name]) for name in further if document.get(name)}
        for name, url in urls.items():
            if not self._is_allowed(url):
                raise IssuerFailure(
                    f"{self.url} names {url[:200]!r} as {name}, without https; let the issuer name "
                    "an address with https"
                )
        methods = document.get("token_endpoint_auth_methods_supported") or _METHODS[:1]
        method = next((method for method in _METHODS if method in methods), None)
        if method is None:
            raise IssuerFailure(
                f"{self.url} accepts no client secret at its token_endpoint; allow {_METHODS[0]}"
            )
        return IssuerAddresses(
            authorization=urls["authorization_endpoint"],
            token=urls["token_endpoint"],
            keys=urls["jwks_uri"],
            user_info=urls.get("userinfo_endpoint", ""),
            revocation=urls.get("revocation_endpoint", ""),
            method=method,
            scopes=_parse_names(document.get("scopes_supported")),
            grants=_parse_names(document.get("grant_types_supported")),
        )

    def _is_allowed(self, url: str) -> bool:
        """Return whether an address uses https, or it and the issuer are on this machine."""
        try:
            parts = urlsplit(url)
            scheme, host, _ = _get_origin(parts)
        except ValueError:
            return False
        is_private = scheme == self._origin[0] == "http" and host in LOOPBACK
        return bool(host) and not parts.username and (scheme == "https" or is_private)

    async def build_authorization_url(self, pending: PendingSignOn, scope: str) -> str:
        """Return the address at which a user signs on.

        Args:
            pending: The sign-on that begins.
            scope: The scopes to request, such as `openid profile`.

        Raises:
            IssuerFailure: If the issuer's addresses cannot be fetched.
        """
        addresses = await self.fetch_addresses()
        async with self._open_client(addresses.authorization, addresses.method) as client:
            url, _ = client.create_authorization_url(
                addresses.authorization,
                state=pending.state,
                nonce=pending.nonce,
                code_verifier=pending.verifier,
                redirect_uri=pending.redirect_uri,
                scope=scope,
            )
        return str(url)

    async def exchange_code(
        self, code: str, pending: PendingSignOn
    ) -> tuple[dict[str, Any], TokenGrant]:
        """Exchange a code for the user's claims, and the tokens to request them again.

        Raises:
            IssuerFailure: If the issuer cannot be reached.
            TokenRefusal: If the issuer refuses the code, or its token is invalid.
        """
        async with self._turns:
            tokens = await self._fetch_tokens(
                "authorization_code",
                code=code,
                code_verifier=pending.verifier,
                redirect_uri=pending.redirect_uri,
            )
            token = tokens.get("id_token")
            if not isinstance(token, str):
                raise TokenRefusal(f"{self.url} gives no ID token; allow the scope openid")
            claims = await self.verify_token(token, pending.nonce)
        grant = TokenGrant(
            subject=str(claims["sub"]),
            session=str(claims.get("sid") or ""),
            nonce=pending.nonce,
            access=str(tokens.get("access_token") or ""),
            refresh=str(tokens.get("refresh_token") or ""),
        )
        return claims, grant

    async def refresh_grant(self, grant: TokenGrant) -> tuple[TokenGrant, str]:
        """Replace the tokens of a grant by new ones.

        The old refresh token may be void from then on.

        Returns:
            The grant with new tokens, and the ID token; empty if the issuer sent none.

        Raises:
            IssuerFailure: If the issuer cannot be reached.
            TokenRefusal: If the issuer has revoked the tokens.
        """
        async with self._turns:
            tokens = await self._fetch_tokens("refresh_token", refresh_token=grant.refresh)
        renewed = replace(
            grant,
            access=str(tokens["access_token"]),
            refresh=str(tokens.get("refresh_token") or grant.refresh),
        )
        return renewed, str(tokens.get("id_token") or "")

    async def read_later_token(self, token: str, grant: TokenGrant) -> dict[str, Any]:
        """Return the claims of a later ID token about the user of a grant.

        Raises:
            IssuerFailure: If the issuer's keys cannot be fetched.
            TokenRefusal: If the token is invalid, or about another user.
        """
        claims = await self.verify_token(token, grant.nonce, is_first=False)
        self._check_subject(claims, grant)
        return claims

    async def fetch_user_info(self, grant: TokenGrant) -> dict[str, Any]:
        """Fetch the claims of a user from the issuer's UserInfo endpoint.

        Raises:
            IssuerFailure: If the issuer cannot be reached.
            TokenRefusal: If the issuer has no such endpoint, has revoked the token, or sends the
                claims of another user.
        """
        addresses = await self.fetch_addresses()
        if not addresses.user_info or not grant.access:
            raise TokenRefusal(f"{self.url} gives no token for a userinfo_endpoint; sign on again")
        async with self._turns:
            claims = await self._fetch_json(
                addresses.user_info, {"Authorization": f"Bearer {grant.access}"}
            )
        self._check_subject(claims, grant)
        return claims

    async def revoke_grant(self, grant: TokenGrant) -> None:
        """Revoke the tokens of a user who signs out, if the issuer supports it.

        Source: RFC 7009.

        Raises:
            IssuerFailure: If the issuer cannot be reached.
        """
        addresses = await self.fetch_addresses()
        token = grant.refresh or grant.access
        if not addresses.revocation or not token:
            return
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._open_client(addresses.revocation, addresses.method) as client,
            ):
                reply = await client.revoke_token(addresses.revocation, token=token)
                reply.raise_for_status()
        except (HTTPError, InvalidURL, ValueError, TimeoutError) as error:
            raise self._build_failure(error) from None

    def _check_subject(self, claims: Mapping[str, Any], grant: TokenGrant) -> None:
        if claims.get("sub") != grant.subject:
            raise TokenRefusal(f"{self.url} names another user than before; sign on again")

    async def _fetch_tokens(self, grant_type: str, **fields: str) -> Mapping[str, Any]:
        addresses = await self.fetch_addresses()
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._open_client(addresses.token, addresses.method) as client,
            ):
                tokens: Mapping[str, Any] = await client.fetch_token(
                    addresses.token, grant_type=grant_type, **fields
                )
        except OAuthError as error:
            raise self._build_refusal(str(error.error), fields) from None
        except (HTTPError, InvalidURL, ValueError, TimeoutError) as error:
            if isinstance(error, HTTPStatusError) and error.response.status_code in _REFUSALS:
                raise self._build_refusal(f"status {error.response.status_code}", fields) from None
            raise self._build_failure(error) from None
        if not isinstance(tokens.get("access_token"), str):
            raise self._build_failure(ValueError("it gives no token"))
        return tokens

    def _build_refusal(self, reason: str, fields: Mapping[str, str]) -> RunError:
        """Build the error of a refused grant, without the secrets that its reason may contain."""
        if reason in _PASSING_ERRORS:
            return self._build_failure(ValueError(reason))
        clean = " ".join(hide_secrets(reason, fields.values()).split())[:100]
        return TokenRefusal(f"{self.url} refuses the sign-on: {clean}; sign on again")

    async def verify_token(
        self, token: str, nonce: str, *, is_first: bool = True
    ) -> dict[str, Any]:
        """Verify that the issuer signed an ID token for this client and sign-on; return its claims.

        Args:
            token: The token.
            nonce: The nonce of the sign-on.
            is_first: Whether the token must contain the nonce; a later token may omit it.

        Raises:
            IssuerFailure: If the issuer's keys cannot be fetched.
            TokenRefusal: If the token is invalid.
        """
        try:
            signed = await self._decode_token(token)
            names_nonce = is_first or "nonce" in signed.claims
            claims = CodeIDToken(
                signed.claims,
                signed.header,
                {
                    "iss": {"essential": True, "value": self.url},
                    "aud": {"essential": True, "value": self.client_id},
                },
                {"nonce": nonce if names_nonce else "", "client_id": self.client_id},
            )
            claims.validate(leeway=LEEWAY_S)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise self._build_token_refusal(error) from None
        return dict(claims)

    async def verify_logout_token(self, token: str) -> SignedOut:
        """Verify a logout token of this issuer; return the user or the session that it names.

        Source: OpenID Connect Back-Channel Logout 1.0, section 2.6.

        Raises:
            IssuerFailure: If the issuer's keys cannot be fetched.
            TokenRefusal: If the token is invalid.
        """
        try:
            claims = (await self._decode_token(token)).claims
            jwt.JWTClaimsRegistry(
                leeway=LEEWAY_S,
                iss={"essential": True, "value": self.url},
                aud={"essential": True, "value": self.client_id},
                iat={"essential": True},
            ).validate(claims)
            is_event = isinstance(claims.get("events", {}).get(LOGOUT_EVENT), dict)
        except (JoseError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise self._build_token_refusal(error) from None
        signed_out = SignedOut(*(str(claims.get(name) or "") for name in ("sub", "sid")))
        # An ID token, which has a nonce, must not count as a logout token.
        if not is_event or "nonce" in claims or signed_out == SignedOut("", ""):
            raise self._build_token_refusal(ValueError("it is no logout token"))
        return signed_out

    async def _decode_token(self, token: str) -> jwt.Token:
        """Decode a token, and verify that this issuer signed it; do not check its claims."""
        header = jws.extract_compact(token.encode()).headers()
        key = await self._find_key(header.get("kid"))
        registry = jws.JWSRegistry(
            algorithms=sorted(list_algorithms(key)), strict_check_header=False
        )
        return jwt.decode(token, key, registry=registry)

    def _build_token_refusal(self, error: Exception) -> TokenRefusal:
        reason = " ".join(str(error).split())[:200]
        return TokenRefusal(f"the token of {self.url} is invalid: {reason}; sign on again")

    async def _find_key(self, key_id: object) -> Key:
        """Return the key that a token names; if it names none, the only key of the issuer."""
        keys = await self._fetch_keys(LIFE_S)
        if not _select_keys(keys, key_id):
            # The issuer may have begun to sign with a new key.
            keys = await self._fetch_keys(LEAST_PAUSE_S)
        selected = _select_keys(keys, key_id)
        if len(selected) != 1:
            raise TokenRefusal(
                f"the token of {self.url} names an unknown key: {str(key_id)[:80]!r}; sign on again"
            )
        return selected[0]

    async def _fetch_keys(self, life_s: float) -> tuple[Key, ...]:
        now = self._clock()
        if self._keys is not None and now - self._keys[0] < life_s:
            return self._keys[1]
        addresses = await self.fetch_addresses()
        document = await self._fetch_json(addresses.keys)
        entries = document.get("keys")
        keys = tuple(_parse_keys(entries if isinstance(entries, list) else []))
        if not keys:
            raise IssuerFailure(f"{addresses.keys} has no key for signatures; check the issuer")
        self._keys = now, keys
        return keys

    async def _fetch_json(
        self, url: str, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self._seconds), self._open_client(url) as client:
                reply = await client.request("GET", url, withhold_token=True, headers=headers)
                if headers and reply.status_code in _REFUSALS:
                    raise TokenRefusal(f"{self.url} has revoked the sign-on; sign on again")
                if reply.status_code != 200:
                    raise IssuerFailure(
                        f"{url} answers with status {reply.status_code}; check --oidc"
                    )
                document = json.loads(reply.content)
        except (HTTPError, InvalidURL, ValueError, TimeoutError) as error:
            raise self._build_failure(error) from None
        if not isinstance(document, dict):
            raise IssuerFailure(f"{url} gives no JSON object; check --oidc")
        return document

    def _open_client(self, url: str, method: str | None = None) -> AsyncOAuth2Client:
        return AsyncOAuth2Client(
            client_id=self.client_id,
            client_secret=self._secret,
            token_endpoint_auth_method=method,
            revocation_endpoint_auth_method=method,
            code_challenge_method="S256",
            transport=IssuerTransport(_get_origin(urlsplit(url)), self._tls),
            timeout=self._seconds,
            follow_redirects=False,
        )

    def _build_failure(self, error: Exception) -> IssuerFailure:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        if isinstance(error, HTTPStatusError):
            reason = f"status {error.response.status_code}"
        return IssuerFailure(
            f"the issuer {self.url} gives no usable reply: {reason}; check that this machine "
            "reaches it"
        )


class IssuerTransport(AsyncBaseTransport):
    """A transport to one origin, with a bound on the size of replies."""

    def __init__(self, origin: tuple[str, str, int], tls: ssl.SSLContext) -> None:
        """Create the transport; nothing is opened yet.

        Args:
            origin: The scheme, host and port to which requests may go.
            tls: The trusted certificate authorities.
        """
        self._origin = origin
        self._transport = AsyncHTTPTransport(verify=tls)

    @override
    async def handle_async_request(self, request: Request) -> Response:
        if not _has_origin(str(request.url), self._origin):
            raise TransportError("the address has another origin")
        # A compressed reply could grow beyond the bound.
        request.headers["Accept-Encoding"] = "identity"
        reply = await self._transport.handle_async_request(request)
        try:
            return await _read_reply(reply, request)
        finally:
            await reply.aclose()

    @override
    async def aclose(self) -> None:
        await self._transport.aclose()


async def _read_reply(reply: Response, request: Request) -> Response:
    if "content-encoding" in reply.headers:
        raise TransportError("the reply is compressed")
    content = bytearray()
    assert isinstance(reply.stream, AsyncByteStream)
    async for part in reply.stream:
        content += part
        if len(content) > MOST_BYTES:
            raise TransportError(f"the reply has more than {MOST_BYTES >> 10} kB")
    return Response(
        reply.status_code, headers=reply.headers, content=bytes(content), request=request
    )


def build_issuer(url: str) -> Issuer:
    """Build the issuer for the client that the environment names.

    Args:
        url: The issuer's address.

    Raises:
        UsageError: If the environment names no client or a weak secret, or the address is invalid.
    """
    client_id = os.environ.get(ID_VARIABLE, "").strip()
    secret = os.environ.get(SECRET_VARIABLE, "").strip()
    SECRETS.add(secret)
    if not client_id or not secret:
        raise UsageError(
            f"--oidc {url}: the client is not named; set {ID_VARIABLE} and {SECRET_VARIABLE} in "
            "the environment"
        )
    # Cookies are signed with a key made from the secret. Plain words are not redacted in messages.
    if len(secret) < LEAST_SECRET_CHARS or secret not in SECRETS.values:
        raise UsageError(
            f"{SECRET_VARIABLE} has fewer than {LEAST_SECRET_CHARS} characters, or is a plain "
            "word; let the issuer make another one"
        )
    return Issuer(url, client_id, secret)


def list_algorithms(key: Key) -> frozenset[str]:
    """Return the accepted algorithms of a key: the one that it names, or those of its kind.

    Args:
        key: A public key of the issuer.
    """
    kind = key.key_type if isinstance(key, RSAKey) else getattr(key, "curve_name", "")
    algorithms = _ALGORITHMS.get(str(kind), frozenset())
    return algorithms & {key.alg} if key.alg else algorithms


def _parse_keys(entries: list[Any]) -> list[Key]:
    """Return the public keys for signatures; leave out all other keys, such as shared secrets."""
    keys = []
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("kty") not in _PUBLIC_KINDS:
            continue
        try:
            key = JWKRegistry.import_key(entry)
        except (JoseError, ValueError, TypeError, KeyError, AttributeError):
            continue  # such as an unknown curve
        if entry.get("use", "sig") == "sig" and _is_strong(key) and list_algorithms(key):
            keys.append(key)
    return keys


def _is_strong(key: Key) -> bool:
    return not isinstance(key, RSAKey) or key.public_key.key_size >= LEAST_RSA_BITS


def _parse_names(value: object) -> frozenset[str]:
    return frozenset(
        filter(lambda name: isinstance(name, str), value if isinstance(value, list) else ())
    )


def _select_keys(keys: tuple[Key, ...], key_id: object) -> list[Key]:
    return [key for key in keys if key_id is None or key.kid == key_id]


def _load_authorities() -> ssl.SSLContext:
    """Load the certificate authorities that this machine trusts, or that the environment names."""
    # An issuer loads them once, because it takes longer than a request.
    try:
        return create_ssl_context()
    except OSError as error:
        file = os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR", "")
        raise UsageError(
            f"SSL_CERT_FILE {file!r}: {error}; name a file with certificates, or unset it"
        ) from None


def _check_url(url: str) -> tuple[str, str, int]:
    """Check an issuer's address, and return its origin.

    Raises:
        UsageError: If it is invalid, or has neither https nor the name of this machine.
    """
    try:
        parts = urlsplit(url)
        origin = _get_origin(parts)
    except ValueError:
        parts, origin = urlsplit(""), ("", "", 0)
    is_private = parts.scheme == "http" and (parts.hostname or "") in LOOPBACK
    is_plain = not (parts.query or parts.fragment or parts.username or parts.password)
    if not parts.hostname or not is_plain or not (parts.scheme == "https" or is_private):
        shown = f"{parts.scheme}://{parts.hostname}" if parts.hostname else "the address"
        raise UsageError(
            f"--oidc: {shown} is no address of an issuer; give one with https, or http on this "
            "machine, without user, query or fragment"
        )
    return origin


def _has_origin(url: str, origin: tuple[str, str, int]) -> bool:
    try:
        return _get_origin(urlsplit(url)) == origin
    except ValueError:
        return False


def _get_origin(parts: SplitResult) -> tuple[str, str, int]:
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)
    return parts.scheme, parts.hostname or "", port
