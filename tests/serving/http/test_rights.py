"""Rights of documents on the server: each key reads what its holder may, and nothing else."""

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from benchmarks.rights import Plan, RightsCounts, run_probes
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from tests.postgres_server import Server
from tests.serving.http.conftest import KeyMaker, open_client
from tests.serving.http.test_document_routes import wait_for_job

from fathom import Engine
from fathom.config import parse_settings
from fathom.index.engines import EmbeddedIndex
from fathom.index.rights import ReadingRule
from fathom.serving.http import api, conversation_routes, document_routes
from fathom.serving.http.access import LOCAL
from fathom.serving.http.app import create_app
from fathom.serving.http.dependencies import OPEN_TO_VIEWERS
from fathom.serving.http.keys import SCOPES, Key, create_key_store
from fathom.settings import Settings

CANARY = "zebrafish"
PROBES = int(os.environ.get("RIGHTS_PROBES", "20_000"))
SEED = int(os.environ.get("SEED", "0"))
WITHOUT_DOCUMENTS = {"/metrics", "/healthz", "/readyz", "/api/v1/session"}
CHANCE_PLAN = Plan(users=4, groups=8, documents=20, probes=40, withdrawals=6)
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
    with open_client(create_app(settings)) as client:
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
    whole = key(scopes="read", groups=frozenset({"*"}), name="root")
    viewer = key(scopes="read ingest curate admin", groups=frozenset({"sailors"}))
    talk = server.post("/api/v1/conversations", json={}, headers=whole).json()["id"]
    asked = {"question": QUESTION, "conversation": talk}
    kept = server.post("/api/v1/ask", json=asked, headers=whole).json()
    assert kept["trace_id"]
    assert server.post("/api/v1/ask", json=asked, headers=viewer).status_code == 404
    tried = 0
    open_routes = {(method, route.replace(":path}", "}")) for method, route in OPEN_TO_VIEWERS}
    for template, operations in server.get("/openapi.json", headers=whole).json()["paths"].items():
        # Records are asked for by the id of one that holds the hidden text.
        name = kept["trace_id"] if "traces" in template or "answers" in template else hidden
        name = talk if "conversations" in template else name
        path = re.sub(r"\{\w+\}", name, template).replace(f"pages/{hidden}", "pages/1")
        for method in operations:
            if template in WITHOUT_DOCUMENTS:
                continue
            reply = server.request(method, path, json={}, headers=viewer)
            tried += 1
            assert CANARY not in reply.text, (method, path)
            if (method.upper(), template) in open_routes:
                is_kept = "{trace_id}" in template or "{conversation_id}" in template
                assert not is_kept or reply.status_code == 404
                continue
            is_open = template.startswith("/v1/models") or reply.status_code == 422
            if template.startswith(("/api/v1", "/v1")) and not is_open:
                assert reply.status_code == 403, (method, path, reply.text)
    assert tried > 50
    assert server.get(f"/api/v1/documents/{hidden}", headers=whole).status_code == 200


def test_an_uploaded_file_of_readers_limits_its_document_and_is_none(
    server: TestClient, settings: Settings, key: KeyMaker
) -> None:
    set_rights(settings, [ReadingRule("*", ("*",))])
    check_uploaded_readers(server, key)


def test_an_uploaded_file_of_readers_counts_on_a_database(postgres: Server, tmp_path: Path) -> None:
    tree = {"index.url": postgres.open_database(), "index.directory": str(tmp_path / "index")}
    settings = parse_settings({**tree, "offline": True})
    file = tmp_path / "open.md"
    file.write_text("# Open")
    with Engine(settings) as engine:
        engine.ingest(file, rights=[ReadingRule("*", ("*",))])
        keys = create_key_store(engine.index)

    def make_key(*, scopes: str, groups: frozenset[str]) -> dict[str, str]:
        allowed = frozenset(scope for scope in SCOPES if scope in scopes)
        added = Key(id="", name="ana", scopes=allowed, groups=groups)
        return {"Authorization": f"Bearer {keys.add(added)[1]}"}

    with closing(keys), open_client(create_app(settings)) as server:
        check_uploaded_readers(server, make_key)


def check_uploaded_readers(server: TestClient, key: Callable[..., dict[str, str]]) -> None:
    """Upload a document with the file of its readers, change each alone, and lift the limit."""
    whole = key(scopes="read ingest", groups=frozenset({"*"}))
    viewer, keeper = (
        key(scopes="read", groups=frozenset({group})) for group in ("sailors", "keepers")
    )

    def upload(**contents: str) -> dict[str, str]:
        names = {"tank": "tank.md", "readers": "tank.md.readers.toml", "rules": "readers.toml"}
        files = [("files", (names[name], text.encode())) for name, text in contents.items()]
        job = server.post("/api/v1/documents", files=files, headers=whole).json()["job"]
        return {f["path"]: f["outcome"] for f in wait_for_job(server, job, headers=whole)["files"]}

    def list_titles(headers: dict[str, str]) -> set[str]:
        reply = server.get("/api/v1/documents?limit=1000", headers=headers).json()
        paths = [document["path"] for document in reply["documents"]]
        assert not [path for path in paths if path.endswith(".toml")]
        return {document["title"] for document in reply["documents"]} & {"Tank", "Full tank"}

    both = upload(tank="# Tank", readers='readers = ["keepers"]')
    assert both == {"tank.md": "ok", "tank.md.readers.toml": "ok"}
    assert (list_titles(viewer), list_titles(keeper)) == (set(), {"Tank"})
    upload(tank="# Full tank")
    assert (list_titles(viewer), list_titles(keeper)) == (set(), {"Full tank"})
    upload(readers='readers = ["*"]')
    assert list_titles(viewer) == {"Full tank"}
    upload(readers="readers = []")
    assert (list_titles(keeper), list_titles(whole)) == (set(), {"Full tank"})
    assert upload(rules='[[rule]]\npath = "*"\nreaders = ["*"]') == {"readers.toml": "refused"}


def test_the_readers_of_a_document_are_told_to_those_who_may_read_all(
    server: TestClient, settings: Settings, key: KeyMaker, hidden: str
) -> None:
    whole = key(scopes="read", groups=frozenset({"*"}), name="root")
    keeper = key(scopes="read ingest curate admin", groups=frozenset({"keepers", "sailors"}))

    def read_lists(headers: dict[str, str]) -> tuple[Any, Any]:
        """Return what the list says about the hidden document, and what the document does."""
        listed = server.get("/api/v1/documents", headers=headers).json()["documents"]
        entries = [entry for entry in listed if entry["id"] == hidden]
        document = server.get(f"/api/v1/documents/{hidden}", headers=headers).json()
        facts = [
            {name: item[name] for name in ("readers", "reader_lists") if name in item}
            for item in (*entries, document)
        ]
        assert facts[0] == facts[-1]
        sizes = {len(entry.keys() & {"readers", "reader_lists"}) for entry in listed}
        assert sizes == {len(facts[0])}
        return facts[0], listed

    rule = {"readers": ["keepers"], "origin": "rule", "name": "*aquarium*"}
    facts, listed = read_lists(whole)
    assert facts == {"readers": [["keepers"]], "reader_lists": [rule]}
    others = [entry for entry in listed if entry["id"] != hidden]
    assert {str(entry["readers"]) + str(entry["reader_lists"]) for entry in others} == {"[['*']][]"}
    assert read_lists(keeper)[0] == {}
    for rules, readers in (
        ([ReadingRule("*aquarium*", ())], [[]]),
        ([ReadingRule("*", ("keepers", "sailors"))], [["keepers", "sailors"]]),
        (
            [ReadingRule("*", ("keepers",)), ReadingRule("/x", ("*",))],
            [["keepers"]],
        ),
    ):
        set_rights(settings, rules)
        assert read_lists(whole)[0]["readers"] == readers
    assert read_lists(keeper)[0] == {}
    # Without rules there is nothing to tell.
    set_rights(settings, [])
    for headers in (whole, keeper):
        assert read_lists(headers)[0] == {}


def test_rules_that_come_during_a_request_tell_no_readers(
    server: TestClient, key: KeyMaker, hidden: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = key(scopes="read", groups=frozenset({"keepers"}))
    app: Any = server.app
    workspaces = app.state.workspaces
    whole = workspaces.get_workspace(LOCAL)
    # As it was chosen before the rules.
    monkeypatch.setattr(workspaces, "get_workspace", lambda caller: whole)
    assert "readers" not in server.get(f"/api/v1/documents/{hidden}", headers=keeper).json()
    assert "readers" not in server.get("/api/v1/documents", headers=keeper).text


def test_the_readers_that_a_document_names_are_hidden_from_its_readers(
    server: TestClient, settings: Settings, key: KeyMaker, tmp_path: Path
) -> None:
    file = tmp_path / "minutes.md"
    file.write_text(f"---\nreaders: [keepers, stewards]\nyear: 2020\n---\n# Minutes\n\n{CANARY}\n")
    with Engine(settings) as engine:
        engine.ingest(file)
        document = engine.documents.get(str(file)).id
    (tmp_path / "minutes.md.readers.toml").write_text('readers = ["keepers", "user:ana"]')
    with Engine(settings) as engine:
        engine.ingest(file)
    whole = key(scopes="read", groups=frozenset({"*"}), name="root")
    keeper = key(scopes="read", groups=frozenset({"keepers"}))
    path = f"/api/v1/documents/{document}"
    limited, full = (server.get(path, headers=headers).json() for headers in (keeper, whole))
    assert limited["metadata"] == {"year": 2020}
    assert "stewards" not in json.dumps(limited)
    assert full["metadata"] == {"year": 2020, "readers": "[keepers, stewards]"}
    assert full["readers"] == [["keepers", "user:ana"], ["keepers", "stewards"]]
    assert [(one["origin"], one["name"]) for one in full["reader_lists"]] == [
        ("sidecar", str(file)),
        ("document", ""),
    ]
    search = {"query": CANARY, "filters": ["readers^=[keepers"]}
    for headers, hits in ((whole, 1), (keeper, 0)):
        reply = server.post("/api/v1/search", json=search, headers=headers).json()
        assert len(reply["hits"]) == hits


def read_kept(server: TestClient, headers: dict[str, str], trace_id: str) -> list[int]:
    """Return the statuses of all ways to a trace; the text is there or not as they say."""
    trace = f"/api/v1/traces/{trace_id}"
    judged = {"trace_id": trace_id, "correct": True}
    replies = [
        server.get(f"/api/v1/answers/{trace_id}", headers=headers),
        server.get(trace, headers=headers),
        server.post(f"{trace}/replay", headers=headers),
        server.post("/api/v1/feedback", json=judged, headers=headers),
    ]
    for reply in replies[:3]:
        assert (CANARY in reply.text) == (reply.status_code == 200)
    listed = server.get("/api/v1/traces", headers=headers).json()["traces"]
    is_listed = trace_id in {summary["id"] for summary in listed}
    assert is_listed == (replies[0].status_code == 200)
    return [reply.status_code for reply in replies]


def test_a_key_has_its_own_traces_while_it_may_read_their_documents(
    server: TestClient, settings: Settings, key: KeyMaker
) -> None:
    whole = key(scopes="read", groups=frozenset({"*"}), name="root")
    keeper = key(scopes="read", groups=frozenset({"keepers"}), name="ana")
    other = key(scopes="read", groups=frozenset({"keepers"}), name="ben")
    again = key(scopes="read", groups=frozenset({"keepers"}), name="ana")
    lower = key(scopes="read", groups=frozenset({"sailors"}), name="ana")
    trace = server.post("/api/v1/ask", json={"question": QUESTION}, headers=keeper).json()
    trace_id = trace["trace_id"]
    visible, missing = [200, 200, 200, 201], [404] * 4
    assert read_kept(server, keeper, trace_id) == visible
    assert server.get(f"/api/v1/answers/{trace_id}", headers=keeper).json() == trace
    assert read_kept(server, again, trace_id) == visible  # another key of the same holder
    assert read_kept(server, whole, trace_id) == visible
    for headers in (other, lower):
        assert read_kept(server, headers, trace_id) == missing
    unknown = server.get("/api/v1/answers/none", headers=keeper).json()
    for wrong in (trace_id[:8], trace_id.upper(), f"{trace_id}%00"):
        reply = server.get(f"/api/v1/answers/{wrong}", headers=keeper)
        assert (reply.status_code, reply.json()["type"]) == (404, unknown["type"])
    # A right that is withdrawn hides what was kept, and one that comes back shows it.
    set_rights(settings, [ReadingRule("*aquarium*", ("user:nobody",))])
    assert read_kept(server, keeper, trace_id) == missing
    assert read_kept(server, whole, trace_id) == visible
    set_rights(settings, [ReadingRule("*aquarium*", ("user:ana",))])
    assert read_kept(server, lower, trace_id) == visible
    set_rights(settings, [])
    assert read_kept(server, other, trace_id) == visible  # without rules all is everybody's


def test_traces_from_before_owners_and_from_this_machine_stay_hidden(
    settings: Settings, key: KeyMaker, hidden: str
) -> None:
    del hidden  # it is ingested
    with Engine(settings) as engine:
        trace_id = engine.ask(QUESTION).trace_id or ""
    with open_client(create_app(settings)) as server:
        keeper = key(scopes="read", groups=frozenset({"keepers"}))
        assert read_kept(server, keeper, trace_id) == [404] * 4
        assert server.get("/api/v1/traces", headers=keeper).json() == {"traces": []}
        # The requests of a viewer must not remove what only others may see.
        set_rights(settings, [ReadingRule("*aquarium*", ("user:nobody",))])
        server.post("/api/v1/ask", json={"question": QUESTION}, headers=keeper)
        whole = key(scopes="read", groups=frozenset({"*"}), name="root")
        assert read_kept(server, whole, trace_id)[:3] == [200] * 3


def test_a_trace_that_holds_turns_of_unknown_documents_is_nobodys(
    server: TestClient, key: KeyMaker
) -> None:
    keeper = key(scopes="read", groups=frozenset({"keepers"}))
    whole = key(scopes="read", groups=frozenset({"*"}))  # of the same name, so of the same owner
    turns = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": f"12 {CANARY}."},
    ]
    asked = {"question": "Where is bitumen emulsion stored?", "history": turns}
    assert server.post("/api/v1/ask", json=asked, headers=keeper).json()["trace_id"] is None
    trace_id = server.post("/api/v1/ask", json=asked, headers=whole).json()["trace_id"]
    first = server.post("/v1/responses", json={"model": "fathom", "input": QUESTION}, headers=whole)
    following = {
        "model": "fathom",
        "input": "Where is bitumen emulsion stored?",
        "previous_response_id": first.json()["id"],
    }
    second = server.post("/v1/responses", json=following, headers=whole).json()["id"]
    for name in (trace_id, second.removeprefix("resp_")):
        assert server.get(f"/api/v1/answers/{name}", headers=whole).status_code == 200
        assert server.get(f"/api/v1/answers/{name}", headers=keeper).status_code == 404


def begin_talk(server: TestClient, headers: dict[str, str]) -> tuple[str, str]:
    """Return the ids of a conversation about the hidden document, and of the trace of its turn."""
    talk = server.post("/api/v1/conversations", json={}, headers=headers).json()["id"]
    asked = {"question": QUESTION, "conversation": talk}
    reply = server.post("/api/v1/ask", json=asked, headers=headers).json()
    assert CANARY in reply["answer"]
    return talk, reply["trace_id"]


def sees_talk(server: TestClient, headers: dict[str, str], talk: str) -> bool:
    """Return whether a conversation opens, is listed and can be continued: all or none of it."""
    asked = {"question": "And how many are there?", "conversation": talk}
    replies = [
        server.get(f"/api/v1/conversations/{talk}", headers=headers),
        server.post("/api/v1/ask", json=asked, headers=headers),
        server.post("/api/v1/ask/stream", json=asked, headers=headers),
    ]
    listed = server.get("/api/v1/conversations?limit=1", headers=headers).json()["conversations"]
    seen = {talk in {one["id"] for one in listed}, *(reply.status_code == 200 for reply in replies)}
    assert len(seen) == 1
    assert (CANARY in replies[0].text) == (replies[0].status_code == 200)
    return seen == {True}


def test_a_key_has_its_own_conversations_while_it_may_read_all_in_them(
    server: TestClient, settings: Settings, key: KeyMaker
) -> None:
    keeper = key(scopes="read", groups=frozenset({"keepers"}), name="ana")
    other = key(scopes="read curate", groups=frozenset({"keepers"}), name="ben")
    talk, _ = begin_talk(server, keeper)
    assert sees_talk(server, keeper, talk)
    assert not sees_talk(server, other, talk)
    removed = server.delete(f"/api/v1/conversations/{talk}", headers=other)
    assert removed.status_code == 404
    set_rights(settings, [ReadingRule("*aquarium*", ())])
    assert not sees_talk(server, keeper, talk)
    set_rights(settings, [ReadingRule("*aquarium*", ("keepers",))])
    assert sees_talk(server, keeper, talk)
    assert server.delete(f"/api/v1/conversations/{talk}", headers=keeper).status_code == 204


def test_a_later_answer_goes_with_the_documents_of_the_turns_before_it(
    server: TestClient, settings: Settings, key: KeyMaker
) -> None:
    keeper = key(scopes="read", groups=frozenset({"keepers"}), name="ana")
    talk, _ = begin_talk(server, keeper)
    asked = {"question": "Where is bitumen emulsion stored?", "conversation": talk}
    filters = {"filters": ["language=en", "path^=/nowhere"]}  # nothing of the document is found
    trace_id = server.post("/api/v1/ask", json={**asked, **filters}, headers=keeper).json()[
        "trace_id"
    ]
    trace = f"/api/v1/traces/{trace_id}"
    assert CANARY in server.get(trace, headers=keeper).text  # in the turns of its question
    set_rights(settings, [ReadingRule("*aquarium*", ())])
    assert server.get(trace, headers=keeper).status_code == 404


def test_a_conversation_in_which_another_asked_is_nobodys(
    server: TestClient, key: KeyMaker
) -> None:
    keeper = key(scopes="read", groups=frozenset({"keepers"}), name="ana")
    whole = key(scopes="read", groups=frozenset({"*"}), name="root")
    talk, _ = begin_talk(server, keeper)
    asked = {"question": "What may root alone know?", "conversation": talk}
    reply = server.post("/api/v1/ask", json=asked, headers=whole).json()
    assert not sees_talk(server, keeper, talk)
    assert sees_talk(server, whole, talk)
    # Its turns are another's, so root does not own what was made from them either.
    lower = key(scopes="read", groups=frozenset({"keepers"}), name="root")
    assert server.get(f"/api/v1/answers/{reply['trace_id']}", headers=lower).status_code == 404


def test_hidden_conversations_do_not_end_a_page_of_the_list(
    server: TestClient, settings: Settings, key: KeyMaker
) -> None:
    keeper = key(scopes="read", groups=frozenset({"keepers"}), name="ana")
    empty = server.post("/api/v1/conversations", json={}, headers=keeper).json()["id"]
    talks = [begin_talk(server, keeper)[0] for _ in range(2)]

    def list_talks(limit: int) -> list[str]:
        url = f"/api/v1/conversations?limit={limit}"
        listed = server.get(url, headers=keeper).json()["conversations"]
        return [talk["id"] for talk in listed]

    assert list_talks(9) == [*talks[::-1], empty]
    set_rights(settings, [ReadingRule("*aquarium*", ())])
    assert list_talks(1) == list_talks(2) == [empty]


def test_many_traces_of_others_hide_no_own_one_from_the_list(
    server: TestClient, settings: Settings, key: KeyMaker
) -> None:
    keeper = key(scopes="read", groups=frozenset({"keepers"}), name="ana")
    other = key(scopes="read", groups=frozenset({"keepers"}), name="ben")
    asked = [
        server.post("/api/v1/ask", json={"question": question}, headers=keeper).json()["trace_id"]
        for question in (QUESTION, "Where is bitumen emulsion stored?")
    ]
    for _ in range(3):
        server.post("/api/v1/ask", json={"question": QUESTION}, headers=other)
    listed = server.get("/api/v1/traces?limit=2", headers=keeper).json()["traces"]
    assert [summary["id"] for summary in listed] == asked[::-1]
    set_rights(settings, [ReadingRule("*aquarium*", ())])
    listed = server.get("/api/v1/traces?limit=1", headers=keeper).json()["traces"]
    assert [summary["id"] for summary in listed] in ([asked[1]], [])


def test_an_idempotency_key_stands_for_the_request_of_one_key(
    server: TestClient, settings: Settings, key: KeyMaker
) -> None:
    def ask(headers: dict[str, str]) -> dict[str, Any]:
        named = {**headers, "Idempotency-Key": "monday"}
        reply = server.post("/api/v1/ask", json={"question": QUESTION}, headers=named)
        return dict(reply.json())

    whole = key(scopes="read", groups=frozenset({"*"}), name="root")
    keeper = key(scopes="read", groups=frozenset({"keepers"}), name="ana")
    other = key(scopes="read", groups=frozenset({"sailors"}), name="ben")
    replies = [ask(headers) for headers in (whole, keeper, other)]
    assert len({reply["trace_id"] for reply in replies}) == 3
    assert CANARY not in json.dumps(replies[2])
    assert ask(keeper) == replies[1]
    set_rights(settings, [ReadingRule("*aquarium*", ("user:nobody",))])
    assert CANARY not in json.dumps(ask(keeper))  # asked again, as the first reply is gone


def test_a_reply_without_a_trace_is_not_given_again_after_a_right_is_withdrawn(
    settings: Settings, key: KeyMaker, hidden: str
) -> None:
    del hidden  # it is ingested
    trace = settings.trace.model_copy(update={"enabled": False})
    without = settings.model_copy(update={"trace": trace})
    keeper = key(scopes="read", groups=frozenset({"keepers"}))
    named = {**keeper, "Idempotency-Key": "monday"}
    with open_client(create_app(without)) as server:
        asked = {"question": QUESTION}
        assert CANARY in server.post("/api/v1/ask", json=asked, headers=named).text
        set_rights(settings, [ReadingRule("*aquarium*", ("user:nobody",))])
        assert CANARY not in server.post("/api/v1/ask", json=asked, headers=named).text


def test_every_route_that_is_open_to_viewers_exists() -> None:
    routers = (api.router, conversation_routes.router, document_routes.router)
    routes = [route for router in routers for route in router.routes]
    paths = {
        (method, route.path)
        for route in routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    assert paths >= OPEN_TO_VIEWERS


def test_users_and_withdrawn_rights_by_chance() -> None:
    check_probes(CHANCE_PLAN, seed=1)


def test_users_and_withdrawn_rights_of_a_database_by_chance(postgres: Server) -> None:
    check_probes(CHANCE_PLAN, seed=2, url=postgres.open_database())


@pytest.mark.slow
def test_fifty_users_and_two_thousand_documents(count_probes: Callable[[int], None]) -> None:
    count_probes(check_probes(Plan(probes=PROBES), seed=SEED).probes)


def check_probes(plan: Plan, *, seed: int = 0, url: str = "") -> RightsCounts:
    counts = run_probes(plan, seed=seed, url=url)
    assert counts.leaks == []
    assert counts.shown > plan.probes  # what somebody may read is shown
    assert counts.withdrawals >= plan.withdrawals
    assert (
        counts.opened > plan.users
    )  # answers to the own questions open, until a right is withdrawn
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
