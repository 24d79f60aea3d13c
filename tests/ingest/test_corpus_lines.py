"""Lines of a corpus file that contain no record.

Covers fathom.ingest.ingest and fathom.ingest.source_records.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.factories import disable_sandbox, engine_at, open_public_folder

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
    with engine_at(file.parent.parent) as opened:
        yield opened


@pytest.fixture
def recorded_outcomes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that collects every recorded outcome."""
    outcomes: list[str] = []
    put = EmbeddedWriter.put

    def record_sources(
        writer: EmbeddedWriter, entries: Sequence[Entry], sources: Sequence[SourceRecord]
    ) -> None:
        outcomes.extend(source.outcome for source in sources)
        put(writer, entries, sources)

    monkeypatch.setattr(EmbeddedWriter, "put", record_sources)
    return outcomes


def make_record(name: str, text: str) -> str:
    return json.dumps({"_id": name, "text": text})


def list_outcomes(engine: Engine) -> dict[str, str]:
    outcomes_by_name = {
        Path(source.path).name: source.outcome for source in engine.reader().list_sources()
    }
    return {name.partition("#")[2]: outcome for name, outcome in outcomes_by_name.items()}


def test_a_bad_line_is_reported_each_time(engine: Engine, file: Path) -> None:
    rows = [
        *(make_record("a", "One text."), make_record("a", "Two text."), "no record", ""),
        *(make_record("e", ""), make_record("e", "Good text."), make_record("e", "")),
        *(make_record("f", ""), make_record("f", ""), make_record("(line 3)", "Its own.")),
    ]
    for more in ([], [], [make_record("z", "New.")], []):
        rows += more
        file.write_text("\n".join(rows))
        report = engine.ingest([file.parent])
        assert (report.failed, report.stale) == (6, 0)
        assert report.new + report.unchanged == len(rows) - 7
    assert list_outcomes(engine) == {
        "": "ok", "a": "ok", "e": "ok", "_(line 3)": "ok", "z": "ok",
        "(record 2)": "failed", "(line 3)": "failed",
        "(line 5)": "empty", "(line 7)": "empty", "f": "empty", "(line 9)": "empty",
    }  # fmt: skip
    assert engine.documents.get("a").text == "One text."
    assert engine.documents.get("(line 3)").text == "Its own."
    assert engine.verify() == []


@pytest.mark.parametrize("prune", [False, True])
def test_a_repaired_line_is_reported_no_more(engine: Engine, file: Path, prune: bool) -> None:
    rows = [
        make_record("a", "One text."),
        make_record("a", "Two text."),
        "no record",
        make_record("e", ""),
    ]
    for lines in (rows, [rows[0], make_record("b", "Two text."), make_record("e", "Good.")]):
        file.write_text("\n".join(lines))
        engine.ingest([file.parent], prune=prune)
    report = engine.ingest([file.parent])
    assert (report.failed, report.unchanged) == (0, 3)
    assert list_outcomes(engine) == {"": "ok", "a": "ok", "b": "ok", "e": "ok"}


@pytest.mark.parametrize("broken", ["no record", make_record("2", "")])
def test_a_record_is_not_stale_because_of_a_line_with_its_name(
    engine: Engine, file: Path, recorded_outcomes: list[str], broken: str
) -> None:
    rows = [make_record("x", "One text."), broken, make_record("2", "Two text.")]
    for more in ([], [make_record("y", "New.")]):
        rows += more
        file.write_text("\n".join(rows))
        report = engine.ingest([file.parent])
        assert (report.failed, report.stale) == (1, 0)
    assert report.unchanged == 2
    assert "stale" not in recorded_outcomes


@pytest.mark.parametrize("prune", [False, True])
def test_a_record_whose_line_became_unreadable_is_stale(
    engine: Engine, file: Path, prune: bool
) -> None:
    file.write_text(make_record("a", "One text.") + "\n" + make_record("b", "Two text."))
    engine.ingest([file.parent])
    file.write_text(make_record("a", "") + "\n" + make_record("b", "Two text."))
    report = engine.ingest([file.parent], prune=prune)
    assert (report.failed, report.stale, report.removed) == (1, 1, 0)
    assert list_outcomes(engine) == {"": "ok", "a": "stale", "b": "ok"}
    [stale] = [source for source in engine.reader().list_sources() if source.outcome == "stale"]
    assert stale.reason == "line 1 holds no text"


def test_records_before_the_end_of_a_truncated_file_are_recorded(
    engine: Engine, file: Path
) -> None:
    file.write_text(make_record("a", "One text.") + "\n" + make_record("b", ""))
    engine.ingest([file.parent])
    file.write_text(
        make_record("a", "One text.") + "\n" + make_record("c", "") + "\n" + "x" * 81_000_000
    )
    report = engine.ingest([file.parent])
    assert report.failed == 2
    assert list_outcomes(engine) == {"": "stale", "a": "ok", "b": "empty", "c": "empty"}
