"""Documents are found by their words before they have vectors, even after interruptions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.factories import FEES, QUESTION, disable_sandbox

from fathom.engine import Engine
from fathom.errors import ModelError
from fathom.index.base import Space
from fathom.index.embedded.opening import open_reader, open_writer
from fathom.ingest.filling import fill_spaces
from fathom.ingest.progress import IngestState
from fathom.ingest.report import IngestReport
from fathom.models.base import BULK_MINIMUM, Matrix
from fathom.serving.cli.output import format_ingest_report
from fathom.settings import Settings
from fathom.testing.doubles import OVERLAP, HashingEmbedder


@dataclass
class ObservedEmbedder:
    """An embedder that calls a function before it embeds."""

    look: Callable[[int], None] = lambda _texts: None
    made: int = 0
    under: HashingEmbedder = field(default_factory=lambda: HashingEmbedder(64))

    @property
    def dimension(self) -> int:
        return self.under.dimension

    @property
    def identity(self) -> dict[str, str]:
        return dict(self.under.identity)

    def count(self, text: str) -> int:
        return self.under.count(text)

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.look(self.made)
        self.made += len(texts)
        return self.under.embed(texts)


@pytest.fixture(autouse=True)
def _disable_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    disable_sandbox(monkeypatch)


def open_engine(folder: Path, embedder: ObservedEmbedder, **sections: object) -> Engine:
    tree = {"index": {"directory": folder / "index"}, **sections}
    return Engine(Settings.model_validate(tree), embedder=embedder, cross_reader=OVERLAP)


def write_corpus(folder: Path, files: int) -> Path:
    docs = folder / "docs"
    docs.mkdir()
    for number in range(files):
        (docs / f"{number:04}.md").write_text(f"# Notice {number}\n\nBerth word{number} is free.\n")
    return docs


def test_the_first_of_a_thousand_files_is_searchable_before_the_third_is_read(
    tmp_path: Path,
) -> None:
    docs, opened = write_corpus(tmp_path, 1000), list[tuple[int, int]]()
    embedder = ObservedEmbedder()

    def look(report: IngestReport, advance: IngestState) -> None:
        read = len({advance.place, *names})
        if advance.place and advance.place not in names:
            names.add(advance.place)
            if read in {2, 3}:
                with open_reader(tmp_path / "index") as reader:
                    opened.append((read, len(reader.keyword_search("word0", k=5))))

    names: set[str] = set()
    with open_engine(tmp_path, embedder) as engine:
        engine.ingest([docs], on_progress=look)
    assert opened == [(2, 1), (3, 1)]


def test_all_documents_are_searchable_by_words_before_the_first_vector(tmp_path: Path) -> None:
    docs, states = write_corpus(tmp_path, 30), list[tuple[int, int, int]]()

    def look(count: int) -> None:
        with open_reader(tmp_path / "index") as reader:
            words = len(reader.keyword_search("berth", k=99))
            near = len(reader.vector_search(embedder.under.embed(["berth"])[0], k=99))
            states.append((words, near, reader.count_missing_vectors()))

    embedder = ObservedEmbedder(look)
    with open_engine(tmp_path, embedder) as engine:
        engine.ingest([docs])
        assert engine.status().lacking == 0
    assert states[0] == (30, 0, 30)
    assert {words for words, _, _ in states} == {30}
    assert [near + lacking for _, near, lacking in states] == [30] * len(states)


def test_waiting_for_vectors_finds_only_documents_that_have_them(tmp_path: Path) -> None:
    docs, states = write_corpus(tmp_path, 30), list[int]()

    def look(count: int) -> None:
        with open_reader(tmp_path / "index") as reader:
            states.append(
                reader.count_missing_vectors() + len(reader.keyword_search("berth", k=99))
            )

    with open_engine(tmp_path, ObservedEmbedder(look), ingest={"wait_vectors": True}) as engine:
        assert engine.ingest([docs]).filled == 0
        waited = engine.status().content
    assert set(states) == {0}
    with open_engine(tmp_path / "other", ObservedEmbedder()) as engine:
        engine.ingest([docs])
        assert engine.status().content == waited


def test_an_interrupted_embedding_is_continued_by_the_next_ingest(tmp_path: Path) -> None:
    docs = write_corpus(tmp_path, 30)
    (docs / "fees.md").write_text(f"# Fees\n\n{FEES}\n")

    def stop(count: int) -> None:
        if count > 6:
            raise KeyboardInterrupt

    with open_engine(tmp_path, ObservedEmbedder(stop)) as engine:
        with pytest.raises(KeyboardInterrupt):
            engine.ingest([docs])
        lacking = engine.status().lacking
        assert 0 < lacking < 31
        assert engine.verify() == []
        assert len(engine.search("berth word7", retriever="keyword")) == 10
    with open_engine(tmp_path, ObservedEmbedder()) as engine:
        assert engine.search("berth word7")  # words and what there is of vectors
        answer = engine.ask(QUESTION)
        assert "40 crowns" in (answer.answer or "")
        (warning,) = answer.warnings
        assert f"still being filled: {lacking} chunks have no vectors yet" in warning
        report = engine.ingest([docs])
        assert (report.unchanged, report.new, report.filled) == (31, 0, lacking)
        assert engine.ask(QUESTION).warnings == ()
        content = engine.status().content
    with open_engine(tmp_path / "other", ObservedEmbedder()) as engine:
        engine.ingest([docs])
        assert engine.status().content == content


def test_equal_texts_are_embedded_once_in_a_step(tmp_path: Path) -> None:
    docs = write_corpus(tmp_path, 1)
    rows = [f'{{"_id": "{n}", "text": "The same words."}}' for n in range(40)]
    (docs / "corpus.jsonl").write_text("\n".join(rows))
    embedder = ObservedEmbedder()
    with open_engine(tmp_path, embedder) as engine:
        engine.ingest([docs / "corpus.jsonl"])
        assert engine.status().chunks == 40
        assert len(engine.search("same words", retriever="vector", k=40)) == 40
    assert embedder.made < 15


@pytest.mark.parametrize(("seconds", "most"), [(0.12, BULK_MINIMUM), (1.0, 4), (9.0, 1)])
def test_a_slow_embedder_gets_enough_texts_for_bulk_if_they_do_not_take_long(
    tmp_path: Path, seconds: float, most: int
) -> None:
    docs, now, sizes = write_corpus(tmp_path, 60), [0.0], list[int]()

    class SlowEmbedder(ObservedEmbedder):
        def embed(self, texts: Sequence[str]) -> Matrix:
            now[0] += seconds * len(texts)
            sizes.append(len(texts))
            return super().embed(texts)

    with open_engine(tmp_path, ObservedEmbedder()) as engine:
        engine.ingest([docs])
        identity = engine.status().identity
    with open_writer(tmp_path / "index", identity) as writer:
        writer.create_spaces([Space(name="slow", identity={"model": "slow"})])
        report = fill_spaces(writer, {"slow": SlowEmbedder()}, clock=lambda: now[0])
    assert report.made == 60
    assert max(sizes) == most


class RefusingEmbedder(ObservedEmbedder):
    """Fails at texts that contain one of some words."""

    words: tuple[str, ...] = ("word7 ", "word21 ")

    def embed(self, texts: Sequence[str]) -> Matrix:
        if any(word in text for text in texts for word in self.words):
            raise ValueError("no token for that")
        return super().embed(texts)


@pytest.mark.parametrize("wait", [False, True])
def test_texts_that_cannot_be_embedded_are_named_and_the_others_get_their_vectors(
    tmp_path: Path, wait: bool
) -> None:
    docs, embedder = write_corpus(tmp_path, 40), RefusingEmbedder()
    section = {"wait_vectors": wait}
    with open_engine(tmp_path, embedder, ingest=section) as engine:
        report = engine.ingest([docs])
        assert (report.new, report.failed, report.unembedded) == (40, 0, 2)
        assert engine.status().lacking == 2
        named = [file for file in report.files if file.outcome == "no_vectors"]
        assert [Path(document.path).name for document in named] == ["0007.md", "0021.md"]
        assert named[0].reason.startswith("chunk 1 ('")
        assert "Berth word7 is free" in named[0].reason
        assert "broke off: ValueError" in named[0].reason
        assert named[0].reason.endswith("found by its words only")
        assert len(engine.search("word21", retriever="keyword")) == 1
        assert "no_vectors" in format_ingest_report(report)
        embedder.words = ()
        assert (engine.ingest().filled, engine.status().lacking) == (2, 0)
        content = engine.status().content
        assert engine.verify() == []
    with open_engine(tmp_path / "plain", ObservedEmbedder()) as engine:
        engine.ingest([docs])
        assert engine.status().content == content


@pytest.mark.parametrize("wait", [False, True])
def test_an_embedder_that_fails_at_every_text_is_an_error_at_once(
    tmp_path: Path, wait: bool
) -> None:
    embedder = RefusingEmbedder()
    embedder.words = ("",)
    docs = write_corpus(tmp_path, 40)
    with (
        open_engine(tmp_path, embedder, ingest={"wait_vectors": wait}) as engine,
        pytest.raises(ModelError, match="broke off: ValueError"),
    ):
        engine.ingest([docs])
    assert embedder.made == 0


def test_chunks_join_the_graph_once_they_have_a_vector(
    tmp_path: Path,
) -> None:
    docs, embedder = write_corpus(tmp_path, 40), RefusingEmbedder()
    section = {"directory": tmp_path / "index", "ann_from_chunks": 10}
    with open_engine(tmp_path, embedder, index=section) as engine:
        engine.ingest([docs])
        assert list((tmp_path / "index").glob("vectors-*"))
        embedder.words = ()
        engine.ingest()
        hits = engine.search("Notice 7 Berth word7 is free.", k=1, retriever="vector")
        assert [Path(hit.chunk.path).name for hit in hits] == ["0007.md"]
        assert engine.verify() == []
