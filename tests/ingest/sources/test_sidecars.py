"""Sidecars at sources: what stands in their place, and what closes a document."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.source_worlds import (
    GitWorld,
    ServerWorld,
    make_sftp_world,
    make_site_world,
    make_webdav_world,
    open_server,
)

from fathom.engine import Engine
from fathom.index.rights import EVERYBODY, ReadingRule, Viewer
from fathom.ingest.ingest import LATE
from fathom.ingest.sidecars import read_readers
from fathom.ingest.sources import sidecars
from fathom.ingest.sources.remote import FolderFiles
from fathom.ingest.sources.store import FILE
from fathom.ingest.sources.sync import NO_SIDECAR, SyncReport
from fathom.testing import make_engine

TEXTS = {f"{name}.md": f"# {name}\n\nText of {name}.\n" for name in ("one", "two")}
FOR_HR = 'readers = ["hr"]\n'


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Return an engine over an index with rules, by which everybody may read everything."""
    (tmp_path / "rules.md").write_text("# Rules\n\nFor all.\n")
    with make_engine(tmp_path / "index") as engine:
        engine.ingest([tmp_path / "rules.md"], rights=[ReadingRule("*", (EVERYBODY,))])
        yield engine


@pytest.fixture
def sftp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerWorld]:
    """Return a folder that an SFTP server serves."""
    pytest.importorskip("sshfs", reason="the extra sources is not installed")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with open_server(make_sftp_world(tmp_path / "docs", tmp_path / "home"), monkeypatch) as world:
        yield world


@pytest.fixture
def webdav(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerWorld]:
    """Return a folder that a WebDAV server serves."""
    pytest.importorskip("wsgidav", reason="wsgidav, the server of the tests, is not installed")
    pytest.importorskip("webdav4", reason="the extra sources is not installed")
    with open_server(make_webdav_world(tmp_path / "docs"), monkeypatch) as world:
        yield world


def list_shown(engine: Engine, *names: str) -> set[str]:
    """Return the names of the documents that somebody may read."""
    with engine.open_for(Viewer(frozenset(names))) as viewer:
        return {Path(item.path).name for item in viewer.documents.list()} - {"rules.md"}


def sync_with_failures(engine: Engine) -> list[str]:
    """Synchronize the source `world`, and return the reasons of what failed."""
    report = engine.sources.sync("world")
    assert report.fault == ""
    return [f"{file.path}: {file.reason}" for file in report.ingested.files if file.is_bad]


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("a.md", None),
        ("readers.toml", None),
        ("b/a.md.readers.toml", "b/a.md"),
        ("b/a.md.readers.toml/x/y", "b/a.md"),
        ("a.md.readers.toml.readers.toml", "a.md.readers.toml"),
    ],
)
def test_a_sidecar_is_told_by_its_name(name: str, document: str | None) -> None:
    assert sidecars.find_document_name(name) == document


def test_a_sidecar_of_lists_inside_of_each_other_is_malformed(tmp_path: Path) -> None:
    file = tmp_path / "one.md.readers.toml"
    file.write_text("readers = " + "[" * 60_000)
    with pytest.raises(ValueError, match="too deep"):
        read_readers(file)


def test_a_sidecar_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "one.md.readers.toml"
    file.write_text(FOR_HR, encoding="utf-8-sig")
    assert read_readers(file) == ("hr",)


def test_a_link_in_the_place_of_a_sidecar_closes_the_document(
    engine: Engine, tmp_path: Path
) -> None:
    world = GitWorld(tmp_path / "docs")
    (world.folder / "one.md.readers.toml").symlink_to("shared.toml")
    world.write({**TEXTS, "shared.toml": FOR_HR})
    engine.sources.add(world.url, name="world", include=["*.md"])
    (failure,) = sync_with_failures(engine)
    assert "one.md.readers.toml: " in failure
    assert sidecars.CLOSED in failure
    assert list_shown(engine) == list_shown(engine, "hr") == {"two.md"}


def test_a_link_on_a_server_names_the_readers_of_its_target(
    engine: Engine, sftp: ServerWorld
) -> None:
    sftp.write({**TEXTS, "shared.toml": FOR_HR})
    (sftp.folder / "one.md.readers.toml").symlink_to("shared.toml")
    engine.sources.add(sftp.url, name="world", include=["*.md"], **sftp.options)
    assert sync_with_failures(engine) == []
    assert list_shown(engine) == {"two.md"}
    assert list_shown(engine, "hr") == {"one.md", "two.md"}
    sftp.write({"shared.toml": 'readers = ["user:ana"]\n'})
    assert sync_with_failures(engine) == []
    assert list_shown(engine, "hr") == {"two.md"}
    assert list_shown(engine, "user:ana") == {"one.md", "two.md"}


def test_a_folder_in_the_place_of_a_sidecar_closes_the_document(
    engine: Engine, webdav: ServerWorld, tmp_path: Path
) -> None:
    webdav.write(TEXTS)
    (webdav.folder / "one.md.readers.toml").mkdir()
    engine.sources.add(webdav.url, name="world", **webdav.options)
    (failure,) = sync_with_failures(engine)
    assert f"one.md.readers.toml: is a folder; {sidecars.CLOSED}" in failure
    assert list_shown(engine) == list_shown(engine, "hr") == {"two.md"}
    world = GitWorld(tmp_path / "repository")
    world.write({"two.md.readers.toml/x.toml": FOR_HR, "two.md": TEXTS["two.md"]})
    engine.sources.add(world.url, name="other")
    assert engine.sources.sync("other").ingested.failed == 1
    assert list_shown(engine) == set()


def test_a_sidecar_that_the_server_refuses_closes_the_document(
    engine: Engine, sftp: ServerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    sftp.write({**TEXTS, "one.md.readers.toml": FOR_HR})
    engine.sources.add(sftp.url, name="world", **sftp.options)
    get_path = FolderFiles.get_path
    monkeypatch.setattr(
        FolderFiles,
        "get_path",
        lambda files, item: get_path(files, item).replace(".readers.toml", ".away"),
    )
    (failure,) = sync_with_failures(engine)
    assert f"is gone since it was listed; {sidecars.CLOSED}" in failure
    assert list_shown(engine, "hr") == {"two.md"}
    monkeypatch.undo()


def test_documents_and_sidecars_on_sftp_may_have_names_that_are_not_utf_8(
    engine: Engine, sftp: ServerWorld
) -> None:
    sftp.write(TEXTS)
    folder = sftp.folder / os.fsdecode(b"F\xfc#1")
    folder.mkdir()
    for name, text in ((b"\xe4.md", "# A\n\nText.\n"), (b"\xe4.md.readers.toml", FOR_HR)):
        (folder / os.fsdecode(name)).write_text(text)
    engine.sources.add(sftp.url, name="world", **sftp.options)
    assert sync_with_failures(engine) == []
    assert list_shown(engine) == {"one.md", "two.md"}
    assert list_shown(engine, "hr") == {"one.md", "two.md", "%E4.md"}


def test_a_folder_that_may_not_be_listed_stops_no_other_one(
    engine: Engine, sftp: ServerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    sftp.write(
        {**TEXTS, "closed/a.md": "# A\n\nText.\n", "one.md.readers.toml": FOR_HR},
    )
    engine.sources.add(sftp.url, name="world", **sftp.options)
    engine.sources.sync("world")
    list_folder = FolderFiles._list_folder

    def refuse(files: FolderFiles, name: str) -> Sequence[object]:
        if name == "closed":
            raise PermissionError(name)
        return list_folder(files, name)

    monkeypatch.setattr(FolderFiles, "_list_folder", refuse)
    sftp.write({"three.md": "# Three\n\nText of three.\n", "three.md.readers.toml": FOR_HR})
    sftp.remove("one.md.readers.toml")
    report = engine.sources.sync("world")
    assert "closed may not be listed" in report.fault
    assert (report.fetched, report.ingested.removed) == (1, 0)
    assert list_shown(engine) == {"one.md", "two.md", "a.md"}
    assert "three.md" in list_shown(engine, "hr")
    monkeypatch.undo()


def test_rules_that_come_during_a_broken_listing_let_no_document_in(
    sftp: ServerWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sftp.write({"a/one.md": TEXTS["one.md"], "b/two.md": TEXTS["two.md"]})
    list_folder = FolderFiles._list_folder

    def break_off(files: FolderFiles, name: str) -> Sequence[object]:
        if name == "b":
            raise ConnectionResetError
        return list_folder(files, name)

    def give_rules(report: SyncReport) -> None:
        if report.fetched and not engine.reader(checked=False).get_rights():
            engine.ingest([rules], rights=[ReadingRule("*", (EVERYBODY,))])

    rules = tmp_path / "rules.md"
    rules.write_text("# Rules\n\nFor all.\n")
    with make_engine(tmp_path / "index") as engine:
        engine.ingest([rules])
        engine.sources.add(sftp.url, name="world", **sftp.options)
        monkeypatch.setattr(FolderFiles, "_list_folder", break_off)
        report = engine.sources.sync("world", on_object=give_rules)
        assert "ConnectionResetError" in report.fault
        assert [file.reason for file in report.ingested.files if file.is_bad] == [LATE]
        assert list_shown(engine) == set()
        monkeypatch.setattr(FolderFiles, "_list_folder", list_folder)
        assert sync_with_failures(engine) == []
        assert list_shown(engine) == {"one.md", "two.md"}


def test_a_page_that_names_readers_is_reported(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("protego", reason="the extra sources is not installed")
    with open_server(make_site_world(tmp_path / "docs"), monkeypatch) as site:
        site.write({**TEXTS, "two.md.readers.toml": FOR_HR, "readers.toml": FOR_HR})
        engine.sources.add(site.url, name="world", **site.options)
        report = engine.sources.sync("world")
    reasons = [file.reason for file in report.ingested.files if file.is_bad]
    assert reasons == [NO_SIDECAR]
    assert list_shown(engine) == {"one.md", "two.md"}


def test_the_filter_of_a_source_is_about_documents(engine: Engine, tmp_path: Path) -> None:
    world = GitWorld(tmp_path / "docs")
    world.write({**TEXTS, "one.md.readers.toml": FOR_HR, "old/x.md.readers.toml": "broken"})
    engine.sources.add(world.url, name="world", include=["*.md"], exclude=["old/*"])
    assert sync_with_failures(engine) == []
    assert list_shown(engine) == {"two.md"}


def test_a_document_that_stays_old_stays_closed(engine: Engine, tmp_path: Path) -> None:
    world = GitWorld(tmp_path / "docs")
    world.write({**TEXTS, "one.md.readers.toml": FOR_HR})
    engine.sources.add(world.url, name="world")
    engine.sources.sync("world")
    (world.folder / "one.md.readers.toml").unlink()
    world.write({"one.md": ""})  # an empty file keeps the earlier document
    engine.sources.sync("world")
    assert list_shown(engine) == {"two.md"}
    world.write({"one.md": "# One\n\nFor everybody.\n"})
    engine.sources.sync("world")
    assert list_shown(engine) == {"one.md", "two.md"}


def test_a_lost_state_opens_nothing(engine: Engine, tmp_path: Path) -> None:
    world = GitWorld(tmp_path / "docs")
    world.write({**TEXTS, "one.md.readers.toml": FOR_HR})
    engine.sources.add(world.url, name="world")
    engine.sources.sync("world")
    with sqlite3.connect(tmp_path / "index" / FILE) as connection:
        connection.execute("DELETE FROM sidecars")
        connection.execute("DELETE FROM objects")
    connection.close()
    engine.ingest([tmp_path / "rules.md"])
    assert list_shown(engine) == {"two.md"}
    world.run("rm", "--quiet", "one.md.readers.toml")
    world.commit()
    engine.sources.sync("world")
    assert list_shown(engine) == {"one.md", "two.md"}


def test_two_sources_of_one_document_both_limit_it(engine: Engine, tmp_path: Path) -> None:
    world = GitWorld(tmp_path / "docs")
    world.write({**TEXTS, "one.md.readers.toml": 'readers = ["hr", "board"]\n'})
    world.run("branch", "old")
    world.write({"one.md.readers.toml": 'readers = ["board", "staff"]\n'})
    engine.sources.add(world.url, name="world")
    engine.sources.add(f"{world.url}@old", name="old")
    engine.sources.sync("world")
    engine.sources.sync("old")
    engine.sources.sync("world")
    assert "one.md" not in list_shown(engine, "hr") | list_shown(engine, "staff")
    assert "one.md" in list_shown(engine, "board")
    engine.sources.remove("old")
    engine.sources.sync("world")
    assert "one.md" in list_shown(engine, "staff")
