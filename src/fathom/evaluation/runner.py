"""Asks a strategy or a retriever the questions of a data set, and records what came of each."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from fathom import __version__
from fathom.errors import IndexMissing, UsageError
from fathom.evaluation.datasets import Dataset, Question
from fathom.evaluation.evidence import actions, evidence_documents
from fathom.evaluation.ir_metrics import DEPTH
from fathom.evaluation.records import Record, Records
from fathom.extensions import Kind, find
from fathom.jsonable import Json, canonical, digest
from fathom.models.shipped import card_of
from fathom.retrieval.base import Retriever
from fathom.runs.concurrency import in_loop
from fathom.runs.trace import Trace
from fathom.settings import Settings, as_before
from fathom.types import Answer, Filter, Query
from fathom.usage import Usage

if TYPE_CHECKING:
    from fathom.engine import Engine

Fields = Mapping[str, Any]
"""Some of those of a record."""
OnProgress = Callable[[str, int, int], None]
"""Told what is measured, how many questions are done, and of how many."""
LONGEST, SHORTENED = 240, 200
"""File systems take names of 255 bytes, endings included."""


class AskedRun(Protocol):
    """What came of asking: a strategy's `Outcome`."""

    @property
    def answer(self) -> Answer:
        """What the user would get."""
        ...

    @property
    def trace(self) -> Trace:
        """How it came about."""
        ...


AskQuestion = Callable[[Question], AskedRun]
"""Runs a strategy on a question; it must respect `filters_of`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """An engine that is asked the questions of a data set, and where its records are kept.

    Attributes:
        engine: Its index must hold the corpus of the data set.
        queries: A sample of so many questions; all by default.
        seed: Of the sample.
        folder: Records are kept in `<data set>/<strategy>.jsonl` and, as a retriever may have the
            name of a strategy, `<data set>/<retriever>.ranked.jsonl` below it.
        varied: What was varied in the engine's settings; belongs to the names of these files.
    """

    engine: "Engine"
    dataset: Dataset
    queries: int | None = None
    seed: int = 0
    folder: Path | None = None
    varied: Mapping[str, str] = field(default_factory=dict)
    on_progress: OnProgress = lambda _what, _done, _all: None

    def answers(self, strategy: str) -> list[Record]:
        """What a strategy makes of the questions.

        Raises:
            UsageError: If there is no such strategy, or records of another setup are in the way.
        """
        questions = self.dataset.sample(self.queries, seed=self.seed)

        def ask(question: Question) -> AskedRun:
            filters = filters_of(question)
            return in_loop(
                self.engine.aoutcome(
                    question.text,
                    strategy=strategy,
                    filters=filters,
                    history=question.history,
                    verified=False,
                )
            )

        return record_strategy(
            strategy,
            self.dataset,
            questions,
            ask,
            self._kept(strategy, file_name(strategy, self.varied)),
            on_question=self._counted(strategy, questions),
        )

    def rankings(self, retriever: str) -> list[Record]:
        """How a retriever ranks the documents for the judged questions.

        Raises:
            UsageError: If no question is judged, there is no such retriever, or records of
                another setup are in the way.
        """
        questions = self.dataset.sample(self.queries, seed=self.seed, judged=True)
        if not questions:
            raise UsageError(
                f"{self.dataset.name}: no judged question, so no ranking can be measured"
            )
        return record_retriever(
            self.dataset,
            questions,
            self.engine.retriever(retriever),
            self._kept(retriever, f"{file_name(retriever, self.varied)}.ranked"),
            on_question=self._counted(retriever, questions),
        )

    def _kept(self, system: str, name: str) -> Records:
        """What is known already, and where more is kept."""
        file = None if self.folder is None else self.folder / self.dataset.name / f"{name}.jsonl"
        return Records(file, setup=setup_of(self.engine, system), varied=self.varied)

    def _counted(self, system: str, questions: Sequence[Question]) -> Callable[[int], None]:
        what = f"{self.dataset.name} {system}"
        return lambda done: self.on_progress(what, done, len(questions))


def file_name(system: str, varied: Mapping[str, str]) -> str:
    """Names the files of a system, without their ending; each choice of settings its own.

    A name that file systems would refuse ends in a hash in place of its last settings.
    """
    choice = "".join(f"@{key}={value}" for key, value in varied.items())
    name = quote(f"{system}{choice}", safe="@=")
    return name if len(name) <= LONGEST else f"{name[:SHORTENED]}-{digest(name)[:16]}"


def setup_of(engine: "Engine", system: str = "") -> str:
    """A short hash of what can change an answer: version, index, settings, budget, models.

    Args:
        engine: Answers or ranks.
        system: The strategy or the retriever.

    Raises:
        ModelError: If a model cannot be loaded, or the card of the cross-reader is missing.
    """
    made = {
        "version": __version__,
        "index": engine.reader().revision(),
        "identity": engine.assembly.identity,
        "cross_reader": card_of(engine.settings.models.cross_reader),
        "settings": as_before(engine.settings.recorded()),
        "budget": engine.settings.budget.model_dump(mode="json"),
        **_extensions(engine.settings, system),
    }
    return digest(canonical(made))[:16]


def _extensions(settings: Settings, system: str) -> dict[str, Json]:
    """The versions of what other packages add to a system, and their settings; often nothing."""
    retrievers = (*settings.rrf.retrievers, *settings.hybrid.agents)
    names = {system, settings.retrieval.retriever, *retrievers}
    kinds: tuple[Kind, ...] = ("strategy", "retriever")
    found = {str(added) for name in names for kind in kinds if (added := find(kind, name))}
    tables = {name: dict(table) for name, table in settings.extensions.items()}
    return {"extensions": [sorted(found), tables]} if found or tables else {}


def holds(engine: "Engine", dataset: Dataset) -> bool:
    """Whether the index holds the documents of the data set, and no others."""
    try:
        status = engine.status()
    except IndexMissing:
        return False
    if not status.documents or status.documents + status.failed < len(dataset.documents):
        return False
    return all(document.id in dataset.documents for document in engine.documents())


def filters_of(question: Question) -> tuple[Filter, ...]:
    """The question's own documents, where it has some, are all that may be used."""
    own = (Filter("document", "in", question.documents),) if question.documents else ()
    return (*own, *(Filter("document", "!=", document) for document in question.without))


def record_strategy(
    strategy: str,
    dataset: Dataset,
    questions: Sequence[Question],
    ask: AskQuestion,
    records: Records,
    *,
    on_question: Callable[[int], None] = lambda _: None,
) -> list[Record]:
    """Ask a strategy what it has not been asked yet.

    A question whose run breaks is recorded as failed, and the next one is asked.

    Args:
        strategy: Its name.
        dataset: What the questions are from.
        questions: What to ask.
        ask: Asks one of them.
        records: What is known already; new ones are added.
        on_question: Told the number of questions done, after each.

    Returns:
        The records of `questions`, in their order.

    Raises:
        UsageError: If the call itself is wrong, such as the strategy's name.
    """

    def make(question: Question) -> Fields:
        return _answered(ask(question))

    return _recorded({"strategy": strategy}, dataset, questions, make, records, on_question)


def record_retriever(
    dataset: Dataset,
    questions: Sequence[Question],
    retriever: Retriever,
    records: Records,
    *,
    on_question: Callable[[int], None] = lambda _: None,
) -> list[Record]:
    """Let a retriever rank the documents for what it has not been asked yet.

    As with a strategy, a ranking that breaks is recorded as failed.

    Args:
        dataset: Its corpus must be what the retriever's index holds.
        questions: What to ask; such as are judged, or nothing can be measured.
        retriever: Ranks.
        records: What is known already; new ones are added.
        on_question: Told the number of questions done, after each.

    Returns:
        The records of `questions`, in their order.

    Raises:
        UsageError: If the call itself is wrong.
    """

    def make(question: Question) -> Fields:
        return _ranked(retriever, question)

    given = {"strategy": retriever.name, "depth": DEPTH}
    return _recorded(given, dataset, questions, make, records, on_question)


def _recorded(
    given: Fields,
    dataset: Dataset,
    questions: Sequence[Question],
    make: Callable[[Question], Fields],
    records: Records,
    on_question: Callable[[int], None],
) -> list[Record]:
    for number, question in enumerate(questions, start=1):
        if question.id not in records.known:
            known = {**given, **_known(dataset, question, records)}
            records.add(Record.from_json({**known, **_made(make, question)}))
        on_question(number)
    return [records.known[question.id] for question in questions]


def _known(dataset: Dataset, question: Question, records: Records) -> Fields:
    """What is known before the question is asked."""
    return {
        "dataset": dataset.name,
        "question": question.id,
        "text": question.text,
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


def _made(make: Callable[[Question], Fields], question: Question) -> Fields:
    started = time.perf_counter()
    try:
        return make(question)
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever breaks counts against the system
        return {
            "status": "failed",
            "stop_reason": f"{type(error).__name__}: {' '.join(str(error).split())}",
            "usage": asdict(Usage()),
            "seconds": time.perf_counter() - started,
        }


def _answered(asked: AskedRun) -> Fields:
    answer = asked.answer
    return {
        "status": answer.status,
        "answer": answer.answer,
        "short_answer": answer.short_answer,
        "confidence": answer.confidence,
        "phase": answer.phase,
        "stop_reason": answer.stop_reason,
        "actions": list(actions(asked.trace)),
        "citations": [
            {name: getattr(each, name) for name in ("document", "quote", "support", "verified")}
            for each in answer.citations
        ],
        "conflicts": [each.answer for each in answer.conflicts if not each.refuted],
        "evidence": evidence_documents(asked.trace),
        "usage": asdict(answer.usage),
        "seconds": answer.usage.seconds,
        "signals": dict(asked.trace.signals),
        "trace_id": answer.trace_id,
    }


def _ranked(retriever: Retriever, question: Question) -> Fields:
    started = time.perf_counter()
    documents = rank_documents(retriever, question)
    seconds = time.perf_counter() - started
    return {
        "status": "ranked",
        "evidence": documents,
        "usage": asdict(Usage(retrievals=1, seconds=seconds)),
        "seconds": seconds,
    }


def rank_documents(retriever: Retriever, question: Question, depth: int = DEPTH) -> list[str]:
    """The first `depth` documents, each at the place of its best chunk."""
    query = Query(text=question.text, filters=filters_of(question))
    chunks = depth
    while True:
        hits = retriever.retrieve(query, k=chunks)
        documents = list(dict.fromkeys(hit.chunk.document_id for hit in hits))
        if len(documents) >= depth or len(hits) < chunks:
            return documents[:depth]
        chunks *= 4
