"""Loss of power at any instant of an ingest: nothing acknowledged is lost, nothing is torn.

No machine dies here: the calls of a process that ingests are recorded, and folders are made as a
disk may hold them (`tests/disk_log.py`). `POWER_LOSSES` sets how many, `SEED` draws them.
"""

import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from typing import get_args

import pytest
from tests.disk_log import (
    SHARED_MEMORY,
    Disk,
    Loss,
    SystemCall,
    can_trace,
    read_calls,
    record_calls,
)

from fathom.errors import IndexMissing
from fathom.index.embedded.opening import open_writer, verify
from fathom.testing.doubles import make_engine

LOSSES = int(os.environ.get("POWER_LOSSES", "10"))
SEED = int(os.environ.get("SEED", "20261122"))
DOCUMENTS = 40
GENERATIONS = 4
PRUNED = 2
"""The generation that lacks some documents."""
REBUILT = 3
WORDS = ("harbour", "ferry", "permit", "ledger", "bridge", "winter", "notice", "crown", "quarry")
CHILD = r"""
import os, sys
from pathlib import Path
from fathom.testing.doubles import make_engine
from tests import test_power_loss as scene

place, durability = Path(sys.argv[1]), sys.argv[2]
with make_engine(place / "disk" / "index", scene.make_settings(durability)) as engine:
    for generation in range(scene.GENERATIONS):
        scene.write_generation(place / "corpus", generation)
        os.write(1, f"begin {generation}\n".encode())
        names = []

        def acknowledge(report, _state):
            for file in report.files[len(names):]:
                names.append(file.path)
                os.write(1, f"{file.outcome} {Path(file.path).name}\n".encode())

        engine.ingest(
            [place / "corpus"],
            prune=generation == scene.PRUNED,
            rebuild=generation == scene.REBUILT,
            on_progress=acknowledge,
        )
        os.write(1, f"end {generation}\n".encode())
"""


def make_settings(durability: str) -> dict[str, object]:
    return {
        "index.durability": durability,
        "index.ann_from_chunks": 30,
        "ingest.batch_documents": 8,
    }


def get_text(number: int, generation: int) -> str | None:
    """Return a document's text; about every third one is new in each generation, some go."""
    if generation >= PRUNED and number % 7 == 0:
        return None
    edition = max(age for age in range(generation + 1) if not age or number % 3 == age % 3)
    words = random.Random(f"{number} {edition}")
    body = " ".join(words.choices(WORDS, k=words.randint(20, 120)))
    return f"Notice {number}, edition {edition}: {body}."


def write_generation(folder: Path, generation: int) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(DOCUMENTS):
        file, text = folder / f"{number}.txt", get_text(number, generation)
        if text is None:
            file.unlink(missing_ok=True)
        else:
            file.write_text(text)


@dataclass
class Acknowledgements:
    """The generation that is being ingested, and that which is stored for certain by document."""

    begun: int = -1
    certain: dict[int, int] = field(default_factory=dict)

    def read(self, words: list[str]) -> None:
        """Take over a line that the process printed."""
        if words[0] == "begin":
            self.begun = int(words[1])
        elif words[0] == "end":
            self.certain = dict.fromkeys(range(DOCUMENTS), int(words[1]))
        elif words[0] == "ok" and self.begun != REBUILT:  # what is made anew counts at its end
            self.certain[int(Path(words[1]).stem)] = self.begun

    def list_versions(self, number: int, durability: str) -> list[str | None]:
        """Return the texts that a document may have now, `None` for its absence."""
        first = self.certain.get(number) if durability == "full" else None
        versions = [get_text(number, age) for age in range(first or 0, self.begun + 1)]
        return [None, *versions] if first is None else versions


@dataclass(frozen=True)
class Recording:
    """The calls of an ingest, with its durability and the place that it worked in."""

    durability: str
    place: Path
    calls: tuple[SystemCall, ...]

    def play(self) -> Iterator[tuple[Disk, Acknowledgements]]:
        """Yield the disk and the acknowledgements after each call that concerns them."""
        disk, acknowledgements = Disk(self.place / "disk"), Acknowledgements()
        for call in self.calls:
            if call.name == "write" and call.arguments.startswith("1<"):
                for line in b"".join(call.strings).decode().splitlines():
                    acknowledgements.read(line.split())
            elif not disk.apply(call):
                continue
            yield disk, acknowledgements


@pytest.fixture(scope="module", params=["full", pytest.param("normal", marks=pytest.mark.slow)])
def recording(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Recording:
    if not can_trace():
        pytest.skip("needs strace, and the right to watch a process")
    place = tmp_path_factory.mktemp(request.param)
    (place / "disk").mkdir()
    command = [sys.executable, "-c", CHILD, str(place), request.param]
    root = str(Path(__file__).parents[1])
    done = record_calls(command, place / "log", {"PYTHONPATH": f"{root}/src:{root}"})
    assert done.returncode == 0, done.stderr
    return Recording(request.param, place, tuple(read_calls(place / "log")))


def read_stored(index: Path) -> dict[int, str]:
    """Return the text of every document by number, and check that its words find it."""
    with make_engine(index) as engine:
        # The first search may finish a change that the loss of power has interrupted.
        hits = engine.search(WORDS[0], k=2 * DOCUMENTS, retriever="keyword")
        summaries = list(engine.documents.list())
        texts = {
            int(Path(summary.path).stem): engine.documents.get(summary.id).text
            for summary in summaries
        }
    assert len(texts) == len(summaries), "a document is there twice"
    holders = {number for number, text in texts.items() if WORDS[0] in text}
    assert {int(Path(hit.chunk.path).stem) for hit in hits} == holders
    return texts


def list_wrong_documents(
    texts: Mapping[int, str], acknowledgements: Acknowledgements, durability: str
) -> list[int]:
    """Return the numbers of the documents whose text is none that they may have."""
    return [
        number
        for number in range(DOCUMENTS)
        if texts.get(number) not in acknowledgements.list_versions(number, durability)
    ]


def mend(index: Path) -> list[str]:
    """Open an index as a writer does, and return a line for each fault that is left."""
    open_writer(index, None).close()
    return verify(index)


def test_the_recording_holds_every_byte(recording: Recording, tmp_path: Path) -> None:
    for disk, _ in recording.play():
        last = disk
    last.write_to(tmp_path / "copy", "all", random.Random(SEED))
    folders = tmp_path / "copy", recording.place / "disk"
    copies, files = (
        {
            file.relative_to(folder): file.read_bytes()
            for folder in [folder]
            for file in folder.rglob("*")
            if file.is_file() and not file.name.endswith(SHARED_MEMORY)
        }
        for folder in folders
    )
    assert copies == files


def test_a_loss_of_power_loses_nothing_acknowledged(
    recording: Recording, tmp_path: Path, count_probes: Callable[[int], None]
) -> None:
    chance = random.Random(SEED)
    instants = Counter(chance.choices(range(sum(1 for _ in recording.play())), k=LOSSES))
    faulty_without_syncs = 0
    for instant, (disk, acknowledgements) in enumerate(recording.play()):
        for _ in range(instants[instant]):
            count_probes(1)
            loss: Loss = chance.choice(get_args(Loss))
            folder = tmp_path / f"{instant}-{loss}"
            disk.write_to(folder, loss, chance)
            texts = {}
            with suppress(IndexMissing):
                texts = read_stored(folder / "index")
            place = f"instant {instant}, of what was not synced {loss}"
            assert not list_wrong_documents(texts, acknowledgements, recording.durability), place
            assert not texts or mend(folder / "index") == [], place
            faulty_without_syncs += bool(list_wrong_documents(texts, acknowledgements, "full"))
            rmtree(folder)
    # The probes notice what is lost where commits are not synced.
    assert bool(faulty_without_syncs) == (recording.durability == "normal")
