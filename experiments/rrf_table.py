"""Retrievers of `rrf`, alone and fused: python experiments/rrf_table.py DATASET INDEX [QUESTIONS].

INDEX holds the data set, ingested with the default settings. Each question is searched once by
every retriever; then the first k hits of each are fused, for k from 1 to 10 (the paper's Table II).
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from fathom.engine import Engine
from fathom.evaluation.datasets import Dataset, load
from fathom.presets.rrf import RrfSettings
from fathom.retrieval.fused import fused
from fathom.retrieval.fusion import ReciprocalRank
from fathom.settings import Settings
from fathom.types import Hit, Query

OWN = RrfSettings()
DEPTH = 10


class Found(NamedTuple):
    """The relevant documents of a question, and the hits of every retriever."""

    relevant: frozenset[str]
    lists: Mapping[str, Sequence[Hit]]


def searched(dataset: Dataset, engine: Engine, queries: int | None) -> Iterator[Found]:
    """Every judged question, or so many, evenly spread."""
    judged = [question for question in dataset.questions if dataset.qrels.get(question.id)]
    step = max(1, len(judged) // (queries or len(judged)))
    for question in judged[::step][:queries]:
        query = Query(text=question.text)
        lists = {
            name: engine.retriever(name).retrieve(query, k=DEPTH)
            for name in (*OWN.retrievers, "vector_feedback")
        }
        yield Found(frozenset(dataset.qrels[question.id]), lists)
        print(".", end="", file=sys.stderr, flush=True)


def recall(found: Found, names: Sequence[str], k: int, depth: int) -> float:
    """Share of the relevant documents among the first `depth` of the fused ones."""
    lists = [found.lists[name][:k] for name in names]
    hits = fused(lists, [1.0] * len(names), ReciprocalRank(OWN.rrf_k), "rrf")
    documents = list(dict.fromkeys(hit.chunk.document_id for hit in hits))[:depth]
    return len(found.relevant.intersection(documents)) / len(found.relevant)


def row(title: str, questions: Sequence[Found], names: Sequence[str], k: int) -> None:
    means = (
        sum(recall(found, names, k, depth) for found in questions) / len(questions)
        for depth in (1, 5)
    )
    print(f"| {title} | {' | '.join(f'{mean:.3f}' for mean in means)} |")


def main(folder: Path, place: Path, queries: int | None) -> None:
    dataset = load(folder)
    with Engine(Settings.model_validate({"index": {"directory": place}})) as engine:
        questions = list(searched(dataset, engine, queries))
    print(f"\n{len(questions)} questions\n\n| ranking | R@1 | R@5 |\n|---|---|---|")
    for name in questions[0].lists:
        row(f"`{name}`", questions, [name], DEPTH)
    twice = ("vector", "keyword", "vector_feedback", "keyword_feedback")
    row(f"both legs, each with its feedback, k = {OWN.k}", questions, twice, OWN.k)
    for k in range(1, DEPTH + 1):
        row(f"fused, k = {k}", questions, OWN.retrievers, k)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else None)
