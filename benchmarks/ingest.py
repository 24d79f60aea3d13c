"""Speed of ingestion: python benchmarks/ingest.py --files 1000 --workers 1,2.

Generated files go into a new index, once for each of --workers (numbers of processes, or `ray`),
with --threads threads a worker. Prints one JSON object: for each the seconds until the first
search by words finds something and until all documents are found, counted from the first file
that was read; seconds in all, files and chunks a second, and the rate over that of the first one.
"""

import argparse
import json
import random
import tempfile
import threading
import time
from pathlib import Path

from fathom.engine import Engine
from fathom.errors import FathomError
from fathom.index.embedded.opening import open_reader
from fathom.index.ingest import IngestReport
from fathom.index.ingest_progress import Advance
from fathom.settings.tree import Settings

WORDS = ("harbour", "ferry", "permit", "ledger", "bridge", "winter", "notice", "crown")


class Watch:
    """Looks into an index again and again, as somebody would who searches it meanwhile."""

    def __init__(self, place: Path, files: int) -> None:
        self.place, self.files = place, files
        self.read = self.first = self.all = 0.0
        self.done = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def told(self, report: IngestReport, advance: Advance) -> None:
        """See `IngestProgress`."""
        del report
        if not self.read and advance.place:
            self.read = time.perf_counter()

    def _look(self) -> None:
        while not self.done.wait(0.1) and not self.all:
            try:
                with open_reader(self.place) as reader:
                    found = len(reader.keyword_search("harbour", k=self.files))
            except FathomError:
                continue
            now = time.perf_counter()
            self.first = self.first or (now if found else 0.0)
            self.all = now if found == self.files else 0.0

    def end(self) -> None:
        """Look no more."""
        self.done.set()
        self._thread.join()


def write_files(folder: Path, files: int, words: int) -> None:
    draw = random.Random(17)
    for number in range(files):
        text = " ".join(draw.choices(WORDS, k=words))
        (folder / f"{number:05}.md").write_text(f"# Notice {number}\n\nThe harbour. {text}.\n")


def measured(docs: Path, place: Path, workers: str, threads: int) -> dict[str, float | str]:
    files = len(list(docs.iterdir()))
    tree = {
        "index": {"directory": place},
        "ingest": {"workers": workers},
        "models": {"threads": threads},
    }
    watch = Watch(place, files)
    with Engine(Settings.model_validate(tree)) as engine:
        begun = time.perf_counter()
        try:
            report = engine.ingest([docs], on_progress=watch.told)
        finally:
            seconds = time.perf_counter() - begun
            watch.end()
        content = engine.status().content
    return {
        "workers": workers,
        "first_found_s": round(watch.first - watch.read, 2),
        "all_found_s": round(watch.all - watch.read, 2),
        "seconds": round(seconds, 2),
        "files_per_s": round(files / seconds, 1),
        "chunks_per_s": round(report.chunks / seconds, 1),
        "content": content,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--words", type=int, default=120, help="of a file")
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--threads", type=int, default=1, help="of a worker")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        docs = Path(folder) / "docs"
        docs.mkdir()
        write_files(docs, options.files, options.words)
        rows = [
            measured(docs, Path(folder) / f"index{number}", workers, options.threads)
            for number, workers in enumerate(options.workers.split(","))
        ]
    same = len({row.pop("content") for row in rows}) == 1
    base = float(rows[0]["seconds"])
    for row in rows:
        row["rate_over_first"] = round(base / float(row["seconds"]), 2)
    told = {"files": options.files, "threads": options.threads, "same_content": same, "runs": rows}
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
