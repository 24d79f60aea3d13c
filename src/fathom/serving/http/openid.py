"""The issuer of OpenID Connect: its addresses, its keys, and the tokens that it signs.

Everything is fetched from the issuer's own origin, without redirects, bounded in bytes and seconds.
Source: OpenID Connect Core 1.0 and Discovery 1.0, RFC 7636 (PKCE), RFC 9207 (issuer in the reply).
"""

import asyncio
import hmac
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
)
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key, RSAKey
from typing_extensions import override

from fathom.errors import RunError, UsageError
from fathom.redaction import SECRETS
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


class IssuerFailure(RunError):
    """An issuer that cannot be reached, or whose reply cannot be used."""


class TokenRefusal(RunError):
    """A code or a token that proves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuerAddresses:
    """The addresses at which an issuer answers, and how it wants to be told the secret."""

    authorization: str
    token: str
    keys: str
    method: str


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
            UsageError: If the address is neither https nor http on this machine.
        """
        self.url, self.client_id, self._secret = url, client_id, secret
        self._origin = _check_url(url)
        self._seconds, self._clock = seconds, clock
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
        urls = [str(document.get(name, "")) for name in fields]
        for name, url in zip(fields, urls, strict=True):
            if not _has_origin(url, self._origin):
                raise IssuerFailure(
                    f"{self.url} names {url[:200]!r} as {name}, at another host; use an issuer "
                    "that answers at one host, or a proxy that signs users on"
                )
        methods = document.get("token_endpoint_auth_methods_supported") or _METHODS[:1]
        method = next((method for method in _METHODS if method in methods), None)
        if method is None:
            raise IssuerFailure(
                f"{self.url} takes no client secret at its token_endpoint; allow {_METHODS[0]}"
            )
        return IssuerAddresses(authorization=urls[0], token=urls[1], keys=urls[2], method=method)

    async def build_authorization_url(self, pending: PendingSignOn, scope: str) -> str:
        """Return the address at which a user signs on.

        Args:
            pending: The beginning of the sign-on.
            scope: The scopes to ask for, such as `openid profile`.

        Raises:
            IssuerFailure: If the issuer does not tell its addresses.
        """
        addresses = await self.fetch_addresses()
        async with self._open_client(addresses) as client:
            url, _ = client.create_authorization_url(
                addresses.authorization,
                state=pending.state,
                nonce=pending.nonce,
                code_verifier=pending.verifier,
                redirect_uri=pending.redirect_uri,
                scope=scope,
            )
        return str(url)

    async def exchange_code(self, code: str, pending: PendingSignOn) -> dict[str, Any]:
        """Return the claims of the token that the issuer gives for a code.

        Raises:
            IssuerFailure: If the issuer cannot be reached.
            TokenRefusal: If the issuer refuses the code, or its token does not hold.
        """
        async with self._turns:
            addresses = await self.fetch_addresses()
            token = await self._fetch_token(code, pending, addresses)
            if not isinstance(token, str):
                raise TokenRefusal(f"{self.url} gives no ID token; allow the scope openid")
            return await self.verify_token(token, pending.nonce)

    async def _fetch_token(
        self, code: str, pending: PendingSignOn, addresses: IssuerAddresses
    ) -> object:
        try:
            async with asyncio.timeout(self._seconds), self._open_client(addresses) as client:
                reply = await client.fetch_token(
                    addresses.token,
                    grant_type="authorization_code",
                    code=code,
                    code_verifier=pending.verifier,
                    redirect_uri=pending.redirect_uri,
                )
        except OAuthError as error:
            raise TokenRefusal(
                f"{self.url} refuses the code: {str(error.error)[:100]}; sign on again"
            ) from None
        except (HTTPError, InvalidURL, ValueError, TimeoutError) as error:
            raise self._build_failure(error) from None
        return reply.get("id_token")

    async def verify_token(self, token: str, nonce: str) -> dict[str, Any]:
        """Return the claims of an ID token that this issuer signed for this client and sign-on.

        Raises:
            IssuerFailure: If the issuer's keys cannot be fetched.
            TokenRefusal: If anything about the token does not hold.
        """
        try:
            header = jws.extract_compact(token.encode()).headers()
            key = await self._find_key(header.get("kid"))
            registry = jws.JWSRegistry(
                algorithms=sorted(list_algorithms(key)), strict_check_header=False
            )
            signed = jwt.decode(token, key, registry=registry)
            claims = CodeIDToken(
                signed.claims,
                signed.header,
                {
                    "iss": {"essential": True, "value": self.url},
                    "aud": {"essential": True, "value": self.client_id},
                },
                {"nonce": nonce, "client_id": self.client_id},
            )
            claims.validate(leeway=LEEWAY_S)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            reason = " ".join(str(error).split())[:200]
            raise TokenRefusal(
                f"the token of {self.url} does not hold: {reason}; sign on again"
            ) from None
        return dict(claims)

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

    async def _fetch_json(self, url: str) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self._seconds), self._open_client(None) as client:
                reply = await client.request("GET", url, withhold_token=True)
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

    def _open_client(self, addresses: IssuerAddresses | None) -> AsyncOAuth2Client:
        return AsyncOAuth2Client(
            client_id=self.client_id,
            client_secret=self._secret,
            token_endpoint_auth_method=addresses.method if addresses else None,
            code_challenge_method="S256",
            transport=IssuerTransport(self._origin),
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

    def __init__(self, origin: tuple[str, str, int]) -> None:
        """Create the transport; nothing is opened yet.

        Args:
            origin: The scheme, the host and the port to which requests may go.
        """
        self._origin = origin
        self._transport = AsyncHTTPTransport()

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


def _select_keys(keys: tuple[Key, ...], key_id: object) -> list[Key]:
    return [key for key in keys if key_id is None or key.kid == key_id]


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
