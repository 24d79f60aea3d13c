"""The issuer of OpenID Connect: its addresses, its keys, and the tokens that it signs.

The issuer's own origin says where its other addresses are, by https alone (http from this machine
to this machine). Everything is fetched without redirects, bounded in bytes and seconds.
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
"""The size of a reply of the issuer, at most."""
SECONDS = 10.0
"""The time for one reply of the issuer."""
LIFE_S = 3600.0
"""The time after which addresses and keys are fetched again."""
LEAST_PAUSE_S = 30.0
"""The pause before keys are fetched again because a token names an unknown one."""
LEEWAY_S = 60
"""The difference of clocks that a token may have."""
LEAST_RSA_BITS = 2048
_ALGORITHMS: Mapping[str, frozenset[str]] = {
    "RSA": frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}),
    "P-256": frozenset({"ES256"}),
    "P-384": frozenset({"ES384"}),
    "P-521": frozenset({"ES512"}),
    "Ed25519": frozenset({"EdDSA", "Ed25519"}),
}
"""The algorithms of each kind of public key. `none` and those with a shared secret are none."""
_PUBLIC_KINDS = frozenset({"RSA", "EC", "OKP"})
_METHODS = ("client_secret_basic", "client_secret_post")
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
OFFLINE_SCOPE = "offline_access"
"""The scope by which many issuers give a refresh token."""
_PASSING_ERRORS = frozenset({"temporarily_unavailable", "server_error", "slow_down"})
"""The errors of an issuer that withdraw nothing."""
_REFUSALS = frozenset({401, 403})


class IssuerFailure(RunError):
    """An issuer that cannot be reached, or whose reply cannot be used."""


class TokenRefusal(RunError):
    """A code or a token that proves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuerAddresses:
    """The addresses at which an issuer answers, and what it takes there.

    Attributes:
        authorization: The address at which users sign on.
        token: The address of codes and refresh tokens.
        keys: The address of the public keys.
        user_info: The address of the claims of a user; empty without one.
        revocation: The address at which tokens are withdrawn; empty without one.
        method: The way in which the issuer wants to be told the secret.
        scopes: The scopes that the issuer names.
        grants: The kinds of grants that the issuer names.
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
        """The question whether the issuer names any way to tell again who a user is."""
        return bool(
            self.user_info or OFFLINE_SCOPE in self.scopes or "refresh_token" in self.grants
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingSignOn:
    """The beginning of a sign-on, which its end must fit.

    Attributes:
        state: Binds the issuer's reply to the browser that asked.
        nonce: Binds the token to this sign-on.
        verifier: Proves to the issuer who asked for the code.
        redirect_uri: The address to which the issuer sends the user back.
    """

    state: str
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    redirect_uri: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenGrant:
    """The tokens by which an issuer tells again who a user is.

    Attributes:
        subject: The user, in the claim `sub`.
        session: The user's session at the issuer, in the claim `sid`; empty if it names none.
        nonce: The nonce of the sign-on.
        access: The token for the claims of the user.
        refresh: The token for further tokens; empty if the issuer gave none.
        is_from_user_info: Whether the claims come from the UserInfo endpoint, not in an ID token.
    """

    subject: str
    session: str = ""
    nonce: str = field(repr=False)
    access: str = field(repr=False)
    refresh: str = field(repr=False)
    is_from_user_info: bool = False


@dataclass(frozen=True, slots=True)
class SignedOut:
    """The user, or the session at the issuer, that the issuer signs out.

    Attributes:
        subject: The user; empty if only the session is named.
        session: The session; empty for all of the user.
    """

    subject: str
    session: str

    def matches(self, subject: str, session: str) -> bool:
        """Return whether a session here ends.

        Args:
            subject: The user of the session.
            session: The session at the issuer that began it; empty if the issuer named none.
        """
        if self.session and session:
            return self.session == session
        return bool(self.subject) and self.subject == subject


class Issuer:
    """An issuer of OpenID Connect, as the server of one client sees it."""

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
            client_id: The name under which the issuer knows this server.
            secret: The secret of that client.
            seconds: The time for one reply, however its bytes are spread over it.
            clock: The seconds since any instant.

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
        """Return a key for a purpose, the same at every server of this client."""
        return hmac.digest(self._secret.encode(), purpose, "sha256")

    async def fetch_addresses(self) -> IssuerAddresses:
        """Return the issuer's addresses; those of the last hour count.

        Raises:
            IssuerFailure: If the issuer does not tell them, or tells those of another one.
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
                f"{self.url} takes no client secret at its token_endpoint; allow {_METHODS[0]}"
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
        """Return whether an address of the issuer is safe: by https, or all on this machine."""
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
            pending: The beginning of the sign-on.
            scope: The scopes to ask for, such as `openid profile`.

        Raises:
            IssuerFailure: If the issuer does not tell its addresses.
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
        """Return the claims that the issuer tells for a code, and the tokens to ask for them again.

        Raises:
            IssuerFailure: If the issuer cannot be reached.
            TokenRefusal: If the issuer refuses the code, or its token does not hold.
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
        """Return new tokens in place of those of a grant, and the ID token with them.

        The old refresh token may count no more from then on. Without an ID token the text is empty.

        Raises:
            IssuerFailure: If the issuer cannot be reached.
            TokenRefusal: If the issuer has withdrawn the tokens.
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
        """Return what a later ID token tells of the user of a grant.

        Raises:
            IssuerFailure: If the issuer's keys cannot be fetched.
            TokenRefusal: If anything about the token does not hold.
        """
        claims = await self.verify_token(token, grant.nonce, is_first=False)
        self._check_subject(claims, grant)
        return claims

    async def fetch_user_info(self, grant: TokenGrant) -> dict[str, Any]:
        """Return what the issuer tells of the user at its UserInfo endpoint.

        Raises:
            IssuerFailure: If the issuer cannot be reached.
            TokenRefusal: If it has no such endpoint, or has withdrawn the token.
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
        """Withdraw the tokens of a user who signs out, where the issuer can.

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
            raise TokenRefusal(f"{self.url} tells of another user than before; sign on again")

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
        """Build the error of a refused grant, whose reason the issuer may have made of a token."""
        if reason in _PASSING_ERRORS:
            return self._build_failure(ValueError(reason))
        clean = " ".join(hide_secrets(reason, fields.values()).split())[:100]
        return TokenRefusal(f"{self.url} refuses the sign-on: {clean}; sign on again")

    async def verify_token(
        self, token: str, nonce: str, *, is_first: bool = True
    ) -> dict[str, Any]:
        """Return the claims of an ID token that this issuer signed for this client and sign-on.

        Args:
            token: The token.
            nonce: The nonce of the sign-on.
            is_first: Whether the token must name the nonce; a later one may leave it out.

        Raises:
            IssuerFailure: If the issuer's keys cannot be fetched.
            TokenRefusal: If anything about the token does not hold.
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
        """Return the user or the session that a token of this issuer signs out.

        Source: OpenID Connect Back-Channel Logout 1.0, section 2.6.

        Raises:
            IssuerFailure: If the issuer's keys cannot be fetched.
            TokenRefusal: If anything about the token does not hold.
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
        # An ID token has a nonce: it must not count as a token that signs out.
        if not is_event or "nonce" in claims or signed_out == SignedOut("", ""):
            raise self._build_token_refusal(ValueError("it signs nobody out"))
        return signed_out

    async def _decode_token(self, token: str) -> jwt.Token:
        """Return a token that this issuer signed; its claims are not checked yet."""
        header = jws.extract_compact(token.encode()).headers()
        key = await self._find_key(header.get("kid"))
        registry = jws.JWSRegistry(
            algorithms=sorted(list_algorithms(key)), strict_check_header=False
        )
        return jwt.decode(token, key, registry=registry)

    def _build_token_refusal(self, error: Exception) -> TokenRefusal:
        reason = " ".join(str(error).split())[:200]
        return TokenRefusal(f"the token of {self.url} does not hold: {reason}; sign on again")

    async def _find_key(self, key_id: object) -> Key:
        """Return the key that a token names; without a name, the only key of the issuer."""
        keys = await self._fetch_keys(LIFE_S)
        if not _select_keys(keys, key_id):
            # The issuer may have begun to sign with a new key.
            keys = await self._fetch_keys(LEAST_PAUSE_S)
        selected = _select_keys(keys, key_id)
        if len(selected) != 1:
            raise TokenRefusal(
                f"the token of {self.url} names no key that it has: {str(key_id)[:80]!r}; sign on "
                "again"
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
                    raise TokenRefusal(f"{self.url} has withdrawn the sign-on; sign on again")
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
    """A transport to one origin that bounds what a reply may bring."""

    def __init__(self, origin: tuple[str, str, int], tls: ssl.SSLContext) -> None:
        """Create the transport; nothing is opened yet.

        Args:
            origin: The scheme, the host and the port to which requests may go.
            tls: The authorities whose certificates count.
        """
        self._origin = origin
        self._transport = AsyncHTTPTransport(verify=tls)

    @override
    async def handle_async_request(self, request: Request) -> Response:
        if not _has_origin(str(request.url), self._origin):
            raise TransportError("the address is at another host")
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
        UsageError: If the environment names no client, or the address may not be used.
    """
    client_id = os.environ.get(ID_VARIABLE, "").strip()
    secret = os.environ.get(SECRET_VARIABLE, "").strip()
    SECRETS.add(secret)
    if not client_id or not secret:
        raise UsageError(
            f"--oidc {url}: the client is not named; set {ID_VARIABLE} and {SECRET_VARIABLE} in "
            "the environment"
        )
    # The cookies are signed with a key made from it, and a plain word stays in messages.
    if len(secret) < LEAST_SECRET_CHARS or secret not in SECRETS.values:
        raise UsageError(
            f"{SECRET_VARIABLE} has fewer than {LEAST_SECRET_CHARS} characters, or is a plain "
            "word; let the issuer make another one"
        )
    return Issuer(url, client_id, secret)


def list_algorithms(key: Key) -> frozenset[str]:
    """Return the algorithms with which a key may sign: the one that it names, or those of its kind.

    Args:
        key: A public key of the issuer.
    """
    kind = key.key_type if isinstance(key, RSAKey) else getattr(key, "curve_name", "")
    algorithms = _ALGORITHMS.get(str(kind), frozenset())
    return algorithms & {key.alg} if key.alg else algorithms


def _parse_keys(entries: list[Any]) -> list[Key]:
    """Return the public keys for signatures; others are left out, above all shared secrets."""
    keys = []
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("kty") not in _PUBLIC_KINDS:
            continue
        try:
            key = JWKRegistry.import_key(entry)
        except (JoseError, ValueError, TypeError, KeyError, AttributeError):
            continue  # such as a curve that is not known here
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
    """Load the authorities that this machine trusts, or those that the environment names."""
    # Once, as it takes longer than a request.
    try:
        return create_ssl_context()
    except OSError as error:
        file = os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR", "")
        raise UsageError(
            f"SSL_CERT_FILE {file!r}: {error}; name a file with certificates, or none"
        ) from None


def _check_url(url: str) -> tuple[str, str, int]:
    """Return the origin of an issuer's address."""
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
