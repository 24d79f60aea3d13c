"""A copy of the folder of an index is a backup of all that the index holds."""

import shutil
from pathlib import Path

from typer.testing import CliRunner

from fathom import Engine
from fathom.serving.cli.app import app


def run(*arguments: str) -> str:
    """Return what a command prints."""
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_copied_folder_answers_as_before_without_the_original(tmp_path: Path) -> None:
    document = tmp_path / "pier.md"
    document.write_text("# Pier\n\nThe pier fee is 12 crowns a day.\n")
    index, backup = tmp_path / "index", tmp_path / "backup"
    with Engine.open(index, {"offline": True}) as engine:
        engine.ingest(document)
        answer = engine.ask("What is the pier fee?")
    run("source", "add", str(document), "--index", str(index))
    sources = run("source", "list", "--index", str(index))
    shutil.copytree(index, backup)
    shutil.rmtree(index)
    with Engine.open(backup, {"offline": True}) as engine:
        assert engine.ask("What is the pier fee?").citations == answer.citations
        assert answer.trace_id
        assert engine.traces.get(answer.trace_id).answer["short_answer"] == answer.short_answer
    assert run("source", "list", "--index", str(backup)) == sources
