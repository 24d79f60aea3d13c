"""A synchronization fetches once, removes what no source has, and keeps what cannot be read."""

import errno
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import postgres_server
from tests.factories import open_public_folder
from tests.source_worlds import FolderWorld, GitWorld

from fathom.engine import Engine
from fathom.errors import IndexLocked, UsageError
from fathom.index.rights import EVERYBODY, ReadingRule, Viewer
from fathom.ingest.sources import sync
from fathom.ingest.sources.store import FILE
from fathom.testing import make_engine

TEXTS = {f"n{number}.md": f"# Notice {number}\n\nText of notice {number}.\n" for number in range(7)}


def test_objects_fetched_before_an_interruption_are_not_fetched_again(tmp_path: Path) -> None:
    world = GitWorld(tmp_path / "docs")
    world.write(TEXTS)
    with make_engine(tmp_path / "index") as engine:
        engine.sources.add(world.url, name="notices")
        engine.ingest([tmp_path / "docs" / "n0.md"])
        with engine.index.open_writer(None), pytest.raises(IndexLocked):
            engine.sources.sync("notices")
        staging = tmp_path / "index" / "sources" / "notices" / "staging"
        assert len(list(staging.iterdir())) == 7
        report = engine.sources.sync("notices")
        assert (report.listed, report.fetched, report.fault) == (7, 0, "")
        assert not staging.exists()
        assert len([item for item in engine.documents.list() if "://" in item.path]) == 6


def test_large_sources_are_fetched_in_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "MOST_OBJECTS", 3)
    world = FolderWorld(tmp_path / "docs")
    world.write(TEXTS)
    with make_engine(tmp_path / "index") as engine:
        engine.sources.add(world.url)
        staging = tmp_path / "index" / "sources" / "docs" / "staging"
        sizes = []
        report = engine.sources.sync(
            "docs", on_object=lambda _report: sizes.append(len(list(staging.iterdir())))
        )
        assert report.ingested.new == 7
        assert max(sizes) == 2
        monkeypatch.setattr(sync, "MOST_BYTES", 1)
        world.write({name: f"{text}\nMore.\n" for name, text in TEXTS.items()})
        assert engine.sources.sync("docs").ingested.changed == 7


def test_a_document_stays_as_long_as_one_source_has_it(tmp_path: Path) -> None:
    world = FolderWorld(tmp_path / "docs")
    world.write({"a/one.md": "# One\n\nText one.\n", "two.md": "# Two\n\nText two.\n"})
    with make_engine(tmp_path / "index") as engine:
        engine.sources.add(world.url, name="all")
        engine.sources.add(str(world.folder / "a"), name="part")
        engine.sources.sync("all")
        engine.sources.sync("part")
        assert engine.sources.remove("all") == 1
        assert [Path(item.path).name for item in engine.documents.list()] == ["one.md"]
        assert engine.sources.remove("part") == 1


def test_an_object_that_cannot_be_read_keeps_its_document_and_is_told(tmp_path: Path) -> None:
    world = FolderWorld(tmp_path / "docs")
    world.write(TEXTS)
    with make_engine(tmp_path / "index", {"limits.file_mb": 1}) as engine:
        engine.sources.add(world.url)
        engine.sources.sync("docs")
        world.write({"n1.md": "x" * 2_000_000})
        for _ in range(2):
            report = engine.sources.sync("docs")
            assert (report.fault, report.ingested.failed, report.ingested.unchanged) == ("", 1, 6)
            (failure,) = [file for file in report.ingested.files if file.is_bad]
            assert (Path(failure.path).name, failure.reason[:19]) == (
                "n1.md",
                "holds more than 1 M",
            )
        assert len(list(engine.documents.list())) == 7


def test_a_file_of_a_folder_whose_name_is_not_utf_8_is_read(tmp_path: Path) -> None:
    world = FolderWorld(tmp_path / "docs")
    file = world.folder / os.fsdecode(b"n\xe4me.md")
    file.write_text("# Notice\n\nText of the notice.\n")
    with make_engine(tmp_path / "index") as engine:
        engine.sources.add(world.url)
        report = engine.sources.sync("docs")
        assert (report.fetched, report.ingested.new, report.ingested.failed) == (1, 1, 0)
        assert engine.sources.sync("docs").ingested.unchanged == 1


@pytest.mark.parametrize("make_world", [FolderWorld, GitWorld])
def test_a_full_disk_ends_the_sync_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_world: Callable[[Path], FolderWorld]
) -> None:
    world = make_world(tmp_path / "docs")
    world.write(TEXTS)

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with make_engine(tmp_path / "index") as engine:
        engine.sources.add(world.url, name="docs")
        for kind in ("folder", "git"):
            monkeypatch.setattr(f"fathom.ingest.sources.{kind}.copy_limited", fail)
        report = engine.sources.sync("docs")
        assert report.fault.endswith("staging: No space left on device; free space and sync again")
        assert report.ingested.failed == 0
        monkeypatch.undo()
        assert engine.sources.sync("docs").ingested.new == 7


def test_a_lost_state_costs_fetches_and_nothing_else(tmp_path: Path) -> None:
    world = FolderWorld(tmp_path / "docs")
    world.write(TEXTS)
    with make_engine(tmp_path / "index") as engine:
        engine.sources.add(world.url)
        engine.sources.sync("docs")
        content = engine.status().content
        with sqlite3.connect(tmp_path / "index" / FILE) as connection:
            connection.execute("DELETE FROM objects")
        connection.close()
        report = engine.sources.sync("docs")
        assert (report.fetched, report.ingested.unchanged, report.ingested.new) == (7, 7, 0)
        assert engine.status().content == content
        assert engine.sources.sync("docs").fetched == 0


def test_a_lost_index_is_filled_again(tmp_path: Path) -> None:
    world = FolderWorld(tmp_path / "docs")
    world.write(TEXTS)
    kept = (FILE, "sources")
    with make_engine(tmp_path / "index") as engine:
        engine.sources.add(world.url)
        engine.sources.sync("docs")
    for path in (tmp_path / "index").iterdir():
        if path.name not in kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    with make_engine(tmp_path / "index") as engine:
        assert engine.sources.sync("docs").ingested.new == 7


def test_records_of_a_corpus_file_follow_it(tmp_path: Path) -> None:
    world = GitWorld(tmp_path / "docs")

    def write_records(*names: str) -> None:
        rows = (json.dumps({"_id": name, "text": f"Text of {name}."}) for name in names)
        world.write({"data/corpus.jsonl": "".join(f"{row}\n" for row in rows)})

    with make_engine(tmp_path / "index") as engine:
        engine.sources.add(world.url)
        world.write({"a.md": "# A\n\nText.\n"})
        write_records("one", "two", "three")
        assert engine.sources.sync("docs").ingested.new == 4
        assert engine.sources.sync("docs").fetched == 0
        write_records("one", "three", "four")
        report = engine.sources.sync("docs").ingested
        assert (report.new, report.removed, report.stale) == (1, 1, 0)
        ids = {item.id for item in engine.documents.list()}
        assert {"one", "three", "four"} < ids
        assert "two" not in ids
        world.remove("data/corpus.jsonl")
        assert engine.sources.sync("docs").ingested.removed == 3
        assert [Path(item.path).name for item in engine.documents.list()] == ["a.md"]


def test_two_synchronizations_of_a_source_exclude_each_other(tmp_path: Path) -> None:
    world = FolderWorld(tmp_path / "docs")
    world.write(TEXTS)
    refused = []

    def sync_again(_report: sync.SyncReport) -> None:
        with make_engine(tmp_path / "index") as other, pytest.raises(IndexLocked):
            other.sources.sync("docs")
        refused.append(True)

    with make_engine(tmp_path / "index") as engine:
        engine.sources.add(world.url)
        assert engine.sources.sync("docs", on_object=sync_again).fault == ""
    assert len(refused) == 7


def test_sources_are_for_those_who_may_read_all(tmp_path: Path) -> None:
    with make_engine(tmp_path / "index") as engine, pytest.raises(UsageError, match="sources"):
        engine.open_for(Viewer(frozenset())).sources.list()


def write_rules(engine: Engine, folder: Path) -> None:
    """Give an index rules by which everybody may read everything."""
    (folder / "rules.md").write_text("# Rules\n\nFor all.\n")
    engine.ingest([folder / "rules.md"], rights=[ReadingRule("*", (EVERYBODY,))])


def list_shown(engine: Engine, *names: str) -> set[str]:
    """Return the names of the documents that somebody may read."""
    with engine.open_for(Viewer(frozenset(names))) as viewer:
        return {Path(item.path).name for item in viewer.documents.list()}


@pytest.mark.slow
def test_an_index_on_a_server_follows_a_source_too() -> None:
    server = postgres_server.Server()
    try:
        with open_public_folder() as folder:
            world = GitWorld(folder / "docs")
            world.write(TEXTS)
            with make_engine(folder / "index", {"index.url": server.open_database()}) as engine:
                engine.sources.add(world.url, name="notices")
                assert engine.sources.sync("notices").ingested.new == 7
                assert engine.sources.sync("notices").fetched == 0
                world.remove("n3.md")
                assert engine.sources.sync("notices").ingested.removed == 1
                write_rules(engine, folder)
                world.write({"n4.md.readers.toml": 'readers = ["hr"]\n'})
                assert engine.sources.sync("notices").fetched == 0
                assert "n4.md" in list_shown(engine, "hr") - list_shown(engine)
                world.remove("n4.md.readers.toml")
                assert engine.sources.sync("notices").fetched == 0
                assert "n4.md" in list_shown(engine)
                assert engine.sources.remove("notices") == 6
    finally:
        server.stop()
