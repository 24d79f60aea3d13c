"""Whether files are still what was read of them."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.making import engine_at, open_folder, unprivileged

from fathom.engine import Engine
from fathom.index.outdated import CHANGED, VANISHED, Outdated, outdated


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with open_folder() as folder:
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


def told(engine: Engine) -> dict[str, str]:
    index = engine.reader(checked=False)
    return {Path(each.path).name: each.reason for each in outdated(index, index.sources())}


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


def test_what_cannot_be_read_any_more_is(engine: Engine, docs: Path) -> None:
    (docs / "a.md").chmod(0)
    with unprivileged(docs.parent):
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


def _of(engine: Engine, document: str) -> list[Outdated]:
    index = engine.reader(checked=False)
    return list(outdated(index, index.places(document)))
