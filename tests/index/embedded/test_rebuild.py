"""A rebuilt index replaces the old one in one step, even if the process is killed."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.index.conftest import get_vectors

from fathom.errors import IndexLocked
from fathom.index.base import Entry, SourceRecord
from fathom.index.embedded.opening import REBUILD, open_reader, open_writer, verify
from fathom.index.embedded.rebuild import rebuild_index
from fathom.index.embedded.writer import EmbeddedWriter

EntryFactory = Callable[..., tuple[Entry, SourceRecord]]

CHILD = """
import os, signal, sys
from pathlib import Path
from fathom.index.embedded.opening import open_writer
from fathom.index.embedded.rebuild import rebuild_index
from tests.index.conftest import make_entry

directory, step = Path(sys.argv[1]), sys.argv[2]

def die(name):
    if name == step:
        os.kill(os.getpid(), signal.SIGKILL)

def open_new(place):
    return open_writer(place, {"a": "2"}, ann_from_chunks=1)

with rebuild_index(directory, ["/corpus"], open_new, die) as made_anew:
    for name in ("one", "two"):
        entry, source = make_entry(name, f"new words of {name}", f"more of {name}")
        made_anew.writer.put([entry], [source])
        die("stored")
    made_anew.writer.optimize()
    die("made")
"""


def open_new(place: Path) -> EmbeddedWriter:
    return open_writer(place, {"a": "2"}, ann_from_chunks=1)


@pytest.fixture
def old_index(tmp_path: Path, make: EntryFactory) -> Path:
    with open_writer(tmp_path / "index", {"a": "1"}, ann_from_chunks=1) as writer:
        for name in ("one", "old"):
            entry, source = make(name, f"old words of {name}", f"more of {name}")
            writer.put([entry], [source])
        writer.optimize()
    return tmp_path / "index"


def read_texts(index: Path) -> dict[str, str]:
    with open_reader(index) as reader:
        documents = {
            document.id: reader.get_document(document.id) for document in reader.list_documents()
        }
        words = {match.chunk_id for match in reader.keyword_search("words", k=9)}
    assert words == expect_texts(*documents)
    return {name: document.text for name, document in documents.items() if document}


OLD = {name: f"old words of {name}\nmore of {name}" for name in ("one", "old")}
NEW = {name: f"new words of {name}\nmore of {name}" for name in ("one", "two")}


def expect_texts(*names: str) -> set[str]:
    return {f"{name}#0" for name in names}


def rebuild(index: Path, step: str = "") -> int:
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(index), step],
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    ).returncode


@pytest.mark.parametrize("step", ["made", "moved", "replaced"])
def test_a_kill_at_any_step_leaves_a_whole_index(old_index: Path, step: str) -> None:
    assert rebuild(old_index, step) == -signal.SIGKILL
    assert verify(old_index) == []
    assert read_texts(old_index) == (NEW if step == "replaced" else OLD)
    assert verify(old_index) == []
    assert rebuild(old_index) == 0
    assert verify(old_index) == []
    assert read_texts(old_index) == NEW
    leftovers = {path.name.split("-")[0] for path in old_index.iterdir()}
    assert leftovers == {"fathom.db", "lock", "tantivy", "vectors"}
    assert len(list(old_index.glob("tantivy*"))) == len(list(old_index.glob("vectors*"))) == 1


def test_readers_switch_to_the_new_index(old_index: Path, make: EntryFactory) -> None:
    vector = get_vectors(make("two", "new words of two", "more of two")[0])[0]
    with open_reader(old_index) as reader:
        reader.vector_search(vector, k=1)
        assert {match.chunk_id for match in reader.keyword_search("words", k=9)} == expect_texts(
            "one", "old"
        )
        assert rebuild(old_index) == 0
        assert {match.chunk_id for match in reader.keyword_search("words", k=9)} == expect_texts(
            "one", "two"
        )
        assert reader.vector_search(vector, k=1)[0].chunk_id == "two#0"


def interrupt_rebuild(index: Path, stored: tuple[Entry, SourceRecord]) -> None:
    with suppress(KeyboardInterrupt), rebuild_index(index, ["/corpus"], open_new) as rebuilt:
        rebuilt.writer.put([stored[0]], [stored[1]])
        raise KeyboardInterrupt


def test_an_interrupted_rebuild_is_continued(old_index: Path, make: EntryFactory) -> None:
    interrupt_rebuild(old_index, make("one", "new words of one"))
    assert read_texts(old_index) == OLD
    with rebuild_index(old_index, ["/corpus"], open_new) as rebuilt:
        assert [document.id for document in rebuilt.writer.list_documents()] == ["one"]
    assert list(read_texts(old_index)) == ["one"]


@pytest.mark.parametrize("how", ["other roots", "other settings", "written to since", "damaged"])
def test_an_interrupted_rebuild_with_other_settings_is_not_continued(
    old_index: Path, make: EntryFactory, how: str
) -> None:
    interrupt_rebuild(old_index, make("one", "new words of one"))
    roots = ["/other"] if how == "other roots" else ["/corpus"]
    name = "3" if how == "other settings" else "2"
    if how == "written to since":
        open_writer(old_index, None).close()
        assert not (old_index / REBUILD).exists()
    if how == "damaged":
        (old_index / REBUILD / "fathom.db").write_bytes(b"no database" * 100)
    with rebuild_index(old_index, roots, lambda place: open_writer(place, {"a": name})) as rebuilt:
        assert list(rebuilt.writer.list_documents()) == []


@pytest.mark.parametrize("damage", ["no database", "a page", "no file", "no keyword index"])
def test_a_damaged_index_is_replaced(old_index: Path, damage: str) -> None:
    file = old_index / "fathom.db"
    if damage == "no database":
        file.write_bytes(b"no database" * 1000)
        file.with_name("fathom.db-wal").write_bytes(b"x" * 99)
    elif damage == "a page":
        data = file.read_bytes()
        file.write_bytes(data[:4096] + b"\xff" * 4096 + data[8192:])
    elif damage == "no file":
        shutil.rmtree(old_index)
    else:
        shutil.rmtree(old_index / "tantivy")
    assert rebuild(old_index) == 0
    assert verify(old_index) == []
    assert read_texts(old_index) == NEW


def test_only_one_writer_may_rebuild(old_index: Path) -> None:
    with rebuild_index(old_index, [], open_new), pytest.raises(IndexLocked):
        open_writer(old_index, None)
    with (
        open_writer(old_index, None),
        pytest.raises(IndexLocked),
        rebuild_index(old_index, [], open_new),
    ):
        pass
