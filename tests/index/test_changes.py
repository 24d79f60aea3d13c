"""Hundreds of changes to files, with ingestions, prunes, rebuilds and kills between them.

Permissions stop nobody who is root: then each ingestion is that of a process that has become
nobody. The processes are forked, and killed by themselves between two steps of a change.
"""

import json
import os
import random
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.factories import disable_sandbox, drop_privileges, engine_at, open_public_folder

from fathom.assembly import worker as _worker  # noqa: F401 - imported before anybody is nobody
from fathom.documents.base import ParseRefusal
from fathom.documents.discover import derive_document_id, digest_content
from fathom.documents.parse import parse_bytes
from fathom.engine import Engine
from fathom.index.embedded.opening import open_writer
from fathom.index.embedded.rebuild import rebuild_index
from fathom.ingest.places import is_gone
from fathom.testing.doubles import HashingEmbedder
from fathom.text.language import detect_language

FOLDERS = ("px", "px2", "px/in", "px/in/deep")
NAMES = ("a.md", "b.md", "c#1.md", "d.txt")
BROKEN = b"PK\x03\x04 half a DOCX"


@dataclass
class ChangingFiles:
    """Files that change at random."""

    root: Path
    chance: random.Random
    texts: int = 0
    done: list[str] = field(default_factory=list)

    def change(self) -> None:
        kinds = (
            [self.add_file] * 5
            + [self.edit_file] * 3
            + [
                self.break_file,
                self.forbid_file,
                self.forbid_folder,
                self.rename_file,
                self.move_file,
                self.link_file,
            ]
            + [
                self.delete_file,
                self.copy_file,
                self.allow_all,
                self.allow_all,
                self.move_folder,
                self.delete_folder,
            ]
        )
        kind = self.chance.choice(kinds)
        # Whoever is not root is stopped by the permissions that were taken away before.
        with suppress(PermissionError):
            kind()
        self.done.append(kind.__name__)

    def list_files(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("*") if not path.is_dir())

    def list_folders(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("*") if path.is_dir())

    def draw_place(self) -> Path:
        path = self.root / self.chance.choice(FOLDERS) / self.chance.choice(NAMES)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write_file(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self.texts += 1
        # Now and then a text that was there before, so that there are equal files.
        number = self.chance.choice([self.texts, self.texts, self.chance.randint(1, self.texts)])
        path.write_text(f"Text number {number}, {'of the harbour ' * (number % 7)}.")

    def add_file(self) -> None:
        self.write_file(self.draw_place())

    def draw_file(self) -> Path | None:
        files = self.list_files()
        return self.chance.choice(files) if files else None

    def edit_file(self) -> None:
        if path := self.draw_file():
            self.write_file(path)

    def break_file(self) -> None:
        if path := self.draw_file():
            path.unlink()
            path.write_bytes(BROKEN)

    def forbid_file(self) -> None:
        if (path := self.draw_file()) and path.exists():
            path.chmod(0)

    def forbid_folder(self) -> None:
        if folders := self.list_folders():
            self.chance.choice(folders).chmod(0)

    def allow_all(self) -> None:
        for path in (*self.list_folders(), *self.list_files()):
            if path.exists():
                path.chmod(0o755)

    def rename_file(self) -> None:
        if path := self.draw_file():
            path.replace(path.with_name(self.chance.choice(NAMES)))

    def move_file(self) -> None:
        if path := self.draw_file():
            path.replace(self.draw_place())

    def copy_file(self) -> None:
        if (path := self.draw_file()) and path.exists():
            other = self.draw_place()
            if not other.exists():
                shutil.copyfile(path, other)

    def link_file(self) -> None:
        if path := self.draw_file():
            other = self.draw_place()
            if not os.path.lexists(other):
                other.symlink_to(path)

    def delete_file(self) -> None:
        if path := self.draw_file():
            path.unlink()

    def delete_folder(self) -> None:
        if folders := self.list_folders():
            shutil.rmtree(self.chance.choice(folders))

    def move_folder(self) -> None:
        folder = self.root / "px" / "in"
        if folder.exists() and not (self.root / "moved").exists():
            folder.rename(self.root / "moved")
        elif (self.root / "moved").exists() and not folder.exists():
            folder.parent.mkdir(exist_ok=True)
            (self.root / "moved").rename(folder)


def run_in_child(job: Callable[[], Any]) -> Any:
    """Return the value of a job run in a child process, or `None` if it was killed."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(read)
            with os.fdopen(write, "w") as out:
                json.dump(job(), out)
        except BaseException as error:  # noqa: BLE001 - the parent is told
            os.write(2, f"{error!r}\n".encode())
            os._exit(1)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    _, status = os.waitpid(child, 0)
    assert status in {0, signal.SIGKILL}, f"the child ended with {status}"
    return json.loads(text) if status == 0 else None


def kill_after_steps(steps: int, patch: pytest.MonkeyPatch) -> None:
    remaining = [steps]

    def count_step(_: str) -> None:
        remaining[0] -= 1
        if not remaining[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    def open_counting_writer(*args: Any, **options: Any) -> Any:
        return open_writer(*args, **options, on_step=count_step)

    patch.setattr("fathom.index.embedded.opening.open_writer", open_counting_writer)
    patch.setattr(
        "fathom.index.embedded.rebuild.rebuild_index",
        lambda directory, roots, open_new: rebuild_index(directory, roots, open_new, count_step),
    )


@dataclass(frozen=True)
class IndexState:
    """The state after an ingestion, as its caller sees it.

    Attributes:
        outcomes: Of every place.
        documents: Of every place that has one.
        gone: Places, of these and of those asked for, where it is proved that no file is.
        readable: Places where a document can be read, with its id.
    """

    outcomes: dict[str, str]
    documents: dict[str, str]
    gone: list[str]
    readable: dict[str, str]

    def list_with_outcome(self, *outcomes: str) -> set[str]:
        return {id_ for place, id_ in self.documents.items() if self.outcomes[place] in outcomes}


def describe_state(engine: Engine, files: Sequence[str], before: Sequence[str]) -> IndexState:
    index = engine.reader()
    sources = list(index.list_sources())
    documents = {source.path: source.document_id for source in sources if source.document_id}
    paths = {document.id: document.path for document in engine.documents.list()}
    assert set(documents.values()) == set(paths), "a document without place, or without document"
    for document, path in paths.items():
        assert documents.get(path) == document, "a document's path is none of its places"
    places = {*documents, *files, *before}
    return IndexState(
        outcomes={source.path: source.outcome for source in sources},
        documents=documents,
        gone=sorted(filter(is_gone, places)),
        readable={place: id_ for place in places if (id_ := get_id(Path(place)))},
    )


def get_id(path: Path) -> str:
    try:
        if path.read_bytes() != BROKEN:
            return derive_document_id(digest_content(path))
    except OSError:
        pass
    return ""


IngestFunction = Callable[..., IndexState | None]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with open_public_folder() as folder:
        yield folder


@pytest.fixture
def ingest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IngestFunction:
    disable_sandbox(monkeypatch)

    for name in NAMES:  # what is imported later may be out of nobody's reach
        list(parse_bytes(b"Some words.", name))
    with pytest.raises(ParseRefusal):
        list(parse_bytes(BROKEN, "a.md"))
    detect_language("Some words.")
    HashingEmbedder(64).embed(["Some words."])

    def run(
        tree: ChangingFiles,
        *,
        into: str = "one",
        kill_after: int = 0,
        before: Sequence[str] = (),
        **options: Any,
    ) -> IndexState | None:
        (tmp_path / into).mkdir(exist_ok=True)
        files = [str(path) for path in tree.list_files()]

        def job() -> dict[str, Any]:
            with pytest.MonkeyPatch.context() as patch, drop_privileges(tmp_path):
                if kill_after:
                    kill_after_steps(kill_after, patch)
                with engine_at(tmp_path / into, ingest={"batch_documents": 3}) as engine:
                    engine.ingest([tree.root], **options)
                    assert engine.verify() == []
                    return asdict(describe_state(engine, files, before))

        state = run_in_child(job)
        return IndexState(**state) if state else None

    return run


@pytest.mark.parametrize("changes", [150, pytest.param(500, marks=pytest.mark.slow)])
def test_many_random_changes_lose_no_document(
    tmp_path: Path, ingest: IngestFunction, changes: int
) -> None:
    chance = random.Random(int(os.environ.get("SEED", "20261122")))
    tree = ChangingFiles(tmp_path / "corpus", chance)
    tree.add_file()
    before = IndexState({}, {}, [], {})
    counts = Counter[str]()
    while len(tree.done) < changes:
        for _ in range(chance.randint(1, 12)):
            tree.change()
        if not tree.list_files():
            tree.allow_all()
            tree.add_file()
        options = {"prune": chance.random() < 0.3, "rebuild": chance.random() < 0.1}
        if chance.random() < 0.3:
            killed = ingest(tree, kill_after=chance.randint(1, 9), **options) is None
            counts["killed"] += killed
        report = ingest(tree, before=list(before.outcomes), **options)
        assert report is not None
        check_kept(before, report, let_go=any(options.values()))
        counts.update(name for name, chosen in options.items() if chosen)
        counts["stale"] += len(report.list_with_outcome("stale") - report.list_with_outcome("ok"))
        before = report
    assert all(counts[event] for event in ("killed", "prune", "rebuild", "stale"))
    fresh = ingest(tree, into="fresh")
    assert fresh is not None
    assert (
        before.list_with_outcome("ok")
        == fresh.list_with_outcome("ok")
        == set(fresh.documents.values())
    )


def check_kept(before: IndexState, after: IndexState, *, let_go: bool) -> None:
    """Check that readable files are indexed, unreadable ones stay marked, and deleted ones may
    go.
    """
    assert after.list_with_outcome("ok") == set(after.readable.values())
    for place, outcome in after.outcomes.items():
        assert (outcome == "ok") == (place in after.readable), place
    for place in before.documents.keys() - after.readable.keys():
        if place not in after.gone:
            assert after.outcomes.get(place) == "stale", f"{place} was lost"
        elif let_go:
            assert place not in after.outcomes, f"{place} is still there"
        elif before.documents[place] not in after.list_with_outcome("ok"):
            assert after.outcomes.get(place) == "stale", f"{place} was lost"
