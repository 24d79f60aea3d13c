"""Speed of ingestion: python benchmarks/ingest.py --files 1000 --workers 1,2.

Generated files go into a new index, once for each of --workers (numbers of processes, or `ray`),
with --threads threads a worker. Prints one JSON object: for each the seconds until the first
search by words finds something and until all documents are found, counted from the first file
that was read; seconds in all, processor seconds of the process that writes and of all that it
started, files and chunks a second, and the rate over that of the first one.

With --vectors given no model is asked and nobody searches meanwhile, so that all but the embedding
is measured; with --as records
the texts are records of one JSONL file. --repeat takes every run so many times and gives the median
of the seconds.
"""

import argparse
import json
import os
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from fathom.engine import Engine
from fathom.errors import FathomError
from fathom.index.embedded.opening import open_reader
from fathom.ingest.progress import IngestState
from fathom.ingest.report import IngestReport
from fathom.models.base import Matrix
from fathom.settings.tree import Settings

DIMENSION = 384
WORDS = ("harbour", "ferry", "permit", "ledger", "bridge", "winter", "notice", "crown")


class ConstantEmbedder:
    """Vectors without cost; that of a text depends on its length."""

    dimension = DIMENSION
    identity: Mapping[str, str] = {"model": "given", "sha256": "", "runtime": "", "precision": ""}

    def __init__(self) -> None:
        drawn = np.random.default_rng(17).normal(size=(64, DIMENSION))
        self._table = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of texts."""
        vectors: Matrix = self._table[[len(text) % len(self._table) for text in texts]]
        return vectors

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        return len(text.split())


class Watch:
    """Searches an index again and again, as somebody would during the ingestion."""

    def __init__(self, place: Path, files: int, *, looks: bool) -> None:
        self.place, self.files = place, files
        self.read = self.first = self.all = 0.0
        self.done = threading.Event()
        if not looks:
            self.done.set()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def record_progress(self, report: IngestReport, advance: IngestState) -> None:
        """Record the progress of an ingestion."""
        del report
        if not self.read and advance.place:
            self.read = time.perf_counter()

    def _look(self) -> None:
        while not self.done.wait(0.1) and not self.all:
            try:
                with open_reader(self.place) as reader:
                    count = len(reader.keyword_search("harbour", k=self.files))
            except FathomError:
                continue
            now = time.perf_counter()
            self.first = self.first or (now if count else 0.0)
            self.all = now if count == self.files else 0.0

    def end(self) -> None:
        """Stop searching."""
        self.done.set()
        self._thread.join()


def write_files(folder: Path, files: int, words: int, *, records: bool = False) -> None:
    draw = random.Random(17)
    texts = (" ".join(draw.choices(WORDS, k=words)) for _ in range(files))
    if records:
        with (folder / "corpus.jsonl").open("w") as file:
            for number, text in enumerate(texts):
                row = {"_id": str(number), "text": f"The harbour. {number} {text}."}
                file.write(json.dumps(row) + "\n")
        return
    for number, text in enumerate(texts):
        (folder / f"{number:05}.md").write_text(f"# Notice {number}\n\nThe harbour. {text}.\n")


def measure_ingest(
    docs: Path, place: Path, workers: str, options: argparse.Namespace
) -> dict[str, Any]:
    tree = {
        "index": {"directory": place},
        "ingest": {"workers": workers},
        "models": {"threads": options.threads},
    }
    embedder = ConstantEmbedder() if options.vectors == "given" else None
    watch = Watch(place, options.files, looks=embedder is None)
    with Engine(Settings.model_validate(tree), embedder=embedder) as engine:
        before, begun = os.times(), time.perf_counter()
        try:
            report = engine.ingest([docs], on_progress=watch.record_progress)
        finally:
            seconds = time.perf_counter() - begun
            watch.end()
        after, content = os.times(), engine.status().content
    return {
        "workers": workers,
        "first_found_s": round(watch.first - watch.read, 2) if watch.all else None,
        "all_found_s": round(watch.all - watch.read, 2) if watch.all else None,
        "seconds": round(seconds, 2),
        "writer_processor_s": round(after[0] + after[1] - before[0] - before[1], 2),
        "started_processor_s": round(after[2] + after[3] - before[2] - before[3], 2),
        "documents_per_s": round(report.documents / seconds, 1),
        "chunks_per_s": round(report.chunks / seconds, 1),
        "content": content,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--words", type=int, default=120, help="of a file")
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--threads", type=int, default=1, help="of a worker")
    parser.add_argument("--vectors", choices=("made", "given"), default="made")
    parser.add_argument("--as", dest="kind", choices=("files", "records"), default="files")
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        docs = Path(folder) / "docs"
        docs.mkdir()
        write_files(docs, options.files, options.words, records=options.kind == "records")
        runs = [
            measure_ingest(docs, Path(folder) / f"index{turn}-{number}", workers, options)
            for turn in range(options.repeat)
            for number, workers in enumerate(options.workers.split(","))
        ]
    same = len({run.pop("content") for run in runs}) == 1
    rows = [_find_median(runs, workers) for workers in options.workers.split(",")]
    for row in rows:
        row["rate_over_first"] = round(rows[0]["seconds"] / row["seconds"], 2)
    print(json.dumps({**vars(options), "same_content": same, "runs": rows}, indent=1))


def _find_median(runs: Sequence[dict[str, Any]], workers: str) -> dict[str, Any]:
    """Return the run of the median seconds."""
    runs_of_workers = sorted(
        (run for run in runs if run["workers"] == workers), key=lambda run: run["seconds"]
    )
    middle = statistics.median_low([run["seconds"] for run in runs_of_workers])
    return next(run for run in runs_of_workers if run["seconds"] == middle)


if __name__ == "__main__":
    import_module("ingest").main()  # this file, under a name by which workers find `Given`
