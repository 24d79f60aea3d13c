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


def test_a_conversation_keeps_its_questions_with_the_answers_as_they_were_given(
    client: TestClient,
) -> None:
    begun = client.post(API, json={}).json()["id"]
    first = ask(client, "What is the monthly pay of an apprentice in the second year?", begun)
    second = ask(client, "And in the third?", begun)
    assert second["standalone_question"] not in {None, "And in the third?"}
    shown = client.get(f"{API}/{begun}").json()
    assert shown["title"] == first["question"]
    assert [turn["question"] for turn in shown["turns"]] == [first["question"], "And in the third?"]
    assert [turn["answer"] for turn in shown["turns"]] == [first, second]
    body = {"question": "And in the first?", "conversation": begun}
    stream = client.post("/api/v1/ask/stream", json=body).text
    final = json.loads(stream.strip().rpartition("data: ")[2])
    assert client.get(f"{API}/{begun}").json()["turns"][-1]["answer"] == final
    assert client.delete(f"{API}/{begun}").status_code == 204
    assert client.get(f"{API}/{begun}").status_code == 404
    assert client.delete(f"{API}/{begun}").status_code == 404
    assert client.get(f"/api/v1/answers/{first['trace_id']}").status_code == 200


def test_a_key_that_may_only_read_removes_no_conversation_but_its_own(
    own: TestClient, key: KeyMaker
) -> None:
    local = own.post(API, json={}).json()["id"]
    one, other, curates = (key(scopes=each) for each in ("read", "read", "read curate"))

    def begin(headers: dict[str, str]) -> str:
        return str(own.post(API, json={}, headers=headers).json()["id"])

    def remove(conversation: str, headers: dict[str, str]) -> int:
        return own.delete(f"{API}/{conversation}", headers=headers).status_code

    talk, second = begin(one), begin(one)
    assert remove(talk, other) == 403
    assert remove(local, other) == 403
    assert own.get(f"{API}/{talk}", headers=one).status_code == 200
    assert remove(talk, one) == 204
    assert remove(talk, one) == 404
    assert remove("nowhere", other) == 404
    assert remove(second, curates) == 204
    assert remove(local, curates) == 204


@dataclass
class Forgets:
    """An engine that has no trace any more, and knows which were looked for."""

    index: EmbeddedIndex
    sought: list[str] = field(default_factory=list)

    @property
    def traces(self) -> "Forgets":
        return self

    def answer(self, trace_id: str) -> NoReturn:
        self.sought.append(trace_id)
        raise MissingTraceError(trace_id)


def test_a_follow_up_looks_up_the_latest_answers_alone(tmp_path: Path) -> None:
    engine = Forgets(EmbeddedIndex(tmp_path))
    conversations = Conversations(engine)  # type: ignore[arg-type]  # as much of one as is asked
    begun = conversations.add()
    for number in range(MOST_TURNS + 5):
        conversations.add_turn(begun, f"question {number}", f"trace {number}")
    dialogue = conversations.load_dialogue(begun)
    conversations.close()
    latest = range(5, MOST_TURNS + 5)
    assert [each["content"] for each in dialogue[::2]] == [
        f"question {number}" for number in latest
    ]
    assert engine.sought == [f"trace {number}" for number in latest]


def test_conversations_are_listed_newest_first_page_by_page(own: TestClient) -> None:
    made = [own.post(API, json={"title": f"talk {at}"}).json()["id"] for at in range(5)]
    first = own.get(API, params={"limit": 3}).json()
    rest = own.get(API, params={"limit": 3, "cursor": first["next"]}).json()
    listed = [each["id"] for each in (*first["conversations"], *rest["conversations"])]
    assert listed == made[::-1]
    assert rest["next"] is None


def test_an_answer_whose_document_is_gone_is_gone_from_the_conversation(own: TestClient) -> None:
    begun = own.post(API, json={}).json()["id"]
    answer = ask(own, "Where is bitumen emulsion stored?", begun)
    own.delete(f"/api/v1/documents/{answer['citations'][0]['document']}")
    (turn,) = own.get(f"{API}/{begun}").json()["turns"]
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
def test_an_error_becomes_a_problem_with_what_to_do_next(
    error: Exception, status: int, again: float | None
) -> None:
    problem = build_problem(error)
    assert (problem.status, problem.retry_after) == (status, again)
    told = bytes(problem.build_response().body).decode()
    assert "secret" not in told
    assert json.loads(told)["title"]


def test_a_problem_says_in_its_header_when_to_come_again() -> None:
    reply = Problem(503, "overloaded", "too much", retry_after=0.2).build_response()
    assert reply.headers["retry-after"] == "1"
    assert reply.headers["content-type"] == "application/problem+json"


def test_a_trace_that_is_not_there_is_looked_for_over_http() -> None:
    problem = build_problem(
        MissingTraceError("no trace begins with 'zzz'; `fathom trace` lists them")
    )
    assert (problem.detail, problem.next) == (
        "no trace begins with 'zzz'",
        "GET /api/v1/traces lists them",
    )
