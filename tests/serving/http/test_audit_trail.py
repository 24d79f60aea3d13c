"""The audit log of a real application: what each route writes, and what happens if it cannot."""

import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.serving.http.conftest import KeyMaker, open_client

from fathom import Engine
from fathom.serving.http.app import create_app
from fathom.serving.http.audit_log import AuditLine, AuditLog, ShownPlace, format_instant
from fathom.serving.http.audit_trail import UNWRITTEN
from fathom.serving.http.tables import AUDIT_TABLES
from fathom.settings import Settings

CANARY = "zebrafish"
QUESTION = "What does the aquarium of the mayor hold?"
TEXT = f"# Aquarium of the mayor\n\nThe aquarium of the mayor holds 12 {CANARY}.\n"
UPLOADED = f"# Pond of the clerk\n\nThe pond of the clerk holds 7 {CANARY}.\n"
SHOWING = {
    "GET /api/v1/answers/{trace_id}",
    "GET /api/v1/conversations/{conversation_id}",
    "GET /api/v1/documents/{document_id}/chunks",
    "GET /api/v1/documents/{document_id}/file",
    "GET /api/v1/documents/{document_id}/text",
    "GET /api/v1/traces/{trace_id}",
    "GET /v1/files/{file_id}/content",
    "GET /v1/responses/{response_id}",
    "GET /v1/vector_stores/{store_id}/files/{file_id}/content",
    "POST /api/v1/ask",
    "POST /api/v1/ask/stream",
    "POST /api/v1/lines",
    "POST /api/v1/search",
    "POST /api/v1/traces/{trace_id}/replay",
    "POST /v1/chat/completions",
    "POST /v1/responses",
    "POST /v1/vector_stores/{store_id}/search",
}
"""The routes whose replies have the word of the document; those of files and metadata have not."""


@pytest.fixture
def document(settings: Settings, tmp_path: Path) -> str:
    """Return the id of a document with a word that stands nowhere else."""
    file = tmp_path / "aquarium.md"
    file.write_text(TEXT)
    with Engine(settings) as engine:
        engine.ingest(file)
        return engine.documents.get(str(file)).id


@pytest.fixture
def server(settings: Settings, document: str) -> Iterator[TestClient]:
    del document  # it is ingested before the server starts
    with open_client(create_app(settings, audit_days=30)) as client:
        yield client


def list_lines(server: TestClient) -> list[AuditLine]:
    log: AuditLog = server.app.state.audit_log  # type: ignore[attr-defined]
    return list(log.list_lines())


def build_bodies() -> dict[str, dict[str, Any]]:
    """Return the bodies with which routes show documents."""
    turns = [{"role": "user", "content": "Hi"}, {"role": "user", "content": QUESTION}]
    return {
        "/api/v1/ask": {"question": QUESTION},
        "/api/v1/ask/stream": {"question": QUESTION},
        "/api/v1/search": {"query": QUESTION},
        "/api/v1/lines": {"texts": ["mayor holds"]},
        "/v1/chat/completions": {"model": "fathom", "messages": turns},
        "/v1/responses": {"model": "fathom", "input": QUESTION},
        "/v1/vector_stores/{store_id}/search": {"query": "What does the pond of the clerk hold?"},
    }


def upload_into_store(server: TestClient, headers: dict[str, str]) -> tuple[str, str]:
    """Return the ids of an uploaded file, and of a vector store with it, once it is ingested."""
    uploaded = server.post(
        "/v1/files",
        files={"file": ("pond.md", UPLOADED)},
        data={"purpose": "assistants"},
        headers=headers,
    )
    file = uploaded.json()["id"]
    store = server.post("/v1/vector_stores", json={"file_ids": [file]}, headers=headers).json()
    end = time.monotonic() + 60
    while server.get(f"/v1/files/{file}", headers=headers).json()["status"] == "uploaded":
        assert time.monotonic() < end
        time.sleep(0.05)
    return file, store["id"]


def test_every_route_that_shows_a_document_writes_one_line_that_names_it(
    server: TestClient, key: KeyMaker, document: str
) -> None:
    headers = key(scopes="read ingest admin", groups=frozenset({"*"}))
    file, store = upload_into_store(server, headers)
    talk = server.post("/api/v1/conversations", json={}, headers=headers).json()["id"]
    asked = {"question": QUESTION, "conversation": talk}
    trace = server.post("/api/v1/ask", json=asked, headers=headers).json()["trace_id"]
    names = {
        "document_id": document,
        "trace_id": trace,
        "conversation_id": talk,
        "response_id": f"resp_{trace}",
        "file_id": file,
        "store_id": store,
        "page": "1",
    }
    showing, bodies = set(), build_bodies()
    for template, operations in (
        server.get("/openapi.json", headers=headers).json()["paths"].items()
    ):
        path = re.sub(r"\{(\w+)\}", lambda match: names.get(match[1], "none"), template)
        for method in operations:
            if method == "delete":
                continue
            before = len(list_lines(server))
            reply = server.request(method, path, json=bodies.get(template, {}), headers=headers)
            new = list_lines(server)[before:]
            if CANARY not in reply.text:
                assert len(new) <= 1
                continue
            showing.add(f"{method.upper()} {template}")
            [line] = new
            assert (line.name, line.groups, line.status) == ("test", ("*",), 200)
            assert {document, file} & {place.document for place in line.shown.places}, template
            assert CANARY not in str(line)
            if template in bodies:
                assert "?" in str(line.asked) or "mayor" in str(line.asked)
    assert showing == SHOWING


def test_a_short_answer_writes_the_document_that_it_quotes(
    server: TestClient, document: str
) -> None:
    reply = server.post("/api/v1/ask", json={"question": QUESTION, "brief": True}).json()
    [quote], [line] = reply["quotes"], list_lines(server)
    assert CANARY in quote["quote"]
    assert line.shown.answers == (reply["trace_id"],)
    [place] = line.shown.places
    assert place == ShownPlace(document, quote["start"], quote["end"])


def test_a_short_answer_of_a_tool_names_the_stored_answer(server: TestClient) -> None:
    questions = [QUESTION, "Who is Queen of Mars?"]
    parameters = {"name": "ask", "arguments": {"question": questions}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
    accept = {"Accept": "application/json, text/event-stream"}
    reply = server.post("/mcp", json=call, headers=accept).json()["result"]["structuredContent"]
    traces = [answer["trace_id"] for answer in reply["answers"]]
    assert [answer["status"] for answer in reply["answers"]] == ["answered", "abstained"]
    assert list_lines(server)[-1].shown.answers == tuple(traces)
    stored = [server.get(f"/api/v1/answers/{trace}").json() for trace in traces]
    assert [answer["question"] for answer in stored] == questions
    assert server.post(f"/api/v1/traces/{traces[0]}/replay").json()["same"]


def test_a_stream_and_a_tool_write_what_they_show(server: TestClient, document: str) -> None:
    turns = [{"role": "user", "content": QUESTION}]
    body = {"model": "fathom", "messages": turns, "stream": True}
    assert CANARY in server.post("/v1/chat/completions", json=body).text
    arguments = {"query": QUESTION}
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "search", "arguments": arguments},
    }
    accept = {"Accept": "application/json, text/event-stream"}
    assert CANARY in server.post("/mcp", json=call, headers=accept).text
    resource = {"uri": f"fathom://documents/{document}"}
    reading = {**call, "method": "resources/read", "params": resource}
    assert CANARY in server.post("/mcp", json=reading, headers=accept).text
    server.post("/mcp", json={**call, "method": "tools/list", "params": {}}, headers=accept)
    streamed, searched, read = list_lines(server)
    assert (streamed.route, streamed.asked) == ("POST /v1/chat/completions", {"question": QUESTION})
    assert len(streamed.shown.answers) == 1
    assert searched.asked == {"method": "tools/call", "params": call["params"]}
    for line in (streamed, searched, read):
        assert document in {place.document for place in line.shown.places}


def test_the_case_of_a_media_type_hides_no_question(server: TestClient) -> None:
    for kind in ("application/JSON", "APPLICATION/JSON; charset=utf-8", "application/Fathom+Json"):
        body = json.dumps({"query": QUESTION})
        reply = server.post("/api/v1/search", content=body, headers={"Content-Type": kind})
        assert CANARY in reply.text
        assert list_lines(server)[-1].asked == {"query": QUESTION}, kind


def test_refused_requests_are_written_and_unknown_callers_are_not(
    server: TestClient, key: KeyMaker, document: str
) -> None:
    writer = key(scopes="ingest")
    assert server.get(f"/api/v1/documents/{document}", headers=writer).status_code == 403
    assert server.get("/api/v1/documents/none/text", headers=key(scopes="read")).status_code == 404
    assert server.get(f"/api/v1/documents/{document}").status_code == 401
    assert [(line.status, line.shown.places) for line in list_lines(server)] == [
        (403, ()),
        (404, ()),
    ]


def test_routes_without_documents_write_nothing(server: TestClient) -> None:
    paths = server.get("/openapi.json").json()["paths"]
    for template in UNWRITTEN:
        assert template in paths
        reply = server.get(re.sub(r"\{\w+\}", "none", template))
        assert CANARY not in reply.text
    for path in ("/", "/healthz", "/metrics", "/api/v1/nowhere"):
        server.get(path)
    assert list_lines(server) == []


def test_an_administrator_lists_the_lines_of_the_own_workspace(
    server: TestClient, key: KeyMaker
) -> None:
    root = key(scopes="read admin", groups=frozenset({"*"}))
    server.post("/api/v1/search", json={"query": QUESTION}, headers=root)
    server.post("/api/v1/search", json={"query": "theirs"}, headers=key(workspace="law"))
    reply = server.get("/api/v1/audit", params={"key": "test", "limit": 1}, headers=root).json()
    [line] = reply["lines"]
    assert (line["asked"], reply["next"]) == ({"query": QUESTION}, None)
    law = key(scopes="admin", workspace="law")
    assert "aquarium" not in server.get("/api/v1/audit", headers=law).text
    assert server.get("/api/v1/audit", headers=key(scopes="read")).status_code == 403
    assert server.get("/api/v1/audit?since=soon", headers=root).status_code == 400


def test_pages_of_the_log_leave_no_slow_request_out(server: TestClient) -> None:
    log: AuditLog = server.app.state.audit_log  # type: ignore[attr-defined]
    now = datetime.now(UTC)
    for minute in (2, 3, 1):  # in the order of the replies
        requested = format_instant(now + timedelta(minutes=minute))
        log.add(AuditLine(requested=requested, asked=minute))
    since: str | None = format_instant(now)
    asked = list[Any]()
    while since is not None:
        page = server.get("/api/v1/audit", params={"since": since, "limit": 1}).json()
        asked += [line["asked"] for line in page["lines"]]
        since = page["next"]
    assert asked == [1, 2, 3]


@pytest.fixture
def spoil(settings: Settings) -> Callable[[], None]:
    """Return a function after which no line can be stored, though the file can be opened."""

    def spoil() -> None:
        file = settings.index.directory / AUDIT_TABLES.file
        with sqlite3.connect(file) as connection:
            connection.execute(
                "CREATE TRIGGER full BEFORE INSERT ON audit "
                "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
            )
            connection.execute(
                "CREATE TRIGGER full_too BEFORE INSERT ON audit_shown "
                "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
            )
        connection.close()

    return spoil


def test_nothing_is_shown_without_a_line(
    server: TestClient,
    document: str,
    spoil: Callable[[], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.post("/api/v1/search", json={"query": "first"})
    spoil()
    asked = {"question": QUESTION}
    replies = [
        server.post("/api/v1/search", json={"query": QUESTION}),
        server.post("/api/v1/ask", json=asked),
        server.post("/api/v1/ask/stream", json=asked),
        server.get(f"/api/v1/documents/{document}/file"),
    ]
    for reply in replies:
        assert (reply.status_code, reply.json()["title"]) == (503, "audit failed")
        assert reply.headers["Retry-After"]
        assert CANARY not in reply.text
    assert caplog.text.count("not in the audit log: ") == len(replies)
    assert "the disk is full" in caplog.text
    assert server.get("/api/v1/status").status_code == 200
    assert len(list_lines(server)) == 1


def test_a_stream_ends_where_its_documents_cannot_be_written(
    server: TestClient, settings: Settings, spoil: Callable[[], None]
) -> None:
    server.post("/api/v1/search", json={"query": "first"})
    spoil()
    with sqlite3.connect(settings.index.directory / AUDIT_TABLES.file) as connection:
        connection.execute("DROP TRIGGER full")
    connection.close()
    reply = server.post("/api/v1/ask/stream", json={"question": QUESTION})
    assert reply.status_code == 200
    assert "event: plan" in reply.text
    assert reply.text.rstrip().splitlines()[-2] == "event: error"
    assert "audit_failed" in reply.text
    assert CANARY not in reply.text


def test_a_server_without_an_audit_log_writes_nothing(settings: Settings, document: str) -> None:
    with open_client(create_app(settings)) as client:
        assert client.get(f"/api/v1/documents/{document}/text").status_code == 200
        assert client.get("/api/v1/audit").json() == {"lines": [], "next": None}
    assert not (settings.index.directory / AUDIT_TABLES.file).exists()


def test_hostile_bodies_make_no_long_lines(server: TestClient) -> None:
    deep: Any = "x" * 5_000
    for _ in range(300):
        deep = [deep]
    bodies: list[Any] = [
        deep,
        {"question": deep},
        {"texts": ["y" * 900] * 3_000},
        {"filters": {}},
        [],
    ]
    for body in bodies:
        assert server.post("/api/v1/ask", json=body).status_code == 422
    half = b'{"question": "\\ud800 and \\u0000"}'
    kind = {"Content-Type": "application/json"}
    assert server.post("/api/v1/ask", content=half, headers=kind).status_code in {200, 422}
    long = server.get("/api/v1/documents", params={"start": "9" * 5_000, "end": "\u0663"})
    assert long.status_code == 200
    assert max(len(str(line.asked)) for line in list_lines(server)) < 25_000
    assert len(list_lines(server)) == len(bodies) + 2
