"""The cost of embedding a question with each query encoder, and the loss of the faster ones.

    python benchmarks/query_encoder.py --questions ../shared/data/squad-fresh [--rounds 5]
    python benchmarks/query_encoder.py --loss ../shared/data/NAME=INDEX ... [--queries 500]

The first embeds questions of a data set one at a time with each of `models.query_encoder` in turn:
milliseconds a question (median), its ratio to `same` in the same round, and the cosines with the
vectors of `same`. The second asks data sets of indexes that were made of them and compares nDCG@10
of vector and hybrid search with that of `same`, question by question; the interval is of 95 %
(BCa). The indexes are only read. --trained FILE adds one that `training.query_encoder.export` wrote
beside a copy of the embedder's file.
"""

import argparse
import gzip
import json
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path

import numpy as np

from fathom.engine import Engine
from fathom.evaluation.comparison import compare
from fathom.evaluation.datasets import load
from fathom.evaluation.records import Record
from fathom.evaluation.runner import Session
from fathom.models.base import Embedder, get_question_embedder
from fathom.models.embedder import LIMIT, load_embedder
from fathom.models.onnx_embedder import OnnxEmbedder
from fathom.models.query_encoder import SHA256, DualEmbedder, combine_with_encoder
from fathom.models.runtime import LazyRuntime, RowRuntime, hash_file
from fathom.models.tokens import WordPiece
from fathom.settings import Settings

SYSTEMS = ("vector", "hybrid")
MEASURE = "nDCG@10"


def load_embedders(trained: Path | None) -> dict[str, Embedder]:
    """Return the embedder with each encoder of questions, by the name in the settings."""
    same = load_embedder()
    encoders: dict[str, Embedder] = {"same": same}
    encoders |= {name: combine_with_encoder(name, same) for name in SHA256}
    if trained is not None:
        tokens = WordPiece.read(Path(str(resources.files("fathom.models"))) / "resources/vocab.txt")
        identity = {"model": trained.stem, "sha256": hash_file(trained)}
        runtime = RowRuntime(LazyRuntime(trained, 1, frozenset({"input_ids"})))
        encoder = OnnxEmbedder(runtime, tokens, identity, limit=LIMIT)
        encoders["trained"] = DualEmbedder(same, encoder)
    return encoders


def read_questions(dataset: Path, number: int) -> list[str]:
    """Return the first questions of a data set."""
    with gzip.open(dataset / "queries.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line)["text"] for line, _ in zip(file, range(number), strict=False)]


def measure_times(
    questions: Sequence[str], rounds: int, encoders: Mapping[str, Embedder]
) -> list[dict[str, object]]:
    """Return a row per encoder."""
    question_encoders = {name: get_question_embedder(value) for name, value in encoders.items()}
    question_encoders["same, one thread"] = load_embedder(threads=1)
    vectors = {name: value.embed(questions) for name, value in question_encoders.items()}
    medians: dict[str, list[float]] = {name: [] for name in question_encoders}
    for _ in range(rounds):
        seconds: dict[str, list[float]] = {name: [] for name in question_encoders}
        for question in questions:
            for name, encoder in question_encoders.items():
                begun = time.perf_counter()
                encoder.embed([question])
                seconds[name].append(time.perf_counter() - begun)
        for name, value in seconds.items():
            medians[name].append(1000 * statistics.median(value))
    rows: list[dict[str, object]] = []
    for name in question_encoders:
        cosines = np.sum(vectors[name] * vectors["same"], axis=1)
        ratios = [
            elapsed / same for elapsed, same in zip(medians[name], medians["same"], strict=True)
        ]
        rows.append(
            {
                "query_encoder": name,
                "ms": round(statistics.median(medians[name]), 2),
                "of_same": round(statistics.median(ratios), 2),
                "of_same_from_to": [round(min(ratios), 2), round(max(ratios), 2)],
                "cosine_mean": round(float(cosines.mean()), 4),
                "cosine_p1": round(float(np.quantile(cosines, 0.01)), 4),
            }
        )
    return rows


def rank_questions(
    dataset: Path, index: Path, embedder: Embedder, queries: int
) -> Mapping[str, Sequence[Record]]:
    """Return the rankings of each system."""
    settings = Settings.model_validate({"index": {"directory": index}})
    with Engine(settings, embedder=embedder) as engine:
        session = Session(engine=engine, dataset=load(dataset), queries=queries)
        return {system: session.collect_rankings(system) for system in SYSTEMS}


def measure_losses(
    dataset: Path, index: Path, queries: int, encoders: Mapping[str, Embedder]
) -> Iterator[dict[str, object]]:
    """Return a row per encoder and system: the difference to `same`."""
    same = rank_questions(dataset, index, encoders["same"], queries)
    for name in encoders.keys() - {"same"}:
        other = rank_questions(dataset, index, encoders[name], queries)
        yield from compare_rankings(dataset.name, name, other, same)


def compare_rankings(
    dataset: str,
    encoder: str,
    other: Mapping[str, Sequence[Record]],
    same: Mapping[str, Sequence[Record]],
) -> Iterator[dict[str, object]]:
    """Return a row per system: the difference of the rankings with another encoder."""
    for system in SYSTEMS:
        (test,) = compare([(other[system], same[system])], (MEASURE,))
        yield {
            "set": dataset,
            "questions": test.queries,
            "encoder": encoder,
            "system": system,
            "difference": round(test.difference, 4),
            "interval": [round(end, 4) for end in test.interval],
            "p": round(test.p, 3),
        }


def main() -> None:
    """Read the arguments and print rows of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--questions", type=Path, help="a data set, to time with")
    what.add_argument("--loss", nargs="+", metavar="DATASET=INDEX")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--trained", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    encoders = load_embedders(arguments.trained)
    if arguments.questions:
        questions = read_questions(arguments.questions, min(arguments.queries, 200))
        for row in measure_times(questions, arguments.rounds, encoders):
            print(json.dumps(row), flush=True)
        return
    for pair in arguments.loss:
        dataset, _, index = pair.partition("=")
        for row in measure_losses(Path(dataset), Path(index), arguments.queries, encoders):
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
