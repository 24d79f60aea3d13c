"""Files and recorded places are merged in order, and never held all at once."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.factories import disable_sandbox, engine_at, open_public_folder

from fathom.documents.discover import FileFilter
from fathom.index.base import SourceRecord
from fathom.index.embedded.opening import open_writer
from fathom.ingest.places import BATCH_SIZE, MAX_CACHED_FILES, CorpusFiles
from fathom.ingest.progress import IngestState
from fathom.ingest.survey import Survey, merge_places

NAMES = st.sets(st.text("ab/.#$-0é", min_size=1, max_size=6).map(lambda name: f"/r/{name}"))


def make_record(place: str) -> SourceRecord:
    return SourceRecord(path=place, digest=place, outcome="ok", document_id=place)


@given(NAMES, NAMES)
def test_each_place_comes_once_with_its_file_and_its_record(
    there: set[str], recorded: set[str]
) -> None:
    files = [Path(name) for name in sorted({str(Path(name)) for name in there})]
    rows = [(place, make_record(place)) for place in sorted(recorded)]
    merged = list(merge_places(files, rows))
    assert [place for place, _, _ in merged] == sorted({*map(str, files), *recorded})
    assert [file for _, file, _ in merged if file] == files
    assert [source.path for _, _, source in merged if source] == sorted(recorded)


def test_one_of_ten_million_places_is_held_at_a_time() -> None:
    taken = {"found": 0, "known": 0}

    def iterate_places(kind: str) -> Iterator[int]:
        for number in range(10_000_000):
            taken[kind] += 1
            yield number

    files = (Path(f"/r/{number:08}") for number in iterate_places("found"))
    rows = (
        (f"/r/{number:08}", make_record(f"/r/{number:08}")) for number in iterate_places("known")
    )
    for number, (place, _, _) in enumerate(merge_places(files, rows)):
        assert place == f"/r/{number:08}"
        assert max(taken.values()) <= number + 2
        if number == 2_000:
            return


class CountingIndex:
    """An index that counts how many of its places are requested at a time."""

    def __init__(self, places: list[str]) -> None:
        self.places = places
        self.most = 0

    def list_sources(self, below: str, *, after: str, most: int) -> Iterator[SourceRecord]:
        page = [place for place in self.places if place > after][:most]
        self.most = max(self.most, len(page))
        return map(make_record, page)

    def get_source(self, _place: str) -> None:
        return None


def test_recorded_places_are_requested_in_pages(tmp_path: Path) -> None:
    places = [f"{tmp_path}/gone{number:06}" for number in range(3 * BATCH_SIZE)]
    index = CountingIndex(places)
    files = CorpusFiles(index)  # type: ignore[arg-type]
    survey = Survey([tmp_path], FileFilter(), index, None, files)  # type: ignore[arg-type]
    assert [place.place for place in survey.iterate_places() if place.file is None] == places
    assert index.most == BATCH_SIZE
    assert [place.place for place in survey.iterate_places()] == places  # it can be asked again


def test_the_memory_for_files_does_not_grow(tmp_path: Path) -> None:
    files = CorpusFiles(CountingIndex([]))  # type: ignore[arg-type]
    for number in range(MAX_CACHED_FILES + 10):
        files.is_gone(f"/nowhere/{number}#")
    assert len(files._gone) <= MAX_CACHED_FILES
    assert len(files._corpora) <= MAX_CACHED_FILES


class StopAfter:
    """Interrupts an ingestion after a number of files."""

    def __init__(self, files: int) -> None:
        self.files, self.seen = files, set[str]()

    def __call__(self, _report: object, advance: IngestState) -> None:
        self.seen.add(advance.place)
        if len(self.seen) > self.files:
            raise KeyboardInterrupt


def test_after_an_interruption_at_any_file_the_next_run_stores_the_existing_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disable_sandbox(monkeypatch)
    with open_public_folder() as folder, engine_at(folder) as engine:
        docs = folder / "docs"
        for number in range(12):
            (docs / f"d{number % 3}").mkdir(parents=True, exist_ok=True)
            (docs / f"d{number % 3}" / f"{number:02}.md").write_text(f"Text {number}.")
        engine.ingest([docs])
        for number in (1, 2, 6):
            (docs / f"d{number % 3}" / f"{number:02}.md").unlink()
        (docs / "d1" / "04.md").rename(docs / "moved.md")
        (docs / "d0" / "00.md").write_text("Another text.")
        for stop in range(1, 8):
            with pytest.raises(KeyboardInterrupt):
                engine.ingest([docs], prune=True, on_progress=StopAfter(stop))
        engine.ingest([docs], prune=True)
        there = sorted(str(path) for path in docs.rglob("*.md"))
        assert [document.path for document in engine.documents.list()] == there
        assert [source.path for source in engine.reader().list_sources(str(docs))] == there
        assert engine.verify() == []
        assert engine.ingest([docs], prune=True).unchanged == 9


def test_the_pages_of_an_index_are_one_list(tmp_path: Path) -> None:
    with open_writer(tmp_path / "index", {"a": "1"}) as writer:
        places = [f"/r/{number:03}" for number in range(40)]
        places += ["/r", "/r#1", "/r-old", "/r/007#x", "/ra", "/r0"]
        writer.put([], [SourceRecord(path=place, digest="", outcome="empty") for place in places])
        for below in ("/r", "/r/", "/", "/r/007", "/none"):
            whole = [source.path for source in writer.list_sources(below)]
            for most in (1, 7):
                pages, after = list[str](), ""
                while page := list(writer.list_sources(below, after=after, most=most)):
                    assert len(page) <= most
                    pages += [document.path for document in page]
                    after = page[-1].path
                assert pages == whole == sorted(whole)
