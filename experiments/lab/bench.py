"""Asks what an experiment wants to know, unless it is known already."""

import sys
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from experiments.lab.cached_embedder import CachedEmbedder
from experiments.lab.corpora import derived
from experiments.lab.diary import Diary, Entry
from experiments.lab.plan import SAMPLES, Arm, Data, Experiment
from experiments.lab.prints import Print, applies, prints_of
from experiments.lab.results import Cell, Results
from experiments.lab.stub_llm import NAME, ExtractiveModel, StubLLM
from research.contamination import Manifest

from fathom.assembly.models import Models
from fathom.config import Layers
from fathom.engine import Engine
from fathom.errors import UsageError
from fathom.evaluation.datasets import Dataset, load
from fathom.evaluation.records import Record
from fathom.evaluation.runner import Session, build_file_name, holds_dataset
from fathom.jsonable import dump_canonical
from fathom.models.base import Embedder
from fathom.models.embedder import load_embedder
from fathom.models.reader_loading import load_shipped_reader

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Where experiments are made; what was done before is not done again.

    Attributes:
        data: The folder of the data sets.
        work: Indexes, records and derived corpora are kept below it.
        commit: Of the code.
        indexes: Where the indexes are; by default below `work`.
        manifests: Of what was learned from and chosen on; such questions are not asked, unless the
            experiment says that it is not `clean`.
    """

    data: Path
    work: Path
    commit: str = "unknown"
    indexes: Path | None = None
    manifests: Sequence[Manifest] = ()

    def see(self, experiment: Experiment) -> Results:
        """All records of an experiment.

        Raises:
            UsageError: If a data set is not there, is malformed, or records of another setup are
                in the way.
        """
        places: dict[tuple[Data, str], list[Arm]] = {}
        for data in experiment.data:
            for arm in experiment.arms:
                if arm.asks(data):
                    places.setdefault((data, arm.corpus), []).append(arm)
        systems = {data.set: experiment.systems(data) for data in experiment.data}
        cells = {
            (cell.set, cell.arm.corpus, cell.arm.name): cell
            for (data, corpus), arms in places.items()
            for cell in self._send_request(data, corpus, arms, systems[data.set])
        }
        ordered = [
            cells[data.set, arm.corpus, arm.name]
            for data in experiment.data
            for arm in experiment.arms
            if (data.set, arm.corpus, arm.name) in cells
        ]
        return Results(experiment=experiment, cells=tuple(ordered))

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

    def prints(self, name: str) -> Mapping[str, Print]:
        """Of the questions of a data set, whatever variant of its corpus is searched."""
        if name not in self._prints:
            self._prints[name] = prints_of(load(self.folder(name)))
        return self._prints[name]

    def _send_request(
        self, data: Data, corpus: str, arms: Sequence[Arm], systems: frozenset[str]
    ) -> Iterator[Cell]:
        folder = derived(self.folder(data.set), corpus, self.work / "corpora")
        dataset = self._clean(load(folder), data, systems)
        self._indexed(dataset)
        for arm in arms:
            records = self._records(dataset, arm, data.queries)
            commits = self._diary.commits(dataset.name, arm.system, arm.assignments)
            named = (replace(record, strategy=arm.name, varied={}) for record in records)
            yield Cell(set=data.set, arm=arm, records=tuple(named), commits=commits)

    def _clean(self, dataset: Dataset, data: Data, systems: frozenset[str]) -> Dataset:
        """Without the questions that had a part in one of these systems."""
        used = [manifest for manifest in self.manifests if applies(manifest, systems)]
        if not data.clean or not used:
            return dataset
        prints = self.prints(data.set)
        questions = tuple(
            question
            for question in dataset.questions
            if not any(prints[question.id].touched(manifest) for manifest in used)
        )
        if not questions:
            raise UsageError(
                f"{data.set}: every question was learned from or chosen on; ask another data set, "
                "or say clean = false"
            )
        return replace(dataset, questions=questions)

    def _records(self, dataset: Dataset, arm: Arm, queries: int | None) -> Sequence[Record]:
        """What was seen of an arm, by this process or before, else what it says now."""
        among = tuple(question.id for question in dataset.questions)
        system = (bool(arm.retriever), arm.system, dump_canonical(arm.assignments))
        key = (dataset.name, *system, among, queries)
        if key not in self._seen:
            self._seen[key] = self._answers(dataset, arm, queries)
        return self._seen[key]

    def _answers(self, dataset: Dataset, arm: Arm, queries: int | None) -> Sequence[Record]:
        folder = self.work / "records"
        ranked = ".ranked" if arm.retriever else ""
        name = f"{build_file_name(arm.system, arm.assignments)}{ranked}.jsonl"
        before, started = _lines(folder / dataset.name / name), time.perf_counter()
        with self._engine(dataset, arm.assignments) as engine:
            session = Session(
                engine=engine,
                dataset=dataset,
                queries=queries,
                folder=folder,
                varied=arm.assignments,
            )
            ask = session.collect_rankings if arm.retriever else session.collect_answers
            records = ask(arm.system)
        if new := _lines(folder / dataset.name / name) - before:
            self._add_note(started, dataset, arm, new)
        return records

    def _indexed(self, dataset: Dataset) -> None:
        started = time.perf_counter()
        with self._engine(dataset, {}, CachedEmbedder(self._embedder, self._embed)) as engine:
            if not holds_dataset(engine, dataset):
                engine.ingest([dataset.corpus], prune=True)
                self._add_note(started, dataset)

    @contextmanager
    def _engine(
        self, dataset: Dataset, assignments: Mapping[str, str], embedder: Embedder | None = None
    ) -> Iterator[Engine]:
        place = (self.indexes or self.work / "indexes") / dataset.name
        # The traces are read at once; an index that others use is not written to.
        given = [f'index.directory="{place}"', "trace.enabled=false"]
        given += [f"{key}={value}" for key, value in assignments.items()]
        layers = Layers.load(cwd=self.work, environment={}, assignments=given, constants=True)
        settings = layers.build_settings()
        connect = (lambda _: self._stub) if settings.llm.model == NAME else None
        # A cross-reader of its own for each arm: it remembers what it read, and would give a
        # later arm for nothing what an earlier one had to wait for.
        engine = Engine(settings, embedder=embedder or self._embedder, connect=connect)
        with engine:
            yield engine

    @cached_property
    def _embedder(self) -> Embedder:
        return load_embedder(cache=Models.cache)

    @property
    def _embed(self) -> Path:
        """Of texts that several data sets and cuts share."""
        self.work.mkdir(parents=True, exist_ok=True)
        return self.work / "vectors.db"

    @cached_property
    def _stub(self) -> StubLLM:
        return StubLLM(ExtractiveModel(load_shipped_reader(cache=Models.cache)))

    @cached_property
    def _seen(self) -> dict[Hashable, Sequence[Record]]:
        """Opening an engine takes longer than reading what it said before."""
        return {}

    @cached_property
    def _prints(self) -> dict[str, Mapping[str, Print]]:
        """A corpus is read once."""
        return {}

    @cached_property
    def _diary(self) -> Diary:
        return Diary(self.work / "diary.jsonl")

    def _add_note(
        self, started: float, dataset: Dataset, arm: Arm | None = None, new: int = 0
    ) -> None:
        seconds = round(time.perf_counter() - started, 1)
        entry = Entry(
            set=dataset.name,
            system=arm.system if arm else "",
            settings=arm.assignments if arm else {},
            asked=new,
            seconds=seconds,
            commit=self.commit,
        )
        self._diary.add(entry)
        sys.stderr.write(f"{dataset.name}: {arm.name if arm else 'index'}: {seconds:.0f} s\n")


def _lines(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.is_file() else 0
