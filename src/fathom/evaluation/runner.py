"""The runner that asks a strategy or a retriever the questions of a data set."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from fathom import __version__
from fathom.engine.request import AskRequest
from fathom.errors import IndexMissing, UsageError
from fathom.evaluation.datasets import Dataset, DatasetQuestion
from fathom.evaluation.evidence import collect_evidence, collect_workflows
from fathom.evaluation.ir_metrics import DEPTH
from fathom.evaluation.records import Record, Records
from fathom.extensions import Kind, find_extension
from fathom.jsonable import Json, dump_canonical, hash_text
from fathom.models.reader_loading import read_card
from fathom.retrieval.base import Retriever
from fathom.runs.concurrency import run_in_loop
from fathom.runs.trace import Trace
from fathom.settings import Settings, drop_later_settings
from fathom.settings.hybrid import HybridSettings
from fathom.settings.rrf import RrfSettings
from fathom.types import Answer, Filter, Query
from fathom.usage import Usage

if TYPE_CHECKING:
    from fathom.engine import Engine
    from fathom.strategies.run import RunOutcome

Fields = Mapping[str, Any]
"""Some of the fields of a record."""
OnProgress = Callable[[str, int, int], None]
"""A callback with the name of the work, the number of questions done, and the number of all."""
LONGEST, SHORTENED = 240, 200
"""The length of the longest file name, and that of a cut one; file systems allow 255 bytes."""


class TracedAnswer(Protocol):
    """The protocol of a finished run, such as `RunOutcome`."""

    @property
    def answer(self) -> Answer:
        """The answer of the run."""
        ...

    @property
    def trace(self) -> Trace:
        """The trace of the run."""
        ...


AskQuestion = Callable[[DatasetQuestion], TracedAnswer]
"""A function that runs a strategy on a question, with the filters of `build_filters`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """An engine that is asked the questions of a data set, and the folder of its records.

    Attributes:
        engine: The engine, whose index holds the corpus of the data set.
        dataset: The data set.
        queries: The size of the sample of questions; by default all.
        seed: The seed of the sample.
        folder: The folder of the records: `<data set>/<strategy>.jsonl` or, because a retriever may
            have the name of a strategy, `<data set>/<retriever>.ranked.jsonl`.
        varied: The varied settings of the engine, which are part of the file names.
        on_progress: Called after each question with a name, the number done, and the number of all.
        count_saved: Returns the seconds that stored outputs of models have saved until now. They
            are added to the time of an answer.
    """

    engine: "Engine"
    dataset: Dataset
    queries: int | None = None
    seed: int = 0
    folder: Path | None = None
    varied: Mapping[str, str] = field(default_factory=dict)
    on_progress: OnProgress = lambda _what, _done, _all: None
    count_saved: Callable[[], float] = lambda: 0.0

    def collect_answers(self, strategy: str) -> list[Record]:
        """Ask a strategy the questions, and return the records.

        Raises:
            UsageError: If there is no such strategy, or the file has records of another setup.
        """
        questions = draw_questions(self.dataset, self.queries, seed=self.seed, ranks=False)

        def ask(question: DatasetQuestion) -> TracedAnswer:
            request = AskRequest.parse(
                question.text,
                strategy=strategy,
                filters=build_filters(question),
                history=question.history,
            )
            # A verified answer of a person would replace the answer of the strategy.
            saved = self.count_saved()
            outcome = run_in_loop(self.engine.arun(replace(request, reuse_verified=False)))
            return _add_seconds(outcome, self.count_saved() - saved)

        return record_strategy(
            strategy,
            self.dataset,
            questions,
            ask,
            self._open_records(strategy, build_file_name(strategy, self.varied)),
            on_question=self._make_callback(strategy, questions),
        )

    def collect_rankings(self, retriever: str) -> list[Record]:
        """Let a retriever rank the documents for the judged questions, and return the records.

        Raises:
            UsageError: If no question is judged, there is no such retriever, or the file has
                records of another setup.
        """
        questions = draw_questions(self.dataset, self.queries, seed=self.seed, ranks=True)
        return record_retriever(
            self.dataset,
            questions,
            self.engine.retriever(retriever),
            self._open_records(retriever, f"{build_file_name(retriever, self.varied)}.ranked"),
            name=retriever,
            on_question=self._make_callback(retriever, questions),
        )

    def _open_records(self, system: str, name: str) -> Records:
        """Open the file of a system's records."""
        file = None if self.folder is None else self.folder / self.dataset.name / f"{name}.jsonl"
        return Records(file, setup=hash_setup(self.engine, system), varied=self.varied)

    def _make_callback(
        self, system: str, questions: Sequence[DatasetQuestion]
    ) -> Callable[[int], None]:
        what = f"{self.dataset.name} {system}"
        return lambda done: self.on_progress(what, done, len(questions))


def draw_questions(
    dataset: Dataset, queries: int | None, *, seed: int, ranks: bool
) -> tuple[DatasetQuestion, ...]:
    """Draw the questions for a system; a retriever gets judged questions only.

    Raises:
        UsageError: If the system is a retriever, and no question is judged.
    """
    questions = dataset.sample(queries, seed=seed, judged=ranks)
    if not questions and ranks:
        raise UsageError(f"{dataset.name}: no judged question, so no ranking can be measured")
    return questions


def plan_records(
    system: str,
    dataset: Dataset,
    *,
    ranks: bool,
    queries: int | None = None,
    seed: int = 0,
    varied: Mapping[str, str] = MappingProxyType({}),
) -> list[Record]:
    """Return the records of a system without replies, before anything is asked.

    Args:
        system: The name of a strategy or a retriever.
        dataset: The data set.
        ranks: Whether the system is a retriever.
        queries: The size of the sample of questions; by default all.
        seed: The seed of the sample.
        varied: The varied settings.

    Raises:
        UsageError: If the system is a retriever, and no question is judged.
    """
    questions = draw_questions(dataset, queries, seed=seed, ranks=ranks)
    fields = {"strategy": system, "depth": DEPTH if ranks else None}
    unknown = {"status": "failed", "stop_reason": "not asked yet", "usage": {}, "seconds": 0.0}
    records = Records(varied=varied)
    return [
        Record.from_json({**fields, **_describe_question(dataset, question, records), **unknown})
        for question in questions
    ]


def build_file_name(system: str, varied: Mapping[str, str]) -> str:
    """Return the name of a system's files without ending; the name includes the varied settings.

    In a name that is too long for file systems, a hash replaces the last settings.
    """
    choice = "".join(f"@{key}={value}" for key, value in varied.items())
    # A setting may contain a slash, which would name a folder.
    name = quote(f"{system}{choice}", safe="@=")
    return name if len(name) <= LONGEST else f"{name[:SHORTENED]}-{hash_text(name)[:16]}"


def hash_setup(engine: "Engine", system: str = "") -> str:
    """Return a short hash of everything except the question that can change an answer.

    This is the version, the index, the settings, the budget, the models, extensions, and the
    calibration of the system in the index.

    Raises:
        ModelError: If a model cannot be loaded, or the card of the cross-reader is missing.
    """
    facts = {
        "version": __version__,
        "index": engine.reader().get_revision(),
        "identity": engine.assembly.identity,
        "cross_reader": read_card(engine.settings.models.cross_reader),
        "settings": drop_later_settings(engine.settings.to_record()),
        "budget": engine.settings.budget.model_dump(mode="json"),
        **_describe_extensions(engine.settings, system),
        **_describe_calibration(engine, system),
    }
    return hash_text(dump_canonical(facts))[:16]


def _describe_calibration(engine: "Engine", system: str) -> dict[str, Json]:
    """Return the hash of the calibration of a strategy in the index; empty without one."""
    stored = engine.reader().get_calibrations().get(system, "")
    # The key is absent without a calibration, so that the setup of old records stays the same.
    return {"calibration": hash_text(stored)} if stored else {}


def _describe_extensions(settings: Settings, system: str) -> dict[str, Json]:
    """Return the versions and settings of the extensions in a system; empty without any."""
    retrievers = (
        *settings.get_section(RrfSettings).retrievers,
        *settings.get_section(HybridSettings).agents,
    )
    names = {system, settings.retrieval.retriever, *retrievers}
    kinds: tuple[Kind, ...] = ("strategy", "retriever")
    versions = {
        str(extension)
        for name in names
        for kind in kinds
        if (extension := find_extension(kind, name))
    }
    tables = {name: dict(table) for name, table in settings.extensions.items()}
    # The key is absent without extensions, so that the setup of old records stays the same.
    return {"extensions": [sorted(versions), tables]} if versions or tables else {}


def holds_dataset(engine: "Engine", dataset: Dataset) -> bool:
    """Return whether the index holds the documents of the data set and no others."""
    try:
        status = engine.status()
    except IndexMissing:
        return False
    # Unreadable files count as held, because ingesting them would fail again.
    if not status.documents or status.documents + status.failed < len(dataset.documents):
        return False
    return all(document.id in dataset.documents for document in engine.documents.list())


def build_filters(question: DatasetQuestion) -> tuple[Filter, ...]:
    """Build the filters that limit a question to its documents; none if it has no limits."""
    allowed = (Filter("document", "in", question.documents),) if question.documents else ()
    return (*allowed, *(Filter("document", "!=", document) for document in question.without))


def record_strategy(
    strategy: str,
    dataset: Dataset,
    questions: Sequence[DatasetQuestion],
    ask: AskQuestion,
    records: Records,
    *,
    on_question: Callable[[int], None] = lambda _: None,
) -> list[Record]:
    """Ask a strategy the questions that have no record yet, and add their records.

    A run that raises an error is recorded as failed.

    Returns:
        The records of `questions`, in their order.

    Raises:
        UsageError: If the call itself is wrong, such as the name of the strategy.
    """

    def make(question: DatasetQuestion) -> Fields:
        return _describe_answer(ask(question))

    return _record_questions({"strategy": strategy}, dataset, questions, make, records, on_question)


def record_retriever(
    dataset: Dataset,
    questions: Sequence[DatasetQuestion],
    retriever: Retriever,
    records: Records,
    *,
    name: str = "",
    on_question: Callable[[int], None] = lambda _: None,
) -> list[Record]:
    """Let a retriever rank the documents for questions without a record, and add their records.

    The retriever's index must hold the corpus of the data set. A ranking that raises an error is
    recorded as failed. Unjudged questions cannot be measured. The records have `name`, or else the
    retriever's own name.

    Returns:
        The records of `questions`, in their order.

    Raises:
        UsageError: If the call itself is wrong.
    """

    def make(question: DatasetQuestion) -> Fields:
        return _rank_question(retriever, question)

    # The name of an extension's retriever may differ from that of its entry point.
    fixed = {"strategy": name or retriever.name, "depth": DEPTH}
    return _record_questions(fixed, dataset, questions, make, records, on_question)


def _record_questions(
    fixed: Fields,
    dataset: Dataset,
    questions: Sequence[DatasetQuestion],
    make: Callable[[DatasetQuestion], Fields],
    records: Records,
    on_question: Callable[[int], None],
) -> list[Record]:
    collected: list[Record] = []
    for number, question in enumerate(questions, start=1):
        described = _describe_question(dataset, question, records)
        record = records.by_question.get(question.id)
        if record is None or _is_edited(record, described):
            fields = {**fixed, **described, **_ask_or_fail(make, question)}
            record = Record.from_json(fields)
            records.add(record)
        # The gold answers of the data set may have changed since the question was asked.
        collected.append(replace(record, **described))
        on_question(number)
    return collected


def _is_edited(record: Record, described: Fields) -> bool:
    """Return whether the text or the scope of a question was edited since it was asked."""
    # An old record without a scope can only be compared by its text.
    scopes = {record.scope, described["scope"]}
    return record.text != described["text"] or (record.scope is not None and len(scopes) > 1)


def _hash_scope(question: DatasetQuestion) -> str:
    """Return the hash of the history and the documents of a question; empty if it has none."""
    history = [asdict(turn) for turn in question.history]
    scope = (history, question.documents, question.without)
    return hash_text(dump_canonical(scope))[:16] if any(scope) else ""


def _describe_question(dataset: Dataset, question: DatasetQuestion, records: Records) -> Fields:
    """Return the fields that are known before the question is asked."""
    return {
        "dataset": dataset.name,
        "question": question.id,
        "text": question.text,
        "scope": _hash_scope(question),
        "kind": question.kind,
        "gold": question.answers,
        "wrong": question.wrong,
        "answerable": question.answerable,
        "synthetic": question.synthetic,
        "relevant": dict(sorted(dataset.qrels.get(question.id, {}).items())),
        "documents": len(dataset.documents),
        "varied": dict(records.varied),
        "setup": records.setup,
    }


def _ask_or_fail(make: Callable[[DatasetQuestion], Fields], question: DatasetQuestion) -> Fields:
    started = time.perf_counter()
    try:
        return make(question)
    # A wrong call would fail on every question, so it ends the evaluation.
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - any other error counts against the system
        return {
            "status": "failed",
            "stop_reason": f"{type(error).__name__}: {' '.join(str(error).split())}",
            "usage": asdict(Usage()),
            "seconds": time.perf_counter() - started,
        }


def _add_seconds(outcome: "RunOutcome", seconds: float) -> "RunOutcome":
    answer = outcome.answer
    usage = replace(answer.usage, seconds=answer.usage.seconds + seconds)
    return replace(outcome, answer=replace(answer, usage=usage))


def _describe_answer(run: TracedAnswer) -> Fields:
    answer = run.answer
    return {
        "status": answer.status,
        "tentative": answer.tentative,
        "disputed": answer.disputed,
        "withheld": dict(run.trace.withheld),
        "answer": answer.answer,
        "short_answer": answer.short_answer,
        "confidence": answer.confidence,
        "phase": answer.phase,
        "stop_reason": answer.stop_reason,
        "actions": list(collect_workflows(run.trace)),
        "citations": [
            {name: getattr(citation, name) for name in ("document", "quote", "support", "verified")}
            for citation in answer.citations
        ],
        "conflicts": [conflict.answer for conflict in answer.conflicts if not conflict.refuted],
        "evidence": collect_evidence(run.trace),
        "usage": asdict(answer.usage),
        "seconds": answer.usage.seconds,
        "signals": dict(run.trace.signals),
        "trace_id": answer.trace_id,
    }


def _rank_question(retriever: Retriever, question: DatasetQuestion) -> Fields:
    started = time.perf_counter()
    documents = rank_documents(retriever, question)
    seconds = time.perf_counter() - started
    return {
        "status": "ranked",
        "evidence": documents,
        "usage": asdict(Usage(retrievals=1, seconds=seconds)),
        "seconds": seconds,
    }


def rank_documents(
    retriever: Retriever, question: DatasetQuestion, depth: int = DEPTH
) -> list[str]:
    """Return the first `depth` documents, each at the rank of its best chunk."""
    query = Query(text=question.text, filters=build_filters(question))
    chunks = depth
    while True:
        hits = retriever.retrieve(query, k=chunks)
        documents = list(dict.fromkeys(hit.chunk.document_id for hit in hits))
        if len(documents) >= depth or len(hits) < chunks:
            return documents[:depth]
        # Several chunks may belong to one document, so ask for more until there are enough.
        chunks *= 4
