import multiprocessing
import os
import sqlite3
import stat
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fathom.errors import RunError
from fathom.index.trace_retention import Held
from fathom.index.traces import TraceMissing, TraceStore
from fathom.tracing.chain import TraceTampered
from fathom.tracing.recorder import Recorder
from fathom.tracing.trace import Origin, Trace
from fathom.types import Document, Span


def trace(number: int, size: int = 0) -> Trace:
    recorder = Recorder(Origin(question=f"question {number}", strategy="naive"))
    with recorder.step("read", inputs={"noise": os.urandom(size).hex()[:4_000]}):
        pass
    return recorder.seal({"status": "answered", "answer": f"answer {number}"})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "traces.db"


def test_a_trace_comes_back(path: Path) -> None:
    stored = trace(1)
    with TraceStore(path) as store:
        store.put(stored)
        store.put(stored)

    with TraceStore(path) as store:
        assert store.get(stored.id) == stored
        assert store.get(stored.id[:8]) == stored
        (summary,) = store.list()
        assert (summary.id, summary.question) == (stored.id, "question 1")
        assert (summary.strategy, summary.status) == ("naive", "answered")


def test_what_an_answer_was_given_with_comes_back_and_goes_with_its_trace(path: Path) -> None:
    first, second = trace(1), trace(2)
    with TraceStore(path) as store:
        store.put(first, warnings=("a.md is not what was read",))
        store.put(second)
        assert store.warnings(first.id) == ("a.md is not what was read",)
        assert store.warnings(second.id) == ()
        store.delete(first.id)
        assert store.warnings(first.id) == ()


def test_the_newest_come_first(path: Path) -> None:
    with TraceStore(path) as store:
        for number in range(5):
            store.put(trace(number))

        assert [s.question for s in store.list(limit=2)] == ["question 4", "question 3"]


@pytest.mark.parametrize("wanted", ["", "zz", "%", "_", "'", "0' OR 1=1 --"])
def test_an_id_that_is_not_there_is_said(path: Path, wanted: str) -> None:
    with TraceStore(path) as store:
        store.put(trace(1))

        with pytest.raises(TraceMissing, match="no trace begins"):
            store.get(wanted)


def test_a_beginning_of_two_ids_is_refused(path: Path) -> None:
    with TraceStore(path) as store:
        for number in range(17):  # two of them share their first digit
            store.put(trace(number))
        firsts = [summary.id[0] for summary in store.list()]
        twice = next(first for first in firsts if firsts.count(first) > 1)

        with pytest.raises(TraceMissing, match="more than one"):
            store.get(twice)


def test_the_oldest_go_beyond_the_cap(path: Path) -> None:
    with TraceStore(path, max_bytes=20_000) as store:
        for number in range(30):
            store.put(trace(number, size=2_000))
        kept = store.list()

        assert sum(summary.size for summary in kept) <= 20_000
        assert 3 <= len(kept) < 30
        assert [s.question for s in kept] == [
            f"question {n}" for n in range(29, 29 - len(kept), -1)
        ]


def test_one_trace_above_the_cap_is_kept_alone(path: Path) -> None:
    with TraceStore(path, max_bytes=10) as store:
        store.put(trace(1))
        store.put(trace(2))

        assert [summary.question for summary in store.list()] == ["question 2"]


def test_only_the_owner_can_read(path: Path) -> None:
    with TraceStore(path) as store:
        store.put(trace(1))
        files = sorted(path.parent.iterdir())

        assert [file.name for file in files][:2] == ["traces.db", "traces.db-shm"]
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


@pytest.mark.parametrize("old", [b"answer 1", b"question 1", b"naive"])
def test_a_tampered_trace_is_noticed(path: Path, old: bytes) -> None:
    stored = trace(1)
    with TraceStore(path) as store:
        store.put(stored)
        lines = stored.data.replace(old, b"another!")
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE traces SET data = ?", (zlib.compress(lines),))
        connection.close()

        with pytest.raises(TraceTampered, match=stored.id):
            store.get(stored.id)


@pytest.mark.parametrize("data", [b"", b"nonsense", zlib.compress(b"x" * 1_000)[:-4]])
def test_a_damaged_trace_is_noticed(path: Path, data: bytes) -> None:
    stored = trace(1)
    with TraceStore(path) as store:
        store.put(stored)
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE traces SET data = ?", (data,))
        connection.close()

        with pytest.raises(TraceTampered):
            store.get(stored.id)


def test_what_is_deleted_is_gone_from_the_disk(path: Path) -> None:
    first, second = trace(1), trace(2)
    with TraceStore(path) as store:
        store.put(first)
        store.put(second)
        deleted = store.delete(first.id[:10])

        assert deleted == first.id
        assert [summary.id for summary in store.list()] == [second.id]
        for file in path.parent.iterdir():
            assert first.id.encode() not in file.read_bytes()
            assert b"question 1" not in file.read_bytes()
        with pytest.raises(TraceMissing):
            store.delete(first.id)


def of(name: str, text: str, title: str = "T") -> Document:
    return Document(id=name, text=text, path=name, title=title)


@dataclass
class Index:
    """Documents, and how often they were looked up."""

    documents: dict[str, Document]
    state: str = "1"
    asked: list[str] = field(default_factory=list)

    def revision(self) -> str:
        return self.state

    def document(self, name: str) -> Document | None:
        self.asked.append(name)
        return self.documents.get(name)


def held(document: Document, start: int, end: int) -> Held:
    span = Span(start, end)
    return Held.of(document.id, document.title, span, span.cut(document.text))


A, B, C = of("a", "some words"), of("b", "other words here"), of("c", "third")


@pytest.mark.parametrize(
    ("changed", "left"),
    [
        ({"a": A, "b": B, "c": C}, [2, 1, 0]),
        ({"b": B, "c": C}, [2, 1]),
        ({"a": of("a", "some words and more"), "b": B, "c": C}, [2, 1, 0]),
        ({"a": of("a", "same words"), "b": B, "c": C}, [2, 1]),
        ({"a": of("a", "some words", title="new"), "b": B, "c": C}, [2, 1]),
        ({"a": A, "b": of("b", "another word")}, []),
    ],
)
def test_a_trace_stays_while_the_documents_hold_its_texts(
    path: Path, changed: dict[str, Document], left: list[int]
) -> None:
    texts = [[held(A, 0, 4), held(B, 0, 5)], [held(B, 6, 11)], [held(C, 0, 5)]]
    index: Any = Index({"a": A, "b": B, "c": C})
    with TraceStore(path) as store:
        for number, each in enumerate(texts):
            store.put(trace(number), held=each)
        assert store.sweep(index) == 0
        index.documents = changed
        assert store.sweep(index) == 0  # what has not changed is not looked at
        index.state = "2"
        assert store.sweep(index) == 3 - len(left)
        assert [summary.question for summary in store.list()] == [f"question {n}" for n in left]
        for file in path.parent.iterdir():
            for number in {0, 1, 2} - set(left):
                assert f"question {number}".encode() not in file.read_bytes()


def test_a_trace_of_an_older_state_is_looked_at_the_next_time(path: Path) -> None:
    index: Any = Index({"b": B}, state="2")
    with TraceStore(path) as store:
        assert store.sweep(index) == 0
        store.put(trace(1), held=[held(A, 0, 4), held(A, 5, 10), held(B, 0, 5)])
        assert store.sweep(index) == 1
        assert index.asked == ["a", "b"]
        assert store.list() == ()


def put_many(path: Path, first: int) -> None:
    with TraceStore(path) as store:
        for number in range(first, first + 40):
            store.put(trace(number))


def test_two_processes_write_at_once_from_the_very_start(path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=put_many, args=(path, first)) for first in (0, 100)]
    for writer in writers:
        writer.start()
    put_many(path, 200)
    for writer in writers:
        writer.join(60)

    assert [writer.exitcode for writer in writers] == [0, 0]
    with TraceStore(path) as store:
        stored = store.list(limit=1_000)
        questions = {summary.question for summary in stored}
        assert questions == {f"question {n + first}" for first in (0, 100, 200) for n in range(40)}
        for summary in stored:
            assert store.get(summary.id).origin.question == summary.question


def test_a_reader_sees_traces_while_another_connection_writes(path: Path) -> None:
    with TraceStore(path) as writer, TraceStore(path) as reader:
        stored = trace(1)
        writer.put(stored)

        assert reader.get(stored.id) == stored
        writer.delete(stored.id)
        assert reader.list() == ()


def test_a_file_that_is_no_database_is_named(path: Path) -> None:
    path.write_bytes(b"not a database at all, but long enough to be read as one" * 20)

    with pytest.raises(RunError, match=r"traces\.db"):
        TraceStore(path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="nowhere"):
        TraceStore(tmp_path / "nowhere" / "traces.db")
