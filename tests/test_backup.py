"""A copy of the folder of an index is a backup of all that the index holds."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fathom import Engine
from fathom.errors import UsageError
from fathom.index.rights import Viewer
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


def test_an_engine_backs_up_its_index_and_refuses_viewers(tmp_path: Path) -> None:
    document = tmp_path / "pier.md"
    document.write_text("# Pier\n\nThe pier fee is 12 crowns a day.\n")
    with Engine.open(tmp_path / "index", {"offline": True}) as engine:
        engine.ingest(document)
        upload = engine.directory / "uploads" / "trips.db"
        upload.parent.mkdir()
        upload.write_text("no database, but a file that was uploaded")
        backup = engine.back_up(str(tmp_path / "backup"))
        with pytest.raises(UsageError, match="not empty; name a new folder"):
            engine.back_up(backup.folder)
        limited = engine.open_for(Viewer(frozenset({"staff"})))
        with pytest.raises(UsageError, match="only for those who may read all documents"):
            limited.back_up(tmp_path / "other")
        assert not (tmp_path / "other").exists()
    assert (backup.folder / "uploads" / "trips.db").read_text() == upload.read_text()
    with Engine.open(backup.folder, {"offline": True}) as copied:
        assert copied.search("pier fee", retriever="keyword")[0].chunk.title == "Pier"
