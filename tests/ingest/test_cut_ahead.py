"""Records that workers cut; for `fathom.ingest.cut_ahead`."""

import gzip
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ingest.test_workers import open_engine

from fathom.documents.base import ParsedDocument, ParseRefusal, RecordFailure
from fathom.ingest.cut_ahead import MAX_CHARS, MAX_RECORDS, CorpusItem, CutOutcome, cut_ahead
from fathom.ingest.report import IngestReport
from fathom.ingest.workers.base import (
    MAX_AHEAD,
    ChunkedText,
    CutRecordsTask,
    EndedTask,
    LostTask,
    Task,
    WorkerPool,
)
from fathom.testing.doubles import HashingEmbedder


class CuttingWorkers:
    """Workers that finish their newest task first; a deadly text kills them."""

    def __init__(self, size: int = 2) -> None:
        self.size = size
        self.busy: dict[int, Task] = {}
        self.sizes: list[int] = []

    def start(self, ticket: int, task: Task) -> None:
        assert len(self.busy) < self.size
        self.busy[ticket] = task

    def wait_for_results(self) -> list[EndedTask]:
        ticket, task = self.busy.popitem()
        assert isinstance(task, CutRecordsTask)
        self.sizes.append(len(task.records))
        if any("deadly" in record.text for record in task.records):
            return [(ticket, LostTask("it died"))]
        return [(ticket, tuple(ChunkedText(record.text, ()) for record in task.records))]

    def close(self) -> None:
        self.busy.clear()


def make_record(n: int, text: str = "") -> ParsedDocument:
    return ParsedDocument(text=text or f"text {n}", record=str(n))


def describe_cut(part: CorpusItem, outcome: CutOutcome) -> str:
    if isinstance(part, RecordFailure):
        return f"line {part.line}"
    return outcome.language if isinstance(outcome, ChunkedText) else f"{part.record}: {outcome}"


def test_records_are_returned_in_order_with_their_chunks() -> None:
    bad = RecordFailure(line=7, outcome="failed", reason="is no JSON")
    parts: list[CorpusItem] = [
        *map(make_record, range(200)),
        bad,
        *map(make_record, range(200, 300)),
    ]
    cuts = cut_ahead(parts, "/f", WorkerPool(CuttingWorkers()), lambda part: part.record != "3")
    expected = [f"text {n}" if n != 3 else "3: None" for n in range(300)]
    assert [describe_cut(*cut) for cut in cuts] == [*expected[:200], "line 7", *expected[200:]]


def test_without_workers_nothing_is_cut_ahead() -> None:
    assert list(cut_ahead([make_record(1)], "/f", None, lambda _: True)) == [(make_record(1), None)]


def test_a_record_that_kills_every_worker_is_named_and_the_others_are_cut() -> None:
    parts = [make_record(n, "deadly" if n == 70 else "") for n in range(100)]
    descriptions = [
        describe_cut(*cut)
        for cut in cut_ahead(parts, "/f", WorkerPool(CuttingWorkers()), lambda _: True)
    ]
    expected = [f"text {n}" for n in range(100)]
    expected[70] = "70: it died, 3 times"
    assert descriptions == expected


def test_records_before_the_end_of_a_truncated_file_are_returned_first() -> None:
    def iterate_truncated() -> Iterator[CorpusItem]:
        yield from map(make_record, range(MAX_RECORDS + 5))
        raise ParseRefusal("failed", "breaks off")

    cuts = cut_ahead(iterate_truncated(), "/f", WorkerPool(CuttingWorkers()), lambda _: True)
    descriptions = [describe_cut(*next(cuts)) for _ in range(MAX_RECORDS + 5)]
    with pytest.raises(ParseRefusal, match="breaks off"):
        next(cuts)
    assert descriptions == [f"text {n}" for n in range(MAX_RECORDS + 5)]


@pytest.mark.parametrize("is_wanted", [True, False])
def test_few_records_are_read_ahead_whether_they_are_cut_or_not(is_wanted: bool) -> None:
    read = []

    def iterate_many() -> Iterator[CorpusItem]:
        for n in range(10_000):
            read.append(n)
            yield make_record(n)

    cuts = cut_ahead(iterate_many(), "/f", WorkerPool(CuttingWorkers(2)), lambda _: is_wanted)
    for taken, _ in enumerate(cuts):
        assert len(read) <= taken + 1 + (MAX_AHEAD * 2 + 1) * MAX_RECORDS
        if taken == 2000:
            break


def test_a_worker_gets_a_bounded_amount_of_text_at_a_time() -> None:
    workers = CuttingWorkers(1)
    long = "x" * (MAX_CHARS // 2)
    list(
        cut_ahead(
            (make_record(n, long) for n in range(6)), "/f", WorkerPool(workers), lambda _: True
        )
    )
    assert workers.sizes == [2, 2, 2, 0]


@pytest.mark.parametrize("is_wanted", [True, False])
def test_little_text_is_held_whether_it_is_cut_or_not(is_wanted: bool) -> None:
    read = []

    def iterate_long() -> Iterator[CorpusItem]:
        for n in range(100):
            read.append(n)
            yield make_record(n, "x" * (MAX_CHARS // 2))

    cuts = cut_ahead(iterate_long(), "/f", WorkerPool(CuttingWorkers(2)), lambda _: is_wanted)
    for taken, _ in enumerate(cuts):
        assert len(read) <= taken + 1 + (MAX_AHEAD * 2 + 1) * 2


def make_corpus(count: int, *, poison: int = -1) -> bytes:
    rows: list[object] = [
        {"_id": str(n), "title": f"T{n}", "text": f"Record {n}. " + "It is so. " * (n % 90)}
        for n in range(count)
    ]
    if poison >= 0:
        rows[poison] = {"_id": str(poison), "text": "A poison. " * 900}
    lines = [json.dumps(row) for row in rows]
    lines[10:10] = ["no record", '{"_id": "empty", "text": " "}', lines[3]]
    return ("\n".join(lines) + "\n").encode()


def count_outcomes(report: IngestReport) -> tuple[object, ...]:
    files = [(file.path, file.outcome, file.reason) for file in report.files]
    return report.new, report.changed, report.unchanged, report.failed, report.stale, files


def test_workers_and_one_process_make_the_same_of_corpora(tmp_path: Path) -> None:
    """Also of packed ones, of one that breaks off, of one that has changed, and of a lost file."""
    docs = tmp_path / "docs"
    docs.mkdir()
    states = []
    for workers in (1, 2):
        (docs / "a.jsonl").write_bytes(make_corpus(150))
        (docs / "b.jsonl.gz").write_bytes(
            gzip.compress(make_corpus(90).replace(b'": "', b'": "b'), mtime=0)
        )
        (docs / "c.md").write_text("A file among them.")
        with open_engine(tmp_path / f"with{workers}", workers) as engine:
            reports = [count_outcomes(engine.ingest([docs]))]
            broken = gzip.compress(make_corpus(150).replace(b'": "', b'": "b'), mtime=0)
            (docs / "b.jsonl.gz").write_bytes(broken[:-40])
            (docs / "a.jsonl").write_bytes(make_corpus(140).replace(b"Record 7", b"Row 7"))
            reports.append(count_outcomes(engine.ingest([docs], prune=True)))
            assert engine.verify() == []
            states.append((reports, engine.status().content))
    assert states[0] == states[1]


class DeadlyCounter(HashingEmbedder):
    """Ends its process where a text is cut."""

    def count(self, text: str) -> int:
        if "poison" in text:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().count(text)


@pytest.mark.slow  # four processes are started for the one that dies
def test_a_record_that_kills_its_worker_fails_alone(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(make_corpus(100, poison=50))
    with open_engine(tmp_path, 2, DeadlyCounter(64)) as engine:
        report = engine.ingest([tmp_path / "a.jsonl"])
        assert len(list(engine.documents.list())) == 99
        bad = {file.path.rpartition("#")[2]: file.reason for file in report.files if file.is_bad}
        assert bad["50"] == "its worker ended (signal 9), 3 times"
