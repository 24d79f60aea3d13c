import logging
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.postgres_server import Server

from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.index.rights import ReadingRule
from fathom.ingest.sources.store import FILE as SOURCE_FILE
from fathom.serving.http import source_schedule
from fathom.serving.http.access import Caller
from fathom.serving.http.folder_watch import FolderWatch
from fathom.serving.http.job_queue import Job, create_job_queue
from fathom.serving.http.keys import Key
from fathom.serving.http.source_schedule import SourceSchedule
from fathom.serving.http.tables import JOB_TABLES
from fathom.serving.http.workspaces import FOLDER, MOST_UNUSED, Workspaces


def test_a_temporarily_unreadable_folder_ends_no_watch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spaces = Workspaces(Engine(parse_settings({"index.directory": str(tmp_path), "offline": True})))

    def fail() -> Sequence[str]:
        raise PermissionError(13, "Permission denied", "keys")

    with caplog.at_level(logging.WARNING):
        spaces.resume(fail)
    spaces.close()
    assert "the open jobs cannot be resumed: [Errno 13] Permission denied: 'keys'" in caplog.text


def break_workspace(folder: Path, name: str) -> None:
    """Make a workspace below an index whose databases cannot be read."""
    place = folder / FOLDER / name
    place.mkdir(parents=True)
    for file in (JOB_TABLES.file, SOURCE_FILE):
        (place / file).write_bytes(b"no database" * 500)


def test_a_damaged_workspace_does_not_stop_the_jobs_of_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = parse_settings({"index.directory": str(tmp_path), "offline": True})
    break_workspace(tmp_path, "a")
    spaces = Workspaces(Engine(settings))
    later = spaces.get_workspace(Caller(workspace="b"))
    file = tmp_path / "pier.md"
    file.write_text("# Pier\n\nThe pier is blue.\n")
    queue = create_job_queue(later.engine.index, "an ended server")
    queue.add(Job(id="1", names={str(file): file.name}, refused=[]))
    queue.close()
    spaces.resume()
    end = time.monotonic() + 20
    while later.jobs.list_open() and time.monotonic() < end:
        time.sleep(0.05)
    job = later.jobs.get("1")
    spaces.close()
    assert job is not None
    assert job.state == "done"
    assert "the open jobs of workspace 'a' cannot be resumed" in caplog.text


def test_a_damaged_workspace_does_not_stop_the_sources_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_schedule, "LOOK_S", 0.05)
    settings = parse_settings({"index.directory": str(tmp_path / "index"), "offline": True})
    break_workspace(tmp_path / "index", "a")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "pier.md").write_text("# Pier\n\nThe pier is blue.\n")
    spaces = Workspaces(Engine(settings))
    sources = spaces.get_workspace(Caller(workspace="b")).engine.sources
    sources.add(str(docs), name="docs", every="1d")
    schedule = SourceSchedule(spaces, tuple)
    watch = FolderWatch(spaces, tuple, schedule.request)
    assert docs in set(watch._iterate_folders())
    schedule.start()
    end = time.monotonic() + 20
    while not sources.list()[0].synced and time.monotonic() < end:
        time.sleep(0.05)
    synced = sources.list()[0].synced
    schedule.close()
    spaces.close()
    assert synced


def test_engines_of_viewers_that_nobody_uses_are_closed_with_their_connections(
    postgres: Server, tmp_path: Path
) -> None:
    url = postgres.open_database()
    tree = {"index.url": url, "index.directory": str(tmp_path / "disk"), "offline": True}
    callers = [Caller(key=Key(id=str(number), name=f"u{number}")) for number in range(30)]
    readers = tuple(f"user:u{number}" for number in range(30))
    (tmp_path / "pier.md").write_text("# Pier\n\nThe pier is blue.\n")
    engine = Engine(parse_settings(tree))
    engine.ingest(tmp_path / "pier.md", rights=[ReadingRule("*", readers)])
    spaces = Workspaces(engine)
    used = spaces.get_workspace(callers[0])
    engines = [used.engine]
    for caller in callers[1:]:
        engines.append(spaces.get_workspace(caller).engine)
        assert len(engines[-1].search("pier", retriever="keyword")) == 1
    with postgres.connect(f"d{postgres.databases}", "postgres") as connection:
        [(count,)] = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        ).fetchall()
    assert MOST_UNUSED < count < MOST_UNUSED + 8  # with those of the server itself
    assert spaces.get_workspace(callers[0]).engine is engines[0]  # in use all the time
    assert spaces.get_workspace(callers[-1]).engine is engines[-1]  # used last
    assert spaces.get_workspace(callers[1]).engine is not engines[1]
    spaces.close()
