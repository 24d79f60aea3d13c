"""BM25 compared with an independent implementation."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import bm25s
import numpy as np
import pytest

from fathom.errors import IndexCorrupt, RunError
from fathom.index.embedded.keyword import KeywordEntry, KeywordIndex, discard_unlisted_files
from fathom.index.embedded.opening import open_reader, open_writer, verify
from fathom.index.filters import SearchScope
from fathom.testing.index_entries import CATS, IDENTITY, SHIPS, entry, put

WORDS = [f"w{number}" for number in range(60)]


def make_corpus(count: int, seed: int) -> list[list[str]]:
    # Up to 40 words: tantivy keeps lengths in one byte, which is exact that far.
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, len(WORDS) + 1)
    weights /= weights.sum()
    return [rng.choice(WORDS, size=rng.integers(3, 40), p=weights).tolist() for _ in range(count)]


def build_keyword_index(texts: list[list[str]]) -> KeywordIndex:
    index = KeywordIndex(None, create=True)
    index.apply((KeywordEntry(n, n // 2, terms) for n, terms in enumerate(texts)), [], "x.1")
    return index


def test_scores_equal_those_of_bm25s() -> None:
    texts = make_corpus(400, 1)
    reference = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    reference.index(texts, show_progress=False)
    ours = build_keyword_index(texts)
    for query in (["w1", "w7", "w40"], ["w55"], ["w0", "w0", "w3"]):
        counts = {term: query.count(term) for term in query}
        matches = dict(ours.search(counts, k=400, allowed=None))
        expected = reference.get_scores(query)
        assert set(matches) == set(np.flatnonzero(expected > 0).tolist())
        # This variant leaves out the constant factor k1 + 1.
        for number, score in matches.items():
            assert score == pytest.approx(2.2 * expected[number], rel=1e-4)
        best = sorted(matches, key=lambda number: -matches[number])[:10]
        threshold = np.sort(expected)[-10]
        assert all(expected[number] >= threshold * 0.9999 for number in best)


def test_scores_do_not_depend_on_how_chunks_were_committed() -> None:
    texts = make_corpus(300, 3)
    chunks = [KeywordEntry(n, n // 2, terms) for n, terms in enumerate(texts)]
    at_once, by_and_by = build_keyword_index(texts), KeywordIndex(None, create=True)
    by_and_by.apply([], [], "x.0")  # a marker alone, which goes with the next commit
    for number, start in enumerate(range(0, 300, 7), start=1):
        by_and_by.apply(chunks[start : start + 7], [], f"x.{number}")
        assert (by_and_by.count_chunks(), by_and_by.get_marker()) == (
            min(start + 7, 300),
            f"x.{number}",
        )
    for query in ({"w1": 1, "w7": 1, "w40": 1}, {"w55": 1}, {"w0": 2, "w3": 1}):
        gradual, expected = (
            keyword_index.search(query, k=300, allowed=None)
            for keyword_index in (by_and_by, at_once)
        )
        assert sorted(gradual) == sorted(expected)


def test_all_ties_at_the_cut_are_returned() -> None:
    ours = build_keyword_index([["same"]] * 200 + [["same", "other"]])
    hits = ours.search({"same": 1}, k=5, allowed=None)
    assert len(hits) >= 200


def test_few_and_many_allowed_documents_agree() -> None:
    texts = make_corpus(3000, 2)
    ours = build_keyword_index(texts)
    for documents in (np.arange(0, 100), np.arange(0, 1400)):
        chunks = np.arange(0, 2 * len(documents))
        allowed = SearchScope(chunks, documents)
        everything = ours.search({"w20": 1, "w30": 1}, k=3000, allowed=None)
        expected = [pair for pair in everything if pair[0] in set(chunks.tolist())]
        hits = ours.search({"w20": 1, "w30": 1}, k=10, allowed=allowed)
        assert [score for _, score in hits[:10]] == pytest.approx(
            [score for _, score in expected[:10]]
        )


def test_terms_are_never_parsed() -> None:
    ours = build_keyword_index([["a:b", "*"], ["plain"]])
    assert [number for number, _ in ours.search({"a:b": 1}, k=5, allowed=None)] == [0]
    assert [number for number, _ in ours.search({"*": 1}, k=5, allowed=None)] == [0]


def test_changes_can_be_applied_and_refilled() -> None:
    ours = build_keyword_index([["one"], ["two"]])
    ours.apply([KeywordEntry(7, 3, ["seven"])], [0], "x.2")
    assert (ours.count_chunks(), ours.get_marker()) == (2, "x.2")
    assert ours.search({"one": 1}, k=1, allowed=None) == []
    ours.refill([KeywordEntry(9, 4, ["nine"])], "x.3")
    assert (ours.count_chunks(), ours.get_marker()) == (1, "x.3")
    assert [number for number, _ in ours.search({"nine": 1}, k=1, allowed=None)] == [9]


def test_the_reported_state_is_the_searched_one(tmp_path: Path) -> None:
    writer = KeywordIndex(tmp_path / "words", create=True)
    writer.apply([KeywordEntry(1, 1, ["old"])], [], "x.1")
    reader = KeywordIndex(tmp_path / "words", create=False)
    assert reader.get_marker() == "x.1"
    writer.apply([KeywordEntry(2, 2, ["new"])], [1], "x.2")
    assert reader.get_marker() == "x.1"
    assert reader.search({"old": 1}, k=5, allowed=None)
    reader.reload()
    assert reader.get_marker() == "x.2"
    assert not reader.search({"old": 1}, k=5, allowed=None)


def test_leftovers_of_a_killed_commit_are_no_obstacle(tmp_path: Path) -> None:
    texts = [KeywordEntry(number, number, [f"w{number}"]) for number in range(10)]
    ours = KeywordIndex(tmp_path, create=True)
    ours.apply(texts, [], "x.1")
    published = (tmp_path / "meta.json").read_bytes()
    ours.apply([KeywordEntry(11, 11, ["new"])], [3], "x.2")
    # As if the process had died between the files of its commit and their publication.
    (tmp_path / "meta.json").write_bytes(published)

    again = KeywordIndex(tmp_path, create=False)
    assert again.get_marker() == "x.1"
    again.apply([KeywordEntry(11, 11, ["new"])], [3], "x.2")
    assert (again.count_chunks(), again.get_marker()) == (10, "x.2")
    assert again.search({"w3": 1}, k=1, allowed=None) == []


@pytest.mark.parametrize("remove_all", [False, True])
def test_entries_that_cannot_be_built_leave_the_index_unlocked(
    tmp_path: Path, remove_all: bool
) -> None:
    def fail() -> Iterator[KeywordEntry]:
        yield KeywordEntry(2, 2, ["new"])
        yield KeywordEntry(3, 3, ["newer"])
        raise IndexCorrupt("a row is damaged")

    index = KeywordIndex(tmp_path, create=True)
    index.apply([KeywordEntry(1, 1, ["old"])], [], "x.1")
    with pytest.raises(IndexCorrupt, match="a row is damaged") as kept:
        index.refill(fail(), "x.2") if remove_all else index.apply(fail(), [1], "x.2")
    index.reload()
    assert (index.count_chunks(), index.get_marker()) == (1, "x.1")
    # The error that is still held must not keep the writer.
    assert kept.value is not None
    index.apply([KeywordEntry(4, 4, ["last"])], [], "x.2")
    assert (index.count_chunks(), index.get_marker()) == (2, "x.2")
    assert index.search({"new": 1}, k=1, allowed=None) == []


def test_files_that_a_loss_of_power_took_from_the_list_are_no_obstacle(tmp_path: Path) -> None:
    texts = [KeywordEntry(number, number, [f"w{number}"]) for number in range(10)]
    ours = KeywordIndex(tmp_path, create=True)
    ours.apply(texts, [], "x.1")
    before = {name: (tmp_path / name).read_bytes() for name in ("meta.json", ".managed.json")}
    ours.apply([], [3], "x.2")
    # The disk holds the new files, but neither their list nor the commit that names them.
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(RunError, match="FileAlreadyExists"):
        KeywordIndex(tmp_path, create=False).apply([], [3], "x.2")

    discard_unlisted_files(tmp_path)
    again = KeywordIndex(tmp_path, create=False)
    assert again.get_marker() == "x.1"
    again.apply([], [3], "x.2")
    # Committed deletions stay, also without the list.
    (tmp_path / ".managed.json").write_bytes(before[".managed.json"])
    discard_unlisted_files(tmp_path)
    again = KeywordIndex(tmp_path, create=False)
    assert (again.count_chunks(), again.get_marker()) == (9, "x.2")
    assert again.search({"w3": 1}, k=1, allowed=None) == []


def test_a_reader_takes_no_lock(tmp_path: Path) -> None:
    index = KeywordIndex(tmp_path, create=True)
    index.apply([KeywordEntry(1, 1, ["red"])], [], "first")
    lock = tmp_path / ".tantivy-meta.lock"
    lock.unlink(missing_ok=True)
    # A thread that follows commits looks twice a second.
    for _ in range(15):
        time.sleep(0.1)
        assert not lock.exists()
    index.close()


def count_words(directory: Path) -> list[int]:
    """Return the number of chunks with each of the words, including removed chunks."""
    index = KeywordIndex(directory / "tantivy", create=False)
    return [index._searcher.doc_freq("body", word) for word in ("cat", "bark", "sail")]


def test_after_a_kill_before_the_purge_the_next_forget_purges(
    tmp_path: Path,
) -> None:
    killed = tmp_path / "killed"
    with open_writer(tmp_path / "index", IDENTITY) as writer:
        put(writer, CATS, SHIPS, entry("dogs", ["A dog."], [[1]]))
        writer.forget(["/c/cats"], purge=False)
        shutil.copytree(tmp_path / "index", killed)
    assert count_words(killed) == [2, 1, 1]
    with open_writer(killed, IDENTITY) as writer:
        assert writer.forget(["/c/dogs"]) == 1
    assert count_words(killed) == [0, 0, 1]
    assert verify(killed) == []


def test_after_a_kill_before_the_purge_many_words_are_left_to_optimize(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathom.index.embedded.writer.FEW_DEAD", 0)
    with open_writer(tmp_path, IDENTITY) as writer:
        put(writer, CATS, SHIPS)
        writer.forget(["/c/cats"], purge=False)
    with open_writer(tmp_path, IDENTITY) as writer:
        writer.optimize()
    assert count_words(tmp_path) == [0, 0, 1]


@pytest.mark.parametrize("step", ["stored", "applied", "published"])
def test_an_interrupted_purge_is_finished_and_seen_by_readers(tmp_path: Path, step: str) -> None:
    broken: list[str] = []

    def break_at(name: str) -> None:
        if name in broken:
            raise InterruptedError(name)

    with open_writer(tmp_path, IDENTITY, on_step=break_at) as writer:
        put(writer, CATS, SHIPS, entry("dogs", ["A dog sails."], [[1]]))
        writer.forget(["/c/cats"], purge=False)
        reader = open_reader(tmp_path)
        before = reader.get_revision(), reader.keyword_search("ships sail", k=9)
        broken.append(step)
        with pytest.raises(InterruptedError):
            writer.purge()
        if step != "published":
            assert (reader.get_revision(), reader.keyword_search("ships sail", k=9)) == before
    with reader, open_writer(tmp_path, IDENTITY) as writer, open_reader(tmp_path) as fresh:
        revision = fresh.get_revision(), fresh.keyword_search("ships sail", k=9)
        for side in (reader, writer):
            assert (side.get_revision(), side.keyword_search("ships sail", k=9)) == revision
        assert revision[1] != before[1]
    assert count_words(tmp_path) == [0, 0, 2]
    assert verify(tmp_path) == []


def test_a_rebuilt_keyword_index_is_seen_by_readers(tmp_path: Path) -> None:
    with open_writer(tmp_path, IDENTITY) as writer:
        put(writer, CATS, SHIPS)
        writer.forget(["/c/cats"], purge=False)
    with open_reader(tmp_path) as reader:
        before = reader.keyword_search("ships sail", k=9)
        assert verify(tmp_path, fix=True) == []
        with open_reader(tmp_path) as fresh:
            hits = fresh.keyword_search("ships sail", k=9)
        assert reader.keyword_search("ships sail", k=9) == hits != before
