"""Speed of search over an index: python benchmarks/search.py --index DIR --dataset FOLDER.

Without --index the first --documents documents of the data set are ingested into a temporary
one; without --dataset, generated documents are used. Prints one JSON object: warm latencies of
the three retrievers (query text in, hits out), the shares of embedding, neighbours, BM25 and
fetching, how well approximate neighbours agree with exact ones, the time from a cold start to
the first hit, and the peak memory of a process that only searches.
"""

import argparse
import json
import os
import platform
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from fathom.engine import Engine
from fathom.evaluation.datasets import load
from fathom.models.query_encoder import SHA256
from fathom.retrieval.base import to_hits
from fathom.settings.tree import IndexSettings, ModelSettings, Settings
from fathom.types import Query

WORDS = ("harbour", "ferry", "permit", "ledger", "bridge", "winter", "notice", "crown")
COLD = """
import sys, time
started = time.perf_counter()
from pathlib import Path
from fathom.engine import Engine
from fathom.settings.tree import IndexSettings, ModelSettings, Settings
loaded = time.perf_counter()
models = ModelSettings(runtime=sys.argv[3], query_encoder=sys.argv[4])
settings = Settings(index=IndexSettings(directory=Path(sys.argv[1])), models=models)
with Engine(settings) as engine:
    engine.search(sys.argv[2])
print(loaded - started, time.perf_counter() - loaded)
"""


def compute_percentiles(seconds: Sequence[float]) -> dict[str, float]:
    p50, p95 = np.percentile(seconds, [50, 95]) * 1000
    return {"p50_ms": round(float(p50), 2), "p95_ms": round(float(p95), 2)}


def measure_calls(call: Callable[[str], object], queries: Sequence[str]) -> dict[str, float]:
    seconds = []
    for query in queries:
        started = time.perf_counter()
        call(query)
        seconds.append(time.perf_counter() - started)
    return compute_percentiles(seconds)


def measure_latencies(
    engine: Engine, queries: Sequence[str], k: int
) -> dict[str, dict[str, float]]:
    """Measure the retrievers in turn, and then the parts of a hybrid search."""
    figures = {}
    for name in ("keyword", "vector", "hybrid"):
        retriever = engine.retriever(name)
        retriever.retrieve(Query(text="warm up"), k=k)
        figures[name] = measure_calls(
            lambda text: retriever.retrieve(Query(text=text), k=k),  # noqa: B023
            queries,
        )
    index = engine.reader()
    depth = max(k, engine.settings.retrieval.candidates)
    vectors = {text: engine.assembly.question_embedder.embed([text])[0] for text in queries}
    matches = {text: index.keyword_search(text, k=k) for text in queries}
    figures["part: embed"] = measure_calls(
        lambda text: engine.assembly.question_embedder.embed([text]), queries
    )
    figures["part: neighbours"] = measure_calls(
        lambda text: index.vector_search(vectors[text], k=depth), queries
    )
    figures["part: bm25"] = measure_calls(lambda text: index.keyword_search(text, k=depth), queries)
    figures["part: fetch"] = measure_calls(lambda text: to_hits(matches[text], index, "x"), queries)
    return figures


def measure_recall(engine: Engine, queries: Sequence[str], k: int) -> float:
    """Return the mean share of the exact `k` nearest chunks that the index finds."""
    store = sqlite3.connect(engine.directory / "fathom.db")
    rows = store.execute(
        "SELECT id, vector FROM chunks JOIN vectors ON chunk_no = no WHERE removed IS NULL"
    ).fetchall()
    ids = np.asarray([row[0] for row in rows])
    matrix = np.stack([np.frombuffer(row[1], np.float16) for row in rows]).astype(np.float32)
    shares = []
    for text in queries:
        vector = engine.assembly.question_embedder.embed([text])[0]
        scores = matrix @ vector
        exact = set(ids[np.argpartition(-scores, k)[:k]])
        chunk_ids = {match.chunk_id for match in engine.reader().vector_search(vector, k=k)}
        shares.append(len(exact & chunk_ids) / k)
    return round(float(np.mean(shares)), 4)


def measure_cold_start(index: Path, query: str, models: ModelSettings) -> dict[str, float]:
    """Return medians of five fresh processes: importing, and opening to the first hit."""
    runs = []
    for _ in range(5):
        parameters = (str(index), query, models.runtime, models.query_encoder)
        command = [sys.executable, "-c", COLD, *parameters]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        runs.append([float(part) for part in done.stdout.split()])
    imports, first = np.median(np.asarray(runs), axis=0)
    return {"imports_s": round(float(imports), 3), "open_to_first_hit_s": round(float(first), 3)}


def generate_documents(folder: Path, documents: int) -> list[str]:
    """Write documents of random words; return questions."""
    generator = random.Random(0)
    for number in range(documents):
        text = " ".join(generator.choices(WORDS, k=80))
        (folder / f"{number}.txt").write_text(f"Notice {number}. {text}.")
    return [" ".join(generator.choices(WORDS, k=8)) for _ in range(100)]


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--index", type=Path)
    parser.add_argument("--dataset", type=Path)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--runtime", default="onnxruntime", choices=["onnxruntime", "openvino"])
    parser.add_argument("--query-encoder", default="same", choices=["same", *SHA256])
    parser.add_argument("-k", type=int, default=10)
    return parser.parse_args()


def measure_search(engine: Engine, queries: Sequence[str], k: int) -> dict[str, object]:
    """Measure everything except the cold start."""
    return {
        "chunks": engine.status().chunks,
        "queries": len(queries),
        "k": k,
        "runtime": engine.settings.models.runtime,
        "query_encoder": engine.settings.models.query_encoder,
        "cpus": len(os.sched_getaffinity(0)),
        "machine": platform.platform(),
        "latency": measure_latencies(engine, queries, k),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "recall@10": measure_recall(engine, queries, 10),
    }


def main() -> None:
    arguments = parse_options()
    with tempfile.TemporaryDirectory() as folder:
        place = arguments.index or Path(folder) / "index"
        models = ModelSettings(runtime=arguments.runtime, query_encoder=arguments.query_encoder)
        settings = Settings(index=IndexSettings(directory=place), models=models)
        if arguments.dataset:
            dataset = load(arguments.dataset)
            queries = [question.text for question in dataset.questions]
            source = dataset.corpus
        else:
            source = Path(folder) / "corpus"
            source.mkdir()
            queries = generate_documents(source, arguments.documents)
        random.Random(0).shuffle(queries)
        with Engine(settings) as engine:
            if arguments.index is None:
                engine.ingest([source])  # the peak memory is then that of ingestion
            figures = measure_search(engine, queries[: arguments.queries], arguments.k)
        figures["cold"] = measure_cold_start(place, queries[0], models)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
