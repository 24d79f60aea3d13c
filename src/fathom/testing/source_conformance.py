"""The conformance suite of sources: what a synchronization must hold for every kind."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from fathom.engine import Engine
from fathom.ingest.sources.sync import SyncReport
from fathom.testing.doubles import make_engine

NAME = "world"
KILLS = int(os.environ.get("SOURCE_KILLS", "3"))
"""The kills of the test of kills."""
_WORDS = ("harbour", "ferry", "permit", "ledger", "bridge", "winter", "notice", "quarry")
_FORKER = """
import os, signal, sys, time
from fathom.assembly import models
from fathom.documents.sandbox import parent
from fathom.engine import documents
from fathom.ingest import ingest
from fathom.ingest.sources import sync
from fathom.testing.doubles import make_engine

def run(seconds):
    pid = os.fork()
    if not pid:
        with make_engine(sys.argv[1]) as engine:
            engine.sources.sync(sys.argv[2])
        os._exit(0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return "ended"
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "killed"

for line in sys.stdin:
    print(run(float(line)), flush=True)
"""
"""A program that synchronizes in children and kills them; a child has no imports to make."""


class SourceWorld(Protocol):
    """A real place of documents that a test can change.

    Attributes:
        url: Its URL as a source.
        options: Further arguments of `Engine.sources.add`.
    """

    url: str
    options: Mapping[str, Any]

    def write(self, texts: Mapping[str, str]) -> None:
        """Write files by their names, which may hold slashes; others stay."""
        ...

    def remove(self, *names: str) -> None:
        """Remove files."""
        ...

    def stop(self) -> None:
        """Let the server die, or take the folder away."""
        ...

    def start(self) -> None:
        """Bring the same place back."""
        ...


def write_texts(number: int, edition: int = 0) -> dict[str, str]:
    """Return texts of files by their names; in each edition about every third one is new."""
    texts = {}
    for count in range(number):
        age = edition if count % 3 == edition % 3 else 0
        words = random.Random(f"{count} {age}")  # noqa: S311 - no secret
        body = " ".join(words.choices(_WORDS, k=40))
        texts[f"part{count % 2}/n{count:03}.md"] = f"# Notice {count}, edition {age}\n\n{body}.\n"
    return texts


def list_contents(engine: Engine) -> dict[str, tuple[str, str]]:
    """Return the id and the text of each document by its path."""
    return {
        summary.path: (summary.id, engine.documents.get(summary.id).text)
        for summary in engine.documents.list()
    }


class SourceChangeConformance:
    """The part of the suite that covers most: objects that are new, changed, moved and gone."""

    @pytest.fixture
    def engine(self, tmp_path: Path, world: SourceWorld) -> Iterator[Engine]:
        """An engine over a new index that has the place as its source."""
        with self.open_new_engine(tmp_path / "index", world) as engine:
            yield engine

    @contextmanager
    def open_new_engine(self, directory: Path, world: SourceWorld) -> Iterator[Engine]:
        """Open an engine over a new index that has the place as its source."""
        with make_engine(directory) as engine:
            engine.sources.add(world.url, name=NAME, **world.options)
            yield engine

    def check_is_fresh(self, engine: Engine, world: SourceWorld, directory: Path) -> None:
        """Check that an index holds what a new one would."""
        with self.open_new_engine(directory, world) as fresh:
            assert fresh.sources.sync(NAME).fault == ""
            assert list_contents(engine) == list_contents(fresh)
            assert engine.status().content == fresh.status().content
        assert engine.verify() == []

    def test_only_changed_objects_are_fetched_and_gone_ones_are_removed(
        self, engine: Engine, world: SourceWorld, tmp_path: Path
    ) -> None:
        texts = write_texts(9)
        world.write(texts)
        engine.sources.sync(NAME)
        changed = {name: text for name, text in write_texts(9, 1).items() if text != texts[name]}
        moved, gone = [name for name in texts if name not in changed][:2]
        world.write({**changed, "new/n.md": "# New\n\nNew words.\n", "moved.md": texts[moved]})
        world.remove(gone, moved)
        report = engine.sources.sync(NAME)
        assert report.fault == ""
        assert report.fetched == len(changed) + 2
        assert report.ingested.changed == len(changed)
        assert len(list_contents(engine)) == 9
        self.check_is_fresh(engine, world, tmp_path / "fresh")


class SourceConformance(SourceChangeConformance):
    """The suite of sources; subclasses give the fixture `world`, an empty place of their kind.

    It covers the protocol `ingest.sources.base.DocumentSource` with `Engine.sources.sync`.
    """

    def test_a_first_sync_reads_all_objects_with_their_own_addresses(
        self, engine: Engine, world: SourceWorld
    ) -> None:
        texts = write_texts(6)
        world.write({**texts, ".hidden/a.md": "hidden", "b.readers.toml": 'readers = ["hr"]'})
        report = engine.sources.sync(NAME)
        assert (report.listed, report.fetched, report.fault) == (6, 6, "")
        assert report.ingested.new == 6
        contents = list_contents(engine)
        assert {path.rpartition("/")[2] for path in contents} == {
            name.rpartition("/")[2] for name in texts
        }
        staging = str(engine.directory)
        assert not [path for path in contents if path.startswith(staging)]
        (stored,) = engine.sources.list()
        assert (stored.objects, bool(stored.synced), stored.fault) == (6, True, "")

    def test_nothing_is_fetched_if_nothing_has_changed(
        self, engine: Engine, world: SourceWorld
    ) -> None:
        world.write(write_texts(6))
        engine.sources.sync(NAME)
        revision = engine.status().revision
        report = engine.sources.sync(NAME)
        assert (report.listed, report.fetched, report.ingested.unchanged) == (6, 0, 6)
        assert engine.status().revision == revision

    def test_a_dead_source_removes_nothing_and_the_next_sync_goes_on(
        self, engine: Engine, world: SourceWorld, tmp_path: Path
    ) -> None:
        world.write(write_texts(12))
        engine.sources.sync(NAME)
        before = list_contents(engine)
        world.write(write_texts(12, 1))
        world.remove("part0/n002.md")

        def stop_in_the_middle(report: SyncReport) -> None:
            if report.listed == 4:
                world.stop()

        engine.sources.sync(NAME, on_object=stop_in_the_middle)
        assert len(list_contents(engine)) >= len(before) - 1
        report = engine.sources.sync(NAME)
        assert report.fault != ""
        assert report.ingested.removed == 0
        assert engine.sources.list()[0].fault == report.fault
        world.start()
        assert engine.sources.sync(NAME).fault == ""
        self.check_is_fresh(engine, world, tmp_path / "fresh")

    def test_a_source_that_lists_nothing_any_more_removes_nothing(
        self, engine: Engine, world: SourceWorld
    ) -> None:
        texts = write_texts(3)
        world.write(texts)
        engine.sources.sync(NAME)
        world.remove(*texts)
        report = engine.sources.sync(NAME)
        assert report.fault != ""
        assert len(list_contents(engine)) == 3
        assert engine.sources.remove(NAME) == 3
        assert list_contents(engine) == {}
        assert engine.sources.list() == []

    def test_kills_lose_and_duplicate_nothing(
        self, engine: Engine, world: SourceWorld, tmp_path: Path
    ) -> None:
        world.write(write_texts(24))
        started = time.monotonic()
        engine.sources.sync(NAME)
        seconds = time.monotonic() - started
        world.write(write_texts(24, 1))
        world.remove("part0/n002.md", "part1/n003.md")
        command = [sys.executable, "-c", _FORKER, str(engine.directory), NAME]
        instants = random.Random(7)  # noqa: S311 - no secret
        with subprocess.Popen(  # noqa: S603 - our own interpreter with our own code
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as forker:
            assert forker.stdin is not None
            assert forker.stdout is not None
            outcomes = set()
            for _ in range(KILLS):
                forker.stdin.write(f"{instants.uniform(0.1, 0.9) * seconds}\n")
                forker.stdin.flush()
                outcomes.add(forker.stdout.readline().strip())
                assert len(list_contents(engine)) >= 22
            forker.stdin.close()
        assert "killed" in outcomes
        assert engine.sources.sync(NAME).fault == ""
        self.check_is_fresh(engine, world, tmp_path / "fresh")
