"""Workers read and embed while one process writes: the same index, even if workers die.

With `test_workers_killed.py` for `fathom.ingest.read_ahead` and all below `fathom.ingest.workers`:
`fathom.ingest.workers.on_ray` is tried there.
"""

import json
import os
import pickle
import signal
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from fathom.assembly.worker import make_worker_tools, pack_worker_tools
from fathom.engine import Engine
from fathom.errors import FathomError, IndexMismatch, ModelError, RunError, UsageError
from fathom.ingest.workers.base import (
    MAX_AHEAD,
    TRIES,
    EmbedTask,
    EndedTask,
    FileContent,
    LostTask,
    ReadFileTask,
    Task,
    TaskResult,
    WorkerPool,
)
from fathom.ingest.workers.local import LocalWorkers
from fathom.ingest.workers.opening import open_workers
from fathom.models.base import Matrix
from fathom.settings import Settings
from fathom.testing.doubles import OVERLAP, HashingEmbedder


class ScriptedWorkers:
    """Workers that finish their newest task first, and die as scripted."""

    def __init__(self, size: int, dies: dict[str, int] | None = None) -> None:
        self.size = size
        self.dies = dies or {}
        self.busy: dict[int, Task] = {}
        self.started: list[str] = []

    def start(self, ticket: int, task: Task) -> None:
        assert isinstance(task, ReadFileTask)
        assert len(self.busy) < self.size
        self.busy[ticket] = task
        self.started.append(task.path)

    def wait_for_results(self) -> list[EndedTask]:
        ticket, task = self.busy.popitem()
        assert isinstance(task, ReadFileTask)
        if self.dies.get(task.path, 0):
            self.dies[task.path] -= 1
            return [(ticket, LostTask("it died"))]
        return [(ticket, FileContent(digest=task.path))]

    def close(self) -> None:
        self.busy.clear()


def make_tasks(number: int) -> list[ReadFileTask]:
    return [ReadFileTask(str(n), str(n)) for n in range(number)]


def get_digest(outcome: TaskResult | LostTask) -> str:
    return outcome.digest if isinstance(outcome, FileContent) else "lost"


@pytest.mark.parametrize("size", [1, 2, 7])
def test_outcomes_come_in_the_order_of_the_tasks(size: int) -> None:
    workers = ScriptedWorkers(size, dies={"3": TRIES - 1, "5": 1})
    digests = [
        (task.path, get_digest(outcome))
        for task, outcome in WorkerPool(workers).run_in_order(make_tasks(40))
    ]
    assert digests == [(str(n), str(n)) for n in range(40)]
    assert len(workers.started) == 40 + TRIES


def test_a_task_that_kills_every_worker_is_dropped_and_the_others_go_on() -> None:
    workers = ScriptedWorkers(2, dies={"3": 99})
    digests = [
        get_digest(outcome) for _, outcome in WorkerPool(workers).run_in_order(make_tasks(6))
    ]
    assert digests == ["0", "1", "2", "lost", "4", "5"]
    assert workers.started.count("3") == TRIES


def test_tasks_are_taken_as_they_are_needed() -> None:
    taken = []

    def iterate_many() -> Iterator[ReadFileTask]:
        for task in make_tasks(10_000):
            taken.append(task)
            yield task

    run = WorkerPool(ScriptedWorkers(3)).run_in_order(iterate_many())
    for number in range(50):
        next(run)
        assert len(taken) <= number + 1 + MAX_AHEAD * 3


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_run_within_another_run_keeps_both_orders(size: int) -> None:
    workers = ScriptedWorkers(size, dies={"7": 1, "3.1": TRIES - 1, "5.2": 99})
    pool, digests, inner = WorkerPool(workers), [], []
    for task, outcome in pool.run_in_order(make_tasks(12)):
        digests.append((task.path, get_digest(outcome)))
        if task.path in {"0", "3", "5"}:
            named = [ReadFileTask(f"{task.path}.{n}", "") for n in range(20)]
            inner += [get_digest(outcome) for _, outcome in pool.run_in_order(named)]
    assert digests == [(str(n), str(n)) for n in range(12)]
    expected = [f"{outer}.{n}" for outer in "035" for n in range(20)]
    assert inner == ["lost" if name == "5.2" else name for name in expected]


def test_an_abandoned_run_leaves_nothing_behind() -> None:
    pool, digests = WorkerPool(ScriptedWorkers(2)), []
    for task, _ in pool.run_in_order(make_tasks(10)):
        digests.append(task.path)
        for inner, _ in pool.run_in_order([ReadFileTask(f"{task.path}.{n}", "") for n in range(9)]):
            if inner.path.endswith(".1"):
                break
    assert digests == [str(n) for n in range(10)]
    assert list(pool.run_in_order([])) == []


@pytest.mark.parametrize(
    "name", ["", "0", "-1", "x", "ray?workers=0", "ray://", "rays", "2?workers=2"]
)
def test_invalid_numbers_of_workers_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="workers = "), open_workers(name, lambda _: b""):
        pass


def test_offline_mode_refuses_ray() -> None:
    with pytest.raises(UsageError, match="--offline"), open_workers("ray", bytes, offline=True):
        pass


def test_one_worker_is_this_process() -> None:
    with open_workers("1", lambda _: b"") as workers:
        assert workers is None


def open_engine(folder: Path, workers: object = 1, embedder: object = None) -> Engine:
    tree = {"index": {"directory": folder / "index"}, "ingest": {"workers": workers}}
    chosen = embedder or HashingEmbedder(64)
    return Engine(Settings.model_validate(tree), embedder=chosen, cross_reader=OVERLAP)  # type: ignore[arg-type]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Write good files, duplicates, a corpus, and files that give no document."""
    folder = tmp_path / "docs"
    (folder / "records").mkdir(parents=True)
    for n in range(40):
        words = f"Notice {n % 35}. " + f"Berth {n % 35} is free on day {n % 35}. " * 20
        (folder / f"{n:02}.md").write_text(words)
    rows = [f'{{"_id": "r{n}", "text": "Record {n} says so."}}' for n in range(30)]
    (folder / "records" / "corpus.jsonl").write_text("\n".join(rows))
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    (folder / "empty.txt").write_text("")
    (folder / "spaces.txt").write_text("  \n ")
    return folder


def test_two_workers_make_the_same_index_as_one_process(docs: Path, tmp_path: Path) -> None:
    reports = []
    for place, workers in ((tmp_path / "alone", 1), (tmp_path / "two", 2)):
        with open_engine(place, workers) as engine:
            report = engine.ingest([docs])
            files = sorted((file.path, file.outcome, file.reason) for file in report.files)
            reports.append((engine.status().content, report.chunks, files, report.failed))
            assert engine.verify() == []
            assert engine.status().lacking == 0
            assert engine.ingest([docs]).unchanged == report.documents
    assert reports[0] == reports[1]


def test_workers_continue_an_interrupted_run(docs: Path, tmp_path: Path) -> None:
    with open_engine(tmp_path, 2) as engine:

        def stop(_: object, advance: object) -> None:
            if getattr(advance, "vectors", 0):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            engine.ingest([docs], on_progress=stop)
        lacking = engine.status().lacking
        assert lacking
        report = engine.ingest([docs])
        assert (report.new, report.changed, report.filled) == (0, 0, lacking)
        content = engine.status().content
    with open_engine(tmp_path / "alone") as engine:
        engine.ingest([docs])
        assert engine.status().content == content


def make_workers(folder: Path, embedder: object) -> bytes:
    with open_engine(folder, embedder=embedder) as engine:
        return pack_worker_tools(engine.assembly, embedder, 2)  # type: ignore[arg-type]


class SlowEmbedder(HashingEmbedder):
    """Takes a while, so that it can be killed meanwhile."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        time.sleep(0.05)
        return super().embed(texts)


class DeadlyEmbedder(HashingEmbedder):
    """Ends its process at a text."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        if any("poison" in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed(texts)


class UnnormalizedEmbedder(HashingEmbedder):
    """Gives no unit vectors."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        return 3 * super().embed(texts)


def make_embed_tasks(*texts: str) -> list[EmbedTask]:
    return [EmbedTask("", (text,)) for text in texts]


def test_a_killed_worker_is_replaced_and_nothing_is_lost(tmp_path: Path) -> None:
    workers = LocalWorkers(2, make_workers(tmp_path, SlowEmbedder(64)))
    try:
        work = list(WorkerPool(workers).run_in_order(make_embed_tasks("first")))  # they are up
        first = workers.pids

        def kill_worker() -> None:
            time.sleep(0.1)
            os.kill(first[0], signal.SIGKILL)

        killer = Thread(target=kill_worker)
        killer.start()
        work = list(
            WorkerPool(workers).run_in_order(make_embed_tasks(*(f"text {n}" for n in range(40))))
        )
        killer.join()
    finally:
        workers.close()
    assert first[0] not in workers.pids
    plain = HashingEmbedder(64)
    assert [task.texts[0] for task, _ in work] == [f"text {n}" for n in range(40)]
    for task, vectors in work:
        np.testing.assert_array_equal(vectors, plain.embed(task.texts))


def test_a_deadly_text_is_dropped_and_an_error_is_reported(tmp_path: Path) -> None:
    workers = LocalWorkers(2, make_workers(tmp_path, DeadlyEmbedder(64)))
    try:
        outcomes = [
            outcome
            for _, outcome in WorkerPool(workers).run_in_order(make_embed_tasks("a", "poison", "b"))
        ]
        assert [isinstance(outcome, LostTask) for outcome in outcomes] == [False, True, False]
    finally:
        workers.close()
    workers = LocalWorkers(1, make_workers(tmp_path, UnnormalizedEmbedder(64)))
    try:
        ((_, failed),) = WorkerPool(workers).run_in_order(make_embed_tasks("a"))
        assert isinstance(failed, LostTask)
        assert "unit length" in failed.reason
    finally:
        workers.close()


def test_a_text_that_kills_every_worker_is_named_and_the_others_get_their_vectors(
    tmp_path: Path,
) -> None:
    (tmp_path / "docs").mkdir()
    rows = [{"_id": str(n), "text": f"Row {n}" + " poison" * (n == 5)} for n in range(12)]
    (tmp_path / "docs" / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with open_engine(tmp_path, 2, DeadlyEmbedder(64)) as engine:
        report = engine.ingest([tmp_path / "docs"])
        assert (report.new, report.unembedded, engine.status().lacking) == (12, 1, 1)
        (named,) = [file for file in report.files if file.outcome == "no_vectors"]
        assert named.path.endswith("a.jsonl#5")
        assert "chunk 1 ('Row 5 poison'): its worker ended (signal 9)" in named.reason
        assert len(engine.search("poison", retriever="keyword")) == 1
        assert engine.verify() == []


def test_workers_that_fail_at_every_text_end_the_run_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.jsonl").write_text(
        '{"_id": "1", "text": "a"}\n{"_id": "2", "text": "b"}'
    )
    with open_engine(tmp_path, 2, UnnormalizedEmbedder(64)) as engine:
        with pytest.raises(RunError, match=r"unit length.* found by words"):
            engine.ingest([tmp_path / "docs"])
        assert engine.status().lacking == 2


class HangingEmbedder(HashingEmbedder):
    """Never returns from a text."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        while "hang" in texts:
            time.sleep(1)
        return super().embed(texts)


def test_a_hanging_worker_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = LocalWorkers(2, make_workers(tmp_path, HangingEmbedder(64)))
    try:
        list(WorkerPool(workers).run_in_order(make_embed_tasks("a", "b")))  # they are up
        monkeypatch.setattr("fathom.ingest.workers.base.EMBED_SECONDS", 3.0)
        monkeypatch.setattr("fathom.ingest.workers.base.EMBED_TEXT_SECONDS", 0.0)
        batch = [EmbedTask("", ("c", "hang")), *make_embed_tasks("d", "e")]
        outcomes = [outcome for _, outcome in WorkerPool(workers).run_in_order(batch)]
        assert outcomes[0] == LostTask("its worker took 3 s")
        assert not any(isinstance(outcome, LostTask) for outcome in outcomes[1:])
    finally:
        workers.close()


def test_a_worker_with_another_model_is_refused(tmp_path: Path) -> None:
    with open_engine(tmp_path) as engine:
        identity = {**engine.assembly.identity, "embedder.model": "another"}
        make_tools = partial(make_worker_tools, engine.settings, HashingEmbedder(64), identity)
    tools = pickle.dumps(make_tools)
    workers = LocalWorkers(1, tools)
    try:
        with pytest.raises(IndexMismatch, match=r"another embedder\.model"):
            list(WorkerPool(workers).run_in_order(make_embed_tasks("a")))
    finally:
        workers.close()


def test_an_embedder_that_cannot_be_sent_is_refused_by_name(tmp_path: Path) -> None:
    class LocalEmbedder(HashingEmbedder):
        """A class that only this function can import."""

    (tmp_path / "a.md").write_text("Text.")
    with (
        open_engine(tmp_path, 2, LocalEmbedder(64)) as engine,
        pytest.raises(UsageError, match=r"name one in models\.embedder"),
    ):
        engine.ingest([tmp_path / "a.md"])


def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    workers = LocalWorkers(2, make_workers(tmp_path, HashingEmbedder(64)))
    list(WorkerPool(workers).run_in_order(make_embed_tasks("a", "b")))
    pids = workers.pids
    workers.close()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_faults_can_cross_a_process_border() -> None:
    for kind in (ModelError, RunError, IndexMismatch, UsageError):
        sent = pickle.loads(pickle.dumps(kind("one line")))
        assert isinstance(sent, FathomError)
        assert str(sent) == "one line"
