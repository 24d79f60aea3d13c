"""Sign-on by a trusted reverse proxy, and forged headers, which are refused."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
from fastapi.testclient import TestClient
from tests.serving.http.conftest import ADDRESS, CANARY, SEARCH, KeyMaker

from fathom.errors import UsageError
from fathom.redaction import SECRETS
from fathom.serving.http.app import create_app
from fathom.serving.http.audit_log import AuditLog
from fathom.serving.http.trusted_proxy import SECRET_HEADER, TrustedProxy, build_proxy
from fathom.settings import Settings

SECRET = "0123456789abcdef-of-the-proxy"
PROXY = TrustedProxy(user_header="X-Remote-User", groups_header="X-Groups", secret=SECRET)
ANA = [("X-Remote-User", "ana"), ("X-Groups", "keepers, staff"), (SECRET_HEADER, SECRET)]


@pytest.fixture
def server(guarded: Settings) -> Iterator[TestClient]:
    app = create_app(guarded, sign_on=PROXY, audit_days=1)
    with TestClient(app, base_url=ADDRESS, client=("127.0.0.1", 50_000)) as client:
        yield client


def search(server: TestClient, headers: list[tuple[str, str]]) -> tuple[int, bool]:
    """Return the status of a search, and whether it shows the hidden document."""
    reply = server.post(
        "/api/v1/search", json=SEARCH, headers=httpx.Headers(headers, encoding="utf-8")
    )
    return reply.status_code, CANARY in reply.text


def test_a_user_reads_what_the_groups_of_the_proxy_may(server: TestClient) -> None:
    assert search(server, ANA) == (200, True)
    user, secret = ANA[0], ANA[2]
    assert search(server, [user, secret]) == (200, False)
    assert search(server, [user, ("X-Groups", "sailors"), secret]) == (200, False)
    # No header can name the group of those who may read all documents.
    for names in ("*", "sailors,*", "group:*", " * "):
        assert search(server, [user, ("X-Groups", names), secret]) == (200, False)
    answer = server.post("/api/v1/ask", json={"question": SEARCH["query"]}, headers=dict(ANA))
    trace = f"/api/v1/traces/{answer.json()['trace_id']}"
    ben = [("X-Remote-User", "ben"), *ANA[1:]]
    assert server.get(trace, headers=dict(ANA)).status_code == 200
    assert server.get(trace, headers=dict(ben)).status_code == 404
    uploaded = server.post("/api/v1/documents", files={"files": ("a.md", "A.")}, headers=dict(ANA))
    assert uploaded.status_code == 403
    log: AuditLog = server.app.state.audit_log  # type: ignore[attr-defined]
    line = next(log.list_lines())
    assert (line.key, line.name, line.groups) == ("proxy:ana", "ana", ("keepers", "staff"))


def test_forged_headers_are_refused(server: TestClient, key: KeyMaker) -> None:
    user, groups, secret = ANA
    forged = [
        [user, groups],
        [user],
        [groups],
        [secret],
        [user, groups, (SECRET_HEADER, "")],
        [user, groups, (SECRET_HEADER, SECRET[:-1])],
        [user, groups, (SECRET_HEADER, f"{SECRET}é")],
        [user, groups, (SECRET_HEADER, "guess"), secret],
        [user, ("x-remote-user", "root"), groups, secret],
        [user, groups, ("x-groups", "root"), secret],
        [("X-Remote-User", ""), groups, secret],
        [("X-Remote-User", "*"), groups, secret],
        [("X-Remote-User", "ana,root"), groups, secret],
        [],
        [("X_Remote_User", "ana"), ("X_Groups", "keepers")],
    ]
    for headers in forged:
        assert search(server, headers) == (401, False), headers
    # A valid key does not help a forged header, and counts without one.
    whole = key(scopes="read", groups=frozenset({"*"}))["Authorization"]
    assert search(server, [user, groups, ("Authorization", whole)]) == (401, False)
    assert search(server, [("Authorization", whole)]) == (200, True)


@pytest.mark.parametrize("host", ["203.0.113.9", "::ffff:203.0.113.9", "127.0.0.2", "", "proxy"])
def test_another_address_is_refused_even_with_the_secret(guarded: Settings, host: str) -> None:
    app = create_app(guarded, sign_on=PROXY)
    with TestClient(app, base_url=ADDRESS, client=(host, 50_000)) as server:
        spoofed = [*ANA, ("X-Forwarded-For", "127.0.0.1"), ("Forwarded", "for=127.0.0.1")]
        assert search(server, ANA) == search(server, spoofed) == (401, False)


def test_the_real_server_knows_a_proxy_by_its_connection(guarded: Settings, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")
    options = ["--index", str(guarded.index.directory), "--port", "0", "--offline"]
    options += ["--proxy-user-header", "X-Remote-User", "--proxy-groups-header", "X-Groups"]
    options += ["--proxy-secret", str(secret), "--proxy-address", "127.0.0.2"]
    child = subprocess.Popen(
        [sys.executable, "-m", "fathom", "serve", *options],
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    assert child.stderr is not None
    try:
        address = child.stderr.readline().split()[2]

        def search_from(host: str, headers: list[tuple[str, str]]) -> tuple[int, bool]:
            transport = httpx.HTTPTransport(local_address=host)
            with httpx.Client(transport=transport, base_url=address, timeout=60) as client:
                reply = client.post(
                    "/api/v1/search", json=SEARCH, headers=httpx.Headers(headers, encoding="utf-8")
                )
                return reply.status_code, CANARY in reply.text

        assert search_from("127.0.0.2", ANA) == (200, True)
        assert search_from("127.0.0.1", ANA) == (401, False)
        assert search_from("127.0.0.1", []) == (401, False)
        for name in ("X-Forwarded-For", "X-Real-IP"):
            assert search_from("127.0.0.1", [*ANA, (name, "127.0.0.2")]) == (401, False)
    finally:
        child.terminate()
        child.wait(30)
        child.stderr.close()


def test_wrong_options_are_told_in_one_line(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    with pytest.raises(
        UsageError, match="anybody could send this header; give --proxy-secret FILE"
    ):
        build_proxy("X-Remote-User", "", None, ())
    for content, file in (("short", secret), ("ä" * 20, secret), ("", tmp_path)):
        secret.write_text(content)
        with pytest.raises(UsageError, match="--proxy-secret"):
            build_proxy("X-Remote-User", "", file, ())
    secret.write_text(SECRET)
    for header in ("X Remote", "", "X:User"):
        with pytest.raises(UsageError, match="--proxy-user-header"):
            build_proxy(header, "", secret, ())
    with pytest.raises(UsageError, match=r"--proxy-address 'proxy\.local'"):
        build_proxy("X-Remote-User", "", secret, ["proxy.local"])
    proxy = build_proxy("X-Remote-User", "", secret, ["::ffff:10.0.0.5"])
    assert {str(address) for address in proxy.addresses} == {"10.0.0.5"}
    secret.write_text(SECRET, encoding="utf-8-sig")
    assert build_proxy("X-Remote-User", "", secret, ()).secret == proxy.secret == SECRET
    assert SECRET not in repr(proxy)
    assert SECRETS.redact(f"{SECRET} is sent") == "[redacted] is sent"
