"""The ids of records and of files never collide: `fathom.ingest.ingest`, fathom.ingest.batch."""

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.factories import disable_sandbox, engine_at, open_public_folder

from fathom.documents.discover import derive_document_id, digest_content
from fathom.engine import Engine
from fathom.evaluation.datasets import load, load_questions

TRUE = "The true text of the file."
HEX = "00112233445566aa"


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_public_folder() as public_folder:
        (public_folder / "set").mkdir()
        (public_folder / "files").mkdir()
        yield public_folder


@pytest.fixture
def file(folder: Path) -> Path:
    text_file = folder / "files" / "true.txt"
    text_file.write_text(TRUE)
    return text_file


@pytest.fixture
def file_id(file: Path) -> str:
    return derive_document_id(digest_content(file))


@pytest.fixture
def corpus(folder: Path) -> Path:
    return folder / "set" / "corpus.jsonl"


@pytest.fixture
def engine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    disable_sandbox(monkeypatch)
    with engine_at(folder) as opened:
        yield opened


def write_corpus(corpus: Path, *names: str, text: str = "The text of record") -> None:
    rows = [json.dumps({"_id": name, "text": f"{text} {name}."}) for name in names]
    corpus.write_text("\n".join(rows))


def ingest_like_before(engine: Engine, *paths: Path) -> None:
    """Ingest as an earlier version did: a record keeps its `_id`, whatever that is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fathom.documents.formats.corpus.name_record", lambda name: name)
        patch.setattr("fathom.documents.formats.corpus.check_record_id", lambda _name: None)
        patch.setattr("fathom.ingest.batch.has_file_id", lambda _place, _document: False)
        engine.ingest(list(paths))


def read_texts(engine: Engine) -> dict[str, str]:
    return {
        document.id: engine.documents.get(document.id).text for document in engine.documents.list()
    }


def list_outcomes(engine: Engine) -> dict[str, str]:
    return {Path(source.path).name: source.outcome for source in engine.reader().list_sources()}


@pytest.mark.parametrize("order", ["record first", "file first", "together"])
def test_a_record_does_not_replace_a_file(
    engine: Engine, corpus: Path, file: Path, file_id: str, order: str
) -> None:
    write_corpus(corpus, file_id, f"_{file_id}")
    runs = {"record first": [[corpus], [file]], "file first": [[file], [corpus]]}
    for paths in runs.get(order, [[corpus, file]]):
        report = engine.ingest(paths)
        assert report.failed == 0
    assert read_texts(engine) == {
        file_id: TRUE,
        f"_{file_id}": f"The text of record {file_id}.",
        f"__{file_id}": f"The text of record _{file_id}.",
    }
    assert engine.ingest([corpus, file]).unchanged == 3
    assert engine.verify() == []
    assert Path(engine.documents.get(file_id).path) == file


def test_a_data_set_with_ids_like_those_of_files_is_evaluated_by_them(
    engine: Engine, corpus: Path
) -> None:
    write_corpus(corpus, HEX, "other")
    folder = corpus.parent
    question = {"_id": "q", "text": f"What is record {HEX}?", "metadata": {"relevant": [HEX]}}
    (folder / "queries.jsonl").write_text(json.dumps(question))
    (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\nq\t{HEX}\t1\n")
    dataset = load(folder)
    engine.ingest([folder])
    assert {document.id for document in engine.documents.list()} == dataset.documents
    [(relevant, grade)] = dataset.qrels["q"].items()
    assert (engine.documents.get(relevant).text, grade) == (f"The text of record {HEX}.", 1)
    # Questions about what is in an index may name it as its file does.
    questions = load_questions(folder / "queries.jsonl", engine.documents.list())
    assert questions.qrels == dataset.qrels


def test_an_older_index_is_kept_until_its_corpus_file_changes(engine: Engine, corpus: Path) -> None:
    write_corpus(corpus, HEX, "other")
    ingest_like_before(engine, corpus)
    before = read_texts(engine)
    assert HEX in before
    report = engine.ingest([corpus])
    assert (report.unchanged, report.new, report.stale) == (2, 0, 0)
    assert read_texts(engine) == before
    write_corpus(corpus, HEX, "other", "third")
    report = engine.ingest([corpus])
    assert (report.unchanged, report.new, report.stale) == (1, 2, 0)
    assert read_texts(engine).keys() == {f"_{HEX}", "other", "third"}
    assert set(list_outcomes(engine).values()) == {"ok"}
    assert engine.ingest([corpus]).unchanged == 3
    assert engine.verify() == []


def test_a_record_without_text_keeps_its_old_id(engine: Engine, corpus: Path) -> None:
    write_corpus(corpus, HEX, "other")
    ingest_like_before(engine, corpus)
    corpus.write_text(json.dumps({"_id": HEX, "text": ""}))
    engine.ingest([corpus])
    assert read_texts(engine).keys() == {HEX, "other"}
    assert list_outcomes(engine)[f"corpus.jsonl#{HEX}"] == "stale"


def test_a_file_gets_its_id_back_from_an_older_record(
    engine: Engine, corpus: Path, file: Path, file_id: str
) -> None:
    write_corpus(corpus, file_id)
    ingest_like_before(engine, corpus)
    engine.ingest([file])
    assert read_texts(engine) == {file_id: TRUE}
    write_corpus(corpus, file_id, "other")
    engine.ingest([corpus])
    assert read_texts(engine).keys() == {file_id, f"_{file_id}", "other"}
    assert read_texts(engine)[file_id] == TRUE
    assert engine.verify() == []


@pytest.mark.parametrize("prune", [False, True])
def test_a_file_taken_for_a_record_is_read_when_the_record_is_read_again(
    engine: Engine, corpus: Path, file: Path, file_id: str, prune: bool
) -> None:
    write_corpus(corpus, file_id)
    ingest_like_before(engine, corpus)
    ingest_like_before(engine, file)
    assert read_texts(engine) == {file_id: f"The text of record {file_id}."}
    if not prune:
        write_corpus(corpus, file_id, "other")
    engine.ingest([corpus, file], prune=prune)
    assert read_texts(engine)[file_id] == TRUE
    assert Path(engine.documents.get(file_id).path) == file
    assert f"_{file_id}" in read_texts(engine)
    assert engine.verify() == []


def test_a_record_that_is_carried_over_gets_its_current_id(
    engine: Engine, corpus: Path, file: Path, file_id: str
) -> None:
    write_corpus(corpus, file_id)
    ingest_like_before(engine, corpus)
    corpus.write_bytes(gzip.compress(corpus.read_bytes())[:-4])
    engine.ingest([corpus, file], rebuild=True)
    assert read_texts(engine) == {file_id: TRUE, f"_{file_id}": f"The text of record {file_id}."}
    assert list_outcomes(engine)[f"corpus.jsonl#_{file_id}"] == "stale"
    assert engine.verify() == []
    write_corpus(corpus, file_id)
    assert engine.ingest([corpus, file]).unchanged == 2
    assert set(list_outcomes(engine).values()) == {"ok"}


@pytest.mark.parametrize("name", ["corpus.jsonl#x", "corpus.jsonl#x/p.txt"])
def test_a_file_does_not_replace_a_record(engine: Engine, corpus: Path, name: str) -> None:
    write_corpus(corpus, "x", "x/p.txt")
    engine.ingest([corpus])
    other = corpus.parent / name
    other.parent.mkdir(exist_ok=True)
    other.write_text(TRUE)
    report = engine.ingest([other])
    assert report.failed == 1
    [entry] = [entry for entry in report.files if entry.path == str(other)]
    assert f"its name is that of a record of {corpus}" in entry.reason
    assert read_texts(engine).keys() == {"x", "x/p.txt"}
    corpus.unlink()
    for _ in range(2):  # its place is free when the other one is known no more
        engine.ingest([corpus.parent], prune=True)
    assert [*read_texts(engine).values()] == [TRUE]


@pytest.mark.parametrize("is_corpus", [False, True])
def test_a_record_does_not_replace_an_existing_file(
    engine: Engine, corpus: Path, is_corpus: bool
) -> None:
    other = corpus.parent / "corpus.jsonl#x"
    other.write_text('{"_id": "1", "text": "One."}' if is_corpus else TRUE)
    engine.ingest([other])
    before = read_texts(engine)
    write_corpus(corpus, "x", "y")
    for _ in range(2):
        report = engine.ingest([corpus])
        assert report.failed == 1
        [entry] = report.files
        assert entry.reason == f"{other} has the name of a record of it; rename one"
        assert read_texts(engine) == before
    shutil.move(other, corpus.parent.parent / "renamed")
    for _ in range(2):
        engine.ingest([corpus.parent], prune=True)
    assert engine.ingest([corpus]).unchanged == 2
    assert read_texts(engine).keys() == {"x", "y"}
