"""One system in its own environment: worker.py SYSTEM FOLDER JOB; speaks JSON lines.

`ingest` reads the corpus from standard input as one object of texts by name and prints what it
took. `serve` opens the index, answers a first question and prints that it is ready; then it prints
for every line of questions, a list, the seconds and the names found for each.
"""

import gc
import json
import resource
import sys
import time
from pathlib import Path

STARTED = time.perf_counter()


def peak_mb() -> int:
    """The largest resident size so far."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def ingest(name: str, folder: Path, table: Path | None) -> None:
    from embedder import Table, TimedEmbedder
    from systems import SYSTEMS, versions

    documents = json.load(sys.stdin)
    texts = list(documents.values())
    known = Table(table, texts) if table else None
    embedder = TimedEmbedder(known)
    folder.mkdir(parents=True, exist_ok=True)
    system = SYSTEMS[name](folder, embedder)
    embedder.seconds = 0.0
    started = time.perf_counter()
    system.ingest(documents)
    whole = time.perf_counter() - started
    looked_up = known.seconds if known else 0.0
    tell(
        documents=len(documents),
        embedding_s=embedder.seconds + looked_up,
        own_s=whole - embedder.seconds,
        peak_mb=peak_mb(),
        versions=versions(name),
    )


def serve(name: str, folder: Path) -> None:
    from embedder import TimedEmbedder
    from systems import SYSTEMS

    embedder = TimedEmbedder()
    system = SYSTEMS[name](folder, embedder)
    system.open()
    system.search("what is the first question")
    tell(first_hit_s=time.perf_counter() - STARTED)
    for line in sys.stdin:
        gc.collect()
        found = [ask(system, embedder, text) for text in json.loads(line)]
        tell(found=found, peak_mb=peak_mb())


def ask(system: object, embedder: object, text: str) -> dict[str, object]:
    before = embedder.seconds
    started = time.perf_counter()
    names = system.search(text)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "embedding_s": embedder.seconds - before, "names": names}


def tell(**what: object) -> None:
    print(json.dumps(what), file=OUT, flush=True)


if __name__ == "__main__":
    OUT, sys.stdout = sys.stdout, sys.stderr  # what libraries print is none of our lines
    chosen, place, job, *rest = sys.argv[1:]
    if job == "ingest":
        ingest(chosen, Path(place), Path(rest[0]) if rest else None)
    else:
        serve(chosen, Path(place))
