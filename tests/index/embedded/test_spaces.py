"""Additional vector spaces of the embedded index: filling, dropping, checking, and kills."""

import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.index.conftest import EntryFactory

from fathom.errors import IndexMismatch
from fathom.index.base import Space
from fathom.index.embedded.opening import open_reader, open_writer, verify
from fathom.index.embedded.rebuild import rebuild_index
from fathom.index.embedded.schema import FILE
from fathom.index.embedded.writer import EmbeddedWriter

WIDE = Space(name="wide", identity={"model": "wide", "sha256": "1"})
OTHER = Space(name="other", identity={"model": "other", "sha256": "2"})
MADE_WITH = {"a": "1"}
Vector = np.ndarray[tuple[int], np.dtype[np.float32]]


def make_vector(text: str, size: int = 4) -> Vector:
    value = np.random.default_rng(sum(text.encode())).normal(size=size).astype(np.float32)
    return np.asarray(value / np.linalg.norm(value), dtype=np.float32)


def open_with_space(directory: Path, **options: object) -> EmbeddedWriter:
    return open_writer(directory, MADE_WITH, ann_from_chunks=3, **options)  # type: ignore[arg-type]


def fill_space(writer: EmbeddedWriter, space: Space, *, most: int = 2, size: int = 4) -> int:
    count = 0
    while chunks := writer.list_unembedded_chunks(space.name, most=most):
        writer.fill(space.name, {chunk.id: make_vector(chunk.text, size) for chunk in chunks})
        count += len(chunks)
    return count


@pytest.fixture
def stored(tmp_path: Path, make: EntryFactory) -> Path:
    with open_with_space(tmp_path) as writer:
        for name in ("one", "two"):
            entry, source = make(name, f"{name} a", f"{name} b", f"{name} c")
            writer.put([entry], [source])
    return tmp_path


def test_a_space_is_filled_from_stored_chunks_and_searched(stored: Path) -> None:
    with open_with_space(stored) as writer:
        before = writer.status()
        writer.create_spaces([WIDE])
        assert fill_space(writer, WIDE) == 6
        writer.optimize()
        after = writer.status()
    with open_reader(stored) as reader:
        hits = reader.vector_search(make_vector("two b"), k=2, space=WIDE)

    assert hits[0].chunk_id == "two#1"
    assert hits[0].score == pytest.approx(1, abs=1e-3)
    assert after.content == before.content
    assert after.revision > before.revision  # other things are found
    assert [(s.name, s.dimension, s.chunks) for s in after.spaces] == [("wide", 4, 6)]
    assert len(list(stored.glob("vectors-*.usearch"))) == 2  # one graph a space
    assert verify(stored) == []


def test_results_are_the_same_with_and_without_a_graph(stored: Path) -> None:
    with open_with_space(stored) as writer:
        writer.create_spaces([WIDE])
        fill_space(writer, WIDE)
        plain = writer.vector_search(make_vector("q"), k=6, space=WIDE)
        writer.optimize()
        assert writer.vector_search(make_vector("q"), k=6, space=WIDE) == plain
    with open_reader(stored) as reader:
        assert reader.vector_search(make_vector("q"), k=6, space=WIDE) == plain


def test_later_documents_get_vectors_of_the_space(stored: Path, make: EntryFactory) -> None:
    with open_with_space(stored) as writer:
        writer.create_spaces([WIDE])
        fill_space(writer, WIDE)
        entry, source = make("three", "three a")
        full = replace(entry, more={"wide": np.stack([make_vector("three a")])})
        writer.put([full], [source])

        assert (
            writer.vector_search(make_vector("three a"), k=1, space=WIDE)[0].chunk_id == "three#0"
        )
        assert writer.list_unembedded_chunks("wide", most=9) == []
        writer.forget([source.path])
        assert (
            writer.vector_search(make_vector("three a"), k=9, space=WIDE)[0].chunk_id != "three#0"
        )
    assert verify(stored) == []


def test_a_missing_space_is_refused_with_the_command(stored: Path) -> None:
    with (
        open_reader(stored) as reader,
        pytest.raises(IndexMismatch, match="no vectors of 'wide'; run `fathom ingest`"),
    ):
        reader.vector_search(make_vector("q"), k=1, space=WIDE)


def test_chunks_without_a_vector_are_skipped_and_counted(stored: Path, make: EntryFactory) -> None:
    with open_with_space(stored) as writer, open_reader(stored) as reader:
        writer.create_spaces([WIDE])
        assert reader.vector_search(make_vector("q"), k=9, space=WIDE) == []
        writer.fill("wide", {"two#1": make_vector("two b")})
        assert [m.chunk_id for m in reader.vector_search(make_vector("q"), k=9, space=WIDE)] == [
            "two#1"
        ]
        assert reader.count_missing_vectors() == 5
        fill_space(writer, WIDE)
        assert len(reader.vector_search(make_vector("q"), k=9, space=WIDE)) == 6
        assert reader.count_missing_vectors() == 0
        writer.optimize()
        entry, source = make("late", "late a")
        writer.put([entry], [source])  # by who does not know the space
        assert len(reader.vector_search(make_vector("q"), k=9, space=WIDE)) == 6
        assert (reader.count_missing_vectors(), reader.status().lacking) == (1, 0)
        writer.forget([source.path])
        assert reader.count_missing_vectors() == 0


def test_vectors_of_another_embedder_are_refused_and_rebuilt(stored: Path) -> None:
    changed = Space(name="wide", identity={"model": "wide", "sha256": "9"})
    with open_with_space(stored) as writer:
        writer.create_spaces([WIDE])
        fill_space(writer, WIDE)
        with pytest.raises(IndexMismatch, match=r"another 'wide' \(another sha256\); run `fathom"):
            writer.vector_search(make_vector("q"), k=1, space=changed)
        writer.create_spaces([changed])
        assert len(writer.list_unembedded_chunks("wide", most=99)) == 6
        assert fill_space(writer, changed, size=5) == 6
        assert len(writer.vector_search(make_vector("q", 5), k=9, space=changed)) == 6
    assert verify(stored) == []


def test_dropping_one_leaves_the_others_and_the_documents(stored: Path) -> None:
    with open_with_space(stored) as writer:
        writer.create_spaces([WIDE, OTHER])
        fill_space(writer, WIDE)
        fill_space(writer, OTHER, size=6)
        writer.optimize()
        before = writer.vector_search(make_vector("q", 6), k=6, space=OTHER)
        assert writer.drop_space("wide")
        assert not writer.drop_space("wide")
        assert writer.vector_search(make_vector("q", 6), k=6, space=OTHER) == before
        assert [space.name for space in writer.status().spaces] == ["other"]
        assert len(list(stored.glob("vectors-*.usearch"))) == 2
    with sqlite3.connect(stored / FILE) as raw:
        tables = {row[0] for row in raw.execute("SELECT name FROM sqlite_master")}
    raw.close()
    assert "vectors_1" not in tables
    assert verify(stored) == []


def test_reused_vectors_stay_in_their_space(stored: Path) -> None:
    with open_with_space(stored) as writer:
        writer.keep_vectors({"text": make_vector("a")}, space="wide")

        assert writer.get_kept_vectors(["text"]) == {}
        assert writer.get_kept_vectors(["text"], space="wide").keys() == {"text"}


def test_vectors_of_two_lengths_are_refused(stored: Path) -> None:
    with open_with_space(stored) as writer:
        writer.create_spaces([WIDE])
        writer.fill("wide", {"one#0": make_vector("one a")})
        with pytest.raises(IndexMismatch, match="fathom vectors drop wide"):
            writer.fill("wide", {"one#1": make_vector("one b", 5)})
        assert len(writer.list_unembedded_chunks("wide", most=9)) == 5


def test_damaged_vectors_of_a_space_are_reported_with_the_repair(stored: Path) -> None:
    with open_with_space(stored) as writer:
        writer.create_spaces([WIDE])
        fill_space(writer, WIDE)
    raw = sqlite3.connect(stored / FILE)
    raw.execute("UPDATE vectors_1 SET vector = zeroblob(8) WHERE chunk_no = 2")
    raw.commit()
    raw.close()

    (finding,) = verify(stored)
    assert "by 'wide' of chunk number 2" in finding
    assert "fathom vectors drop wide" in finding


def test_a_lost_graph_of_a_space_is_rebuilt(stored: Path) -> None:
    with open_with_space(stored) as writer:
        writer.create_spaces([WIDE])
        fill_space(writer, WIDE)
        writer.optimize()
        expected = writer.vector_search(make_vector("q"), k=6, space=WIDE)
    (graph,) = stored.glob("vectors-*-1.usearch")
    graph.unlink()
    with open_reader(stored) as reader:
        assert reader.vector_search(make_vector("q"), k=6, space=WIDE) == expected
    assert any("scan all chunks" in finding for finding in verify(stored))
    assert verify(stored, fix=True) == []


def test_an_index_older_than_spaces_opens_and_can_get_some(stored: Path) -> None:
    raw = sqlite3.connect(stored / FILE)
    raw.execute("DROP TABLE spaces")
    raw.commit()
    raw.close()
    with open_reader(stored) as reader:
        assert reader.status().spaces == ()
        assert len(reader.vector_search(make_vector("q", 8), k=9)) == 6
        with pytest.raises(IndexMismatch, match="no vectors of 'wide'"):
            reader.vector_search(make_vector("q"), k=1, space=WIDE)
    assert verify(stored) == []
    with open_with_space(stored) as writer:
        writer.create_spaces([WIDE])
        assert fill_space(writer, WIDE) == 6


def test_a_rebuilt_index_keeps_its_spaces_and_their_graphs(
    stored: Path, make: EntryFactory
) -> None:
    with rebuild_index(stored, ["/corpus"], open_with_space) as made_anew:
        made_anew.writer.create_spaces([WIDE])
        entry, source = make("new", "a", "b", "c", "d")
        made_anew.writer.put([entry], [source])
        fill_space(made_anew.writer, WIDE)
        made_anew.writer.optimize()
    with open_reader(stored) as reader:
        assert reader.vector_search(make_vector("c"), k=1, space=WIDE)[0].chunk_id == "new#2"
    assert len(list(stored.glob("vectors-*.usearch"))) == 2
    assert verify(stored) == []


CHILD = """
import os, signal, sys
from pathlib import Path
from tests.index.embedded.test_spaces import WIDE, fill_space, open_with_space

directory, step, turn = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
seen = 0

def die(name):
    global seen
    seen += name == step
    if seen == turn:
        os.kill(os.getpid(), signal.SIGKILL)

writer = open_with_space(directory, on_step=die)
writer.create_spaces([WIDE])
fill_space(writer, WIDE)
writer.optimize()
writer.drop_space("wide")
"""


@pytest.mark.parametrize(
    ("step", "turn", "remaining"),
    [("filled", 1, 4), ("filled", 2, 2), ("filled", 3, 0), ("building", 2, 0), ("built", 2, 0)],
)
def test_a_kill_while_a_space_is_added_loses_nothing(
    stored: Path, step: str, turn: int, remaining: int
) -> None:
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(stored), step, str(turn)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert child.returncode == -signal.SIGKILL, child.stderr

    assert verify(stored) == []
    with open_with_space(stored) as writer:
        assert (
            len(writer.list_unembedded_chunks("wide", most=99)) == remaining
        )  # what was filled is kept
        writer.create_spaces([WIDE])
        fill_space(writer, WIDE)
        writer.optimize()
        assert writer.vector_search(make_vector("two b"), k=1, space=WIDE)[0].chunk_id == "two#1"
    assert verify(stored) == []


@pytest.mark.parametrize("call", ["put", "fill"])
def test_a_space_that_was_not_created_accepts_nothing(
    stored: Path, call: str, make: EntryFactory
) -> None:
    entry, source = make("x", "x a")
    bad = replace(entry, more={"none": np.stack([make_vector("x a")])})
    with open_with_space(stored) as writer:
        calls = {
            "put": lambda: writer.put([bad], [source]),
            "fill": lambda: writer.fill("none", {"one#0": make_vector("one a")}),
        }
        with pytest.raises(ValueError, match=r"'none'.*no .*space"):
            calls[call]()
