import random
import sqlite3
import stat
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.index.test_traces import A, make_empty_index, make_feedback, make_quote, make_trace

from fathom.errors import RunError
from fathom.index.embedded.traces import EmbeddedTraces, move_traces
from fathom.index.traces import MissingTraceError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "traces.db"


def test_only_the_owner_can_read(path: Path) -> None:
    with EmbeddedTraces(path) as store:
        store.put(make_trace(1))
        files = sorted(path.parent.iterdir())

        assert [file.name for file in files][:2] == ["traces.db", "traces.db-shm"]
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_a_deleted_trace_is_removed_from_the_disk(path: Path) -> None:
    first, second = make_trace(1), make_trace(2)
    with EmbeddedTraces(path) as store:
        store.put(first)
        store.put(second)
        deleted = store.delete(first.id[:10])

        assert deleted == first.id
        assert [summary.id for summary in store.list()] == [second.id]
        for file in path.parent.iterdir():
            assert first.id.encode() not in file.read_bytes()
            assert b"question 1" not in file.read_bytes()
        with pytest.raises(MissingTraceError):
            store.delete(first.id)


def test_a_file_that_is_no_database_is_named(path: Path) -> None:
    path.write_bytes(b"not a database at all, but long enough to be read as one" * 20)

    with pytest.raises(RunError, match=r"traces\.db"):
        EmbeddedTraces(path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="nowhere"):
        EmbeddedTraces(tmp_path / "nowhere" / "traces.db")


def test_a_swept_trace_is_removed_from_the_disk(path: Path) -> None:
    with EmbeddedTraces(path) as store:
        store.put(make_trace(1), held=[make_quote(A, 0, 4)])
        assert store.sweep(make_empty_index()) == 1
        for file in path.parent.iterdir():
            assert b"question 1" not in file.read_bytes()


def test_traces_move_to_another_store(path: Path, tmp_path: Path) -> None:
    first, other = make_trace(1), tmp_path / "other"
    other.mkdir()
    with EmbeddedTraces(path) as store:
        store.put(first)
    with EmbeddedTraces(other / "traces.db") as there:
        move_traces(path.parent, there)
        move_traces(path.parent, there)
        assert there.get(first.id) == first
    assert list(path.parent.glob("traces*")) == []


def test_a_move_after_a_kill_keeps_feedback_that_was_given_since(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with EmbeddedTraces(path) as store:
        store.put_feedback(make_feedback(1))
    newer = replace(make_feedback(1), said="wrong", right=False)
    with EmbeddedTraces(other / "traces.db") as there:
        with monkeypatch.context() as context:
            context.setattr(Path, "unlink", interrupt)
            with pytest.raises(KeyboardInterrupt):
                move_traces(path.parent, there)
        there.put_feedback(newer)
        move_traces(path.parent, there)
        assert there.list_feedback() == (newer,)
    assert list(path.parent.glob("traces*")) == []


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_full_disk_is_no_reason_to_delete_the_file(path: Path) -> None:
    with EmbeddedTraces(path) as store:
        store.put(make_trace(1))
        with closing(sqlite3.connect(path)) as other:
            [(pages,)] = other.execute("PRAGMA page_count").fetchall()
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(RunError, match=r"full; check free space and permissions$"):
            store.put(replace(make_trace(2), data=random.Random(1).randbytes(1 << 20)))
        store._connection.execute("PRAGMA max_page_count = 1000000")
        store.put(make_trace(2))
        assert len(store.list()) == 2
