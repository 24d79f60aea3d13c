"""Ways to embed many texts: python benchmarks/embedding.py --texts 400.

The texts are those of a BEIR folder (--dataset), or generated; each is cut at 1,200 characters, as
a chunk is. For each way: texts a second, processor seconds, whether the stored vectors (float16)
are the same to the last bit, and which share of the ten nearest texts of each gets lost.
The ways in turn, --rounds times, the median of each: one run with all threads; runs of one thread
side by side (what an ingestion does); one text at a time; padded batches, with the share of the
tokens that is padding (the shipped model takes no mask, so that these vectors differ); products of
8 bits; and OpenVINO where it is installed (bf16 where the processor has it).
"""

import argparse
import gzip
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fathom.models.base import Embedder, Matrix, get_bulk_embedder
from fathom.models.embedder import SHIPPED, SHIPPED_INT8, load_embedder, load_int8
from fathom.models.runtime import BATCH_TOKENS, count_cores, load_runtime
from fathom.models.tokens import WordPiece

RESOURCES = Path(str(resources.files("fathom.models") / "resources"))
LIMIT = 256
NEAREST = 10
WORDS = ("harbour", "ferry", "permit", "ledger", "bridge", "winter", "notice", "crown", "2026")
Way = Callable[[Sequence[str]], Matrix]


def read_texts(dataset: Path | None, number: int) -> list[str]:
    if dataset is None:
        draw = random.Random(17)
        return [" ".join(draw.choices(WORDS, k=draw.randint(5, 200))) for _ in range(number)]
    texts: list[str] = []
    with gzip.open(dataset / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            text = json.loads(line)["text"][:1200]
            if text.strip():
                texts.append(text)
            if len(texts) == number:
                break
    return texts


class Padded:
    """Batches of texts of similar length, padded to the longest."""

    def __init__(self, *, in_order: bool) -> None:
        self._runtime = load_runtime(RESOURCES / f"{SHIPPED}.onnx")
        self._tokens = WordPiece.read(RESOURCES / "vocab.txt")
        self._in_order = in_order
        self.wasted = 0.0

    def __call__(self, texts: Sequence[str]) -> Matrix:
        """The vectors of the texts."""
        ids = [self._tokens.encode(text, LIMIT) for text in texts]
        order = list(range(len(ids)))
        if not self._in_order:
            order.sort(key=lambda place: len(ids[place]))
        vectors = np.empty((len(ids), 384), dtype=np.float32)
        tokens = 0
        for batch in _make_batches(order, ids):
            width = max(len(ids[place]) for place in batch)
            tokens += width * len(batch)
            vectors[batch] = self._run([ids[place] for place in batch], width)
        self.wasted = 1 - sum(map(len, ids)) / tokens
        return vectors

    def _run(self, rows: Sequence[Sequence[int]], width: int) -> Matrix:
        padded: NDArray[np.int64] = np.zeros((len(rows), width), dtype=np.int64)
        mask = np.zeros_like(padded)
        for place, row in enumerate(rows):
            padded[place, : len(row)] = row
            mask[place, : len(row)] = 1
        every = {"input_ids": padded, "attention_mask": mask}
        every["token_type_ids"] = np.zeros_like(padded)
        return self._runtime.run({name: every[name] for name in self._runtime.inputs})


def _make_batches(order: Sequence[int], ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    batch: list[int] = []
    for place in order:
        width = max(len(ids[number]) for number in [*batch, place])
        if batch and width * (len(batch) + 1) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(place)
    yield batch


def embed_singly(embedder: Embedder) -> Way:
    return lambda texts: np.concatenate([embedder.embed([text]) for text in texts])


def list_ways() -> dict[str, Way]:
    shipped, narrow = load_embedder(), load_int8()
    embedders: dict[str, Way] = {
        f"one run, {count_cores()} threads": shipped.embed,
        f"{count_cores()} runs of one thread (ingestion)": get_bulk_embedder(shipped).embed,
        "one run, one thread": load_embedder(threads=1).embed,
        "one text at a time": embed_singly(shipped),
        "padded, sorted by length": Padded(in_order=False),
        "padded, as they come": Padded(in_order=True),
        f"{SHIPPED_INT8}, one run": narrow.embed,
        f"{SHIPPED_INT8}, {count_cores()} runs (its ingestion)": get_bulk_embedder(narrow).embed,
    }
    if find_spec("openvino"):
        embedders["OpenVINO"] = load_embedder(runtime="openvino").embed
    return embedders


def find_nearest(vectors: Matrix) -> NDArray[np.int64]:
    near = vectors.astype(np.float16).astype(np.float32)
    scores = near @ near.T
    np.fill_diagonal(scores, -1)
    neighbours: NDArray[np.int64] = np.argsort(-scores, axis=1, kind="stable")[:, :NEAREST]
    return neighbours


def count_lost(neighbours: NDArray[np.int64], exact: NDArray[np.int64]) -> float:
    shared = [
        len(set(a) & set(b)) for a, b in zip(neighbours.tolist(), exact.tolist(), strict=True)
    ]
    return 1 - statistics.mean(shared) / NEAREST


def measure_ways(texts: list[str], rounds: int) -> list[dict[str, object]]:
    tried = list_ways()
    seconds: dict[str, list[float]] = {name: [] for name in tried}
    spent: dict[str, list[float]] = {name: [] for name in tried}
    vectors: dict[str, Matrix] = {}
    for way in tried.values():
        way(texts[:32])  # loads what is loaded late
    for _ in range(rounds):
        for name, way in tried.items():
            begun, worked = time.perf_counter(), time.process_time()
            vectors[name] = way(texts)
            seconds[name].append(time.perf_counter() - begun)
            spent[name].append(time.process_time() - worked)
    first = next(iter(tried))
    exact = find_nearest(vectors[first])
    base = len(texts) / statistics.median(seconds[first])
    rows: list[dict[str, object]] = []
    for name, way in tried.items():
        rate = len(texts) / statistics.median(seconds[name])
        half = vectors[name].astype(np.float16)
        row: dict[str, object] = {
            "way": name,
            "texts_per_s": round(rate, 1),
            "over_first": round(rate / base, 2),
            "processor_s": round(statistics.median(spent[name]), 1),
            "same_stored_bits": bool((half == vectors[first].astype(np.float16)).all()),
            "nearest_lost": round(count_lost(find_nearest(vectors[name]), exact), 4),
        }
        if isinstance(way, Padded):
            row["padding"] = round(way.wasted, 3)
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dataset", type=Path, help="a BEIR folder with corpus.jsonl.gz")
    options = parser.parse_args()
    texts = read_texts(options.dataset, options.texts)
    rows = measure_ways(texts, options.rounds)
    print(json.dumps({"texts": len(texts), "rounds": options.rounds, "ways": rows}, indent=1))


if __name__ == "__main__":
    main()
