"""Errors have OpenAI's format, wherever they are raised."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.answers import make_answer
from tests.serving.http.openai.conftest import QUESTION

from fathom.config import parse_settings
from fathom.index.engines import EmbeddedIndex
from fathom.serving.http.access import Access
from fathom.serving.http.app import create_app
from fathom.serving.http.keys import create_key_store
from fathom.serving.http.openai.errors import build_error_json, require_finished_answer
from fathom.serving.http.problems import Problem

JSON = {"Content-Type": "application/json"}
BODY = {"model": "fathom-naive", "messages": [{"role": "user", "content": QUESTION}]}


def test_an_error_states_the_mistake_and_the_next_step() -> None:
    problem = Problem(503, "overloaded", "too much to do", next="come again", retry_after=2)
    assert build_error_json(problem) == {
        "error": {
            "message": "too much to do; come again",
            "type": "server_error",
            "param": None,
            "code": "overloaded",
        }
    }


def test_a_failed_run_is_an_error() -> None:
    require_finished_answer(make_answer())
    with pytest.raises(Problem, match="the model went away"):
        require_finished_answer(make_answer(status="failed", stop_reason="the model went away"))


def test_a_missing_key_is_reported(corpus: Path) -> None:
    settings = parse_settings({"index.directory": str(corpus), "offline": True})
    app = create_app(settings, Access(create_key_store(EmbeddedIndex(corpus)), required=True))
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        for path, method in (
            ("chat/completions", "POST"),
            ("responses", "POST"),
            ("embeddings", "POST"),
            ("models", "GET"),
        ):
            bad = {"Authorization": "Bearer none"}
            reply = client.request(method, f"/v1/{path}", json=BODY, headers=bad)
            assert reply.status_code == 401
            error = reply.json()["error"]
            assert (error["type"], error["code"]) == ("authentication_error", "unauthorized")
            assert reply.headers["www-authenticate"]


def test_an_invalid_or_too_long_body_is_reported_in_the_same_format(client: TestClient) -> None:
    broken = client.post("/v1/chat/completions", content=b"{", headers=JSON)
    assert (broken.status_code, broken.json()["error"]["code"]) == (400, "invalid_request")

    def send_endless() -> Iterator[bytes]:
        for _ in range(9):
            yield b" " * (1 << 20)

    long = client.post("/v1/chat/completions", content=send_endless(), headers=JSON)
    assert long.status_code == 413
    assert long.json()["error"]["type"] == "invalid_request_error"


def test_the_place_of_a_fault_in_json_is_no_parameter(client: TestClient) -> None:
    error = client.post("/v1/chat/completions", content=b'{"n":', headers=JSON).json()["error"]
    assert (error["message"], error["param"]) == ("the body is not JSON at character 5", None)


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "code"),
    [
        ("POST", "/v1/completions", {}, 404, "not_found"),
        ("GET", "/v1/chat/completions", {}, 405, "method_not_allowed"),
        ("POST", "/v1/responses", {"Content-Length": "99999999"}, 413, "too_large"),
        ("POST", "/v1/responses", {"Origin": "http://elsewhere.example"}, 403, "foreign_origin"),
        ("POST", "/v1/responses", {"Host": "elsewhere.example"}, 421, "unknown_host"),
    ],
)
def test_a_request_that_reaches_no_route_is_reported_in_the_same_format(
    client: TestClient, method: str, path: str, headers: dict[str, str], status: int, code: str
) -> None:
    reply = client.request(method, path, headers={**JSON, **headers})
    assert (reply.status_code, reply.headers["x-should-retry"]) == (status, "false")
    error = reply.json()["error"]
    assert (error["code"], error["message"].count("; ")) == (code, 1)  # the next step follows


TURN = {"role": "user", "content": QUESTION}


@pytest.mark.parametrize(
    ("path", "fields", "param"),
    [
        ("chat/completions", {"messages": []}, "messages"),
        ("chat/completions", {"messages": [TURN, {"content": "a"}]}, "messages[1].role"),
        ("chat/completions", {"messages": [{**TURN, "content": 7}]}, "messages[0].content"),
        ("chat/completions", {"messages": [{**TURN, "content": [7]}]}, "messages[0].content[0]"),
        ("chat/completions", {"messages": [{**TURN, "role": "system"}]}, "messages"),
        ("chat/completions", {"messages": [{**TURN, "role": "x"}, TURN]}, "messages"),
        ("chat/completions", {"n": 2}, "n"),
        ("chat/completions", {"n": "two"}, "n"),
        ("chat/completions", {"reasoning_effort": "some"}, "reasoning_effort"),
        ("chat/completions", {"model": "gpt-4"}, "model"),
        ("chat/completions", {"tool_choice": "required"}, "tool_choice"),
        ("chat/completions", {"tool_choice": 7}, "tool_choice"),
        ("chat/completions", {"response_format": {"type": "json_object"}}, "response_format"),
        ("chat/completions", {"budget": {"max_calls": -1}}, "budget.max_calls"),
        ("responses", {"input": 7}, "input"),
        ("responses", {"input": []}, "input"),
        ("responses", {"input": [{"role": 7}]}, "input[0].role"),
        ("responses", {"input": [{**TURN, "role": "x"}, TURN]}, "input"),
        ("responses", {"reasoning": {"effort": "some"}}, "reasoning.effort"),
        ("responses", {"text": {"format": {"type": "json_schema"}}}, "text.format"),
        ("responses", {"previous_response_id": "resp_1"}, "previous_response_id"),
        (
            "responses",
            {"tools": [{"type": "file_search", "vector_store_ids": []}]},
            "tools[0].vector_store_ids",
        ),
        ("embeddings", {"model": "x"}, "model"),
        ("embeddings", {"input": []}, "input"),
        ("embeddings", {"input": ["a", " "]}, "input"),
        ("embeddings", {"input": [[1, 2]]}, "input"),
        ("embeddings", {"dimensions": 7}, "dimensions"),
        ("vector_stores", {"metadata": {"a": [1]}}, "metadata.a"),
        ("vector_stores", {"metadata": []}, "metadata"),
    ],
)
def test_an_error_names_the_parameter_as_openai_does(
    client: TestClient, path: str, fields: dict[str, Any], param: str
) -> None:
    bodies: dict[str, Any] = {
        "chat/completions": BODY,
        "responses": {"model": "fathom-naive", "input": QUESTION},
        "embeddings": {"model": "fathom-embedding", "input": "a"},
        "vector_stores": {},
    }
    error = client.post(f"/v1/{path}", json={**bodies[path], **fields}).json()["error"]
    assert error["param"] == param
    assert error["message"].startswith(f"{param}: ") or error["code"].endswith("_not_found")


def test_a_parameter_of_the_address_or_of_a_form_is_named_alone(client: TestClient) -> None:
    assert client.get("/v1/files?limit=0").json()["error"]["param"] == "limit"
    assert client.get("/v1/models/gpt-4").json()["error"]["param"] == "model"
    sent = {"file": ("note.md", b"# Note")}
    assert client.post("/v1/files", files=sent).json()["error"]["param"] == "purpose"


def test_an_empty_index_is_an_error_without_retry(tmp_path: Path) -> None:
    settings = parse_settings({"index.directory": str(tmp_path / "none"), "offline": True})
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8000") as client:
        for stream in (False, True):
            reply = client.post("/v1/chat/completions", json={**BODY, "stream": stream})
            assert reply.status_code == 409
            assert reply.json()["error"]["code"] == "index_empty"
            assert reply.headers["x-should-retry"] == "false"
            assert "ingest" in reply.json()["error"]["message"]


def test_a_busy_server_says_when_to_retry(corpus: Path, tmp_path: Path) -> None:
    place = tmp_path / "index"
    shutil.copytree(corpus, place)
    settings = parse_settings(
        {
            "index.directory": str(place),
            "offline": True,
            "serve.running": 1,
            "serve.waiting": 0,
        },
        constants=True,
    )
    app = create_app(settings)
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        admission = app.state.asking.admission
        portal = client.portal
        assert portal is not None
        turn = admission.take_turn()
        portal.call(turn.__aenter__)
        try:
            reply = client.post("/v1/chat/completions", json={**BODY, "stream": True})
        finally:
            portal.call(turn.__aexit__, None, None, None)
        assert reply.status_code == 503
        assert int(reply.headers["retry-after"]) >= 1
        assert reply.headers["x-should-retry"] == "true"
        assert reply.json()["error"]["type"] == "server_error"
        assert client.post("/v1/chat/completions", json=BODY).status_code == 200
