"""A backup of an index in use is whole: `fathom.index.embedded.backup`."""

import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.factories import (
    QUESTION,
    drop_privileges,
    engine_at,
    index_fees,
    open_public_folder,
)
from tests.index.conftest import make_entry

from fathom.errors import IndexCorrupt, IndexMissing, RunError, UsageError
from fathom.index.base import Entry, SourceRecord
from fathom.index.embedded.backup import UNFINISHED, back_up_index
from fathom.index.embedded.opening import open_reader, open_writer, verify
from fathom.ingest.sources.crawl_state import CrawlState, StoredPage

EntryFactory = Callable[..., tuple[Entry, SourceRecord]]

CHILD = """
import os, signal, sys
from pathlib import Path
from fathom.index.embedded.backup import back_up_index

def die(path):
    if str(path) == sys.argv[3]:
        os.kill(os.getpid(), signal.SIGKILL)

back_up_index(Path(sys.argv[1]), Path(sys.argv[2]), on_file=die)
"""


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """Return the folder of an index with a trace, the data of a server and an uploaded file."""
    with engine_at(index_fees(tmp_path)) as engine:
        engine.ask(QUESTION)
    index = tmp_path / "index"
    (index / "uploads" / "trips").mkdir(parents=True)
    (index / "uploads" / "trips" / "ferry.md").write_text("A ferry.")
    for file in ("keys.db", "conversations.db", "workspaces/hr/keys.db"):
        (index / file).parent.mkdir(parents=True, exist_ok=True)
        with sqlite3.connect(index / file) as connection:
            connection.execute("CREATE TABLE names(name)")
            connection.execute("INSERT INTO names VALUES ('ana')")
        connection.close()
    return index


def test_a_backup_holds_all_but_what_is_derived(served: Path, tmp_path: Path) -> None:
    order: list[str] = []
    backup = back_up_index(
        served, tmp_path / "backup", on_file=lambda path: order.append(str(path))
    )
    databases = [
        "conversations.db",
        "keys.db",
        "workspaces/hr/keys.db",
        "traces.db",
        "fathom.db",
    ]
    assert order == [*databases, "uploads/trips/ferry.md"]
    files = [path for path in backup.folder.rglob("*") if path.is_file()]
    assert sorted(str(path.relative_to(backup.folder)) for path in files) == sorted(order)
    assert (backup.files, backup.size) == (6, sum(path.stat().st_size for path in files))
    assert backup.folder.stat().st_mode & 0o777 == 0o700
    assert (backup.folder / "fathom.db").stat().st_mode & 0o777 == 0o600


def test_a_restored_backup_answers_replays_and_takes_changes(served: Path, tmp_path: Path) -> None:
    back_up_index(served, tmp_path / "elsewhere" / "backup")
    with engine_at(tmp_path) as engine:
        before = engine.ask(QUESTION).answer, engine.status().content
        trace = engine.traces.list()[-1].id
    shutil.rmtree(served)
    shutil.copytree(tmp_path / "elsewhere" / "backup", served)
    with engine_at(tmp_path) as engine:
        assert (engine.ask(QUESTION).answer, engine.status().content) == before
        assert engine.replay(trace).same
        (tmp_path / "corpus" / "more.md").write_text("# Boats\n\nA boat needs a number.\n")
        engine.ingest()
        assert (engine.status().documents, engine.verify()) == (2, [])


def test_a_database_of_a_source_that_is_read_meanwhile_is_whole(
    served: Path, tmp_path: Path
) -> None:
    with closing(CrawlState(served / "sources" / "site")) as state:
        state.put("https://a.example/", StoredPage(address="https://a.example/"))
        backup = back_up_index(
            served,
            tmp_path / "backup",
            on_file=lambda path: state.put(f"https://a.example/{path}", StoredPage(address="x")),
        )
    names = [path.name for path in (backup.folder / "sources" / "site").iterdir()]
    assert names == ["pages.db"]


def test_objects_that_a_source_has_fetched_are_left_out(served: Path, tmp_path: Path) -> None:
    for file in ("sources/disk/staging/thumbs.db", "sources/disk/kept.txt", "w/staging/a.txt"):
        (served / file).parent.mkdir(parents=True, exist_ok=True)
        (served / file).write_text("no database")
    folder = back_up_index(served, tmp_path / "backup").folder
    assert {file.name for file in (folder / "sources").rglob("*")} == {"disk", "kept.txt"}
    assert (folder / "w" / "staging" / "a.txt").is_file()


def test_a_workspace_or_a_source_may_be_called_like_the_folder_of_uploads(
    served: Path, tmp_path: Path
) -> None:
    (served / "workspaces" / "hr").rename(served / "workspaces" / "uploads")
    (served / "workspaces" / "uploads" / "uploads").mkdir()
    (served / "workspaces" / "uploads" / "uploads" / "a.db").write_text("no database")
    (served / "sources" / "uploads" / "staging").mkdir(parents=True)
    (served / "sources" / "uploads" / "staging" / "a.txt").touch()
    with closing(sqlite3.connect(served / "workspaces" / "uploads" / "keys.db")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("INSERT INTO names VALUES ('bob')")
        connection.commit()
        folder = back_up_index(served, tmp_path / "backup", uploads="uploads").folder
    workspace = folder / "workspaces" / "uploads"
    assert sorted(path.name for path in workspace.rglob("*")) == ["a.db", "keys.db", "uploads"]
    assert not (folder / "sources" / "uploads").exists()
    with closing(sqlite3.connect(workspace / "keys.db")) as connection:
        assert connection.execute("SELECT count(*) FROM names").fetchone() == (2,)


def test_a_folder_that_cannot_be_listed_is_reported(served: Path) -> None:
    with open_public_folder() as place:
        index = shutil.copytree(served, place / "index")
        with drop_privileges(place):
            (index / "uploads" / "trips").chmod(0)
            with pytest.raises(RunError, match=r"trips: Permission denied; the backup is not"):
                back_up_index(index, place / "backup")
            assert not (place / "backup").exists()
            (index / "uploads" / "trips").chmod(0o700)


def close_folder(folder: Path) -> None:
    """Leave only the rights to read, as a mounted snapshot does."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o500 if path.is_dir() else 0o400)


@pytest.mark.parametrize("is_in_use", [False, True])
def test_a_snapshot_that_cannot_be_written_is_backed_up_with_its_logs(
    served: Path, *, is_in_use: bool
) -> None:
    with open_public_folder() as place:
        snapshot = place / "snapshot"
        with closing(sqlite3.connect(served / "traces.db")) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE late(name)")
            connection.execute("INSERT INTO late VALUES ('log')")
            connection.commit()
            if is_in_use:
                shutil.copytree(served, snapshot)
        if not is_in_use:
            shutil.copytree(served, snapshot)
        assert (snapshot / "traces.db-wal").exists() == is_in_use
        with drop_privileges(place):
            close_folder(snapshot)
            backup = back_up_index(snapshot, place / "backup").folder
            with closing(sqlite3.connect(backup / "traces.db")) as copied:
                assert copied.execute("SELECT name FROM late").fetchall() == [("log",)]
            assert (backup / "uploads" / "trips" / "ferry.md").read_text() == "A ferry."


def test_a_log_that_cannot_be_read_without_writing_is_not_left_out(served: Path) -> None:
    with open_public_folder() as place:
        snapshot = shutil.copytree(served, place / "snapshot")
        (snapshot / "traces.db-shm").unlink(missing_ok=True)
        (snapshot / "traces.db-wal").write_bytes(b"changes")
        with drop_privileges(place):
            close_folder(snapshot)
            with pytest.raises(RunError, match=r"traces\.db-wal: .*; copy the folder to a disk"):
                back_up_index(snapshot, place / "backup")
            assert not (place / "backup").exists()


def test_documents_that_come_meanwhile_are_whole_or_absent(tmp_path: Path) -> None:
    stop = threading.Event()
    with open_writer(tmp_path / "index", {"a": "1"}, ann_from_chunks=3) as writer:
        entry, source = make_entry("first", "one", "two")
        writer.put([entry], [source])

        def add_documents() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                added, place = make_entry(f"d{number}", "old and new", f"words of {number}")
                writer.put([added], [place])

        adding = threading.Thread(target=add_documents)
        adding.start()
        try:
            backups = [back_up_index(tmp_path / "index", tmp_path / f"b{n}") for n in range(5)]
        finally:
            stop.set()
            adding.join()
    counts = []
    for backup in backups:
        with open_reader(backup.folder) as reader:
            names = [summary.id for summary in reader.list_documents()]
            assert "first" in names
            entries = [reader.get_entry(name) for name in names]
            assert all(entry is not None and len(entry.chunks) == 2 for entry in entries)
            hits = reader.keyword_search("old", k=1000)
            assert len(hits) == len(names) - 1
            counts.append(len(names))
        assert verify(backup.folder) == []
    assert counts == sorted(counts)


@pytest.mark.parametrize("file", ["keys.db", "fathom.db", "uploads/trips/ferry.md"])
def test_a_kill_leaves_no_backup_and_the_next_one_is_whole(
    served: Path, tmp_path: Path, file: str
) -> None:
    target = tmp_path / "backup"
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(served), str(target), file],
        capture_output=True,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    assert not target.exists()
    assert (tmp_path / f"backup{UNFINISHED}").is_dir()
    assert back_up_index(served, target).files == 6
    assert not (tmp_path / f"backup{UNFINISHED}").exists()


def test_a_file_that_is_removed_meanwhile_is_left_out(served: Path, tmp_path: Path) -> None:
    other = served / "uploads" / "a.md"
    other.write_text("A file.")

    def remove_upload(path: Path) -> None:
        if path.name == "a.md":
            other.unlink()

    assert back_up_index(served, tmp_path / "backup", on_file=remove_upload).files == 6
    assert not (tmp_path / "backup" / "uploads" / "a.md").exists()


def test_a_link_out_of_the_folder_is_not_followed(served: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (served / "uploads" / "link.md").symlink_to(tmp_path / "secret")
    assert back_up_index(served, tmp_path / "backup").files == 6


@pytest.mark.parametrize("name", ["uploads", "workspaces", "workspaces/hr", "keys.db"])
def test_a_link_of_the_operator_to_another_disk_is_followed(
    served: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "disk").mkdir()
    moved = (served / name).rename(tmp_path / "disk" / "moved")
    (served / name).symlink_to(moved)
    assert back_up_index(served, tmp_path / "backup").files == 6
    assert not (tmp_path / "backup" / name).is_symlink()


def test_a_link_to_a_disk_that_is_missing_is_reported(served: Path, tmp_path: Path) -> None:
    shutil.rmtree(served / "uploads")
    (served / "uploads").symlink_to(tmp_path / "disk")
    with pytest.raises(RunError, match=r"uploads: a link that leads nowhere; mount its disk"):
        back_up_index(served, tmp_path / "backup")


def test_a_backup_replaces_nothing(served: Path, tmp_path: Path) -> None:
    back_up_index(served, tmp_path / "backup")
    before = sorted((tmp_path / "backup").iterdir())
    with pytest.raises(UsageError, match=r"backup: not empty; name a new folder"):
        back_up_index(served, tmp_path / "backup")
    assert sorted((tmp_path / "backup").iterdir()) == before
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"file: not a folder; name a new folder"):
        back_up_index(served, tmp_path / "file")
    with pytest.raises(UsageError, match=r"lies inside the index; name a folder outside"):
        back_up_index(served, served / "uploads" / "backup")
    with pytest.raises(IndexMissing):
        back_up_index(tmp_path / "nowhere", tmp_path / "other")
    (tmp_path / "empty").mkdir()
    assert back_up_index(served, tmp_path / "empty").files == 6


def test_the_folder_of_a_backup_may_be_the_working_directory(
    served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    backup = back_up_index(served, Path())
    assert backup.folder == tmp_path / "here"
    assert (backup.folder / "fathom.db").is_file()


def test_a_damaged_database_is_reported_and_nothing_remains(served: Path, tmp_path: Path) -> None:
    (served / "keys.db").write_bytes(b"SQLite format 3\0" + b"\1" * 5000)
    with pytest.raises(IndexCorrupt, match=r"keys\.db"):
        back_up_index(served, tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


def test_a_full_disk_is_reported_in_one_line(
    served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(source: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))

    monkeypatch.setattr(shutil, "copy2", fail)
    with pytest.raises(RunError, match=r"ferry\.md: No space left on device; the backup is not"):
        back_up_index(served, tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


def test_an_upload_may_have_the_name_of_a_database(served: Path, tmp_path: Path) -> None:
    for name in ("figures.db", "notes/fathom.db", "notes/lock", "tantivy/list.md"):
        (served / "uploads" / name).parent.mkdir(parents=True, exist_ok=True)
        (served / "uploads" / name).write_text("no database")
    backup = back_up_index(served, tmp_path / "backup", uploads="uploads")
    assert backup.files == 10
    assert (backup.folder / "uploads" / "notes" / "lock").read_text() == "no database"
    assert (backup.folder / "uploads" / "figures.db").read_text() == "no database"
