"""Copies of an index, repeated and interrupted: `fathom.index.copying`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.factories import engine_at, index_fees

from fathom.errors import UsageError
from fathom.index import copying
from fathom.index.base import Entry, SourceRecord
from fathom.index.copying import copy_index
from fathom.index.embedded.opening import open_writer
from fathom.index.embedded.writer import EmbeddedWriter
from fathom.testing.index_entries import CATS, IDENTITY, SHIPS, WORDLESS, get_vectors, put


@pytest.mark.parametrize("whole", [0, 1, 2])
def test_an_interrupted_copy_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: int
) -> None:
    class Killed(Exception):
        pass

    def kill_writer(
        writer: EmbeddedWriter, entries: Sequence[Entry], places: Sequence[SourceRecord]
    ) -> None:
        if writer.status().documents == whole:
            raise Killed
        real(writer, entries, places)

    monkeypatch.setattr(copying, "BATCH_SIZE", 1)
    real = EmbeddedWriter.put
    with open_writer(tmp_path / "one", IDENTITY) as source_index:
        put(source_index, CATS, SHIPS, WORDLESS)
        source_index.set_roots(["/c"])
        with open_writer(tmp_path / "other", IDENTITY) as other:
            monkeypatch.setattr(EmbeddedWriter, "put", kill_writer)
            with pytest.raises(Killed):
                copy_index(source_index, other)
            monkeypatch.setattr(EmbeddedWriter, "put", real)
            assert other.status().documents == whole
            calls: list[int] = []
            assert (
                copy_index(source_index, other, lambda: calls.append(1)).content
                == source_index.status().content
            )
            assert calls == [1]
            assert (other.get_roots(), list(other.list_sources())) == (
                ["/c"],
                list(source_index.list_sources()),
            )


def test_a_copy_gets_new_documents_and_keeps_its_own(tmp_path: Path) -> None:
    late = replace(SHIPS, vectors=None)
    with (
        open_writer(tmp_path / "one", IDENTITY) as source_index,
        open_writer(tmp_path / "other", IDENTITY) as other,
    ):
        put(source_index, late)
        source_index.keep_calibration("naive", "{}")
        copy_index(source_index, other)
        assert other.count_missing_vectors() == 1
        other.keep_calibration("naive", '{"own": 1}')
        other.set_roots(["/own"])
        put(source_index, CATS)
        source_index.fill("", {SHIPS.chunks[0].id: get_vectors(SHIPS)[0]})
        source_index.keep_calibration("hybrid", "{}")
        source_index.set_roots(["/c"])
        assert copy_index(source_index, other).content == source_index.status().content
        assert other.count_missing_vectors() == 0
        assert other.get_calibrations() == {"naive": '{"own": 1}', "hybrid": "{}"}
        assert other.get_roots() == ["/own", "/c"]


@pytest.mark.parametrize("changes", ["other", "text", "place"])
def test_an_index_with_other_data_is_left_alone(tmp_path: Path, changes: str) -> None:
    document = SHIPS.document
    changed = {
        "other": WORDLESS,
        "text": replace(SHIPS, digest="d-new"),
        "place": replace(SHIPS, document=replace(document, path="/elsewhere")),
    }[changes]
    with (
        open_writer(tmp_path / "one", IDENTITY) as source_index,
        open_writer(tmp_path / "other", IDENTITY) as other,
    ):
        put(source_index, CATS, SHIPS)
        put(other, CATS, changed)
        before = other.status()
        calls: list[int] = []
        with pytest.raises(UsageError, match="choose another one") as refused:
            copy_index(source_index, other, lambda: calls.append(1))
        assert f"({changed.document.path})" in str(refused.value)
        assert (other.status(), calls) == (before, [])


def test_feedback_given_at_the_copy_is_kept(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    index_fees(tmp_path / "one")
    with engine_at(tmp_path / "one") as source_engine, engine_at(tmp_path / "other") as other:
        first, second = (
            source_engine.ask(f"Where is {name}?").trace_id or "" for name in ("it", "she")
        )
        source_engine.calibration.add_feedback(first, answer="here")
        source_engine.copy_to(other)
        other.calibration.add_feedback(first, answer="there")
        source_engine.calibration.add_feedback(second, answer="away")
        source_engine.copy_to(other)
        answers = {
            feedback.trace_id: feedback.answer for feedback in other.traces.store.list_feedback()
        }
        assert answers == {first: "there", second: "away"}
