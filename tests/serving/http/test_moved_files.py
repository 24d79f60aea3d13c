"""Uploaded files of an index that was moved: `fathom.serving.http.moved_files`."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.serving.http.conftest import open_client
from tests.serving.http.test_document_routes import send_files, wait_for_job

from fathom import Engine
from fathom.config import parse_settings
from fathom.index.engines import UPLOADS
from fathom.index.rights import ReadingRule
from fathom.serving.http.app import create_app
from fathom.serving.http.jobs import Jobs
from fathom.settings import Settings

COOK = b"# Crew\n\nThe cook of the barge is Anton Vries.\n"
RECORDS = b'{"_id": "one", "text": "The mast is of pine."}\n{"_id": "two", "text": "Tar."}'


def locate(folder: Path) -> Settings:
    return parse_settings({"index.directory": str(folder), "offline": True})


def wait_for_all(client: TestClient) -> list[dict[str, Any]]:
    jobs = client.get("/api/v1/jobs").json()["jobs"]
    return [wait_for_job(client, job["id"]) for job in jobs]


def list_documents(client: TestClient) -> dict[str, str]:
    documents = client.get("/api/v1/documents").json()["documents"]
    return {document["path"]: document["id"] for document in documents}


def test_uploads_move_with_their_index(tmp_path: Path) -> None:
    earlier, present = tmp_path / "earlier", tmp_path / "restored" / "index"
    with open_client(create_app(locate(earlier))) as client:
        send_files(client, ("crew/cook.md", COOK), ("parts.jsonl", RECORDS))
        answer = client.post("/api/v1/ask", json={"question": "Who is the cook of the barge?"})
        trace = answer.json()["trace_id"]
    shutil.copytree(earlier, present)
    shutil.rmtree(earlier)

    with open_client(create_app(locate(present))) as client:
        assert {job["state"] for job in wait_for_all(client)} == {"done"}
        documents = list_documents(client)
        file = present / UPLOADS / "crew" / "cook.md"
        corpus = present / UPLOADS / "parts.jsonl"
        assert documents.keys() == {str(file), f"{corpus}#one", f"{corpus}#two"}
        place = f"/api/v1/documents/{documents[str(file)]}"
        assert client.get(f"{place}/file").content == COOK
        assert client.get(f"/api/v1/answers/{trace}").content == answer.content
        send_files(client, ("crew/cook.md", COOK.replace(b"Anton", b"Zoe")))
        assert list_documents(client).keys() == documents.keys()
        client.delete(f"/api/v1/documents/{list_documents(client)[str(file)]}")
        assert not file.exists()
        assert len(client.get("/api/v1/jobs").json()["jobs"]) == 3


def test_an_accepted_upload_is_read_after_a_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier, present = tmp_path / "earlier", tmp_path / "present"
    with monkeypatch.context() as patch:
        patch.setattr(Jobs, "_wake", lambda _jobs: None)
        with open_client(create_app(locate(earlier))) as client:
            client.post("/api/v1/documents", files=[("files", ("cook.md", COOK))])
    earlier.rename(present)
    with open_client(create_app(locate(present))) as client:
        [job] = wait_for_all(client)
        assert [(file["path"], file["outcome"]) for file in job["files"]] == [("cook.md", "ok")]
        assert list_documents(client).keys() == {str(present / UPLOADS / "cook.md")}


def test_a_moved_document_is_never_opened_to_more_readers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    earlier, present = tmp_path / "earlier", tmp_path / "present"
    with open_client(create_app(locate(earlier))) as client:
        send_files(client, ("cook.md", COOK))
        note = tmp_path / "note.md"
        note.write_text("# Note\n\nThe note is short.\n")
        with Engine(locate(earlier)) as engine:
            engine.ingest(note, rights=[ReadingRule(f"{earlier}/*", ("hr",))])
        accepted = client.post("/api/v1/documents", files=[("files", ("other.md", COOK))])
        wait_for_job(client, accepted.json()["job"])
    earlier.rename(present)
    with open_client(create_app(locate(present))) as client:
        wait_for_all(client)
        assert str(earlier / UPLOADS / "cook.md") in list_documents(client)
        assert str(present / UPLOADS / "cook.md") not in list_documents(client)
    assert "other rules of rights fit it" in caplog.text
