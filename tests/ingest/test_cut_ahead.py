"""Records that workers cut; for `fathom.ingest.cut_ahead`."""

import gzip
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ingest.test_workers import engine_at

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


class Cutters:
    """Workers who end their tasks newest first; who has a deadly text dies."""

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


def record(n: int, text: str = "") -> ParsedDocument:
    return ParsedDocument(text=text or f"text {n}", record=str(n))


def told(part: CorpusItem, found: CutOutcome) -> str:
    if isinstance(part, RecordFailure):
        return f"line {part.line}"
    return found.language if isinstance(found, ChunkedText) else f"{part.record}: {found}"


def test_each_part_comes_in_its_order_with_what_was_made_of_it() -> None:
    bad = RecordFailure(line=7, outcome="failed", reason="is no JSON")
    parts: list[CorpusItem] = [*map(record, range(200)), bad, *map(record, range(200, 300))]
    cuts = cut_ahead(parts, "/f", WorkerPool(Cutters()), lambda one: one.record != "3")
    expected = [f"text {n}" if n != 3 else "3: None" for n in range(300)]
    assert [told(*each) for each in cuts] == [*expected[:200], "line 7", *expected[200:]]


def test_nobody_is_asked_without_workers() -> None:
    assert list(cut_ahead([record(1)], "/f", None, lambda _: True)) == [(record(1), None)]


def test_the_one_that_no_worker_survives_is_named_and_the_others_are_cut() -> None:
    parts = [record(n, "deadly" if n == 70 else "") for n in range(100)]
    found = [told(*each) for each in cut_ahead(parts, "/f", WorkerPool(Cutters()), lambda _: True)]
    expected = [f"text {n}" for n in range(100)]
    expected[70] = "70: it died, 3 times"
    assert found == expected


def test_what_came_before_the_end_of_a_broken_file_is_taken_first() -> None:
    def broken() -> Iterator[CorpusItem]:
        yield from map(record, range(MAX_RECORDS + 5))
        raise ParseRefusal("failed", "breaks off")

    cuts = cut_ahead(broken(), "/f", WorkerPool(Cutters()), lambda _: True)
    found = [told(*next(cuts)) for _ in range(MAX_RECORDS + 5)]
    with pytest.raises(ParseRefusal, match="breaks off"):
        next(cuts)
    assert found == [f"text {n}" for n in range(MAX_RECORDS + 5)]


@pytest.mark.parametrize("wanted", [True, False])
def test_few_are_read_before_their_turn_whether_they_are_cut_or_not(wanted: bool) -> None:
    read = []

    def many() -> Iterator[CorpusItem]:
        for n in range(10_000):
            read.append(n)
            yield record(n)

    cuts = cut_ahead(many(), "/f", WorkerPool(Cutters(2)), lambda _: wanted)
    for taken, _ in enumerate(cuts):
        assert len(read) <= taken + 1 + (MAX_AHEAD * 2 + 1) * MAX_RECORDS
        if taken == 2000:
            break


def test_a_worker_gets_no_more_text_than_it_should_at_a_time() -> None:
    workers = Cutters(1)
    long = "x" * (MAX_CHARS // 2)
    list(cut_ahead((record(n, long) for n in range(6)), "/f", WorkerPool(workers), lambda _: True))
    assert workers.sizes == [2, 2, 2, 0]


@pytest.mark.parametrize("wanted", [True, False])
def test_little_text_is_held_whether_it_is_cut_or_not(wanted: bool) -> None:
    read = []

    def long() -> Iterator[CorpusItem]:
        for n in range(100):
            read.append(n)
            yield record(n, "x" * (MAX_CHARS // 2))

    cuts = cut_ahead(long(), "/f", WorkerPool(Cutters(2)), lambda _: wanted)
    for taken, _ in enumerate(cuts):
        assert len(read) <= taken + 1 + (MAX_AHEAD * 2 + 1) * 2


def corpus(count: int, *, poison: int = -1) -> bytes:
    rows: list[object] = [
        {"_id": str(n), "title": f"T{n}", "text": f"Record {n}. " + "It is so. " * (n % 90)}
        for n in range(count)
    ]
    if poison >= 0:
        rows[poison] = {"_id": str(poison), "text": "A poison. " * 900}
    lines = [json.dumps(row) for row in rows]
    lines[10:10] = ["no record", '{"_id": "empty", "text": " "}', lines[3]]
    return ("\n".join(lines) + "\n").encode()


def counted(report: IngestReport) -> tuple[object, ...]:
    files = [(file.path, file.outcome, file.reason) for file in report.files]
    return report.new, report.changed, report.unchanged, report.failed, report.stale, files


def test_workers_make_of_corpora_what_one_process_makes_of_them(tmp_path: Path) -> None:
    """Also of packed ones, of one that breaks off, of one that has changed, and of a lost file."""
    docs = tmp_path / "docs"
    docs.mkdir()
    found = []
    for workers in (1, 2):
        (docs / "a.jsonl").write_bytes(corpus(150))
        (docs / "b.jsonl.gz").write_bytes(
            gzip.compress(corpus(90).replace(b'": "', b'": "b'), mtime=0)
        )
        (docs / "c.md").write_text("A file among them.")
        with engine_at(tmp_path / f"with{workers}", workers) as engine:
            reports = [counted(engine.ingest([docs]))]
            broken = gzip.compress(corpus(150).replace(b'": "', b'": "b'), mtime=0)
            (docs / "b.jsonl.gz").write_bytes(broken[:-40])
            (docs / "a.jsonl").write_bytes(corpus(140).replace(b"Record 7", b"Row 7"))
            reports.append(counted(engine.ingest([docs], prune=True)))
            assert engine.verify() == []
            found.append((reports, engine.status().content))
    assert found[0] == found[1]


class DeadlyToCount(HashingEmbedder):
    """Ends its process where a text is cut."""

    def count(self, text: str) -> int:
        if "poison" in text:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().count(text)


@pytest.mark.slow  # four processes are started for the one that dies
def test_a_record_that_ends_who_cuts_it_fails_alone(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(corpus(100, poison=50))
    with engine_at(tmp_path, 2, DeadlyToCount(64)) as engine:
        report = engine.ingest([tmp_path / "a.jsonl"])
        assert len(list(engine.documents.list())) == 99
        bad = {file.path.rpartition("#")[2]: file.reason for file in report.files if file.is_bad}
        assert bad["50"] == "its worker ended (signal 9), 3 times"
