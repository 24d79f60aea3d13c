"""`fathom questions make` writes a file that marks its questions as synthetic."""

import json
from pathlib import Path

import pytest
from tests.serving.cli.test_app import CommandRunner, run

from fathom.models.reader_loading import load_shipped_reader

__all__ = ["run"]


@pytest.fixture
def fees(run: CommandRunner, tmp_path: Path) -> str:
    folder = tmp_path / "fees"
    folder.mkdir()
    (folder / "fees.md").write_text("# Fees\n\nA mooring permit costs 40 crowns a year.\n")
    assert run("ingest", str(folder)).code == 0
    return "fees.md"


def test_a_file_of_questions_is_written_and_counted(
    run: CommandRunner, fees: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The real reader: the double reads no amounts.
    monkeypatch.setattr("fathom.assembly.models.load_shipped_reader", load_shipped_reader)
    output = run("questions", "make", "--out", "made.jsonl", "--number", "4", "--json")
    (line,) = Path("made.jsonl").read_text().splitlines()
    row = json.loads(line)
    assert row["text"] == "How much does a mooring permit cost a year?"
    assert row["metadata"]["synthetic"] is True
    assert output.json["synthetic"] is True
    assert output.json["kinds"] == {row["metadata"]["type"]: 1}
    assert (output.json["questions"], output.json["wanted"]) == (1, 4)


def test_the_kinds_of_which_documents_give_too_few_are_named(
    run: CommandRunner, fees: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathom.assembly.models.load_shipped_reader", load_shipped_reader)
    kinds = ("--kinds", "multi-hop,numeric,list")
    output = run("questions", "make", "--out", "made.jsonl", "--number", "3", *kinds).out
    assert "1 synthetic question in made.jsonl: 1 numeric" in output
    assert "3 were requested, equally many of each kind" in output
    assert "the documents gave too few of multi-hop, list\n" in output


def test_the_output_marks_the_questions_as_synthetic(run: CommandRunner, fees: str) -> None:
    ask = ("questions", "make", "--out", "made.jsonl", "--number", "4", "--kinds", "numeric, ")
    assert "synthetic questions in made.jsonl" in run(*ask).out


def test_an_index_without_questions_is_reported_with_its_own_exit_code(
    run: CommandRunner, tmp_path: Path
) -> None:
    (tmp_path / "note.md").write_text("# Note\n\nnothing here\n")
    run("ingest", str(tmp_path / "note.md"))
    output = run("questions", "make", "--out", "made.jsonl", "--number", "4")
    assert output.code == 3
    assert "0 synthetic questions" in output.out


def test_mistakes_are_one_line(run: CommandRunner, fees: str) -> None:
    wrong = run("questions", "make", "--kinds", "easy")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "kind 'easy'" in wrong.err
    away = run("questions", "make", "--out", "no/where.jsonl")
    assert away.code == 2
    assert "cannot be written" in away.err


def test_no_document_of_the_index_is_replaced(
    run: CommandRunner, fees: str, tmp_path: Path
) -> None:
    records = tmp_path / "records.jsonl"
    records.write_text('{"_id": "a", "text": "A berth costs 9 crowns."}\n')
    assert run("ingest", str(records)).code == 0
    link = tmp_path / "link.jsonl"
    link.symlink_to(records)
    document = tmp_path / "fees" / "fees.md"
    for file in (document, records, link):
        before = file.read_text()
        refused = run("questions", "make", "--number", "4", "--out", str(file))
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert f"{file}: the index holds this file as a document" in refused.err
        assert file.read_text() == before
    inside = Path(".fathom", "made.jsonl")
    refused = run("questions", "make", "--number", "4", "--out", str(inside))
    assert (refused.code, inside.exists()) == (2, False)


def test_questions_of_somebody_are_replaced_only_if_their_file_is_named(
    run: CommandRunner, fees: str
) -> None:
    file = Path("questions.jsonl")
    make = ("questions", "make", "--number", "4")
    assert run(*make).code in {0, 3}
    file.write_text("by hand")
    refused = run(*make)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "questions.jsonl exists; `--out questions.jsonl` replaces it" in refused.err
    assert file.read_text() == "by hand"
    assert run(*make, "--out", "questions.jsonl").code in {0, 3}
    assert "by hand" not in file.read_text()
