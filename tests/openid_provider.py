"""A provider of OpenID Connect over HTTP that signs real tokens, and can be told to do wrong."""

import base64
import hmac
import json
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from secrets import token_urlsafe
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

CLIENT, SECRET = "fathom-of-the-tests", "Q7-secret-of-the-client-4f1d"
Sign = Callable[["Provider", dict[str, Any]], str]


class Provider:
    """A provider that signs everybody on as the user in `user`.

    Attributes:
        user: The claims of the user.
        sign: Makes the token of its claims.
        codes: The sign-ons of codes that were not exchanged yet.
        changes: Fields that replace those of the discovery document.
        bodies: Replies in place of the right ones, by path: status, headers, content.
        requests: The paths that were asked for.
        hosts: The host and port that each of these requests was for.
        refreshes: Whether codes and refresh tokens are exchanged for a refresh token.
        later_claims: The claims that later ID tokens hold; all by default, and no token for none.
        grants: The sign-ons of valid access and refresh tokens.
        tokens: All access and refresh tokens that were ever given.
        pause_s: The pause before each of ten parts of a reply.
    """

    def __init__(self) -> None:
        self.user: dict[str, Any] = {"sub": "ana", "groups": ["keepers", "staff"]}
        self.sign: Sign = sign_token
        self.key = RSAKey.generate_key(2048, {"kid": "first", "use": "sig", "alg": "RS256"})
        self.keys = [self.key.as_dict(private=False)]
        self.codes: dict[str, dict[str, str]] = {}
        self.changes: dict[str, Any] = {}
        self.bodies: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.requests: list[str] = []
        self.hosts: list[str] = []
        self.refreshes = False
        self.later_claims: frozenset[str] | None = None
        self.grants: dict[str, dict[str, str]] = {}
        self.tokens: list[str] = []
        self.pause_s = 0.0
        self.url = ""

    def describe(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            **self.changes,
        }

    def authorize(self, query: dict[str, str]) -> str:
        """Return the address to which the user is sent back."""
        assert query["response_type"] == "code"
        assert query["client_id"] == CLIENT
        assert query["code_challenge_method"] == "S256"
        assert "openid" in query["scope"].split()
        code = token_urlsafe(16)
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def exchange(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """Return the reply to a code, which counts once."""
        if not is_client(authorization):
            return 401, {"error": "invalid_client"}
        if form["grant_type"] == "refresh_token":
            return self._refresh(form["refresh_token"])
        query = self.codes.pop(form.get("code", ""), None)
        digest = sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if query is None or query["code_challenge"] != challenge:
            return 400, {"error": "invalid_grant"}
        if query["redirect_uri"] != form["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        return 200, self._give_tokens(query, {"nonce": query["nonce"]} | self.user)

    def _refresh(self, token: str) -> tuple[int, dict[str, Any]]:
        """Return the reply to a refresh token, which counts once."""
        query = self.grants.pop(token, None)
        if query is None:
            return 400, {"error": "invalid_grant", "error_description": f"{token} is not valid"}
        kept = self.user if self.later_claims is None else self.user.keys() & self.later_claims
        return 200, self._give_tokens(query, {name: self.user[name] for name in kept})

    def _give_tokens(self, query: dict[str, str], user: dict[str, Any]) -> dict[str, Any]:
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300}
        names = ["access_token", *["refresh_token"] * self.refreshes]
        tokens = {name: f"token-{token_urlsafe(24)}" for name in names}
        self.tokens += tokens.values()
        self.grants |= dict.fromkeys(tokens.values(), query)
        id_token = {"id_token": self.sign(self, claims | user)} if user else {}
        return {"token_type": "Bearer", **tokens, **id_token}

    def revoke(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        if not is_client(authorization):
            return 401, {"error": "invalid_client"}
        self.grants.pop(form["token"], None)
        return 200, {}

    def tell_user(self, authorization: str) -> tuple[int, dict[str, Any]]:
        """Return the claims of a user to whoever has an access token."""
        is_valid = authorization.removeprefix("Bearer ") in self.grants
        return (200, self.user) if is_valid else (401, {"error": "invalid_token"})


def is_client(authorization: str) -> bool:
    credentials = base64.b64decode(authorization.removeprefix("Basic ")).decode()
    return credentials == f"{CLIENT}:{SECRET}"


def encode_part(part: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def sign_token(provider: Provider, claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "RS256", "kid": "first"}, claims, provider.key)


def sign_without_algorithm(provider: Provider, claims: dict[str, Any]) -> str:
    header = {"alg": "none", "kid": "first"}
    return ".".join((*map(encode_part, (header, claims)), ""))


def sign_with_public_key(provider: Provider, claims: dict[str, Any]) -> str:
    """Sign by HS256 with the text of the public key as the shared secret."""
    header, content = map(encode_part, ({"alg": "HS256", "kid": "first"}, claims))
    secret = provider.key.as_pem(private=False)
    mark = hmac.digest(secret, f"{header}.{content}".encode(), "sha256")
    return f"{header}.{content}.{base64.urlsafe_b64encode(mark).rstrip(b'=').decode()}"


def sign_with_secret(provider: Provider, claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "HS256", "kid": "first"}, claims, OctKey.import_key(SECRET))


def sign_with_other_key(provider: Provider, claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "RS256", "kid": "first"}, claims, RSAKey.generate_key(2048))


def sign_with_unknown_key(provider: Provider, claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "RS256", "kid": "unknown"}, claims, provider.key)


def sign_with_own_key_in_header(provider: Provider, claims: dict[str, Any]) -> str:
    key = RSAKey.generate_key(2048)
    header = {"alg": "RS256", "kid": "first", "jwk": key.as_dict(private=False)}
    return jwt.encode(header, claims, key)


def sign_with_other_algorithm(provider: Provider, claims: dict[str, Any]) -> str:
    """Sign by an algorithm that the kind of key allows and this key does not name."""
    key = RSAKey.import_key({**provider.key.as_dict(private=True), "alg": "PS256"})
    return jwt.encode({"alg": "PS256", "kid": "first"}, claims, key, algorithms=["PS256"])


def alter_token(provider: Provider, claims: dict[str, Any]) -> str:
    """Sign for another user, and put this one's claims in place."""
    header, _, mark = sign_token(provider, {**claims, "sub": "ben"}).split(".")
    return f"{header}.{encode_part(claims)}.{mark}"


class _Handler(BaseHTTPRequestHandler):
    provider: Provider

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self._note(parts.path)
        if parts.path in self.provider.bodies:
            self._send(*self.provider.bodies[parts.path])
        elif parts.path == "/.well-known/openid-configuration":
            self._send_json(200, self.provider.describe())
        elif parts.path == "/keys":
            self._send_json(200, {"keys": self.provider.keys})
        elif parts.path == "/user":
            self._send_json(*self.provider.tell_user(self.headers.get("Authorization", "")))
        elif parts.path == "/authorize":
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            self._send(303, {"Location": self.provider.authorize(query)}, b"")
        else:
            self._send_json(404, {})

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._note(self.path)
        if self.path in self.provider.bodies:
            self._send(*self.provider.bodies[self.path])
            return
        form = {name: values[0] for name, values in parse_qs(content).items()}
        answer = self.provider.revoke if self.path == "/revoke" else self.provider.exchange
        self._send_json(*answer(form, self.headers.get("Authorization", "")))

    def _note(self, path: str) -> None:
        self.provider.requests.append(path)
        self.provider.hosts.append(self.headers["Host"])

    def _send_json(self, status: int, content: dict[str, Any]) -> None:
        self._send(status, {"Content-Type": "application/json"}, json.dumps(content).encode())

    def _send(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        step = len(content) // 10 + 1
        with suppress(OSError):  # a client that has left
            for start in range(0, len(content), step):
                time.sleep(self.provider.pause_s)
                self.wfile.write(content[start : start + step])

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Log nothing."""


@contextmanager
def serve_provider(certificate: Path | None = None) -> Iterator[Provider]:
    """Serve a provider on a real socket; with the file of a certificate and its key by https."""
    provider = Provider()
    with serve_port(provider, certificate) as url:
        provider.url = url
        yield provider


@contextmanager
def serve_port(provider: Provider, certificate: Path | None = None) -> Iterator[str]:
    """Serve a provider at a further port, and yield the address."""
    handler = type("Handler", (_Handler,), {"provider": provider})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        port = server.server_address[1]
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http{'s' if certificate else ''}://127.0.0.1:{port}"
        finally:
            server.shutdown()
            thread.join()
