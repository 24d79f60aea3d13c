"""Several servers of one index on PostgreSQL, each on its own machine.

Covers fathom.serving.http.files, fathom.serving.http.job_queue, fathom.serving.http.accounts,
fathom.index.database, fathom.index.embedded.database, fathom.index.postgres.database,
fathom.index.postgres.uploads, fathom.index.postgres.workspace_tables and
fathom.index.postgres.tables.
"""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from tests.postgres_server import Server
from tests.serving.http.conftest import open_client
from tests.serving.http.test_document_routes import check_deletion_during_upload, wait_for_job

from fathom import Engine
from fathom.config import parse_settings
from fathom.errors import UsageError
from fathom.index.engines import locate_side_directory, switch_workspace
from fathom.serving.http import workspaces
from fathom.serving.http.app import create_app
from fathom.serving.http.keys import Key, create_key_store
from fathom.settings import Settings

API = "/api/v1"
NOTE = b"# Ferry\n\nThe ferry to Osel leaves at 06:40 from pier 9.\n"
QUESTION = "When does the ferry to Osel leave?"


@pytest.fixture
def url(postgres: Server) -> str:
    """Return the URL of an empty workspace."""
    return switch_workspace(postgres.shared, f"s{os.urandom(6).hex()}")


Machine = Callable[[str], TestClient]


def make_settings(url: str, disk: Path, **more: object) -> Settings:
    """Return the settings of a machine whose disk is this folder."""
    tree = {"index.url": url, "index.directory": str(disk), "offline": True}
    return parse_settings(
        {**tree, **{key.replace("__", "."): value for key, value in more.items()}}
    )


@pytest.fixture
def machine(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Return a function that starts a server on a machine of this name."""
    monkeypatch.setattr(workspaces, "WATCH_S", 0.3)
    with ExitStack() as running:

        def start(name: str) -> TestClient:
            app = create_app(make_settings(url, tmp_path / name))
            return running.enter_context(open_client(app))

        yield start


def send_file(client: TestClient, name: str, content: bytes, **more: Any) -> dict[str, Any]:
    reply = client.post(f"{API}/documents", files={"files": (name, content)}, **more)
    assert reply.status_code == 202, reply.text
    body: dict[str, Any] = reply.json()
    return body


def test_an_upload_to_one_server_is_used_shown_and_removed_at_another(
    machine: Machine, tmp_path: Path
) -> None:
    first, other = machine("one"), machine("other")
    job = send_file(first, "trips/ferry.md", NOTE)["job"]
    job_state = wait_for_job(other, job)
    assert [file["path"] for file in job_state["files"]] == ["trips/ferry.md"]
    assert (
        job_state
        == first.get(f"{API}/jobs/{job}").json()
        == other.get(f"{API}/jobs").json()["jobs"][0]
    )
    answer = other.post(f"{API}/ask", json={"question": QUESTION}).json()
    assert "06:40" in answer["answer"]
    assert answer["warnings"] == []  # that the file is not on this machine says nothing
    assert first.get(f"{API}/answers/{answer['trace_id']}").json() == answer
    [document] = other.get(f"{API}/documents").json()["documents"]
    assert other.get(f"{API}/documents/{document['id']}/file").content == NOTE
    assert other.get(f"{API}/documents/{document['id']}").json()["file"] is True
    # On disk is nothing of it but what was fetched to be shown.
    names = {file.name for file in tmp_path.rglob("*.md")}
    assert names == {"ferry.md"}
    assert {file.parent.parent.name for file in tmp_path.rglob("*.md")} == {"fetched"}

    changed = NOTE.replace(b"06:40", b"07:15")
    wait_for_job(first, send_file(other, "trips/ferry.md", changed)["job"])
    [again] = first.get(f"{API}/documents").json()["documents"]  # in the place of the one before
    assert first.get(f"{API}/documents/{again['id']}/file").content == changed
    assert "07:15" in first.post(f"{API}/ask", json={"question": QUESTION}).json()["answer"]
    assert first.delete(f"{API}/documents/{again['id']}").json() == {"removed": 1}
    assert other.get(f"{API}/documents").json()["total"] == 0
    assert other.get(f"{API}/traces").json()["traces"] == []
    while list(tmp_path.rglob("ferry.md")):  # what was fetched goes too, at each of them
        time.sleep(0.1)


def test_files_left_by_a_killed_server_are_removed_at_its_next_start(
    machine: Machine, tmp_path: Path, url: str
) -> None:
    first = machine("one")
    wait_for_job(first, send_file(first, "ferry.md", NOTE)["job"])
    local_copy = locate_side_directory(url, tmp_path / "other") / "uploads" / "ferry.md"
    local_copy.parent.mkdir(parents=True)
    local_copy.write_bytes(NOTE)
    machine("other")
    assert not local_copy.exists()


def test_a_deletion_leaves_the_file_that_another_machine_is_storing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_deletion_during_upload(machine("one"), machine("other"), monkeypatch)


@pytest.mark.parametrize("first", [True, False])
def test_removing_a_record_removes_no_upload_named_like_its_place(
    machine: Machine, url: str, tmp_path: Path, first: bool
) -> None:
    server = machine("one")
    record = b'{"_id": "x", "text": "A record."}'
    files = [("c.jsonl#x", b"A file of its own."), ("c.jsonl", record)]
    for name, content in files if first else reversed(files):
        wait_for_job(server, send_file(server, name, content)["job"])
    server.delete(f"{API}/documents/x")
    with Engine(make_settings(url, tmp_path / "two")) as engine:
        uploads = engine.index.open_uploads()
        assert uploads is not None
        assert [upload.name for upload in uploads.list_uploads()] == ["c.jsonl", "c.jsonl#x"]


def test_uploaded_files_are_available_to_an_ingest_of_all_folders(
    machine: Machine, url: str, tmp_path: Path
) -> None:
    first = machine("one")
    wait_for_job(first, send_file(first, "ferry.md", NOTE)["job"])
    with Engine(make_settings(url, tmp_path / "one")) as engine:
        report = engine.ingest(prune=True)
        assert (report.unchanged, report.removed, report.stale) == (1, 0, 0)
        assert engine.ingest(rebuild=True).new == 1
        assert "06:40" in engine.ask(QUESTION).answer
    assert list(tmp_path.rglob("ferry.md")) == []


def test_conversations_and_feedback_continue_at_another_server(machine: Machine) -> None:
    first, other = machine("one"), machine("other")
    wait_for_job(first, send_file(first, "ferry.md", NOTE)["job"])
    talk = first.post(f"{API}/conversations", json={}).json()["id"]
    body = {"question": QUESTION, "conversation": talk}
    answer = other.post(f"{API}/ask", json=body).json()
    conversation = first.get(f"{API}/conversations/{talk}").json()
    assert [turn["answer"] for turn in conversation["turns"]] == [answer]
    feedback = {"trace_id": answer["trace_id"], "correct": True}
    assert first.post(f"{API}/feedback", json=feedback).status_code == 201
    again = other.post(f"{API}/ask", json={"question": QUESTION}).json()
    assert again["phase"] == "verified"


def test_a_key_counts_at_every_server_and_ends_at_all(machine: Machine, url: str) -> None:
    first, other = machine("one"), machine("other")
    with Engine(make_settings(url, Path("elsewhere"))) as engine:
        keys = create_key_store(engine.index)
        key, text = keys.add(Key(id="", name="ana", scopes=frozenset({"read", "ingest"})))
        headers = {"Authorization": f"Bearer {text}"}
        for client in (first, other):
            assert client.get(f"{API}/documents").status_code == 401
            assert client.get(f"{API}/documents", headers=headers).status_code == 200
        keys.revoke(key.id)
        for client in (first, other):
            assert client.get(f"{API}/documents", headers=headers).status_code == 401
            assert client.get(f"{API}/documents").status_code == 401  # closed without a key too
        assert machine("third").get(f"{API}/documents").status_code == 401
        keys.open_door()
        keys.close()
    for client in (first, other):
        assert client.get(f"{API}/documents", headers=headers).status_code == 401
        assert client.get(f"{API}/documents").status_code == 200  # nobody needs one any more


def test_a_server_whose_keys_were_all_revoked_by_an_older_version_stays_closed(
    machine: Machine, url: str
) -> None:
    first = machine("one")
    talk = first.post(f"{API}/conversations", json={}).json()["id"]
    assert first.delete(f"{API}/conversations/{talk}").status_code == 204  # its id is gone too
    assert first.get(f"{API}/documents").status_code == 200
    with Engine(make_settings(url, Path("elsewhere"))) as engine:
        keys = create_key_store(engine.index)
        keys.revoke(keys.add(Key(id="", name="ana"))[0].id)
        keys.database.execute("DELETE FROM doors")
        keys.close()
    assert first.get(f"{API}/documents").status_code == 401
    assert machine("other").get(f"{API}/documents").status_code == 401


def test_rate_limits_apply_to_all_servers_together(machine: Machine, url: str) -> None:
    clients = [machine("one"), machine("other")]
    with Engine(make_settings(url, Path("elsewhere"))) as engine:
        keys = create_key_store(engine.index)
        added = [keys.add(Key(id="", name="ana", per_minute=20)) for _ in range(2)]
        (key, text), (_, free) = added

        def use_key(number: int) -> int:
            headers = {"Authorization": f"Bearer {text}"}
            reply = clients[number % 2].get(f"{API}/documents", headers=headers)
            return reply.status_code

        for client in clients:
            other = {"Authorization": f"Bearer {free}"}
            assert client.get(f"{API}/documents", headers=other).status_code == 200
        with ThreadPoolExecutor(4) as threads:
            counter = Counter(threads.map(use_key, range(40)))
        assert 20 <= counter[200] <= 30  # one more every three seconds
        assert counter[200] + counter[429] == 40
        keys.revoke(key.id)
        assert keys.database.execute("SELECT key FROM rates WHERE key = ?", (key.id,)) == []
        keys.close()


def test_a_user_who_bypasses_row_level_security_serves_nothing(
    postgres: Server, tmp_path: Path
) -> None:
    url = postgres.open_database().replace("fathom@", "postgres@")
    with Engine(make_settings(url, tmp_path)) as engine:
        keys = create_key_store(engine.index)
        with pytest.raises(UsageError, match="no superuser"):
            keys.has_keys()
        keys.close()


def test_a_repeated_request_to_another_server_is_done_once(
    machine: Machine, postgres: Server
) -> None:
    first, other = machine("one"), machine("other")
    headers = {"Idempotency-Key": "again"}
    job = send_file(first, "ferry.md", NOTE, headers=headers)
    wait_for_job(other, job["job"])
    assert send_file(other, "ferry.md", NOTE, headers=headers) == job
    assert len(first.get(f"{API}/jobs").json()["jobs"]) == 1
    request: dict[str, Any] = {
        "headers": {"Idempotency-Key": "asked"},
        "json": {"question": QUESTION},
    }
    answer = first.post(f"{API}/ask", **request)
    again = other.post(f"{API}/ask", **request)
    assert (again.content, again.headers["content-type"]) == (
        answer.content,
        answer.headers["content-type"],
    )
    assert len(other.get(f"{API}/traces").json()["traces"]) == 1
    reused = {**request, "json": {"question": "Where is pier 9?"}}
    assert machine("third").post(f"{API}/ask", **reused).status_code == 422
    with postgres.connect("d1", "postgres") as connection:  # who sees the rows of all
        [(held,)] = connection.execute(
            "SELECT count(*) FROM fathom.replies WHERE reply LIKE '%06:40%'"
        ).fetchall()
    assert held == 0
    [document] = other.get(f"{API}/documents").json()["documents"]
    other.delete(f"{API}/documents/{document['id']}")
    late = machine("fourth").post(f"{API}/ask", **request)
    assert "06:40" not in late.text


DYING = """
import sys
from pathlib import Path
from fathom.config import parse_settings
from fathom.serving.http import job_queue
from fathom.serving.http.server import run
job_queue.LEASE_S = 2.0
places = {"index.url": sys.argv[1], "index.directory": sys.argv[2]}
settings = parse_settings({**places, "offline": True})
run(settings, host="127.0.0.1", port=0, on_open=lambda address: print(address, flush=True))
"""


@pytest.mark.slow
def test_the_job_of_a_killed_server_is_done_by_another_one(
    machine: Machine, url: str, tmp_path: Path
) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", DYING, url, str(tmp_path / "dying")],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    try:
        address = child.stdout.readline().strip()
        other = machine("other")
        files = [
            ("files", (f"{n}.md", f"# Pier {n}\n\nPier {n} is blue.".encode())) for n in range(60)
        ]
        job = httpx.post(f"{address}api/v1/documents", files=files, timeout=120).json()["job"]
        late = send_file(other, "ferry.md", NOTE)["job"]
        while other.get(f"{API}/jobs/{job}").json()["state"] == "waiting":
            time.sleep(0.02)
    finally:
        child.send_signal(signal.SIGKILL)
        child.stdout.close()
        child.wait(30)
    job_state = wait_for_job(other, job)
    assert [file["outcome"] for file in job_state["files"]] == ["ok"] * 60
    wait_for_job(other, late)
    documents = other.get(f"{API}/documents").json()
    assert documents["total"] == 61
    assert len({document["title"] for document in documents["documents"]}) == 61
