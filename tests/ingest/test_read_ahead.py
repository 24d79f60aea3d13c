"""Files that are too large to be read are refused by their size."""

from pathlib import Path
from unittest.mock import Mock

import pytest
from tests.factories import engine_at

from fathom.documents.base import ParseLimits
from fathom.documents.discover import digest_content
from fathom.engine import Engine
from fathom.ingest.workers.base import FileContent, ReadFileTask
from fathom.ingest.workers.work import TaskRunner


@pytest.fixture
def digested(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the names of the files whose bytes are read for a digest."""
    names: list[str] = []

    def note_digest(file: Path) -> str:
        names.append(file.name)
        return digest_content(file)

    for module in ("fathom.ingest.read_ahead", "fathom.ingest.workers.work"):
        monkeypatch.setattr(f"{module}.digest_content", note_digest)
    return names


def write_folder(tmp_path: Path) -> Path:
    """Write a folder with a file of two megabytes and a small one."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "large.txt").write_text("a long line\n" * 200_000)
    (folder / "small.txt").write_text("The fee is 3 crowns.")
    return folder


def ingest_outcomes(engine: Engine, folder: Path) -> list[tuple[str, str]]:
    files = engine.ingest([folder]).files
    return sorted((Path(file.path).name, file.outcome) for file in files)


def test_a_file_above_the_limit_is_refused_without_a_digest(
    tmp_path: Path, digested: list[str]
) -> None:
    folder = write_folder(tmp_path)
    with engine_at(tmp_path, limits={"file_mb": 1}) as engine:
        for _ in range(2):
            outcomes = ingest_outcomes(engine, folder)
            assert outcomes == [("large.txt", "failed"), ("small.txt", "ok")]
    assert "large.txt" not in digested


def test_a_worker_refuses_a_file_above_the_limit_without_a_digest(
    tmp_path: Path, digested: list[str]
) -> None:
    file = write_folder(tmp_path) / "large.txt"
    tools = Mock(parse_limits=ParseLimits(file_bytes=1 << 20))
    with TaskRunner(tools) as runner:
        content = runner.run(ReadFileTask(str(file), str(file), ""))
    assert isinstance(content, FileContent)
    assert content.refusal is not None
    assert "larger than" in content.refusal.reason
    assert digested == []


def test_a_document_that_outgrew_the_limit_is_digested_once(
    tmp_path: Path, digested: list[str]
) -> None:
    folder = write_folder(tmp_path)
    text = (folder / "large.txt").read_text()
    (folder / "large.txt").write_text("a long line")
    with engine_at(tmp_path, limits={"file_mb": 1}) as engine:
        engine.ingest([folder])
        (folder / "large.txt").write_text(text)
        digested.clear()
        for _ in range(3):
            outcomes = ingest_outcomes(engine, folder)
            assert outcomes == [("large.txt", "stale"), ("small.txt", "ok")]
        assert digested.count("large.txt") == 1


def test_a_corpus_above_the_limit_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    records = (f'{{"_id": "{i}", "text": "{i} {"word " * 5_000}"}}' for i in range(60))
    (folder / "corpus.jsonl").write_text("\n".join(records))
    assert (folder / "corpus.jsonl").stat().st_size > 1 << 20
    with engine_at(tmp_path, limits={"file_mb": 1}) as engine:
        assert engine.ingest([folder]).new == 60
