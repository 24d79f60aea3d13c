"""Uploaded files, and the owner of a document's file: `fathom.serving.http.files`."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from starlette.requests import Request
from tests.index.conftest import make_entry
from tests.serving.http.conftest import open_client
from tests.serving.http.test_document_routes import send_files

from fathom.documents.discover import format_path
from fathom.index.base import SourceRecord
from fathom.index.engines import UPLOADS, EmbeddedIndex
from fathom.serving.http.app import create_app
from fathom.serving.http.document_routes import build_file_reply
from fathom.serving.http.files import UploadedFiles
from fathom.serving.http.uploads import is_upload
from fathom.settings import Settings

UP = "x/../../victim.db"
"""From the folder `c.jsonl#x` among the uploads: a file beside the index."""


def make_records(*names: str) -> bytes:
    return "\n".join(json.dumps({"_id": name, "text": f"Of {name}."}) for name in names).encode()


@pytest.fixture
def victim(settings: Settings) -> Path:
    """Return a file of the server."""
    file = settings.index.directory / "victim.db"
    file.write_text("kept", encoding="utf-8")
    return file


@pytest.fixture
def leading_client(settings: Settings, victim: Path) -> Iterator[TestClient]:
    """Yield a client of an index in which an older version stored a record that leads to the
    victim.
    """
    assert victim.exists()
    folder = (settings.index.directory / UPLOADS).absolute()
    (folder / "c.jsonl#x").mkdir(parents=True)
    (folder / "c.jsonl").write_bytes(make_records(UP))
    entry, source = make_entry(UP, "Of it.", path=f"{folder}/c.jsonl#{UP}")
    corpus = SourceRecord(path=f"{folder}/c.jsonl", digest="", outcome="ok")
    with EmbeddedIndex(settings.index.directory).open_writer(None) as writer:
        writer.put([replace(entry, vectors=None)], [corpus, source])
    with open_client(create_app(settings)) as client:
        yield client


def test_a_record_whose_id_leads_elsewhere_is_refused_and_nothing_is_removed(
    fresh_client: TestClient, victim: Path
) -> None:
    send_files(fresh_client, ("c.jsonl#x/p.txt", b"Makes the folder."))
    job = send_files(
        fresh_client, ("d.jsonl", make_records("good", UP)), ("c.jsonl", make_records(UP, "a"))
    )
    reasons = {file["path"]: file["reason"] for file in job["files"] if file["outcome"] != "ok"}
    assert 'its "_id" holds ".."' in reasons["d.jsonl#(line 2)"]
    ids = {document["id"] for document in fresh_client.get("/api/v1/documents").json()["documents"]}
    assert "good" in ids
    assert fresh_client.delete(f"/api/v1/documents/{UP.replace('..', '%2E%2E')}").status_code == 404
    assert victim.exists()


@pytest.mark.parametrize("name", ["c.jsonl", "C# (1).jsonl", "a#b/c.jsonl"])
def test_removing_a_record_removes_no_file(
    fresh_client: TestClient, settings: Settings, name: str
) -> None:
    send_files(fresh_client, (name, make_records("one/1", "two")))
    send_files(fresh_client, ("one/1", b"Something else."), ("two", b"Some other thing."))
    for record in ("one/1", "two"):
        assert fresh_client.delete(f"/api/v1/documents/{record}").json() == {"removed": 1}
    folder = settings.index.directory / UPLOADS
    files = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    assert files == {name, "one/1", "two"}


@pytest.mark.parametrize("first", [True, False])
def test_removing_a_record_removes_no_upload_named_like_its_place(
    fresh_client: TestClient, settings: Settings, first: bool
) -> None:
    files = [("c.jsonl#x", b"A file of its own."), ("c.jsonl", make_records("x", "y"))]
    for file in files if first else reversed(files):
        send_files(fresh_client, file)
    fresh_client.delete("/api/v1/documents/x")
    assert (settings.index.directory / UPLOADS / "c.jsonl#x").exists()


def test_a_record_of_an_older_version_leads_nowhere_either(
    leading_client: TestClient, victim: Path
) -> None:
    listed = leading_client.get("/api/v1/documents").json()["documents"]
    assert UP in {document["id"] for document in listed}
    address = f"/api/v1/documents/{UP.replace('..', '%2E%2E')}"
    body = leading_client.get(address).json()
    assert (body["file"], body["format"]) == (True, "jsonl")
    assert leading_client.get(f"{address}/file").content == make_records(UP)
    assert leading_client.get(f"{address}/pages/1.png").status_code == 404
    assert leading_client.delete(address).json() == {"removed": 1}
    assert victim.read_text(encoding="utf-8") == "kept"


def test_the_place_of_a_record_is_no_path_even_without_its_file(
    leading_client: TestClient, settings: Settings, victim: Path
) -> None:
    folder = (settings.index.directory / UPLOADS).absolute()
    with EmbeddedIndex(settings.index.directory).open_writer(None) as writer:
        writer.forget([f"{folder}/c.jsonl"])
    address = f"/api/v1/documents/{UP.replace('..', '%2E%2E')}"
    assert leading_client.get(address).json()["file"] is False
    assert leading_client.get(f"{address}/file").status_code == 404
    assert leading_client.delete(address).json() == {"removed": 1}
    assert victim.exists()


def test_only_an_uploaded_file_is_a_file(tmp_path: Path) -> None:
    folder = tmp_path / UPLOADS
    (folder / "a").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "c.txt").touch()
    for name in ("a/b.txt", "C#.txt", ".hidden", "a/.part", "a b"):
        (folder / name).touch()
    (folder / "link.txt").symlink_to(tmp_path / "other" / "c.txt")
    (folder / "own.txt").symlink_to(folder / "a" / "b.txt")
    (folder / "out").symlink_to(tmp_path / "other")
    (folder / "in").symlink_to(folder / "a")
    assert all(is_upload(folder / name, folder) for name in ("a/b.txt", "C#.txt", "a b"))
    others = ["", "a", "none.txt", ".hidden", "a/.part", "link.txt", "own.txt", "out/c.txt"]
    others += [
        "in/b.txt",
        "../other/c.txt",
        "a/../../other/c.txt",
        "a/../a/b.txt",
        "a\0b",
        "x" * 300,
    ]
    files = UploadedFiles(folder)
    for name in others:
        assert not is_upload(Path(f"{folder}/{name}"), folder), name
        files.remove(f"{folder}/{name}")
    assert not is_upload(tmp_path / "other" / "c.txt", folder)
    assert (tmp_path / "other" / "c.txt").exists()
    assert (folder / "a" / "b.txt").exists()
    assert {file.name for file in folder.iterdir()} >= {"link.txt", "own.txt", "out", ".hidden"}


def test_uploads_behind_a_link_of_the_operator_can_be_removed(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "index").symlink_to(tmp_path / "disk")
    folder = tmp_path / "index" / UPLOADS
    folder.mkdir()
    (folder / "a.txt").touch()
    UploadedFiles(folder).remove(str(folder / "a.txt"))
    assert not (folder / "a.txt").exists()


def test_a_file_whose_name_is_not_utf8_is_sent(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"caf\xe9.txt")
    file.touch()
    files, place = UploadedFiles(tmp_path / UPLOADS), format_path(file)
    assert files.has_file(place)
    assert files.get_local_path(place) == file
    disposition = build_file_reply(file, Request({"type": "http", "headers": []})).headers[
        "content-disposition"
    ]
    assert disposition == "inline; filename*=utf-8''caf%5Cxe9.txt"


def test_a_path_that_leads_up_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b.txt").touch()
    files = UploadedFiles(tmp_path / UPLOADS)
    assert files.has_file(str(tmp_path / "b.txt"))
    for path in (f"{tmp_path}/a/../b.txt", f"{tmp_path}/b.txt\0", f"{tmp_path}/{'x' * 300}"):
        assert not files.has_file(path)
        with pytest.raises(FileNotFoundError):
            files.get_local_path(path)
