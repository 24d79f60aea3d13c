"""A server synchronizes due sources by itself, and ends in the middle of one without a loss."""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.serving.http.conftest import open_client
from tests.source_worlds import FolderWorld, GitWorld

from fathom import Engine
from fathom.engine.sources import Sources
from fathom.index.rights import EVERYBODY, ReadingRule
from fathom.ingest.sources import sync
from fathom.ingest.sources.base import SourceObject
from fathom.ingest.sources.folder import FolderSource
from fathom.ingest.sources.sync import SyncReport
from fathom.serving.http import source_schedule
from fathom.serving.http.app import create_app
from fathom.settings import Settings

TEXTS = {f"n{number}.md": f"# Notice {number}\n\nText of notice {number}.\n" for number in range(7)}


def wait_until(is_done: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until something has happened."""
    end = time.monotonic() + seconds
    while not is_done():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_schedule, "LOOK_S", 0.05)


def list_names(engine: Engine) -> set[str]:
    """Return the names of the documents of sources."""
    return {Path(item.path).name for item in engine.documents.list()} & {*TEXTS}


def test_due_sources_are_synchronized_and_gone_documents_are_removed(
    settings: Settings, tmp_path: Path
) -> None:
    world = GitWorld(tmp_path / "docs")
    world.write({**TEXTS, "n1.md.readers.toml": 'readers = ["hr"]\n'})
    with Engine(settings) as engine:
        engine.ingest(rights=[ReadingRule("*", (EVERYBODY,))])
        engine.sources.add(world.url, name="docs", every="1m")
        engine.sources.add(str(tmp_path / "away"), name="away", every="1m")
        engine.sources.add(str(tmp_path), name="by-hand")
        with open_client(create_app(settings)):
            wait_until(lambda: all(source.synced for source in engine.sources.list()[::2]))
            assert list_names(engine) == {*TEXTS}
            away, by_hand, docs = engine.sources.list()
            assert "mount it" in away.fault
            assert (docs.fault, docs.running, by_hand.synced) == ("", False, "")
            world.remove("n3.md")
            store = engine.sources._store
            store.set_outcome("docs", "2026-01-01T00:00:00+00:00", "")
            wait_until(lambda: list_names(engine) == {*TEXTS} - {"n3.md"})


def test_a_server_ends_in_the_middle_of_a_source_and_the_next_one_goes_on(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "MOST_OBJECTS", 2)
    world = FolderWorld(tmp_path / "docs")
    world.write(TEXTS)
    fetch, reached, may_go = FolderSource.fetch, threading.Event(), threading.Event()
    fetched: list[str] = []

    def fetch_slowly(source: FolderSource, item: SourceObject, file: Path) -> None:
        fetched.append(item.name)
        if len(fetched) == 4:
            reached.set()
            assert may_go.wait(20)
        fetch(source, item, file)

    monkeypatch.setattr(FolderSource, "fetch", fetch_slowly)
    with Engine(settings) as engine:
        engine.sources.add(world.url, name="docs", every="1h")
        with open_client(create_app(settings)):
            assert reached.wait(20)
            assert engine.sources.list()[0].running
            assert list_names(engine) == {"n0.md", "n1.md"}
            threading.Timer(0.2, may_go.set).start()
        (source,) = engine.sources.list()
        assert (source.running, source.synced) == (False, "")
        assert list_names(engine) <= {f"n{number}.md" for number in range(4)}
        with open_client(create_app(settings)):
            wait_until(lambda: bool(engine.sources.list()[0].synced))
        assert list_names(engine) == {*TEXTS}
        assert sorted(fetched) == sorted(TEXTS)  # none was fetched twice
        assert engine.verify() == []


def test_a_source_that_another_process_holds_is_tried_again(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_schedule, "RETRY_S", 0.1)
    world = FolderWorld(tmp_path / "docs")
    world.write(TEXTS)
    with Engine(settings) as engine:
        with ExitStack() as stack, open_client(create_app(settings)):
            stack.enter_context(engine.index.open_writer(None))
            engine.sources.add(world.url, name="docs", every="1h")
            time.sleep(0.5)
            assert engine.sources.list()[0].synced == ""
            stack.close()
            wait_until(lambda: bool(engine.sources.list()[0].synced))
        assert list_names(engine) == {*TEXTS}


def test_a_source_that_is_requested_while_it_is_read_is_read_again(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = FolderWorld(tmp_path / "docs")
    world.write({"n0.md": TEXTS["n0.md"]})
    fetch, reached, may_go = FolderSource.fetch, threading.Event(), threading.Event()

    def fetch_slowly(source: FolderSource, item: SourceObject, file: Path) -> None:
        reached.set()
        assert may_go.wait(20)
        fetch(source, item, file)

    monkeypatch.setattr(FolderSource, "fetch", fetch_slowly)
    with Engine(settings) as engine:
        engine.sources.add(world.url, name="docs")
        with open_client(create_app(settings)) as client:
            path = "/api/v1/sources/docs/sync"
            assert client.post(path).json()["state"] in {"waiting", "running"}
            assert reached.wait(20)
            world.write({"n1.md": TEXTS["n1.md"]})
            assert client.post(path).json()["state"] == "running"
            may_go.set()
            wait_until(lambda: list_names(engine) == {"n0.md", "n1.md"})
            world.write({"n2.md": TEXTS["n2.md"]})
            client.post(path)
            wait_until(lambda: "n2.md" in list_names(engine))


def test_a_request_that_was_taken_is_pending_until_it_is_done(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = FolderWorld(tmp_path / "docs")
    world.write({"n0.md": TEXTS["n0.md"]})
    sync_source, reached, may_go = Sources.sync, threading.Event(), threading.Event()

    def sync_late(sources: Sources, name: str, **options: Any) -> SyncReport:
        reached.set()
        assert may_go.wait(20)
        return sync_source(sources, name, **options)

    monkeypatch.setattr(Sources, "sync", sync_late)
    with Engine(settings) as engine:
        engine.sources.add(world.url, name="docs")
        with open_client(create_app(settings)) as client:

            def get_state() -> str:
                state: str = client.get("/api/v1/sources").json()["sources"][0]["state"]
                return state

            client.post("/api/v1/sources/docs/sync")
            assert reached.wait(20)
            assert get_state() == "waiting"
            may_go.set()
            wait_until(lambda: get_state() == "idle")
            assert list_names(engine) == {"n0.md"}
