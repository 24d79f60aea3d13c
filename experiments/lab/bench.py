"""Asks what an experiment wants to know, unless it is known already."""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from experiments.cached_embedder import CachedEmbedder
from experiments.lab.corpora import derived
from experiments.lab.plan import SAMPLES, Arm, Data, Experiment
from experiments.lab.seen import Cell, Seen

from fathom.config import Layers
from fathom.engine import Engine
from fathom.errors import UsageError
from fathom.evaluation.datasets import Dataset, load
from fathom.evaluation.lines import add_line
from fathom.evaluation.records import Record
from fathom.models.base import Embedder
from fathom.models.embedder import load_embedder
from fathom.models.reading import PairReader
from fathom.models.shipped import load_shipped_reader
from fathom.serving import asked

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Where experiments are made; what was done before is not done again.

    Attributes:
        data: The folder of the data sets.
        work: Indexes, records and derived corpora are kept below it.
        indexes: Where the indexes are; by default below `work`.
    """

    data: Path
    work: Path
    indexes: Path | None = None

    def see(self, experiment: Experiment) -> Seen:
        """All records of an experiment.

        Raises:
            UsageError: If a data set is not there, is malformed, or records of another setup are
                in the way.
        """
        places: dict[tuple[Data, str], list[Arm]] = {}
        for data in experiment.data:
            for arm in experiment.arms:
                if not arm.on or data.set in arm.on:
                    places.setdefault((data, arm.corpus), []).append(arm)
        known = {
            (data.set, arm.corpus, arm.name): records
            for (data, corpus), arms in places.items()
            for arm, records in self._asked(data, corpus, arms)
        }
        cells = (
            Cell(set=data.set, arm=arm, records=known[data.set, arm.corpus, arm.name])
            for data in experiment.data
            for arm in experiment.arms
            if (data.set, arm.corpus, arm.name) in known
        )
        return Seen(experiment=experiment, cells=tuple(cells))

    def check(self, experiment: Experiment) -> None:
        """See to it that the data sets are there.

        Raises:
            UsageError: If one is not.
        """
        for data in experiment.data:
            self.folder(data.set)

    def folder(self, name: str) -> Path:
        """The folder of a data set.

        Raises:
            UsageError: If it is not there.
        """
        folder = ROOT / SAMPLES if name == SAMPLES else self.data / name
        if not folder.is_dir():
            raise UsageError(
                f"{folder}: there is no data set {name!r}; set SHARED_DATA to the folder that "
                "holds the data sets, or run `make reproduce-fast`, which needs none"
            )
        return folder

    def _asked(
        self, data: Data, corpus: str, arms: list[Arm]
    ) -> Iterator[tuple[Arm, tuple[Record, ...]]]:
        folder = derived(self.folder(data.set), corpus, self.work / "corpora")
        dataset = load(folder)
        self._indexed(dataset)
        for arm in arms:
            started = time.perf_counter()
            with self._engine(dataset, arm.assignments) as engine:
                ask = asked.rankings if arm.retriever else asked.answers
                records = ask(
                    dataset,
                    engine,
                    arm.system,
                    queries=data.queries,
                    folder=self.work / "records",
                    varied=arm.assignments,
                )
            self._told(f"{dataset.name}: {arm.name}", started)
            yield arm, tuple(replace(each, strategy=arm.name, varied={}) for each in records)

    def _indexed(self, dataset: Dataset) -> None:
        started = time.perf_counter()
        with self._engine(dataset, {}) as engine:
            if not asked.holds(engine, dataset):
                engine.ingest([dataset.corpus])
                self._told(f"{dataset.name}: index", started)

    @contextmanager
    def _engine(self, dataset: Dataset, assignments: Mapping[str, str]) -> Iterator[Engine]:
        place = (self.indexes or self.work / "indexes") / dataset.name
        # The traces are read at once; an index that others use is not written to.
        given = [f'index.directory="{place}"', "trace.enabled=false"]
        given += [f"{key}={value}" for key, value in assignments.items()]
        settings = Layers.load(cwd=self.work, environment={}, assignments=given).settings()
        with Engine(settings, embedder=self._embedder, cross_reader=self._reader) as engine:
            yield engine

    @cached_property
    def _embedder(self) -> Embedder:
        self.work.mkdir(parents=True, exist_ok=True)
        return CachedEmbedder(load_embedder(), self.work / "vectors.db")

    @cached_property
    def _reader(self) -> PairReader:
        return load_shipped_reader()

    def _told(self, what: str, started: float) -> None:
        """Keeps how long something took, over all runs that it needed."""
        seconds = round(time.perf_counter() - started, 1)
        add_line(self.work / "times.jsonl", {"what": what, "seconds": seconds})
        sys.stderr.write(f"{what}: {seconds:.0f} s\n")
