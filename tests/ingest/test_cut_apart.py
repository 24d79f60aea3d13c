"""For `fathom.ingest.cut_apart` and `fathom.ingest.workers.cutting`: what takes too long to cut."""

import pickle
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fathom.assembly.worker import IngestTools, open_chunker
from fathom.documents.base import ParseLimits, ParseRefusal
from fathom.documents.chunking.base import Chunker
from fathom.documents.chunking.fixed import CharacterChunker
from fathom.documents.sandbox.parent import Sandbox
from fathom.engine import Engine
from fathom.errors import ModelError
from fathom.index.embedded.opening import open_writer
from fathom.ingest.batch import Batch
from fathom.ingest.cut_apart import MAX_INLINE_CHARS, IsolatedChunker
from fathom.ingest.ingest import Ingester
from fathom.ingest.report import IngestReport
from fathom.ingest.workers import cutting
from fathom.ingest.workers.base import ReadFileTask, WorkerPool, Workers
from fathom.ingest.workers.local import LocalWorkers
from fathom.settings import Settings
from fathom.testing.doubles import HashingEmbedder
from fathom.types import Chunk, Document

_NEVER_ENDS = re.compile(r"(?:!+)+x")
LONG = "A word. " * MAX_INLINE_CHARS
ENDLESS = "!" * 2 * MAX_INLINE_CHARS


class Endless:
    """A chunker whose pattern holds the interpreter for ever at exclamation marks."""

    identity: Mapping[str, str] = {"chunker": "endless"}

    def split(self, document: Document) -> tuple[Chunk, ...]:
        """Look for the pattern, then cut; a text of `?` breaks it."""
        _NEVER_ENDS.search(document.text)
        if document.text.startswith("?"):
            raise ValueError("what is this?")
        return CharacterChunker(1000, 0).split(document)


def hurried_tools() -> IngestTools:
    """Tools of a process that has half a second for a text."""
    cutting.CUT_SECONDS = 0.5
    return IngestTools(ParseLimits(), Endless(), {})


def broken_tools() -> IngestTools:
    """None."""
    raise ModelError("there is no tokenizer")


def started(tools: object = hurried_tools) -> Workers:
    """One process."""
    return LocalWorkers(1, pickle.dumps(tools))


def document(text: str, name: str = "d") -> Document:
    return Document(id=name, text=text, path=name, title="")


@dataclass
class Starts:
    """Counts what it starts."""

    tools: object = hurried_tools
    started: list[Workers] = field(default_factory=list)

    def __call__(self) -> Workers:
        self.started.append(started(self.tools))
        return self.started[-1]


@pytest.fixture
def starts() -> Iterator[Starts]:
    found = Starts()
    yield found
    for each in found.started:
        each.close()


def test_a_document_that_takes_too_long_is_refused_and_the_next_one_is_cut(starts: Starts) -> None:
    apart = IsolatedChunker(Endless(), starts)
    with pytest.raises(
        ParseRefusal, match="took longer to cut than its length allows: 30 s"
    ) as refused:
        apart.split(document(ENDLESS))
    assert refused.value.outcome == "failed"
    assert "times" not in refused.value.reason  # it is not tried again
    assert apart.split(document(LONG)) == Endless().split(document(LONG))
    apart.close()
    assert apart.split(document(LONG, "again")) == Endless().split(document(LONG, "again"))
    assert len(starts.started) == 2
    apart.close()


def test_short_documents_start_no_process(starts: Starts) -> None:
    apart = IsolatedChunker(Endless(), starts)
    assert apart.identity == Endless.identity
    short = document(LONG[:MAX_INLINE_CHARS])
    assert apart.split(short) == Endless().split(short)
    assert starts.started == []
    apart.close()


def test_who_cuts_is_started_at_once_where_a_long_file_is_to_be_read(
    tmp_path: Path, starts: Starts
) -> None:
    apart = IsolatedChunker(Endless(), starts)
    (tmp_path / "short.txt").write_text("A word.")
    apart.prepare_for([tmp_path, tmp_path / "short.txt", tmp_path / "gone.txt"])
    assert starts.started == []
    (tmp_path / "long.txt").write_text(LONG)
    apart.prepare_for([tmp_path / "long.txt"])
    assert apart.split(document(LONG))
    assert len(starts.started) == 1
    apart.close()


@pytest.mark.parametrize("length", [5, 2 * MAX_INLINE_CHARS])
def test_what_breaks_a_chunker_is_the_fault_of_the_document(starts: Starts, length: int) -> None:
    with pytest.raises(ParseRefusal, match=r"cannot be cut: ValueError: what is this\?"):
        IsolatedChunker(Endless(), starts).split(document("?" * length))


def test_where_nobody_can_cut_the_reason_is_told() -> None:
    starts = Starts(broken_tools)
    apart = IsolatedChunker(Endless(), starts)
    with pytest.raises(ModelError, match="there is no tokenizer"):
        apart.split(document(LONG))
    apart.close()


def test_a_worker_that_reads_and_cuts_has_the_same_limit(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(ENDLESS)
    workers = started()
    ((_, found),) = WorkerPool(workers).run_in_order([ReadFileTask(str(file), str(file))])
    workers.close()
    assert getattr(found, "final_reason", "") == cutting.TOO_LONG


def ingested(index: Path, folder: Path, chunker: Chunker) -> IngestReport:
    embedder = HashingEmbedder()
    with open_writer(index, {"a": "1"}) as writer, Sandbox() as sandbox:
        batch = Batch(writer=writer, embedders={"": embedder}, chunker=chunker, most_documents=256)
        report = Ingester(batch, sandbox).run([folder])
        assert (source := writer.get_source(str(folder / "b.txt"))) is not None
        assert source.document_id is None
    return report


def test_the_documents_beside_one_that_never_ends_go_in(tmp_path: Path, starts: Starts) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for name, text in {
        "a": LONG,
        "b": ENDLESS,
        "c": "Short.",
        "d": ENDLESS,
        "e": LONG + "e",
    }.items():
        (folder / f"{name}.txt").write_text(text)
    apart = IsolatedChunker(Endless(), starts)
    for _ in range(2):  # a failed file is tried again with every run
        report = ingested(tmp_path / "index", folder, apart)
        found = {Path(file.path).name: (file.outcome, file.reason) for file in report.files}
        failed = {name for name, (outcome, _) in found.items() if outcome != "ok"}
        assert failed == {"b.txt", "d.txt"}
        assert found["b.txt"] == ("failed", cutting.TOO_LONG)
        assert report.failed == 2
        assert report.new + report.unchanged == 3
    apart.close()


def test_what_a_file_gave_before_stays_when_it_cannot_be_cut_any_more(
    tmp_path: Path, starts: Starts
) -> None:
    apart = IsolatedChunker(Endless(), starts)
    file = tmp_path / "files" / "a.txt"
    file.parent.mkdir()
    with open_writer(tmp_path / "index", {"a": "1"}) as writer, Sandbox() as sandbox:
        for text in (LONG, ENDLESS):
            file.write_text(text)
            batch = Batch(
                writer=writer,
                embedders={"": HashingEmbedder()},
                chunker=apart,
                most_documents=256,
            )
            report = Ingester(batch, sandbox).run([file])
        assert (source := writer.get_source(str(file))) is not None
        assert (source.outcome, source.reason) == ("stale", cutting.TOO_LONG)
        assert source.document_id is not None
        assert report.stale == 1
    apart.close()


class Unsendable(HashingEmbedder):
    """Holds what cannot be pickled."""

    def __init__(self) -> None:
        super().__init__()
        self.held = lambda: None


def test_an_engine_cuts_long_documents_apart_where_its_embedder_can_be_sent(tmp_path: Path) -> None:
    for embedder, is_apart in ((None, True), (HashingEmbedder(), True), (Unsendable(), False)):
        engine = Engine(Settings(offline=True), embedder=embedder)
        with open_chunker(engine.assembly, embedder, []) as chunker:
            assert isinstance(chunker, IsolatedChunker) is is_apart
            words = engine.assembly.chunker.split(document(LONG))
            assert chunker.split(document(LONG)) == words
        engine.close()
