"""One system in its own environment: python -m benchmarks.rivals.worker SYSTEM FOLDER JOB.

`ingest TABLE` reads the corpus from standard input, an object of texts by name, and prints what
it took. `serve` reads a list of questions, opens the index, answers a first question, and prints
how long that took from the start, the seconds and names of each question, and its memory. `answer`
reads such a list too; it prints the seconds of each answer, how many were given, and its memory.
"""

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.memory import measure_peak_mb

if TYPE_CHECKING:
    from benchmarks.rivals.embedder import TimedEmbedder
    from benchmarks.rivals.systems import System

STARTED = time.perf_counter()


def ingest(name: str, folder: Path, table: Path) -> dict[str, object]:
    from benchmarks.rivals.embedder import Table, TimedEmbedder
    from benchmarks.rivals.systems import SYSTEMS

    documents = json.load(sys.stdin)
    embedder = TimedEmbedder(Table(table, list(documents.values())))
    folder.mkdir(parents=True, exist_ok=True)
    system = SYSTEMS[name](folder, embedder)
    embedder.seconds = 0.0
    started = time.perf_counter()
    system.ingest(documents)
    whole = time.perf_counter() - started
    return {
        "ingest_s": whole - embedder.seconds,
        "unforeseen_embedding_s": embedder.seconds,
        "ingest_mb": measure_peak_mb(),
    }


def serve(name: str, folder: Path) -> dict[str, object]:
    from benchmarks.rivals.embedder import TimedEmbedder
    from benchmarks.rivals.systems import SYSTEMS

    embedder = TimedEmbedder()
    system = SYSTEMS[name](folder, embedder)
    system.open()
    system.search("what is the first question")
    first = time.perf_counter() - STARTED
    searches = [search(system, embedder, text) for text in json.load(sys.stdin)]
    return {"first_hit_s": first, "found": searches, "search_mb": measure_peak_mb()}


def answer(name: str, folder: Path) -> dict[str, object]:
    from benchmarks.rivals.embedder import TimedEmbedder
    from benchmarks.rivals.systems import SYSTEMS

    system = SYSTEMS[name](folder, TimedEmbedder())
    system.open()
    system.answer("what is the first question")
    taken, answers = [], 0
    for text in json.load(sys.stdin):
        started = time.perf_counter()
        answers += bool(system.answer(text))
        taken.append(time.perf_counter() - started)
    return {"answers_s": taken, "said": answers, "answer_mb": measure_peak_mb()}


def search(system: "System", embedder: "TimedEmbedder", text: str) -> dict[str, object]:
    before = embedder.seconds
    started = time.perf_counter()
    hits = system.search(text)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "embedding_s": embedder.seconds - before, "names": list(hits)}


def main() -> None:
    out, sys.stdout = sys.stdout, sys.stderr  # what libraries print is none of our lines
    chosen, place, job, *rest = sys.argv[1:]
    jobs = {"ingest": ingest, "serve": serve, "answer": answer}
    output = jobs[job](chosen, Path(place), *map(Path, rest))
    print(json.dumps(output), file=out, flush=True)


if __name__ == "__main__":
    main()
