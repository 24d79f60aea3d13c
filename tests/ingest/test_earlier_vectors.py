"""Chunks whose text an earlier version had keep its vectors, in an update and in a rebuild."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.factories import disable_sandbox

from fathom.engine import Engine
from fathom.index.embedded.schema import FILE
from fathom.models.base import Embedder, EmbedderWrapper, Matrix
from fathom.settings import Settings
from fathom.testing.doubles import OVERLAP, HashingEmbedder

SECTIONS = 12


@dataclass(frozen=True)
class NotingEmbedder(EmbedderWrapper):
    """An embedder that notes the texts that it embeds.

    Attributes:
        model: The name of the model; another name is another embedder.
        texts: The texts, in the order in which they were embedded.
    """

    embedder: Embedder = field(default_factory=lambda: HashingEmbedder(64))
    model: str = "noting"
    texts: list[str] = field(default_factory=list)

    @property
    def identity(self) -> Mapping[str, str]:
        return {**self.embedder.identity, "model": self.model}

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.texts.extend(texts)
        return self.embedder.embed(texts)


class UnableEmbedder(HashingEmbedder):
    """An embedder that can embed nothing."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        raise ValueError(f"asked to embed {list(texts)}")


@pytest.fixture(autouse=True)
def _disable_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    disable_sandbox(monkeypatch)


def open_engine(folder: Path, embedder: Embedder, **ingest: object) -> Engine:
    tree = {"index": {"directory": folder / "index"}, "ingest": ingest}
    return Engine(Settings.model_validate(tree), embedder=embedder, cross_reader=OVERLAP)


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    """Write a manual of several sections, each a chunk of its own."""
    file = tmp_path / "docs" / "manual.md"
    file.parent.mkdir()
    write_manual(file, "at the pier")
    return file


def write_manual(file: Path, place: str) -> None:
    """Write the manual; the fourth section names a place. Long sections are not joined."""
    sections = [
        f"## Berth {number}\n\nBoats wait {place if number == 3 else 'outside'}. "
        + f"Berth {number} is deep enough for boats of any kind. " * 15
        for number in range(SECTIONS)
    ]
    file.write_text("# Berths\n\n" + "\n\n".join(sections) + "\n", encoding="utf-8")


def get_content_of_new_index(folder: Path, docs: Path) -> str:
    """Return the content of an index of the same files that was made without an earlier one."""
    with open_engine(folder, NotingEmbedder()) as engine:
        engine.ingest([docs])
        return engine.status().content


@pytest.mark.parametrize("wait", [False, True])
def test_only_the_changed_chunk_of_a_changed_file_is_embedded(
    manual: Path, tmp_path: Path, wait: bool
) -> None:
    embedder = NotingEmbedder()
    with open_engine(tmp_path, embedder, wait_vectors=wait) as engine:
        engine.ingest([manual.parent])
        assert len(embedder.texts) == engine.status().chunks
        assert len(embedder.texts) >= SECTIONS
        embedder.texts.clear()
        write_manual(manual, "at the lock")
        assert engine.ingest([manual.parent]).changed == 1
        (text,) = embedder.texts
        assert "wait at the lock" in text
        assert (engine.status().lacking, engine.verify()) == (0, [])
        content = engine.status().content
    assert get_content_of_new_index(tmp_path / "other", manual.parent) == content


@pytest.mark.parametrize("wait", [False, True])
def test_a_rebuild_embeds_only_what_the_old_index_lacks(
    manual: Path, tmp_path: Path, wait: bool
) -> None:
    embedder = NotingEmbedder()
    with open_engine(tmp_path, embedder, wait_vectors=wait) as engine:
        engine.ingest([manual.parent])
        content = engine.status().content
        embedder.texts.clear()
        (manual.parent / "new.md").write_text("# Tides\n\nThe tide turns at six.\n")
        engine.ingest(rebuild=True)
        (text,) = embedder.texts
        assert "The tide turns at six." in text
        (manual.parent / "new.md").unlink()
        embedder.texts.clear()
        engine.ingest([manual.parent], rebuild=True, lose=True)
        assert (embedder.texts, engine.status().content) == ([], content)
        assert engine.verify() == []


def test_a_changed_file_is_found_by_its_place_in_a_rebuild(manual: Path, tmp_path: Path) -> None:
    embedder = NotingEmbedder()
    with open_engine(tmp_path, embedder) as engine:
        engine.ingest([manual.parent])
        embedder.texts.clear()
        write_manual(manual, "at the lock")
        engine.ingest(rebuild=True)
        (text,) = embedder.texts
    assert "wait at the lock" in text


def test_a_rebuild_with_another_embedder_takes_no_vector(manual: Path, tmp_path: Path) -> None:
    with open_engine(tmp_path, NotingEmbedder()) as engine:
        engine.ingest([manual.parent])
        chunks = engine.status().chunks
    other = NotingEmbedder(model="another")
    with open_engine(tmp_path, other) as engine:
        engine.ingest([manual.parent], rebuild=True)
    assert len(other.texts) == chunks


@pytest.mark.parametrize("rebuild", [False, True])
def test_a_damaged_document_is_replaced_and_embedded_anew(
    manual: Path, tmp_path: Path, rebuild: bool
) -> None:
    embedder = NotingEmbedder()
    with open_engine(tmp_path, embedder) as engine:
        engine.ingest([manual.parent])
        chunks = engine.status().chunks
    with closing(sqlite3.connect(tmp_path / "index" / FILE)) as connection, connection:
        connection.execute("UPDATE contents SET text = replace(text, 'pier', 'lock')")
    embedder.texts.clear()
    write_manual(manual, "at the mole")
    with open_engine(tmp_path, embedder) as engine:
        engine.ingest([manual.parent], rebuild=rebuild)
        assert engine.verify() == []
    assert len(embedder.texts) == chunks


def test_workers_embed_no_text_that_the_old_index_has(manual: Path, tmp_path: Path) -> None:
    with open_engine(tmp_path, HashingEmbedder(64)) as engine:
        engine.ingest([manual.parent])
        content = engine.status().content
    # The workers' embedder fails at every text, so each vector is one of the old index.
    with open_engine(tmp_path, UnableEmbedder(64), workers=2) as engine:
        report = engine.ingest([manual.parent], rebuild=True)
        status = engine.status()
    assert (report.unembedded, status.lacking, status.content) == (0, 0, content)
