"""Lines of a corpus file that give no record.

Covers fathom.ingest.ingest and fathom.ingest.source_records.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.making import disable_sandbox, engine_at, open_public_folder

from fathom.engine import Engine
from fathom.index.base import Entry, SourceRecord
from fathom.index.embedded.writer import EmbeddedWriter


@pytest.fixture
def file() -> Iterator[Path]:
    with open_public_folder() as folder:
        (folder / "set").mkdir()
        yield folder / "set" / "corpus.jsonl"


@pytest.fixture
def engine(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    disable_sandbox(monkeypatch)
    with engine_at(file.parent.parent) as made:
        yield made


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every outcome that is noted."""
    outcomes: list[str] = []
    put = EmbeddedWriter.put

    def listed(
        writer: EmbeddedWriter, entries: Sequence[Entry], sources: Sequence[SourceRecord]
    ) -> None:
        outcomes.extend(source.outcome for source in sources)
        put(writer, entries, sources)

    monkeypatch.setattr(EmbeddedWriter, "put", listed)
    return outcomes


def record(name: str, text: str) -> str:
    return json.dumps({"_id": name, "text": text})


def outcomes(engine: Engine) -> dict[str, str]:
    found = {Path(source.path).name: source.outcome for source in engine.reader().list_sources()}
    return {name.partition("#")[2]: outcome for name, outcome in found.items()}


def test_what_is_not_in_is_told_each_time(engine: Engine, file: Path) -> None:
    rows = [
        *(record("a", "One text."), record("a", "Two text."), "no record", ""),
        *(record("e", ""), record("e", "Good text."), record("e", "")),
        *(record("f", ""), record("f", ""), record("(line 3)", "Its own.")),
    ]
    for more in ([], [], [record("z", "New.")], []):
        rows += more
        file.write_text("\n".join(rows))
        report = engine.ingest([file.parent])
        assert (report.failed, report.stale) == (6, 0)
        assert report.new + report.unchanged == len(rows) - 7
    assert outcomes(engine) == {
        "": "ok", "a": "ok", "e": "ok", "_(line 3)": "ok", "z": "ok",
        "(record 2)": "failed", "(line 3)": "failed",
        "(line 5)": "empty", "(line 7)": "empty", "f": "empty", "(line 9)": "empty",
    }  # fmt: skip
    assert engine.documents.get("a").text == "One text."
    assert engine.documents.get("(line 3)").text == "Its own."
    assert engine.verify() == []


@pytest.mark.parametrize("prune", [False, True])
def test_what_is_mended_is_told_no_more(engine: Engine, file: Path, prune: bool) -> None:
    rows = [record("a", "One text."), record("a", "Two text."), "no record", record("e", "")]
    for given in (rows, [rows[0], record("b", "Two text."), record("e", "Good.")]):
        file.write_text("\n".join(given))
        engine.ingest([file.parent], prune=prune)
    report = engine.ingest([file.parent])
    assert (report.failed, report.unchanged) == (0, 3)
    assert outcomes(engine) == {"": "ok", "a": "ok", "b": "ok", "e": "ok"}


@pytest.mark.parametrize("broken", ["no record", record("2", "")])
def test_a_record_is_not_stale_for_a_line_that_is_named_like_it(
    engine: Engine, file: Path, noted: list[str], broken: str
) -> None:
    rows = [record("x", "One text."), broken, record("2", "Two text.")]
    for more in ([], [record("y", "New.")]):
        rows += more
        file.write_text("\n".join(rows))
        report = engine.ingest([file.parent])
        assert (report.failed, report.stale) == (1, 0)
    assert report.unchanged == 2
    assert "stale" not in noted


@pytest.mark.parametrize("prune", [False, True])
def test_a_record_whose_line_cannot_be_read_any_more_is_stale(
    engine: Engine, file: Path, prune: bool
) -> None:
    file.write_text(record("a", "One text.") + "\n" + record("b", "Two text."))
    engine.ingest([file.parent])
    file.write_text(record("a", "") + "\n" + record("b", "Two text."))
    report = engine.ingest([file.parent], prune=prune)
    assert (report.failed, report.stale, report.removed) == (1, 1, 0)
    assert outcomes(engine) == {"": "ok", "a": "stale", "b": "ok"}
    [told] = [source for source in engine.reader().list_sources() if source.outcome == "stale"]
    assert told.reason == "line 1 holds no text"


def test_what_was_told_before_a_file_breaks_off_is_noted(engine: Engine, file: Path) -> None:
    file.write_text(record("a", "One text.") + "\n" + record("b", ""))
    engine.ingest([file.parent])
    file.write_text(record("a", "One text.") + "\n" + record("c", "") + "\n" + "x" * 81_000_000)
    report = engine.ingest([file.parent])
    assert report.failed == 2
    assert outcomes(engine) == {"": "stale", "a": "ok", "b": "empty", "c": "empty"}
