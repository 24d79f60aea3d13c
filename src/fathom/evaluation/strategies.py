"""Asks a strategy the questions of a data set and records what came of each."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Protocol

from fathom.errors import UsageError
from fathom.evaluation.datasets import Dataset, Question
from fathom.evaluation.evidence import evidence_documents
from fathom.evaluation.records import Record, Records
from fathom.tracing.trace import Trace
from fathom.types import Answer, Filter
from fathom.usage import Usage


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
    """Ask what has not been asked yet.

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
    for number, question in enumerate(questions, start=1):
        if question.id not in records.known:
            records.add(_record(strategy, dataset, question, ask, records))
        on_question(number)
    return [records.known[question.id] for question in questions]


def _record(
    strategy: str, dataset: Dataset, question: Question, ask: Ask, records: Records
) -> Record:
    given = {
        "dataset": dataset.name,
        "strategy": strategy,
        "question": question.id,
        "text": question.text,
        "kind": question.kind,
        "gold": question.answers,
        "wrong": question.wrong,
        "answerable": question.answerable,
        "relevant": tuple(sorted(dataset.qrels.get(question.id, ()))),
        "documents": len(dataset.documents),
        "varied": dict(records.varied),
        "setup": records.setup,
    }
    started = time.perf_counter()
    try:
        made = _made(ask(question))
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever breaks counts against the strategy
        made = {
            "status": "failed",
            "stop_reason": f"{type(error).__name__}: {' '.join(str(error).split())}",
            "usage": asdict(Usage()),
            "seconds": time.perf_counter() - started,
        }
    return Record.from_json({**given, **made})


def _made(asked: Asked) -> dict[str, object]:
    answer = asked.answer
    return {
        "status": answer.status,
        "answer": answer.answer,
        "short_answer": answer.short_answer,
        "confidence": answer.confidence,
        "phase": answer.phase,
        "stop_reason": answer.stop_reason,
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
