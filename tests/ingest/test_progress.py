"""What is told while files go in."""

import json
from pathlib import Path

import pytest
from tests.making import engine_at

from fathom.ingest.progress import IngestState, ProgressCounter
from fathom.ingest.report import IngestReport


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    return tmp_path / "docs"


def told(docs: Path, batch: int = 256, *, wait: bool = False) -> list[tuple[IngestState, int]]:
    """All that an ingestion tells, with how many files it has reported by then."""
    seen: list[tuple[IngestState, int]] = []

    def note(report: IngestReport, advance: IngestState) -> None:
        seen.append((advance, len(report.files)))

    with engine_at(docs.parent, ingest={"batch_documents": batch, "wait_vectors": wait}) as engine:
        engine.ingest([docs], on_progress=note)
    return seen


def test_bytes_go_from_nothing_to_all_and_never_back(docs: Path) -> None:
    for number in range(9):
        (docs / f"{number}.md").write_text(f"Text {number}. " * 50 * number or "Short.")
    news = [advance for advance, _ in told(docs, batch=3)]
    size = sum(file.stat().st_size for file in docs.glob("*.md"))
    assert {each.bytes for each in news} == {size}
    done = [each.done for each in news]
    assert (done[0], done[-1]) == (0, size)
    assert done == sorted(done)
    assert [each.chunks for each in news] == sorted(each.chunks for each in news)
    assert news[-1].stage == "finishing"
    assert {each.stage for each in news} == {"reading", "embedding", "finishing"}


def test_the_file_that_is_read_is_named(docs: Path) -> None:
    (docs / "a.md").write_text("Text.")
    places = {advance.place for advance, _ in told(docs)}
    assert places == {str(docs / "a.md"), ""}


def test_what_is_known_already_is_done_at_once(docs: Path) -> None:
    (docs / "a.md").write_text("Text.")
    told(docs)
    assert told(docs)[-1][0].done == 5


def test_one_large_document_is_told_slice_by_slice(docs: Path) -> None:
    lines = [f"Paragraph {number} of a long text about mooring.\n\n" * 9 for number in range(60)]
    (docs / "long.md").write_text("".join(lines))
    news = [advance for advance, reported in told(docs, wait=True) if not reported]
    slices = [each for each in news if each.stage == "embedding"]
    assert len(slices) > 2
    assert 0 < slices[0].done < slices[-1].done
    assert 0 < slices[0].chunks < slices[-1].chunks


def test_stored_chunks_are_told_as_they_get_their_vectors(docs: Path) -> None:
    for number in range(9):
        (docs / f"{number}.md").write_text(f"Text {number}.")
    news = [advance for advance, _ in told(docs)]
    filling = [each for each in news if each.stage == "embedding"]
    assert [each.vectors + each.lacking for each in filling] == [9] * len(filling)
    vectors = [each.vectors for each in filling]
    assert vectors == sorted(set(vectors))
    assert (vectors[-1], {each.chunks for each in filling}) == (9, {9})
    assert len(filling) > 2


def test_the_records_of_a_corpus_file_are_told_as_they_are_stored(docs: Path) -> None:
    rows = [json.dumps({"_id": f"r{n}", "text": f"Record {n} says so. " * 20}) for n in range(12)]
    (docs / "corpus.jsonl").write_text("\n".join(rows))
    done = [advance.done for advance, reported in told(docs, batch=4) if not reported]
    assert len({each for each in done if 0 < each < (docs / "corpus.jsonl").stat().st_size}) > 2


def test_records_are_never_larger_than_their_file() -> None:
    news: list[IngestState] = []
    course = ProgressCounter(news.append)
    course.begin([100])
    course.open_file("packed.jsonl.gz", 100)
    for size in (60, 60, 60):
        course.count_read(size)
    course.close_file(stored=True)
    assert news[-1].done == pytest.approx(100)
