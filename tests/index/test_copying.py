"""An index is copied again, whole or not: `fathom.index.copying`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.making import engine_at, index_fees

from fathom.errors import UsageError
from fathom.index import copying
from fathom.index.base import Entry, SourceRecord
from fathom.index.copying import copy_index
from fathom.index.embedded.opening import open_writer
from fathom.index.embedded.writer import EmbeddedWriter
from fathom.testing.index_entries import CATS, IDENTITY, SHIPS, WORDLESS, get_vectors, put


@pytest.mark.parametrize("whole", [0, 1, 2])
def test_a_copy_that_broke_off_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: int
) -> None:
    class Killed(Exception):
        pass

    def killed(
        writer: EmbeddedWriter, entries: Sequence[Entry], places: Sequence[SourceRecord]
    ) -> None:
        if writer.status().documents == whole:
            raise Killed
        real(writer, entries, places)

    monkeypatch.setattr(copying, "BATCH_SIZE", 1)
    real = EmbeddedWriter.put
    with open_writer(tmp_path / "one", IDENTITY) as one:
        put(one, CATS, SHIPS, WORDLESS)
        one.set_roots(["/c"])
        with open_writer(tmp_path / "other", IDENTITY) as other:
            monkeypatch.setattr(EmbeddedWriter, "put", killed)
            with pytest.raises(Killed):
                copy_index(one, other)
            monkeypatch.setattr(EmbeddedWriter, "put", real)
            assert other.status().documents == whole
            asked: list[int] = []
            assert copy_index(one, other, lambda: asked.append(1)).content == one.status().content
            assert asked == [1]
            assert (other.get_roots(), list(other.list_sources())) == (
                ["/c"],
                list(one.list_sources()),
            )


def test_a_copy_gets_what_came_since_and_keeps_its_own(tmp_path: Path) -> None:
    late = replace(SHIPS, vectors=None)
    with (
        open_writer(tmp_path / "one", IDENTITY) as one,
        open_writer(tmp_path / "other", IDENTITY) as other,
    ):
        put(one, late)
        one.keep_calibration("naive", "{}")
        copy_index(one, other)
        assert other.count_missing_vectors() == 1
        other.keep_calibration("naive", '{"own": 1}')
        other.set_roots(["/own"])
        put(one, CATS)
        one.fill("", {SHIPS.chunks[0].id: get_vectors(SHIPS)[0]})
        one.keep_calibration("hybrid", "{}")
        one.set_roots(["/c"])
        assert copy_index(one, other).content == one.status().content
        assert other.count_missing_vectors() == 0
        assert other.get_calibrations() == {"naive": '{"own": 1}', "hybrid": "{}"}
        assert other.get_roots() == ["/own", "/c"]


@pytest.mark.parametrize("changes", ["other", "text", "place"])
def test_an_index_that_holds_anything_else_stays_as_it_is(tmp_path: Path, changes: str) -> None:
    document = SHIPS.document
    changed = {
        "other": WORDLESS,
        "text": replace(SHIPS, digest="d-new"),
        "place": replace(SHIPS, document=replace(document, path="/elsewhere")),
    }[changes]
    with (
        open_writer(tmp_path / "one", IDENTITY) as one,
        open_writer(tmp_path / "other", IDENTITY) as other,
    ):
        put(one, CATS, SHIPS)
        put(other, CATS, changed)
        before = other.status()
        asked: list[int] = []
        with pytest.raises(UsageError, match="choose another one") as refused:
            copy_index(one, other, lambda: asked.append(1))
        assert f"({changed.document.path})" in str(refused.value)
        assert (other.status(), asked) == (before, [])


def test_feedback_that_was_given_at_the_copy_stays(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    index_fees(tmp_path / "one")
    with engine_at(tmp_path / "one") as one, engine_at(tmp_path / "other") as other:
        first, second = (one.ask(f"Where is {name}?").trace_id or "" for name in ("it", "she"))
        one.calibration.add_feedback(first, answer="here")
        one.copy_to(other)
        other.calibration.add_feedback(first, answer="there")
        one.calibration.add_feedback(second, answer="away")
        one.copy_to(other)
        said = {each.trace_id: each.answer for each in other.traces.store.list_feedback()}
        assert said == {first: "there", second: "away"}
