"""Hundreds of changes to files, and ingests, prunes, rebuilds and kills between them.

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
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.making import disable_sandbox, drop_privileges, engine_at, open_public_folder

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
class Tree:
    """Files that change at random."""

    root: Path
    chance: random.Random
    texts: int = 0
    done: list[str] = field(default_factory=list)

    def change(self) -> None:
        kinds = (
            [self.add] * 5
            + [self.edit] * 3
            + [self.break_off, self.forbid, self.forbid_folder, self.rename, self.move, self.link]
            + [self.delete, self.copy, self.allow, self.allow, self.move_folder, self.delete_folder]
        )
        kind = self.chance.choice(kinds)
        kind()
        self.done.append(kind.__name__)

    def files(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("*") if not path.is_dir())

    def folders(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("*") if path.is_dir())

    def place(self) -> Path:
        path = self.root / self.chance.choice(FOLDERS) / self.chance.choice(NAMES)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self.texts += 1
        # Now and then a text that was there before, so that there are equal files.
        number = self.chance.choice([self.texts, self.texts, self.chance.randint(1, self.texts)])
        path.write_text(f"Text number {number}, {'of the harbour ' * (number % 7)}.")

    def add(self) -> None:
        self.write(self.place())

    def some(self) -> Path | None:
        files = self.files()
        return self.chance.choice(files) if files else None

    def edit(self) -> None:
        if path := self.some():
            self.write(path)

    def break_off(self) -> None:
        if path := self.some():
            path.unlink()
            path.write_bytes(BROKEN)

    def forbid(self) -> None:
        if (path := self.some()) and path.exists():
            path.chmod(0)

    def forbid_folder(self) -> None:
        if folders := self.folders():
            self.chance.choice(folders).chmod(0)

    def allow(self) -> None:
        for path in (*self.folders(), *self.files()):
            if path.exists():
                path.chmod(0o755)

    def rename(self) -> None:
        if path := self.some():
            path.replace(path.with_name(self.chance.choice(NAMES)))

    def move(self) -> None:
        if path := self.some():
            path.replace(self.place())

    def copy(self) -> None:
        if (path := self.some()) and path.exists():
            other = self.place()
            if not other.exists():
                shutil.copyfile(path, other)

    def link(self) -> None:
        if path := self.some():
            other = self.place()
            if not os.path.lexists(other):
                other.symlink_to(path)

    def delete(self) -> None:
        if path := self.some():
            path.unlink()

    def delete_folder(self) -> None:
        if folders := self.folders():
            shutil.rmtree(self.chance.choice(folders))

    def move_folder(self) -> None:
        folder = self.root / "px" / "in"
        if folder.exists() and not (self.root / "moved").exists():
            folder.rename(self.root / "moved")
        elif (self.root / "moved").exists() and not folder.exists():
            folder.parent.mkdir(exist_ok=True)
            (self.root / "moved").rename(folder)


def forked(job: Callable[[], Any]) -> Any:
    """What a job gives in a process of its own; `None` if it was killed."""
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


def killed_after(steps: int, patch: pytest.MonkeyPatch) -> None:
    left = [steps]

    def step(_: str) -> None:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    def writer(*args: Any, **options: Any) -> Any:
        return open_writer(*args, **options, on_step=step)

    patch.setattr("fathom.index.embedded.opening.open_writer", writer)
    patch.setattr(
        "fathom.index.embedded.rebuild.rebuild_index",
        lambda directory, roots, open_new: rebuild_index(directory, roots, open_new, step),
    )


@dataclass(frozen=True)
class RoundEvidence:
    """What an ingestion left, as the one sees it who ran it.

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

    def held(self, *outcomes: str) -> set[str]:
        return {id_ for place, id_ in self.documents.items() if self.outcomes[place] in outcomes}


def seen(engine: Engine, files: Sequence[str], before: Sequence[str]) -> RoundEvidence:
    index = engine.reader()
    sources = list(index.list_sources())
    documents = {source.path: source.document_id for source in sources if source.document_id}
    paths = {one.id: one.path for one in engine.documents.list()}
    assert set(documents.values()) == set(paths), "a document without place, or without document"
    for document, path in paths.items():
        assert documents.get(path) == document, "a document's path is none of its places"
    places = {*documents, *files, *before}
    return RoundEvidence(
        outcomes={source.path: source.outcome for source in sources},
        documents=documents,
        gone=sorted(filter(is_gone, places)),
        readable={place: id_ for place in places if (id_ := id_at(Path(place)))},
    )


def id_at(path: Path) -> str:
    try:
        if path.read_bytes() != BROKEN:
            return derive_document_id(digest_content(path))
    except OSError:
        pass
    return ""


Ingest = Callable[..., RoundEvidence | None]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with open_public_folder() as folder:
        yield folder


@pytest.fixture
def ingest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ingest:
    disable_sandbox(monkeypatch)

    for name in NAMES:  # what is imported later may be out of nobody's reach
        list(parse_bytes(b"Some words.", name))
    with pytest.raises(ParseRefusal):
        list(parse_bytes(BROKEN, "a.md"))
    detect_language("Some words.")
    HashingEmbedder(64).embed(["Some words."])

    def run(
        tree: Tree,
        *,
        into: str = "one",
        kill_after: int = 0,
        before: Sequence[str] = (),
        **options: Any,
    ) -> RoundEvidence | None:
        (tmp_path / into).mkdir(exist_ok=True)
        files = [str(path) for path in tree.files()]

        def job() -> dict[str, Any]:
            with pytest.MonkeyPatch.context() as patch, drop_privileges(tmp_path):
                if kill_after:
                    killed_after(kill_after, patch)
                with engine_at(tmp_path / into, ingest={"batch_documents": 3}) as engine:
                    engine.ingest([tree.root], **options)
                    assert engine.verify() == []
                    return asdict(seen(engine, files, before))

        found = forked(job)
        return RoundEvidence(**found) if found else None

    return run


@pytest.mark.parametrize("changes", [150, pytest.param(500, marks=pytest.mark.slow)])
def test_many_changes(tmp_path: Path, ingest: Ingest, changes: int) -> None:
    chance = random.Random(int(os.environ.get("SEED", "20261122")))
    tree = Tree(tmp_path / "corpus", chance)
    tree.add()
    known = RoundEvidence({}, {}, [], {})
    counts = Counter[str]()
    while len(tree.done) < changes:
        for _ in range(chance.randint(1, 12)):
            tree.change()
        if not tree.files():
            tree.add()
        options = {"prune": chance.random() < 0.3, "rebuild": chance.random() < 0.1}
        if chance.random() < 0.3:
            killed = ingest(tree, kill_after=chance.randint(1, 9), **options) is None
            counts["killed"] += killed
        report = ingest(tree, before=list(known.outcomes), **options)
        assert report is not None
        check_kept(known, report, let_go=any(options.values()))
        counts.update(name for name, chosen in options.items() if chosen)
        counts["stale"] += len(report.held("stale") - report.held("ok"))
        known = report
    assert all(counts[one] for one in ("killed", "prune", "rebuild", "stale"))
    fresh = ingest(tree, into="fresh")
    assert fresh is not None
    assert known.held("ok") == fresh.held("ok") == set(fresh.documents.values())


def check_kept(before: RoundEvidence, found: RoundEvidence, *, let_go: bool) -> None:
    """What can be read is as it is; what cannot be read stays, marked; what is gone may go."""
    assert found.held("ok") == set(found.readable.values())
    for place, outcome in found.outcomes.items():
        assert (outcome == "ok") == (place in found.readable), place
    for place in before.documents.keys() - found.readable.keys():
        if place not in found.gone:
            assert found.outcomes.get(place) == "stale", f"{place} was lost"
        elif let_go:
            assert place not in found.outcomes, f"{place} is still there"
        elif before.documents[place] not in found.held("ok"):
            assert found.outcomes.get(place) == "stale", f"{place} was lost"
