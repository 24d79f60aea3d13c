"""The end-to-end time of a question, and the memory of the asking process.

    python benchmarks/asking.py [--rounds 3] [--strategy adaptive] [--index DIR] [--json FILE]

Asks the questions of `samples/` with default settings, one after the other. Each round has an
engine of its own, so that nothing that was read for a question before is still known; the first
few questions are not timed, as models are loaded then. Prints the median and the 95th percentile in
milliseconds over all rounds, the median of each round, and the most memory that the process held in
the first one. Without `--index` the samples are ingested first, by a process of its own, whose
memory does not count.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fathom.engine import Engine
from fathom.settings import IndexSettings, Settings

SAMPLES = Path(__file__).parent.parent / "samples"
FIRST = 5
"""Questions that are not timed."""


def read_questions() -> list[str]:
    """Return the questions of the samples."""
    lines = (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


def measure_ms(index: Path, texts: Sequence[str], strategy: str) -> list[float]:
    """Return the milliseconds of each question except the first few."""
    times = []
    with Engine(Settings(index=IndexSettings(directory=index))) as engine:
        for text in texts:
            started = time.perf_counter()
            engine.ask(text, strategy=strategy)
            times.append(1_000 * (time.perf_counter() - started))
    return times[FIRST:]


def measure_asking(index: Path, strategy: str, rounds: int) -> dict[str, Any]:
    """Return the figures that `main` prints."""
    texts = read_questions()
    times = [measure_ms(index, texts, strategy)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times += [measure_ms(index, texts, strategy) for _ in range(rounds - 1)]
    every = sorted(elapsed for round_times in times for elapsed in round_times)
    return {
        "strategy": strategy,
        "questions": len(texts) - FIRST,
        "p50_ms": round(statistics.median(every), 1),
        "p95_ms": round(every[int(0.95 * (len(every) - 1))], 1),
        "p50_ms of each round": [round(statistics.median(round_times), 1) for round_times in times],
        "peak_rss_mb": round(peak / 1024),
    }


def main() -> None:
    """Ingest if needed, ask, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--strategy", default="adaptive")
    parser.add_argument("--index", type=Path, help="one of the samples that is there already")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        index = options.index or Path(place) / "index"
        if options.index is None:
            fathom = Path(sys.executable).with_name("fathom")
            command = [fathom, "ingest", SAMPLES / "corpus", "--index", index]
            subprocess.run(command, check=True, capture_output=True)
        figures = measure_asking(index, options.strategy, options.rounds)
    print(json.dumps(figures, indent=1))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
