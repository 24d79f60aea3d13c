"""Access control: `fathom.serving.http.access`, fathom.serving.http.keys,
fathom.serving.http.guard, fathom.serving.http.database, `fathom keys` of
fathom.serving.cli.keys, fathom.settings.serve.
"""

import asyncio
import json
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from math import nan
from pathlib import Path
from threading import get_ident

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.types import Message, Scope
from tests.serving.http.conftest import ADDRESS, KeyMaker, open_client
from typer.testing import CliRunner

from fathom.config import parse_settings
from fathom.errors import UsageError
from fathom.index.engines import EmbeddedIndex
from fathom.runs.ledger import Ledger
from fathom.runs.reservation import CostBound
from fathom.serving.cli.app import app as commands
from fathom.serving.http.access import LOCAL, Access, Caller
from fathom.serving.http.app import create_app
from fathom.serving.http.keys import Key, Keys, compute_expiry, create_key_store
from fathom.serving.http.problems import Problem
from fathom.serving.http.server import run
from fathom.serving.http.tables import KEY_TABLES
from fathom.settings import Settings
from fathom.usage import Budget, Usage

ASK = {"question": "Where is bitumen emulsion stored?"}


@pytest.fixture
def empty_client(tmp_path: Path) -> Iterator[TestClient]:
    """Yield a client of an application without documents."""
    settings = parse_settings({"index.directory": str(tmp_path / "index"), "offline": True})
    with open_client(create_app(settings)) as client:
        yield client


def get_keys(client: TestClient) -> Keys:
    keys: Keys = client.app.state.access.keys  # type: ignore[attr-defined]
    return keys


def make_headers(client: TestClient, **more: object) -> dict[str, str]:
    key = Key(id="", name="x", **{"scopes": frozenset({"read"}), **more})  # type: ignore[arg-type]
    return {"Authorization": f"Bearer {get_keys(client).add(key)[1]}"}


def test_on_loopback_no_key_is_needed_until_one_exists(empty_client: TestClient) -> None:
    assert empty_client.get("/api/v1/documents").status_code == 200
    headers = make_headers(empty_client)
    refused = empty_client.get("/api/v1/documents")
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert empty_client.get("/api/v1/documents", headers=headers).status_code == 200
    assert empty_client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "credential",
    [
        "",
        "Bearer",
        "Bearer nonsense",
        "Bearer fth_00000000_x",
        "Basic Zm9vOmJhcg==",
        "Bearer fth__",
    ],
)
def test_an_invalid_key_is_refused(empty_client: TestClient, credential: str) -> None:
    make_headers(empty_client)
    reply = empty_client.get("/api/v1/documents", headers={"Authorization": credential})
    assert reply.status_code == 401


def test_another_secret_under_a_known_id_is_refused(empty_client: TestClient) -> None:
    good = make_headers(empty_client)["Authorization"]
    for bad in (f"{good}x", good[:-1], good.rpartition("_")[0] + "_" + "A" * 43):
        headers = {"Authorization": bad}
        assert empty_client.get("/api/v1/documents", headers=headers).status_code == 401


def test_only_the_hash_of_a_key_is_stored_readable_by_the_owner_alone(
    empty_client: TestClient,
) -> None:
    secret = make_headers(empty_client)["Authorization"].rpartition("_")[2]
    file = Path(empty_client.app.state.settings.index.directory) / KEY_TABLES.file  # type: ignore[attr-defined]
    assert secret.encode() not in file.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_key_has_its_scopes_until_it_expires_or_is_revoked(empty_client: TestClient) -> None:
    read = make_headers(empty_client)
    assert empty_client.get("/metrics", headers=read).status_code == 403
    files = {"files": ("a.txt", b"text")}
    refused = empty_client.post("/api/v1/documents", files=files, headers=read)
    assert refused.status_code == 403
    assert "ingest" in refused.json()["detail"]
    admin = make_headers(empty_client, scopes=frozenset({"admin"}))
    assert empty_client.get("/metrics", headers=admin).status_code == 200
    assert empty_client.post("/api/v1/ask", json=ASK, headers=admin).status_code == 403
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    over = empty_client.get("/api/v1/documents", headers=make_headers(empty_client, expires=past))
    assert over.status_code == 401
    assert "expired" in over.json()["detail"]
    assert get_keys(empty_client).revoke(read["Authorization"].split("_")[1])
    assert empty_client.get("/api/v1/documents", headers=read).status_code == 401


def test_too_many_requests_are_told_when_to_retry(empty_client: TestClient) -> None:
    headers = make_headers(empty_client, per_minute=3)
    replies = [empty_client.get("/api/v1/documents", headers=headers) for _ in range(5)]
    assert [reply.status_code for reply in replies] == [200, 200, 200, 429, 429]
    assert 1 <= int(replies[-1].headers["retry-after"]) <= 61
    assert replies[-1].json()["retry_after"] == int(replies[-1].headers["retry-after"])


def test_a_browser_holds_its_key_where_no_script_reads_it(empty_client: TestClient) -> None:
    key = make_headers(empty_client)["Authorization"].removeprefix("Bearer ")
    assert empty_client.post("/api/v1/session", json={"key": "wrong"}).status_code == 401
    opened = empty_client.post("/api/v1/session", json={"key": key})
    assert opened.status_code == 204
    cookie = opened.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert empty_client.get("/api/v1/documents").status_code == 200
    assert empty_client.delete("/api/v1/session").status_code == 204
    assert empty_client.get("/api/v1/documents").status_code == 401


def test_the_daily_budget_is_shared_by_all_questions_and_outlives_the_server(
    tmp_path: Path,
) -> None:
    access = Access(create_key_store(EmbeddedIndex(tmp_path)), workspace_budget=Budget(tokens=1000))
    key, text = access.keys.add(Key(id="", name="x", tokens_per_day=100))
    caller = asyncio.run(access.identify_caller(text))
    assert caller == Caller(key=key, scopes=key.scopes)
    account = access.open_account(caller)
    assert account is not None
    assert account.get_remaining()["tokens"] == 100
    bound = CostBound(calls=1, prompt_tokens=60, completion_tokens=20)
    with Ledger(Budget(), account=account).reserve(bound) as room:
        assert account.get_remaining()["tokens"] == 20
        room.settle(Usage(llm_calls=1, prompt_tokens=60, completion_tokens=10))
    access.close()
    later = Access(create_key_store(EmbeddedIndex(tmp_path)), workspace_budget=Budget(tokens=1000))
    again = later.open_account(asyncio.run(later.identify_caller(text)))
    assert again is not None
    assert again.get_remaining()["tokens"] == 30
    local = later.open_account(LOCAL)
    assert local is not None
    assert local.get_remaining()["tokens"] == 930
    with Ledger(Budget(), account=again).reserve(CostBound(calls=1, prompt_tokens=30)) as room:
        room.settle(Usage(llm_calls=1, prompt_tokens=30))
    with pytest.raises(Problem) as spent:
        later.open_account(caller)
    assert spent.value.status == 429
    assert spent.value.retry_after is not None
    later.close()


@pytest.mark.parametrize("name", ["../other", "A", "", "a/b", ".hidden", "x" * 64, "a\n"])
def test_a_workspace_has_a_plain_name(tmp_path: Path, name: str) -> None:
    keys = create_key_store(EmbeddedIndex(tmp_path))
    if name:
        with pytest.raises(UsageError):
            keys.add(Key(id="", name="x", workspace=name))
    else:
        assert keys.add(Key(id="", name="x"))[0].workspace == ""
    keys.close()


@pytest.mark.parametrize("name", ["", " ", "ana\nbob", "caf\udce9", "\u200bana"])
def test_a_key_has_a_holder_with_a_plain_name(tmp_path: Path, name: str) -> None:
    keys = create_key_store(EmbeddedIndex(tmp_path))
    with pytest.raises(UsageError, match=r"the key's name .*: give its holder's name"):
        keys.add(Key(id="", name=name))
    assert not keys.has_keys()
    keys.close()


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "localhost.:80@e"])
def test_a_foreign_host_name_is_refused(empty_client: TestClient, host: str) -> None:
    reply = empty_client.get("/api/v1/documents", headers={"Host": host})
    assert reply.status_code == 421
    assert reply.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "[::1]:8000", "LOCALHOST:1"])
def test_each_name_of_this_machine_is_accepted(empty_client: TestClient, host: str) -> None:
    assert empty_client.get("/healthz", headers={"Host": host}).status_code == 200


def test_allowed_host_names_are_accepted(tmp_path: Path) -> None:
    tree = {"serve.public_url": "https://ask.example.org", "serve.allowed_hosts": ["inner"]}
    settings = parse_settings({"index.directory": str(tmp_path / "i"), **tree})
    with open_client(create_app(settings)) as client:
        for host, status in {"ask.example.org": 200, "inner:1": 200, "x": 421}.items():
            assert client.get("/healthz", headers={"Host": host}).status_code == status
        headers = {"Host": "inner", "Origin": "https://ask.example.org"}
        assert client.post("/api/v1/conversations", json={}, headers=headers).status_code == 201


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:9999", "http://[", "http://a]:x"]
)
def test_a_page_of_another_site_may_not_ask(empty_client: TestClient, origin: str) -> None:
    reply = empty_client.post("/api/v1/conversations", json={}, headers={"Origin": origin})
    assert reply.status_code == 403
    assert "access-control-allow-origin" not in reply.headers
    local = empty_client.post("/api/v1/conversations", json={}, headers={"Origin": ADDRESS})
    assert local.status_code == 201


@pytest.mark.parametrize("has_length", [True, False])
def test_an_oversized_body_is_refused_with_or_without_a_declared_length(
    tmp_path: Path, has_length: bool
) -> None:
    tree = {"index.directory": str(tmp_path / "i"), "serve.body_mb": 1}
    settings = parse_settings(tree, constants=True)
    body = json.dumps({"question": "x" * 3_000_000}).encode()
    parts = iter([body[:1_000_000], body[1_000_000:]])
    with open_client(create_app(settings)) as client:
        headers = {"Content-Type": "application/json"}
        reply = client.post("/api/v1/ask", content=body if has_length else parts, headers=headers)
    assert (reply.status_code, reply.json()["title"]) == (413, "too large")


def list_routes_with_bodies(app: FastAPI) -> list[tuple[str, str]]:
    """Return method and path of all routes with a body, except the one whose body is the key."""
    routes = [
        (method.upper(), path)
        for path, methods in app.openapi()["paths"].items()
        for method, operation in methods.items()
        if "requestBody" in operation and path != "/api/v1/session"
    ]
    return [*routes, ("POST", "/mcp")]


def send_unread_body(app: FastAPI, method: str, path: str, key: str) -> tuple[int, int]:
    """Send a request with a body; return the status of the reply and the parts that were read."""
    read: list[bytes] = []
    statuses: list[int] = []

    async def receive() -> Message:
        read.append(b"{}")
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Message) -> None:
        statuses.append(message.get("status", 0))

    headers = [
        (b"host", b"localhost"),
        (b"content-type", b"multipart/form-data; boundary=x" if "documents" in path else b"text/x"),
        (b"authorization", f"Bearer {key}".encode()),
    ]
    scope: Scope = {"type": "http", "method": method, "path": path, "headers": headers}
    scope.update(query_string=b"", root_path="", scheme="http", server=("localhost", 80))
    asyncio.run(app(scope, receive, send))
    return statuses[0], len(read)


def test_key_and_scope_are_checked_before_a_body_is_read(empty_client: TestClient) -> None:
    app = empty_client.app
    assert isinstance(app, FastAPI)
    powerless = make_headers(empty_client, scopes=frozenset({"curate"}))["Authorization"]
    routes = list_routes_with_bodies(app)
    assert {"/api/v1/documents", "/api/v1/ask", "/v1/chat/completions"} < {p for _, p in routes}
    for method, path in routes:
        assert send_unread_body(app, method, path, "fth_00000000_x") == (401, 0), path
        assert send_unread_body(app, method, path, powerless[7:]) == (403, 0), path


def test_a_request_counts_once_although_its_key_is_checked_twice(empty_client: TestClient) -> None:
    headers = make_headers(empty_client, per_minute=2)
    statuses = [
        empty_client.post("/api/v1/conversations", json={}, headers=headers).status_code
        for _ in range(3)
    ]
    assert statuses == [201, 201, 429]


def test_every_reply_forbids_execution(empty_client: TestClient) -> None:
    for path in ("/healthz", "/api/v1/documents", "/none", "/openapi.json"):
        headers = empty_client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["cross-origin-resource-policy"] == "same-origin"


def test_no_other_address_is_served_without_a_key(tmp_path: Path) -> None:
    settings = parse_settings({"index.directory": str(tmp_path)})
    with pytest.raises(UsageError, match="fathom keys add"):
        run(settings, host="0.0.0.0", port=0)


def test_keys_are_made_listed_and_revoked_on_the_command_line(tmp_path: Path) -> None:
    index = ["--index", str(tmp_path)]
    runner = CliRunner()
    added = runner.invoke(
        commands, ["keys", "add", "ana", "--scope", "read", "--workspace", "law", "--json", *index]
    )
    payload = json.loads(added.stdout)
    assert payload["key"].startswith(f"fth_{payload['id']}_")
    listed = runner.invoke(commands, ["keys", "list", *index]).stdout
    assert "ana, workspace law, read" in listed
    assert payload["key"] not in listed
    refused = runner.invoke(commands, ["keys", "open", *index]).exception
    assert isinstance(refused, UsageError)
    assert str(refused).startswith(f"keys open: these keys still exist: {payload['id']} (ana); ")
    unknown = runner.invoke(commands, ["keys", "revoke", "caf\udce9", *index]).exception
    assert isinstance(unknown, UsageError)
    revoked = runner.invoke(commands, ["keys", "revoke", payload["id"], *index])
    assert revoked.exit_code == 0
    assert "it was the last: nobody can ask before" in revoked.stdout
    listed = runner.invoke(commands, ["keys", "list", *index]).stdout
    assert listed.startswith("no keys; nobody can ask before `fathom keys add NAME`")
    assert json.loads(runner.invoke(commands, ["keys", "list", "--json", *index]).stdout) == {
        "keys": [],
        "door": "closed",
    }
    opened = runner.invoke(commands, ["keys", "open", *index])
    assert opened.stdout.startswith("on 127.0.0.1 nobody needs a key")
    listed = runner.invoke(commands, ["keys", "list", *index]).stdout
    assert listed == "no keys; on 127.0.0.1 nobody needs one\n"


def test_a_server_that_never_had_a_key_stays_open(tmp_path: Path) -> None:
    opened = CliRunner().invoke(commands, ["keys", "open", "--index", str(tmp_path)])
    assert opened.exit_code == 0
    assert list(tmp_path.iterdir()) == []
    assert create_key_store(EmbeddedIndex(tmp_path)).get_door() == "new"


def check_open_access(access: Access) -> Caller | int:
    """Return the caller that is served without a key, or the reason for refusing."""
    try:
        return asyncio.run(access.identify_caller(""))
    except Problem as problem:
        return problem.status


@pytest.mark.parametrize("removed", ["revoked", "by hand"])
def test_after_its_first_key_a_server_stays_closed_until_it_is_opened(
    tmp_path: Path, removed: str
) -> None:
    access = Access(create_key_store(EmbeddedIndex(tmp_path)))
    assert check_open_access(access) == LOCAL
    key, text = access.keys.add(Key(id="", name="x"))
    assert check_open_access(access) == 401
    if removed == "revoked":
        assert access.keys.revoke(key.id)
    else:
        access.keys.database.execute("DELETE FROM keys")
    assert not access.keys.has_keys()
    assert check_open_access(access) == 401
    access.close()

    later = Access(create_key_store(EmbeddedIndex(tmp_path)))
    assert check_open_access(later) == 401
    with pytest.raises(Problem, match="unknown"):
        asyncio.run(later.identify_caller(text))
    later.keys.open_door()
    assert check_open_access(later) == LOCAL
    second, _ = later.keys.add(Key(id="", name="y"))
    later.keys.revoke(second.id)
    assert check_open_access(later) == 401
    later.close()


def test_keys_revoked_by_an_older_version_leave_a_server_closed(tmp_path: Path) -> None:
    access = Access(create_key_store(EmbeddedIndex(tmp_path)))
    database = access.keys.database
    database.execute("INSERT INTO gone(id) VALUES ('0123456789abcdef')")  # a conversation's
    assert check_open_access(access) == LOCAL
    database.execute("INSERT INTO gone(id) VALUES ('3d066515')")
    assert check_open_access(access) == 401
    access.keys.open_door()
    assert check_open_access(access) == LOCAL
    key, _ = access.keys.add(Key(id="", name="x"))
    database.execute("DELETE FROM doors")
    access.keys.revoke(key.id)
    assert access.keys.get_door() == "closed"
    access.close()


@pytest.mark.parametrize("option", ["--per-minute", "--tokens-per-day"])
def test_a_limit_of_a_key_that_no_database_holds_is_refused(tmp_path: Path, option: str) -> None:
    def add(limit: int) -> BaseException | None:
        arguments = ["keys", "add", "ana", option, str(limit), "--index", str(tmp_path)]
        return CliRunner().invoke(commands, arguments).exception

    assert [add(limit) for limit in (0, 10**15)] == [None, None]
    for limit in (10**15 + 1, 10**30 - 1):
        assert isinstance(error := add(limit), UsageError)
        assert str(error).startswith(f"{option} {limit}: choose from 0 to 1000000000000000; ")
    assert len(create_key_store(EmbeddedIndex(tmp_path)).list_keys()) == 2


@pytest.mark.parametrize("verdict", ["a question without a key", "one with it"])
@pytest.mark.parametrize("meanwhile", ["deleted", "replaced"])
def test_changes_to_the_key_file_never_open_a_running_server(
    tmp_path: Path, meanwhile: str, verdict: str
) -> None:
    access = Access(create_key_store(EmbeddedIndex(tmp_path)))
    key, text = access.keys.add(Key(id="", name="x"))
    if verdict == "one with it":
        assert asyncio.run(access.identify_caller(text)).key == key
    else:
        assert check_open_access(access) == 401
    (tmp_path / KEY_TABLES.file).unlink()
    if meanwhile == "replaced":
        assert create_key_store(EmbeddedIndex(tmp_path)).get_door() == "new"
        EmbeddedIndex(tmp_path).open_database(KEY_TABLES.file, KEY_TABLES.tables).execute(
            "SELECT 1"
        )
    assert check_open_access(access) == 401
    other = create_key_store(EmbeddedIndex(tmp_path))
    added, text = other.add(Key(id="", name="y"))
    other.close()
    assert asyncio.run(access.identify_caller(text)).key == added
    access.close()


def test_options_set_the_scopes_of_a_key(tmp_path: Path) -> None:
    index = ["--index", str(tmp_path)]
    options = ["--days", "0.5", "--per-minute", "6", "--tokens-per-day", "70", "--usd-per-day", "8"]
    added = CliRunner().invoke(commands, ["keys", "add", "ana", *options, "--json", *index])
    payload = json.loads(added.stdout)
    assert (payload["per_minute"], payload["tokens_per_day"], payload["usd_per_day"]) == (
        6,
        70,
        8.0,
    )
    lasts = datetime.fromisoformat(payload["expires"]) - datetime.fromisoformat(payload["created"])
    assert timedelta(hours=11.9) < lasts < timedelta(hours=12.1)


def test_a_key_that_expires_beyond_the_calendar_is_refused() -> None:
    with pytest.raises(UsageError, match="--days 1e\\+12: too many"):
        compute_expiry(1e12)


def test_a_limit_of_a_key_that_is_no_number_is_refused(tmp_path: Path) -> None:
    command_usd = ["keys", "add", "ana", "--usd-per-day", "inf", "--index", str(tmp_path)]
    refused = CliRunner().invoke(commands, command_usd).exception
    assert isinstance(refused, UsageError)
    assert str(refused) == "--usd-per-day inf: give a number; without it there is no limit"
    with pytest.raises(UsageError, match="--usd-per-day nan: give a number"):
        create_key_store(EmbeddedIndex(tmp_path)).add(Key(id="", name="x", usd_per_day=nan))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="--days nan: give a number"):
        compute_expiry(nan)
    for option in ("--days", "--usd-per-day", "--per-minute"):
        command = ["keys", "add", "ana", option, "nan", "--index", str(tmp_path)]
        assert CliRunner().invoke(commands, command).exit_code != 0


def test_the_budget_of_a_key_applies_to_its_questions(settings: Settings, key: KeyMaker) -> None:
    headers = key(tokens_per_day=0)
    with open_client(create_app(settings)) as client:
        reply = client.post("/api/v1/ask", json=ASK, headers=headers)
        assert reply.status_code == 429
        assert reply.json()["type"] == "urn:fathom:problem:budget_spent"
        assert 1 <= int(reply.headers["Retry-After"]) <= 24 * 3600 + 1  # the next day of UTC
        stream = client.post("/api/v1/ask/stream", json=ASK, headers=headers)
        assert stream.status_code == 429
        assert "Retry-After" in stream.headers


def test_requests_are_counted_outside_of_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = create_key_store(EmbeddedIndex(tmp_path / "index"))
    access = Access(keys)
    text = keys.add(Key(id="", name="x", scopes=frozenset({"read"}), per_minute=5))[1]
    counted: list[int] = []
    monkeypatch.setattr(access, "_count_request", lambda _: counted.append(get_ident()))

    caller = asyncio.run(access.identify_caller(text))

    assert caller.key is not None
    assert caller.key.name == "x"
    assert counted
    assert get_ident() not in counted
    access.close()
