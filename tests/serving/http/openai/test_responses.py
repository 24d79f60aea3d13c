"""Responses of the real application, beyond what the clients' tests show."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter
from tests.serving.http.openai.conftest import ANSWER, QUESTION
from tests.serving.http.openai.test_background_tasks import make_open_webui_task

from fathom.config import parse_settings
from fathom.serving.http.app import create_app
from fathom.serving.http.keys import Key


def respond(client: TestClient, **fields: Any) -> Any:
    return client.post("/v1/responses", json={"model": "fathom-naive", "input": QUESTION, **fields})


def test_a_retrieved_response_is_the_same_bytes(client: TestClient) -> None:
    first = respond(client)
    again = client.get(f"/v1/responses/{first.json()['id']}")
    assert again.content == first.content


def test_a_response_has_openais_format(client: TestClient) -> None:
    Response.model_validate(respond(client).json(), strict=False)
    events: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    lines = respond(client, stream=True).text.splitlines()
    received = [
        json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")
    ]
    assert len(received) > 8
    for event in received:
        assert events.validate_python(event).type == event["type"]
    names = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    assert names == [event["type"] for event in received]


def test_the_turns_of_the_input_are_the_conversation(client: TestClient) -> None:
    turns = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "What is the monthly pay of an apprentice in the first year?"},
        {"type": "reasoning", "summary": []},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "940. [1]", "annotations": []}],
        },
        {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "1"},
        {"role": "user", "content": [{"type": "input_text", "text": "And in the third year?"}]},
    ]
    reply = respond(client, input=turns).json()
    assert "1,130" in reply["output"][0]["content"][0]["text"]


def test_a_background_task_is_answered_without_retrieval(client: TestClient) -> None:
    prompt = make_open_webui_task("Generate a concise title", '{ "title": "x" }')
    before = client.get("/api/v1/traces").json()
    reply = respond(client, input=prompt).json()
    assert "title" in json.loads(reply["output"][0]["content"][0]["text"])
    assert "response.completed" in respond(client, input=prompt, stream=True).text
    assert client.get("/api/v1/traces").json() == before


def test_an_abstention_is_completed(client: TestClient) -> None:
    reply = respond(client, input="Who won the chess championship in 1987?").json()
    assert reply["status"] == "completed"
    assert reply["output"][0]["content"][0]["text"].startswith("I don't know")


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"previous_response_id": "resp_" + 32 * "0"}, 404, "response_not_found"),
        ({"previous_response_id": "x"}, 404, "response_not_found"),
        ({"background": True}, 400, "unsupported_parameter"),
        ({"conversation": "conv_1"}, 400, "unsupported_parameter"),
        ({"text": {"format": {"type": "json_schema"}}}, 400, "unsupported_parameter"),
        ({"reasoning": {"effort": "some"}}, 400, "unsupported_parameter"),
        ({"input": []}, 400, "no_question"),
        ({"model": "gpt-4"}, 404, "model_not_found"),
        ({"input": "why " * 5_001}, 422, "invalid"),
        ({"input": [{"role": "x" * 99, "content": "a"}]}, 400, "invalid_request"),
        ({"input": [{"role": "user", "content": 7}]}, 400, "invalid_request"),
        ({"input": [{"role": "user", "content": [{"type": []}]}]}, 400, "no_question"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_an_impossible_request_is_refused_before_any_output(
    client: TestClient, fields: dict[str, Any], status: int, code: str, stream: bool
) -> None:
    reply = respond(client, stream=stream, **fields)
    assert reply.status_code == status
    assert reply.json()["error"]["code"] == code


def test_an_unsent_response_cannot_be_retrieved(client: TestClient) -> None:
    assert client.get("/v1/responses/resp_1").status_code == 404
    assert client.get("/v1/responses/1").json()["error"]["code"] == "response_not_found"


def test_a_response_is_named_after_its_trace(client: TestClient) -> None:
    body = respond(client).json()
    assert body["id"] == f"resp_{body['fathom']['trace_id']}"
    assert ANSWER in body["output"][0]["content"][0]["text"]
    assert client.get(f"/v1/responses/{body['id']}").status_code == 200
    assert client.get(f"/v1/responses/{body['id'][:12]}").status_code == 404


def test_a_response_belongs_to_its_workspace(corpus: Path, tmp_path: Path) -> None:
    shutil.copytree(corpus, tmp_path / "index")
    settings = parse_settings({"index.directory": str(tmp_path / "index"), "offline": True})
    shutil.copytree(corpus, tmp_path / "index" / "workspaces" / "other")
    app = create_app(settings)
    keys = app.state.access.keys
    headers, other = (
        {"Authorization": f"Bearer {keys.add(Key(id='', name='ann', workspace=workspace))[1]}"}
        for workspace in ("", "other")
    )
    body = {"model": "fathom-naive", "input": QUESTION}
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        response_id = client.post("/v1/responses", json=body, headers=headers).json()["id"]
        assert client.get(f"/v1/responses/{response_id}", headers=headers).status_code == 200
        assert client.get(f"/v1/responses/{response_id}", headers=other).status_code == 404
        after = {**body, "previous_response_id": response_id}
        assert client.post("/v1/responses", json=after, headers=other).status_code == 404
        assert client.post("/v1/responses", json=after, headers=headers).status_code == 200
        assert client.post("/v1/responses", json=body).status_code == 401
