"""The conformance suite of sources, for the synchronization of every kind."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Protocol
from urllib.parse import unquote

import pytest

from fathom.engine import Engine
from fathom.index.rights import EVERYBODY, ReadingRule, Viewer
from fathom.ingest.sources import sync
from fathom.ingest.sources.sync import SyncReport
from fathom.testing.doubles import make_engine

NAME = "world"
KILLS = int(os.environ.get("SOURCE_KILLS", "3"))
"""The number of kills in a test of kills."""
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
        sync.MOST_OBJECTS = int(sys.argv[3])
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
"""A program that synchronizes in child processes and kills them; children import nothing."""


class SourceWorld(Protocol):
    """A real place of documents that a test can change.

    Attributes:
        url: The URL of the place as a source.
        options: Further arguments of `Engine.sources.add`.
    """

    url: str
    options: Mapping[str, Any]

    def write(self, texts: Mapping[str, str]) -> None:
        """Write texts to files; names may contain slashes, and other files stay."""
        ...

    def remove(self, *names: str) -> None:
        """Remove files."""
        ...

    def stop(self) -> None:
        """Stop the server, or make the folder unavailable."""
        ...

    def start(self) -> None:
        """Make the same place available again."""
        ...


def write_texts(number: int, edition: int = 0) -> dict[str, str]:
    """Return texts by file name; each edition changes about every third text."""
    texts = {}
    for serial in range(number):
        age = edition if serial % 3 == edition % 3 else 0
        words = random.Random(f"{serial} {age}")  # noqa: S311 - no secret
        body = " ".join(words.choices(_WORDS, k=40))
        texts[f"part{serial % 2}/n{serial:03}.md"] = (
            f"# Notice {serial}, edition {age}\n\n{body}.\n"
        )
    return texts


def list_contents(engine: Engine) -> dict[str, tuple[str, str]]:
    """Return the id and the text of each document by its path."""
    return {
        summary.path: (summary.id, engine.documents.get(summary.id).text)
        for summary in engine.documents.list()
    }


def sync_and_kill(directory: Path, seconds: float, most_objects: int) -> Iterator[str]:
    """Synchronize in child processes that are killed at random times; yield each outcome.

    Args:
        directory: The folder of the index.
        seconds: The time of one synchronization.
        most_objects: The number of objects in a batch.
    """
    command = [sys.executable, "-c", _FORKER, str(directory), NAME, str(most_objects)]
    instants = random.Random(7)  # noqa: S311 - no secret
    with subprocess.Popen(  # noqa: S603 - our own interpreter with our own code
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as forker:
        assert forker.stdin is not None
        assert forker.stdout is not None
        for _ in range(KILLS):
            forker.stdin.write(f"{instants.uniform(0.1, 0.9) * seconds}\n")
            forker.stdin.flush()
            yield forker.stdout.readline().strip()
        forker.stdin.close()


class SourceFixtures:
    """Engines over indexes whose source is the fixture `world`."""

    @pytest.fixture
    def engine(self, tmp_path: Path, world: SourceWorld) -> Iterator[Engine]:
        """An engine over a new index whose source is the place."""
        with self.open_new_engine(tmp_path / "index", world) as engine:
            yield engine

    @contextmanager
    def open_new_engine(self, directory: Path, world: SourceWorld) -> Iterator[Engine]:
        """Open an engine over a new index whose source is the place."""
        with make_engine(directory) as engine:
            engine.sources.add(world.url, name=NAME, **world.options)
            yield engine

    def check_is_fresh(self, engine: Engine, world: SourceWorld, directory: Path) -> None:
        """Check that an index has the same contents as a new one."""
        with self.open_new_engine(directory, world) as fresh:
            assert fresh.sources.sync(NAME).fault == ""
            assert list_contents(engine) == list_contents(fresh)
            assert engine.status().content == fresh.status().content
        assert engine.verify() == []


class SourceChangeConformance(SourceFixtures):
    """The part of the suite on new, changed, moved and removed objects."""

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
    """The suite of sources; subclasses define the fixture `world`, an empty place of their kind.

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
        assert (stored.documents, bool(stored.synced), stored.fault) == (6, True, "")

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
        outcomes = set()
        for outcome in sync_and_kill(engine.directory, seconds, sync.MOST_OBJECTS):
            outcomes.add(outcome)
            assert len(list_contents(engine)) >= 22
        assert "killed" in outcomes
        assert engine.sources.sync(NAME).fault == ""
        self.check_is_fresh(engine, world, tmp_path / "fresh")


def stop_after(world: SourceWorld, number: int) -> Callable[[SyncReport], None]:
    """Return a callback that stops a place when it is called for the given time, from 1."""
    counter = count(1)

    def stop(_report: SyncReport) -> None:
        if next(counter) == number:
            world.stop()

    return stop


def name_readers(*readers: str) -> str:
    """Return the text of a sidecar that names readers."""
    return f"readers = [{', '.join(map(repr, readers))}]\n"


class SidecarFixtures(SourceFixtures):
    """Engines over indexes with rules, and checks of what viewers may read."""

    @pytest.fixture
    def engine(self, tmp_path: Path, world: SourceWorld) -> Iterator[Engine]:
        """An engine over a new index whose rules let everybody read everything."""
        with self.open_new_engine(tmp_path / "index", world) as engine:
            self.give_rules(engine, tmp_path)
            yield engine

    def give_rules(self, engine: Engine, folder: Path) -> None:
        """Add a document and rules that let everybody read everything to an index."""
        (folder / "rules.md").write_text("# Rules\n\nFor all.\n")
        engine.ingest([folder / "rules.md"], rights=[ReadingRule("*", (EVERYBODY,))])

    def list_shown(self, engine: Engine, *names: str) -> set[str]:
        """Return the names of the source's documents that a viewer with these names may read."""
        with engine.open_for(Viewer(frozenset(names))) as viewer:
            shown = {unquote(Path(summary.path).name) for summary in viewer.documents.list()}
        return shown - {"rules.md"}


class SidecarChangeConformance(SidecarFixtures):
    """The part of the suite on changes of sidecars, the files that name readers of documents."""

    def test_sidecars_count_without_a_change_of_their_documents(
        self, engine: Engine, world: SourceWorld
    ) -> None:
        world.write(
            {
                **{f"a/{name}.md": f"# {name}\n\nText of {name}.\n" for name in ("one", "two")},
                "a/b c.md": "# Space\n\nText of b c.\n",
                "a/one.md.readers.toml": name_readers("hr"),
                "a/b c.md.readers.toml": name_readers("hr", "user:ana"),
            }
        )
        report = engine.sources.sync(NAME)
        assert (report.listed, report.fetched, report.ingested.failed) == (3, 3, 0)
        assert self.list_shown(engine) == {"two.md"}
        assert self.list_shown(engine, "user:ana") == {"two.md", "b c.md"}
        assert self.list_shown(engine, "hr") == {"one.md", "two.md", "b c.md"}
        revision = engine.status().revision
        engine.sources.sync(NAME)
        assert engine.status().revision == revision

        world.write(
            {
                "a/one.md.readers.toml": name_readers("user:ana"),
                "a/two.md.readers.toml": name_readers("hr"),
            }
        )
        world.remove("a/b c.md.readers.toml")
        report = engine.sources.sync(NAME)
        assert (report.fetched, report.ingested.failed, report.fault) == (0, 0, "")
        assert self.list_shown(engine) == {"b c.md"}
        assert self.list_shown(engine, "user:ana") == {"one.md", "b c.md"}
        assert self.list_shown(engine, "hr") == {"two.md", "b c.md"}

        world.write({"a/two.md.readers.toml": "readers = ["})
        for _ in range(2):  # until it is repaired
            report = engine.sources.sync(NAME)
            (failure,) = [file for file in report.ingested.files if file.is_bad]
            assert failure.path.endswith("two.md.readers.toml")
            assert self.list_shown(engine, "hr", "user:ana") == {"one.md", "b c.md"}
        world.write({"a/two.md.readers.toml": name_readers("hr")})
        engine.sources.sync(NAME)
        assert "two.md" in self.list_shown(engine, "hr")

    def test_a_document_that_turns_secret_after_the_listing_is_not_shown(
        self, engine: Engine, world: SourceWorld
    ) -> None:
        world.write({"a.md": "# A\n\nOpen.\n", "b.md": "# B\n\nOpen too.\n"})

        def turn(report: SyncReport) -> None:
            if (report.listed, report.fetched) == (2, 0):
                world.write(
                    {"b.md.readers.toml": name_readers("hr"), "b.md": "# B\n\nSecret text.\n"}
                )

        engine.sources.sync(NAME, on_object=turn)
        with engine.open_for(Viewer(frozenset())) as stranger:
            texts = [stranger.documents.get(item.id).text for item in stranger.documents.list()]
        assert not [text for text in texts if "Secret" in text]
        assert engine.sources.sync(NAME).ingested.failed == 0
        assert self.list_shown(engine) == {"a.md"}
        assert self.list_shown(engine, "hr") == {"a.md", "b.md"}


class SidecarSecrecyConformance(SidecarFixtures):
    """The part of the suite on the secrecy of documents with sidecars.

    Subclasses define the fixture `world`. At no time may anybody read a text whose sidecar does not
    name them.
    """

    STOPS: ClassVar = (3, 9, 12)
    """The numbers of listed and compared objects after which the source dies."""

    def write_editions(self, edition: int) -> tuple[dict[str, str], list[str]]:
        """Return the files of an edition of the place, and the names of removed sidecars.

        In each edition other documents are secret; each secret text has a sidecar.
        """
        texts, gone = {}, []
        for number in range(9):
            name = f"part{number % 2}/n{number:02}.md"
            if is_secret := (number + edition) % 3 == 0:
                texts[f"{name}.readers.toml"] = name_readers("hr")
            elif edition and (number + edition - 1) % 3 == 0:
                gone.append(f"{name}.readers.toml")
            kind = "Secret" if is_secret else "Open"
            texts[name] = f"# Notice {number}\n\n{kind} text {number} of edition {edition}.\n"
        return texts, gone

    def check_nothing_leaks(self, engine: Engine) -> None:
        """Check that a stranger may read no secret text."""
        with engine.open_for(Viewer(frozenset())) as stranger:
            for summary in stranger.documents.list():
                assert "Secret" not in stranger.documents.get(summary.id).text

    def write_edition(self, world: SourceWorld, edition: int) -> None:
        """Write an edition to the place."""
        texts, gone = self.write_editions(edition)
        world.write(texts)
        if gone:
            world.remove(*gone)

    def check_is_settled(self, engine: Engine, edition: int) -> None:
        """Check that viewers may read exactly the documents of an edition that they should."""
        texts, _ = self.write_editions(edition)
        shown = {Path(name).name for name, text in texts.items() if "Open" in text}
        assert self.list_shown(engine) == shown
        assert len(self.list_shown(engine, "hr")) == 9

    def test_no_document_is_shown_before_its_sidecar_counts(
        self, engine: Engine, world: SourceWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sync, "MOST_OBJECTS", 1)
        for edition in range(3):
            self.write_edition(world, edition)
            engine.sources.sync(NAME, on_object=lambda _report: self.check_nothing_leaks(engine))
            self.check_is_settled(engine, edition)

    def test_rules_that_come_later_find_the_sidecars(
        self, tmp_path: Path, world: SourceWorld
    ) -> None:
        self.write_edition(world, 0)
        with self.open_new_engine(tmp_path / "open", world) as engine:
            assert engine.sources.sync(NAME).ingested.failed == 0
            self.give_rules(engine, tmp_path)
            self.check_is_settled(engine, 0)
            engine.ingest([tmp_path / "rules.md"], rights=[])
            self.give_rules(engine, tmp_path)
            self.check_is_settled(engine, 0)

    def test_kills_show_nobody_what_a_sidecar_hides(
        self, engine: Engine, world: SourceWorld
    ) -> None:
        self.write_edition(world, 0)
        started = time.monotonic()
        engine.sources.sync(NAME)
        seconds = 2 * (time.monotonic() - started)  # batches of one object take longer
        outcomes, edition = set(), 0
        for outcome in sync_and_kill(engine.directory, seconds, 1):
            outcomes.add(outcome)
            self.check_nothing_leaks(engine)
            edition += 1
            self.write_edition(world, edition)
        assert "killed" in outcomes
        assert engine.sources.sync(NAME).fault == ""
        self.check_is_settled(engine, edition)

    def test_a_dead_source_opens_nothing(self, engine: Engine, world: SourceWorld) -> None:
        self.write_edition(world, 0)
        engine.sources.sync(NAME)
        for edition, number in enumerate(self.STOPS, start=1):
            self.write_edition(world, edition)
            engine.sources.sync(NAME, on_object=stop_after(world, number))
            self.check_nothing_leaks(engine)
            world.start()
        assert engine.sources.sync(NAME).fault == ""
        self.check_is_settled(engine, edition)


class SidecarConformance(SidecarChangeConformance, SidecarSecrecyConformance):
    """The suite of sources that can have sidecars."""
