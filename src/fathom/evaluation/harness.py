"""The harness that measures retrievers and strategies, for `fathom eval` and notebooks."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from fathom.documents.discover import make_absolute
from fathom.errors import IndexMismatch, IndexMissing, UsageError
from fathom.evaluation.agreement import load_labels
from fathom.evaluation.breakdown import Field
from fathom.evaluation.datasets import Dataset, load, load_questions
from fathom.evaluation.findings import Findings
from fathom.evaluation.grading import Panel
from fathom.evaluation.records import Record
from fathom.evaluation.report.build import build_brief_report, build_full_report
from fathom.evaluation.report.render import render_html, render_markdown, render_text
from fathom.evaluation.runner import OnProgress, Session, holds_dataset, plan_records
from fathom.extensions import find_entry
from fathom.settings.retrievers import split_retriever

if TYPE_CHECKING:
    from fathom.assembly.models import Models
    from fathom.engine import Engine
    from fathom.ingest.report import IngestProgress

DEFAULT_RETRIEVER = "hybrid"
"""The retriever that is measured if no system is named."""


class Evaluation(Findings):
    """The findings of `evaluate` with their reports; a notebook shows tables and sentences."""

    def to_text(self, by: Sequence[Field] = ()) -> str:
        """Return the output of `fathom eval`; `by` adds tables by phase or by kind."""
        return render_text(build_brief_report(self, by))

    def to_markdown(self, by: Sequence[Field] = ()) -> str:
        """Return the report of `to_text` as Markdown, which a notebook shows."""
        return render_markdown(build_brief_report(self, by))

    __str__ = to_text
    _repr_markdown_ = to_markdown

    def to_html(self) -> str:
        """Return the full report with plots as one page without other files.

        Raises:
            UsageError: If the `eval` extra is not installed.
        """
        return render_html(build_full_report(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Systems:
    """The systems to measure.

    Attributes:
        retrievers: The names of the retrievers.
        strategies: The names of the strategies.
        compared: Two of these retrievers or strategies to compare by tests; `None` for none.
    """

    retrievers: Sequence[str]
    strategies: Sequence[str]
    compared: tuple[str, str] | None = None

    @classmethod
    def of(
        cls,
        retrievers: Sequence[str],
        strategies: Sequence[str],
        compared: tuple[str, str] | None = None,
    ) -> Self:
        """Return the named systems without duplicates.

        The compared names are strategies, unless both are among the retrievers.
        """
        answering = [*strategies]
        if compared and not {*compared} <= {*retrievers}:
            answering += compared
        # Without any name, retrieval is measured, which needs no answers.
        ranking = retrievers if retrievers or answering else [DEFAULT_RETRIEVER]
        return cls(
            retrievers=list(dict.fromkeys(ranking)),
            strategies=list(dict.fromkeys(answering)),
            compared=compared,
        )

    def check(self) -> None:
        """Check that all systems exist and can be compared, before a run, which may take hours.

        Raises:
            UsageError: If a system does not exist, or is compared with itself.
        """
        if self.compared and self.compared[0] == self.compared[1]:
            raise UsageError(
                f"{self.compared[0]} cannot be compared with itself: name two different systems"
            )
        for name in self.retrievers:
            split_retriever(name)
        for name in self.strategies:
            find_entry("strategy", name)

    def plan_records(
        self, dataset: Dataset, *, queries: int | None, varied: Mapping[str, str]
    ) -> list[list[Record]]:
        """Return the records of all systems without replies, before anything is asked.

        Raises:
            UsageError: If there are retrievers, but no question is judged.
        """
        return [
            plan_records(name, dataset, ranks=ranks, queries=queries, varied=varied)
            for names, ranks in ((self.retrievers, True), (self.strategies, False))
            for name in names
        ]


def evaluate(
    engine: "Engine",
    dataset: Dataset | Path | str,
    *,
    retrievers: Sequence[str] = (),
    strategies: Sequence[str] = (),
    compare: tuple[str, str] | None = None,
    queries: int | None = None,
    seed: int = 0,
    judges: Sequence[str] = (),
    judge_model: str | None = None,
    labels: Path | str | None = None,
    records: Path | str | None = None,
    varied: Mapping[str, str] | None = None,
    ingesting: AbstractContextManager["IngestProgress"] | None = None,
    on_progress: OnProgress = lambda _what, _done, _all: None,
) -> Evaluation:
    """Measure retrieval and answers on a data set.

    Args:
        engine: The engine to ask. If its index holds other documents than those of the data set, a
            separate index is made below it, in `eval/<data set>`, or in `eval/<data set>@<paper>`
            if a paper is set.
        dataset: A folder as in `docs/evaluation.md`, a file of questions about the documents of the
            engine's index, or a data set from `load` or `load_questions`.
        retrievers: The names of retrievers; `hybrid` if no system is named.
        strategies: The names of strategies, which answer the questions.
        compare: Two of `retrievers`, or else two strategies, to compare by tests.
        queries: The size of a sample of questions, the same each time; by default all.
        seed: The seed of the sample.
        judges: The names of judges of the answers, from `judges.JUDGES`.
        judge_model: The language model of the judges, `provider:model`; by default the engine's.
        labels: A file of labels with which the judges are compared.
        records: A folder for a record of each question, from which a later run continues.
        varied: The settings of the engine that vary between systems, for the names of systems.
        ingesting: A context manager that yields the callback for an ingestion.
        on_progress: Called after each question with a name, the number done, and the number of all.

    Raises:
        UsageError: If the data set is malformed, a name is unknown, or nothing can be measured.
        SettingsError: If a language model cannot be used as it is configured.
    """
    systems = Systems.of(retrievers, strategies, compare)
    systems.check()
    folder = None if records is None else Path(records)
    panel = Panel(
        names=judges,
        model=judge_model,
        labels=None if labels is None else Path(labels),
        folder=folder,
        on_progress=on_progress,
    )
    panel.check(systems.strategies)
    if panel.labels is not None:
        # Loaded again later; a malformed file must fail before the run, which may take hours.
        load_labels(panel.labels)
    graders = panel.create_judges(engine)  # a judge without a model must fail before the run too
    data = dataset if isinstance(dataset, Dataset) else open_dataset(Path(dataset), engine)
    with prepare_engine(engine, data, ingesting) as ready:
        session = Session(
            engine=ready,
            dataset=data,
            queries=queries,
            seed=seed,
            folder=folder,
            varied=varied or {},
            on_progress=on_progress,
        )
        ranked = [session.collect_rankings(name) for name in systems.retrievers]
        answered = [_collect_cold_answers(session, name) for name in systems.strategies]
        judgements = [
            judgement
            for group in answered
            for judgement in panel.grade_records(graders, group, budget=ready.assembly.budget)
        ]
    return Evaluation(
        ranked=ranked,
        answered=answered,
        judgements=judgements,
        compared=compare,
        labels=panel.labels,
    )


def _collect_cold_answers(session: Session, strategy: str) -> list[Record]:
    """Ask a strategy the questions; what an earlier strategy has read saves it no time."""
    engine = session.engine
    # An engine that reads on behalf of a viewer cannot be opened again from outside.
    if engine.is_limited:
        return session.collect_answers(strategy)
    from fathom.engine import Engine

    with Engine(engine.settings, models=_copy_without_reader(engine.models)) as cold:
        return replace(session, engine=cold).collect_answers(strategy)


def _copy_without_reader(models: "Models") -> "Models":
    """Return models that share all loaded ones, but load their own cross-reader.

    The cross-reader caches what it has read, so the second of two strategies with the same reading
    would look several times faster than the first.
    """
    for name in ("embedder", "language_models", "lookup_pool"):
        # The copy shares what was made before it; what it made itself would never be closed.
        getattr(models, name)
    fresh = copy(models)
    vars(fresh).pop("cross_reader", None)
    fresh.is_warm = False
    return fresh


def open_dataset(path: Path, engine: "Engine") -> Dataset:
    """Load a data set from a folder, or from a file of questions about the documents of the index.

    Raises:
        UsageError: If the data set is malformed.
        IndexMissing: If there is a file of questions but no index.
    """
    return load_questions(path, engine.documents.list()) if path.is_file() else load(path)


@contextmanager
def prepare_engine(
    engine: "Engine",
    dataset: Dataset,
    ingesting: AbstractContextManager["IngestProgress"] | None = None,
) -> Iterator["Engine"]:
    """Yield the engine itself if its index holds the data set, else one over a separate index.

    Raises:
        IndexMismatch: If the chunks of the engine's index are not those of the paper that is set.
        UsageError: If the documents of a file of questions are not in the index any more.
    """
    if holds_dataset(engine, dataset):
        _check_paper_chunks(engine)
        yield engine
        return
    # A file of questions has no corpus that could be ingested.
    if dataset.ingested:
        raise UsageError(f"{dataset.name}: the index has changed since its documents were listed")
    paper = engine.settings.ask.paper
    # Each paper cuts documents in its own way, so its chunks need their own index.
    folder = f"{dataset.name}@{paper}" if paper else dataset.name
    # The user's own index must not be filled with the documents of a data set.
    with engine.open_at(engine.directory / "eval" / folder) as separate:
        with ingesting or nullcontext(lambda _report, _advance: None) as on_progress:
            # Documents of an earlier corpus would be ranked and read too.
            is_foreign = _holds_others(separate, dataset)
            separate.ingest(
                [dataset.corpus], rebuild=is_foreign, lose=is_foreign, on_progress=on_progress
            )
        yield separate


def _holds_others(separate: "Engine", dataset: Dataset) -> bool:
    """Return whether an index holds documents of another corpus."""
    try:
        roots = separate.documents.list_roots()
        documents = separate.documents.list()
        # Another data set of the same name may have the same ids with other texts.
        return any(root != make_absolute(dataset.corpus) for root in roots) or any(
            document.id not in dataset.documents for document in documents
        )
    except IndexMissing:
        return False


def _check_paper_chunks(engine: "Engine") -> None:
    """Check that the chunks of the index are those of the paper that is set.

    Raises:
        IndexMismatch: If they are not, so that the figures would not be those of the paper.
    """
    for line in engine.describe_paper_chunks():
        raise IndexMismatch(line)
