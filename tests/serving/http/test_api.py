"""The native API: `fathom.serving.http.api` with its parts fathom.serving.http.events,
fathom.serving.http.question_runner, fathom.serving.http.dependencies,
fathom.serving.http.health, fathom.serving.http.metrics; and the mount of
fathom.serving.http.openai.
"""

import errno
import json
import re
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from tests.foreign_packages import add_to_path, install
from tests.serving.http.conftest import KeyMaker, make_settings, open_client

from fathom import Engine
from fathom.config import parse_settings
from fathom.serving.http import report_routes
from fathom.serving.http.app import create_app
from fathom.serving.http.problems import build_problem
from fathom.text import analyzer

QUESTION = "Where is bitumen emulsion stored?"
UNANSWERABLE = "Which river runs through the capital of Mars?"
WEAK = "How thick must the asphalt of a bicycle path be?"


def parse_events(text: str) -> list[tuple[str, str]]:
    """Return the events of a stream: name and data."""
    events = []
    for frame in text.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in frame.split("\n") if not line.startswith(":"))
        if lines:
            events.append((lines["event"], lines["data"]))
    return events


def ask_streaming(client: TestClient, **body: Any) -> list[tuple[str, str]]:
    reply = client.post("/api/v1/ask/stream", json={"question": QUESTION, **body})
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert reply.headers["x-accel-buffering"] == "no"
    return parse_events(reply.text)


def ask(client: TestClient, **body: Any) -> dict[str, Any]:
    reply = client.post("/api/v1/ask", json={"question": QUESTION, **body})
    assert reply.status_code == 200, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def test_a_question_is_answered_with_a_verbatim_quote(
    client: TestClient,
) -> None:
    answer = ask(client)
    assert answer["status"] == "answered"
    assert "Depot North, bay 5" in answer["answer"]
    cited = answer["citations"][0]
    place = f"/api/v1/documents/{cited['document']}/text"
    text = client.get(place, params={"start": cited["start"], "end": cited["end"]}).text
    assert text == cited["quote"]


def test_a_question_that_the_documents_do_not_answer_is_a_normal_reply(client: TestClient) -> None:
    answer = ask(client, question=UNANSWERABLE)
    assert answer["status"] == "abstained"
    assert answer["stop_reason"] in {"no_evidence", "low_confidence", "missing_anchor"}


def test_a_question_may_be_asked_as_a_paper(client: TestClient) -> None:
    assert ask(client, paper="mao")["strategy"] == "mao"
    plan = ask_streaming(client, paper="mao")[0]
    assert json.loads(plan[1])["strategy"] == "mao"
    assert "maf" in client.get("/api/v1/strategies").json()["papers"]
    refused = client.post("/api/v1/ask", json={"question": QUESTION, "paper": "mafia"})
    assert refused.status_code == 400
    assert "there is no paper 'mafia'" in refused.json()["detail"]


def test_a_weak_answer_is_tentative_wherever_it_is_shown(corpus: Path, tmp_path: Path) -> None:
    settings = make_settings(corpus, tmp_path, **{"ask.caution": "eager"})
    with open_client(create_app(settings)) as eager:
        begun = eager.post("/api/v1/conversations", json={}).json()["id"]
        final = json.loads(ask_streaming(eager, question=WEAK, conversation=begun)[-1][1])
        assert (final["status"], final["tentative"]) == ("answered", True)
        assert final["answer"]
        assert all(citation["verified"] for citation in final["citations"])
        assert eager.get(f"/api/v1/answers/{final['trace_id']}").json() == final
        (turn,) = eager.get(f"/api/v1/conversations/{begun}").json()["turns"]
        assert turn["answer"] == final
        assert eager.get("/api/v1/traces").json()["traces"][0]["status"] == "tentative"
        assert eager.post(f"/api/v1/traces/{final['trace_id']}/replay").json()["same"]
        body = {"model": "fathom", "messages": [{"role": "user", "content": WEAK}]}
        chat = eager.post("/v1/chat/completions", json=body).json()
        assert chat["choices"][0]["message"]["content"].startswith("*Not sure:*")
        assert chat["fathom"]["tentative"] is True
        assert 'status="answered",stop="tentative"' in eager.get("/metrics").text


@pytest.mark.parametrize("question", [QUESTION, UNANSWERABLE])
@pytest.mark.parametrize("strategy", ["naive", "anchor"])
def test_streamed_stored_and_reloaded_answers_are_the_same_bytes(
    client: TestClient, question: str, strategy: str
) -> None:
    events = ask_streaming(client, question=question, strategy=strategy)
    name, final = events[-1]
    assert name == "final"
    trace_id = json.loads(final)["trace_id"]
    stored = client.get(f"/api/v1/answers/{trace_id}")
    assert stored.content == final.encode()
    assert client.get(f"/api/v1/answers/{trace_id}").content == stored.content
    replied = client.post("/api/v1/ask", json={"question": question, "strategy": strategy})
    reloaded = client.get(f"/api/v1/answers/{replied.json()['trace_id']}")
    assert reloaded.content == replied.content
    again = client.post(f"/api/v1/traces/{trace_id}/replay").json()
    assert again["same"] is True


def test_a_stream_reports_the_plan_the_steps_their_findings_and_the_answer(
    client: TestClient,
) -> None:
    events = ask_streaming(client)
    names = [name for name, _ in events]
    assert names[0] == "plan"
    assert names[-2:] == ["usage", "final"]
    steps = [json.loads(data) for name, data in events if name == "step"]
    began = {step["id"]: step for step in steps if step["state"] == "began"}
    ended = {step["id"]: step for step in steps if step["state"] == "ended"}
    assert began.keys() == ended.keys()
    assert len(steps) == 2 * len(began)
    assert [step["name"] for step in began.values()] == [
        "search",
        "read",
        "calculate",
        "plan",
        "finalize",
    ]
    assert all(step["news"] and step["seconds"] >= 0 for step in ended.values())
    payload = json.loads(next(data for name, data in events if name == "hits"))
    assert began[payload["step"]]["name"] == "search"
    best = payload["hits"][0]
    assert best["document"] == json.loads(events[-1][1])["citations"][0]["document"]
    assert {"path", "title", "section", "page", "start", "end", "text", "score"} <= best.keys()
    cited = [json.loads(data) for name, data in events if name == "citation"]
    assert cited == json.loads(events[-1][1])["citations"]


def test_a_repeated_step_begins_and_ends_under_the_id_that_its_trace_has(
    client: TestClient,
) -> None:
    events = ask_streaming(client, strategy="mao")
    steps = [json.loads(data) for name, data in events if name == "step"]
    began, ended = (
        {step["id"]: step["parent"] for step in steps if step["state"] == state}
        for state in ("began", "ended")
    )
    trace = client.get(f"/api/v1/traces/{json.loads(events[-1][1])['trace_id']}").json()
    recorded = [line for line in trace["lines"] if line["record"] == "step"]
    assert began == ended == {line["id"]: line.get("parent", "") for line in recorded}
    assert len(steps) == 2 * len(recorded)
    assert any(id_.endswith("#2") for id_ in began)


def test_a_follow_up_is_reported_as_the_question_it_stands_for(client: TestClient) -> None:
    begun = client.post("/api/v1/conversations", json={}).json()["id"]
    ask(client, question="What is the monthly pay of an apprentice?", conversation=begun)
    events = ask_streaming(client, question="And in the second year?", conversation=begun)
    plans = [json.loads(data) for name, data in events if name == "plan"]
    final = json.loads(events[-1][1])
    assert "standalone" not in plans[0]
    assert plans[-1]["standalone"] == final["standalone_question"] != "And in the second year?"


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"question": "  "}, 400, "bad_request"),
        ({}, 422, "invalid"),
        ({"question": QUESTION, "strategy": "none-such"}, 400, "bad_request"),
        ({"question": QUESTION, "filters": ["year"]}, 400, "bad_request"),
        ({"question": QUESTION, "conversation": "none"}, 404, "conversation_missing"),
        ({"question": QUESTION, "budget": {"deadline": -1}}, 422, "invalid"),
        ({"question": QUESTION, "workspace": "other"}, 422, "invalid"),
        ({"question": "x" * 30_000}, 422, "invalid"),
        ({"question": "\ud800"}, 422, "invalid"),
        ({"question": QUESTION, "filters": ["\ud800"]}, 400, "bad_request"),
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/ask", "/api/v1/ask/stream"])
def test_a_possible_failure_has_its_status_before_a_stream_begins(
    client: TestClient, path: str, body: dict[str, Any], status: int, kind: str
) -> None:
    reply = client.post(
        path, content=json.dumps(body), headers={"Content-Type": "application/json"}
    )
    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/problem+json"
    problem = reply.json()
    assert problem["status"] == status
    assert problem["type"] == f"urn:fathom:problem:{kind}"
    assert problem["detail"]


def test_a_body_that_is_not_json_is_reported_with_the_place(client: TestClient) -> None:
    reply = client.post(
        "/api/v1/ask", content='{"question": why}', headers={"Content-Type": "application/json"}
    )
    assert reply.status_code == 422
    assert reply.json()["detail"] == "the body is not JSON at character 13"


def test_strategies_of_other_packages_are_listed_too(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = {"fathom.strategies": {"echo": "echoing:Echo"}}
    add_to_path(install(tmp_path, name="echoing", groups=groups, files={}), monkeypatch)
    strategies = client.get("/api/v1/strategies").json()["strategies"]
    assert strategies[-1] == {"name": "echo", "description": ""}


def test_a_stored_answer_is_gone_with_its_document(fresh_client: TestClient) -> None:
    headers = {"Idempotency-Key": "one"}
    first = fresh_client.post("/api/v1/ask", json={"question": QUESTION}, headers=headers)
    assert (
        fresh_client.post("/api/v1/ask", json={"question": QUESTION}, headers=headers).text
        == first.text
    )
    cited = first.json()["citations"][0]
    fresh_client.delete(f"/api/v1/documents/{cited['document']}")
    again = fresh_client.post("/api/v1/ask", json={"question": QUESTION}, headers=headers)
    assert cited["quote"] not in again.text


def test_a_budget_lowers_the_limits_of_the_effort_and_never_raises_them(client: TestClient) -> None:
    small = ask(client, budget={"max_tokens": 5, "max_calls": 0, "deadline": 9})
    assert small["budget"]["tokens"] == 5
    assert small["budget"]["seconds"] == 9
    large = ask(client, effort="low", budget={"max_tokens": 10**9})
    assert large["budget"]["tokens"] == 10_000
    assert large["budget"]["retrievals"] == 6


def test_a_search_gives_hits_with_their_places(client: TestClient) -> None:
    body = client.post("/api/v1/search", json={"query": "bitumen emulsion", "k": 3}).json()
    assert [hit["rank"] for hit in body["hits"]] == [1, 2, 3]
    assert body["hits"][0]["title"] == "Road Repair Handbook"


def test_a_search_with_a_number_of_characters_gives_short_excerpts(client: TestClient) -> None:
    body = client.post("/api/v1/search", json={"query": "bitumen emulsion", "chars": 300}).json()
    assert list(body) == ["query", "hits", "hits_left", "chars_left"]
    assert sum(len(hit["at"] + hit["name"] + hit["text"]) for hit in body["hits"]) <= 300
    assert "emulsion" in body["hits"][0]["text"]


def test_an_answer_in_brief_has_few_fields_and_is_repeated_by_its_key(client: TestClient) -> None:
    headers = {"Idempotency-Key": "brief"}
    asked = {"question": QUESTION, "brief": True}
    answer = client.post("/api/v1/ask", json=asked, headers=headers).json()
    assert answer["status"] == "answered"
    assert "Depot North, bay 5" in answer["answer"]
    assert answer["quotes"][0]["at"].rpartition(":")[2].isdecimal()
    assert client.post("/api/v1/ask", json=asked, headers=headers).json() == answer
    whole = client.get(f"/api/v1/answers/{answer['trace_id']}").json()
    assert whole["citations"][0]["quote"] == answer["quotes"][0]["quote"]
    refused = ask(client, question=UNANSWERABLE, brief=True)
    assert (refused["status"], "answer" in refused) == ("abstained", False)
    assert refused["nearest"][0]["text"]
    assert "warnings" not in refused
    misspelt = ask(client, question=QUESTION, brief=True, filters=["yaer=2020"])
    assert "yaer" in misspelt["warnings"][0]
    assert misspelt["warnings"] == ask(client, question=QUESTION, filters=["yaer=2020"])["warnings"]
    assert client.post("/api/v1/ask/stream", json=asked).status_code == 422


def test_the_lines_that_hold_a_text_come_with_their_places(client: TestClient) -> None:
    body = {"texts": ["(a+)+$", "depot north, BAY 5"]}
    listed = client.post("/api/v1/lines", json=body).json()
    assert not listed["has_more"]
    assert all("Depot North, bay 5" in line["text"] for line in listed["lines"])
    assert listed["lines"][0]["at"].rpartition(":")[2].isdecimal()
    exact = client.post("/api/v1/lines", json={**body, "match_case": True}).json()
    assert exact == {"lines": [], "has_more": False}
    refused: list[dict[str, Any]] = [
        {"texts": []},
        {"texts": [""]},
        {**body, "documents": ["nowhere.md"]},
    ]
    for wrong in refused:
        reply = client.post("/api/v1/lines", json=wrong)
        assert reply.status_code in {400, 422}, wrong


def test_strategies_are_listed_with_a_description_and_the_limits_of_efforts(
    client: TestClient,
) -> None:
    body = client.get("/api/v1/strategies").json()
    assert {"naive", "adaptive"} <= {strategy["name"] for strategy in body["strategies"]}
    assert all(strategy["description"] for strategy in body["strategies"])
    assert body["efforts"]["low"]["tokens"] < body["efforts"]["high"]["tokens"]


def test_a_trace_is_listed_and_shown(client: TestClient) -> None:
    trace_id = ask(client)["trace_id"]
    listed = client.get("/api/v1/traces", params={"limit": 1}).json()["traces"]
    assert [trace["id"] for trace in listed] == [trace_id]
    assert client.get(f"/api/v1/traces/{trace_id}").json()["id"] == trace_id
    assert client.get("/api/v1/answers/0000").status_code == 404


def test_feedback_is_stored_and_used(fresh_client: TestClient) -> None:
    trace_id = ask(fresh_client)["trace_id"]
    neither = fresh_client.post("/api/v1/feedback", json={"trace_id": trace_id})
    assert neither.status_code == 400
    body = {"trace_id": trace_id, "correct": True, "note": "as in the handbook"}
    reply = fresh_client.post("/api/v1/feedback", json=body)
    assert reply.status_code == 201
    assert reply.json() == {"trace_id": trace_id, "said": "right", "again": True}
    assert ask(fresh_client)["phase"] == "verified"


def ask_with_key(client: TestClient, headers: dict[str, str]) -> dict[str, Any]:
    body = {"question": QUESTION}
    answer: dict[str, Any] = client.post("/api/v1/ask", json=body, headers=headers).json()
    return answer


def test_feedback_under_a_read_only_key_changes_nothing_for_others(
    fresh_client: TestClient, key: KeyMaker
) -> None:
    reads, curates = key(scopes="read"), key(scopes="read curate")
    first = ask_with_key(fresh_client, reads)
    feedback = {"trace_id": first["trace_id"]}

    def send_feedback(headers: dict[str, str], **fields: Any) -> tuple[int, dict[str, Any]]:
        reply = fresh_client.post("/api/v1/feedback", json={**feedback, **fields}, headers=headers)
        return reply.status_code, reply.json()

    status, problem = send_feedback(reads, answer="Depot North, bay 5")
    assert status == 403
    assert "curate" in problem["detail"]
    assert send_feedback(reads, correct=True) == (
        201,
        {**feedback, "said": "right", "again": False},
    )
    assert ask_with_key(fresh_client, reads)["phase"] != "verified"

    assert send_feedback(curates, correct=True)[1]["again"]
    second = ask_with_key(fresh_client, reads)
    assert second["phase"] == "verified"
    status, problem = send_feedback(reads, correct=False)
    assert status == 409
    assert problem["type"] == "urn:fathom:problem:judged_already"
    wrong = {"trace_id": second["trace_id"], "correct": False}
    assert fresh_client.post("/api/v1/feedback", json=wrong, headers=reads).status_code == 201
    assert ask_with_key(fresh_client, reads)["phase"] == "verified"
    assert fresh_client.post("/api/v1/feedback", json=wrong, headers=curates).status_code == 201
    assert ask_with_key(fresh_client, reads)["phase"] != "verified"


@pytest.mark.parametrize("scopes", ["read ingest", "read curate", "read admin"])
def test_a_correction_must_answer_the_question_whoever_sends_it(
    fresh_client: TestClient, key: KeyMaker, scopes: str
) -> None:
    headers = key(scopes=scopes)
    feedback = {"trace_id": ask_with_key(fresh_client, headers)["trace_id"]}
    for planted in ("48 hours", "hand rammer"):
        body = {**feedback, "answer": planted}
        refused = fresh_client.post("/api/v1/feedback", json=body, headers=headers)
        assert refused.status_code == 400
        assert "but not as an answer to 'Where is bitumen emulsion stored?'" in refused.text
    assert ask_with_key(fresh_client, headers)["phase"] != "verified"
    body = {**feedback, "answer": "Depot North, bay 5"}
    reply = fresh_client.post("/api/v1/feedback", json=body, headers=headers)
    assert reply.status_code == 201
    assert reply.json()["again"]
    assert ask_with_key(fresh_client, headers)["phase"] == "verified"


def test_a_correction_may_cite_a_table(fresh_client: TestClient) -> None:
    question = "What is the late fee per day for a film?"
    answer = fresh_client.post("/api/v1/ask", json={"question": question}).json()
    body = {"trace_id": answer["trace_id"], "answer": "0.50 crowns"}
    assert fresh_client.post("/api/v1/feedback", json=body).status_code == 201


def test_a_repeated_request_with_an_idempotency_key_is_done_once(client: TestClient) -> None:
    headers = {"Idempotency-Key": "one"}
    first = client.post("/api/v1/ask", json={"question": QUESTION}, headers=headers)
    again = client.post("/api/v1/ask", json={"question": QUESTION}, headers=headers)
    assert first.content == again.content
    other = client.post("/api/v1/ask", json={"question": UNANSWERABLE}, headers=headers)
    assert other.status_code == 422


def test_the_server_reports_its_health_its_state_and_its_metrics(client: TestClient) -> None:
    ask(client, strategy="naive")
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    # Probes of uptime ask without wanting a body.
    for path in ("/", "/healthz", "/readyz", "/page/style.css"):
        assert client.head(path).headers["content-length"] == str(len(client.get(path).content))
    documents = client.get("/api/v1/documents").json()["documents"]
    for path in ("documents", f"documents/{documents[0]['id']}/file", "strategies", "nothing"):
        head, whole = client.head(f"/api/v1/{path}"), client.get(f"/api/v1/{path}")
        assert (head.status_code, head.content) == (whole.status_code, b"")
        assert head.headers["content-length"] == str(len(whole.content))
    assert client.head("/api/v1/ask").status_code == 405
    refusals = [client.patch(f"/api/v1/{path}") for path in ("ask", "documents", "documents/1")]
    methods = ["POST", "GET, HEAD, POST", "DELETE, GET, HEAD"]
    assert [refusal.headers["allow"] for refusal in refusals] == methods
    status = client.get("/api/v1/status").json()
    assert status["index"]["documents"] == 4
    assert status["workspace"] == ""
    numbers = client.get("/metrics").text
    assert 'fathom_answers_total{status="answered",stop="answered",strategy="naive"}' in numbers
    assert '{method="HEAD",route="/api/v1/strategies",status="200"}' in numbers
    assert 'route="/api/v1/ask",status="200"' in numbers
    assert QUESTION not in numbers


@pytest.mark.parametrize("bad_id", ["%00", "a%00b", "x" * 3000, "%ff", "..%2f..%2fkeys.db"])
def test_an_id_that_cannot_exist_is_missing_on_every_route(client: TestClient, bad_id: str) -> None:
    app = client.app
    assert isinstance(app, FastAPI)
    places = [
        (method.upper(), re.sub(r"\{\w+\}", bad_id, path))
        for path, methods in app.openapi()["paths"].items()
        for method in methods
        if "{" in path
    ]
    assert len(places) >= 14
    for method, path in places:
        assert 400 <= client.request(method, path).status_code < 500, (method, path)


def test_an_unforeseen_error_is_guarded_and_counted_as_every_reply(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path) -> None:
        raise ValueError("a secret of a document")

    monkeypatch.setattr(report_routes, "list_reports", fail)
    reply = client.get("/api/v1/reports")
    assert (reply.status_code, reply.json()["title"]) == (500, "bug")
    assert "secret" not in reply.text
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert 'route="/api/v1/reports",status="500"' in client.get("/metrics").text


def test_routes_of_the_openai_interface_are_counted_by_their_whole_patterns(
    client: TestClient,
) -> None:
    for path in ("/v1/models", "/v1/vector_stores/none/files", "/v1/nowhere"):
        client.get(path)
    numbers = client.get("/metrics").text
    assert 'route="/v1/models",status="200"' in numbers
    assert 'route="/v1/vector_stores/{store_id}/files",status="404"' in numbers
    assert 'route="other",status="404"' in numbers


def test_a_server_of_an_index_of_an_older_version_says_so_at_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    note = tmp_path / "fees.md"
    note.write_text("# Fees\n\nA permit costs 40 crowns.\n")
    settings = parse_settings({"index.directory": str(tmp_path / "index"), "offline": True})
    with monkeypatch.context() as older, Engine(settings) as engine:
        older.setattr(analyzer, "VERSION", "1")
        engine.ingest(note)
    with open_client(create_app(settings)):
        pass
    assert "no question can be answered: the index at" in caplog.text
    assert "`fathom ingest --rebuild PATH...`" in caplog.text


def test_a_full_disk_is_no_bug_and_is_named() -> None:
    error = OSError(errno.ENOSPC, "No space left on device", "/srv/index/lock")
    problem = build_problem(error)
    assert (problem.status, problem.kind) == (500, "failed")
    assert problem.detail == (
        "/srv/index/lock: No space left on device; check free space and permissions"
    )
    assert build_problem(OSError(errno.EIO, "Input/output error")).kind == "bug"
