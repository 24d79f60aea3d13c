"""Outputs of the cross-reader are kept for other arms and for later runs."""

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from experiments.lab import kept_outputs
from experiments.lab.kept_outputs import (
    KeepingCache,
    KeepingRuntime,
    KeptOutputs,
    load_models_through,
)
from tests.experiments.toy import bench, experiment

from fathom.assembly.models import Models
from fathom.errors import UsageError
from fathom.models.runtime import Ids, Output


class CountingRuntime:
    """A runtime whose output is the sum of its input."""

    name, precision, inputs = "counting", "fp32", frozenset({"input_ids"})

    def __init__(self) -> None:
        self.runs = 0

    def run(self, inputs: Mapping[str, Ids]) -> Output:
        self.runs += 1
        sums: Output = inputs["input_ids"].sum(axis=1).astype(np.float32)
        return sums


@pytest.fixture
def outputs(tmp_path: Path) -> Iterator[KeptOutputs]:
    opened = KeptOutputs(tmp_path / "outputs.db")
    yield opened
    opened.close()


def make_row(*ids: int) -> dict[str, Ids]:
    return {"input_ids": np.asarray([ids], dtype=np.int64)}


def test_equal_inputs_are_run_once(outputs: KeptOutputs) -> None:
    inner = CountingRuntime()
    keeping = KeepingRuntime(inner, outputs, "weights")
    rows = (make_row(1, 2), make_row(2, 2), make_row(1, 2))
    assert [keeping.run(row)[0] for row in rows] == [3, 4, 3]
    assert inner.runs == 2
    with pytest.raises(ValueError, match="read-only"):
        keeping.run(make_row(1, 2))[0] = 0


def test_inputs_of_another_shape_are_others(outputs: KeptOutputs) -> None:
    keeping = KeepingRuntime(CountingRuntime(), outputs, "weights")
    assert keeping.run(make_row(1, 2, 3, 4)).tolist() == [10]
    assert keeping.run({"input_ids": np.asarray([[1, 2], [3, 4]])}).tolist() == [3, 7]
    assert keeping.run({"input_ids": np.asarray([[1, 2], [3, 4]])}).tolist() == [3, 7]


def test_an_output_outlasts_the_process_and_belongs_to_its_model_and_processor(
    tmp_path: Path, outputs: KeptOutputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    KeepingRuntime(CountingRuntime(), outputs, "weights").run(make_row(1, 2))
    later = KeptOutputs(tmp_path / "outputs.db")
    same, other = CountingRuntime(), CountingRuntime()
    assert KeepingRuntime(same, later, "weights").run(make_row(1, 2)).tolist() == [3]
    assert KeepingRuntime(other, later, "other weights").run(make_row(1, 2)).tolist() == [3]
    monkeypatch.setattr(kept_outputs, "read_processor", lambda: "another processor")
    moved = CountingRuntime()
    KeepingRuntime(moved, later, "weights").run(make_row(1, 2))
    assert (same.runs, other.runs, moved.runs) == (0, 1, 1)
    later.close()


def test_the_time_of_a_found_output_is_saved(outputs: KeptOutputs) -> None:
    outputs.add(b"pair", np.asarray([[1.5, 2.5]], np.float32), 0.25)
    assert outputs.saved_seconds == 0.0
    assert outputs.find(b"another pair") is None
    for total in (0.25, 0.5):
        output = outputs.find(b"pair")
        assert output is not None
        assert output.tolist() == [[1.5, 2.5]]
        assert outputs.saved_seconds == total


def test_several_threads_share_the_outputs(outputs: KeptOutputs) -> None:
    keeping = KeepingRuntime(CountingRuntime(), outputs, "weights")
    sums: list[float] = []

    def read() -> None:
        sums.extend(float(keeping.run(make_row(n, n))[0]) for n in range(20))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sums) == sorted(2.0 * n for n in range(20) for _ in range(4))


def test_the_cache_of_before_comes_back_after_an_error(outputs: KeptOutputs) -> None:
    former, cache = Models.cache, KeepingCache(outputs)

    def fail() -> None:
        with load_models_through(cache):
            assert Models.cache is cache
            raise UsageError("over")

    with pytest.raises(UsageError, match="over"):
        fail()
    assert Models.cache is former


def test_arms_run_a_pair_once_and_answers_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[bytes] = []
    add = KeptOutputs.add

    def note(self: KeptOutputs, pair: bytes, output: Output, seconds: float) -> None:
        runs.append(pair)
        add(self, pair, output, seconds)

    monkeypatch.setattr(KeptOutputs, "add", note)
    first = bench(tmp_path).collect_results(experiment(tmp_path))
    assert runs
    assert len(runs) == len(set(runs))
    (tmp_path / "work" / "records").rename(tmp_path / "records of before")
    again = bench(tmp_path).collect_results(experiment(tmp_path))
    assert len(runs) == len(set(runs))  # nothing was read a second time
    assert [(c.arm.name, c.codes) for c in again.cells] == [
        (c.arm.name, c.codes) for c in first.cells
    ]
    for ours, theirs in zip(again.cells, first.cells, strict=True):
        assert [(r.question, r.answer, r.confidence, r.evidence) for r in ours.records] == [
            (r.question, r.answer, r.confidence, r.evidence) for r in theirs.records
        ]


def test_a_time_holds_what_kept_outputs_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = KeptOutputs.add

    def add_slowly(self: KeptOutputs, pair: bytes, output: Output, seconds: float) -> None:
        add(self, pair, output, seconds + 100)

    monkeypatch.setattr(KeptOutputs, "add", add_slowly)
    bench(tmp_path).collect_results(experiment(tmp_path))
    (tmp_path / "work" / "records").rename(tmp_path / "records of before")
    again = bench(tmp_path).collect_results(experiment(tmp_path))
    assert all(record.seconds > 100 for cell in again.cells for record in cell.records)
