"""Damage, concurrency and forgetting in the embedded index.

Covers fathom.index.embedded.derived, fathom.index.embedded.hnsw,
fathom.index.embedded.integrity, fathom.index.embedded.status, fathom.index.embedded.store,
fathom.index.validation.
"""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.index.conftest import get_vectors

from fathom.errors import IndexCorrupt, IndexMismatch
from fathom.index.base import Entry, SourceRecord
from fathom.index.embedded.opening import open_reader, open_writer, take_lock, verify
from fathom.index.embedded.rebuild import rebuild_index

EntryFactory = Callable[..., tuple[Entry, SourceRecord]]


@pytest.fixture
def index(tmp_path: Path, make: EntryFactory) -> Path:
    with open_writer(tmp_path, {"a": "1"}, ann_from_chunks=3) as writer:
        for name in ("one", "two", "three", "four"):
            entry, source = make(name, f"the words of {name}", f"more about {name}")
            writer.put([entry], [source])
        writer.optimize()
    return tmp_path


def search_both(index: Path, make: EntryFactory) -> list[str]:
    vector = get_vectors(make("two", "the words of two", "more about two")[0])[1]
    with open_reader(index) as reader:
        near = reader.vector_search(vector, k=3)
        worded = reader.keyword_search("words of two", k=3)
    return [match.chunk_id for match in near + worded]


def test_an_index_of_failed_files_only_is_sound(tmp_path: Path) -> None:
    with open_writer(tmp_path, {"a": "1"}) as writer:
        writer.put([], [SourceRecord(path="/a", digest="d", outcome="failed", reason="torn")])
    assert verify(tmp_path) == []


def test_only_the_owner_can_read_a_new_database(tmp_path: Path, make: EntryFactory) -> None:
    with open_writer(tmp_path, {"a": "1"}) as writer:
        entry, source = make("one", "the words of one")
        writer.put([entry], [source])
        files = list(tmp_path.glob("fathom.db*"))
        assert len(files) == 3
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    (tmp_path / "fathom.db").chmod(0o640)
    with open_writer(tmp_path, {"a": "1"}):
        assert stat.S_IMODE((tmp_path / "fathom.db").stat().st_mode) == 0o640


def test_a_missing_keyword_index_is_rebuilt(index: Path, make: EntryFactory) -> None:
    before = search_both(index, make)
    shutil.rmtree(index / "tantivy")
    assert search_both(index, make) == before
    assert verify(index) == []


@pytest.mark.parametrize("damage", ["missing", "older"])
def test_a_reader_that_may_not_mend_searches_words_beside_a_writer(
    index: Path, make: EntryFactory, damage: str
) -> None:
    expected = search_both(index, make)[-3:]
    folder = index / "tantivy"
    if damage == "older":
        older = index.with_name(f"{index.name}-older")
        shutil.copytree(folder, older)
        with open_writer(index, {"a": "1"}) as writer:
            entry, source = make("five", "other speech")
            writer.put([entry], [source])
    shutil.rmtree(folder)
    if damage == "older":
        older.rename(folder)
    before = {path: path.read_bytes() for path in folder.glob("*.*")}
    with take_lock(index), open_reader(index, {"a": "1"}, mend=False) as reader:
        matches = reader.keyword_search("words of two", k=3)
        assert [match.chunk_id for match in matches] == expected
        assert len(reader.keyword_search("speech", k=3)) == (damage == "older")
    assert {path: path.read_bytes() for path in folder.glob("*.*")} == before


def test_a_new_index_whose_writer_died_before_the_keyword_index_is_sound(
    tmp_path: Path, make: EntryFactory
) -> None:
    open_writer(tmp_path, {"a": "1"}).close()
    shutil.rmtree(tmp_path / "tantivy")
    assert verify(tmp_path) == []
    with open_writer(tmp_path, {"a": "1"}) as writer:
        entry, source = make("one", "the words of one")
        writer.put([entry], [source])
    shutil.rmtree(tmp_path / "tantivy")
    assert any("damaged" in finding for finding in verify(tmp_path))


def test_a_keyword_index_of_another_state_is_rebuilt(index: Path, make: EntryFactory) -> None:
    shutil.copytree(index / "tantivy", index / "stale")
    with open_writer(index, None) as writer:
        entry, source = make("five", "the words of five")
        writer.put([entry], [source])
    before = search_both(index, make)
    shutil.rmtree(index / "tantivy")
    (index / "stale").rename(index / "tantivy")
    assert any("another state" in finding for finding in verify(index))
    assert search_both(index, make) == before
    assert verify(index) == []


def replace_file(file: Path, data: bytes | bytearray) -> None:
    """Give a file other bytes. A reader of this process may still have the old ones mapped, and
    truncating them would end the process.
    """
    other = file.with_suffix(".other")
    other.write_bytes(data)
    other.replace(file)


def test_a_missing_or_truncated_graph_changes_no_answer(index: Path, make: EntryFactory) -> None:
    before = search_both(index, make)
    graph = next(index.glob("vectors-*.usearch"))
    whole = graph.read_bytes()
    replace_file(graph, whole[: len(whole) // 2])
    assert search_both(index, make) == before
    assert [graph.name in finding for finding in verify(index)] == [True]
    graph.unlink()
    assert search_both(index, make) == before
    with open_writer(index, None) as writer:
        writer.optimize()
    assert verify(index) == []


def test_flipped_bytes_in_derived_files_are_detected_and_repaired(
    index: Path, make: EntryFactory
) -> None:
    before = search_both(index, make)
    store = max((index / "tantivy").glob("*.idx"), key=lambda path: path.stat().st_size)
    data = bytearray(store.read_bytes())
    data[0] ^= 0xFF
    replace_file(store, data)
    assert store.name in verify(index)[0]
    assert search_both(index, make) == before
    assert verify(index) == []
    (index / "tantivy" / "meta.json").write_text("{}")
    assert "meta.json" in verify(index)[0]
    assert verify(index, fix=True) == []


def test_flipped_bytes_in_a_text_are_detected(index: Path, make: EntryFactory) -> None:
    file = index / "fathom.db"
    file.write_bytes(file.read_bytes().replace(b"the words of two", b"the words of tvo"))
    assert any("differs from what was stored" in finding for finding in verify(index))


def test_a_file_that_is_no_database_is_refused(index: Path, make: EntryFactory) -> None:
    (index / "fathom.db").write_bytes(b"not a database, not at all" * 100)
    with pytest.raises(IndexCorrupt, match=r"fathom\.db is damaged.*--rebuild"):
        open_reader(index)
    with pytest.raises(IndexCorrupt):
        open_writer(index, None)
    with rebuild_index(index, [], lambda place: open_writer(place, {"a": "2"})) as rebuilt:
        assert rebuilt.before is None
    assert verify(index) == []
    with open_reader(index) as reader:
        assert (reader.status().documents, reader.status().identity) == (0, {"a": "2"})


def test_a_newer_layout_is_refused(index: Path, make: EntryFactory) -> None:
    connection = sqlite3.connect(index / "fathom.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(IndexMismatch, match="layout 99"):
        open_reader(index)


def test_forgotten_text_remains_in_no_file(tmp_path: Path, make: EntryFactory) -> None:
    secret = "xylographicsecret"
    with open_writer(tmp_path, {"a": "1"}) as writer:
        ordinary = make("kept", "an ordinary text")
        for entry, source in (ordinary, make("gone", f"the {secret} of the house " * 40)):
            writer.put([entry], [source])
        assert any(secret.encode() in path.read_bytes() for path in read_files(tmp_path))
        assert writer.forget(["/corpus/gone"]) == 1
        writer.optimize()
    for path in read_files(tmp_path):
        assert secret[:8].encode() not in path.read_bytes(), path
    with open_reader(tmp_path) as reader:
        assert reader.keyword_search("ordinary", k=1)[0].chunk_id == "kept#0"


def read_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


REWRITE = """
import sys
from pathlib import Path
from fathom.index.embedded.opening import open_writer
from tests.index.conftest import make_entry
with open_writer(Path(sys.argv[1]), None) as writer:
    for turn in range(60):
        entry, source = make_entry("two", *[f"the words of two {turn}"] * (1 + turn % 3))
        writer.put([entry], [source])
"""


def test_readers_see_each_document_whole_while_it_is_replaced(
    index: Path, make: EntryFactory
) -> None:
    anything = get_vectors(make("x", "any")[0])[0]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen([sys.executable, "-c", REWRITE, str(index)], env=environment)
    states = set()
    with open_reader(index) as reader:
        while process.poll() is None:
            document = reader.get_document("two")
            assert document is not None
            states.add(document.text)
            parts = document.text.split("\n")
            assert len(set(parts)) == 1 or parts == ["the words of two", "more about two"]
            assert "two#0" in {m.chunk_id for m in reader.keyword_search("two", k=9)}
            assert "two#0" in {m.chunk_id for m in reader.vector_search(anything, k=99)}
    assert process.returncode == 0
    assert len(states) > 1
    assert verify(index) == []


def test_opening_an_index_under_construction_waits_for_its_words(
    tmp_path: Path, make: EntryFactory
) -> None:
    with open_writer(tmp_path, {"a": "1"}) as writer:
        entry, source = make("one", "some words")
        writer.put([entry], [source])
    words, away = tmp_path / "tantivy", tmp_path / "away"
    words.rename(away)
    lock = take_lock(tmp_path)  # a writer is at work, and comes to it
    timer = threading.Timer(0.2, lambda: away.rename(words))
    timer.start()
    try:
        with open_reader(tmp_path) as reader:
            assert [m.chunk_id for m in reader.keyword_search("words", k=5)] == ["one#0"]
    finally:
        timer.join()
        lock.release()


def list_numbers(place: Path, table: str) -> list[int]:
    connection = sqlite3.connect(place / "fathom.db")
    numbers = [row[0] for row in connection.execute(f"SELECT no FROM {table} ORDER BY no")]
    connection.close()
    return numbers


def test_no_number_is_assigned_twice(index: Path, make: EntryFactory) -> None:
    with open_writer(index, None) as writer:
        entry, source = make("last", "the last words", "and more of them")
        writer.put([entry], [source])
    before = {table: list_numbers(index, table)[-1] for table in ("documents", "chunks")}
    with open_writer(index, None) as writer:
        writer.forget([source.path])
        entries = [make(name, f"the words of {name}") for name in ("new", "newer")]
        writer.put([indexed for indexed, _ in entries], [source for _, source in entries])
    for table, last in before.items():
        assert list_numbers(index, table)[-2:] == [last + 1, last + 2]
