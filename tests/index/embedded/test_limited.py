"""Rights of documents in the embedded index: nothing of a hidden document reaches a viewer."""

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fathom.errors import UsageError
from fathom.index.base import Entry, IndexReader, SourceRecord
from fathom.index.embedded.opening import open_reader, open_writer
from fathom.index.embedded.rebuild import rebuild_index
from fathom.index.rights import ReadingRule, Viewer
from fathom.testing.index_entries import CATS, IDENTITY, SHIPS, axis, entry, put, source
from fathom.types import Filter

ROUNDS = int(os.environ.get("ROUNDS", "4"))
NOBODY_ELSE = ReadingRule("*", ())


def open_for(place: Path, *names: str) -> IndexReader:
    return open_reader(place, viewer=Viewer(frozenset(names)))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return the place of an index whose cats only the group of vets may read."""
    with open_writer(tmp_path, IDENTITY) as writer:
        writer.set_rights([ReadingRule("*cats*", ("vets",))])
        put(writer, CATS, SHIPS)
    return tmp_path


def test_a_hidden_document_does_not_exist_for_a_viewer(place: Path) -> None:
    with open_reader(place) as whole, open_for(place, "sailors") as sailor:
        hidden = whole.get_source(source(CATS).path)
        assert hidden
        assert whole.get_document("cats")
        assert sailor.get_document("cats") is None
        assert sailor.get_entry("cats") is None
        assert sailor.get_paths(["cats", "ships"]).keys() == {"ships"}
        assert sailor.chunks(["cats#0", "cats#1", "ships#0"])[0].id == "ships#0"
        assert len(sailor.chunks(["cats#0", "cats#1", "ships#0"])) == 1
        assert [summary.id for summary in sailor.list_documents()] == ["ships"]
        assert sailor.get_source(hidden.path) is None
        assert sailor.list_places("cats") == []
        assert [source.document_id for source in sailor.list_sources()] == ["ships"]
        assert {match.chunk_id for match in sailor.vector_search(axis(1), k=9)} == {"ships#0"}
        assert sailor.keyword_search("sleeping cat", k=9) == []
        assert sailor.count_chunks_per_word(["cat", "ship"])[0] == 0
        assert whole.count_chunks_per_word(["cat"])[0] > 0
        status = sailor.status()
        assert (status.documents, status.chunks, status.sources) == (1, 1, 1)
        assert status.bytes_on_disk == {}
        assert status.keys == sailor.list_keys()
        assert status.content != whole.status().content


def test_a_member_of_a_group_reads_what_the_group_may(place: Path) -> None:
    with open_reader(place) as whole, open_for(place, "vets", "user:ana") as vet:
        assert vet.get_document("cats") == whole.get_document("cats")
        assert vet.vector_search(axis(1), k=9) == whole.vector_search(axis(1), k=9)
        assert vet.status().documents == whole.status().documents


def test_a_withdrawn_right_is_gone_for_an_open_reader(place: Path) -> None:
    with open_for(place, "vets") as vet:
        assert vet.keyword_search("sleeping cat", k=9)
        assert vet.vector_search(axis(1), k=9)[0].chunk_id == "cats#0"
        with open_writer(place, None) as writer:
            writer.set_rights([ReadingRule("*cats*", ("user:eve",))])
        assert vet.keyword_search("sleeping cat", k=9) == []
        assert {match.chunk_id for match in vet.vector_search(axis(1), k=9)} == {"ships#0"}
        assert vet.get_document("cats") is None
        with open_writer(place, None) as writer:
            writer.set_rights([])
        assert vet.vector_search(axis(1), k=9)[0].chunk_id == "cats#0"


def test_a_snapshot_keeps_the_rights_of_its_state(place: Path) -> None:
    with open_for(place, "vets") as vet, vet.snapshot():
        with open_writer(place, None) as writer:
            writer.set_rights([NOBODY_ELSE])
        assert vet.get_document("cats")
    with open_for(place, "vets") as vet:
        assert vet.get_document("cats") is None
        assert vet.is_empty()


def test_a_document_at_a_hidden_place_is_hidden_everywhere(place: Path) -> None:
    with open_writer(place, None) as writer:
        writer.put([], [source(SHIPS, "/secret/cats-at-sea.md")])
    with open_for(place, "sailors") as sailor, open_for(place, "vets") as vet:
        assert sailor.get_document("ships") is None
        assert list(sailor.list_sources()) == []
        assert vet.get_document("ships")


def test_a_document_that_comes_later_has_its_rights_at_once(place: Path) -> None:
    with open_for(place, "sailors") as sailor, open_writer(place, None) as writer:
        late = entry("more-cats", ["A cat purrs."], [[1]])
        put(writer, late)
        assert sailor.get_document("more-cats") is None
        failed = SourceRecord(path="/c/cats.pdf", digest="0", outcome="failed", reason="torn")
        writer.put([], [failed])
        assert sailor.get_source("/c/cats.pdf") is None
        assert sailor.status().failed == 0


def test_the_roots_of_hidden_documents_are_not_named(place: Path) -> None:
    with open_writer(place, None) as writer:
        writer.set_roots(["/c", "/secret"])
    with open_for(place, "sailors") as sailor:
        assert sailor.get_roots() == ["/c"]
    with open_writer(place, None) as writer:
        writer.set_rights([NOBODY_ELSE])
    with open_for(place, "sailors") as sailor:
        assert sailor.get_roots() == []


def test_an_index_without_rights_has_no_viewers(tmp_path: Path) -> None:
    with open_writer(tmp_path, IDENTITY) as writer:
        put(writer, CATS)
        writer._store.connection.execute(
            "DROP TABLE document_readers"
        )  # as an older Fathom left it
    with pytest.raises(UsageError, match="holds no rights of documents"):
        open_for(tmp_path, "vets")


@pytest.mark.parametrize("is_damaged", [False, True])
def test_an_index_that_is_made_anew_keeps_the_rights(place: Path, is_damaged: bool) -> None:
    if is_damaged:
        (place / "fathom.db").write_bytes(b"no database")
    with rebuild_index(place, ["/c"], lambda folder: open_writer(folder, IDENTITY)) as session:
        put(session.writer, CATS, SHIPS)
    with open_for(place, "sailors") as sailor:
        assert [summary.id for summary in sailor.list_documents()] == ["ships"]
        assert list(sailor.get_rights()) == [ReadingRule("*cats*", ("vets",))]


def test_rights_are_kept_for_documents_that_were_stored_before_them(tmp_path: Path) -> None:
    cats = replace(CATS, document=replace(CATS.document, metadata={"readers": ""}))
    with open_writer(tmp_path, IDENTITY) as writer:
        put(writer, cats, SHIPS)
        assert writer.get_reader_names() is None
        writer.set_rights([ReadingRule("*", ("*",))])
    with open_for(tmp_path, "staff") as viewer:
        assert [summary.id for summary in viewer.list_documents()] == ["ships"]


def test_a_rule_for_everybody_goes_before_one_for_nobody(tmp_path: Path) -> None:
    with open_writer(tmp_path, IDENTITY) as writer:
        put(writer, CATS, SHIPS)
        writer.set_rights([ReadingRule("*cats*", ("*",)), ReadingRule("*", ())])
    with open_for(tmp_path, "staff") as viewer:
        assert [summary.id for summary in viewer.list_documents()] == ["cats"]


def make_entries(count: int, chance: random.Random) -> Iterator[Entry]:
    for number in range(count):
        vector = np.array([chance.gauss(0, 1) for _ in range(4)], dtype=np.float32)
        vector /= np.linalg.norm(vector)
        yield entry(f"d{number}", [f"word{number % 7} secret{number} shared."], [vector.tolist()])


@pytest.mark.parametrize("viewers", [20, pytest.param(50, marks=pytest.mark.slow)])
def test_random_viewers_see_what_they_may_and_nothing_else(tmp_path: Path, viewers: int) -> None:
    chance = random.Random(37)
    count, groups = 2_000, [f"g{number}" for number in range(200)]
    readers = [tuple(chance.sample(groups, chance.choice([0, 1, 1, 2]))) for _ in range(count)]
    rules = [ReadingRule(f"/c/d{number}", names) for number, names in enumerate(readers)]
    users = [frozenset(chance.sample(groups, chance.randrange(12))) for _ in range(viewers)]
    with open_writer(tmp_path, IDENTITY) as writer:
        # Half of the documents come before the rights, half after them.
        entries = list(make_entries(count, chance))
        put(writer, *entries[: count // 2])
        writer.set_rights(rules)
        put(writer, *entries[count // 2 :])
    leaks = 0
    for names in users:
        may = {f"d{number}" for number in range(count) if names.intersection(readers[number])}
        with open_for(tmp_path, *names) as viewer:
            assert {summary.id for summary in viewer.list_documents()} == may
            assert viewer.status().documents == len(may)
            assert viewer.count_chunks_per_word(["shared"]) == [len(may)]
            for _ in range(ROUNDS):
                number = chance.randrange(count)
                vector = entries[number].vectors
                assert vector is not None
                shown = [
                    *viewer.vector_search(vector[0], k=chance.choice([1, 10, 100])),
                    *viewer.keyword_search(f"secret{number} word{number % 7}", k=20),
                    *viewer.vector_search(
                        vector[0], k=5, filters=[Filter("document", "=", f"d{number}")]
                    ),
                ]
                leaks += sum(match.chunk_id.partition("#")[0] not in may for match in shown)
                assert (viewer.get_document(f"d{number}") is not None) == (f"d{number}" in may)
                assert len(viewer.vector_search(vector[0], k=50)) == min(50, len(may))
    assert leaks == 0
