import multiprocessing
import os
import sqlite3
import zlib
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from fathom.index.embedded.traces import EmbeddedTraces
from fathom.index.feedback import Feedback
from fathom.index.postgres.address import Address
from fathom.index.trace_retention import QuotedText
from fathom.index.traces import (
    MAX_BYTES,
    MissingTraceError,
    OutrankedFeedbackError,
    StoredFeedback,
    StoredTrace,
    TraceStore,
    pack_trace,
)
from fathom.runs.chain import TamperedTraceError
from fathom.runs.recorder import Recorder
from fathom.runs.trace import Origin, Trace
from fathom.types import Document, Span

if TYPE_CHECKING:
    from tests.postgres_server import Server

    from fathom.index.postgres.traces import PostgresTraces


def new_workspace(server: "Server") -> Address:
    """One of its own, with the tables there and nothing in it."""
    from fathom.index.postgres.opening import open_writer

    address = Address.from_url(server.shared).switch_workspace(f"w{os.urandom(6).hex()}")
    open_writer(address, {"made": "by hand"}).close()
    return address


def trace(number: int, size: int = 0, strategy: str = "naive") -> Trace:
    recorder = Recorder(Origin(question=f"question {number}", strategy=strategy))
    with recorder.step("read", inputs={"noise": os.urandom(size).hex()[:4_000]}):
        pass
    return recorder.seal({"status": "answered", "answer": f"answer {number}"})


class Place(Protocol):
    """Where traces are kept; goes to other processes too."""

    def open(self, *, max_bytes: int = MAX_BYTES) -> TraceStore: ...

    def spoil(self, data: bytes) -> None:
        """Store this instead of what was stored."""


@dataclass
class InFile:
    """In a file of a folder."""

    path: Path

    def open(self, *, max_bytes: int = MAX_BYTES) -> TraceStore:
        return EmbeddedTraces(self.path, max_bytes=max_bytes)

    def spoil(self, data: bytes) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute("UPDATE traces SET data = ?", (data,))


@dataclass
class OnServer:
    """In a workspace of a server."""

    address: Address

    def open(self, *, max_bytes: int = MAX_BYTES) -> TraceStore:
        return opened(self.address, max_bytes)

    def spoil(self, data: bytes) -> None:
        from fathom.index.postgres.connections import Connections
        from fathom.index.postgres.workspace_tables import open_tables

        connections = Connections(self.address)
        with open_tables(connections, self.address, min_layout=2).begin() as connection:
            connection.execute("UPDATE fathom.traces SET data = %s", (data,))
        connections.close()


def opened(address: Address, max_bytes: int = MAX_BYTES) -> "PostgresTraces":
    """The traces of a workspace, with connections of their own, which end with them."""
    from fathom.index.postgres.connections import Connections
    from fathom.index.postgres.traces import PostgresTraces
    from fathom.index.postgres.workspace_tables import open_tables

    connections = Connections(address)

    class Own(PostgresTraces):
        def close(self) -> None:
            connections.close()

    return Own(open_tables(connections, address, min_layout=2), max_bytes=max_bytes)


@pytest.fixture(params=["embedded", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "embedded":
        return InFile(tmp_path / "traces.db")
    server: Server = request.getfixturevalue("postgres")
    return OnServer(new_workspace(server))


def test_a_trace_comes_back(place: Place) -> None:
    stored = trace(1)
    with place.open() as store:
        store.put(stored)
        store.put(stored)

    with place.open() as store:
        assert store.get(stored.id) == stored
        assert store.get(stored.id[:8]) == stored
        (summary,) = store.list()
        assert (summary.id, summary.question) == (stored.id, "question 1")
        assert (summary.strategy, summary.status) == ("naive", "answered")


def test_what_an_answer_was_given_with_comes_back_and_goes_with_its_trace(place: Place) -> None:
    first, second = trace(1), trace(2)
    with place.open() as store:
        store.put(first, warnings=("a.md is not what was read",))
        store.put(second)
        assert store.get_warnings(first.id) == ("a.md is not what was read",)
        assert store.get_warnings(second.id) == ()
        store.delete(first.id)
        assert store.get_warnings(first.id) == ()


def test_the_newest_come_first(place: Place) -> None:
    with place.open() as store:
        for number in range(5):
            store.put(trace(number))

        assert [s.question for s in store.list(limit=2)] == ["question 4", "question 3"]


@pytest.mark.parametrize("wanted", ["", "zz", "%", "_", "'", "0' OR 1=1 --"])
def test_an_id_that_is_not_there_is_said(place: Place, wanted: str) -> None:
    with place.open() as store:
        store.put(trace(1))

        with pytest.raises(MissingTraceError, match="no trace begins"):
            store.get(wanted)


def test_a_beginning_of_two_ids_is_refused(place: Place) -> None:
    with place.open() as store:
        for number in range(17):  # two of them share their first digit
            store.put(trace(number))
        firsts = [summary.id[0] for summary in store.list()]
        twice = next(first for first in firsts if firsts.count(first) > 1)

        with pytest.raises(MissingTraceError, match="more than one"):
            store.get(twice)


def test_the_oldest_go_beyond_the_cap(place: Place) -> None:
    with place.open(max_bytes=20_000) as store:
        for number in range(30):
            store.put(trace(number, size=2_000))
        kept = store.list()

        assert sum(summary.size for summary in kept) <= 20_000
        assert 3 <= len(kept) < 30
        assert [s.question for s in kept] == [
            f"question {n}" for n in range(29, 29 - len(kept), -1)
        ]


def test_one_trace_above_the_cap_is_kept_alone(place: Place) -> None:
    with place.open(max_bytes=10) as store:
        store.put(trace(1))
        store.put(trace(2))

        assert [summary.question for summary in store.list()] == ["question 2"]


@pytest.mark.parametrize("old", [b"answer 1", b"question 1", b"naive"])
def test_a_tampered_trace_is_noticed(place: Place, old: bytes) -> None:
    stored = trace(1)
    with place.open() as store:
        store.put(stored)
        lines = stored.data.replace(old, b"another!")
        place.spoil(zlib.compress(lines))

        with pytest.raises(TamperedTraceError, match=stored.id):
            store.get(stored.id)


@pytest.mark.parametrize("data", [b"", b"nonsense", zlib.compress(b"x" * 1_000)[:-4]])
def test_a_damaged_trace_is_noticed(place: Place, data: bytes) -> None:
    stored = trace(1)
    with place.open() as store:
        store.put(stored)
        place.spoil(data)

        with pytest.raises(TamperedTraceError):
            store.get(stored.id)


def of(name: str, text: str, title: str = "T") -> Document:
    return Document(id=name, text=text, path=name, title=title)


@dataclass
class Index:
    """Documents, and how often they were looked up."""

    documents: dict[str, Document]
    state: str = "1"
    asked: list[str] = field(default_factory=list)

    def get_revision(self) -> str:
        return self.state

    def get_document(self, name: str) -> Document | None:
        self.asked.append(name)
        return self.documents.get(name)


def nothing() -> Any:
    """An index of which all documents have gone."""
    return Index({}, state="gone")


def held(document: Document, start: int, end: int) -> QuotedText:
    span = Span(start, end)
    return QuotedText.of(document.id, document.title, span, span.cut(document.text))


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
    place: Place, changed: dict[str, Document], left: list[int]
) -> None:
    texts = [[held(A, 0, 4), held(B, 0, 5)], [held(B, 6, 11)], [held(C, 0, 5)]]
    index: Any = Index({"a": A, "b": B, "c": C})
    with place.open() as store:
        for number, each in enumerate(texts):
            store.put(trace(number), held=each)
        assert store.sweep(index) == 0
        index.documents = changed
        assert store.sweep(index) == 0  # what has not changed is not looked at
        index.state = "2"
        assert store.sweep(index) == 3 - len(left)
        assert [summary.question for summary in store.list()] == [f"question {n}" for n in left]


def test_a_trace_of_an_older_state_is_looked_at_the_next_time(place: Place) -> None:
    index: Any = Index({"b": B}, state="2")
    with place.open() as store:
        assert store.sweep(index) == 0
        store.put(trace(1), held=[held(A, 0, 4), held(A, 5, 10), held(B, 0, 5)])
        assert store.sweep(index) == 1
        assert index.asked == ["a", "b"]
        assert store.list() == ()


def put_many(place: Place, first: int) -> None:
    with place.open() as store:
        for number in range(first, first + 40):
            store.put(trace(number))


def test_two_processes_write_at_once_from_the_very_start(place: Place) -> None:
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=put_many, args=(place, first)) for first in (0, 100)]
    for writer in writers:
        writer.start()
    put_many(place, 200)
    for writer in writers:
        writer.join(60)

    assert [writer.exitcode for writer in writers] == [0, 0]
    with place.open() as store:
        stored = store.list(limit=1_000)
        questions = {summary.question for summary in stored}
        assert questions == {f"question {n + first}" for first in (0, 100, 200) for n in range(40)}
        for summary in stored:
            assert store.get(summary.id).origin.question == summary.question


def test_a_reader_sees_traces_while_another_connection_writes(place: Place) -> None:
    with place.open() as writer, place.open() as reader:
        stored = trace(1)
        writer.put(stored)

        assert reader.get(stored.id) == stored
        writer.delete(stored.id)
        assert reader.list() == ()


def said(number: int, trace_id: str = "") -> Feedback:
    name = trace_id or f"trace {number}"
    words: Any = {"key": f"key {number}", "question": f"question {number}", "strategy": "naive"}
    return Feedback(trace_id=name, said="right", right=True, signals={"x": number}, **words)


def test_what_was_said_last_of_an_answer_is_kept(place: Place) -> None:
    with place.open() as store:
        store.put_feedback(said(1))
        store.put_feedback(said(2))
        store.put_feedback(replace(said(1), said="wrong", right=False))
        assert [(one.trace_id, one.said) for one in store.list_feedback()] == [
            ("trace 2", "right"),
            ("trace 1", "wrong"),
        ]
        assert [one.trace_id for one in store.list_feedback(key="key 2")] == ["trace 2"]
        assert store.list_feedback(strategy="mao") == ()
        assert len(store.list_feedback(strategy="naive", key="key 1")) == 1


def test_no_opinion_takes_the_place_of_what_counts(place: Place) -> None:
    with place.open() as store:
        store.put_feedback(replace(said(1), counts=False))
        store.put_feedback(replace(said(1), said="wrong", right=False, counts=False))
        store.put_feedback(said(1), held=[held(A, 0, 4)])
        with pytest.raises(OutrankedFeedbackError, match="their word stays"):
            store.put_feedback(replace(said(1), said="wrong", right=False, counts=False))
        assert store.list_feedback() == (said(1),)
        store.put_feedback(replace(said(1), said="wrong", right=False))
        assert [one.said for one in store.list_feedback()] == ["wrong"]


def test_what_was_said_goes_with_the_documents_it_cites(place: Place) -> None:
    index: Any = Index({"a": A, "b": B})
    with place.open() as store:
        store.put_feedback(said(1), held=[held(A, 0, 4)])
        store.put_feedback(said(2), held=[held(B, 0, 5), held(B, 6, 11)])
        assert store.sweep(index) == 0
        index.documents, index.state = {"a": A}, "2"
        assert store.sweep(index) == 0
        assert [one.trace_id for one in store.list_feedback()] == ["trace 1"]


def test_what_was_said_goes_with_a_trace_that_is_deleted(place: Place) -> None:
    stored = trace(1)
    with place.open() as store:
        store.put(stored)
        store.put_feedback(said(1, stored.id))
        store.put_feedback(said(2))
        store.delete(stored.id)
        assert [one.trace_id for one in store.list_feedback()] == ["trace 2"]


def test_the_signals_of_the_newest_answers_of_a_strategy_come_first(place: Place) -> None:
    with place.open() as store:
        for number in range(4):
            made = pack_trace(trace(number, strategy="mao" if number == 2 else "naive"), (), ())
            store.import_records([replace(made, signals=f'{{"x":{number}}}')])
        assert store.list_signals("naive", 2) == ({"x": 3}, {"x": 1})
        assert store.list_signals("maf", 2) == ()


def test_a_store_takes_all_that_another_one_keeps(place: Place, tmp_path: Path) -> None:
    first, second = trace(1), trace(2)
    with place.open() as store, EmbeddedTraces(tmp_path / "other.db") as other:
        store.put(first, held=[held(A, 0, 4)], warnings=("a.md has changed",))
        store.put(second)
        store.put_feedback(said(1, first.id), held=[held(A, 0, 4)])
        kept = list(store.export_records())
        other.import_records(store.export_records())
        assert other.list() == store.list()
        assert [other.get(each.id).data for each in (first, second)] == [first.data, second.data]
        assert other.get_warnings(first.id) == ("a.md has changed",)
        store.delete(first.id)
        store.import_records(other.export_records())  # and back: what is there already stays once
        assert sorted(map(_plain, store.export_records())) == sorted(map(_plain, kept))
        assert store.sweep(nothing()) == 1
        assert store.list_feedback() == ()


def _plain(kept: StoredTrace | StoredFeedback) -> str:
    return repr(replace(kept, revision="") if isinstance(kept, StoredTrace) else kept)


def test_what_is_put_while_traces_are_swept_is_not_overlooked(place: Place) -> None:
    """The trace of a question that was asked before its document went comes in the middle."""
    late = trace(2)
    with place.open() as store, place.open() as other:

        class Changing(Index):
            def get_document(self, name: str) -> Document | None:
                if not other.list() or late.id not in {each.id for each in other.list()}:
                    other.put(late, held=[held(C, 0, 5)])
                return super().get_document(name)

        index: Any = Changing({"a": A}, state="2")
        store.put(trace(1), held=[held(A, 0, 4)])
        store.sweep(index)
        store.sweep(index)
        assert [each.question for each in store.list()] == ["question 1"]
