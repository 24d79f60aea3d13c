"""Rights that the issuer withdraws during a session, against providers over HTTP."""

import json
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2 as httpx
import pytest
from fastapi.testclient import TestClient
from joserfc.errors import JoseError
from tests import openid_provider as providers
from tests.openid_provider import CLIENT, SECRET, Provider
from tests.serving.http.conftest import ADDRESS, CANARY, SEARCH, serve_app
from tests.serving.http.test_sign_on import (
    ORIGIN,
    go_to_issuer,
    make_sign_on,
    search,
    serve_other_provider,
    sign_on,
    sign_on_at_other_provider,
)

from fathom.serving.http.app import create_app
from fathom.serving.http.openid import LOGOUT_EVENT, Issuer, IssuerAddresses, TokenGrant
from fathom.serving.http.session_renewal import SessionMark
from fathom.serving.http.sign_on import SignOn
from fathom.serving.http.sign_on_plan import SignOnPlan
from fathom.settings import Settings


class Clock:
    """A clock that a test moves on."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server(
    guarded: Settings,
    provider: Provider,
    clock: Clock,
) -> Iterator[TestClient]:
    """Yield a client of a server at an issuer that gives refresh tokens."""
    provider.refreshes = True
    with open_client(guarded, make_sign_on(provider, clock=clock)) as client:
        yield client


def open_client(settings: Settings, signed: SignOn) -> TestClient:
    app = create_app(settings, sign_on=signed, audit_days=1)
    return TestClient(app, base_url=ADDRESS, follow_redirects=False)


def test_a_group_that_the_issuer_withdraws_counts_for_a_minute_at_most(
    server: TestClient,
    provider: Provider,
    clock: Clock,
) -> None:
    sign_on(server)
    asked = server.post(
        "/api/v1/ask", json={"question": "What does the aquarium hold?"}, headers=ORIGIN
    )
    trace = f"/api/v1/traces/{asked.json()['trace_id']}"
    assert search(server) == (200, True)
    provider.user = provider.user | {"groups": ["staff"]}
    provider.requests.clear()
    clock.now += 59
    assert search(server) == (200, True)
    assert provider.requests == []
    clock.now += 1
    assert search(server) == (200, False)
    assert server.get(trace).status_code == 404
    assert search(server) == (200, False)
    assert provider.requests == ["/token"]  # once, for all requests of a minute
    provider.user = provider.user | {"groups": ["keepers"]}
    clock.now += 60
    assert search(server) == (200, True)
    assert server.get(trace).status_code == 200
    assert server.get("/sign-on/user").json()["label"] == "ana"


def test_groups_come_from_wherever_the_issuer_tells_them_again(
    server: TestClient,
    provider: Provider,
    clock: Clock,
) -> None:
    user_info = {"userinfo_endpoint": f"{provider.url}/user"}
    ways: list[tuple[bool, frozenset[str] | None, dict[str, str], list[str]]] = [
        (True, None, user_info, ["/token"]),
        (True, frozenset(), user_info, ["/token", "/user"]),  # refreshing gives no ID token
        (True, frozenset({"sub"}), user_info, ["/token", "/user"]),  # it has no groups
        (False, None, user_info, ["/user"]),
    ]
    for provider.refreshes, provider.later_claims, provider.changes, requests in ways:
        server.app.state.sign_on.issuer._addresses = None  # type: ignore[attr-defined]
        provider.user = {"sub": "ana", "groups": ["keepers"]}
        sign_on(server)
        assert search(server) == (200, True)
        clock.now += 61
        provider.requests.clear()
        assert search(server) == (200, True)
        assert provider.requests == requests
        provider.user = {"sub": "ana", "groups": []}
        clock.now += 61
        assert search(server) == (200, False)


def test_a_session_that_cannot_be_renewed_lives_until_its_end(
    server: TestClient,
    provider: Provider,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    ways: list[tuple[bool, frozenset[str]]] = [(False, frozenset()), (True, frozenset({"sub"}))]
    for provider.refreshes, provider.later_claims in ways:
        provider.user = {"sub": "ana", "groups": ["keepers"]}
        caplog.clear()
        sign_on(server)
        assert (
            "does not send groups again; those of this session count until it ends" in caplog.text
        )
        provider.user = {"sub": "ana", "groups": []}
        clock.now += 3595
        assert search(server) == (200, True)
        clock.now += 10
        assert search(server) == (401, False)


def test_a_sign_on_that_the_issuer_withdraws_ends_the_session(
    server: TestClient,
    provider: Provider,
    clock: Clock,
) -> None:
    right = provider.user, provider.sign

    def withdraw() -> None:
        provider.grants.clear()

    def change_user(**claims: object) -> None:
        provider.user = provider.user | claims

    def sign_wrongly() -> None:
        provider.sign = providers.sign_with_other_key

    def refuse(status: int, body: bytes) -> None:
        provider.bodies = {"/token": (status, {}, body)}

    acts: list[Callable[[], None]] = [
        withdraw,
        sign_wrongly,
        partial(change_user, sub="ben"),
        partial(change_user, nonce="of-another-sign-on"),
        partial(change_user, aud="another-client"),
        partial(refuse, 401, b"no JSON"),
        partial(refuse, 400, b'{"error": "invalid_grant"}'),
    ]
    for act in acts:
        sign_on(server)
        assert search(server) == (200, True)
        clock.now += 61
        act()
        reply = server.post("/api/v1/search", json=SEARCH, headers=ORIGIN)
        assert (reply.status_code, reply.json()["detail"]) == (401, "the session has ended"), act
        (provider.user, provider.sign), provider.bodies = right, {}
        assert search(server) == (401, False)  # for good


def test_an_issuer_that_cannot_be_reached_shows_nothing_and_ends_nothing(
    server: TestClient,
    provider: Provider,
    clock: Clock,
) -> None:
    failures: list[tuple[int, bytes]] = [
        (500, b""),
        (503, b"<html>"),
        (200, b"[]"),
        (429, b'{"message": "later"}'),
        (400, b'{"error": "temporarily_unavailable"}'),
    ]
    for status, body in failures:
        sign_on(server)
        provider.bodies = {"/token": (status, {}, body)}
        clock.now += 61
        reply = server.post("/api/v1/search", json=SEARCH, headers=ORIGIN)
        assert (reply.status_code, reply.headers["retry-after"]) == (502, "5"), (status, body)
        provider.requests.clear()
        reply = server.post("/api/v1/search", json=SEARCH, headers=ORIGIN)
        assert (reply.status_code, "a moment ago" in reply.json()["detail"]) == (502, True)
        assert provider.requests == []
        provider.bodies = {}
        clock.now += 6
        assert search(server) == (200, True)


def test_a_refreshed_token_is_stored_before_anything_else_can_fail(
    server: TestClient,
    provider: Provider,
    clock: Clock,
) -> None:
    provider.changes = {"userinfo_endpoint": f"{provider.url}/user"}
    provider.later_claims = frozenset()
    sign_on(server)
    provider.bodies = {"/user": (500, {}, b"")}
    clock.now += 61
    assert search(server) == (502, False)
    provider.bodies = {}
    clock.now += 6
    assert search(server) == (200, True)


def test_roles_that_are_withdrawn_count_no_more(
    guarded: Settings,
    provider: Provider,
    clock: Clock,
) -> None:
    provider.refreshes = True
    provider.user["roles"] = ["admin"]
    plan = SignOnPlan(roles_claim="roles")
    with open_client(guarded, make_sign_on(provider, plan=plan, clock=clock)) as server:
        sign_on(server)
        for roles, status in ((["admin"], 200), (["reader"], 403), ([], 401)):
            provider.user = provider.user | {"roles": roles}
            clock.now += 61
            assert server.get("/metrics").status_code == status


def test_many_requests_at_several_servers_use_a_refresh_token_once(
    guarded: Settings,
    provider: Provider,
    clock: Clock,
) -> None:
    provider.refreshes = True
    with ExitStack() as stack:
        addresses = [
            stack.enter_context(
                serve_app(create_app(guarded, sign_on=make_sign_on(provider, clock=clock)))
            )
            for _ in range(2)
        ]
        client = stack.enter_context(httpx.Client(base_url=addresses[0], timeout=60))
        client.get("/sign-on", follow_redirects=True)
        cookies = {"fathom_session": client.cookies["fathom_session"]}
        provider.user = provider.user | {"groups": []}
        provider.requests.clear()
        provider.pause_s = 0.02
        clock.now += 61

        def ask(number: int) -> tuple[int, bool]:
            address = addresses[number % 2]
            reply = httpx.post(
                f"{address}/api/v1/search",
                json=SEARCH,
                headers={"Origin": address},
                cookies=cookies,
                timeout=60,
            )
            return reply.status_code, CANARY in reply.text

        try:
            with ThreadPoolExecutor(12) as pool:
                assert set(pool.map(ask, range(24))) == {(200, False)}
        finally:
            provider.pause_s = 0.0
        assert provider.requests.count("/token") == 1


def test_a_server_that_was_killed_while_it_renewed_blocks_nobody_for_long(
    server: TestClient,
    provider: Provider,
    clock: Clock,
) -> None:
    sign_on(server)
    clock.now += 61
    objects = server.app.state.sessions.objects  # type: ignore[attr-defined]
    [session_id] = objects.list_all("session")
    lease = {"turn": "of the killed one", "turn_ends": clock.now - 1}
    objects.change("session", session_id, lambda session: session | lease)
    assert search(server) == (200, True)


def test_no_token_leaves_the_server(
    guarded: Settings,
    provider: Provider,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    provider.refreshes = True
    provider.changes = {"userinfo_endpoint": f"{provider.url}/user"}
    provider.later_claims = frozenset()
    replies = []
    with open_client(guarded, make_sign_on(provider, clock=clock)) as server:
        replies.append(sign_on(server))
        for _ in range(2):
            clock.now += 61
            question = {"question": "What does the aquarium of the mayor hold?"}
            replies.append(server.post("/api/v1/ask", json=question, headers=ORIGIN))
        assert replies[-1].status_code == 200
        # An issuer whose error quotes the token.
        clock.now += 61
        used = provider.tokens[-1]
        error = json.dumps({"error": f"invalid_grant {used}"}).encode()
        provider.bodies = {"/token": (400, {}, error)}
        replies.append(server.post("/api/v1/ask", json=question, headers=ORIGIN))
        assert replies[-1].status_code == 401
        assert "refuses the sign-on: invalid_grant [redacted]" in caplog.text
        provider.bodies = {}
        replies.append(sign_on(server))
        stored = [file for file in guarded.index.directory.rglob("*") if file.is_file()]
        contents = [file.read_bytes().decode("latin-1") for file in stored]
    assert any("objects.db" in file.name for file in stored)
    assert len(provider.tokens) == 12
    texts = [caplog.text, *contents, *(f"{reply.text} {reply.headers}" for reply in replies)]
    for secret in (*provider.tokens, SECRET):
        assert [text[:200] for text in texts if secret in text] == []


def test_a_stored_session_tells_no_token_without_the_cookie(provider: Provider) -> None:
    signed = make_sign_on(provider)
    renewal = signed._renewal
    grant = TokenGrant(subject="ana", nonce="n", access="token-a", refresh="token-r")
    user = signed.plan.parse_user(provider.user)
    mark, other = (SessionMark(number=number, ends=7) for number in ("one", "other"))
    session = renewal.describe_session(mark, user, grant, 0.0)
    assert renewal._decrypt(mark, session["tokens"]) == grant
    with pytest.raises(JoseError):
        renewal._decrypt(other, session["tokens"])
    assert "token-" not in repr(grant)


def test_offline_access_is_asked_for_where_the_issuer_names_it(
    server: TestClient,
    provider: Provider,
) -> None:
    for scopes, wanted in ((["openid"], ""), (["openid", "offline_access"], " offline_access")):
        provider.changes = {"scopes_supported": scopes}
        server.app.state.sign_on.issuer._addresses = None  # type: ignore[attr-defined]
        address = server.get("/sign-on").headers["location"]
        [scope] = parse_qs(urlsplit(address).query)["scope"]
        assert scope == f"openid profile email{wanted}"
    addresses = IssuerAddresses(
        authorization="", token="", keys="", method="", scopes=frozenset({"offline_access"})
    )
    # An issuer may refuse the scope, or give refresh tokens without it.
    named = SignOnPlan(scopes=("profile", "groups", "openid"))
    assert named.choose_scopes(addresses) == "openid profile groups"
    reply = server.get(go_to_issuer(server).replace("code=", "error=invalid_scope&code="))
    assert (reply.status_code, "--oidc-scopes" in reply.json()["next"]) == (401, True)


def test_signing_out_withdraws_the_tokens_at_the_issuer(
    server: TestClient,
    provider: Provider,
    caplog: pytest.LogCaptureFixture,
) -> None:
    provider.changes = {"revocation_endpoint": f"{provider.url}/revoke"}
    sign_on(server)
    assert provider.tokens[-1] in provider.grants
    assert server.post("/sign-on/end", headers=ORIGIN).status_code == 204
    assert provider.tokens[-1] not in provider.grants
    # Without the issuer a user signs out here all the same.
    sign_on(server)
    provider.bodies = {"/revoke": (503, {}, b"")}
    assert server.post("/sign-on/end", headers=ORIGIN).status_code == 204
    assert search(server) == (401, False)
    assert "tokens are not revoked" in caplog.text
    assert provider.tokens[-1] not in caplog.text


def sign_out(
    server: TestClient,
    provider: Provider,
    **claims: object,
) -> int:
    """Send the token by which the provider signs somebody out, and return the status."""
    token = provider.sign(
        provider,
        {
            "iss": provider.url,
            "aud": CLIENT,
            "iat": int(time.time()),
            "exp": int(time.time()) + 60,
            "jti": "1",
            "events": {LOGOUT_EVENT: {}},
            **claims,
        },
    )
    return server.post("/sign-on/back-channel", data={"logout_token": token}).status_code


def test_the_issuer_ends_sessions_by_itself(
    server: TestClient,
    provider: Provider,
) -> None:
    wrong: list[dict[str, object]] = [
        {},
        {"sub": "ana", "events": {}},
        {"sub": "ana", "events": [LOGOUT_EVENT]},
        {"sub": "ana", "nonce": "of an ID token"},
        {"sub": "ana", "aud": "another-client"},
        {"sub": "ana", "iss": "https://evil.example"},
        {"sub": "ana", "exp": int(time.time()) - 300},
        {"sub": "ana", "iat": None},
    ]
    provider.user["sid"] = "first"
    sign_on(server)
    for claims in wrong:
        assert sign_out(server, provider, **claims) == 400, claims
    for sign in (providers.sign_with_other_key, providers.sign_without_algorithm):
        provider.sign = sign
        assert sign_out(server, provider, sub="ana") == 400
    assert server.post("/sign-on/back-channel", content=b"\xff").status_code == 400
    provider.sign = providers.sign_token
    for others in ({"sub": "ben"}, {"sub": "ana", "sid": "second"}):
        assert sign_out(server, provider, **others) == 200
    assert search(server) == (200, True)
    ends: list[dict[str, str]] = [{"sub": "ana"}, {"sid": "first"}, {"sub": "ana", "sid": "first"}]
    for names in ends:
        sign_on(server)
        assert search(server) == (200, True)
        assert sign_out(server, provider, **names) == 200
        assert search(server) == (401, False)
    lines = server.app.state.audit_log.list_lines()  # type: ignore[attr-defined]
    [*_, line] = [line for line in lines if line.route == "POST /sign-on/back-channel"]
    assert (line.key, line.status) == ("oidc:ana", 200)
    assert line.asked["reason"] == f"{provider.url} signs the user out"


def test_a_provider_of_another_author_withdraws_groups_and_sign_ons(guarded: Settings) -> None:
    claims: dict[str, Any] = {"sub": "ana", "groups": ["keepers"]}
    with serve_other_provider("--user-claims", json.dumps(claims)) as url:
        issuer = Issuer(url, CLIENT, SECRET)
        with open_client(guarded, SignOn(issuer, renewal_s=0.0)) as server:
            sign_on_at_other_provider(server)
            assert search(server) == (200, True)
            httpx.put(f"{url}/users/ana", json=claims | {"groups": []})
            assert search(server) == (200, False)
            httpx.put(f"{url}/users/ana", json=claims)
            assert search(server) == (200, True)
            httpx.post(f"{url}/users/ana/revoke-tokens")
            assert search(server) == (401, False)
