"""Whether files are still what was read of them."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.making import drop_privileges, engine_at, open_public_folder

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


def told(engine: Engine, digests: FileDigests | None = None) -> dict[str, str]:
    index = engine.reader(checked=False)
    files = find_outdated_files(index, index.list_sources(), digests)
    return {Path(file.path).name: file.reason for file in files}


def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on no file can be read."""

    def refuse(file: Path) -> str:
        raise OSError(5, "was read", str(file))

    monkeypatch.setattr("fathom.ingest.outdated.digest_content", refuse)


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """The clock of the process is ahead of that of the files."""
    now = time.time_ns
    monkeypatch.setattr("time.time_ns", lambda: now() + int(seconds * 1e9))


def test_what_is_as_it_was_is_not_told(engine: Engine, docs: Path) -> None:
    (docs / "a.md").touch()
    assert told(engine) == {}


def test_what_changed_or_vanished_is(engine: Engine, docs: Path) -> None:
    (docs / "a.md").write_text("Other text.")
    (docs / "b.md").unlink()
    assert told(engine) == {"a.md": CHANGED, "b.md": VANISHED}


def test_a_change_is_seen_whatever_the_date_says(engine: Engine, docs: Path) -> None:
    before = (docs / "a.md").stat()
    (docs / "a.md").write_text("Text of x.md.")
    os.utime(docs / "a.md", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert told(engine) == {"a.md": CHANGED}


def test_a_file_that_did_not_change_is_read_once(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    later(monkeypatch, 60)
    digests = FileDigests()
    assert told(engine, digests) == {}
    unread(monkeypatch)
    assert told(engine, digests) == {}
    assert told(engine) == dict.fromkeys(
        ("a.md", "b.md", "c.md"), "cannot be read any more: was read"
    )


def test_a_change_is_seen_in_a_file_that_is_remembered(
    engine: Engine, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = FileDigests()
    with monkeypatch.context() as ahead:
        later(ahead, 60)
        assert told(engine, digests) == {}
    before = (docs / "a.md").stat()
    (docs / "a.md").write_text("Text of x.md.")
    os.utime(docs / "a.md", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert told(engine, digests) == {"a.md": CHANGED}


def test_a_file_that_changed_just_now_is_not_remembered(
    engine: Engine, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = FileDigests()
    (docs / "a.md").touch()
    assert told(engine, digests) == {}
    unread(monkeypatch)
    assert "a.md" in told(engine, digests)


def test_what_cannot_be_read_any_more_is(engine: Engine, docs: Path) -> None:
    (docs / "a.md").chmod(0)
    with drop_privileges(docs.parent):
        assert told(engine) == {"a.md": "cannot be read any more: Permission denied"}


def test_what_the_last_ingestion_could_not_read_is(engine: Engine, docs: Path) -> None:
    (docs / "a.md").unlink()
    engine.ingest([docs])
    (reason,) = told(engine).values()
    assert reason.startswith("the file is gone")


def test_a_corpus_file_is_told_once(tmp_path: Path) -> None:
    corpus = tmp_path / "data" / "corpus.jsonl"
    corpus.parent.mkdir()
    rows = [json.dumps({"_id": f"r{n}", "text": f"Record {n}."}) for n in range(3)]
    corpus.write_text("\n".join(rows))
    with engine_at(tmp_path) as engine:
        engine.ingest([corpus.parent])
        assert told(engine) == {}
        corpus.write_text("\n".join(rows[:2]))
        assert told(engine) == {"corpus.jsonl": CHANGED}
        assert [each.path for each in _of(engine, "r1")] == [str(corpus)]


def _of(engine: Engine, document: str) -> list[OutdatedFile]:
    index = engine.reader(checked=False)
    return list(find_outdated_files(index, index.list_places(document)))
