"""A server synchronizes a source that is a folder soon after a change in it."""

import time
from pathlib import Path
from typing import Any

import pytest
from tests.serving.http.conftest import open_client
from tests.serving.http.test_source_schedule import TEXTS, list_names, wait_until
from tests.source_worlds import FolderWorld

from fathom import Engine
from fathom.engine.sources import Sources
from fathom.ingest.sources.sync import SyncReport
from fathom.serving import notifications
from fathom.serving.http import folder_watch, source_schedule
from fathom.serving.http.app import create_app
from fathom.settings import Settings

pytest.importorskip("watchfiles")
LATE = "n6.md"


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_schedule, "LOOK_S", 0.05)
    monkeypatch.setattr(notifications, "PACE_S", 0.2)
    monkeypatch.setattr(notifications, "LONGEST_S", 0.5)
    monkeypatch.setattr(folder_watch, "REST_S", 0.3)


class CountedSyncs:
    """The synchronizations of a server, which really run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        self.running = self.most = 0
        sync = Sources.sync

        def count_sync(sources: Sources, name: str, **rest: Any) -> SyncReport:
            self.names.append(name)
            self.running += 1
            self.most = max(self.most, self.running)
            try:
                return sync(sources, name, **rest)
            finally:
                self.running -= 1

        monkeypatch.setattr(Sources, "sync", count_sync)

    def have_rested(self) -> bool:
        """Return whether none begins for a second."""
        before = len(self.names)
        time.sleep(1)
        return len(self.names) == before


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> CountedSyncs:
    return CountedSyncs(monkeypatch)


def test_a_change_makes_a_folder_due_and_rest_makes_none(
    settings: Settings, tmp_path: Path, syncs: CountedSyncs
) -> None:
    world = FolderWorld(tmp_path / "docs")
    world.write({name: text for name, text in TEXTS.items() if name != LATE})
    with Engine(settings) as engine:
        engine.sources.add(world.url, name="docs", every="1d")
        engine.sources.add(str(tmp_path), name="by-hand")
        with open_client(create_app(settings)):
            wait_until(lambda: list_names(engine) == {*TEXTS} - {LATE})
            world.write({LATE: TEXTS[LATE]})
            wait_until(lambda: list_names(engine) == {*TEXTS})
            world.remove("n3.md")
            wait_until(lambda: list_names(engine) == {*TEXTS} - {"n3.md"})
            engine.sources.pause("docs")
            world.write({"n3.md": TEXTS["n3.md"]})
            time.sleep(1)
            assert list_names(engine) == {*TEXTS} - {"n3.md"}
            engine.sources.pause("docs", paused=False)
            wait_until(lambda: list_names(engine) == {*TEXTS})
            # A synchronization that made the next one would never come to rest.
            wait_until(syncs.have_rested)
    assert set(syncs.names) == {"docs"}
    assert syncs.most == 1
