"""Asks a strategy or a retriever the questions of a data set, and records what came of each."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from fathom.errors import UsageError
from fathom.evaluation.datasets import Dataset, Question
from fathom.evaluation.evidence import actions, evidence_documents
from fathom.evaluation.records import Record, Records
from fathom.measures.ir_metrics import DEPTH
from fathom.retrieval.base import Retriever
from fathom.tracing.trace import Trace
from fathom.types import Answer, Filter, Query
from fathom.usage import Usage

Fields = Mapping[str, Any]
"""Some of those of a record."""


class Asked(Protocol):
    """What came of asking: a strategy's `Outcome`."""

    @property
    def answer(self) -> Answer:
        """What the user would get."""
        ...

    @property
    def trace(self) -> Trace:
        """How it came about."""
        ...


Ask = Callable[[Question], Asked]
"""Runs a strategy on a question; it must respect `filters_of`."""


def filters_of(question: Question) -> tuple[Filter, ...]:
    """The question's own documents, where it has some, are all that may be used."""
    if not question.documents:
        return ()
    return (Filter("document", "in", question.documents),)


def record_strategy(
    strategy: str,
    dataset: Dataset,
    questions: Sequence[Question],
    ask: Ask,
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


def _answered(asked: Asked) -> Fields:
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
        "conflicts": [each.answer for each in answer.conflicts],
        "evidence": evidence_documents(asked.trace),
        "usage": asdict(answer.usage),
        "seconds": answer.usage.seconds,
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
