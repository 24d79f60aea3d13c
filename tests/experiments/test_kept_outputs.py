"""Arms that are not timed share what the cross-reader read."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from experiments.lab.kept_outputs import KeepingCache, KeepingRuntime, load_models_through
from experiments.lab.scores import score_experiment
from experiments.lab.summary import Summary
from tests.experiments.test_pages import PROVENANCE
from tests.experiments.toy import TOML, bench, experiment

from fathom.assembly.models import Models
from fathom.errors import UsageError
from fathom.models.runtime import Ids, Output

UNTIMED = TOML.replace('reading = "', 'timed = false\nreading = "')


class CountingRuntime:
    """A runtime whose output is the sum of its input."""

    name, precision, inputs = "counting", "fp32", frozenset({"input_ids"})

    def __init__(self) -> None:
        self.runs = 0

    def run(self, inputs: Mapping[str, Ids]) -> Output:
        self.runs += 1
        sums: Output = inputs["input_ids"].sum(axis=1).astype(np.float32)
        return sums


def make_row(*ids: int) -> dict[str, Ids]:
    return {"input_ids": np.asarray([ids], dtype=np.int64)}


def test_equal_inputs_are_run_once() -> None:
    inner = CountingRuntime()
    keeping = KeepingRuntime(inner)
    assert [keeping.run(row)[0] for row in (make_row(1, 2), make_row(2, 2), make_row(1, 2))] == [
        3,
        4,
        3,
    ]
    assert inner.runs == 2
    with pytest.raises(ValueError, match="read-only"):
        keeping.run(make_row(1, 2))[0] = 0


def test_inputs_of_another_shape_are_others() -> None:
    keeping = KeepingRuntime(CountingRuntime())
    assert keeping.run(make_row(1, 2, 3, 4)).tolist() == [10]
    assert keeping.run({"input_ids": np.asarray([[1, 2], [3, 4]])}).tolist() == [3, 7]


def test_the_cache_of_before_comes_back_after_an_error() -> None:
    former, cache = Models.cache, KeepingCache()

    def fail() -> None:
        with load_models_through(cache):
            assert Models.cache is cache
            raise UsageError("over")

    with pytest.raises(UsageError, match="over"):
        fail()
    assert Models.cache is former


def test_answers_are_the_same_and_have_no_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = bench(tmp_path)
    timed = at.collect_results(experiment(tmp_path))
    runtimes: list[KeepingRuntime] = []
    make = KeepingRuntime.__init__

    def note(self: KeepingRuntime, runtime: CountingRuntime) -> None:
        make(self, runtime)
        runtimes.append(self)

    monkeypatch.setattr(KeepingRuntime, "__init__", note)
    untimed = at.collect_results(experiment(tmp_path, UNTIMED))
    assert len(runtimes) == 1  # one for all arms
    assert [(c.arm.name, c.codes) for c in untimed.cells] == [
        (c.arm.name, c.codes) for c in timed.cells
    ]
    for ours, theirs in zip(untimed.cells, timed.cells, strict=True):
        assert [(r.question, r.answer, r.confidence, r.evidence) for r in ours.records] == [
            (r.question, r.answer, r.confidence, r.evidence) for r in theirs.records
        ]
    assert len(list((tmp_path / "work" / "untimed" / "toy").iterdir())) == 3
    summary = Summary.of(untimed, PROVENANCE)
    assert summary.seconds is None
    assert not any("latency_s" in row for row in summary.rows)
    prints = {"toy": at.read_prints("toy")}
    scores = [row for scored in score_experiment(untimed, prints) for row in scored.scores]
    assert scores
    assert not any("seconds" in row for row in scores)
    assert all("seconds" in row for s in score_experiment(timed, prints) for row in s.scores)


def test_a_timed_experiment_asks_again(tmp_path: Path) -> None:
    at = bench(tmp_path)
    at.collect_results(experiment(tmp_path, UNTIMED))
    assert not (tmp_path / "work" / "records").exists()
    at.collect_results(experiment(tmp_path))
    assert len(list((tmp_path / "work" / "records" / "toy").iterdir())) == 3


def test_a_time_that_is_not_taken_cannot_be_shown(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'p50 ms' is shown, but the experiment is not timed"):
        experiment(tmp_path, UNTIMED.replace('"retrievals"', '"p50 ms"'))
