"""Sign-on by OpenID Connect, against a provider that signs real tokens over HTTP."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest
from fastapi.testclient import TestClient
from tests import openid_provider as providers
from tests.certificates import make_certificate
from tests.openid_provider import (
    CLIENT,
    SECRET,
    Provider,
    Sign,
    serve_port,
    serve_provider,
)
from tests.postgres_server import Server
from tests.serving.cli.test_app import CommandRunner, check_one_line, run  # noqa: F401 - fixture
from tests.serving.http.conftest import ADDRESS, CANARY, SEARCH, KeyMaker

from fathom.config import parse_settings
from fathom.errors import RunError, UsageError
from fathom.index.engines import EmbeddedIndex, switch_workspace
from fathom.redaction import SECRETS
from fathom.serving.http.access import Caller
from fathom.serving.http.app import create_app
from fathom.serving.http.audit_log import AuditLog
from fathom.serving.http.dependencies import get_idempotency_key
from fathom.serving.http.keys import Key
from fathom.serving.http.migration import copy_server_tables
from fathom.serving.http.object_store import create_object_store
from fathom.serving.http.openid import Issuer, IssuerFailure, build_issuer
from fathom.serving.http.sign_on import SignOn, check_public_url
from fathom.serving.http.sign_on_plan import SignOnPlan
from fathom.settings import Settings

ORIGIN = {"Origin": ADDRESS}


def make_sign_on(provider: Provider, **more: Any) -> SignOn:
    return SignOn(Issuer(provider.url, CLIENT, SECRET), **more)


@pytest.fixture
def server(guarded: Settings, provider: Provider) -> Iterator[TestClient]:
    app = create_app(guarded, sign_on=make_sign_on(provider), audit_days=1)
    with TestClient(app, base_url=ADDRESS, follow_redirects=False) as client:
        yield client


def go_to_issuer(server: TestClient, place: str = "") -> str:
    """Return the address to which the issuer sends the user back."""
    begun = server.get("/sign-on", params={"place": place})
    assert begun.status_code == 303, begun.text
    reply = httpx.get(begun.headers["location"], follow_redirects=False)
    return reply.headers["location"]


def sign_on(server: TestClient, place: str = "") -> httpx.Response:
    return server.get(go_to_issuer(server, place))


def search(server: TestClient, headers: dict[str, str] | None = None) -> tuple[int, bool]:
    """Return the status of a search, and whether it shows the hidden document."""
    reply = server.post("/api/v1/search", json=SEARCH, headers=headers or ORIGIN)
    return reply.status_code, CANARY in reply.text


def test_a_signed_on_user_reads_what_the_groups_of_the_token_may(
    server: TestClient, provider: Provider
) -> None:
    assert search(server) == (401, False)
    provider.user["preferred_username"] = "Ana K."
    reply = sign_on(server, "#/documents/x?start=1")
    assert (reply.status_code, reply.headers["location"]) == (303, "/#/documents/x?start=1")
    [cookie] = [text for text in reply.headers.get_list("set-cookie") if "fathom_session=" in text]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=lax", "Max-Age=3600", "Path=/"))
    assert server.get("/sign-on/user").json() == {"is_offered": True, "label": "Ana K."}
    assert search(server) == (200, True)
    assert server.get("/api/v1/status").json()["scopes"] == ["read"]
    answer = server.post("/api/v1/ask", json={"question": SEARCH["query"]}, headers=ORIGIN)
    trace = f"/api/v1/traces/{answer.json()['trace_id']}"
    assert server.get(trace).status_code == 200
    uploaded = server.post("/api/v1/documents", files={"files": ("a.md", "A.")}, headers=ORIGIN)
    assert uploaded.status_code == 403
    log: AuditLog = server.app.state.audit_log  # type: ignore[attr-defined]
    line = next(log.list_lines())
    assert (line.key, line.name, line.groups) == ("oidc:ana", "ana", ("keepers", "staff"))
    # Another user, in a group that may not read it, and with a claim that tries to reach further.
    provider.user = {"sub": "ben", "groups": ["sailors", "*", "group:*", "user:ana", 7]}
    assert sign_on(server).status_code == 303
    assert search(server) == (200, False)
    assert server.get(trace).status_code == 404
    unfit: tuple[object, ...] = (None, {}, "sailors", ["KEEPERS"])
    for groups in unfit:
        provider.user = {"sub": "ben", "groups": groups}
        sign_on(server)
        assert search(server) == (200, False)
    provider.user = {"sub": "ben", "groups": "keepers"}
    sign_on(server)
    assert search(server) == (200, True)


def test_roles_give_scopes_and_are_needed(guarded: Settings, provider: Provider) -> None:
    plan = SignOnPlan(roles_claim="realm_access.roles", groups_claim="realm_access.groups")
    app = create_app(guarded, sign_on=make_sign_on(provider, plan=plan))
    wanted: list[tuple[object, list[str]]] = [
        (["reader"], ["read"]),
        (["editor", "offline_access"], ["ingest", "read"]),
        (["reader", "admin"], ["admin", "curate", "ingest", "read"]),
        ("editor", ["ingest", "read"]),
    ]
    with TestClient(app, base_url=ADDRESS, follow_redirects=False) as server:
        for roles, scopes in wanted:
            provider.user = {"sub": "ana", "realm_access": {"roles": roles, "groups": ["keepers"]}}
            assert sign_on(server).status_code == 303
            assert sorted(server.get("/api/v1/status").json()["scopes"]) == scopes
            assert search(server) == (200, True)
            # A role lets nobody read more, so what all documents share stays closed.
            uploads = {"files": ("a.md", "A.")}
            uploaded = server.post("/api/v1/documents", files=uploads, headers=ORIGIN)
            assert uploaded.status_code == 403
        server.cookies.clear()
        unfit: tuple[object, ...] = ([], None, ["Admin", "*"], {"admin": True}, [["admin"]])
        for roles in unfit:
            provider.user = {"sub": "ana", "realm_access": {"roles": roles}}
            reply = sign_on(server)
            assert (reply.status_code, "names no role" in reply.text) == (401, True)
        provider.user = {"sub": "ana", "realm_access.roles": "reader"}
        assert sign_on(server).status_code == 303


def test_an_editor_adds_documents_where_none_is_hidden(
    settings: Settings, provider: Provider
) -> None:
    provider.user["roles"] = ["editor"]
    app = create_app(settings, sign_on=make_sign_on(provider, plan=SignOnPlan(roles_claim="roles")))
    with TestClient(app, base_url=ADDRESS, follow_redirects=False) as server:
        sign_on(server)
        uploads = {"files": ("a.md", "A.")}
        assert server.post("/api/v1/documents", files=uploads).status_code == 403
        uploaded = server.post("/api/v1/documents", files=uploads, headers=ORIGIN)
        assert uploaded.status_code == 202
        assert server.get("/metrics").status_code == 403


def test_a_session_counts_and_ends_at_every_server(
    postgres: Server, provider: Provider, tmp_path: Path
) -> None:
    url = switch_workspace(postgres.shared, f"s{os.urandom(6).hex()}")
    with ExitStack() as running:
        first, second = (
            running.enter_context(
                TestClient(
                    create_app(
                        parse_settings(
                            {"index.url": url, "index.directory": str(place), "offline": True}
                        ),
                        sign_on=make_sign_on(provider),
                    ),
                    base_url=ADDRESS,
                    follow_redirects=False,
                )
            )
            for place in (tmp_path / "first", tmp_path / "second")
        )
        back = go_to_issuer(first)
        second.cookies.update(first.cookies)
        jar = dict(first.cookies)
        assert second.get(back).status_code == 303
        first.cookies.update(jar)
        assert first.get(back).status_code == 400  # the state was used at the other server
        first.cookies.update(second.cookies)
        assert first.get("/api/v1/status").json()["scopes"] == ["read"]
        assert first.post("/sign-on/end", headers=ORIGIN).status_code == 204
        assert second.get("/api/v1/status").status_code == 401


def test_a_new_sign_on_ends_the_browser_s_earlier_session(
    server: TestClient, provider: Provider
) -> None:
    sign_on(server)
    earlier = dict(server.cookies)
    provider.user = {"sub": "ben"}
    sign_on(server)
    assert server.get("/sign-on/user").json()["label"] == "ben"
    server.cookies.clear()
    server.cookies.update(earlier)
    assert search(server) == (401, False)


def test_a_copy_of_the_index_takes_no_session_along(
    settings: Settings, provider: Provider, tmp_path: Path
) -> None:
    app = create_app(settings, sign_on=make_sign_on(provider))
    with TestClient(app, base_url=ADDRESS, follow_redirects=False) as server:
        sign_on(server)
        target = EmbeddedIndex(tmp_path / "copy")
        copy_server_tables(
            EmbeddedIndex(settings.index.directory), target, settings.index.directory
        )
        copied = create_object_store(target)
        assert len(app.state.sessions.objects.list_all("session")) == 1
        assert copied.list_all("session") == copied.list_all("sign_on") == {}
        copied.close()


def test_signing_out_ends_the_session_everywhere(server: TestClient) -> None:
    sign_on(server)
    stolen = dict(server.cookies)
    assert server.post("/sign-on/end").status_code == 403
    assert (
        server.post("/sign-on/end", headers={"Origin": "https://evil.example"}).status_code == 403
    )
    assert search(server) == (200, True)
    assert server.post("/sign-on/end", headers=ORIGIN).status_code == 204
    assert "fathom_session" not in server.cookies
    assert search(server) == (401, False)
    server.cookies.update(stolen)
    assert search(server) == (401, False)
    assert server.get("/sign-on/user").json()["label"] == ""


@contextmanager
def serve_other_provider(*options: str) -> Iterator[str]:
    """Serve a provider of another author, and yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
    child = subprocess.Popen(
        [
            *(sys.executable, "-m", "oidc_provider_mock", "--port", port, "--require-nonce"),
            *options,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for_port(int(port))
        yield f"http://127.0.0.1:{port}"
    finally:
        child.terminate()
        child.wait(30)


def sign_on_at_other_provider(server: TestClient) -> httpx.Response:
    begun = server.get("/sign-on")
    reply = httpx.post(begun.headers["location"], data={"sub": "ana"})
    return server.get(reply.headers["location"])


def test_a_provider_of_another_author_signs_users_on(guarded: Settings) -> None:
    user = json.dumps({"sub": "ana", "groups": ["keepers"]})
    with serve_other_provider("--user-claims", user) as url:
        app = create_app(guarded, sign_on=SignOn(Issuer(url, CLIENT, SECRET)))
        with TestClient(app, base_url=ADDRESS, follow_redirects=False) as server:
            assert sign_on_at_other_provider(server).status_code == 303
            assert search(server) == (200, True)


def wait_for_port(port: int) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    pytest.fail(f"nobody listens at {port}")


SIGNERS: list[tuple[Sign, str]] = [
    (providers.sign_without_algorithm, "is invalid"),
    (providers.sign_with_public_key, "is invalid"),
    (providers.sign_with_secret, "is invalid"),
    (providers.sign_with_other_key, "is invalid"),
    (providers.sign_with_own_key_in_header, "is invalid"),
    (providers.sign_with_other_algorithm, "is invalid"),
    (providers.sign_with_unknown_key, "names an unknown key: 'unknown'"),
    (providers.alter_token, "is invalid"),
    (lambda provider, claims: "no.token", "is invalid"),
    (lambda provider, claims: "", "is invalid"),
]


def test_a_token_that_the_issuer_did_not_sign_is_refused(
    server: TestClient, provider: Provider
) -> None:
    for sign, reason in SIGNERS:
        provider.sign = sign
        reply = sign_on(server)
        assert (reply.status_code, reason in reply.json()["detail"]) == (401, True), reply.text
        assert reply.json()["next"] == "sign on again"
        assert "fathom_session" not in server.cookies
    assert search(server) == (401, False)


WRONG_CLAIMS: list[dict[str, Any]] = [
    {"nonce": "of-another-sign-on"},
    {"nonce": None},
    {"aud": "another-client"},
    {"aud": ["another-client"]},
    {"aud": [CLIENT, "another-client"]},
    {"aud": [CLIENT, "another-client"], "azp": "another-client"},
    {"iss": "https://evil.example"},
    {"exp": int(time.time()) - 300},
    {"exp": None},
    {"exp": "tomorrow"},
    {"iat": int(time.time()) + 3600},
    {"nbf": int(time.time()) + 3600},
    {"sub": ""},
    {"sub": None},
    {"sub": ["ana"]},
    {"sub": "*"},
    {"sub": "ana,root"},
]


def test_a_token_of_something_else_is_refused(server: TestClient, provider: Provider) -> None:
    user = provider.user
    for claims in WRONG_CLAIMS:
        provider.user = user | claims
        reply = sign_on(server)
        assert reply.status_code == 401, (claims, reply.text)
        assert search(server) == (401, False)


def test_a_state_counts_once_and_in_its_browser(server: TestClient, provider: Provider) -> None:
    back = go_to_issuer(server)
    jar = dict(server.cookies)
    for address in (
        back.replace("state=", "other="),
        back.replace("state=", "state=x"),
        "/sign-on/reply",
    ):
        server.cookies.update(jar)
        reply = server.get(address)
        assert (reply.status_code, "no sign-on of this browser" in reply.text) == (400, True)
    server.cookies.clear()
    assert server.get(back).status_code == 400  # of a browser that began nothing
    server.cookies.update({"fathom_sign_on": jar["fathom_sign_on"][:-2] + "xx"})
    assert server.get(back).status_code == 400
    server.cookies.clear()
    server.cookies.update(jar)
    assert server.get(f"{back}&iss=https://evil.example").status_code == 400
    server.cookies.update(jar)
    assert server.get(back).status_code == 303
    server.cookies.update(jar)
    replayed = server.get(back)
    assert (replayed.status_code, "was used before" in replayed.text) == (400, True)
    assert provider.requests.count("/token") == 1
    # A refused sign-on is used up too.
    back = go_to_issuer(server).replace("code=", "error=access_denied&code=")
    assert "access_denied" in server.get(back).json()["detail"]


def test_an_altered_cookie_is_no_session(server: TestClient, provider: Provider) -> None:
    pending = go_to_issuer(server)
    other = server.cookies["fathom_sign_on"]
    server.get(pending)
    session = server.cookies["fathom_session"]
    header, content, mark = session.split(".")
    forged = [
        f"{header}.{content}x.{mark}",
        f"{header}.{content}.{mark[:-3]}AAA",
        f"{header}.{content}.",
        other,  # a cookie of another use, signed with the same key
        "eyJhbGciOiJub25lIn0." + content + ".",
        "x" * 3000,
    ]
    for value in forged:
        server.cookies.clear()
        server.cookies.set("fathom_session", value)
        assert search(server) == (401, False), value
    server.cookies.clear()
    server.cookies.set("fathom_session", session)
    assert search(server) == (200, True)


def test_a_session_ends_with_its_time(guarded: Settings, provider: Provider) -> None:
    now = [time.time()]
    plan = SignOnPlan(hours=0.5)
    app = create_app(guarded, sign_on=make_sign_on(provider, plan=plan, clock=lambda: now[0]))
    with TestClient(app, base_url=ADDRESS, follow_redirects=False) as server:
        sign_on(server)
        cookie = server.cookies["fathom_session"]
        now[0] += 1795
        assert search(server) == (200, True)
        now[0] += 10
        server.cookies.clear()
        server.cookies.set("fathom_session", cookie)  # a browser that ignores its end
        assert search(server) == (401, False)
        back = go_to_issuer(server)
        now[0] += 601
        assert server.get(back).status_code == 400


def test_another_site_can_change_nothing(server: TestClient, key: KeyMaker) -> None:
    whole = key(scopes="read", groups=frozenset({"*"}))
    sign_on(server)
    for origin in ("https://evil.example", "null", "http://127.0.0.1:9"):
        assert search(server, {"Origin": origin}) == (403, False)
    assert search(server, {"X-Nothing": ""}) == (403, False)
    # A key counts as before, and before the session.
    assert search(server, whole) == (200, True)
    assert (
        server.get("/api/v1/status", headers={"Authorization": "Bearer fth_x"}).status_code == 401
    )


async def test_requests_of_two_users_never_have_one_name() -> None:
    short, long = (Caller(key=Key(id=f"oidc:{name}", name=name)) for name in ("ana", "ana:b"))
    assert await get_idempotency_key(short, "b:c") != await get_idempotency_key(long, "c")
    assert await get_idempotency_key(Caller(key=Key(id="3d066515", name="x")), "c") == "3d066515:c"


def test_a_place_leads_nowhere_but_to_this_page(server: TestClient) -> None:
    for place in ("https://evil.example/", "//evil.example", "/\\evil", "#\r\nX: y", "#" * 600):
        assert sign_on(server, place).headers["location"] == "/"
    for host in ("evil.example", "evil.example:8000"):
        reply = server.get("/sign-on", headers={"Host": host})
        assert reply.status_code == 421
        assert "location" not in reply.headers


def test_https_makes_cookies_of_this_host_alone(settings: Settings, provider: Provider) -> None:
    outside = "https://ask.example.org"
    sign_ons = make_sign_on(provider, public_url=outside)
    public = settings.model_copy(
        update={"serve": settings.serve.model_copy(update={"public_url": outside})}
    )
    app = create_app(public, sign_on=sign_ons)
    with TestClient(app, base_url=outside, follow_redirects=False) as server:
        back = go_to_issuer(server)
        assert back.startswith(f"{outside}/sign-on/reply?")
        cookies = server.get(back).headers.get_list("set-cookie")
        [cookie] = [text for text in cookies if text.startswith("__Host-fathom_session=")]
        assert "Secure" in cookie
        assert "Domain" not in cookie
        assert search(server, {"Origin": outside})[0] == 200


def test_an_issuer_is_asked_alone_and_within_bounds(server: TestClient, provider: Provider) -> None:
    place = "/.well-known/openid-configuration"
    elsewhere = "http://127.0.0.1:9"
    failures: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"issuer": "https://evil.example"}, {}, "calls itself 'https://evil.example'"),
        ({"jwks_uri": "http://sso.example.org/keys"}, {}, "as jwks_uri, without https"),
        ({"token_endpoint": "ftp://127.0.0.1/token"}, {}, "as token_endpoint, without https"),
        ({"userinfo_endpoint": "https://[/user"}, {}, "as userinfo_endpoint, without https"),
        ({"jwks_uri": "https://ana@sso.example.org/keys"}, {}, "as jwks_uri, without https"),
        ({"authorization_endpoint": "javascript:alert(1)"}, {}, "as authorization_endpoint"),
        ({"token_endpoint_auth_methods_supported": ["none"]}, {}, "accepts no client secret"),
        ({}, {place: (302, {"Location": f"{elsewhere}/"}, b"")}, "answers with status 302"),
        ({}, {place: (200, {}, b"x" * (600 << 10))}, "more than 512 kB"),
        ({}, {place: (200, {"Content-Encoding": "gzip"}, b"x")}, "compressed"),
        ({}, {place: (200, {}, b"[]")}, "no JSON object"),
        ({}, {place: (200, {}, b"<html>")}, "gives no usable reply"),
        ({}, {place: (500, {}, b"")}, "answers with status 500"),
    ]
    for changes, bodies, reason in failures:
        provider.changes, provider.bodies = changes, bodies
        reply = server.get("/sign-on")
        assert reply.status_code == 502, reason
        assert reason in reply.json()["detail"]
        assert reply.json()["next"]
    provider.changes, provider.bodies = {}, {}
    for path, body in (
        ("/token", (500, {}, b"")),
        ("/token", (302, {"Location": f"{elsewhere}/token"}, b"")),
        ("/token", (200, {}, b"x" * (600 << 10))),
        ("/keys", (404, {}, b"{}")),
        ("/keys", (200, {}, b'{"keys": [7, {"kty": "oct", "k": "AAAA", "kid": "first"}]}')),
    ):
        back = go_to_issuer(server)
        provider.bodies = {path: body}
        reply = server.get(back)
        assert reply.status_code == 502, (path, reply.text)
        assert SECRET not in reply.text
        provider.bodies = {}
    assert search(server) == (401, False)
    sign_on(server)
    assert search(server) == (200, True)


def test_an_issuer_may_answer_at_several_hosts(
    guarded: Settings, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(make_certificate(tmp_path / "localhost.pem")))
    paths = {"token_endpoint": "/token", "jwks_uri": "/keys", "userinfo_endpoint": "/user"}
    with (
        serve_port(provider) as second,
        serve_port(provider, tmp_path / "localhost.pem") as third,
    ):
        for place in (second, third):
            provider.changes = {name: f"{place}{path}" for name, path in paths.items()}
            provider.requests, provider.hosts = [], []
            with TestClient(
                create_app(guarded, sign_on=make_sign_on(provider, renewal_s=0.0)),
                base_url=ADDRESS,
                follow_redirects=False,
            ) as server:
                assert sign_on(server).status_code == 303
                assert search(server) == (200, True)
            asked = dict(zip(provider.requests, provider.hosts, strict=True))
            for path in paths.values():
                assert asked[path] == urlsplit(place).netloc
            assert asked["/authorize"] == urlsplit(provider.url).netloc


def test_an_issuer_with_https_signs_on_by_a_certificate_that_is_trusted(
    guarded: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path / "localhost.pem")
    with serve_provider(certificate) as provider, serve_port(provider) as plain:
        unknown = Issuer(provider.url, CLIENT, SECRET)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with (
            TestClient(
                create_app(guarded, sign_on=make_sign_on(provider)),
                base_url=ADDRESS,
                follow_redirects=False,
            ) as server,
        ):
            assert sign_on(server).status_code == 303
            assert search(server) == (200, True)
            # An issuer with https names no address without, not even on this machine.
            provider.changes = {"jwks_uri": f"{plain}/keys"}
            server.app.state.sign_on.issuer._addresses = None  # type: ignore[attr-defined]
            assert "without https" in server.get("/sign-on").json()["detail"]
        provider.changes = {}
        with pytest.raises(IssuerFailure, match="CERTIFICATE_VERIFY_FAILED"):
            asyncio.run(unknown.fetch_addresses())
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    with pytest.raises(UsageError, match=r"SSL_CERT_FILE .*missing\.pem"):
        make_sign_on(provider)


def test_an_issuer_without_groups_names_people_by_verified_addresses_and_a_domain(
    guarded: Settings, provider: Provider
) -> None:
    google = {"sub": "117", "email": "ana@example.org", "hd": "keepers", "email_verified": True}
    provider.changes = {"userinfo_endpoint": f"{provider.url}/user"}
    plan = SignOnPlan(user_claim="email", groups_claim="hd")
    app = create_app(guarded, sign_on=make_sign_on(provider, plan=plan, renewal_s=0.0))
    with TestClient(app, base_url=ADDRESS, follow_redirects=False) as server:
        provider.user = google
        assert sign_on(server).status_code == 303
        assert search(server) == (200, True)
        provider.user = {**google, "hd": "other.example"}
        assert search(server) == (200, False)
        provider.user = {**google, "email": "ben@example.org"}
        assert search(server) == (401, False)
        provider.user = {**google, "email_verified": "true"}
        reply = sign_on(server)
        assert (reply.status_code, "that it has verified" in reply.text) == (401, True)
    # An address counts as a group too, and only a verified one.
    for is_verified, groups in ((True, ("ana@example.org",)), (False, ()), (None, ())):
        user = SignOnPlan(groups_claim="email").parse_user(
            {**google, "email_verified": is_verified}
        )
        assert user.groups == groups


def test_an_issuer_that_drips_is_left_in_time(guarded: Settings, provider: Provider) -> None:
    provider.pause_s = 0.2
    issuer = Issuer(provider.url, CLIENT, SECRET, seconds=0.6)
    app = create_app(guarded, sign_on=SignOn(issuer))
    with TestClient(app, base_url=ADDRESS, follow_redirects=False) as server:
        reply = server.get("/sign-on")
        assert (reply.status_code, "TimeoutError" in reply.text) == (502, True)
    provider.pause_s = 0.0


def test_a_new_key_of_the_issuer_counts_after_a_pause(
    guarded: Settings, provider: Provider
) -> None:
    now = [0.0]
    issuer = Issuer(provider.url, CLIENT, SECRET, clock=lambda: now[0])
    with TestClient(
        create_app(guarded, sign_on=SignOn(issuer)), base_url=ADDRESS, follow_redirects=False
    ) as server:
        assert sign_on(server).status_code == 303
        provider.sign = providers.sign_with_unknown_key
        provider.keys.append({**provider.keys[0], "kid": "unknown"})
        fetched = provider.requests.count("/keys")
        assert sign_on(server).status_code == 401
        assert provider.requests.count("/keys") == fetched  # not for everybody who asks
        now[0] += 31
        assert sign_on(server).status_code == 303


def test_wrong_options_are_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, provider: Provider
) -> None:
    with pytest.raises(UsageError, match="set OIDC_CLIENT_ID and OIDC_CLIENT_SECRET"):
        build_issuer(provider.url)
    monkeypatch.setenv("OIDC_CLIENT_ID", CLIENT)
    for secret in ("short", "a" * 30):
        monkeypatch.setenv("OIDC_CLIENT_SECRET", secret)
        with pytest.raises(UsageError, match="fewer than 16 characters, or is a plain word"):
            build_issuer(provider.url)
    monkeypatch.setenv("OIDC_CLIENT_SECRET", SECRET)
    for url in (
        "http://sso.example.org",
        "sso.example.org",
        "ftp://127.0.0.1",
        "https://user:password@sso.example.org",
        "https://sso.example.org?x=1",
        "https://[",
        "",
    ):
        with pytest.raises(UsageError, match=r"--oidc: .* is no address of an issuer"):
            build_issuer(url)
    build_issuer("https://sso.example.org/realms/town")
    assert SECRETS.redact(f"{SECRET} is sent") == "[redacted] is sent"
    check_public_url("", "127.0.0.1")
    check_public_url("https://ask.example.org/", "0.0.0.0")
    for public_url, host in (
        ("", "0.0.0.0"),
        ("http://ask.example.org", "127.0.0.1"),
        ("https://ask.example.org/fathom", "127.0.0.1"),
    ):
        with pytest.raises(UsageError, match=r"serve\.public_url"):
            check_public_url(public_url, host)
    assert issubclass(IssuerFailure, RunError)


def start_server(folder: Path, *options: str) -> "subprocess.Popen[str]":
    """Start the command line's server, with the client in its environment."""
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "fathom", "serve", "--index", str(folder)),
            *("--port", "0", "--audit", "1", *options),
        ],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OIDC_CLIENT_ID": CLIENT, "OIDC_CLIENT_SECRET": SECRET},
    )


def test_the_real_server_signs_on_and_holds_no_secret(
    guarded: Settings, provider: Provider
) -> None:
    folder = guarded.index.directory
    child = start_server(folder, "--oidc", provider.url)
    assert child.stderr is not None
    try:
        assert "cannot be asked again for groups" in child.stderr.readline()
        address = child.stderr.readline().split()[2].rstrip("/")
        with httpx.Client(base_url=address, timeout=60) as client:
            origin = {"Origin": address}
            assert client.post("/api/v1/search", json=SEARCH, headers=origin).status_code == 401
            page = client.get("/sign-on", follow_redirects=True)
            assert (page.status_code, str(page.url)) == (200, f"{address}/")
            reply = client.post("/api/v1/search", json=SEARCH, headers=origin)
            assert (reply.status_code, CANARY in reply.text) == (200, True)
            asked = client.post("/api/v1/ask", json={"question": SECRET + "?"}, headers=origin)
            assert SECRET not in asked.text
    finally:
        child.terminate()
        child.wait(30)
        log = child.stderr.read()
        child.stderr.close()
    assert SECRET not in log
    stored = [file for file in folder.rglob("*") if file.is_file()]
    assert [file.name for file in stored if SECRET.encode() in file.read_bytes()] == []


def test_an_issuer_that_cannot_be_reached_leaves_no_server(
    run: CommandRunner,  # noqa: F811
    provider: Provider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OIDC_CLIENT_ID", CLIENT)
    monkeypatch.setenv("OIDC_CLIENT_SECRET", SECRET)
    check_one_line(
        run("serve", "--port", "0", "--oidc", "http://127.0.0.1:9"),
        5,
        "the issuer http://127.0.0.1:9 gives no usable reply",
        "check that this machine reaches it",
    )
    provider.changes = {"issuer": "https://evil.example"}
    refused = run("serve", "--port", "0", "--oidc", provider.url)
    check_one_line(refused, 5, "calls itself 'https://evil.example'; give --oidc")
    for options, words in (
        (["--offline"], "drop one of the two"),
        (["--host", "0.0.0.0"], "serve.public_url"),
        (["--proxy-user-header", "X-User", "--proxy-secret", __file__], "--proxy-secret"),
    ):
        check_one_line(run("serve", "--port", "0", "--oidc", provider.url, *options), 2, words)
    monkeypatch.delenv("OIDC_CLIENT_SECRET")
    check_one_line(run("serve", "--oidc", provider.url), 2, "set OIDC_CLIENT_ID and")
    for options in (["--oidc-groups", "teams"], ["--oidc-hours", "2"], ["--oidc-scopes", "groups"]):
        check_one_line(run("serve", *options), 2, "--oidc is missing")
