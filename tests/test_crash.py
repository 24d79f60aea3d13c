"""Killed at any instant, ingestion loses nothing acknowledged and can be continued.

`KILLS` sets how many processes are killed (10 by default; `make crash` sets 50).
"""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

from fathom.config import IndexSettings, Settings
from fathom.engine import Engine

KILLS = int(os.environ.get("KILLS", "10"))
DOCUMENTS = 300
WORDS = ("harbour", "ferry", "permit", "ledger", "bridge", "winter", "notice", "crown", "quarry")


def text_of(name: str, generation: int) -> str:
    """A document's text; about every third one is new in each generation."""
    age = generation if sum(name.encode()) % 3 == generation % 3 else 0
    words = random.Random(f"{name} {age}")
    body = " ".join(words.choices(WORDS, k=words.randint(20, 120)))
    return f"# Notice {name}, edition {age}\n\n{body}\n"


def write_generation(folder: Path, generation: int) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    texts = {f"n{n:03d}.md": text_of(f"n{n:03d}", generation) for n in range(DOCUMENTS)}
    for name, text in texts.items():
        (folder / name).write_text(text)
    return texts


def start(folder: Path, index: Path, log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "fathom.serving.cli", "ingest", str(folder)]
    command += ["--index", str(index), "--offline", "-v", "--set", "ingest.batch_documents=8"]
    with log.open("wb") as stderr:
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)


def acknowledged(log: Path) -> set[str]:
    """Names of the files that the process has said to be stored."""
    lines = [line.split() for line in log.read_text().splitlines(keepends=True) if line[-1] == "\n"]
    return {
        Path(words[2].rstrip(":")).name for words in lines if len(words) > 2 and words[1] == "ok"
    }


def stored(index: Path) -> dict[str, str]:
    """File name -> text of every document, each checked for a whole set of chunks."""
    with Engine(Settings(index=IndexSettings(directory=index))) as engine:
        assert engine.verify() == []
        summaries = list(engine.documents())
        names = [Path(summary.path).name for summary in summaries]
        assert len(names) == len(set(names)), "a document is there twice"
        assert all(summary.chunks > 0 for summary in summaries)
        return {
            name: engine.document(each.id).text for name, each in zip(names, summaries, strict=True)
        }


def content(index: Path) -> str:
    with Engine(Settings(index=IndexSettings(directory=index))) as engine:
        return engine.status().content


def words_of(text: str) -> list[str]:
    return text.replace("#", "").split()


def check_killed(index: Path, log: Path, before: dict[str, str], after: dict[str, str]) -> None:
    """What a killed process leaves: all it said is there, all that is there is whole."""
    found = stored(index)
    said = acknowledged(log)
    assert said <= set(found), "an acknowledged document is lost"
    for name, text in found.items():
        versions = [words_of(after[name])]
        if name in before and name not in said:
            versions.append(words_of(before[name]))
        assert words_of(text) in versions, f"{name} is neither wholly old nor wholly new"
    assert not before or set(found) == set(after), "a document vanished while it was replaced"


def run_for(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether the process was killed because it took longer."""
    try:
        assert process.wait(timeout=seconds) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True
    return False


def test_a_kill_at_any_instant_loses_and_duplicates_nothing(tmp_path: Path) -> None:
    generator = random.Random(20261122)
    folder, index, log = tmp_path / "corpus", tmp_path / "index", tmp_path / "log"
    kills = generation = 0
    before: dict[str, str] = {}
    while kills < KILLS:
        after = write_generation(folder, generation)
        clean = tmp_path / f"clean-{generation}"
        started = time.monotonic()
        assert start(folder, clean, log).wait() == 0
        whole = time.monotonic() - started
        while run_for(start(folder, index, log), generator.uniform(0.1, whole)):
            kills += 1
            if (index / "fathom.db").exists():
                check_killed(index, log, before, after)
        assert content(index) == content(clean)
        before = after
        generation += 1
