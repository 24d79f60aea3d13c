"""A corpus is one file of records or a folder of files, whose ids are those of an index."""

from pathlib import Path

import pytest
from tests.serving.test_cli import Run, run

from fathom.errors import UsageError
from fathom.evaluation.sources import corpus_of, documents_of, existing

__all__ = ["run"]


def folder(place: Path, **files: str) -> Path:
    for name, text in files.items():
        file = place / f"{name.replace('__', '/')}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return place


def test_files_have_the_ids_that_an_index_gives_them(run: Run, tmp_path: Path) -> None:
    corpus = folder(tmp_path / "corpus", one="# One\n\nA word.", sub__two="Two", twin="Two")
    found = documents_of(corpus)
    assert list(found) == ["one.md", "twin.md", "sub/two.md"]
    assert found["twin.md"] == found["sub/two.md"] != found["one.md"]
    run("ingest", str(corpus))
    held = run("docs", "list", "--json").json["documents"]
    assert {document["id"] for document in held} == set(found.values())


def test_a_file_of_records_in_a_folder_gives_its_records(run: Run, tmp_path: Path) -> None:
    corpus = folder(tmp_path / "pdfs", one="One")
    (corpus / "more.jsonl").write_text('{"_id": "r1", "text": "a"}\n{"_id": "r2", "text": "b"}\n')
    found = documents_of(corpus)
    assert list(found) == ["r1", "r2", "one.md"]
    assert found["r1"] == "r1"
    run("ingest", str(corpus))
    held = run("docs", "list", "--json").json["documents"]
    assert {document["id"] for document in held} == set(found.values())


@pytest.mark.parametrize("name", ["corpus", "documents", "pdfs"])
def test_a_folder_is_the_corpus_unless_there_is_a_corpus_file(tmp_path: Path, name: str) -> None:
    folder(tmp_path / name, one="One")
    assert corpus_of(tmp_path) == tmp_path / name
    (tmp_path / "corpus.jsonl.gz").write_bytes(b"")
    assert corpus_of(tmp_path) == tmp_path / "corpus.jsonl.gz"


def test_what_is_missing_or_could_be_either_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no corpus\.jsonl or corpus\.jsonl\.gz, and no folder"):
        corpus_of(tmp_path)
    folder(tmp_path / "corpus", one="One")
    folder(tmp_path / "pdfs", one="One")
    with pytest.raises(UsageError, match="corpus/ and pdfs/ could both be the corpus; rename one"):
        corpus_of(tmp_path)
    with pytest.raises(UsageError, match=r"no a or a\.gz or b or b\.gz"):
        existing(tmp_path, "a", "b")
