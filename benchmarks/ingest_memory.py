"""Memory of ingestion: python benchmarks/ingest_memory.py --of gone,failing,linked,records.

Each kind is ingested in a process of its own with --sizes of them: files that are gone (once kept,
once removed by `prune`), files that cannot be read, hard links of one file, and records of one
corpus file that is read and then read again as it has changed. Prints one JSON object: the peak of
resident memory of the process that writes, in MB, by kind and size. Vectors are given and short, so
that what grows with chunks is small.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fathom.engine import Engine
from fathom.models.base import Matrix
from fathom.settings.tree import Settings

DIMENSION = 8
KINDS = ("gone", "pruned", "failing", "linked", "records")


class ConstantEmbedder:
    """Vectors without cost, all the same."""

    dimension = DIMENSION
    identity: Mapping[str, str] = {"model": "given", "sha256": "", "runtime": "", "precision": ""}

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of texts."""
        return np.full((len(texts), DIMENSION), DIMENSION**-0.5, dtype=np.float32)

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        return len(text.split())


def write_documents(docs: Path, kind: str, size: int) -> None:
    """Write the documents of the first ingestion."""
    docs.mkdir()
    if kind == "records":
        with (docs / "corpus.jsonl").open("w") as file:
            for n in range(size):
                file.write(json.dumps({"_id": str(n), "text": f"Record {n} says so."}) + "\n")
        return
    (docs / "first.md").write_text("A file that all links lead to.")
    for n in range(size):
        file = docs / f"{n:06}-with-a-name-of-some-length"
        if kind == "linked":
            os.link(docs / "first.md", file.with_suffix(".md"))
        elif kind == "failing":
            file.with_suffix(".pdf").write_bytes(b"%PDF-1.7\nnothing" + str(n).encode())
        else:
            file.with_suffix(".md").write_text(f"Notice {n} is short.")


def change_documents(docs: Path, kind: str) -> None:
    """Change the documents before the measured ingestion."""
    if kind == "records":
        with (docs / "corpus.jsonl").open("a") as file:
            file.write(json.dumps({"_id": "last", "text": "A record that was added."}) + "\n")
    elif kind in {"gone", "pruned"}:
        for file in docs.glob("0*.md"):
            file.unlink()


def ingest_folder(folder: Path, *, prune: bool) -> float:
    """Ingest the folder and return the peak of resident memory in MB."""
    tree = {"index": {"directory": folder / "index"}, "models": {"threads": 1}}
    with Engine(Settings.model_validate(tree), embedder=ConstantEmbedder()) as engine:
        engine.ingest([folder / "docs"], prune=prune)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1024 if sys.platform != "darwin" else 1 << 20), 1)


def measure_memory(kind: str, size: int) -> list[float]:
    """Return the memory of the first and of the second ingestion."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_documents(folder / "docs", kind, size)
        peaks = []
        for turn in (1, 2):
            command = [sys.executable, __file__, "--in", name]
            completed = subprocess.run(
                command + ["--prune"] * (kind == "pruned"), capture_output=True, check=True
            )
            peaks.append(float(completed.stdout.decode().split()[-1]))
            if turn == 1:
                change_documents(folder / "docs", kind)
        return peaks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", default=",".join(KINDS))
    parser.add_argument("--sizes", default="1000,10000")
    parser.add_argument("--in", dest="folder", help=argparse.SUPPRESS)
    parser.add_argument("--prune", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder:
        print(ingest_folder(Path(options.folder), prune=options.prune))
        return
    sizes = [int(size) for size in options.sizes.split(",")]
    figures = {
        kind: {size: measure_memory(kind, size) for size in sizes} for kind in options.of.split(",")
    }
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
