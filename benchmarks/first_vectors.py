"""The quality of hybrid search while an index is still being filled.

    python -m benchmarks.first_vectors ../shared/data/NAME --work DIR [--seconds 10] [--queries 300]

`fathom ingest` of the data set is killed after so many seconds. Questions are asked whose relevant
documents are stored by then. nDCG@10 of hybrid search is measured at once, and again when a part of
the chunks, and in the end each of them, has its vector: as it is, and without the vectors that are
made for a question (`stored`). Times are of the first search for each question. The last row is the
final figure. Differences to it are paired by question, with intervals of 95 % (BCa). DIR must be
empty.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.evaluation.comparison import compare
from fathom.evaluation.datasets import Dataset, load
from fathom.evaluation.ir_metrics import MEASURES
from fathom.evaluation.records import Record, Records
from fathom.evaluation.runner import draw_questions, record_retriever
from fathom.index.base import IndexWriter
from fathom.models.base import Embedder, embed_many
from fathom.retrieval.hybrid import HybridRetriever

MEASURE = "nDCG@10"
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
"""The shares of chunks with a vector at which search is measured."""
STEP_CHUNKS = 256


def ingest_for(corpus: Path, index: Path, seconds: float) -> None:
    """Start an ingestion and kill it after some seconds, unless it ends sooner."""
    command = [sys.executable, "-m", "fathom", "ingest", "--offline", str(corpus)]
    process = subprocess.Popen(
        [*command, "--index", str(index)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def select_questions(dataset: Dataset, stored: frozenset[str]) -> Dataset:
    """Return a data set with only those questions whose relevant documents are all stored."""
    questions = [
        question
        for question in dataset.judged_questions
        if dataset.qrels[question.id].keys() <= stored
    ]
    return replace(dataset, questions=tuple(questions), documents=stored)


def fill_until(writer: IndexWriter, embedder: Embedder, lacking: int) -> None:
    """Embed chunks in the order of ingestion until no more than so many lack a vector."""
    while (missing := writer.count_missing_vectors()) > lacking:
        chunks = writer.list_unembedded_chunks("", most=min(STEP_CHUNKS, missing - lacking))
        vectors = embed_many(embedder, [chunk.context for chunk in chunks])
        writer.fill("", {chunk.id: vectors[place] for place, chunk in enumerate(chunks)})


def rank_questions(engine: Engine, dataset: Dataset, queries: int, *, stored: bool) -> list[Record]:
    """Return the records of hybrid search.

    Args:
        engine: The engine.
        dataset: The data set.
        queries: The largest number of questions.
        stored: Whether only stored vectors are searched.
    """
    retriever = cast(HybridRetriever, engine.retriever("hybrid"))
    if stored:
        sides = [replace(side, late_chunks=0) for side in retriever.sides]
        retriever = replace(retriever, sides=sides)
    questions = draw_questions(dataset, queries, seed=0, ranks=True)
    with engine.open_snapshot():
        return record_retriever(dataset, questions, retriever, Records())


def average_measure(records: Sequence[Record]) -> float:
    """Return the mean nDCG@10 of rankings."""
    return statistics.fmean(
        MEASURES[MEASURE](record.evidence, record.relevant) for record in records
    )


def measure_shares(
    folder: Path, work: Path, seconds: float, queries: int
) -> Iterator[dict[str, object]]:
    """Yield a row for each share of vectors and way of searching."""
    ingest_for(folder / load(folder).corpus.name, work, seconds)
    runs: list[tuple[dict[str, object], list[Record]]] = []
    settings = parse_settings({"index.directory": str(work), "offline": True})
    with (
        Engine(settings) as engine,
        engine.index.open_writer(engine.assembly.identity) as writer,
    ):
        stored = frozenset(summary.id for summary in writer.list_documents())
        dataset = select_questions(load(folder), stored)
        chunks = writer.status().chunks
        for share in SHARES:
            # What the killed ingestion left is the first share.
            if share:
                fill_until(writer, engine.assembly.embedder, round(chunks * (1 - share)))
            for stored_only in (True, False):
                records = rank_questions(engine, dataset, queries, stored=stored_only)
                row: dict[str, object] = {
                    "set": dataset.name,
                    "documents": len(stored),
                    "chunks": chunks,
                    "with_vector": round(1 - writer.count_missing_vectors() / chunks, 3),
                    "searched": "stored" if stored_only else "all",
                    "p50_ms": round(1000 * statistics.median(r.seconds for r in records), 1),
                }
                runs.append((row, records))
    final = runs[-1][1]
    for row, records in runs:
        (test,) = compare([(records, final)], (MEASURE,))
        mean, of = average_measure(records), average_measure(final)
        yield {
            **row,
            "questions": len(records),
            MEASURE: round(mean, 4),
            "of_final": round(mean / of, 4),
            "difference": round(test.difference, 4),
            "interval": [round(end, 4) for end in test.interval],
        }


def main() -> None:
    """Read the arguments and print rows of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--work", type=Path, required=True, metavar="DIR")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--queries", type=int, default=300)
    arguments = parser.parse_args()
    for row in measure_shares(
        arguments.dataset, arguments.work, arguments.seconds, arguments.queries
    ):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
