"""Runs the questions of an experiment, unless their answers are stored already."""

import sys
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from experiments.lab.cached_embedder import CachedEmbedder
from experiments.lab.code import Code, follow_calls
from experiments.lab.corpora import derive_dataset
from experiments.lab.diary import Diary, Entry
from experiments.lab.kept_outputs import KeepingCache, KeptOutputs, load_models_through
from experiments.lab.kept_replies import KeptReplies, connect_keeping
from experiments.lab.plan import SAMPLES, Arm, Data, Experiment
from experiments.lab.prints import Print, applies_to, compute_prints
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
from fathom.llm.local import find_weights
from fathom.llm.role_models import Connect
from fathom.models.base import Embedder
from fathom.models.cache import ModelCache
from fathom.models.embedder import load_embedder
from fathom.models.reader_loading import load_shipped_reader
from fathom.settings import Settings

ROOT = Path(__file__).parents[2]
FOLLOWED = 10
"""The questions that are asked once more to see what code they run through."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """The place where experiments run; stored answers are not requested again.

    Attributes:
        data: The folder of the data sets.
        work: Indexes, records and derived corpora are kept below it.
        commit: Of the code.
        indexes: Where the indexes are; by default below `work`.
        manifests: Of what was learned from and chosen on; such questions are not asked, unless the
            experiment says that it is not `clean`.
        models: A cache of model files, which several benches may share.
    """

    data: Path
    work: Path
    commit: str = "unknown"
    indexes: Path | None = None
    manifests: Sequence[Manifest] = ()
    models: ModelCache = field(default_factory=ModelCache)

    def collect_results(self, experiment: Experiment) -> Results:
        """Return all records of an experiment.

        Raises:
            UsageError: If a data set is not there, is malformed, or records of another setup are
                in the way.
        """
        places: dict[tuple[Data, str], list[Arm]] = {}
        for data in experiment.data:
            for arm in experiment.arms:
                if arm.is_asked_on(data):
                    places.setdefault((data, arm.corpus), []).append(arm)
        systems = {data.set: experiment.list_systems(data) for data in experiment.data}
        with load_models_through(self._keeping_models):
            cells = {
                (cell.set, cell.arm.corpus, cell.arm.name): cell
                for (data, corpus), arms in places.items()
                for cell in self._run_arms(data, corpus, arms, systems[data.set])
            }
        ordered = [
            cells[data.set, arm.corpus, arm.name]
            for data in experiment.data
            for arm in experiment.arms
            if (data.set, arm.corpus, arm.name) in cells
        ]
        return Results(experiment=experiment, cells=tuple(ordered))

    def check(self, experiment: Experiment) -> None:
        """Check that the data sets exist.

        Raises:
            UsageError: If one is not.
        """
        for data in experiment.data:
            self.find_folder(data.set)

    def find_missing_model(self, experiment: Experiment) -> str:
        """Return why a model of a file cannot be asked; empty if all can."""
        names = {str(arm.settings.get("llm.model", "")) for arm in experiment.arms}
        for name in sorted(name for name in names if name.startswith("local:")):
            try:
                find_weights(name)
            except UsageError as error:
                return str(error)
        return ""

    def find_folder(self, name: str) -> Path:
        """Return the folder of a data set.

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

    def read_prints(self, name: str) -> Mapping[str, Print]:
        """Return the fingerprints of a data set's questions, for any variant of its corpus."""
        if name not in self._prints:
            self._prints[name] = compute_prints(load(self.find_folder(name)))
        return self._prints[name]

    def _run_arms(
        self, data: Data, corpus: str, arms: Sequence[Arm], systems: frozenset[str]
    ) -> Iterator[Cell]:
        folder = derive_dataset(self.find_folder(data.set), corpus, self.work / "corpora")
        dataset = self._drop_stained(load(folder), data, systems)
        self._index_dataset(dataset)
        for arm in arms:
            records = self._collect_records(dataset, arm, data.queries)
            made = (dataset.name, arm.system, arm.assignments)
            commits, codes = self._diary.list_commits(*made), self._diary.list_codes(*made)
            named = (replace(record, strategy=arm.name, varied={}) for record in records)
            yield Cell(set=data.set, arm=arm, records=tuple(named), commits=commits, codes=codes)

    def _drop_stained(self, dataset: Dataset, data: Data, systems: frozenset[str]) -> Dataset:
        """Return the data set without the questions that were part of one of these systems."""
        used = [manifest for manifest in self.manifests if applies_to(manifest, systems)]
        if not data.clean or not used:
            return dataset
        prints = self.read_prints(data.set)
        questions = tuple(
            question
            for question in dataset.questions
            if not any(prints[question.id].touches(manifest) for manifest in used)
        )
        if not questions:
            raise UsageError(
                f"{data.set}: every question was learned from or chosen on; ask another data set, "
                "or say clean = false"
            )
        return replace(dataset, questions=questions)

    def _collect_records(self, dataset: Dataset, arm: Arm, queries: int | None) -> Sequence[Record]:
        """Return the records of an arm from this process or an earlier one, or else run it."""
        among = tuple(question.id for question in dataset.questions)
        system = (bool(arm.retriever), arm.system, dump_canonical(arm.assignments))
        key = (dataset.name, *system, among, queries)
        if key not in self._seen:
            self._seen[key] = self._run_arm(dataset, arm, queries)
        return self._seen[key]

    def _run_arm(self, dataset: Dataset, arm: Arm, queries: int | None) -> Sequence[Record]:
        folder = self.work / "records"
        ranked = ".ranked" if arm.retriever else ""
        name = f"{build_file_name(arm.system, arm.assignments)}{ranked}.jsonl"
        before, started = _count_lines(folder / dataset.name / name), time.perf_counter()
        with self._open_engine(dataset, arm.assignments) as engine:
            session = Session(
                engine=engine,
                dataset=dataset,
                queries=queries,
                folder=folder,
                varied=arm.assignments,
                count_saved=lambda: self._outputs.saved_seconds,
            )
            ask = session.collect_rankings if arm.retriever else session.collect_answers
            records = ask(arm.system)
        if new := _count_lines(folder / dataset.name / name) - before:
            seconds = time.perf_counter() - started
            self._add_note(seconds, dataset, arm, new, self._follow_arm(dataset, arm, records))
        codes = self._diary.list_codes(dataset.name, arm.system, arm.assignments)
        if not all(code.is_current for code in codes or ()):
            file = folder / dataset.name / name
            sys.stderr.write(f"{arm.name}: its code has changed since; remove {file} to ask anew\n")
        return records

    def _follow_arm(self, dataset: Dataset, arm: Arm, records: Sequence[Record]) -> Code:
        """Return the code that an arm runs through, by asking some of its questions once more."""
        followed = {record.question for record in records[:FOLLOWED]}
        questions = tuple(q for q in dataset.questions if q.id in followed)
        few = replace(dataset, questions=questions)
        with follow_calls() as called, self._open_engine(dataset, arm.assignments) as engine:
            session = Session(engine=engine, dataset=few, varied=arm.assignments)
            (session.collect_rankings if arm.retriever else session.collect_answers)(arm.system)
        return Code.of(called)

    def _index_dataset(self, dataset: Dataset) -> None:
        started = time.perf_counter()
        with (
            closing(CachedEmbedder(self._embedder, self._embed)) as embedder,
            self._open_engine(dataset, {}, embedder) as engine,
        ):
            if not holds_dataset(engine, dataset):
                engine.ingest([dataset.corpus], prune=True)
                self._add_note(time.perf_counter() - started, dataset)

    @contextmanager
    def _open_engine(
        self, dataset: Dataset, assignments: Mapping[str, str], embedder: Embedder | None = None
    ) -> Iterator[Engine]:
        place = (self.indexes or self.work / "indexes") / dataset.name
        # The traces are read at once; an index that others use is not written to.
        assignments_list = [f'index.directory="{place}"', "trace.enabled=false"]
        assignments_list += [f"{key}={value}" for key, value in assignments.items()]
        layers = Layers.load(
            cwd=self.work, environment={}, assignments=assignments_list, constants=True
        )
        settings = layers.build_settings()
        with self._open_language_models(settings) as connect:
            # A cross-reader of its own for each arm: it remembers what it read. What the kept
            # outputs spare an arm is counted, what it remembers is not.
            engine = Engine(settings, embedder=embedder or self._embedder, connect=connect)
            with engine:
                yield engine

    @contextmanager
    def _open_language_models(self, settings: Settings) -> Iterator[Connect | None]:
        """Yield a function that returns the stub, or models with kept replies; else nothing."""
        if settings.llm.model == NAME:
            yield lambda _: self._stub
        elif settings.llm.model:
            with connect_keeping(settings, self._replies) as connect:
                yield connect
        else:
            yield None

    @cached_property
    def _embedder(self) -> Embedder:
        return load_embedder(Settings().models.embedder, cache=Models.cache)

    @property
    def _embed(self) -> Path:
        """An embedder for texts that several data sets and cuts share."""
        self.work.mkdir(parents=True, exist_ok=True)
        return self.work / "vectors.db"

    @cached_property
    def _outputs(self) -> KeptOutputs:
        return KeptOutputs(self.work / "outputs.db")

    @cached_property
    def _keeping_models(self) -> KeepingCache:
        return KeepingCache(self._outputs, self.models)

    @cached_property
    def _stub(self) -> StubLLM:
        return StubLLM(ExtractiveModel(load_shipped_reader(cache=Models.cache)))

    @cached_property
    def _replies(self) -> KeptReplies:
        return KeptReplies(self.work / "model-replies.jsonl")

    @cached_property
    def _seen(self) -> dict[Hashable, Sequence[Record]]:
        """The records by arm, since opening an engine takes longer than reading its records."""
        return {}

    @cached_property
    def _prints(self) -> dict[str, Mapping[str, Print]]:
        """The fingerprints by data set, so that each corpus is read once."""
        return {}

    @cached_property
    def _diary(self) -> Diary:
        return Diary(self.work / "diary.jsonl")

    def _add_note(
        self,
        seconds: float,
        dataset: Dataset,
        arm: Arm | None = None,
        new: int = 0,
        code: Code | None = None,
    ) -> None:
        entry = Entry(
            set=dataset.name,
            system=arm.system if arm else "",
            settings=arm.assignments if arm else {},
            asked=new,
            seconds=round(seconds, 1),
            commit=self.commit,
            code=code,
        )
        self._diary.add(entry)
        sys.stderr.write(f"{dataset.name}: {arm.name if arm else 'index'}: {seconds:.0f} s\n")


def _count_lines(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.is_file() else 0
