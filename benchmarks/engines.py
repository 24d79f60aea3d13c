"""Speed of an engine as it grows: python -m benchmarks.engines --engine embedded --documents 10000.

The documents are pieces of at most 64 characters of the texts of a BEIR folder, in an order drawn
once, so a larger index holds the smaller ones whole; each is one chunk. Vectors are made by rule,
so that a million costs minutes: every word has random signs, drawn from its own bytes, and a text
has the unit vector of its words' sum. Texts that share words are near each other, and embedding a
question takes no time worth telling. What is measured is thus the engine alone.

It is ingested as a user would; a fresh process then asks questions of the data set (text in, ten
hits out) and tells its own memory; then the neighbours found are held against the exact ones.
`--engine postgresql` and `qdrant` start the servers of the tests below WORK; `--index URL` names
one that runs. An index that is there is measured without being made again. Prints a JSON object.
"""

import argparse
import gzip
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.memory import measure_peak_mb
from benchmarks.search import compute_percentiles
from numpy.typing import NDArray

from fathom.engine import Engine
from fathom.errors import IndexMissing
from fathom.settings import Settings

ENGINES = ("embedded", "postgresql", "qdrant")
CHARS = 64
FILE = 100_000
"""So many documents a file: the sandbox reads no file of any size."""
SEED = 17
HITS = 10
WARMING = 20
_WORD = re.compile(r"\w{4,}")

SERVER = {"shared_buffers": "512MB", "max_wal_size": "4GB"}
"""PostgreSQL's own defaults are for a smaller machine."""

Matrix = NDArray[np.float32]


class WordSigns:
    """An embedder by rule: the sum of random signs that each word has, as a unit vector."""

    dimension = 384
    identity: Mapping[str, str] = {
        "model": "word-signs-384",
        "sha256": hashlib.sha256(b"word-signs-384").hexdigest(),
        "runtime": "numpy",
        "precision": "fp32",
    }

    def __init__(self) -> None:
        self._signs: dict[str, NDArray[np.int8]] = {}

    def count(self, text: str) -> int:
        """Return the number of words."""
        return len(_WORD.findall(text))

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return the unit vectors of texts."""
        sums = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            words = _WORD.findall(text.lower()) or [""]
            sums[row] = np.sum([self._get_signs(word) for word in words], axis=0)
        sums[~sums.any(axis=1), 0] = 1.0  # signs that cancel out
        unit: Matrix = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        return unit

    def _get_signs(self, word: str) -> NDArray[np.int8]:
        signs = self._signs.get(word)
        if signs is None:
            bits = hashlib.shake_128(word.encode()).digest(self.dimension // 8)
            signs = np.unpackbits(np.frombuffer(bits, np.uint8)).astype(np.int8) * 2 - 1
            self._signs[word] = signs
        return signs


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The location of an engine's index."""

    url: str
    directory: Path

    def open(self) -> Engine:
        """Open an engine over it."""
        index = {"url": self.url, "directory": self.directory}
        return Engine(Settings.model_validate({"index": index}), embedder=WordSigns())


def read_pieces(dataset: Path, most: int) -> list[str]:
    """Return a number of pieces of the texts, in an order independent of the number."""
    pieces: dict[str, None] = {}
    with gzip.open(dataset / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            text = " ".join(f"{row.get('title', '')} {row['text']}".split())
            pieces.update(dict.fromkeys(_cut_text(text)))
    order = list(pieces)
    random.Random(SEED).shuffle(order)
    if len(order) < most:
        raise SystemExit(f"engines: the texts give {len(order)} pieces, not {most}")
    return order[:most]


def _cut_text(text: str) -> Iterator[str]:
    while len(text) > CHARS:
        at = text.rfind(" ", CHARS // 2, CHARS) + 1 or CHARS
        yield text[:at].strip()
        text = text[at:]
    if len(text) > CHARS // 4:
        yield text


def read_questions(dataset: Path, most: int) -> list[str]:
    """Return questions of the data set, drawn once."""
    with gzip.open(dataset / "queries.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    random.Random(SEED).shuffle(texts)
    return texts[:most]


def write_documents(texts: Sequence[str], folder: Path) -> list[Path]:
    """Write files of documents, one document per line."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for start in range(0, len(texts), FILE):
        file = folder / f"{start // FILE:03}.jsonl"
        with file.open("w", encoding="utf-8") as lines:
            for at, text in enumerate(texts[start : start + FILE], start):
                lines.write(json.dumps({"_id": f"p{at}", "title": "", "text": text}) + "\n")
        files.append(file)
    return files


def fill_index(place: Place, texts: Sequence[str], folder: Path) -> float | None:
    """Return the seconds of the ingestion; `None` if the index existed."""
    with place.open() as engine:
        try:
            if engine.status().documents == len(texts):
                return None
        except IndexMissing:
            pass
        files = write_documents(texts, folder)
        started = time.perf_counter()
        engine.ingest(files)
        return round(time.perf_counter() - started, 1)


def measure_searches(place: Place, texts: Sequence[str]) -> dict[str, Any]:
    """Return latencies of the three retrievers in this process, and its memory at the end."""
    figures: dict[str, Any] = {}
    with place.open() as engine:
        for name in ("keyword", "vector", "hybrid"):
            seconds = []
            warming = texts[:WARMING]
            for text in [*warming, *texts]:
                started = time.perf_counter()
                engine.search(text, k=HITS, retriever=name)
                seconds.append(time.perf_counter() - started)
            figures[name] = compute_percentiles(seconds[len(warming) :])
    figures["peak_rss_mb"] = measure_peak_mb()
    return figures


def measure_recall(place: Place, texts: Sequence[str], asking: Sequence[str]) -> float:
    """Return the reached share of the cosines of the ten nearest; ties count as found."""
    embedder = WordSigns()
    matrix = np.concatenate(
        [
            embedder.embed(texts[at : at + 10_000]).astype(np.float16)
            for at in range(0, len(texts), 10_000)
        ]
    )
    shares = []
    with place.open() as engine:
        for text in asking:
            vector = embedder.embed([text])[0]
            blocks = range(0, len(matrix), 100_000)
            near = [matrix[at : at + 100_000].astype(np.float32) @ vector for at in blocks]
            floor = np.sort(np.concatenate(near))[-HITS] - 1e-3  # vectors are stored in 16 bits
            hits = engine.search(text, k=HITS, retriever="vector")
            shares.append(sum(hit.score >= floor for hit in hits) / HITS)
    return round(float(np.mean(shares)), 4)


def start_server(engine: str, work: Path, stack: ExitStack) -> str:
    """Return the URL of an index on the servers of the tests; empty for the embedded engine."""
    if engine == "embedded":
        return ""
    from tests.postgres_server import Server

    work.mkdir(parents=True, exist_ok=True)
    work.chmod(0o755)  # the server runs as another user where this one is root
    server = Server(work / "postgres", SERVER)
    stack.callback(server.stop)
    if engine == "postgresql":
        return server.shared
    from tests.qdrant_server import EdgeServer

    legs = EdgeServer(work / "qdrant")
    legs.start()
    stack.callback(legs.kill)
    return f"{server.shared}+qdrant:{legs.url}/growth"


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    parser.add_argument("--engine", choices=ENGINES, default="embedded")
    parser.add_argument("--index", default="", help="URL of an index on a server that runs")
    parser.add_argument("--dataset", type=Path, default=Path("../shared/data/scale-100k"))
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--work", type=Path, help="keeps the index; by default nothing is kept")
    parser.add_argument("--ask", action="store_true", help=argparse.SUPPRESS)  # the fresh process
    return parser.parse_args()


def main() -> None:
    given = parse_options()
    with ExitStack() as stack:
        work = given.work or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        asking = read_questions(given.dataset, given.questions)
        folder = work / f"{given.engine}-{given.documents}"
        if given.ask:
            print(json.dumps(measure_searches(Place(url=given.index, directory=folder), asking)))
            return
        place = Place(url=given.index or start_server(given.engine, work, stack), directory=folder)
        texts = read_pieces(given.dataset, given.documents)
        seconds = fill_index(place, texts, work / f"documents-{given.documents}")
        command = [sys.executable, "-m", "benchmarks.engines", "--ask", "--work", str(work)]
        command += ["--engine", given.engine, "--documents", str(given.documents)]
        command += ["--questions", str(given.questions), "--dataset", str(given.dataset)]
        command += [f"--index={place.url}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
        figures = {
            "engine": given.engine,
            "documents": given.documents,
            "ingest_s": seconds,
            **json.loads(done.stdout),
            "recall@10": measure_recall(place, texts, asking[:100]),
            "load": round(os.getloadavg()[0], 1),
        }
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
