"""The effect of the embedder's storage and of each runtime on the nearest neighbours.

    python training/embedder_precision.py [--data ../shared/data/squad-retrieval] [--chunks N]

Embeds the texts and queries of a data set with the unrounded model on ONNX Runtime (exported to a
temporary folder, so it needs the `export` extra) and compares every variant with it. nn@10: the
share of the ten nearest texts that stay among the ten nearest.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fathom.models.base import Matrix
from fathom.models.embedder import SHIPPED
from fathom.models.onnx_embedder import OnnxEmbedder
from fathom.models.runtime import load_runtime
from fathom.models.tokens import WordPiece

ROOT = Path(__file__).parents[1]
RESOURCES = ROOT / "src" / "fathom" / "models" / "resources"
EXPORT = ROOT / "training" / "export_embedder.py"
VARIANTS = (
    ("fp32", "onnxruntime"),
    ("fp16", "onnxruntime"),
    ("fp16+int8", "onnxruntime"),
    ("fp16+int8", "openvino"),
)
TOKENS = WordPiece.read(RESOURCES / "vocab.txt")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedTexts:
    """The vectors of one variant, and its speed."""

    label: str
    texts: Matrix
    queries: Matrix
    texts_a_second: float
    query_ms: float


def measure(
    folder: Path, runtime: str, texts: Sequence[str], queries: Sequence[str]
) -> EmbeddedTexts:
    model = folder / f"{SHIPPED}.onnx"
    loaded = load_runtime(model, runtime=runtime)
    embedder = OnnxEmbedder(loaded, TOKENS, {"model": SHIPPED, "sha256": "-"}, limit=256)
    started = time.perf_counter()
    text_vectors = embedder.embed(texts)
    seconds = time.perf_counter() - started
    embedder.embed(queries[:100])
    times, query_vectors = [], []
    for query in queries:
        began = time.perf_counter()
        query_vectors.append(embedder.embed([query]))
        times.append(time.perf_counter() - began)
    return EmbeddedTexts(
        label=f"{folder.name} weights, {runtime} {loaded.precision}",
        texts=text_vectors,
        queries=np.concatenate(query_vectors),
        texts_a_second=len(texts) / seconds,
        query_ms=1000 * float(np.median(times)),
    )


def find_neighbours(queries: Matrix, texts: Matrix, *, same: bool) -> Iterator[set[int]]:
    likeness = queries @ texts.T
    if same:
        np.fill_diagonal(likeness, -np.inf)
    for row in np.argsort(-likeness, axis=1, kind="stable")[:, :10]:
        yield set(row.tolist())


def compute_overlap(reference: Iterator[set[int]], other: Iterator[set[int]]) -> float:
    return float(np.mean([len(a & b) / 10 for a, b in zip(reference, other, strict=True)]))


def report(reference: EmbeddedTexts, other: EmbeddedTexts) -> str:
    near = [find_neighbours(v.texts, v.texts, same=True) for v in (reference, other)]
    queries = [find_neighbours(v.queries, v.texts, same=False) for v in (reference, other)]
    cosines = np.sum(reference.texts * other.texts, axis=1)
    cells = (
        other.label,
        f"{compute_overlap(*near):.4f}",
        f"{compute_overlap(*queries):.4f}",
        f"{cosines.mean():.6f}",
        f"{cosines.min():.6f}",
        f"{other.texts_a_second:.1f}",
        f"{other.query_ms:.2f}",
    )
    return f"| {' | '.join(cells)} |"


def read_texts(path: Path, limit: int) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        texts = (json.loads(line)["text"] for line in lines)
        return [text for text, _ in zip(texts, range(limit), strict=False)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/squad-retrieval"))
    parser.add_argument("--chunks", type=int, default=10**9)
    parser.add_argument("--queries", type=int, default=2000)
    arguments = parser.parse_args()
    texts = read_texts(arguments.data / "corpus.jsonl.gz", arguments.chunks)
    queries = read_texts(arguments.data / "queries.jsonl.gz", arguments.queries)
    lengths = [min(256, TOKENS.count(text) + 2) for text in texts]
    print(f"{len(texts)} texts (mean {np.mean(lengths):.0f} tokens), {len(queries)} queries\n")
    print("| variant | nn@10 texts | nn@10 queries | cos mean | cos min | texts/s | query ms |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        reference = None
        for precision, runtime in VARIANTS:
            folder = Path(temporary, precision)
            command = [sys.executable, EXPORT, "--precision", precision, "--out", folder]
            subprocess.run(command, check=True, capture_output=True)
            vectors = measure(folder, runtime, texts, queries)
            reference = reference or vectors
            print(report(reference, vectors), flush=True)


if __name__ == "__main__":
    main()
