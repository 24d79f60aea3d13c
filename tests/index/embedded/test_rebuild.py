"""A rebuilt index takes the place of the old one in one step, whenever it is killed."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.index.conftest import vectors_of

from fathom.errors import IndexLocked
from fathom.index.base import Entry, SourceRecord
from fathom.index.embedded.opening import REBUILD, open_reader, open_writer, verify
from fathom.index.embedded.rebuild import rebuild_index
from fathom.index.embedded.writer import EmbeddedWriter

Make = Callable[..., tuple[Entry, SourceRecord]]

CHILD = """
import os, signal, sys
from pathlib import Path
from fathom.index.embedded.opening import open_writer
from fathom.index.embedded.rebuild import rebuild_index
from tests.index.conftest import made

directory, step = Path(sys.argv[1]), sys.argv[2]

def die(name):
    if name == step:
        os.kill(os.getpid(), signal.SIGKILL)

def open_new(place):
    return open_writer(place, {"a": "2"}, ann_from_chunks=1)

with rebuild_index(directory, ["/corpus"], open_new, die) as made_anew:
    for name in ("one", "two"):
        entry, source = made(name, f"new words of {name}", f"more of {name}")
        made_anew.writer.put([entry], [source])
        die("stored")
    made_anew.writer.optimize()
    die("made")
"""


def open_new(place: Path) -> EmbeddedWriter:
    return open_writer(place, {"a": "2"}, ann_from_chunks=1)


@pytest.fixture
def old(tmp_path: Path, make: Make) -> Path:
    with open_writer(tmp_path / "index", {"a": "1"}, ann_from_chunks=1) as writer:
        for name in ("one", "old"):
            entry, source = make(name, f"old words of {name}", f"more of {name}")
            writer.put([entry], [source])
        writer.optimize()
    return tmp_path / "index"


def texts(index: Path) -> dict[str, str]:
    with open_reader(index) as reader:
        found = {
            document.id: reader.get_document(document.id) for document in reader.list_documents()
        }
        words = {match.chunk_id for match in reader.keyword_search("words", k=9)}
    assert words == of(*found)
    return {name: document.text for name, document in found.items() if document}


OLD = {name: f"old words of {name}\nmore of {name}" for name in ("one", "old")}
NEW = {name: f"new words of {name}\nmore of {name}" for name in ("one", "two")}


def of(*names: str) -> set[str]:
    return {f"{name}#0" for name in names}


def rebuild(index: Path, step: str = "") -> int:
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(index), step],
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    ).returncode


@pytest.mark.parametrize("step", ["made", "moved", "replaced"])
def test_killed_at_a_step(old: Path, step: str) -> None:
    assert rebuild(old, step) == -signal.SIGKILL
    assert verify(old) == []
    assert texts(old) == (NEW if step == "replaced" else OLD)
    assert verify(old) == []
    assert rebuild(old) == 0
    assert verify(old) == []
    assert texts(old) == NEW
    left = {path.name.split("-")[0] for path in old.iterdir()}
    assert left == {"fathom.db", "lock", "tantivy", "vectors"}
    assert len(list(old.glob("tantivy*"))) == len(list(old.glob("vectors*"))) == 1


def test_readers_go_over_to_the_new_index(old: Path, make: Make) -> None:
    vector = vectors_of(make("two", "new words of two", "more of two")[0])[0]
    with open_reader(old) as reader:
        reader.vector_search(vector, k=1)
        assert {match.chunk_id for match in reader.keyword_search("words", k=9)} == of("one", "old")
        assert rebuild(old) == 0
        assert {match.chunk_id for match in reader.keyword_search("words", k=9)} == of("one", "two")
        assert reader.vector_search(vector, k=1)[0].chunk_id == "two#0"


def broken_off(index: Path, stored: tuple[Entry, SourceRecord]) -> None:
    with suppress(KeyboardInterrupt), rebuild_index(index, ["/corpus"], open_new) as made:
        made.writer.put([stored[0]], [stored[1]])
        raise KeyboardInterrupt


def test_what_was_stored_is_gone_on_with(old: Path, make: Make) -> None:
    broken_off(old, make("one", "new words of one"))
    assert texts(old) == OLD
    with rebuild_index(old, ["/corpus"], open_new) as made:
        assert [document.id for document in made.writer.list_documents()] == ["one"]
    assert list(texts(old)) == ["one"]


@pytest.mark.parametrize("how", ["other roots", "other settings", "written to since", "damaged"])
def test_what_was_stored_otherwise_is_not_gone_on_with(old: Path, make: Make, how: str) -> None:
    broken_off(old, make("one", "new words of one"))
    roots = ["/other"] if how == "other roots" else ["/corpus"]
    name = "3" if how == "other settings" else "2"
    if how == "written to since":
        open_writer(old, None).close()
        assert not (old / REBUILD).exists()
    if how == "damaged":
        (old / REBUILD / "fathom.db").write_bytes(b"no database" * 100)
    with rebuild_index(old, roots, lambda place: open_writer(place, {"a": name})) as made:
        assert list(made.writer.list_documents()) == []


@pytest.mark.parametrize("damage", ["no database", "a page", "no file", "no keyword index"])
def test_a_damaged_index_is_replaced(old: Path, damage: str) -> None:
    file = old / "fathom.db"
    if damage == "no database":
        file.write_bytes(b"no database" * 1000)
        file.with_name("fathom.db-wal").write_bytes(b"x" * 99)
    elif damage == "a page":
        data = file.read_bytes()
        file.write_bytes(data[:4096] + b"\xff" * 4096 + data[8192:])
    elif damage == "no file":
        shutil.rmtree(old)
    else:
        shutil.rmtree(old / "tantivy")
    assert rebuild(old) == 0
    assert verify(old) == []
    assert texts(old) == NEW


def test_one_writer(old: Path) -> None:
    with rebuild_index(old, [], open_new), pytest.raises(IndexLocked):
        open_writer(old, None)
    with open_writer(old, None), pytest.raises(IndexLocked), rebuild_index(old, [], open_new):
        pass
