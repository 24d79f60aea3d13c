"""Interrupting an ingestion loses at most five seconds of work."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from fathom.documents.chunking.structure import StructureChunker
from fathom.documents.parse import parse_bytes
from fathom.documents.sandbox.parent import Sandbox
from fathom.index.embedded.opening import open_writer
from fathom.ingest.batch import Batch
from fathom.ingest.ingest import Ingester
from fathom.ingest.resumable_embedding import ResumableEmbedder
from fathom.models.base import BULK_MINIMUM, Matrix
from fathom.testing.doubles import HashingEmbedder

PARSING, EMBEDDING = 0.25, 0.4
"""Seconds for a file, and for a text."""


@dataclass
class SimulatedWork:
    """A clock that only work advances, and that interrupts at an instant."""

    until: float
    now: float = 0.0
    embedding: float = EMBEDDING
    sizes: list[int] = field(default_factory=list)
    embedder: HashingEmbedder = field(default_factory=lambda: HashingEmbedder(16))

    @property
    def dimension(self) -> int:
        return self.embedder.dimension

    @property
    def identity(self) -> dict[str, str]:
        return dict(self.embedder.identity)

    def count(self, text: str) -> int:
        return self.embedder.count(text)

    def work(self, seconds: float) -> None:
        self.now += seconds
        if self.now > self.until:
            raise KeyboardInterrupt

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.sizes.append(len(texts))
        self.work(self.embedding * len(texts))
        return self.embedder.embed(texts)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Write some short files, one of 60 chunks, and some short ones."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number in range(12):
        paragraphs = 60 if number == 6 else 1
        words = [f"Word {number} {n} " + "and so on " * 12 for n in range(paragraphs)]
        (folder / f"{number:02}.txt").write_text("\n\n".join(words))
    return folder


IngestFunction = Callable[[str, float], float]


@pytest.fixture
def ingest(tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> IngestFunction:
    def run(index: str, until: float) -> float:
        """Ingest the corpus for so long, and return the seconds of work."""
        work = SimulatedWork(until)

        def read(path: Path, *_: object) -> object:
            work.work(PARSING)
            return parse_bytes(path.read_bytes(), path.name)

        monkeypatch.setattr("fathom.ingest.ingest.read_file", read)
        monkeypatch.setattr("fathom.ingest.read_ahead.begin_file", lambda *_: None)
        monkeypatch.setattr("fathom.ingest.read_ahead.check_large_file", lambda *_: None)
        with open_writer(tmp_path / index, {"a": "1"}) as writer:
            chunker = StructureChunker(work.count, max_tokens=40)
            batch = Batch(
                writer=writer,
                embedders={"": work},
                chunker=chunker,
                most_documents=256,
                clock=lambda: work.now,
            )
            try:
                Ingester(batch, cast(Sandbox, None)).run([corpus])
            except KeyboardInterrupt:
                return until
        return work.now

    return run


def test_at_most_five_seconds_are_lost(ingest: IngestFunction) -> None:
    whole = ingest("undisturbed", 1e9)
    assert whole > 30 * EMBEDDING + 12 * PARSING
    lost = [ingest(str(n), n) + ingest(str(n), 1e9) - whole for n in range(1, int(whole), 2)]
    assert max(lost) <= 5.0
    assert len(lost) > 5


def test_repeated_interruptions_still_reach_the_end(ingest: IngestFunction) -> None:
    runs = 0
    while ingest("index", 6.0) == 6.0:
        runs += 1
        assert runs < 20
    assert runs > 3


@pytest.mark.parametrize(("seconds", "size"), [(0.01, 50), (0.08, BULK_MINIMUM), (0.4, 5), (9, 1)])
def test_slices_of_a_slow_embedder_are_large_enough_for_all_cores(
    tmp_path: Path, seconds: float, size: int
) -> None:
    work = SimulatedWork(1e9, embedding=seconds)
    with open_writer(tmp_path, {"a": "1"}) as writer:
        patient = ResumableEmbedder(work, writer, clock=lambda: work.now)
        patient.embed([f"text {number}" for number in range(200)])
    assert max(work.sizes) == size
    assert work.sizes[:2] == [1, min(2, size)]


def test_vectors_are_those_of_the_embedder(tmp_path: Path) -> None:
    texts = ["one", "two", "one", "three"]
    work = SimulatedWork(1e9)
    with open_writer(tmp_path, {"a": "1"}) as writer:
        patient = ResumableEmbedder(work, writer, clock=lambda: work.now)
        np.testing.assert_array_equal(patient.embed(texts), work.embedder.embed(texts))
        assert patient.embed([]).shape == (0, 16)
        writer.keep_vectors({"two": np.ones(16, dtype=np.float32)})
        assert patient.embed(texts)[1].tolist() == [1.0] * 16
