"""Data that exists is kept: what an ingestion keeps, marks, moves and removes."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.factories import disable_sandbox, drop_privileges, engine_at, open_public_folder

from fathom.documents.base import ParseRefusal
from fathom.engine import Engine
from fathom.index.base import Entry, SourceRecord
from fathom.index.embedded.keyword import KeywordEntry, KeywordIndex
from fathom.index.embedded.reader import EmbeddedReader
from fathom.index.embedded.writer import EmbeddedWriter
from fathom.ingest.places import GONE
from fathom.ingest.report import IngestReport
from fathom.ingest.survey import LEADS_OUT
from fathom.serving.cli.output import format_ingest_report

FileWriter = Callable[[str, str], Path]
IndexMethod = Callable[..., object]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with open_public_folder() as folder:
        yield folder


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Yield an engine that parses files in this process, since the sandbox is not under test."""
    disable_sandbox(monkeypatch)
    with engine_at(tmp_path) as opened:
        yield opened


@pytest.fixture
def write(tmp_path: Path) -> FileWriter:
    def write_file(name: str, text: str) -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    return write_file


def list_paths(engine: Engine, folder: Path) -> list[str]:
    return [
        Path(document.path).relative_to(folder).as_posix() for document in engine.documents.list()
    ]


def get_source(engine: Engine, file: Path) -> SourceRecord:
    record = engine.reader(checked=False).get_source(str(file))
    assert record is not None
    return record


def test_prune_keeps_paths_that_only_begin_like_the_folder(
    engine: Engine, write: FileWriter, tmp_path: Path
) -> None:
    for name in ("px/a.md", "px2/b.md", "px-old/c.md", "px#d.md"):
        write(name, f"Text of {name}.")
    engine.ingest([tmp_path / name for name in ("px", "px2", "px-old", "px#d.md")])
    (tmp_path / "px" / "a.md").unlink()
    (tmp_path / "px2" / "b.md").unlink()
    (tmp_path / "px#d.md").unlink()
    write("px/e.md", "Text of e.")
    assert engine.ingest([tmp_path / "px"], prune=True).removed == 1
    assert list_paths(engine, tmp_path) == ["px#d.md", "px-old/c.md", "px/e.md", "px2/b.md"]


def test_prune_keeps_existing_links_and_hidden_files(
    engine: Engine, write: FileWriter, tmp_path: Path
) -> None:
    write("elsewhere/real.md", "Somewhere else.")
    write("another/other.md", "In another folder.")
    write("px/a.md", "Some text.")
    write("px/.hidden.md", "Hidden text.")
    (tmp_path / "px" / "link.md").symlink_to(tmp_path / "elsewhere" / "real.md")
    (tmp_path / "px" / "folder").symlink_to(tmp_path / "another")
    named = [tmp_path / "px" / name for name in (".hidden.md", "link.md", "folder", "a.md")]
    engine.ingest(named)
    before = {entry.path for entry in engine.reader().list_sources()}
    assert len(before) == 4
    assert engine.ingest([tmp_path / "px"], prune=True).removed == 0
    assert {entry.path for entry in engine.reader().list_sources()} == before
    (tmp_path / "elsewhere" / "real.md").unlink()
    assert engine.ingest([tmp_path / "px"], prune=True).removed == 1


@pytest.mark.parametrize("place", ["px/sub/a.md", "px/sub"])
def test_a_file_that_a_link_out_of_the_folder_replaces_is_not_read(
    engine: Engine, write: FileWriter, tmp_path: Path, place: str
) -> None:
    write("px/sub/a.md", "Some text.")
    write("px/b.md", "Other text.")
    write("elsewhere/sub/a.md", "A secret.")
    engine.ingest([tmp_path / "px"])
    (tmp_path / place).rename(tmp_path / "old")
    (tmp_path / place).symlink_to(tmp_path / "elsewhere" / Path(place).relative_to("px"))
    report = engine.ingest([tmp_path / "px"], prune=True)
    assert (report.failed, report.stale, report.unchanged, report.removed) == (1, 1, 1, 0)
    assert [file.reason for file in report.files if file.is_bad] == [f"cannot be read: {LEADS_OUT}"]
    document = engine.documents.get(str(tmp_path / "px" / "sub" / "a.md"))
    assert document.text == "Some text."
    assert engine.ingest([tmp_path / place]).changed == 1
    assert engine.documents.get(document.path).text == "A secret."


def test_an_unreadable_folder_keeps_its_documents_and_is_named(
    engine: Engine, write: FileWriter, tmp_path: Path
) -> None:
    file = write("px/closed/a.md", "Some text.")
    write("px/b.md", "Other text.")
    with drop_privileges(tmp_path):
        engine.ingest([tmp_path / "px"])
        file.parent.chmod(0)
        report = engine.ingest([tmp_path / "px"], prune=True)
        assert (report.removed, report.stale, report.failed) == (0, 1, 2)
        assert {(entry.path, entry.outcome, entry.reason) for entry in report.files} == {
            (str(file.parent), "failed", "cannot be read: Permission denied"),
            (str(file), "stale", "cannot be read: Permission denied"),
            (str(tmp_path / "px" / "b.md"), "ok", "unchanged"),
        }
        assert list_paths(engine, tmp_path) == ["px/b.md", "px/closed/a.md"]
        file.parent.chmod(0o700)
        assert engine.ingest([tmp_path / "px"]).unchanged == 2
    assert get_source(engine, file).outcome == "ok"


def test_an_unreadable_file_keeps_its_document(
    engine: Engine, write: FileWriter, tmp_path: Path
) -> None:
    file = write("px/a.md", "Some text.")
    with drop_privileges(tmp_path):
        engine.ingest([tmp_path / "px"])
        file.chmod(0)
        report = engine.ingest([tmp_path / "px"])
        assert (report.failed, report.stale) == (1, 1)
        marked = get_source(engine, file)
        assert (marked.outcome, marked.reason) == ("stale", "cannot be read: Permission denied")
        assert engine.documents.get(str(file)).text == "Some text."
        assert engine.status().stale == 1


@pytest.mark.parametrize("broken", [b"PK\x03\x04 half a DOCX", b"", b"%PDF-1.7 half", b"  \n"])
def test_a_broken_file_keeps_the_good_version(
    engine: Engine, write: FileWriter, tmp_path: Path, broken: bytes
) -> None:
    file = write("px/a.md", "The good version.")
    engine.ingest([file])
    file.write_bytes(broken)
    for _ in range(2):
        report = engine.ingest([tmp_path / "px"])
        assert (report.failed, report.stale, report.changed) == (1, 1, 0)
        assert engine.documents.get(str(file)).text == "The good version."
    marked = get_source(engine, file)
    assert (marked.outcome, bool(marked.reason)) == ("stale", True)
    file.write_text("The new version.")
    assert engine.ingest([tmp_path / "px"]).changed == 1
    assert [engine.documents.get(document.id).text for document in engine.documents.list()] == [
        "The new version."
    ]
    assert engine.status().stale == 0


@pytest.mark.parametrize(("prune", "is_listed"), [(False, True), (True, False)])
def test_a_file_removed_before_it_is_read_is_gone_and_not_failed(
    engine: Engine,
    write: FileWriter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    prune: bool,
    is_listed: bool,
) -> None:
    write("px/b.md", "Some text.")
    engine.ingest([tmp_path / "px"])
    write("px/a.md", "New text.")
    write("px/b.md", "Other text.")

    def remove_file(path: Path, *_: object) -> Iterable[object]:
        path.unlink()
        raise ParseRefusal("failed", "cannot be read: No such file or directory")

    monkeypatch.setattr("fathom.ingest.ingest.read_file", remove_file)
    report = engine.ingest([tmp_path / "px"], prune=prune)
    assert report.failed == 0
    assert [(file.outcome, file.reason) for file in report.files] == [("stale", GONE)] * is_listed
    assert list_paths(engine, tmp_path) == ["px/b.md"] * is_listed


def test_a_good_version_that_returns_is_no_longer_stale(engine: Engine, write: FileWriter) -> None:
    file = write("px/a.md", "The good version.")
    engine.ingest([file])
    file.write_bytes(b"PK\x03\x04 half a DOCX")
    engine.ingest([file])
    file.write_text("The good version.")
    assert engine.ingest([file]).unchanged == 1
    assert get_source(engine, file).outcome == "ok"


def test_a_deleted_file_is_stale_until_it_is_pruned(
    engine: Engine, write: FileWriter, tmp_path: Path
) -> None:
    file = write("px/a.md", "Some text.")
    write("px/b.md", "Other text.")
    engine.ingest([tmp_path / "px"])
    file.unlink()
    report = engine.ingest([tmp_path / "px"])
    assert (report.stale, report.removed, report.failed) == (1, 0, 0)
    assert "--prune" in get_source(engine, file).reason
    assert engine.ingest([tmp_path / "px"], prune=True).removed == 1
    assert list_paths(engine, tmp_path) == ["px/b.md"]


@pytest.mark.parametrize("how", ["gone", "empty", "a file"])
def test_a_deleted_or_empty_folder_can_be_pruned(
    engine: Engine, write: FileWriter, tmp_path: Path, how: str
) -> None:
    file = write("px/in/a.md", "Some text.")
    write("other/b.md", "Other text.")
    engine.ingest([tmp_path / "px", tmp_path / "other"])
    file.unlink()
    if how != "empty":
        file.parent.rmdir()
        file.parent.parent.rmdir()
    if how == "a file":
        (tmp_path / "px").write_text("Now a file.")
    assert engine.ingest([tmp_path / "px"], prune=True).removed == 1
    expected = ["other/b.md", "px"] if how == "a file" else ["other/b.md"]
    assert list_paths(engine, tmp_path) == expected


@pytest.mark.parametrize("prune", [False, True])
def test_a_renamed_file_has_its_new_path(
    engine: Engine, write: FileWriter, tmp_path: Path, prune: bool
) -> None:
    file = write("px/old.md", "Some text without a title.")
    engine.ingest([tmp_path / "px"])
    file.rename(file.with_name("new.md"))
    report = engine.ingest([tmp_path / "px"], prune=prune)
    assert (report.removed, report.stale) == (0, 0)
    assert report.files[0].reason == f"moved from {file}"
    (document,) = engine.documents.list()
    assert (Path(document.path).name, document.title) == ("new.md", "new")
    assert engine.reader().get_source(str(file)) is None
    assert engine.search("text")[0].chunk.title == "new"
    assert engine.verify() == []


def test_a_file_moved_out_of_the_folder_has_its_new_path(
    engine: Engine, write: FileWriter, tmp_path: Path
) -> None:
    file = write("px/a.md", "Some text.")
    write("px/b.md", "Other text.")
    engine.ingest([tmp_path / "px"])
    (tmp_path / "py").mkdir()
    file.rename(tmp_path / "py" / "a.md")
    engine.ingest([tmp_path / "py"])
    assert list_paths(engine, tmp_path) == ["px/b.md", "py/a.md"]
    assert [Path(entry.path).name for entry in engine.reader().list_sources()] == ["b.md", "a.md"]


@pytest.mark.parametrize("how", ["removed", "changed"])
def test_a_copy_takes_over_the_document(
    engine: Engine, write: FileWriter, tmp_path: Path, how: str
) -> None:
    file = write("px/a.md", "Some text.")
    write("px/b.md", "Some text.")
    engine.ingest([tmp_path / "px"])
    assert list_paths(engine, tmp_path) == ["px/a.md"]
    if how == "removed":
        file.unlink()
    else:
        file.write_text("Changed text.")
    engine.ingest([tmp_path / "px"])
    titles = {Path(document.path).name: document.title for document in engine.documents.list()}
    assert titles == ({"b.md": "b"} if how == "removed" else {"a.md": "a", "b.md": "b"})


def test_a_recorded_file_behind_a_link_is_updated(
    engine: Engine, write: FileWriter, tmp_path: Path
) -> None:
    file = write("px/b.md", "Some text.")
    engine.ingest([tmp_path / "px"])
    (tmp_path / "px" / "a.md").symlink_to("b.md")
    file.write_text("Changed text.")
    engine.ingest([tmp_path / "px"])
    assert [engine.documents.get(document.id).text for document in engine.documents.list()] == [
        "Changed text."
    ]


def make_records(*numbers: int) -> str:
    rows = [{"_id": f"d{n}", "text": f"Ferry {n} sails at noon."} for n in numbers]
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def list_outcomes(engine: Engine) -> dict[str, str]:
    return {Path(entry.path).name: entry.outcome for entry in engine.reader().list_sources()}


def test_records_of_an_unreadable_corpus_are_stale(engine: Engine, write: FileWriter) -> None:
    file = write("set/corpus.jsonl", make_records(0, 1))
    engine.ingest([file.parent])
    file.write_bytes(b"\xff\xfe\x00")
    report = engine.ingest([file.parent], prune=True)
    assert (report.failed, report.stale, report.removed) == (1, 2, 0)
    assert set(list_outcomes(engine).values()) == {"stale"}
    file.write_text(make_records(0, 1))
    assert engine.ingest([file.parent]).unchanged == 2
    assert set(list_outcomes(engine).values()) == {"ok"}


def test_a_record_deleted_from_its_file_is_stale(engine: Engine, write: FileWriter) -> None:
    file = write("set/corpus.jsonl", make_records(0, 1))
    engine.ingest([file.parent])
    file.write_text(make_records(1))
    assert engine.ingest([file.parent]).stale == 1
    assert list_outcomes(engine) == {
        "corpus.jsonl": "ok", "corpus.jsonl#d0": "stale", "corpus.jsonl#d1": "ok",
    }  # fmt: skip
    assert engine.ingest([file.parent], prune=True).removed == 1


def test_a_deleted_corpus_is_pruned_or_moved(
    engine: Engine, write: FileWriter, tmp_path: Path
) -> None:
    file = write("set/corpus.jsonl", make_records(0, 1))
    engine.ingest([file.parent])
    file.unlink()
    assert engine.ingest([file.parent]).stale == 2
    write("moved/corpus.jsonl", make_records(0, 1))
    assert engine.ingest([tmp_path / "moved"]).failed == 0
    assert list_outcomes(engine).keys() == {"corpus.jsonl", "corpus.jsonl#d0", "corpus.jsonl#d1"}
    assert {Path(entry.path).parent.name for entry in engine.reader().list_sources()} == {"moved"}


@pytest.mark.parametrize("between", [0, 5])
def test_the_first_of_records_with_one_id_counts(
    engine: Engine, write: FileWriter, between: int
) -> None:
    # The first document of an ingestion is stored at once, the others together.
    first, second = make_records(*range(between + 1)), make_records(between).replace("noon", "dawn")
    file = write("set/corpus.jsonl", first + second)
    for rows in (first + second, second + first + "no record\n", first + second + first):
        file.write_text(rows)
        report = engine.ingest([file.parent])
        reasons = {entry.path: entry.reason for entry in report.files if entry.is_bad}
        assert reasons[f"{file}#d{between}"] == (
            "its _id occurs before in the file; the first one counts"
        )
        assert ("dawn" in engine.documents.get(f"d{between}").text) == rows.startswith(second)
        assert list_outcomes(engine)[f"corpus.jsonl#d{between}"] == "ok"
        assert engine.verify() == []
        again = engine.ingest([file.parent])
        assert (again.failed, again.unchanged) == (report.failed, between + 1)
    assert report.failed == between + 2


@pytest.mark.parametrize("line", [1, 3])
def test_a_bad_line_does_not_replace_a_record_whose_id_is_its_number(
    engine: Engine, write: FileWriter, line: int
) -> None:
    rows = make_records(0, 1, 2).replace('"d2"', f'"{line}"').splitlines()
    file = write("set/corpus.jsonl", "")
    for rest in (rows[2:], [*rows[1:], *rows[:1]], rows):
        file.write_text("\n".join([*rest[: line - 1], "no record", *rest[line - 1 :]]))
        assert engine.ingest([file.parent]).failed == 1
        assert list_outcomes(engine)[f"corpus.jsonl#{line}"] == "ok"
        assert "2" in engine.documents.get(str(line)).text


def test_the_id_of_a_record_belongs_to_its_first_owner(
    engine: Engine, write: FileWriter, tmp_path: Path
) -> None:
    first, second = write("one/corpus.jsonl", make_records(0, 1)), tmp_path / "two" / "corpus.jsonl"
    engine.ingest([first])
    write("two/corpus.jsonl", make_records(1, 2).replace("noon", "dawn"))
    for _ in range(2):  # what is stored, and what was refused already
        report = engine.ingest([second.parent])
        assert report.failed == 1
        assert report.new + report.unchanged == 1
    entry = engine.reader().get_source(f"{second}#d1")
    assert entry is not None
    assert entry.reason == f"the id 'd1' belongs to {first}#d1 already; use another --index"
    assert "noon" in engine.documents.get("d1").text
    # Both in one batch.
    engine.ingest([first.parent, second.parent], rebuild=True)
    assert engine.reader().get_source(f"{second}#d1") == entry
    assert [document.id for document in engine.documents.list()] == ["d0", "d1", "d2"]


def test_a_record_that_is_carried_over_takes_no_id_of_another(
    engine: Engine, write: FileWriter, tmp_path: Path
) -> None:
    second = write("two/corpus.jsonl", make_records(1))
    engine.ingest([second])
    second.write_text(json.dumps({"_id": "d1", "text": ""}))
    first = write("one/corpus.jsonl", make_records(1).replace("noon", "dawn"))
    engine.ingest([first.parent, second.parent], rebuild=True)
    assert "dawn" in engine.documents.get("d1").text
    entry = engine.reader().get_source(f"{second}#d1")
    assert entry is not None
    assert (entry.outcome, entry.document_id) == ("empty", None)


def test_stored_documents_are_looked_up_once_per_batch(
    engine: Engine, write: FileWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    for name in ("get_paths", "get_document", "get_source"):
        real = getattr(EmbeddedReader, name)

        def count_calls(
            index: EmbeddedReader, *arguments: object, name: str = name, real: IndexMethod = real
        ) -> object:
            calls.append(name)
            return real(index, *arguments)

        monkeypatch.setattr(EmbeddedReader, name, count_calls)
    write("set/corpus.jsonl", make_records(*range(200)))
    for number in range(100):
        write(f"texts/{number}.md", f"Ferry {number} sails at night.")
    assert engine.ingest([tmp_path / "set", tmp_path / "texts"]).new == 300
    assert len(calls) < 30


@pytest.mark.parametrize("prune", [False, True])
def test_deleted_files_are_forgotten_page_by_page(
    engine: Engine, write: FileWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prune: bool
) -> None:
    monkeypatch.setattr("fathom.ingest.places.BATCH_SIZE", 3)
    forgotten: list[Sequence[str]] = []
    forget = EmbeddedWriter.forget

    def count_forgotten(writer: EmbeddedWriter, places: Sequence[str], *, purge: bool) -> int:
        forgotten.append(places)
        return forget(writer, places, purge=purge)

    monkeypatch.setattr(EmbeddedWriter, "forget", count_forgotten)
    corpus = write("px/corpus.jsonl", make_records(*range(8)))
    for number in range(7):
        write(f"files/{number}.md", f"Ferry {number} sails at night.")
        write(f"kept/k{number}.md", f"Ferry {number} sails at night." if number < 4 else "Other.")
    assert engine.ingest([corpus, tmp_path / "files", tmp_path / "kept"]).failed == 0
    corpus.unlink()
    for file in (tmp_path / "files").iterdir():
        file.unlink()
    report = engine.ingest([corpus, tmp_path / "files"], prune=prune)
    stale = [name for name, outcome in list_outcomes(engine).items() if outcome == "stale"]
    if prune:
        assert (report.removed, report.stale, stale) == (11, 0, [])
    else:  # of four files there is another one
        assert (report.removed, report.stale) == (0, 11)
        rows = [f"corpus.jsonl#d{number}" for number in range(8)]
        assert sorted(stale) == ["4.md", "5.md", "6.md", "corpus.jsonl", *rows]
    assert max(map(len, forgotten)) <= 3
    assert sum(map(len, forgotten)) == (16 if prune else 4)
    places_left = [place for places in forgotten for place in places]
    assert not prune or places_left.index(str(corpus)) == 8 + places_left.index(f"{corpus}#d0")
    assert engine.verify() == []


@pytest.mark.parametrize("prune", [False, True])
def test_words_of_deleted_files_are_purged_once_for_all_pages(
    engine: Engine, write: FileWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prune: bool
) -> None:
    monkeypatch.setattr("fathom.ingest.places.BATCH_SIZE", 3)
    for number in range(10):
        write(f"px/{number}.md", f"Ferry {number} sails at night.")
    engine.ingest([tmp_path / "px"])
    filled: list[str] = []
    refill = KeywordIndex.refill

    def record_entered(index: KeywordIndex, entered: Iterable[KeywordEntry], marker: str) -> None:
        filled.append(marker)
        refill(index, entered, marker)

    monkeypatch.setattr(KeywordIndex, "refill", record_entered)
    for number in range(8):
        (tmp_path / "px" / f"{number}.md").unlink()
    assert engine.ingest([tmp_path / "px"], prune=prune).removed == (8 if prune else 0)
    assert len(filled) == prune
    revision = engine.reader().get_revision()
    engine.ingest([tmp_path / "px"], prune=prune)
    assert engine.reader().get_revision() == revision
    assert engine.verify() == []


def test_returning_records_are_stored_page_by_page(
    engine: Engine, write: FileWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write("set/corpus.jsonl", make_records(*range(10)))
    engine.ingest([file])
    file.write_bytes(b"\xff\xfe\x00")
    assert engine.ingest([file]).stale == 10
    monkeypatch.setattr("fathom.ingest.ingest.BATCH_SIZE", 4)
    noted: list[int] = []
    put = EmbeddedWriter.put

    def count_put(
        writer: EmbeddedWriter, entries: Sequence[Entry], sources: Sequence[SourceRecord]
    ) -> None:
        noted.append(len(sources))
        put(writer, entries, sources)

    monkeypatch.setattr(EmbeddedWriter, "put", count_put)
    file.write_text(make_records(*range(10)))
    assert engine.ingest([file]).unchanged == 10
    assert noted == [4, 4, 2, 1]  # the last is the file
    assert set(list_outcomes(engine).values()) == {"ok"}


def test_files_beyond_the_reported_ones_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fathom.ingest.report.MAX_LISTED", 3)
    report = IngestReport()
    for number in range(5):
        report.add_file(f"/{number}.md", "ok", "")
    for number in range(5):
        report.add_file(f"/{number}.pdf", "failed", "is broken")
    names = [file.path for file in report.files]
    assert names == ["/0.md", "/1.md", "/2.md", "/0.pdf", "/1.pdf", "/2.pdf"]
    assert report.untold == 2
    assert format_ingest_report(report).endswith("/2.pdf: is broken\n  and 2 more of this kind")


def test_read_files_without_a_part_are_named() -> None:
    report = IngestReport(new=23)
    report.add_file("/whole.md", "ok", "")
    for number in range(22):
        report.add_file(
            f"/{number}.html",
            "ok",
            "hidden or struck-through text left out in 1 place",
            is_partial=True,
        )
    _, first, *_, last = format_ingest_report(report).splitlines()
    assert first == "  read in part  /0.html: hidden or struck-through text left out in 1 place"
    assert last == "  and 2 more of this kind"


def test_files_read_whole_are_not_called_read_in_part(
    engine: Engine, write: FileWriter, tmp_path: Path
) -> None:
    first = write("a/first.md", "The ferry leaves at nine.")
    write("a/second.md", "The ferry leaves at nine.")
    write("b/corpus.jsonl", make_records(1, 2))
    folders = [tmp_path / "a", tmp_path / "b"]
    read = engine.ingest(folders)
    again = engine.ingest(folders)
    first.rename(tmp_path / "a" / "third.md")
    moved = engine.ingest([tmp_path / "a"], prune=True)
    reasons = {file.reason for report in (read, again, moved) for file in report.files}
    assert {"unchanged", "2 records", f"same content as {first}"} < reasons
    for report in (read, again, moved):
        assert "\n" not in format_ingest_report(report)


def test_a_name_with_a_number_sign_is_no_record(
    engine: Engine, write: FileWriter, tmp_path: Path
) -> None:
    write("px/C", "The language before.")
    file = write("px/C#.md", "A language.")
    engine.ingest([tmp_path / "px"])
    assert engine.ingest([tmp_path / "px"], prune=True).removed == 0
    file.unlink()
    assert engine.ingest([tmp_path / "px"], prune=True).removed == 1
    assert list_paths(engine, tmp_path) == ["px/C"]


def test_an_index_that_lost_all_its_documents_is_sound(
    engine: Engine, write: FileWriter, tmp_path: Path
) -> None:
    file = write("px/a.md", "Some text.")
    write("px/b.docx", "PK\x03\x04 half a DOCX")
    engine.ingest([tmp_path / "px"])
    file.unlink()
    engine.ingest([tmp_path / "px"], prune=True)
    assert (list(engine.documents.list()), engine.verify()) == ([], [])


def test_a_long_heading_above_many_sections_does_not_fill_the_index(
    engine: Engine, write: FileWriter
) -> None:
    sections = "".join(f"## Part {number}\n\n{'word ' * 45}\n\n" for number in range(20))
    engine.ingest([write("long.md", f"# {'heading ' * 1000}\n\n{sections}")])
    chunks = [hit.chunk for hit in engine.search("heading word", retriever="keyword", k=200)]
    assert len(chunks) >= 20
    assert sum(chunk.text.count("heading") for chunk in chunks) == 1000
    carried = [sum(map(len, chunk.headings)) for chunk in chunks]
    assert max(*carried, *(len(chunk.title) for chunk in chunks)) <= 300 + len("Part 19")
