"""Conversations over HTTP, and the errors of their routes.

Covers fathom.serving.http.conversation_store, fathom.serving.http.conversation_routes and
fathom.serving.http.problems.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest
from fastapi.testclient import TestClient
from tests.serving.http.conftest import KeyMaker

from fathom.errors import IndexLocked, ModelUnavailable, RunError, UsageError
from fathom.index.engines import EmbeddedIndex
from fathom.index.traces import MissingTraceError
from fathom.runs.ledger import BudgetRefused
from fathom.serving.http.conversation_store import MOST_TURNS, Conversations
from fathom.serving.http.problems import Problem, build_problem

API = "/api/v1/conversations"


def ask(client: TestClient, question: str, conversation: str) -> dict[str, Any]:
    body = {"question": question, "conversation": conversation}
    answer: dict[str, Any] = client.post("/api/v1/ask", json=body).json()
    return answer


def test_a_conversation_stores_its_questions_with_the_given_answers(
    client: TestClient,
) -> None:
    begun = client.post(API, json={}).json()["id"]
    first = ask(client, "What is the monthly pay of an apprentice in the second year?", begun)
    second = ask(client, "And in the third?", begun)
    assert second["standalone_question"] not in {None, "And in the third?"}
    shown_conversation = client.get(f"{API}/{begun}").json()
    assert shown_conversation["title"] == first["question"]
    assert [turn["question"] for turn in shown_conversation["turns"]] == [
        first["question"],
        "And in the third?",
    ]
    assert [turn["answer"] for turn in shown_conversation["turns"]] == [first, second]
    body = {"question": "And in the first?", "conversation": begun}
    stream = client.post("/api/v1/ask/stream", json=body).text
    final = json.loads(stream.strip().rpartition("data: ")[2])
    assert client.get(f"{API}/{begun}").json()["turns"][-1]["answer"] == final
    assert client.delete(f"{API}/{begun}").status_code == 204
    assert client.get(f"{API}/{begun}").status_code == 404
    assert client.delete(f"{API}/{begun}").status_code == 404
    assert client.get(f"/api/v1/answers/{first['trace_id']}").status_code == 200


def test_a_read_only_key_removes_only_its_own_conversations(
    fresh_client: TestClient, key: KeyMaker
) -> None:
    local = fresh_client.post(API, json={}).json()["id"]
    owner, other, curates = (key(scopes=scopes) for scopes in ("read", "read", "read curate"))

    def begin(headers: dict[str, str]) -> str:
        return str(fresh_client.post(API, json={}, headers=headers).json()["id"])

    def remove(conversation: str, headers: dict[str, str]) -> int:
        return fresh_client.delete(f"{API}/{conversation}", headers=headers).status_code

    talk, second = begin(owner), begin(owner)
    assert remove(talk, other) == 403
    assert remove(local, other) == 403
    assert fresh_client.get(f"{API}/{talk}", headers=owner).status_code == 200
    assert remove(talk, owner) == 204
    assert remove(talk, owner) == 404
    assert remove("nowhere", other) == 404
    assert remove(second, curates) == 204
    assert remove(local, curates) == 204


@dataclass
class ForgetfulEngine:
    """An engine that has lost its traces, and records which ones were requested."""

    index: EmbeddedIndex
    sought: list[str] = field(default_factory=list)

    @property
    def traces(self) -> "ForgetfulEngine":
        return self

    def answer(self, trace_id: str, *, owner: str) -> NoReturn:
        assert not owner
        self.sought.append(trace_id)
        raise MissingTraceError(trace_id)


def test_a_follow_up_looks_up_the_latest_answers_only(tmp_path: Path) -> None:
    engine = ForgetfulEngine(EmbeddedIndex(tmp_path))
    conversations = Conversations(engine)  # type: ignore[arg-type]  # as much of one as is asked
    begun = conversations.add()
    for number in range(MOST_TURNS + 5):
        conversations.add_turn(begun, f"question {number}", f"trace {number}")
    dialogue = conversations.load_dialogue(begun).messages
    conversations.close()
    latest = range(5, MOST_TURNS + 5)
    assert [turn["content"] for turn in dialogue[::2]] == [
        f"question {number}" for number in latest
    ]
    assert engine.sought == [f"trace {number}" for number in latest]


def test_conversations_are_listed_newest_first_page_by_page(fresh_client: TestClient) -> None:
    ids = [fresh_client.post(API, json={"title": f"talk {at}"}).json()["id"] for at in range(5)]
    first = fresh_client.get(API, params={"limit": 3}).json()
    rest = fresh_client.get(API, params={"limit": 3, "cursor": first["next"]}).json()
    listed = [
        conversation["id"] for conversation in (*first["conversations"], *rest["conversations"])
    ]
    assert listed == ids[::-1]
    assert rest["next"] is None
    # A page with all the rest is the last one.
    count = len(first["conversations"]) + len(rest["conversations"])
    assert fresh_client.get(API, params={"limit": count}).json()["next"] is None


def test_an_answer_disappears_from_the_conversation_with_its_document(
    fresh_client: TestClient,
) -> None:
    begun = fresh_client.post(API, json={}).json()["id"]
    answer = ask(fresh_client, "Where is bitumen emulsion stored?", begun)
    fresh_client.delete(f"/api/v1/documents/{answer['citations'][0]['document']}")
    (turn,) = fresh_client.get(f"{API}/{begun}").json()["turns"]
    assert turn["question"] == answer["question"]
    assert turn["answer"] is None


@pytest.mark.parametrize(
    ("error", "status", "again"),
    [
        (UsageError("k = 0: ask for more"), 400, None),
        (IndexLocked("process 7 is writing; try again later"), 503, 5),
        (ModelUnavailable("the model does not answer"), 503, 10),
        (BudgetRefused("tokens", needed=5, left=1), 429, None),
        (RunError("the file cannot be read"), 500, None),
        (ValueError("a secret of a document"), 500, None),
    ],
)
def test_an_error_becomes_a_problem_with_the_next_step(
    error: Exception, status: int, again: float | None
) -> None:
    problem = build_problem(error)
    assert (problem.status, problem.retry_after) == (status, again)
    body = bytes(problem.build_response().body).decode()
    assert "secret" not in body
    assert json.loads(body)["title"]


@pytest.mark.parametrize(("seconds", "header"), [(0.2, "1"), (1, "1"), (4.5, "5"), (5, "5")])
def test_a_problem_says_in_its_header_when_to_retry(seconds: float, header: str) -> None:
    reply = Problem(503, "overloaded", "too much", retry_after=seconds).build_response()
    assert reply.headers["retry-after"] == header
    assert json.loads(bytes(reply.body))["retry_after"] == int(header)
    assert reply.headers["content-type"] == "application/problem+json"


def test_a_missing_trace_is_not_found_over_http() -> None:
    problem = build_problem(
        MissingTraceError("no trace begins with 'zzz'; `fathom trace` lists them")
    )
    assert (problem.detail, problem.next) == (
        "no trace begins with 'zzz'",
        "GET /api/v1/traces lists them",
    )
