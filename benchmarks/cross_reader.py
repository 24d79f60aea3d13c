"""Speed and memory of the cross-reader.

    python benchmarks/cross_reader.py [--threads 2] [--rounds 20] [--words 150] [--json FILE]

Reads 1, 4, 8 and 24 pairs of a question and a generated chunk of about `--words` words (one token
each, lengths differ a little, as those of real chunks do), with every runtime that is installed,
each in a process of its own. Prints medians in milliseconds, the time to load, the memory that
loading and reading added, and the size of the model's file.
"""

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from fathom.models.cross_reader import OnnxCrossReader
from fathom.models.reader_loading import SHIPPED, load_shipped_reader
from fathom.types import Chunk, Span

RUNTIMES = ("onnxruntime", "openvino")
PAIRS = (1, 4, 8, 24)
WORDS = ("harbour", "ferry", "permit", "bridge", "winter", "notice", "crown", "boat", "city", "day")


def make_chunks(count: int, words: int, seed: int) -> list[Chunk]:
    generator = random.Random(seed)
    texts = []
    for _ in range(count):
        length = generator.randint(words * 4 // 5, words * 6 // 5)
        text = " ".join(generator.choices(WORDS, k=length)) + "."
        texts.append(
            Chunk(
                id="d#0",
                document_id="d",
                text=text,
                span=Span(0, len(text)),
                ordinal=0,
                title="Harbour fees",
            )
        )
    return texts


def measure_read_ms(reader: OnnxCrossReader, count: int, words: int, round_: int) -> float:
    """Return the milliseconds of one reading of new pairs."""
    new = make_chunks(count, words, seed=1_000 * round_ + count)
    started = time.perf_counter()
    reader.open_session("How much does a permit for a boat in the harbour cost?").read(new)
    return 1_000 * (time.perf_counter() - started)


def measure_resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure_runtime(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of one process with one runtime."""
    before, started = measure_resident_mb(), time.perf_counter()
    reader = load_shipped_reader(
        arguments.model, runtime=arguments.runtime, threads=arguments.threads
    )
    loaded = time.perf_counter() - started
    figures: dict[str, Any] = {"runtime": arguments.runtime, "load_ms": round(1_000 * loaded)}
    for count in PAIRS:
        measure_read_ms(reader, count, arguments.words, round_=-1)
        times = [
            measure_read_ms(reader, count, arguments.words, number)
            for number in range(arguments.rounds)
        ]
        figures[f"{count} pairs ms"] = round(statistics.median(times), 1)
    figures["memory_mb"] = round(measure_resident_mb() - before)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--words", type=int, default=150, help="of a chunk, on average")
    parser.add_argument("--model", default=SHIPPED, help="shipped, english, or a folder")
    parser.add_argument("--runtime", choices=RUNTIMES, help="this one only, in this process")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.runtime:
        print(json.dumps(measure_runtime(arguments)))
        return
    rows = []
    for runtime in RUNTIMES:
        command = [sys.executable, *sys.argv, "--runtime", runtime]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        last = (done.stderr.splitlines() or [""])[-1]
        rows.append(
            json.loads(done.stdout) if not done.returncode else {"runtime": runtime, "error": last}
        )
    figures = {"machine": platform.machine(), "threads": arguments.threads, "rows": rows}
    print(json.dumps(figures, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
