"""The loss in search of a faster embedder, beside the shipped one.

    python -m benchmarks.embedder_loss --work DIR ../shared/data/NAME ... [--queries 300]

Each data set is ingested with both embedders into DIR, unless it is there already. The rows compare
nDCG@10 of vector and hybrid search question by question; intervals are of 95 % (BCa).
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.query_encoder import SYSTEMS, compare_rankings

from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.evaluation.datasets import load
from fathom.evaluation.harness import prepare_engine
from fathom.evaluation.records import Record
from fathom.evaluation.runner import Session
from fathom.models.embedder import SHIPPED, SHIPPED_INT8

Rankings = Mapping[str, Sequence[Record]]


def rank_questions(path: Path, index: Path, embedder: str, queries: int) -> Rankings:
    """Return the rankings of each system over an index of the data set; it is made if missing."""
    dataset = load(path)
    settings = parse_settings({"index.directory": str(index), "models.embedder": embedder})
    with prepare_engine(Engine(settings), dataset) as engine:
        session = Session(engine=engine, dataset=dataset, queries=queries)
        return {system: session.collect_rankings(system) for system in SYSTEMS}


def measure_losses(
    path: Path, work: Path, embedder: str, queries: int
) -> Iterator[dict[str, object]]:
    """Return a row per system: the difference to the shipped embedder."""
    rankings = {
        name: rank_questions(path, work / name / path.name, name, queries)
        for name in (SHIPPED, embedder)
    }
    yield from compare_rankings(path.name, embedder, rankings[embedder], rankings[SHIPPED])


def main() -> None:
    """Read the arguments and print rows of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+", type=Path, metavar="DATASET")
    parser.add_argument("--work", type=Path, required=True, metavar="DIR")
    parser.add_argument("--embedder", default=SHIPPED_INT8)
    parser.add_argument("--queries", type=int, default=300)
    arguments = parser.parse_args()
    for path in arguments.datasets:
        for row in measure_losses(path, arguments.work, arguments.embedder, arguments.queries):
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
