"""Vector search of an index that is still being filled: the best hits by words get vectors."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fathom.engine import Engine
from fathom.errors import ModelError
from fathom.index.base import IndexWriter
from fathom.ingest.filling import fill_spaces
from fathom.models.base import Embedder, Matrix
from fathom.retrieval.vector import VectorRetriever
from fathom.retrieval.vector_side import LATE_CHUNKS
from fathom.settings.tree import IndexSettings, Settings
from fathom.testing.doubles import HashingEmbedder
from fathom.testing.index_entries import put
from fathom.types import Filter, Query

TEXTS = {
    "berth": "The berth fee is paid at the harbour office each morning.",
    "ferry": "The ferry leaves the harbour at noon.",
    "ledger": "A ledger lists what each boat owes.",
}


class CountingEmbedder:
    """An embedder that notes its texts, and fails at those with a given word."""

    def __init__(self, bad: str = "") -> None:
        self._real, self._bad = HashingEmbedder(), bad
        self.texts: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.texts += texts
        if self._bad and any(self._bad in text for text in texts):
            raise ModelError(f"cannot embed {self._bad!r}")
        return self._real.embed(texts)


def open_engine(directory: Path, embedder: Embedder) -> Engine:
    """Open an engine with an embedder of its own."""
    settings = Settings(offline=True, index=IndexSettings(directory=directory))
    return Engine(settings, embedder=embedder)


@contextmanager
def open_unfilled(
    place: Path, embedder: CountingEmbedder, texts: dict[str, str] | None = None
) -> Iterator[tuple[Engine, IndexWriter]]:
    """Open an index whose chunks have no vectors yet, and a complete one beside it, `whole`."""
    corpus = place / "corpus"
    corpus.mkdir()
    for name, text in (texts or TEXTS).items():
        (corpus / f"{name}.txt").write_text(text, encoding="utf-8")
    with open_engine(place / "whole", HashingEmbedder()) as whole:
        whole.ingest([corpus])
        reader = whole.reader()
        entries = [reader.get_entry(summary.id) for summary in reader.list_documents()]
    with (
        open_engine(place / "index", embedder) as engine,
        engine.index.open_writer(engine.assembly.identity) as writer,
    ):
        put(writer, *(replace(entry, vectors=None) for entry in entries if entry))
        yield engine, writer


def rank(engine: Engine, retriever: str, text: str) -> list[tuple[str, float]]:
    """Return the names of the files that a retriever finds, with the scores."""
    hits = engine.retriever(retriever).retrieve(Query(text=text), k=9)
    return [(Path(hit.chunk.path).stem, hit.score) for hit in hits]


@pytest.mark.parametrize("retriever", ["vector", "hybrid"])
def test_hits_by_words_rank_as_they_will_when_they_have_vectors(
    tmp_path: Path, retriever: str
) -> None:
    question = "When does the harbour ferry leave the berth, and who keeps a ledger of it?"
    with open_unfilled(tmp_path, CountingEmbedder()) as (engine, writer):
        unfilled = rank(engine, retriever, question)
        fill_spaces(writer, {"": HashingEmbedder()})
        filled = rank(engine, retriever, question)
    assert unfilled == filled
    assert len(unfilled) == len(TEXTS)
    with open_engine(tmp_path / "whole", HashingEmbedder()) as whole:
        assert rank(whole, retriever, question) == filled


def test_only_the_best_hits_by_words_are_embedded_and_only_once(tmp_path: Path) -> None:
    texts = {f"berth-{number}": f"Berth {number} is empty." for number in range(LATE_CHUNKS + 9)}
    embedder = CountingEmbedder()
    with open_unfilled(tmp_path, embedder, texts) as (engine, writer):
        first = rank(engine, "hybrid", "an empty berth")
        assert len(embedder.texts) == 1 + LATE_CHUNKS  # the question too
        assert rank(engine, "hybrid", "an empty berth") == first
        assert rank(engine, "vector", "berth that is empty")
        assert len(embedder.texts) == 3 + LATE_CHUNKS
        fill_spaces(writer, {"": HashingEmbedder()})
        rank(engine, "hybrid", "empty berth")
        assert len(embedder.texts) == 4 + LATE_CHUNKS


def test_without_late_chunks_stored_vectors_alone_are_searched(tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    with open_unfilled(tmp_path, embedder) as (engine, writer):
        side = replace(engine.assembly.side(""), late_chunks=0)
        retriever = VectorRetriever(engine.reader(), side)
        assert retriever.retrieve(Query(text="harbour ferry"), k=9) == []
        assert len(embedder.texts) == 1
        fill_spaces(writer, {"": HashingEmbedder()})
        assert len(retriever.retrieve(Query(text="harbour ferry"), k=9)) == len(TEXTS)


def test_a_text_that_cannot_be_embedded_is_found_by_its_words(tmp_path: Path) -> None:
    with open_unfilled(tmp_path, CountingEmbedder(bad="noon")) as (engine, _):
        assert rank(engine, "vector", "the ferry and the berth fee") == []
        names = [name for name, _score in rank(engine, "hybrid", "the ferry and the berth fee")]
        assert set(names) == {"ferry", "berth"}
        assert rank(engine, "vector", "a ledger of a boat")


def test_filters_hold_for_chunks_that_are_embedded_for_the_question(tmp_path: Path) -> None:
    with open_unfilled(tmp_path, CountingEmbedder()) as (engine, _):
        query = Query(text="harbour fee", filters=(Filter("title", "=", "ferry"),))
        hits = engine.retriever("vector").retrieve(query, k=9)
    assert [Path(hit.chunk.path).stem for hit in hits] == ["ferry"]
