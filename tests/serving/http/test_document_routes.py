"""Documents over HTTP: `fathom.serving.http.document_routes`, fathom.serving.http.jobs,
fathom.serving.http.uploads, and drawn pages of fathom.documents.sandbox.drawing.
"""

import shutil
import subprocess
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.serving.http.conftest import ROOT, open_client

from fathom import Engine
from fathom.config import parse_settings
from fathom.documents.base import ParseLimits, ParseRefusal
from fathom.documents.sandbox.drawing import draw_page, encode_png
from fathom.errors import IndexMissing
from fathom.index.base import IndexReader
from fathom.index.embedded.opening import LOCK, take_lock
from fathom.index.engines import UPLOADS, EmbeddedIndex
from fathom.ingest.progress import IngestState
from fathom.ingest.report import IngestProgress, IngestReport
from fathom.serving.http import job_queue
from fathom.serving.http.access import LOCAL
from fathom.serving.http.app import create_app
from fathom.serving.http.files import UploadedFiles
from fathom.serving.http.job_queue import Job, create_job_queue
from fathom.serving.http.jobs import Jobs
from fathom.serving.http.uploads import UnstorableFile, make_safe_name
from fathom.settings import Settings

SAMPLES = ROOT / "samples" / "corpus"


def wait_for_job(client: TestClient, job: str, **more: Any) -> dict[str, Any]:
    """Return the job when it is over."""
    while True:
        body: dict[str, Any] = client.get(f"/api/v1/jobs/{job}", **more).json()
        if body["state"] in {"done", "failed"}:
            return body
        time.sleep(0.05)


def send_files(client: TestClient, *files: tuple[str, bytes]) -> dict[str, Any]:
    parts = [("files", file) for file in files]
    reply = client.post("/api/v1/documents", files=parts)
    assert reply.status_code == 202, reply.text
    return wait_for_job(client, reply.json()["job"])


def get_document(client: TestClient, title: str) -> dict[str, Any]:
    listed = client.get("/api/v1/documents").json()["documents"]
    match: dict[str, Any] = next(entry for entry in listed if entry["title"] == title)
    return match


def test_a_text_in_place_of_a_file_is_refused_in_plain_words(fresh_client: TestClient) -> None:
    refused = fresh_client.post("/api/v1/documents", data={"files": "notes.txt"})
    assert refused.status_code == 422
    assert refused.json()["detail"] == "files.0: it is no file"
    assert refused.json()["next"] == "send it with a file name, as `curl -F files=@PATH` does"


def test_uploads_are_read_in_the_background_and_can_be_queried(fresh_client: TestClient) -> None:
    note = b"# Ferry\n\nThe ferry to Osel leaves at 06:40 from pier 9.\n"
    job = send_files(fresh_client, ("trips/ferry.md", note), ("broken.pdf", b"%PDF-1.7\nnothing"))
    assert job["state"] == "done"
    assert (job["files_done"], job["files_total"]) == (2, 2)
    assert job["bytes_done"] == job["bytes_total"] == len(note) + 16
    outcomes = {file["path"]: file for file in job["files"]}
    assert outcomes["trips/ferry.md"]["outcome"] == "ok"
    assert outcomes["broken.pdf"]["outcome"] == "failed"
    assert outcomes["broken.pdf"]["reason"]
    assert job["seconds_left"] is None
    answer = fresh_client.post(
        "/api/v1/ask", json={"question": "When does the ferry to Osel leave?"}
    )
    assert "06:40" in answer.json()["answer"]
    changed = note.replace(b"06:40", b"07:15")
    send_files(fresh_client, ("trips/ferry.md", changed))
    assert fresh_client.get("/api/v1/documents").json()["total"] == 5
    answer = fresh_client.post(
        "/api/v1/ask", json={"question": "When does the ferry to Osel leave?"}
    )
    assert "07:15" in answer.json()["answer"]
    gone = get_document(fresh_client, "Ferry")["id"]
    assert fresh_client.delete(f"/api/v1/documents/{gone}").json() == {"removed": 1}
    assert fresh_client.get(f"/api/v1/documents/{gone}").status_code == 404
    directory = fresh_client.app.state.settings.index.directory  # type: ignore[attr-defined]
    assert not (Path(directory) / UPLOADS / "trips/ferry.md").exists()


def test_documents_are_listed_page_by_page(client: TestClient) -> None:
    first = client.get("/api/v1/documents", params={"limit": 3}).json()
    rest = client.get("/api/v1/documents", params={"limit": 3, "cursor": first["next"]}).json()
    assert first["total"] == rest["total"] == 4
    assert len(first["documents"]) == 3
    assert rest["next"] is None
    paths = [document["path"] for document in (*first["documents"], *rest["documents"])]
    assert paths == sorted(paths)
    assert len(set(paths)) == 4


def test_documents_are_listed_by_words_of_title_or_path(client: TestClient) -> None:
    for words, names in (("REPAIR hand", 1), ("flood-plan.pdf", 1), ("no such words", 0)):
        listed = client.get("/api/v1/documents", params={"words": words, "limit": 1}).json()
        assert (len(listed["documents"]), listed["total"], listed["next"]) == (names, names, None)


def list_paths_by_pages(client: TestClient) -> list[str]:
    """Return the paths of all documents from pages of one document."""
    paths: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = client.get("/api/v1/documents", params={"limit": 1, "cursor": cursor}).json()
        paths += [document["path"] for document in page["documents"]]
        assert len(paths) <= page["total"]
        cursor = page["next"]
    return paths


def test_no_page_skips_a_file_whose_name_extends_another(fresh_client: TestClient) -> None:
    send_files(
        fresh_client,
        ("report", b"Two cranes stand here."),
        ("report (1).md", b"# One\n\nOne crane."),
    )
    listed = [
        document["path"] for document in fresh_client.get("/api/v1/documents").json()["documents"]
    ]
    paths = list_paths_by_pages(fresh_client)
    assert paths == listed
    assert len(paths) == 6


def test_pages_lead_past_names_with_invisible_characters(
    settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    names = ("a\u200bz", "a\u2028b", "a\u4e2dc", "50%25", "50% off")
    for name in names:
        (folder / f"{name}.md").write_text(f"# Ferry\n\nThe ferry {len(name)} {name!r} leaves.\n")
    with Engine(settings) as engine:
        engine.ingest(folder)
    with open_client(create_app(settings)) as client:
        paths = list_paths_by_pages(client)
    assert len(paths) == len(set(paths)) == 4 + len(names)


def test_a_document_is_shown_with_an_outline_into_its_text(client: TestClient) -> None:
    name = get_document(client, "Road Repair Handbook")["id"]
    body = client.get(f"/api/v1/documents/{name}").json()
    text = client.get(f"/api/v1/documents/{name}/text").text
    assert body["length"] == len(text)
    assert body["format"] == "docx"
    assert "Materials" in [section["title"] for section in body["outline"]]
    for section in body["outline"]:
        assert text[section["start"] :].startswith(section["title"])
        assert section["level"] >= 1
    chunks = client.get(f"/api/v1/documents/{name}/chunks").json()["chunks"]
    assert len(chunks) == get_document(client, "Road Repair Handbook")["chunks"]
    assert all(text[chunk["start"] : chunk["end"]] == chunk["text"] for chunk in chunks)


def test_the_original_file_is_downloaded_and_never_opened_by_a_browser(client: TestClient) -> None:
    name = get_document(client, "Road Repair Handbook")["id"]
    reply = client.get(f"/api/v1/documents/{name}/file")
    assert reply.content == (SAMPLES / "road-repair-handbook.docx").read_bytes()
    assert reply.headers["content-disposition"].startswith("attachment")
    assert reply.headers["content-type"] == "application/octet-stream"
    assert "sandbox" in reply.headers["content-security-policy"]


def test_a_file_that_the_client_has_is_not_sent_again(client: TestClient) -> None:
    address = f"/api/v1/documents/{get_document(client, 'Road Repair Handbook')['id']}/file"
    first = client.get(address)
    etag, changed = first.headers["etag"], first.headers["last-modified"]
    for headers in (
        {"If-None-Match": etag},
        {"If-None-Match": f'"other", W/{etag}'},
        {"If-Modified-Since": changed},
    ):
        again = client.get(address, headers=headers)
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    other = client.get(address, headers={"If-None-Match": '"other"', "If-Modified-Since": changed})
    assert (other.status_code, other.content) == (200, first.content)


def test_each_reply_to_a_range_of_a_file_is_described(client: TestClient) -> None:
    address = f"/api/v1/documents/{get_document(client, 'Road Repair Handbook')['id']}/file"
    whole = client.get(address).content
    statuses = {
        line: client.get(address, headers={"Range": line})
        for line in ("bytes=2-5", "bytes=-3", "bytes=a-b", "bytes=999999999-")
    }
    assert statuses["bytes=2-5"].content == whole[2:6]
    assert statuses["bytes=-3"].content == whole[-3:]
    assert [reply.status_code for reply in statuses.values()] == [206, 206, 400, 416]
    paths = client.get("/openapi.json").json()["paths"]
    for path in ("/api/v1/documents/{document_id}/file", "/v1/files/{file_id}/content"):
        replies = paths[path]["get"]["responses"]
        assert {"200", "206", "304", "400", "416"} <= set(replies)
        assert "text/plain" in replies["416"]["content"]


def test_html_is_text_to_a_browser(fresh_client: TestClient) -> None:
    send_files(
        fresh_client,
        ("evil.html", b"<html><body><p>Hello</p><script>alert(1)</script></body></html>"),
    )
    name = next(
        entry["id"]
        for entry in fresh_client.get("/api/v1/documents").json()["documents"]
        if entry["path"].endswith("evil.html")
    )
    reply = fresh_client.get(f"/api/v1/documents/{name}/file")
    assert reply.headers["content-disposition"].startswith("attachment")
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_a_page_of_a_pdf_is_drawn(client: TestClient) -> None:
    name = next(
        entry["id"]
        for entry in client.get("/api/v1/documents").json()["documents"]
        if entry["path"].endswith("flood-plan.pdf")
    )
    body = client.get(f"/api/v1/documents/{name}").json()
    assert body["pages"] >= 1
    page = client.get(f"/api/v1/documents/{name}/pages/1.png", params={"width": 300})
    assert page.headers["content-type"] == "image/png"
    assert page.content.startswith(b"\x89PNG\r\n\x1a\n")
    assert int.from_bytes(page.content[16:20], "big") in {300, 301}
    beyond = client.get(f"/api/v1/documents/{name}/pages/{body['pages'] + 1}.png")
    assert beyond.status_code == 404
    other = get_document(client, "Road Repair Handbook")["id"]
    assert client.get(f"/api/v1/documents/{other}/pages/1.png").status_code == 404


def test_a_picture_has_the_original_pixels() -> None:
    image = encode_png(bytes(range(12)), 2, 2)
    at = image.index(b"IDAT") + 4
    lines = zlib.decompressobj().decompress(image[at:])
    assert lines == b"\0" + bytes(range(6)) + b"\0" + bytes(range(6, 12))


@pytest.mark.parametrize("content", [b"", b"%PDF-1.4\n", b"\0" * 1000])
def test_a_damaged_file_is_not_drawn(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "damaged.pdf"
    file.write_bytes(content)
    with pytest.raises(ParseRefusal):
        draw_page(file, 1, width=300, limits=ParseLimits())


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("a.txt", "a.txt"),
        ("../../etc/passwd", "etc/passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("/etc/cron.d/job", "etc/cron.d/job"),
        ("C:\\docs\\a.txt", "C:/docs/a.txt"),
        ("a\0b\x1b[31m.txt", "ab[31m.txt"),
        ("inv\u202etxt.exe", "invtxt.exe"),
        ("./a//b/./c.md", "a/b/c.md"),
    ],
)
def test_a_name_leads_nowhere_except_below_the_uploads(name: str, stored: str) -> None:
    assert make_safe_name(name) == stored


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../..", "\0", ".env", "a/.git/config", "x" * 300, "/".join("abcdefghij")],
)
def test_a_name_that_cannot_be_stored_has_a_reason(name: str) -> None:
    with pytest.raises(UnstorableFile):
        make_safe_name(name)


def test_accepted_files_are_read_after_a_restart(settings: Settings) -> None:
    file = (settings.index.directory / UPLOADS).absolute() / "late.md"
    file.parent.mkdir(parents=True)
    file.write_text("# Late\n\nThe late bus leaves at 23:55.\n", encoding="utf-8")
    queue = create_job_queue(EmbeddedIndex(settings.index.directory), "an earlier server")
    queue.add(Job(id="00ff", names={str(file): "late.md"}, refused=[]))
    queue.close()
    with open_client(create_app(settings)) as client:
        assert wait_for_job(client, "00ff")["files"][0]["outcome"] == "ok"
        assert get_document(client, "Late")


@dataclass
class PausingEngine:
    """An engine that reports progress when the test lets it."""

    index: EmbeddedIndex
    begun: Event = field(default_factory=Event)
    go: Event = field(default_factory=Event)

    def reader(self, *, checked: bool) -> IndexReader:
        raise IndexMissing(f"nothing is ingested, checked or not: {checked}")

    def ingest(self, _: object, on_progress: IngestProgress) -> None:
        self.begun.set()
        self.go.wait()
        on_progress(IngestReport(), IngestState())


def test_an_upload_waits_while_another_process_writes_to_the_index(
    fresh_client: TestClient, settings: Settings
) -> None:
    jobs = fresh_client.app.state.workspaces.get_workspace(LOCAL).jobs  # type: ignore[attr-defined]
    with take_lock(settings.index.directory):
        sent = fresh_client.post(
            "/api/v1/documents", files=[("files", ("a.md", b"# Pier\n\nNo.\n"))]
        )
        jobs.submit(lambda: None).result()  # work is done in order
        for _ in range(3):  # more often than a job may be begun by servers that die
            jobs.resume()
            jobs.submit(lambda: None).result()
        waiting = jobs.get(sent.json()["job"])
        assert (waiting.state, waiting.starts, waiting.reason) == ("waiting", 0, "")
    job = wait_for_job(fresh_client, sent.json()["job"])
    assert (job["state"], [file["outcome"] for file in job["files"]]) == ("done", ["ok"])


def test_a_server_that_cannot_store_uploads_names_the_folder(
    fresh_client: TestClient, settings: Settings
) -> None:
    (settings.index.directory / UPLOADS).write_text("not a folder")
    reply = fresh_client.post("/api/v1/documents", files=[("files", ("a.md", b"# Pier"))])
    assert (reply.status_code, reply.json()["title"]) == (500, "failed")
    reason = "uploads: File exists; uploads need a folder that the server may write"
    assert reply.json()["detail"].endswith(reason)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield the folder of a disk of 8 MB of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    options = ["-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if not mount or subprocess.run([mount, *options], check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill_disk(file: Path) -> None:
    """Write a file until the disk is full."""
    with suppress(OSError), file.open("ab", buffering=0) as target:
        while True:
            target.write(bytes(4096))


def test_a_server_goes_on_by_itself_after_its_disk_was_full(
    small_disk: Path,
) -> None:
    filler = small_disk / "filler"
    settings = parse_settings({"index.directory": str(small_disk / "index"), "offline": True})
    with open_client(create_app(settings)) as client:
        send_files(client, ("fees.md", b"# Fees\n\nA permit costs 40 crowns.\n"))
        document = f"/api/v1/documents/{get_document(client, 'Fees')['id']}"
        fill_disk(filler)
        (settings.index.directory / LOCK).write_bytes(b"")
        fill_disk(filler)
        reply = client.delete(document)
        assert (reply.status_code, reply.json()["title"]) == (500, "failed")
        assert "the disk is full; free some space, then try again" in reply.json()["detail"]
        filler.unlink()
        late = send_files(client, ("late.md", b"# Late\n\nThe late bus leaves at 23:55.\n"))
        assert [file["outcome"] for file in late["files"]] == ["ok"]
        assert client.delete(document).json() == {"removed": 1}


def test_a_repeated_upload_is_the_same_only_if_names_and_contents_are(
    fresh_client: TestClient,
) -> None:
    def upload(*files: tuple[str, bytes]) -> tuple[int, dict[str, Any]]:
        parts = [("files", file) for file in files]
        headers = {"Idempotency-Key": "upload-1"}
        reply = fresh_client.post("/api/v1/documents", files=parts, headers=headers)
        return reply.status_code, reply.json()

    first = upload(("a.md", b"# Pier 8"), ("b.md", b"# Pier 9"))
    again = upload(("a.md", b"# Pier 8"), ("b.md", b"# Pier 9"))
    assert first == again
    for others in (
        (("a.md", b"# Pier 8"), ("b.md", b"# Pier 7")),
        (("a.md", b"# Pier 9"), ("b.md", b"# Pier 8")),
        (("a.md", b"# Pier 8"),),
    ):
        status, reply = upload(*others)
        assert (status, reply["title"]) == (422, "key reused")
    job = wait_for_job(fresh_client, first[1]["job"])
    assert [file["outcome"] for file in job["files"]] == ["ok", "ok"]


def test_a_job_interrupted_by_the_end_of_the_server_is_continued_later(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n")
    engine = PausingEngine(EmbeddedIndex(tmp_path))
    jobs = Jobs(engine, UploadedFiles(tmp_path))  # type: ignore[arg-type]  # as much of one as is asked
    added = jobs.add({str(tmp_path / "a.md"): "a.md"})
    engine.begun.wait()
    closing = Thread(target=jobs.close, daemon=True)
    closing.start()
    thread = jobs._thread
    while thread is not None and not thread._shutdown:
        time.sleep(0.001)
    engine.go.set()
    closing.join(60)
    assert not closing.is_alive()
    queue = create_job_queue(engine.index, "later")
    assert (job := queue.get(added.id)) is not None
    assert (job.state, job.starts) == ("waiting", 0)
    queue.close()


def test_a_job_over_which_two_servers_died_fails_and_the_next_one_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{number}.md" for number in range(7)]
    for name in names:
        (tmp_path / name).write_text(f"# {name}\n")
    engine = PausingEngine(EmbeddedIndex(tmp_path))
    engine.go.set()
    with monkeypatch.context() as dying:
        dying.setattr(job_queue, "LEASE_S", -1.0)
        first = create_job_queue(engine.index, "first")
        first.add(Job(id="bad", names={str(tmp_path / name): name for name in names}, refused=[]))
        assert first.take()
        second = create_job_queue(engine.index, "second")
        assert second.take()
    jobs = Jobs(engine, UploadedFiles(tmp_path))  # type: ignore[arg-type]  # as much of one as is asked
    jobs.resume(begins=True)
    while (bad := jobs.get("bad")) is None or bad.state in {"waiting", "running"}:
        time.sleep(0.01)
    assert not engine.begun.is_set()
    assert bad.state == "failed"
    assert bad.reason == (
        "2 servers ended while reading 0.md, 1.md, 2.md, 3.md, 4.md and 2 more; "
        "send the files again one by one, without the one that causes it"
    )
    jobs.add({str(tmp_path / "0.md"): "0.md"})
    assert engine.begun.wait(60)
    jobs.close()
    for server in (first, second):
        server.close()


def test_a_job_over_which_one_server_died_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("# A\n")
    engine = PausingEngine(EmbeddedIndex(tmp_path))
    engine.go.set()
    with monkeypatch.context() as dying:
        dying.setattr(job_queue, "LEASE_S", -1.0)
        first = create_job_queue(engine.index, "first")
        first.add(Job(id="good", names={str(tmp_path / "a.md"): "a.md"}, refused=[]))
        assert first.take()
    jobs = Jobs(engine, UploadedFiles(tmp_path))  # type: ignore[arg-type]  # as much of one as is asked
    jobs.resume(begins=True)
    assert engine.begun.wait(60)
    jobs.close()
    first.close()


def delete_while_busy(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, document: str, go_on: Event
) -> Any:
    """Delete a document, let the jobs go on once the deletion waits for them, and return its reply.

    Args:
        client: A client of a server whose jobs wait for the event.
        monkeypatch: The patcher of the test.
        document: The id of the document.
        go_on: The event for which the jobs wait.
    """
    app: Any = client.app
    jobs, is_queued = app.state.workspaces.get_workspace(LOCAL).jobs, Event()
    submit = jobs.submit

    def submit_deletion(work: Any) -> Any:
        future = submit(work)
        is_queued.set()
        return future

    monkeypatch.setattr(jobs, "submit", submit_deletion)
    with ThreadPoolExecutor(1) as threads:
        deletion = threads.submit(client.delete, f"/api/v1/documents/{document}")
        assert is_queued.wait(30)
        go_on.set()
        return deletion.result().json()


def test_a_deletion_leaves_the_newer_file_of_an_upload_that_waits(
    fresh_client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    app: Any = fresh_client.app
    jobs, go_on = app.state.workspaces.get_workspace(LOCAL).jobs, Event()
    send_files(fresh_client, ("pier.md", b"# Old pier\n\nThe pier is closed."))
    old = get_document(fresh_client, "Old pier")["id"]
    jobs.submit(go_on.wait)
    # Of two uploads that wait, the deletion comes between: each one starts the next.
    part = ("files", ("other.md", b"# Other"))
    fresh_client.post("/api/v1/documents", files=[part])
    part = ("files", ("pier.md", b"# New pier\n\nThe pier is open."))
    job = fresh_client.post("/api/v1/documents", files=[part]).json()["job"]
    assert delete_while_busy(fresh_client, monkeypatch, old, go_on) == {"removed": 1}
    assert [file["outcome"] for file in wait_for_job(fresh_client, job)["files"]] == ["ok"]
    assert get_document(fresh_client, "New pier")


def test_a_deletion_leaves_the_file_that_an_upload_before_it_replaced(
    fresh_client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    app: Any = fresh_client.app
    jobs, go_on = app.state.workspaces.get_workspace(LOCAL).jobs, Event()
    old_text = b"# Old pier\n\nThe pier is closed."
    send_files(fresh_client, ("copy.md", old_text), ("pier.md", old_text))
    old = get_document(fresh_client, "Old pier")["id"]
    jobs.submit(go_on.wait)
    part = ("files", ("pier.md", b"# New pier\n\nThe pier is open."))
    job = fresh_client.post("/api/v1/documents", files=[part]).json()["job"]
    assert delete_while_busy(fresh_client, monkeypatch, old, go_on) == {"removed": 1}
    assert [file["outcome"] for file in wait_for_job(fresh_client, job)["files"]] == ["ok"]
    new = get_document(fresh_client, "New pier")["id"]
    assert fresh_client.get(f"/api/v1/documents/{new}").json()["file"]


def check_deletion_during_upload(
    first: TestClient, other: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that a deletion leaves the new file that another server has just stored.

    Args:
        first: A client of the server that deletes the document.
        other: A client of the server that stores a new version of its file.
        monkeypatch: The patcher of the test, which makes a pause before the job is stored.
    """
    send_files(first, ("pier.md", b"# Old pier\n\nThe pier is closed."))
    old = get_document(first, "Old pier")["id"]
    app: Any = other.app
    jobs, is_stored, go_on = app.state.workspaces.get_workspace(LOCAL).jobs, Event(), Event()
    add = jobs.add

    def add_late(*arguments: Any) -> Job:
        is_stored.set()
        go_on.wait()
        job: Job = add(*arguments)
        return job

    monkeypatch.setattr(jobs, "add", add_late)
    part = ("files", ("pier.md", b"# New pier\n\nThe pier is open."))
    with ThreadPoolExecutor() as threads:
        upload = threads.submit(other.post, "/api/v1/documents", files=[part])
        is_stored.wait()
        deletion = threads.submit(first.delete, f"/api/v1/documents/{old}")
        wait([deletion], timeout=2)  # time to remove the file, if nothing prevents that
        go_on.set()
        job = upload.result().json()["job"]
        assert deletion.result().json() == {"removed": 1}
    assert [file["outcome"] for file in wait_for_job(other, job)["files"]] == ["ok"]
    new = get_document(first, "New pier")["id"]
    assert first.get(f"/api/v1/documents/{new}").json()["file"]


def test_a_deletion_leaves_the_file_that_another_server_is_storing(
    fresh_client: TestClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_client(create_app(settings)) as other:
        check_deletion_during_upload(fresh_client, other, monkeypatch)


def test_a_document_that_is_gone_when_its_deletion_begins_is_missing(
    fresh_client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    app: Any = fresh_client.app
    space, go_on = app.state.workspaces.get_workspace(LOCAL), Event()
    send_files(fresh_client, ("pier.md", b"# Old pier\n\nThe pier is closed."))
    old = get_document(fresh_client, "Old pier")["id"]
    space.jobs.submit(go_on.wait)
    space.jobs.submit(lambda: space.engine.documents.remove([old]))
    problem = delete_while_busy(fresh_client, monkeypatch, old, go_on)
    assert (problem["status"], problem["title"]) == (404, "document missing")


def test_a_deletion_leaves_the_file_that_an_upload_stores_meanwhile(
    fresh_client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    app: Any = fresh_client.app
    files = app.state.workspaces.get_workspace(LOCAL).files
    send_files(fresh_client, ("pier.md", b"# Old pier\n\nThe pier is closed."))
    old = get_document(fresh_client, "Old pier")["id"]
    store, is_stored, threads = files.store, Event(), ThreadPoolExecutor(1)

    def store_slowly(uploads: Any) -> Any:
        stored = store(uploads)
        is_stored.set()
        wait([deletion], timeout=3)  # it ends only if it does not wait for the job
        return stored

    def delete_once_stored() -> Any:
        assert is_stored.wait(30)
        return fresh_client.delete(f"/api/v1/documents/{old}").json()

    with threads:
        deletion = threads.submit(delete_once_stored)
        monkeypatch.setattr(files, "store", store_slowly)
        part = ("files", ("pier.md", b"# New pier\n\nThe pier is open."))
        job = fresh_client.post("/api/v1/documents", files=[part]).json()["job"]
    assert [file["outcome"] for file in wait_for_job(fresh_client, job)["files"]] == ["ok"]
    assert get_document(fresh_client, "New pier")


def test_the_first_upload_creates_a_missing_index(tmp_path: Path) -> None:
    settings = parse_settings({"index.directory": str(tmp_path / "index"), "offline": True})
    with open_client(create_app(settings)) as client:
        assert client.get("/api/v1/documents").json() == {"documents": [], "total": 0, "next": None}
        assert client.get("/api/v1/status").json()["index"] is None
        answer = client.post("/api/v1/ask", json={"question": "Where is pier 9?"})
        assert answer.status_code == 409
        assert answer.json()["type"] == "urn:fathom:problem:index_empty"
        assert answer.json()["next"].startswith("upload something (POST /api/v1/documents), or run")
        assert (
            send_files(client, ("a.md", b"# Pier\n\nPier 9 is in the north.\n"))["state"] == "done"
        )
        assert client.get("/api/v1/documents").json()["total"] == 1


BOUNDARY = "xyz"
HEAD = b'Content-Disposition: form-data; name="files"; filename="%b"\r\n'


def make_part(name: bytes, content: bytes, head: bytes = HEAD) -> bytes:
    return b"--xyz\r\n" + (head % name if b"%b" in head else head) + b"\r\n" + content + b"\r\n"


END = b"--xyz--\r\n"
# Python's limit of recursion is 1,000. They are ingested as text, so more of them take longer.
DEEP = b"[" * 10_000
ZIP = b"PK\x03\x04" + b"\0" * 60
FILES = {
    "empty.txt": b"",
    "broken.pdf": b"%PDF-1.7 junk",
    "zeros.pdf": bytes(5000),
    "none.docx": b"hello",
    "cut.docx": ZIP,
    "none.xlsx": b"\xff\xfe",
    "none.odt": bytes(2),
    "cut.epub": ZIP,
    "cut.pptx": b"PK",
    "deep.json": DEEP,
    "cut.json": b"{",
    "none.jsonl": b"{]\n",
    "bomb.xml": b'<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]><a>&d;</a>',
    "cut.xml": b"<a><b>",
    "none.ipynb": b"{}",
    "nothing.eml": b"\r\n\r\n",
    "cut.rtf": b"{\\rtf1{{{{",
    "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(20),
    "program.exe": b"MZ" + bytes(200),
    "foreign.txt": bytes(range(128, 256)) * 40,
    "spaces.md": b" \n\t\n",
    "README": bytes(range(4)),
    "..": b"no name but dots",
    ".env": b"a hidden name",
    "x" * 300 + ".txt": b"a name that is too long",
    "\x01\x02": b"a name of control characters",
    "a/" * 20 + "a.txt": b"too many folders",
}
"""Files that are taken, or not, with a reason each."""
REQUESTS: dict[str, bytes] = {
    "nothing at all": b"",
    "only the end": END,
    "no file": make_part(b"", b"text", b'Content-Disposition: form-data; name="files"\r\n') + END,
    "another field": make_part(b"a.txt", b"x", HEAD.replace(b"files", b"other")) + END,
    "an empty name": make_part(b"", b"x") + END,
    "no head": b"--xyz\r\n\r\nx\r\n" + END,
    "a broken head": b"--xyz\r\nContent-Disposition\r\n\r\nx\r\n" + END,
    "no end": make_part(b"a.txt", b"x"),
    "cut in the head": b"--xyz\r\nContent-Dispo",
    "another boundary": make_part(b"a.txt", b"x").replace(b"xyz", b"abc") + b"--abc--\r\n",
    "a head without end": b"--xyz\r\n" + b"A" * 70_000,
    "a thousand heads": b"--xyz\r\n" + b"X: y\r\n" * 1000 + b"\r\nx\r\n" + END,
    "more files than are taken": make_part(b"a.txt", b"x") * 1001 + END,
    "junk before": b"junk\r\n" + make_part(b"a.txt", b"x") + END,
}
"""Requests that are none."""


# What Starlette has read of a broken request it leaves to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_malformed_uploads_have_a_reason_and_never_break_the_server(tmp_path: Path) -> None:
    assert len(FILES) + len(REQUESTS) == 41
    settings = parse_settings({"index.directory": str(tmp_path / "index"), "offline": True})
    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    with open_client(create_app(settings)) as client:
        for what, body in REQUESTS.items():
            reply = client.post("/api/v1/documents", content=body, headers=headers)
            assert reply.status_code in {202, 400, 422}, (what, reply.text)
            refused = reply.json().get("files") or [{"reason": reply.json().get("detail")}]
            assert all(outcome["reason"] for outcome in refused), what
        body = b"".join(make_part(name.encode(), content) for name, content in FILES.items()) + END
        reply = client.post("/api/v1/documents", content=body, headers=headers)
        job = wait_for_job(client, reply.json()["job"])
        assert job["files_done"] == job["files_total"] == len(FILES)
        outcomes = {file["path"][:200]: file for file in job["files"]}
        assert len(outcomes) == len(FILES)
        silent = [
            name
            for name, outcome in outcomes.items()
            if outcome["outcome"] != "ok" and not outcome["reason"]
        ]
        assert silent == []
        assert client.get("/readyz").status_code == 200
