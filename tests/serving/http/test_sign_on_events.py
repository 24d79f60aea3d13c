"""The lines of the audit log about signing on and out, against a provider over HTTP."""

import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient
from tests import openid_provider as providers
from tests.openid_provider import Provider
from tests.serving.cli.test_app import CommandRunner, run  # noqa: F401 - fixture
from tests.serving.http.conftest import ADDRESS
from tests.serving.http.test_audit_trail import list_lines
from tests.serving.http.test_sign_on import (
    ORIGIN,
    go_to_issuer,
    make_sign_on,
    search,
    sign_on,
)

from fathom.errors import RunError
from fathom.serving.http import sign_on_routes
from fathom.serving.http.app import create_app
from fathom.serving.http.audit_log import AuditLog
from fathom.settings import Settings


@pytest.fixture
def now() -> list[float]:
    return [time.time()]


@pytest.fixture
def server(
    guarded: Settings,
    provider: Provider,
    now: list[float],
) -> Iterator[TestClient]:
    provider.refreshes = True
    app = create_app(guarded, sign_on=make_sign_on(provider, clock=lambda: now[0]), audit_days=1)
    with TestClient(app, base_url=ADDRESS, follow_redirects=False) as client:
        yield client


def list_events(server: TestClient) -> list[tuple[str, str, object, int]]:
    """Return the key, the route, what happened and the status of all lines of sign-on."""
    return [
        (line.key, line.route, line.asked, line.status)
        for line in list_lines(server)
        if "sign_on" in line.to_json()["asked"]
    ]


def test_signing_on_and_out_and_the_end_by_the_issuer_are_written(
    server: TestClient,
    provider: Provider,
    now: list[float],
    run: CommandRunner,  # noqa: F811
    guarded: Settings,
) -> None:
    sign_on(server)
    server.post("/sign-on/end", headers=ORIGIN)
    server.post("/sign-on/end", headers=ORIGIN)  # of nobody
    sign_on(server)
    now[0] += 61
    provider.grants.clear()
    assert search(server) == (401, False)
    assert search(server) == (401, False)
    begin, end = "GET /sign-on/reply", "POST /sign-on/end"
    ended = {
        "sign_on": "ended by the issuer",
        "reason": f"{provider.url} refuses the sign-on: invalid_grant",
    }
    assert list_events(server) == [
        ("oidc:ana", begin, {"sign_on": "signed on"}, 303),
        ("oidc:ana", end, {"sign_on": "signed out"}, 204),
        ("oidc:ana", begin, {"sign_on": "signed on"}, 303),
        ("oidc:ana", "POST /api/v1/search", ended, 401),
    ]
    assert {line.groups for line in list_lines(server)} == {("keepers", "staff")}
    text = run("audit", "--index", guarded.index.directory, "--key", "ana").out
    assert 'ana (oidc:ana): GET /sign-on/reply {"sign_on": "signed on"}: 303' in text
    assert len(text.splitlines()) == 4


def test_refused_sign_ons_are_written_with_their_reason(
    server: TestClient,
    provider: Provider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = go_to_issuer(server)
    server.get(address.replace("code=", "error=access_denied&code="))
    provider.sign = providers.sign_with_other_key
    address = go_to_issuer(server)
    server.get(address)
    server.get(address)
    provider.bodies = {"/token": (500, {}, b"")}
    server.get(go_to_issuer(server))
    events = list_events(server)
    assert {(key, route) for key, route, _, _ in events} == {("oidc", "GET /sign-on/reply")}
    reasons = [
        (f"{provider.url} refuses the sign-on: access_denied", 401),
        (f"the token of {provider.url} is invalid: bad_signature", 401),
        ("this reply is not used: it answers no sign-on of this browser", 400),
        (f"the issuer {provider.url} gives no usable reply: status 500", 502),
    ]
    for (_, _, asked, status), (reason, wanted) in zip(events, reasons, strict=True):
        assert asked["sign_on"] == "refused"  # type: ignore[index]
        assert asked["reason"].startswith(reason)  # type: ignore[index]
        assert status == wanted
    # The addresses hold codes and states, which no line repeats.
    query = parse_qs(urlsplit(address).query)
    for secret in (query["code"][0], query["state"][0], *provider.tokens):
        assert secret not in repr(list_lines(server))
    # Anybody can be refused, so anybody could fill the log.
    monkeypatch.setattr(sign_on_routes, "REFUSALS_PER_MINUTE", 2)
    for _ in range(5):
        assert server.get("/sign-on/reply").status_code == 400
    assert len(list_events(server)) <= len(events) + 2


def test_nobody_signs_on_without_a_line(
    server: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(log: AuditLog, line: object) -> int:
        raise RunError("the disk is full; make room")

    monkeypatch.setattr(AuditLog, "add", refuse)
    reply = sign_on(server)
    assert (reply.status_code, reply.json()["title"]) == (503, "audit failed")
    assert "fathom_session" not in server.cookies
    assert search(server)[0] == 401
