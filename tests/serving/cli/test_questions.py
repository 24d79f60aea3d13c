"""`fathom questions make`: a file that says that nobody asked what stands in it."""

import json
from pathlib import Path

import pytest
from tests.serving.cli.test_app import Run, run

from fathom.models.reader_loading import load_shipped_reader

__all__ = ["run"]


@pytest.fixture
def fees(run: Run, tmp_path: Path) -> str:
    folder = tmp_path / "fees"
    folder.mkdir()
    (folder / "fees.md").write_text("# Fees\n\nA mooring permit costs 40 crowns a year.\n")
    assert run("ingest", str(folder)).code == 0
    return "fees.md"


def test_a_file_of_questions_is_written_and_counted(
    run: Run, fees: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The real reader: the double reads no amounts.
    monkeypatch.setattr("fathom.assembly.models.load_shipped_reader", load_shipped_reader)
    made = run("questions", "make", "--out", "made.jsonl", "--number", "4", "--json")
    (line,) = Path("made.jsonl").read_text().splitlines()
    row = json.loads(line)
    assert row["text"] == "How much does a mooring permit cost a year?"
    assert row["metadata"]["synthetic"] is True
    assert made.json["synthetic"] is True
    assert made.json["kinds"] == {row["metadata"]["type"]: 1}
    assert (made.json["questions"], made.json["wanted"]) == (1, 4)


def test_what_is_shown_says_that_the_questions_are_synthetic(run: Run, fees: str) -> None:
    made = run("questions", "make", "--out", "made.jsonl", "--number", "4")
    assert "synthetic questions in made.jsonl" in made.out


def test_nothing_to_ask_about_is_said_and_has_its_own_code(run: Run, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("# Note\n\nnothing here\n")
    run("ingest", str(tmp_path / "note.md"))
    made = run("questions", "make", "--out", "made.jsonl", "--number", "4")
    assert made.code == 3
    assert "0 synthetic questions" in made.out


def test_mistakes_are_one_line(run: Run, fees: str) -> None:
    wrong = run("questions", "make", "--kinds", "easy")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "kind 'easy'" in wrong.err
    away = run("questions", "make", "--out", "no/where.jsonl")
    assert away.code == 2
    assert "cannot be written" in away.err
