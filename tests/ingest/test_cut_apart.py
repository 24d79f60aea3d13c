"""For `fathom.ingest.cut_apart` and `fathom.ingest.workers.cutting`: texts that take too long to
cut.
"""

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


class EndlessChunker:
    """A chunker whose pattern blocks the interpreter forever at exclamation marks."""

    identity: Mapping[str, str] = {"chunker": "endless"}

    def split(self, document: Document) -> tuple[Chunk, ...]:
        """Search for the pattern, then cut; a text of `?` raises."""
        _NEVER_ENDS.search(document.text)
        if document.text.startswith("?"):
            raise ValueError("what is this?")
        return CharacterChunker(1000, 0).split(document)


def make_hurried_tools() -> IngestTools:
    """Return the tools of a process that has half a second per text."""
    cutting.CUT_SECONDS = 0.5
    return IngestTools(ParseLimits(), EndlessChunker(), {})


def make_broken_tools() -> IngestTools:
    """Fail to make tools."""
    raise ModelError("there is no tokenizer")


def start_worker(tools: object = make_hurried_tools) -> Workers:
    """Start one process."""
    return LocalWorkers(1, pickle.dumps(tools))


def make_document(text: str, name: str = "d") -> Document:
    return Document(id=name, text=text, path=name, title="")


@dataclass
class CountingStarter:
    """Counts the processes it starts."""

    tools: object = make_hurried_tools
    started: list[Workers] = field(default_factory=list)

    def __call__(self) -> Workers:
        self.started.append(start_worker(self.tools))
        return self.started[-1]


@pytest.fixture
def starter() -> Iterator[CountingStarter]:
    counting = CountingStarter()
    yield counting
    for process in counting.started:
        process.close()


def test_a_document_that_takes_too_long_is_refused_and_the_next_one_is_cut(
    starter: CountingStarter,
) -> None:
    apart = IsolatedChunker(EndlessChunker(), starter)
    with pytest.raises(
        ParseRefusal, match="took longer to cut than its length allows: 30 s"
    ) as refused:
        apart.split(make_document(ENDLESS))
    assert refused.value.outcome == "failed"
    assert "times" not in refused.value.reason  # it is not tried again
    assert apart.split(make_document(LONG)) == EndlessChunker().split(make_document(LONG))
    apart.close()
    assert apart.split(make_document(LONG, "again")) == EndlessChunker().split(
        make_document(LONG, "again")
    )
    assert len(starter.started) == 2
    apart.close()


def test_short_documents_start_no_process(starter: CountingStarter) -> None:
    apart = IsolatedChunker(EndlessChunker(), starter)
    assert apart.identity == EndlessChunker.identity
    short = make_document(LONG[:MAX_INLINE_CHARS])
    assert apart.split(short) == EndlessChunker().split(short)
    assert starter.started == []
    apart.close()


def test_the_cutting_process_is_started_early_for_a_long_file(
    tmp_path: Path, starter: CountingStarter
) -> None:
    apart = IsolatedChunker(EndlessChunker(), starter)
    (tmp_path / "short.txt").write_text("A word.")
    apart.prepare_for([tmp_path, tmp_path / "short.txt", tmp_path / "gone.txt"])
    assert starter.started == []
    (tmp_path / "long.txt").write_text(LONG)
    apart.prepare_for([tmp_path / "long.txt"])
    assert apart.split(make_document(LONG))
    assert len(starter.started) == 1
    apart.close()


@pytest.mark.parametrize("length", [5, 2 * MAX_INLINE_CHARS])
def test_an_error_of_the_chunker_is_a_fault_of_the_document(
    starter: CountingStarter, length: int
) -> None:
    with pytest.raises(ParseRefusal, match=r"cannot be cut: ValueError: what is this\?"):
        IsolatedChunker(EndlessChunker(), starter).split(make_document("?" * length))


def test_if_cutting_is_impossible_the_reason_is_reported() -> None:
    starts = CountingStarter(make_broken_tools)
    apart = IsolatedChunker(EndlessChunker(), starts)
    with pytest.raises(ModelError, match="there is no tokenizer"):
        apart.split(make_document(LONG))
    apart.close()


def test_a_worker_that_reads_and_cuts_has_the_same_limit(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(ENDLESS)
    workers = start_worker()
    ((_, outcome),) = WorkerPool(workers).run_in_order([ReadFileTask(str(file), str(file))])
    workers.close()
    assert getattr(outcome, "final_reason", "") == cutting.TOO_LONG


def ingest_folder(index: Path, folder: Path, chunker: Chunker) -> IngestReport:
    embedder = HashingEmbedder()
    with open_writer(index, {"a": "1"}) as writer, Sandbox() as sandbox:
        batch = Batch(writer=writer, embedders={"": embedder}, chunker=chunker, most_documents=256)
        report = Ingester(batch, sandbox).run([folder])
        assert (source := writer.get_source(str(folder / "b.txt"))) is not None
        assert source.document_id is None
    return report


def test_documents_beside_an_endless_one_are_stored(
    tmp_path: Path, starter: CountingStarter
) -> None:
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
    apart = IsolatedChunker(EndlessChunker(), starter)
    for _ in range(2):  # a failed file is tried again with every run
        report = ingest_folder(tmp_path / "index", folder, apart)
        outcomes = {Path(file.path).name: (file.outcome, file.reason) for file in report.files}
        failed = {name for name, (outcome, _) in outcomes.items() if outcome != "ok"}
        assert failed == {"b.txt", "d.txt"}
        assert outcomes["b.txt"] == ("failed", cutting.TOO_LONG)
        assert report.failed == 2
        assert report.new + report.unchanged == 3
    apart.close()


def test_the_old_version_of_an_uncuttable_file_is_kept(
    tmp_path: Path, starter: CountingStarter
) -> None:
    apart = IsolatedChunker(EndlessChunker(), starter)
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


class UnsendableEmbedder(HashingEmbedder):
    """Contains a value that cannot be pickled."""

    def __init__(self) -> None:
        super().__init__()
        self.held = lambda: None


def test_an_engine_cuts_long_documents_apart_if_its_embedder_can_be_sent(tmp_path: Path) -> None:
    for embedder, is_apart in (
        (None, True),
        (HashingEmbedder(), True),
        (UnsendableEmbedder(), False),
    ):
        engine = Engine(Settings(offline=True), embedder=embedder)
        with open_chunker(engine.assembly, embedder, []) as chunker:
            assert isinstance(chunker, IsolatedChunker) is is_apart
            words = engine.assembly.chunker.split(make_document(LONG))
            assert chunker.split(make_document(LONG)) == words
        engine.close()
