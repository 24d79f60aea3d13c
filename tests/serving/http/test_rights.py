"""Rights of documents on the server: each key reads what its holder may, and nothing else."""

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from benchmarks.rights import Plan, RightsCounts, run_probes
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from tests.postgres_server import Server
from tests.serving.http.conftest import ADDRESS, KeyMaker

from fathom import Engine
from fathom.index.engines import EmbeddedIndex
from fathom.index.rights import ReadingRule
from fathom.serving.http import api, document_routes
from fathom.serving.http.app import create_app
from fathom.serving.http.dependencies import OPEN_TO_VIEWERS
from fathom.settings import Settings

CANARY = "zebrafish"
PROBES = int(os.environ.get("RIGHTS_PROBES", "20_000"))
SEED = int(os.environ.get("SEED", "0"))
WITHOUT_DOCUMENTS = {"/metrics", "/healthz", "/readyz", "/api/v1/session"}
QUESTION = "What does the aquarium of the mayor hold?"
HIDDEN = f"# Aquarium of the mayor\n\nThe aquarium of the mayor holds 12 {CANARY}.\n"


@pytest.fixture
def hidden(settings: Settings, tmp_path: Path) -> str:
    """Return the id of a document that only the group of keepers may read."""
    file = tmp_path / "aquarium.md"
    file.write_text(HIDDEN)
    with Engine(settings) as engine:
        engine.ingest(file, rights=[ReadingRule("*aquarium*", ("keepers",))])
        return engine.documents.get(str(file)).id


@pytest.fixture
def server(settings: Settings, hidden: str) -> Iterator[TestClient]:
    with TestClient(create_app(settings), base_url=ADDRESS) as client:
        yield client


def set_rights(settings: Settings, rules: Sequence[ReadingRule]) -> None:
    with EmbeddedIndex(settings.index.directory).open_writer(None) as writer:
        writer.set_rights(rules)


def read_all(server: TestClient, headers: dict[str, str], hidden: str) -> str:
    """Return all that the routes for viewers say about the hidden document."""
    document = f"/api/v1/documents/{hidden}"
    replies = [
        server.post("/api/v1/search", json={"query": QUESTION, "k": 50}, headers=headers),
        server.post("/api/v1/search", json={"query": QUESTION, "chars": 900}, headers=headers),
        server.post("/api/v1/lines", json={"texts": [CANARY]}, headers=headers),
        server.post("/api/v1/ask", json={"question": QUESTION}, headers=headers),
        server.post("/api/v1/ask", json={"question": QUESTION, "brief": True}, headers=headers),
        server.post("/api/v1/ask/stream", json={"question": QUESTION}, headers=headers),
        *(server.get(path, headers=headers) for path in (document, f"{document}/text")),
        server.get(f"{document}/chunks", headers=headers),
        server.get("/api/v1/documents?limit=1000", headers=headers),
        server.get("/api/v1/status", headers=headers),
    ]
    return "\n".join(reply.text for reply in replies).replace(hidden, "ID").replace(QUESTION, "Q")


def test_a_key_reads_what_its_groups_may(
    server: TestClient, settings: Settings, key: KeyMaker, hidden: str
) -> None:
    keeper = key(scopes="read", groups=frozenset({"keepers"}))
    other = key(scopes="read", groups=frozenset({"sailors"}))
    whole = key(scopes="read", groups=frozenset({"*"}))
    for headers in (keeper, whole):
        assert read_all(server, headers, hidden).count(CANARY) >= 8
    for headers, status in ((keeper, 200), (other, 404)):
        for more in ("", "/text", "/chunks"):
            reply = server.get(f"/api/v1/documents/{hidden}{more}", headers=headers)
            assert reply.status_code == status
    texts = read_all(server, other, hidden)
    assert CANARY not in texts
    assert "aquarium" not in texts
    total = [
        server.get("/api/v1/documents", headers=headers).json()["total"]
        for headers in (whole, keeper, other)
    ]
    assert total == [5, 5, 4]
    status = server.get("/api/v1/status", headers=other).json()["index"]
    assert (status["documents"], status["bytes_on_disk"]) == (4, {})
    # A right that is withdrawn is gone with the next request.
    set_rights(settings, [ReadingRule("*aquarium*", ("user:nobody",))])
    assert CANARY not in read_all(server, keeper, hidden)
    assert CANARY in read_all(server, whole, hidden)
    set_rights(settings, [ReadingRule("*aquarium*", ("user:test",))])
    assert CANARY in read_all(server, other, hidden)
    set_rights(settings, [])
    assert CANARY in read_all(server, other, hidden)


def test_a_key_without_groups_reads_what_everybody_may(
    server: TestClient, key: KeyMaker, hidden: str
) -> None:
    assert CANARY not in read_all(server, key(scopes="read ingest curate admin"), hidden)


def test_a_viewer_reaches_nothing_that_the_workspace_shares(
    server: TestClient, key: KeyMaker, hidden: str
) -> None:
    whole = key(scopes="read", groups=frozenset({"*"}))
    viewer = key(scopes="read ingest curate admin", groups=frozenset({"sailors"}))
    asked = {"question": QUESTION}
    kept = server.post(
        "/api/v1/ask", json=asked, headers={**whole, "Idempotency-Key": "one"}
    ).json()
    assert kept["trace_id"]
    shared: list[tuple[dict[str, str], dict[str, str]]] = [
        ({**asked, "conversation": "abc"}, {}),
        (asked, {"Idempotency-Key": "one"}),
    ]
    for body, more in shared:
        refused = server.post("/api/v1/ask", json=body, headers={**viewer, **more})
        assert refused.status_code == 403
        assert CANARY not in refused.text
    reply = server.post("/api/v1/ask", json=asked, headers=viewer).json()
    assert reply["trace_id"] is None
    tried = 0
    open_routes = {(method, route.replace(":path}", "}")) for method, route in OPEN_TO_VIEWERS}
    for template, operations in server.get("/openapi.json", headers=whole).json()["paths"].items():
        # Records are asked for by the id of one that holds the hidden text.
        name = kept["trace_id"] if "traces" in template or "answers" in template else hidden
        path = re.sub(r"\{\w+\}", name, template).replace(f"pages/{hidden}", "pages/1")
        for method in operations:
            if (method.upper(), template) in open_routes or template in WITHOUT_DOCUMENTS:
                continue
            reply = server.request(method, path, json={}, headers=viewer)
            tried += 1
            assert CANARY not in reply.text, (method, path)
            is_open = template.startswith("/v1/models") or reply.status_code == 422
            if template.startswith(("/api/v1", "/v1")) and not is_open:
                assert reply.status_code == 403, (method, path, reply.text)
    assert tried > 40
    assert server.get(f"/api/v1/documents/{hidden}", headers=whole).status_code == 200


def test_every_route_that_is_open_to_viewers_exists() -> None:
    routes = [*api.router.routes, *document_routes.router.routes]
    paths = {
        (method, route.path)
        for route in routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    assert paths >= OPEN_TO_VIEWERS


def test_users_and_withdrawn_rights_by_chance() -> None:
    check_probes(Plan(users=6, groups=12, documents=50, probes=250, withdrawals=20), seed=1)


def test_users_and_withdrawn_rights_of_a_database_by_chance(postgres: Server) -> None:
    plan = Plan(users=6, groups=12, documents=50, probes=250, withdrawals=20)
    check_probes(plan, seed=2, url=postgres.open_database())


@pytest.mark.slow
def test_fifty_users_and_two_thousand_documents(count_probes: Callable[[int], None]) -> None:
    count_probes(check_probes(Plan(probes=PROBES), seed=SEED).probes)


def check_probes(plan: Plan, *, seed: int = 0, url: str = "") -> RightsCounts:
    counts = run_probes(plan, seed=seed, url=url)
    assert counts.leaks == []
    assert counts.shown > plan.probes  # what somebody may read is shown
    assert counts.withdrawals >= plan.withdrawals
    assert not [status for status in counts.statuses if status >= 500]
    return counts


def test_the_tools_for_agents_are_limited_too(
    server: TestClient, key: KeyMaker, hidden: str
) -> None:
    def call(name: str, arguments: dict[str, object], headers: dict[str, str]) -> str:
        request = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        }
        accept = {"Accept": "application/json, text/event-stream"}
        reply = server.post("/mcp", json=request, headers={**headers, **accept})
        return json.dumps(reply.json())

    calls: list[tuple[str, dict[str, object]]] = [
        ("search", {"query": "aquarium"}),
        ("grep", {"text": CANARY[:5]}),
        ("list_documents", {}),
        ("get_document", {"id": hidden}),
        ("get_outline", {"id": hidden}),
    ]
    whole = key(scopes="read", groups=frozenset({"*"}))
    other = key(scopes="read")
    for name, arguments in calls:
        assert "quarium" in call(name, arguments, whole), name
        texts = call(name, arguments, other).replace(json.dumps(arguments)[1:-1], "")
        assert "aquarium." not in texts, name
        assert CANARY not in texts, name
