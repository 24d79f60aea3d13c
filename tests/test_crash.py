"""Ingestion killed at any instant: nothing acknowledged is lost, and the work can be continued.

`KILLS` sets how many processes are killed (2 by default; `make crash` sets 50), `SEED` draws the
instants. Files are parsed in the process itself and embedded without weights: nearly all the time
goes to what a kill hurts.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path

from fathom.config import IndexSettings, Settings
from fathom.engine import Engine
from fathom.errors import IndexMissing

KILLS = int(os.environ.get("KILLS", "2"))
SEED = int(os.environ.get("SEED", "20261122"))
DOCUMENTS = 200
EARLIEST = 0.4  # of the time of an undisturbed run: before it Python is still importing
LATEST = 0.5  # with nothing left to do: some come to their end
WORKING = 0.7  # how much later with everything left
CHILD = """
from contextlib import nullcontext
from fathom.assembly import models as assembly
from fathom.documents.sandbox import parent
from fathom.documents.parse import parse_bytes
from fathom.ingest import ingest, read_ahead
from fathom.testing.doubles import HashingEmbedder
from fathom.serving import cli

assert ingest.read_file
ingest.read_file = lambda path, *_: parse_bytes(path.read_bytes(), path.name)
assembly.load_embedder = lambda *_, **__: HashingEmbedder()
assert read_ahead.begin_file and read_ahead.check_large_file and parent.Sandbox
read_ahead.begin_file = read_ahead.check_large_file = lambda *_: None
parent.Sandbox = lambda _: nullcontext()
cli.main()
"""
WORDS = ("harbour", "ferry", "permit", "ledger", "bridge", "winter", "notice", "crown", "quarry")


def make_text(name: str, generation: int) -> str:
    """Return a document's text; about every third one is new in each generation."""
    age = generation if sum(name.encode()) % 3 == generation % 3 else 0
    words = random.Random(f"{name} {age}")
    body = " ".join(words.choices(WORDS, k=words.randint(20, 120)))
    return f"# Notice {name}, edition {age}\n\n{body}\n"


def write_generation(folder: Path, generation: int) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    texts = {f"n{n:03d}.md": make_text(f"n{n:03d}", generation) for n in range(DOCUMENTS)}
    for name, text in texts.items():
        (folder / name).write_text(text)
    return texts


def start(folder: Path, index: Path, log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", CHILD, "ingest", str(folder)]
    command += ["--index", str(index), "--offline", "-v", "--set", "ingest.batch_documents=8"]
    with log.open("wb") as stderr:
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)


def read_acknowledged(log: Path) -> set[str]:
    """Return the names of the files that the process reported as stored."""
    lines = [line.split() for line in log.read_text().splitlines(keepends=True) if line[-1] == "\n"]
    return {
        Path(words[2].rstrip(":")).name for words in lines if len(words) > 2 and words[1] == "ok"
    }


def read_stored(index: Path) -> dict[str, str]:
    """Return the text of every document by file name, and check that its chunks are complete.

    Before its first commit an index is not there yet, and stores nothing.
    """
    with Engine(Settings(index=IndexSettings(directory=index))) as engine:
        try:
            assert engine.verify() == []
        except IndexMissing:
            return {}
        summaries = list(engine.documents.list())
        names = [Path(summary.path).name for summary in summaries]
        assert len(names) == len(set(names)), "a document is there twice"
        assert all(summary.chunks > 0 for summary in summaries)
        return {
            name: engine.documents.get(document.id).text
            for name, document in zip(names, summaries, strict=True)
        }


def hash_content(index: Path) -> str:
    """Return the hash of everything stored, independent of the order of arrival."""
    with Engine(Settings(index=IndexSettings(directory=index))) as engine:
        return engine.status().content


def hash_undisturbed(folder: Path, index: Path) -> str:
    """Return the content hash of an index that was built from nothing without interruption."""
    assert start(folder, index, index.with_suffix(".log")).wait() == 0
    return hash_content(index)


def list_words(text: str) -> list[str]:
    return text.replace("#", "").split()


def check_killed(
    index: Path, log: Path, before: dict[str, str], after: dict[str, str], earlier: Collection[str]
) -> dict[str, str]:
    """Check the state after a kill: acknowledged documents are stored, stored ones are complete.

    Args:
        index: The index.
        log: What the killed process reported.
        before: The texts of the generation before, by file name.
        after: Those of this generation.
        earlier: The names of the files that were stored before the process began.
    """
    texts = read_stored(index)
    names = read_acknowledged(log)
    assert set(earlier) <= set(texts), "a document of an earlier process is lost"
    assert names <= set(texts), "an acknowledged document is lost"
    for name, text in texts.items():
        versions = [list_words(after[name])]
        if name in before and name not in names:
            versions.append(list_words(before[name]))
        assert list_words(text) in versions, f"{name} is neither wholly old nor wholly new"
    assert not before or set(texts) == set(after), "a document vanished while it was replaced"
    return texts


def compute_share_left(texts: dict[str, str], after: dict[str, str]) -> float:
    """Return the share of the documents that is still to be stored."""
    missing = (list_words(texts.get(name, "")) != list_words(text) for name, text in after.items())
    return sum(missing) / len(after)


def run_for(process: subprocess.Popen[bytes], seconds: float | None) -> bool:
    """Run the process and return whether it was killed because it took longer; `None` waits."""
    try:
        assert process.wait(timeout=seconds) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True
    return False


def test_a_kill_at_any_instant_loses_and_duplicates_nothing(
    tmp_path: Path, count_probes: Callable[[int], None]
) -> None:
    generator = random.Random(SEED)
    folder, index, log = tmp_path / "corpus", tmp_path / "index", tmp_path / "log"
    before: dict[str, str] = {}
    kills = generation = 0
    while kills < KILLS:
        after = write_generation(folder, generation)
        started = time.monotonic()
        clean = hash_undisturbed(folder, tmp_path / f"clean-{generation}")
        whole = time.monotonic() - started
        texts = before
        # After the last kill it comes to its end undisturbed, however slow the machine is.
        while run_for(
            start(folder, index, log),
            whole * draw_instant(generator, texts, after) if kills < KILLS else None,
        ):
            kills += 1
            count_probes(1)
            texts = check_killed(index, log, before, after, texts)
        assert hash_content(index) == clean
        generation += 1
        before = after


def draw_instant(generator: random.Random, texts: dict[str, str], after: dict[str, str]) -> float:
    """Draw when to kill, in units of an undisturbed run; sometimes nothing is left to do by
    then.
    """
    return generator.uniform(EARLIEST, LATEST + WORKING * compute_share_left(texts, after))
