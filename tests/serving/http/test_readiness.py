"""The readiness of a server that `/readyz` reports: `fathom.serving.http.readiness`."""

import sqlite3
import time
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.serving.http.conftest import open_client

from fathom import Engine
from fathom.config import parse_settings
from fathom.index.embedded.schema import FILE, SCHEMA_VERSION
from fathom.serving.http.app import create_app
from fathom.settings import Settings
from fathom.text import analyzer


@pytest.fixture
def note(tmp_path: Path) -> Path:
    note = tmp_path / "fees.md"
    note.write_text("# Fees\n\nA permit costs 40 crowns.\n")
    return note


@pytest.fixture
def own_settings(tmp_path: Path) -> Settings:
    return parse_settings({"index.directory": str(tmp_path / "index"), "offline": True})


def wait_until_unready(client: TestClient) -> dict[str, object]:
    """Return the problem that `/readyz` reports once the server has tried the index."""
    for _ in range(600):
        reply = client.get("/readyz")
        if reply.status_code != 200:
            assert reply.status_code == 503
            assert reply.headers["retry-after"]
            problem: dict[str, object] = reply.json()
            return problem
        time.sleep(0.1)
    raise AssertionError("the server calls itself ready")


def test_an_index_of_an_older_version_is_not_ready_until_it_is_made_anew(
    note: Path, own_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older, Engine(own_settings) as engine:
        older.setattr(analyzer, "VERSION", "1")
        engine.ingest(note)
    with open_client(create_app(own_settings)) as client:
        problem = wait_until_unready(client)
        assert problem["type"] == "urn:fathom:problem:not_ready"
        assert "another version of Fathom" in str(problem["detail"])
        assert problem["next"] == "run `fathom ingest --rebuild PATH...`"
        assert str(own_settings.index.directory) not in str(problem)
        with Engine(own_settings) as engine:
            engine.ingest(note, rebuild=True)
        assert client.get("/readyz").json() == {"status": "ready"}
        assert client.post("/api/v1/ask", json={"question": "What does a permit cost?"}).is_success


def test_an_index_of_another_layout_is_not_ready(note: Path, own_settings: Settings) -> None:
    with Engine(own_settings) as engine:
        engine.ingest(note)
    connection = sqlite3.connect(own_settings.index.directory / FILE)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    with open_client(create_app(own_settings)) as client:
        problem = wait_until_unready(client)
        assert problem["next"] == "run `fathom ingest --rebuild PATH...`"
        assert str(own_settings.index.directory) not in str(problem)


def test_a_damaged_index_is_not_ready(own_settings: Settings) -> None:
    own_settings.index.directory.mkdir()
    (own_settings.index.directory / FILE).write_bytes(b"no database" * 1000)
    with open_client(create_app(own_settings)) as client:
        problem = wait_until_unready(client)
        assert "damaged" in str(problem["detail"])
        assert str(own_settings.index.directory) not in str(problem)


def test_a_server_without_an_index_is_ready_for_the_first_upload(own_settings: Settings) -> None:
    with open_client(create_app(own_settings)) as client:
        assert client.get("/readyz").json() == {"status": "ready"}
