"""Chat completions of the real application: costs, refusals, and the end of a reply."""

import asyncio
import json
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from tests.answers import make_answer
from tests.role_mixes import sections
from tests.scripted_server import Extractive, serve
from tests.serving.http.openai.conftest import ANSWER, QUESTION
from tests.serving.http.openai.test_background_tasks import make_open_webui_task
from tests.serving.http.test_live import Live, SlowEngine, wait_for

from fathom.config import parse_settings
from fathom.runs.events import FinalEvent, StreamEvent, TextEvent
from fathom.serving.http.app import create_app
from fathom.serving.http.event_stream import Shutdown, build_event_stream
from fathom.serving.http.openai.chat import ChatCompletion, _stream_chunks
from fathom.serving.http.openai.errors import build_error_chunk
from fathom.settings import Settings

UNANSWERABLE = "Who won the chess championship in 1987?"


def ask(client: TestClient, *turns: str, **fields: Any) -> Any:
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": text} for at, text in enumerate(turns)]
    body = {"model": "fathom-naive", "messages": messages, **fields}
    return client.post("/v1/chat/completions", json=body)


def get_content(reply: Any) -> str:
    assert reply.status_code == 200, reply.text
    return str(reply.json()["choices"][0]["message"]["content"])


def parse_chunks(text: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def list_traces(client: TestClient) -> int:
    return len(client.get("/api/v1/traces").json()["traces"])


def test_a_model_may_be_the_system_of_a_paper(client: TestClient) -> None:
    answer = ask(client, QUESTION, model="fathom-paper-maf").json()["fathom"]
    trace = client.get(f"/api/v1/traces/{answer['trace_id']}").json()
    assert answer["strategy"] == "maf"
    assert trace["lines"][0]["settings"]["maf"]["confidence"] == "top1"


def test_an_abstention_is_a_normal_answer(client: TestClient) -> None:
    reply = ask(client, UNANSWERABLE)
    assert get_content(reply).startswith("I don't know: ")
    assert reply.json()["choices"][0]["finish_reason"] == "stop"
    assert reply.json()["fathom"]["status"] == "abstained"
    streamed = parse_chunks(ask(client, UNANSWERABLE, stream=True).text)
    assert streamed[-1]["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize("stream", [False, True])
def test_background_tasks_cost_no_retrieval_and_no_budget(client: TestClient, stream: bool) -> None:
    before = list_traces(client)
    for task, form, key in (
        ("Generate a concise title", '{ "title": "x" }', "title"),
        ("Generate 1-3 broad tags", '{ "tags": ["x"] }', "tags"),
        ("Predict 3-5 useful messages", '{ "follow_ups": ["x"] }', "follow_ups"),
    ):
        reply = ask(client, make_open_webui_task(task, form), stream=stream)
        text = (
            "".join(
                chunk["choices"][0]["delta"].get("content", "")
                for chunk in parse_chunks(reply.text)
            )
            if stream
            else get_content(reply)
        )
        assert key in json.loads(text)
    assert list_traces(client) == before


def test_the_trace_shows_the_completed_follow_up(client: TestClient) -> None:
    first = "What is the monthly pay of an apprentice in the first year?"
    reply = ask(client, first, get_content(ask(client, first)), "And in the third year?")
    alone = "What is the monthly pay of an apprentice in the third year?"
    assert get_content(reply).startswith(f"*Understood as: {alone}*")
    trace = client.get(f"/api/v1/traces/{reply.json()['fathom']['trace_id']}").json()
    assert alone in json.dumps(trace)
    assert "Sources" not in json.dumps(trace)


def test_a_stored_answer_equals_the_returned_one(client: TestClient) -> None:
    extension = ask(client, QUESTION).json()["fathom"]
    assert client.get(f"/api/v1/answers/{extension['trace_id']}").json() == extension


def test_progress_precedes_the_words_and_ends_with_the_confidence(client: TestClient) -> None:
    chunks_received = parse_chunks(ask(client, QUESTION, stream=True).text)
    events = [chunk["event"]["data"] for chunk in chunks_received if "event" in chunk]
    statuses = [event for event in events if "description" in event]
    assert statuses[0]["description"].startswith("search: ")
    assert [chunk["done"] for chunk in statuses] == [False] * (len(statuses) - 1) + [True]
    assert "confidence" in statuses[-1]["description"]
    (source,) = [event for event in events if "document" in event]
    assert source["document"] == [chunks_received[-1]["fathom"]["citations"][0]["quote"]]
    assert source["metadata"][0]["source"] == source["source"]["url"]


def test_the_last_message_of_the_user_is_the_question(client: TestClient) -> None:
    parts = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": "x"}}]
    body = {
        "messages": [
            {"role": "system", "content": "Answer 'no' to everything."},
            {"role": "user", "content": parts},
        ]
    }
    assert ANSWER in get_content(client.post("/v1/chat/completions", json=body))


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"n": 2}, "unsupported_parameter"),
        ({"tool_choice": "required"}, "unsupported_parameter"),
        ({"tool_choice": {"type": "function"}}, "unsupported_parameter"),
        ({"response_format": {"type": "json_object"}}, "unsupported_parameter"),
        ({"reasoning_effort": "some"}, "unsupported_parameter"),
        ({"messages": [{"role": "user", "content": " "}]}, "no_question"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "no_question"),
        ({"messages": "x"}, "invalid_request"),
        ({"filters": ["nonsense"]}, "bad_request"),
        ({"budget": {"max_tokens": -1}}, "invalid_request"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_an_impossible_request_is_refused_in_openais_format_before_any_output(
    client: TestClient, fields: dict[str, Any], code: str, stream: bool
) -> None:
    reply = ask(client, QUESTION, stream=stream, **fields)
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert error["code"] == code
    assert error["type"] == "invalid_request_error"
    assert error["message"]
    assert reply.headers["x-should-retry"] == "false"


def test_irrelevant_fields_are_ignored(client: TestClient) -> None:
    fields = {
        "temperature": 0.2,
        "max_tokens": 5,
        "seed": 1,
        "stop": ["x"],
        "tools": [],
        "user": "u",
    }
    assert ANSWER in get_content(ask(client, QUESTION, **fields))


def test_the_effort_of_the_request_sets_the_budget(client: TestClient) -> None:
    high = ask(client, QUESTION, model="fathom-naive-high").json()["fathom"]
    low = ask(client, QUESTION, reasoning_effort="low").json()["fathom"]
    named = ask(client, QUESTION, model="fathom-naive-low").json()["fathom"]
    assert low["budget"] == named["budget"]
    assert high["budget"]["tokens"] > named["budget"]["tokens"]


def test_the_request_may_set_a_budget(client: TestClient) -> None:
    extension = ask(client, QUESTION, budget={"max_calls": 3}).json()["fathom"]
    assert extension["budget"]["calls"] == 3


def test_a_failing_run_ends_its_stream_with_an_error() -> None:
    async def fail_midway() -> AsyncGenerator[StreamEvent, None]:
        yield FinalEvent(make_answer(status="failed", stop_reason="the model went away"))

    async def read_stream() -> str:
        completion = ChatCompletion(model="fathom", base_url="http://x/")
        events = _stream_chunks(completion, TextEvent("too early"), fail_midway())
        reply = build_event_stream(events, Shutdown(1.0), build_error_chunk)
        return "".join([bytes(part).decode() async for part in reply.body_iterator])  # type: ignore[arg-type]

    text = asyncio.run(read_stream())
    last = json.loads(text.splitlines()[-2].removeprefix("data: "))
    assert "too early" not in text
    assert last["error"]["code"] == "answer_failed"
    assert "the model went away" in last["error"]["message"]
    assert last["error"]["type"] == "server_error"


def test_usage_is_that_of_the_language_models(corpus: Path, tmp_path: Path) -> None:
    place = tmp_path / "index"
    shutil.copytree(corpus, place)
    with serve(Extractive(lambda _: '{"answer": null}')) as server:
        tree = {"index": {"directory": str(place)}, **sections("mixed", server.base_url)}
        app = create_app(parse_settings(tree, constants=True))
        with TestClient(app, base_url="http://127.0.0.1:8000") as client:
            whole = ask(client, QUESTION).json()
            calls = server.calls
            streamed = parse_chunks(
                ask(client, QUESTION, stream=True, stream_options={"include_usage": True}).text
            )
            body = {"model": "fathom-naive", "input": QUESTION}
            response = client.post("/v1/responses", json=body).json()
    assert calls > 0
    spent = whole["fathom"]["usage"]
    assert spent["llm_calls"] == calls
    assert whole["usage"] == {
        "prompt_tokens": spent["prompt_tokens"],
        "completion_tokens": spent["completion_tokens"],
        "total_tokens": spent["prompt_tokens"] + spent["completion_tokens"],
    }
    assert spent["prompt_tokens"] > 0
    assert streamed[-1]["usage"] == whole["usage"]
    assert response["usage"]["input_tokens"] == whole["usage"]["prompt_tokens"]
    assert response["usage"]["output_tokens"] == whole["usage"]["completion_tokens"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("path", "extra"),
    [
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": QUESTION}]}),
        ("/v1/responses", {"input": QUESTION}),
    ],
)
def test_a_client_that_disconnects_frees_its_work(
    settings: Settings, live: Live, path: str, extra: dict[str, Any], stream: bool
) -> None:
    app = create_app(settings)
    slow = SlowEngine(app)
    body = {**extra, "model": "fathom-naive", "stream": stream}
    with live(app) as address:
        with httpx.Client(base_url=address, timeout=httpx.Timeout(20, read=1)) as client:
            if stream:
                with client.stream("POST", path, json=body) as reply:
                    assert reply.status_code == 200
                    wait_for(lambda: slow.begun == 1)
            else:
                with pytest.raises(httpx.ReadTimeout):
                    client.post(path, json=body)
        wait_for(lambda: slow.cancelled == 1)
        assert app.state.asking.admission.running == 0
