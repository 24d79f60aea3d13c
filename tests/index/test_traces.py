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
    UNOWNED,
    MissingTraceError,
    OutrankedFeedbackError,
    Ownership,
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


def create_workspace(server: "Server") -> Address:
    """Create an empty workspace with its tables."""
    from fathom.index.postgres.opening import open_writer

    address = Address.from_url(server.shared).switch_workspace(f"w{os.urandom(6).hex()}")
    open_writer(address, {"made": "by hand"}).close()
    return address


def make_trace(number: int, size: int = 0, strategy: str = "naive") -> Trace:
    recorder = Recorder(Origin(question=f"question {number}", strategy=strategy))
    with recorder.step("read", inputs={"noise": os.urandom(size).hex()[:4_000]}):
        pass
    return recorder.seal({"status": "answered", "answer": f"answer {number}"})


class TraceLocation(Protocol):
    """A location of traces that can be sent to other processes."""

    def open(self, *, max_bytes: int = MAX_BYTES) -> TraceStore: ...

    def damage(self, data: bytes) -> None:
        """Replace the stored data by these bytes."""


@dataclass
class FileLocation:
    """A file of a folder."""

    path: Path

    def open(self, *, max_bytes: int = MAX_BYTES) -> TraceStore:
        return EmbeddedTraces(self.path, max_bytes=max_bytes)

    def damage(self, data: bytes) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute("UPDATE traces SET data = ?", (data,))


@dataclass
class ServerLocation:
    """A workspace of a server."""

    address: Address

    def open(self, *, max_bytes: int = MAX_BYTES) -> TraceStore:
        return open_traces(self.address, max_bytes)

    def damage(self, data: bytes) -> None:
        from fathom.index.postgres.connections import Connections
        from fathom.index.postgres.workspace_tables import open_tables

        connections = Connections(self.address)
        with open_tables(connections, self.address, min_layout=2).begin() as connection:
            connection.execute("UPDATE fathom.traces SET data = %s", (data,))
        connections.close()


def open_traces(address: Address, max_bytes: int = MAX_BYTES) -> "PostgresTraces":
    """Open the traces of a workspace over their own connections."""
    from fathom.index.postgres.connections import Connections
    from fathom.index.postgres.traces import PostgresTraces
    from fathom.index.postgres.workspace_tables import open_tables

    connections = Connections(address)

    class OwnConnections(PostgresTraces):
        def close(self) -> None:
            connections.close()

    return OwnConnections(open_tables(connections, address, min_layout=2), max_bytes=max_bytes)


@pytest.fixture(params=["embedded", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> TraceLocation:
    if request.param == "embedded":
        return FileLocation(tmp_path / "traces.db")
    server: Server = request.getfixturevalue("postgres")
    return ServerLocation(create_workspace(server))


def test_a_trace_is_read_as_it_was_written(place: TraceLocation) -> None:
    stored = make_trace(1)
    with place.open() as store:
        store.put(stored)
        store.put(stored)

    with place.open() as store:
        assert store.get(stored.id) == stored
        assert store.get(stored.id[:8]) == stored
        (summary,) = store.list()
        assert (summary.id, summary.question) == (stored.id, "question 1")
        assert (summary.strategy, summary.status) == ("naive", "answered")


def test_an_owner_has_traces_and_nobody_else_has_them(place: TraceLocation) -> None:
    traces = [make_trace(number) for number in range(4)]
    owners = [Ownership("ana", ("d2", "d1")), Ownership("ben", ("d1",)), UNOWNED, Ownership("ana")]
    ids = [trace.id for trace in traces]
    with place.open() as store:
        for trace, ownership in zip(traces, owners, strict=True):
            store.put(trace, ownership=ownership)
        assert [trace.id for trace in store.list_owned("ana", limit=9)] == [ids[3], ids[0]]
        assert [trace.id for trace in store.list_owned("ana", limit=1, skip=1)] == [ids[0]]
        documents = {ids[0]: frozenset({"d1", "d2"}), ids[3]: frozenset()}
        assert store.get_documents(ids, "ana") == documents
        assert store.get_documents([ids[0][:8], "", "none", "\0", "\ud800"], "ana") == {}
        assert store.get_documents([], "ana") == store.get_documents(ids, "eve") == {}
        records = [*store.export_records()]
        for trace_id in ids:
            store.delete(trace_id)
        assert store.list_owned("ana", limit=9) == ()
        store.import_records(records)
        assert store.get_documents(ids, "ana") == documents
        assert [trace.id for trace in store.list_owned("ben", limit=9)] == [ids[1]]


def test_a_swept_or_evicted_trace_leaves_no_owner(tmp_path: Path) -> None:
    file = tmp_path / "traces.db"
    with EmbeddedTraces(file, max_bytes=1) as store:
        for number in range(3):
            store.put(make_trace(number), ownership=Ownership("ana", ("d1",)))
        assert len(store.list_owned("ana", limit=9)) == 1
    with closing(sqlite3.connect(file)) as connection:
        for table in ("trace_owners", "trace_documents"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (1,)


def test_conditions_of_an_answer_are_stored_and_deleted_with_its_trace(
    place: TraceLocation,
) -> None:
    first, second = make_trace(1), make_trace(2)
    with place.open() as store:
        store.put(first, warnings=("a.md is not what was read",))
        store.put(second)
        assert store.get_warnings(first.id) == ("a.md is not what was read",)
        assert store.get_warnings(second.id) == ()
        store.delete(first.id)
        assert store.get_warnings(first.id) == ()
        assert store.get_warnings("\ud800") == store.get_warnings("\0") == ()


def test_the_newest_come_first(place: TraceLocation) -> None:
    with place.open() as store:
        for number in range(5):
            store.put(make_trace(number))

        assert [s.question for s in store.list(limit=2)] == ["question 4", "question 3"]


@pytest.mark.parametrize("trace_id", ["", "zz", "%", "_", "'", "0' OR 1=1 --", "\ud800"])
def test_an_unknown_id_is_reported(place: TraceLocation, trace_id: str) -> None:
    with place.open() as store:
        store.put(make_trace(1))

        with pytest.raises(MissingTraceError, match="no trace begins"):
            store.get(trace_id)


def test_an_ambiguous_prefix_of_an_id_is_refused(place: TraceLocation) -> None:
    with place.open() as store:
        for number in range(17):  # two of them share their first digit
            store.put(make_trace(number))
        firsts = [summary.id[0] for summary in store.list()]
        twice = next(first for first in firsts if firsts.count(first) > 1)

        with pytest.raises(MissingTraceError, match="more than one"):
            store.get(twice)


def test_the_oldest_are_deleted_above_the_size_limit(place: TraceLocation) -> None:
    with place.open(max_bytes=20_000) as store:
        for number in range(30):
            store.put(make_trace(number, size=2_000))
        traces = store.list()

        assert sum(summary.size for summary in traces) <= 20_000
        assert 3 <= len(traces) < 30
        assert [s.question for s in traces] == [
            f"question {n}" for n in range(29, 29 - len(traces), -1)
        ]


def test_a_single_trace_above_the_limit_is_kept(place: TraceLocation) -> None:
    with place.open(max_bytes=10) as store:
        store.put(make_trace(1))
        store.put(make_trace(2))

        assert [summary.question for summary in store.list()] == ["question 2"]


@pytest.mark.parametrize("old", [b"answer 1", b"question 1", b"naive"])
def test_a_changed_trace_is_detected(place: TraceLocation, old: bytes) -> None:
    stored = make_trace(1)
    with place.open() as store:
        store.put(stored)
        lines = stored.data.replace(old, b"another!")
        place.damage(zlib.compress(lines))

        with pytest.raises(TamperedTraceError, match=stored.id):
            store.get(stored.id)


@pytest.mark.parametrize("data", [b"", b"nonsense", zlib.compress(b"x" * 1_000)[:-4]])
def test_a_damaged_trace_is_detected(place: TraceLocation, data: bytes) -> None:
    stored = make_trace(1)
    with place.open() as store:
        store.put(stored)
        place.damage(data)

        with pytest.raises(TamperedTraceError):
            store.get(stored.id)


def make_document(name: str, text: str, title: str = "T") -> Document:
    return Document(id=name, text=text, path=name, title=title)


@dataclass
class CountingIndex:
    """Documents, and a count of their look-ups."""

    documents: dict[str, Document]
    state: str = "1"
    asked: list[str] = field(default_factory=list)

    def get_revision(self) -> str:
        return self.state

    def get_document(self, name: str) -> Document | None:
        self.asked.append(name)
        return self.documents.get(name)


def make_empty_index() -> Any:
    """Return an index whose documents have all been deleted."""
    return CountingIndex({}, state="gone")


def make_quote(document: Document, start: int, end: int) -> QuotedText:
    span = Span(start, end)
    return QuotedText.of(document.id, document.title, span, span.cut(document.text))


A, B, C = (
    make_document("a", "some words"),
    make_document("b", "other words here"),
    make_document("c", "third"),
)


@pytest.mark.parametrize(
    ("changed", "remaining"),
    [
        ({"a": A, "b": B, "c": C}, [2, 1, 0]),
        ({"b": B, "c": C}, [2, 1]),
        ({"a": make_document("a", "some words and more"), "b": B, "c": C}, [2, 1, 0]),
        ({"a": make_document("a", "same words"), "b": B, "c": C}, [2, 1]),
        ({"a": make_document("a", "some words", title="new"), "b": B, "c": C}, [2, 1]),
        ({"a": A, "b": make_document("b", "another word")}, []),
    ],
)
def test_a_trace_is_kept_while_the_documents_contain_its_quotes(
    place: TraceLocation, changed: dict[str, Document], remaining: list[int]
) -> None:
    texts = [
        [make_quote(A, 0, 4), make_quote(B, 0, 5)],
        [make_quote(B, 6, 11)],
        [make_quote(C, 0, 5)],
    ]
    index: Any = CountingIndex({"a": A, "b": B, "c": C})
    with place.open() as store:
        for number, quote in enumerate(texts):
            store.put(make_trace(number), held=quote)
        assert store.sweep(index) == 0
        index.documents = changed
        assert store.sweep(index) == 0  # what has not changed is not looked at
        index.state = "2"
        assert store.sweep(index) == 3 - len(remaining)
        assert [summary.question for summary in store.list()] == [
            f"question {n}" for n in remaining
        ]


def test_a_trace_of_an_older_state_is_checked_next_time(place: TraceLocation) -> None:
    index: Any = CountingIndex({"b": B}, state="2")
    with place.open() as store:
        assert store.sweep(index) == 0
        store.put(
            make_trace(1), held=[make_quote(A, 0, 4), make_quote(A, 5, 10), make_quote(B, 0, 5)]
        )
        assert store.sweep(index) == 1
        assert index.asked == ["a", "b"]
        assert store.list() == ()


def put_many(place: TraceLocation, first: int) -> None:
    with place.open() as store:
        for number in range(first, first + 40):
            store.put(make_trace(number))


def test_two_processes_may_write_from_the_start(place: TraceLocation) -> None:
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


def test_a_reader_sees_traces_while_another_connection_writes(place: TraceLocation) -> None:
    with place.open() as writer, place.open() as reader:
        stored = make_trace(1)
        writer.put(stored)

        assert reader.get(stored.id) == stored
        writer.delete(stored.id)
        assert reader.list() == ()


def make_feedback(number: int, trace_id: str = "") -> Feedback:
    name = trace_id or f"trace {number}"
    words: Any = {"key": f"key {number}", "question": f"question {number}", "strategy": "naive"}
    return Feedback(trace_id=name, said="right", right=True, signals={"x": number}, **words)


def test_the_latest_feedback_on_an_answer_is_kept(place: TraceLocation) -> None:
    with place.open() as store:
        store.put_feedback(make_feedback(1))
        store.put_feedback(make_feedback(2))
        store.put_feedback(replace(make_feedback(1), said="wrong", right=False))
        assert [(feedback.trace_id, feedback.said) for feedback in store.list_feedback()] == [
            ("trace 2", "right"),
            ("trace 1", "wrong"),
        ]
        assert [feedback.trace_id for feedback in store.list_feedback(keys=["key 2"])] == [
            "trace 2"
        ]
        both = store.list_feedback(keys=["key 2", "key 1", "key 9"])
        assert [feedback.trace_id for feedback in both] == ["trace 2", "trace 1"]
        assert store.list_feedback(strategy="mao") == ()
        assert len(store.list_feedback(strategy="naive", keys=["key 1"])) == 1


def test_an_opinion_does_not_replace_feedback_that_counts(place: TraceLocation) -> None:
    with place.open() as store:
        store.put_feedback(replace(make_feedback(1), counts=False))
        store.put_feedback(replace(make_feedback(1), said="wrong", right=False, counts=False))
        store.put_feedback(make_feedback(1), held=[make_quote(A, 0, 4)])
        with pytest.raises(OutrankedFeedbackError, match="their word stays"):
            store.put_feedback(replace(make_feedback(1), said="wrong", right=False, counts=False))
        assert store.list_feedback() == (make_feedback(1),)
        store.put_feedback(replace(make_feedback(1), said="wrong", right=False))
        assert [feedback.said for feedback in store.list_feedback()] == ["wrong"]


def test_feedback_is_deleted_with_the_documents_it_cites(place: TraceLocation) -> None:
    index: Any = CountingIndex({"a": A, "b": B})
    with place.open() as store:
        store.put_feedback(make_feedback(1), held=[make_quote(A, 0, 4)])
        store.put_feedback(make_feedback(2), held=[make_quote(B, 0, 5), make_quote(B, 6, 11)])
        assert store.sweep(index) == 0
        index.documents, index.state = {"a": A}, "2"
        assert store.sweep(index) == 0
        assert [feedback.trace_id for feedback in store.list_feedback()] == ["trace 1"]


def test_feedback_is_deleted_with_its_trace(place: TraceLocation) -> None:
    stored = make_trace(1)
    with place.open() as store:
        store.put(stored)
        store.put_feedback(make_feedback(1, stored.id))
        store.put_feedback(make_feedback(2))
        store.delete(stored.id)
        assert [feedback.trace_id for feedback in store.list_feedback()] == ["trace 2"]


def test_signals_of_the_newest_answers_of_a_strategy_come_first(place: TraceLocation) -> None:
    with place.open() as store:
        for number in range(4):
            packed = pack_trace(
                make_trace(number, strategy="mao" if number == 2 else "naive"), (), ()
            )
            store.import_records([replace(packed, signals=f'{{"x":{number}}}')])
        assert store.list_signals("naive", 2) == ({"x": 3}, {"x": 1})
        assert store.list_signals("maf", 2) == ()


def test_a_store_accepts_all_records_of_another(place: TraceLocation, tmp_path: Path) -> None:
    first, second = make_trace(1), make_trace(2)
    with place.open() as store, EmbeddedTraces(tmp_path / "other.db") as other:
        store.put(first, held=[make_quote(A, 0, 4)], warnings=("a.md has changed",))
        store.put(second)
        store.put_feedback(make_feedback(1, first.id), held=[make_quote(A, 0, 4)])
        records = list(store.export_records())
        other.import_records(store.export_records())
        assert other.list() == store.list()
        assert [other.get(trace.id).data for trace in (first, second)] == [first.data, second.data]
        assert other.get_warnings(first.id) == ("a.md has changed",)
        store.delete(first.id)
        store.import_records(other.export_records())  # and back: what is there already stays once
        assert sorted(map(_describe_record, store.export_records())) == sorted(
            map(_describe_record, records)
        )
        assert store.sweep(make_empty_index()) == 1
        assert store.list_feedback() == ()


def test_imported_feedback_replaces_none_that_is_stored(
    place: TraceLocation, tmp_path: Path
) -> None:
    newer = replace(make_feedback(1), said="wrong", right=False)
    with place.open() as store, EmbeddedTraces(tmp_path / "other.db") as other:
        other.put_feedback(make_feedback(1), held=[make_quote(A, 0, 4)])
        other.put_feedback(replace(make_feedback(2), counts=False))
        other.put_feedback(make_feedback(3))
        store.put_feedback(newer)
        store.put_feedback(make_feedback(2))
        store.import_records(other.export_records())
        assert store.list_feedback() == (newer, make_feedback(2), make_feedback(3))
        assert store.sweep(make_empty_index()) == 0
        assert store.list_feedback()[0] == newer


def _describe_record(record: StoredTrace | StoredFeedback) -> str:
    return repr(replace(record, revision="") if isinstance(record, StoredTrace) else record)


def test_traces_added_during_a_sweep_are_checked(place: TraceLocation) -> None:
    """A trace arrives during the sweep; its question was asked before its document was deleted."""
    late = make_trace(2)
    with place.open() as store, place.open() as other:

        class ChangingIndex(CountingIndex):
            def get_document(self, name: str) -> Document | None:
                if not other.list() or late.id not in {trace.id for trace in other.list()}:
                    other.put(late, held=[make_quote(C, 0, 5)])
                return super().get_document(name)

        index: Any = ChangingIndex({"a": A}, state="2")
        store.put(make_trace(1), held=[make_quote(A, 0, 4)])
        store.sweep(index)
        store.sweep(index)
        assert [trace.question for trace in store.list()] == ["question 1"]
