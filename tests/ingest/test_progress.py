"""The progress reported during an ingestion."""

import json
from pathlib import Path

import pytest
from tests.factories import engine_at

from fathom.ingest.progress import IngestState, ProgressCounter
from fathom.ingest.report import IngestReport


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    return tmp_path / "docs"


def list_progress(
    docs: Path, batch: int = 256, *, wait: bool = False
) -> list[tuple[IngestState, int]]:
    """Return all reported states of an ingestion, with the number of files reported by then."""
    states: list[tuple[IngestState, int]] = []

    def note(report: IngestReport, advance: IngestState) -> None:
        states.append((advance, len(report.files)))

    with engine_at(docs.parent, ingest={"batch_documents": batch, "wait_vectors": wait}) as engine:
        engine.ingest([docs], on_progress=note)
    return states


def test_bytes_grow_from_nothing_to_all(docs: Path) -> None:
    for number in range(9):
        (docs / f"{number}.md").write_text(f"Text {number}. " * 50 * number or "Short.")
    news = [advance for advance, _ in list_progress(docs, batch=3)]
    size = sum(file.stat().st_size for file in docs.glob("*.md"))
    assert {state.bytes for state in news} == {size}
    done = [state.done for state in news]
    assert (done[0], done[-1]) == (0, size)
    assert done == sorted(done)
    assert [state.chunks for state in news] == sorted(state.chunks for state in news)
    assert news[-1].stage == "finishing"
    assert {state.stage for state in news} == {"reading", "embedding", "finishing"}


def test_the_file_being_read_is_named(docs: Path) -> None:
    (docs / "a.md").write_text("Text.")
    places = {advance.place for advance, _ in list_progress(docs)}
    assert places == {str(docs / "a.md"), ""}


def test_unchanged_files_are_done_at_once(docs: Path) -> None:
    (docs / "a.md").write_text("Text.")
    list_progress(docs)
    assert list_progress(docs)[-1][0].done == 5


def test_one_large_document_is_reported_slice_by_slice(docs: Path) -> None:
    lines = [f"Paragraph {number} of a long text about mooring.\n\n" * 9 for number in range(60)]
    (docs / "long.md").write_text("".join(lines))
    news = [advance for advance, reported in list_progress(docs, wait=True) if not reported]
    slices = [state for state in news if state.stage == "embedding"]
    assert len(slices) > 2
    assert 0 < slices[0].done < slices[-1].done
    assert 0 < slices[0].chunks < slices[-1].chunks


def test_stored_chunks_are_reported_as_they_get_their_vectors(docs: Path) -> None:
    for number in range(9):
        (docs / f"{number}.md").write_text(f"Text {number}.")
    news = [advance for advance, _ in list_progress(docs)]
    filling = [state for state in news if state.stage == "embedding"]
    assert [state.vectors + state.lacking for state in filling] == [9] * len(filling)
    vectors = [state.vectors for state in filling]
    assert vectors == sorted(set(vectors))
    assert (vectors[-1], {state.chunks for state in filling}) == (9, {9})
    assert len(filling) > 2


def test_records_of_a_corpus_file_are_reported_as_they_are_stored(docs: Path) -> None:
    rows = [json.dumps({"_id": f"r{n}", "text": f"Record {n} says so. " * 20}) for n in range(12)]
    (docs / "corpus.jsonl").write_text("\n".join(rows))
    done = [advance.done for advance, reported in list_progress(docs, batch=4) if not reported]
    assert len({count for count in done if 0 < count < (docs / "corpus.jsonl").stat().st_size}) > 2


def test_records_are_never_larger_than_their_file() -> None:
    news: list[IngestState] = []
    course = ProgressCounter(news.append)
    course.begin([100])
    course.open_file("packed.jsonl.gz", 100)
    for size in (60, 60, 60):
        course.count_read(size)
    course.close_file(stored=True)
    assert news[-1].done == pytest.approx(100)
