"""Documents are found by their words before they have vectors, whatever happens meanwhile."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.making import FEES, QUESTION, disable_sandbox

from fathom.engine import Engine
from fathom.errors import ModelError
from fathom.index.embedded.opening import open_reader
from fathom.ingest.progress import IngestState
from fathom.ingest.report import IngestReport
from fathom.models.base import Matrix
from fathom.serving.cli.output import format_ingest_report
from fathom.settings import Settings
from fathom.testing.doubles import OVERLAP, HashingEmbedder


@dataclass
class Watched:
    """An embedder that looks up before it embeds."""

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
def _no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    disable_sandbox(monkeypatch)


def engine_over(folder: Path, embedder: Watched, **sections: object) -> Engine:
    tree = {"index": {"directory": folder / "index"}, **sections}
    return Engine(Settings.model_validate(tree), embedder=embedder, cross_reader=OVERLAP)


def corpus(folder: Path, files: int) -> Path:
    docs = folder / "docs"
    docs.mkdir()
    for number in range(files):
        (docs / f"{number:04}.md").write_text(f"# Notice {number}\n\nBerth word{number} is free.\n")
    return docs


def test_the_first_of_a_thousand_files_is_found_before_the_third_is_read(tmp_path: Path) -> None:
    docs, opened = corpus(tmp_path, 1000), list[tuple[int, int]]()
    embedder = Watched()

    def look(report: IngestReport, advance: IngestState) -> None:
        read = len({advance.place, *seen})
        if advance.place and advance.place not in seen:
            seen.add(advance.place)
            if read in {2, 3}:
                with open_reader(tmp_path / "index") as reader:
                    opened.append((read, len(reader.keyword_search("word0", k=5))))

    seen: set[str] = set()
    with engine_over(tmp_path, embedder) as engine:
        engine.ingest([docs], on_progress=look)
    assert opened == [(2, 1), (3, 1)]


def test_all_documents_are_found_by_words_before_the_first_vector_is_made(tmp_path: Path) -> None:
    docs, found = corpus(tmp_path, 30), list[tuple[int, int, int]]()

    def look(made: int) -> None:
        with open_reader(tmp_path / "index") as reader:
            words = len(reader.keyword_search("berth", k=99))
            near = len(reader.vector_search(embedder.under.embed(["berth"])[0], k=99))
            found.append((words, near, reader.count_missing_vectors()))

    embedder = Watched(look)
    with engine_over(tmp_path, embedder) as engine:
        engine.ingest([docs])
        assert engine.status().lacking == 0
    assert found[0] == (30, 0, 30)
    assert {words for words, _, _ in found} == {30}
    assert [near + lacking for _, near, lacking in found] == [30] * len(found)


def test_who_waits_for_vectors_finds_documents_with_theirs_only(tmp_path: Path) -> None:
    docs, found = corpus(tmp_path, 30), list[int]()

    def look(made: int) -> None:
        with open_reader(tmp_path / "index") as reader:
            found.append(reader.count_missing_vectors() + len(reader.keyword_search("berth", k=99)))

    with engine_over(tmp_path, Watched(look), ingest={"wait_vectors": True}) as engine:
        assert engine.ingest([docs]).filled == 0
        waited = engine.status().content
    assert set(found) == {0}
    with engine_over(tmp_path / "other", Watched()) as engine:
        engine.ingest([docs])
        assert engine.status().content == waited


def test_broken_off_while_vectors_are_made_the_next_ingest_makes_the_rest(tmp_path: Path) -> None:
    docs = corpus(tmp_path, 30)
    (docs / "fees.md").write_text(f"# Fees\n\n{FEES}\n")

    def stop(made: int) -> None:
        if made > 6:
            raise KeyboardInterrupt

    with engine_over(tmp_path, Watched(stop)) as engine:
        with pytest.raises(KeyboardInterrupt):
            engine.ingest([docs])
        lacking = engine.status().lacking
        assert 0 < lacking < 31
        assert engine.verify() == []
        assert len(engine.search("berth word7", retriever="keyword")) == 10
    with engine_over(tmp_path, Watched()) as engine:
        assert engine.search("berth word7")  # words and what there is of vectors
        answer = engine.ask(QUESTION)
        assert "40 crowns" in (answer.answer or "")
        (warning,) = answer.warnings
        assert f"still being filled: {lacking} chunks have no vectors yet" in warning
        report = engine.ingest([docs])
        assert (report.unchanged, report.new, report.filled) == (31, 0, lacking)
        assert engine.ask(QUESTION).warnings == ()
        content = engine.status().content
    with engine_over(tmp_path / "other", Watched()) as engine:
        engine.ingest([docs])
        assert engine.status().content == content


def test_equal_texts_are_embedded_once_in_a_step(tmp_path: Path) -> None:
    docs = corpus(tmp_path, 1)
    rows = [f'{{"_id": "{n}", "text": "The same words."}}' for n in range(40)]
    (docs / "corpus.jsonl").write_text("\n".join(rows))
    embedder = Watched()
    with engine_over(tmp_path, embedder) as engine:
        engine.ingest([docs])
        assert engine.status().chunks == 40
        assert len(engine.search("same words", retriever="vector", k=40)) == 40
    assert embedder.made < 15


class Refusing(Watched):
    """Breaks off at texts that hold one of some words."""

    words: tuple[str, ...] = ("word7 ", "word21 ")

    def embed(self, texts: Sequence[str]) -> Matrix:
        if any(word in text for text in texts for word in self.words):
            raise ValueError("no token for that")
        return super().embed(texts)


@pytest.mark.parametrize("wait", [False, True])
def test_texts_that_cannot_be_embedded_are_named_and_the_others_get_their_vectors(
    tmp_path: Path, wait: bool
) -> None:
    docs, embedder = corpus(tmp_path, 40), Refusing()
    section = {"wait_vectors": wait}
    with engine_over(tmp_path, embedder, ingest=section) as engine:
        report = engine.ingest([docs])
        assert (report.new, report.failed, report.unembedded) == (40, 0, 2)
        assert engine.status().lacking == 2
        named = [file for file in report.files if file.outcome == "no_vectors"]
        assert [Path(one.path).name for one in named] == ["0007.md", "0021.md"]
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
    with engine_over(tmp_path / "plain", Watched()) as engine:
        engine.ingest([docs])
        assert engine.status().content == content


@pytest.mark.parametrize("wait", [False, True])
def test_an_embedder_that_fails_at_every_text_is_an_error_at_once(
    tmp_path: Path, wait: bool
) -> None:
    embedder = Refusing()
    embedder.words = ("",)
    docs = corpus(tmp_path, 40)
    with (
        engine_over(tmp_path, embedder, ingest={"wait_vectors": wait}) as engine,
        pytest.raises(ModelError, match="broke off: ValueError"),
    ):
        engine.ingest([docs])
    assert embedder.made == 0


def test_chunks_without_a_vector_leave_the_graph_to_the_others_until_they_have_one(
    tmp_path: Path,
) -> None:
    docs, embedder = corpus(tmp_path, 40), Refusing()
    section = {"directory": tmp_path / "index", "ann_from_chunks": 10}
    with engine_over(tmp_path, embedder, index=section) as engine:
        engine.ingest([docs])
        assert list((tmp_path / "index").glob("vectors-*"))
        embedder.words = ()
        engine.ingest()
        hits = engine.search("Notice 7 Berth word7 is free.", k=1, retriever="vector")
        assert [Path(hit.chunk.path).name for hit in hits] == ["0007.md"]
        assert engine.verify() == []
