"""OpenAI's own client uploads files, groups them in vector stores and searches there."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import openai
import pytest
from fastapi.testclient import TestClient
from openai import OpenAI
from openai.types import FileObject, VectorStore
from openai.types.responses import Response, ResponseFileSearchToolCall, ResponseStreamEvent
from pydantic import TypeAdapter
from tests.postgres_server import Server
from tests.serving.http.conftest import KeyMaker, make_settings, serve_app

from fathom import Engine
from fathom.config import parse_settings
from fathom.serving.http.access import LOCAL
from fathom.serving.http.app import create_app
from fathom.serving.http.object_store import ObjectData, create_object_store
from fathom.settings import Settings

MODEL = "fathom-naive"
QUESTION = "How long is the notice period of the ferry crew?"
NORTH = b"# Northern ferry\n\nThe notice period of the ferry crew is seven weeks.\n"
SOUTH = b"# Southern ferry\n\nThe notice period of the ferry crew is nine months.\n"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def address(settings: Settings) -> Iterator[str]:
    with serve_app(create_app(settings)) as address:
        yield address


@pytest.fixture
def client(address: str) -> Iterator[OpenAI]:
    with connect(address) as client:
        yield client


def connect(address: str) -> OpenAI:
    """Return a client, which its caller closes."""
    return OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)


def upload(client: OpenAI, content: bytes, name: str = "ferry.md") -> FileObject:
    return client.files.create(file=(name, content), purpose="assistants")


def make_store(client: OpenAI, *contents: bytes) -> VectorStore:
    """Return a vector store of new files that are all ingested."""
    store = client.vector_stores.create(name="ferries")
    files = [("ferry.md", content) for content in contents]
    batch = client.vector_stores.file_batches.upload_and_poll(
        store.id, files=files, poll_interval_ms=20
    )
    assert batch.status == "completed"
    assert batch.file_counts.completed == len(contents)
    return client.vector_stores.retrieve(store.id)


def ask(client: OpenAI, *stores: VectorStore, **more: object) -> Response:
    tool: Any = {"type": "file_search", "vector_store_ids": [store.id for store in stores], **more}
    return client.responses.create(
        model=MODEL,
        input=QUESTION,
        tools=[tool],
        include=["file_search_call.results"],
    )


def test_an_answer_comes_from_the_files_of_its_vector_store(client: OpenAI, address: str) -> None:
    north, south = make_store(client, NORTH), make_store(client, SOUTH)
    for store, words in ((north, "seven weeks"), (south, "nine months")):
        response = ask(client, store)
        assert words in response.output_text
        call, message = response.output
        assert call.type == "file_search_call"
        assert call.queries == [QUESTION]
        [file] = client.vector_stores.files.list(store.id)
        assert {result.file_id for result in call.results or ()} == {file.id}
        assert message.type == "message"
        [content] = message.content
        assert content.type == "output_text"
        [annotation] = content.annotations
        assert annotation.type == "file_citation"
        assert (annotation.file_id, annotation.filename) == (file.id, "ferry.md")
        again = client.responses.retrieve(response.id, include=["file_search_call.results"])
        assert again.output == response.output
        trace = response.id.removeprefix("resp_")
        replayed = httpx.post(f"{address}/api/v1/traces/{trace}/replay").json()
        assert (replayed["same"], replayed["missing"]) == (True, [])


def test_a_stream_reports_the_search_and_ends_with_the_same_output(client: OpenAI) -> None:
    store = make_store(client, NORTH)
    events = list(
        client.responses.create(
            model=MODEL,
            input=QUESTION,
            tools=[{"type": "file_search", "vector_store_ids": [store.id]}],
            tool_choice={"type": "file_search"},
            stream=True,
        )
    )
    for event in events:
        TypeAdapter(ResponseStreamEvent).validate_python(event.model_dump())
    names = [event.type for event in events]
    assert "response.file_search_call.searching" in names
    assert events[-1].type == "response.completed"
    first, last = events[-1].response.output
    assert isinstance(first, ResponseFileSearchToolCall)
    assert last.type == "message"
    deltas = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert deltas == events[-1].response.output_text


def test_a_search_finds_only_the_files_of_the_store_whose_attributes_fit(client: OpenAI) -> None:
    store = make_store(client, NORTH)
    other = upload(client, SOUTH, "south.md")
    client.vector_stores.files.create_and_poll(
        other.id, vector_store_id=store.id, attributes={"year": 2024}, poll_interval_ms=20
    )
    results = list(client.vector_stores.search(store.id, query="notice period"))
    assert {result.filename for result in results} == {"ferry.md", "south.md"}
    assert all(0 <= result.score <= 1 for result in results)
    assert [result.score for result in results] == sorted(
        (result.score for result in results), reverse=True
    )
    least = sum(result.score for result in results) / 2
    good = client.vector_stores.search(
        store.id, query="notice period", ranking_options={"score_threshold": least}
    )
    assert list(good) == [result for result in results if result.score >= least]
    assert len(list(client.vector_stores.search(store.id, query="crew", max_num_results=1))) == 1
    newer = client.vector_stores.search(
        store.id,
        query=["notice period", "ferry crew"],
        filters={
            "type": "and",
            "filters": [
                {"type": "gte", "key": "year", "value": 2024},
                {"type": "nin", "key": "year", "value": [2025, "2024"]},
            ],
        },
    )
    [result] = newer
    assert (result.file_id, result.attributes) == (other.id, {"year": 2024})
    assert "nine months" in result.content[0].text
    assert not list(
        client.vector_stores.search(
            store.id, query="x", filters={"type": "eq", "key": "year", "value": "2024"}
        )
    )


def test_equal_files_are_found_under_the_name_that_the_store_has(client: OpenAI) -> None:
    make_store(client, NORTH)
    store = client.vector_stores.create(file_ids=[upload(client, NORTH, "copy.md").id])
    while client.vector_stores.retrieve(store.id).status == "in_progress":
        pass
    [result] = client.vector_stores.search(store.id, query="notice period")
    assert result.filename == "copy.md"
    for file in client.files.list():
        if file.filename == "copy.md":
            client.files.delete(file.id)
    assert not list(client.vector_stores.search(store.id, query="notice period"))
    assert client.files.list().data[0].status == "processed"


def test_a_list_is_read_page_by_page_while_its_items_are_deleted(client: OpenAI) -> None:
    store = make_store(client, *(b"# Text %d" % number for number in range(5)))
    members = client.vector_stores.files.list(store.id, limit=2, order="asc")
    assert len(members.data) == 2
    assert members.has_next_page()
    names = [member.id for member in client.vector_stores.files.list(store.id, limit=2)]
    assert names == sorted(names, reverse=True)
    assert len(names) == 5
    earlier = client.vector_stores.files.list(store.id, before=names[3], limit=2)
    assert [member.id for member in earlier.data] == names[1:3]
    for file in client.files.list(limit=2, purpose="assistants"):
        assert client.files.delete(file.id).deleted
    assert client.files.list().data == []
    assert client.vector_stores.retrieve(store.id).file_counts.total == 0
    assert client.vector_stores.delete(store.id).deleted
    assert client.vector_stores.list().data == []


def test_a_deleted_file_is_gone_from_index_stores_and_answers(client: OpenAI) -> None:
    store = make_store(client, NORTH)
    [file] = client.files.list()
    assert client.files.content(file.id).read() == NORTH
    response = ask(client, store)
    client.files.delete(file.id)
    assert "seven weeks" not in ask(client, store).output_text
    for missing in (
        lambda: client.files.retrieve(file.id),
        lambda: client.files.content(file.id),
        lambda: client.files.delete(file.id),
        lambda: client.vector_stores.files.retrieve(file.id, vector_store_id=store.id),
        lambda: client.responses.retrieve(response.id),
    ):
        with pytest.raises(openai.NotFoundError):
            missing()


def test_a_file_that_is_deleted_before_it_was_read_is_never_read(
    fresh_client: TestClient,
) -> None:
    app: Any = fresh_client.app
    jobs, go_on = app.state.workspaces.get_workspace(LOCAL).jobs, Event()
    jobs.submit(go_on.wait)
    files = []
    for content in (NORTH, SOUTH):
        sent: Any = {"files": {"file": ("a.md", content)}, "data": {"purpose": "user_data"}}
        files.append(fresh_client.post("/v1/files", **sent).json())
    assert [file["status"] for file in files] == ["uploaded", "uploaded"]
    with ThreadPoolExecutor(1) as threads:
        deletion = threads.submit(fresh_client.delete, f"/v1/files/{files[1]['id']}")
        go_on.set()
        assert deletion.result().json()["deleted"]
    while jobs.list_open():
        time.sleep(0.01)
    titles = [row["title"] for row in fresh_client.get("/api/v1/documents").json()["documents"]]
    assert "Northern ferry" in titles
    assert "Southern ferry" not in titles


def test_a_detached_file_stays_a_file(client: OpenAI) -> None:
    store = make_store(client, NORTH, SOUTH)
    [first] = [
        file for file in client.files.list() if client.files.content(file.id).read() == NORTH
    ]
    client.vector_stores.files.delete(first.id, vector_store_id=store.id)
    assert "seven weeks" not in ask(client, store).output_text
    assert client.files.retrieve(first.id).status == "processed"
    client.vector_stores.files.create_and_poll(first.id, vector_store_id=store.id)
    assert client.vector_stores.retrieve(store.id).file_counts.completed == 2


def test_name_and_metadata_of_a_store_change_alone_or_together(client: OpenAI) -> None:
    store = client.vector_stores.create(name="ferries", metadata={"town": "north"})
    assert client.vector_stores.update(store.id, name="boats").metadata == {"town": "north"}
    changed = client.vector_stores.update(store.id, metadata={"town": "south"})
    assert (changed.name, changed.metadata) == ("boats", {"town": "south"})
    assert client.vector_stores.retrieve(store.id) == changed
    assert client.vector_stores.update(store.id, metadata=None).metadata == {}
    with pytest.raises(openai.BadRequestError, match="expires_after"):
        client.vector_stores.update(store.id, expires_after={"anchor": "last_active_at", "days": 1})
    client.vector_stores.delete(store.id)
    with pytest.raises(openai.NotFoundError):
        client.vector_stores.update(store.id, name="ships")
    assert client.vector_stores.list().data == []


def test_two_changes_of_an_object_at_the_same_time_are_both_kept(settings: Settings) -> None:
    with Engine(settings) as engine:
        objects = create_object_store(engine.index)
        objects.put("vector_store", "vs_1", {"name": "", "metadata": {}})

        def rename(stored: ObjectData) -> ObjectData:
            if not stored["metadata"]:
                town = {"metadata": {"town": "north"}}
                objects.change("vector_store", "vs_1", lambda data: {**data, **town})
            return {**stored, "name": "boats"}

        changed = objects.change("vector_store", "vs_1", rename)
        assert changed == {"name": "boats", "metadata": {"town": "north"}}
        assert objects.get("vector_store", "vs_1") == changed
        objects.remove("vs_1")
        assert objects.change("vector_store", "vs_1", rename) is None
        assert objects.get("vector_store", "vs_1") is None
        objects.close()


def test_a_search_follows_the_changed_attributes_of_a_file(client: OpenAI) -> None:
    store = make_store(client, NORTH)
    [file] = client.vector_stores.files.list(store.id)
    files = client.vector_stores.files
    only_2024: Any = {"type": "eq", "key": "year", "value": 2024}
    changes: list[tuple[Any, int]] = [({"year": 2024}, 1), ({"place": "north"}, 0), (None, 0)]
    for attributes, count in changes:
        member = files.update(file.id, vector_store_id=store.id, attributes=attributes)
        assert member.attributes == (attributes or {})
        assert files.retrieve(file.id, vector_store_id=store.id) == member
        results = client.vector_stores.search(store.id, query="crew", filters=only_2024)
        assert len(results.data) == count
    files.delete(file.id, vector_store_id=store.id)
    with pytest.raises(openai.NotFoundError):
        files.update(file.id, vector_store_id=store.id, attributes={})


def test_the_text_of_a_file_is_read_through_its_store(client: OpenAI) -> None:
    store = make_store(client, NORTH)
    [file] = client.vector_stores.files.list(store.id)
    [part] = client.vector_stores.files.content(file.id, vector_store_id=store.id)
    assert part.type == "text"
    assert "seven weeks" in (part.text or "")


def test_a_cancelled_batch_keeps_what_was_ready(fresh_client: TestClient) -> None:
    app: Any = fresh_client.app
    jobs, go_on = app.state.workspaces.get_workspace(LOCAL).jobs, Event()
    files = []
    for content in (NORTH, SOUTH):
        sent: Any = {"files": {"file": ("a.md", content)}, "data": {"purpose": "user_data"}}
        files.append(fresh_client.post("/v1/files", **sent).json()["id"])
        while not files[1:] and jobs.list_open():
            time.sleep(0.01)
        jobs.submit(go_on.wait)
    store = f"/v1/vector_stores/{fresh_client.post('/v1/vector_stores', json={}).json()['id']}"
    batch = fresh_client.post(f"{store}/file_batches", json={"file_ids": files}).json()
    assert batch["status"] == "in_progress"
    cancelled = fresh_client.post(f"{store}/file_batches/{batch['id']}/cancel").json()
    assert cancelled["status"] == "cancelled"
    assert cancelled["file_counts"] == {
        "in_progress": 0,
        "completed": 1,
        "failed": 0,
        "cancelled": 1,
        "total": 2,
    }
    go_on.set()
    while jobs.list_open():
        time.sleep(0.01)
    assert fresh_client.get(f"{store}/file_batches/{batch['id']}").json() == cancelled
    listed = fresh_client.get(f"{store}/files?filter=cancelled").json()["data"]
    assert [member["id"] for member in listed] == files[1:]
    search = fresh_client.post(f"{store}/search", json={"query": "notice period"}).json()
    assert {result["file_id"] for result in search["data"]} == {files[0]}
    again = fresh_client.post(f"{store}/files", json={"file_id": files[1]}).json()
    assert again["status"] == "completed"


def test_a_file_that_cannot_be_read_fails_with_its_reason(client: OpenAI) -> None:
    store = client.vector_stores.create()
    member = client.vector_stores.files.upload_and_poll(
        vector_store_id=store.id, file=("broken.pdf", b"%PDF-1.7 and no more"), poll_interval_ms=20
    )
    assert member.status == "failed"
    assert member.last_error
    assert member.last_error.message
    assert client.files.retrieve(member.id).status == "error"
    failed = client.vector_stores.files.list(store.id, filter="failed")
    assert [listed.id for listed in failed] == [member.id]
    assert not list(client.vector_stores.search(store.id, query="anything"))


def test_a_file_of_records_is_searched_record_by_record(client: OpenAI) -> None:
    lines = b'{"_id": "a", "text": "Ash is grey."}\n{"_id": "b", "text": "Birch is white."}\n'
    store = client.vector_stores.create()
    client.vector_stores.files.upload_and_poll(
        vector_store_id=store.id, file=("trees.jsonl", lines), poll_interval_ms=20
    )
    results = list(client.vector_stores.search(store.id, query="birch"))
    assert len(results) == 2
    assert "Birch" in results[0].content[0].text
    assert results[0].filename == "trees.jsonl"


def test_files_and_stores_survive_a_restart(settings: Settings) -> None:
    with serve_app(create_app(settings)) as address, connect(address) as client:
        store = make_store(client, NORTH)
        client.vector_stores.files.create(
            store.id, file_id=upload(client, SOUTH).id, attributes={"side": "south"}
        )
        response = ask(client, store)
    with serve_app(create_app(settings)) as address, connect(address) as client:
        while client.vector_stores.retrieve(store.id).status == "in_progress":
            pass
        assert client.vector_stores.retrieve(store.id).file_counts.completed == 2
        again = client.responses.retrieve(response.id, include=["file_search_call.results"])
        assert again.output[0] == response.output[0]
        only_south = {"type": "eq", "key": "side", "value": "south"}
        assert "nine months" in ask(client, store, filters=only_south).output_text


def test_two_servers_of_a_database_share_files_and_stores(postgres: Server, tmp_path: Path) -> None:
    tree = {"index.url": postgres.open_database(), "offline": True}
    first, second = (
        create_app(parse_settings({**tree, "index.directory": str(tmp_path / name)}))
        for name in ("first", "second")
    )
    with (
        serve_app(first) as one,
        serve_app(second) as other,
        connect(one) as client,
        connect(other) as second_client,
    ):
        store = make_store(client, NORTH, SOUTH)
        assert second_client.vector_stores.retrieve(store.id).file_counts.completed == 2
        assert "weeks" in ask(second_client, store).output_text
        for file in second_client.vector_stores.files.list(store.id):
            if second_client.files.content(file.id).read() == NORTH:
                second_client.files.delete(file.id)
        [result] = client.vector_stores.search(store.id, query="notice period")
        assert "nine months" in result.content[0].text


@pytest.mark.parametrize(
    ("method", "path", "fields", "status"),
    [
        ("GET", "files/file-1", {}, 404),
        ("GET", "vector_stores/vs_1", {}, 404),
        ("GET", "vector_stores/vs_1/files", {}, 404),
        ("POST", "vector_stores/vs_1", {"json": {"name": "x"}}, 404),
        ("POST", "vector_stores/vs_1", {"json": {"name": 3}}, 400),
        ("POST", "vector_stores/vs_1/files/file-1", {"json": {"attributes": {}}}, 404),
        ("POST", "vector_stores/vs_1/files/file-1", {"json": {}}, 400),
        ("GET", "vector_stores/vs_1/files/file-1/content", {}, 404),
        ("GET", "vector_stores/vs_1/file_batches/vsfb_1", {}, 404),
        ("POST", "vector_stores/vs_1/file_batches/vsfb_1/cancel", {}, 404),
        ("POST", "vector_stores/vs_1/search", {"json": {"query": "x"}}, 404),
        ("POST", "vector_stores", {"json": {"file_ids": ["file-1"]}}, 404),
        (
            "POST",
            "vector_stores",
            {"json": {"expires_after": {"anchor": "last_active_at", "days": 1}}},
            400,
        ),
        ("POST", "files", {"files": {"file": ("a.md", b"a")}, "data": {"purpose": "batch"}}, 400),
        (
            "POST",
            "files",
            {"files": {"file": (".a", b"a")}, "data": {"purpose": "assistants"}},
            400,
        ),
        ("POST", "files", {"data": {"purpose": "assistants"}}, 400),
        ("GET", "files?limit=0", {}, 400),
        (
            "POST",
            "responses",
            {"json": {"input": "x", "tools": [{"type": "file_search"}]}},
            400,
        ),
        (
            "POST",
            "responses",
            {
                "json": {
                    "input": "x",
                    "tools": [{"type": "file_search", "vector_store_ids": ["vs"]}],
                }
            },
            404,
        ),
        ("POST", "responses", {"json": {"input": "x", "tool_choice": "required"}}, 400),
        ("POST", "vector_stores", {"json": {"file_ids": ["f" * 101]}}, 400),
        ("POST", "vector_stores/vs/file_batches", {"json": {"file_ids": ["f" * 101]}}, 400),
        (
            "POST",
            "vector_stores",
            {"content": b'{"file_ids": ["\\ud800"]}', "headers": JSON},
            400,
        ),
    ],
)
def test_an_impossible_request_is_refused_in_openais_form(
    fresh_client: TestClient, method: str, path: str, fields: dict[str, Any], status: int
) -> None:
    reply = fresh_client.request(method, f"/v1/{path}", **fields)
    assert reply.status_code == status
    assert reply.json()["error"]["message"]


def test_a_key_that_only_reads_cannot_change_files_or_stores(
    fresh_client: TestClient, key: KeyMaker
) -> None:
    reader, writer = key(scopes="read"), key(scopes="read ingest")
    sent: Any = {"files": {"file": ("ferry.md", NORTH)}, "data": {"purpose": "assistants"}}
    file = fresh_client.post("/v1/files", headers=writer, **sent).json()["id"]
    body = {"file_ids": [file]}
    store = fresh_client.post("/v1/vector_stores", json=body, headers=writer).json()["id"]
    below = f"/v1/vector_stores/{store}"
    changes: list[tuple[str, str, Any]] = [
        ("POST", "/v1/files", sent),
        ("DELETE", f"/v1/files/{file}", {}),
        ("POST", "/v1/vector_stores", {"json": body}),
        ("DELETE", below, {}),
        ("POST", f"{below}/files", {"json": {"file_id": file}}),
        ("DELETE", f"{below}/files/{file}", {}),
        ("POST", below, {"json": {"name": "other"}}),
        ("POST", f"{below}/files/{file}", {"json": {"attributes": {}}}),
        ("POST", f"{below}/file_batches", {"json": body}),
        ("POST", f"{below}/file_batches/vsfb_1/cancel", {}),
    ]
    for method, path, fields in changes:
        reply = fresh_client.request(method, path, headers=reader, **fields)
        assert reply.status_code == 403, path
    for path in ("/v1/files", f"/v1/files/{file}", "/v1/vector_stores", below, f"{below}/files"):
        assert fresh_client.get(path, headers=reader).status_code == 200, path
    search = fresh_client.post(f"{below}/search", json={"query": "ferry"}, headers=reader)
    assert search.status_code == 200


def test_a_tenant_sees_no_file_and_no_store_of_another(
    fresh_client: TestClient, key: KeyMaker
) -> None:
    one, other = key(workspace="one"), key(workspace="other")
    sent: Any = {"files": {"file": ("ferry.md", NORTH)}, "data": {"purpose": "assistants"}}
    file = fresh_client.post("/v1/files", headers=one, **sent).json()["id"]
    body = {"file_ids": [file]}
    store = fresh_client.post("/v1/vector_stores", json=body, headers=one).json()["id"]
    below = f"/v1/vector_stores/{store}"
    for path in (f"/v1/files/{file}", f"/v1/files/{file}/content", below, f"{below}/files"):
        assert fresh_client.get(path, headers=one).status_code == 200, path
        assert fresh_client.get(path, headers=other).status_code == 404, path
    for path in ("/v1/files", "/v1/vector_stores"):
        assert fresh_client.get(path, headers=other).json()["data"] == []
    assert fresh_client.delete(f"/v1/files/{file}", headers=other).status_code == 404
    assert fresh_client.delete(below, headers=other).status_code == 404
    attached = fresh_client.post("/v1/vector_stores", json=body, headers=other)
    assert attached.status_code == 404
    tool = {"type": "file_search", "vector_store_ids": [store]}
    asked = {"model": MODEL, "input": QUESTION, "tools": [tool]}
    assert fresh_client.post("/v1/responses", json=asked, headers=other).status_code == 404


def test_a_server_that_is_full_refuses_searches(fresh_client: TestClient) -> None:
    sent: Any = {"files": {"file": ("ferry.md", NORTH)}, "data": {"purpose": "assistants"}}
    body = {"file_ids": [fresh_client.post("/v1/files", **sent).json()["id"]]}
    store = fresh_client.post("/v1/vector_stores", json=body).json()["id"]
    search = f"/v1/vector_stores/{store}/search"
    while not fresh_client.post(search, json={"query": "ferry"}).json()["data"]:
        time.sleep(0.05)
    app: Any = fresh_client.app
    app.state.asking.admission.close()
    tool = {"type": "file_search", "vector_store_ids": [store]}
    for path, request in (
        (search, {"query": "ferry"}),
        ("/v1/responses", {"input": QUESTION, "tools": [tool]}),
    ):
        reply = fresh_client.post(path, json=request)
        assert (reply.status_code, reply.headers["x-should-retry"]) == (503, "true")


def test_an_upload_may_be_larger_than_other_bodies(corpus: Path, tmp_path: Path) -> None:
    settings = make_settings(corpus, tmp_path, **{"serve.upload_mb": 6})
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8000") as client:
        for megabytes, status in ((5, 200), (7, 413)):
            files = {"file": ("large.bin", bytes(megabytes << 20))}
            reply = client.post("/v1/files", files=files, data={"purpose": "user_data"})
            assert reply.status_code == status
