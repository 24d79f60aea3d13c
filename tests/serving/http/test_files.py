"""Files that were sent, and whose file a document is: `fathom.serving.http.files`."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.index.conftest import make_entry
from tests.serving.http.conftest import ADDRESS
from tests.serving.http.test_document_routes import sent

from fathom.index.base import SourceRecord
from fathom.index.engines import EmbeddedIndex
from fathom.serving.http.app import create_app
from fathom.serving.http.files import UploadedFiles
from fathom.serving.http.tables import UPLOADS
from fathom.serving.http.uploads import is_upload
from fathom.settings import Settings

UP = "x/../../victim.db"
"""From the folder `c.jsonl#x` among the uploads: a file beside the index."""


def records(*names: str) -> bytes:
    return "\n".join(json.dumps({"_id": name, "text": f"Of {name}."}) for name in names).encode()


@pytest.fixture
def victim(settings: Settings) -> Path:
    """A file of the server."""
    file = settings.index.directory / "victim.db"
    file.write_text("kept", encoding="utf-8")
    return file


@pytest.fixture
def entered(settings: Settings, victim: Path) -> Iterator[TestClient]:
    """Asks an index into which an earlier Fathom took a record that leads to the victim."""
    assert victim.exists()
    folder = (settings.index.directory / UPLOADS).absolute()
    (folder / "c.jsonl#x").mkdir(parents=True)
    (folder / "c.jsonl").write_bytes(records(UP))
    entry, source = make_entry(UP, "Of it.", path=f"{folder}/c.jsonl#{UP}")
    corpus = SourceRecord(path=f"{folder}/c.jsonl", digest="", outcome="ok")
    with EmbeddedIndex(settings.index.directory).open_writer(None) as writer:
        writer.put([replace(entry, vectors=None)], [corpus, source])
    with TestClient(create_app(settings), base_url=ADDRESS) as client:
        yield client


def test_a_record_whose_id_leads_elsewhere_is_refused_and_nothing_is_removed(
    own: TestClient, victim: Path
) -> None:
    sent(own, ("c.jsonl#x/p.txt", b"Makes the folder."))
    job = sent(own, ("d.jsonl", records("good", UP)), ("c.jsonl", records(UP, "a")))
    reasons = {file["path"]: file["reason"] for file in job["files"] if file["outcome"] != "ok"}
    assert 'its "_id" holds ".."' in reasons["d.jsonl#(line 2)"]
    known = {document["id"] for document in own.get("/api/v1/documents").json()["documents"]}
    assert "good" in known
    assert own.delete(f"/api/v1/documents/{UP.replace('..', '%2E%2E')}").status_code == 404
    assert victim.exists()


@pytest.mark.parametrize("name", ["c.jsonl", "C# (1).jsonl", "a#b/c.jsonl"])
def test_who_removes_a_record_removes_no_file(
    own: TestClient, settings: Settings, name: str
) -> None:
    sent(own, (name, records("one/1", "two")))
    sent(own, ("one/1", b"Something else."), ("two", b"Some other thing."))
    for record in ("one/1", "two"):
        assert own.delete(f"/api/v1/documents/{record}").json() == {"removed": 1}
    folder = settings.index.directory / UPLOADS
    files = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    assert files == {name, "one/1", "two"}


@pytest.mark.parametrize("first", [True, False])
def test_who_removes_a_record_removes_no_upload_that_is_called_like_its_place(
    own: TestClient, settings: Settings, first: bool
) -> None:
    files = [("c.jsonl#x", b"A file of its own."), ("c.jsonl", records("x", "y"))]
    for file in files if first else reversed(files):
        sent(own, file)
    own.delete("/api/v1/documents/x")
    assert (settings.index.directory / UPLOADS / "c.jsonl#x").exists()


def test_what_an_earlier_fathom_took_in_leads_nowhere_either(
    entered: TestClient, victim: Path
) -> None:
    listed = entered.get("/api/v1/documents").json()["documents"]
    assert UP in {each["id"] for each in listed}
    address = f"/api/v1/documents/{UP.replace('..', '%2E%2E')}"
    body = entered.get(address).json()
    assert (body["file"], body["format"]) == (True, "jsonl")
    assert entered.get(f"{address}/file").content == records(UP)
    assert entered.get(f"{address}/pages/1.png").status_code == 404
    assert entered.delete(address).json() == {"removed": 1}
    assert victim.read_text(encoding="utf-8") == "kept"


def test_the_place_of_a_record_is_no_path_though_its_file_is_not_known(
    entered: TestClient, settings: Settings, victim: Path
) -> None:
    folder = (settings.index.directory / UPLOADS).absolute()
    with EmbeddedIndex(settings.index.directory).open_writer(None) as writer:
        writer.forget([f"{folder}/c.jsonl"])
    address = f"/api/v1/documents/{UP.replace('..', '%2E%2E')}"
    assert entered.get(address).json()["file"] is False
    assert entered.get(f"{address}/file").status_code == 404
    assert entered.delete(address).json() == {"removed": 1}
    assert victim.exists()


def test_only_a_file_that_was_sent_is_one(tmp_path: Path) -> None:
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


def test_uploads_behind_a_link_that_the_operator_made_can_be_removed(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "index").symlink_to(tmp_path / "disk")
    folder = tmp_path / "index" / UPLOADS
    folder.mkdir()
    (folder / "a.txt").touch()
    UploadedFiles(folder).remove(str(folder / "a.txt"))
    assert not (folder / "a.txt").exists()


def test_a_path_that_leads_up_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b.txt").touch()
    files = UploadedFiles(tmp_path / UPLOADS)
    assert files.has_file(str(tmp_path / "b.txt"))
    for path in (f"{tmp_path}/a/../b.txt", f"{tmp_path}/b.txt\0", f"{tmp_path}/{'x' * 300}"):
        assert not files.has_file(path)
        with pytest.raises(FileNotFoundError):
            files.get_local_path(path)
