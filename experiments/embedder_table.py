"""The value of one more embedder.

    python -m experiments.embedder_table FOLDER... --work PLACE

Each folder is a retrieval set, whole or a part of one (`retrieval_cut.py`). It is ingested with
MiniLM's vectors and, beside them, those of multilingual-e5-small (extra `multilingual`); every
judged question is asked with each system. Rows are appended to --results; vectors of chunks are
kept in --work, so that a run that is broken off goes on.
"""

import argparse
import json
import time
from pathlib import Path

from experiments.lab.cached_embedder import CachedEmbedder

from fathom.engine import Engine
from fathom.evaluation.datasets import load
from fathom.evaluation.rows import score_system
from fathom.evaluation.runner import Session
from fathom.models.base import Embedder, get_question_embedder
from fathom.models.caching_embedder import CachedEmbedder as Remembering
from fathom.models.e5 import NAME
from fathom.models.embedder import SHIPPED, load_embedder
from fathom.settings import Settings

SYSTEMS = (
    "keyword",
    "vector",
    f"vector:{NAME}",
    f"hybrid:{SHIPPED}",
    f"hybrid:{NAME}",
    "hybrid",
)
RESULTS = Path(__file__).parent / "results" / "embedders.jsonl"


class StoredVectors(CachedEmbedder):
    """Stores vectors of chunks in a file, and those of questions in memory."""

    def __init__(self, inner: Embedder, file: Path) -> None:
        super().__init__(inner, file)
        self.questions = Remembering(get_question_embedder(inner))


def measure_systems(
    folder: Path, work: Path, embedders: dict[str, Embedder]
) -> list[dict[str, object]]:
    """Return one row per system."""
    settings = Settings.model_validate(
        {
            "index": {"directory": work / "index" / folder.name},
            "retrieval": {"embedders": [NAME]},
        }
    )
    dataset = load(folder)
    rows: list[dict[str, object]] = []
    with Engine(settings, embedder=embedders[SHIPPED]) as engine:
        engine.assembly.__dict__["further"] = {NAME: embedders[NAME]}
        report = engine.ingest([dataset.corpus])
        for system in SYSTEMS:
            begun = time.perf_counter()
            row = score_system(Session(engine=engine, dataset=dataset).collect_rankings(system))
            seconds = time.perf_counter() - begun
            rows.append(
                {
                    "dataset": folder.name,
                    "documents": report.documents,
                    "chunks": engine.status().chunks,
                    "questions": row.queries,
                    "system": system,
                    "nDCG@10": row.measures["nDCG@10"],
                    "interval": row.intervals["nDCG@10"],
                    "seconds": seconds,
                }
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    embedders: dict[str, Embedder] = {
        name: StoredVectors(load_embedder(name, offline=True), arguments.work / f"{name}.db")
        for name in (SHIPPED, NAME)
    }
    for folder in arguments.folders:
        with arguments.results.open("a", encoding="utf-8") as out:
            for row in measure_systems(folder, arguments.work, embedders):
                out.write(json.dumps(row) + "\n")
                print(row, flush=True)


if __name__ == "__main__":
    main()
