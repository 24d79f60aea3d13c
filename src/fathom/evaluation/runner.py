"""Runs a system over a data set and gives one row of the table."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, quantiles

from fathom.errors import UsageError
from fathom.evaluation.datasets import Dataset, Question
from fathom.evaluation.measures import DEPTH, measure
from fathom.evaluation.statistics import bootstrap_interval
from fathom.retrieval.base import Retriever
from fathom.types import Hit, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """How one system did on one data set.

    Attributes:
        queries: How many judged questions were asked.
        measures: Mean over the questions.
        intervals: 95 % bootstrap interval of each mean.
        latency_s: `p50` and `p95` of the seconds a question took, ranking `DEPTH` documents.
    """

    dataset: str
    system: str
    queries: int
    measures: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    latency_s: dict[str, float]
    usage: dict[str, float]


def evaluate_retriever(
    dataset: Dataset,
    retriever: Retriever,
    *,
    queries: int | None = None,
    on_question: Callable[[int], None] = lambda _: None,
) -> Row:
    """Ask a retriever the judged questions of a data set.

    Args:
        dataset: Its corpus must be what the retriever's index holds.
        retriever: The system.
        queries: Only a sample of so many judged questions; see `Dataset.sample`.
        on_question: Told the number of questions done, after each.

    Raises:
        UsageError: If no question is judged.
    """
    drawn = {question.id for question in dataset.sample(queries, judged=True)}
    asked = [question for question in dataset.judged if question.id in drawn]
    if not asked:
        raise UsageError(f"{dataset.name}: no judged question, so nothing can be measured")
    rankings: dict[str, list[str]] = {}
    seconds: list[float] = []
    for number, question in enumerate(asked, start=1):
        started = time.perf_counter()
        rankings[question.id] = rank_documents(retriever, question)
        seconds.append(time.perf_counter() - started)
        on_question(number)
    values = measure(rankings, dataset.qrels)
    return Row(
        dataset=dataset.name,
        system=retriever.name,
        queries=len(asked),
        measures={name: round(fmean(each), 6) for name, each in values.items()},
        intervals={name: bootstrap_interval(each) for name, each in values.items()},
        latency_s=percentiles(seconds),
        usage={"retrievals": len(asked)},
    )


def rank_documents(retriever: Retriever, question: Question, depth: int = DEPTH) -> list[str]:
    """The first `depth` documents, each at the place of its best chunk."""
    chunks = depth
    while True:
        hits = retriever.retrieve(Query(text=question.text), k=chunks)
        documents = _documents(hits)
        if len(documents) >= depth or len(hits) < chunks:
            return documents[:depth]
        chunks *= 4


def _documents(hits: Sequence[Hit]) -> list[str]:
    return list(dict.fromkeys(hit.chunk.document_id for hit in hits))


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile."""
    if len(seconds) == 1:
        return {"p50": seconds[0], "p95": seconds[0]}
    cuts = quantiles(seconds, n=20, method="inclusive")
    return {"p50": round(cuts[9], 6), "p95": round(cuts[18], 6)}
