"""The check whether files are unchanged since they were read."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.factories import drop_privileges, engine_at, open_public_folder

from fathom.engine import Engine
from fathom.ingest.outdated import CHANGED, VANISHED, FileDigests, OutdatedFile, find_outdated_files


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with open_public_folder() as folder:
        yield folder


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("a.md", "b.md", "c.md"):
        (folder / name).write_text(f"Text of {name}.")
    return folder


@pytest.fixture
def engine(tmp_path: Path, docs: Path) -> Iterator[Engine]:
    with engine_at(tmp_path) as engine:
        engine.ingest([docs])
        yield engine


def list_stale(engine: Engine, digests: FileDigests | None = None) -> dict[str, str]:
    index = engine.reader(checked=False)
    files = find_outdated_files(index, index.list_sources(), digests)
    return {Path(file.path).name: file.reason for file in files}


def forbid_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every reading of a file fail from now on."""

    def refuse(file: Path) -> str:
        raise OSError(5, "was read", str(file))

    monkeypatch.setattr("fathom.ingest.outdated.digest_content", refuse)


def advance_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set the clock of the process ahead of that of the files."""
    now = time.time_ns
    monkeypatch.setattr("time.time_ns", lambda: now() + int(seconds * 1e9))


def test_an_unchanged_file_is_not_listed(engine: Engine, docs: Path) -> None:
    (docs / "a.md").touch()
    assert list_stale(engine) == {}


def test_changed_and_deleted_files_are_listed(engine: Engine, docs: Path) -> None:
    (docs / "a.md").write_text("Other text.")
    (docs / "b.md").unlink()
    assert list_stale(engine) == {"a.md": CHANGED, "b.md": VANISHED}


def test_a_change_is_detected_whatever_the_date_says(engine: Engine, docs: Path) -> None:
    before = (docs / "a.md").stat()
    (docs / "a.md").write_text("Text of x.md.")
    os.utime(docs / "a.md", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert list_stale(engine) == {"a.md": CHANGED}


def test_an_unchanged_file_is_read_once(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    advance_clock(monkeypatch, 60)
    digests = FileDigests()
    assert list_stale(engine, digests) == {}
    forbid_reading(monkeypatch)
    assert list_stale(engine, digests) == {}
    assert list_stale(engine) == dict.fromkeys(
        ("a.md", "b.md", "c.md"), "cannot be read any more: was read"
    )


def test_a_change_is_detected_in_a_remembered_file(
    engine: Engine, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = FileDigests()
    with monkeypatch.context() as ahead:
        advance_clock(ahead, 60)
        assert list_stale(engine, digests) == {}
    before = (docs / "a.md").stat()
    (docs / "a.md").write_text("Text of x.md.")
    os.utime(docs / "a.md", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert list_stale(engine, digests) == {"a.md": CHANGED}


def test_a_file_that_changed_just_now_is_not_remembered(
    engine: Engine, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = FileDigests()
    (docs / "a.md").touch()
    assert list_stale(engine, digests) == {}
    forbid_reading(monkeypatch)
    assert "a.md" in list_stale(engine, digests)


def test_a_file_that_became_unreadable_is_listed(engine: Engine, docs: Path) -> None:
    (docs / "a.md").chmod(0)
    with drop_privileges(docs.parent):
        assert list_stale(engine) == {"a.md": "cannot be read any more: Permission denied"}


def test_a_file_that_the_last_ingestion_could_not_read_is_listed(
    engine: Engine, docs: Path
) -> None:
    (docs / "a.md").unlink()
    engine.ingest([docs])
    (reason,) = list_stale(engine).values()
    assert reason.startswith("the file is gone")


def test_a_corpus_file_is_listed_once(tmp_path: Path) -> None:
    corpus = tmp_path / "data" / "corpus.jsonl"
    corpus.parent.mkdir()
    rows = [json.dumps({"_id": f"r{n}", "text": f"Record {n}."}) for n in range(3)]
    corpus.write_text("\n".join(rows))
    with engine_at(tmp_path) as engine:
        engine.ingest([corpus.parent])
        assert list_stale(engine) == {}
        corpus.write_text("\n".join(rows[:2]))
        assert list_stale(engine) == {"corpus.jsonl": CHANGED}
        assert [stale.path for stale in _check_document(engine, "r1")] == [str(corpus)]


def _check_document(engine: Engine, document: str) -> list[OutdatedFile]:
    index = engine.reader(checked=False)
    return list(find_outdated_files(index, index.list_places(document)))
