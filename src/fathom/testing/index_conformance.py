"""The conformance suite of indexes, with a few made-up documents."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from fathom.errors import IndexLocked, IndexMismatch, IndexMissing, UsageError
from fathom.index.base import Entry, IndexReader, IndexWriter, MetadataKey, SourceRecord
from fathom.index.rights import ReaderList, ReadingRule, Viewer
from fathom.testing.index_entries import (
    CATS,
    IDENTITY,
    SHIPS,
    WORDLESS,
    axis,
    entry,
    put,
    source,
)
from fathom.testing.late_vectors_conformance import LateVectorsConformance
from fathom.types import Block, Filter, Scalar, Span

WRITTEN_FOR = replace(
    CATS, document=replace(CATS.document, metadata={"year": 2020, "readers": "[vets, user:eve]"})
)
"""A document whose metadata name its readers."""


class IndexConformance(LateVectorsConformance):
    """The suite of indexes; subclasses define the methods `open_writer` and `open_reader`.

    It covers the protocols `index.base.IndexReader` and `IndexWriter`. The place of an index is an
    empty folder; an index on a server can use the name of the folder.

    Attributes:
        many_writers: Whether several writers can be open at the same time.
    """

    many_writers = False

    def open_writer(self, place: Path, identity: Mapping[str, str] | None) -> IndexWriter:
        """Open the writer of the index at a place; create the index if an identity is given.

        Raises:
            IndexMismatch: If the index has another identity.
            IndexMissing: If there is no index, and no identity is given.
            IndexLocked: If another writer is open.
        """
        raise NotImplementedError("define the method `open_writer`")

    def open_reader(self, place: Path, identity: Mapping[str, str] | None = None) -> IndexReader:
        """Open a reader of the index at a place; the given part of the identity must agree.

        Raises:
            IndexMismatch: If the index has another identity.
            IndexMissing: If there is no index.
        """
        raise NotImplementedError("define the method `open_reader`")

    def open_viewer(self, place: Path, viewer: Viewer) -> IndexReader:
        """Open a reader of the index at a place that shows only what a viewer may read.

        An index that refuses rules does not need this method.
        """
        raise NotImplementedError("define `open_viewer`, or refuse rules in `set_rights`")

    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[tuple[IndexWriter, IndexReader]]:
        """The writer of a new index, and a reader of it."""
        place = tmp_path / "index"
        with self.open_writer(place, IDENTITY) as writer, self.open_reader(place) as reader:
            yield writer, reader

    def test_vector_search_ranks_by_cosine(self, index: tuple[IndexWriter, IndexReader]) -> None:
        writer, reader = index
        put(writer, CATS, SHIPS)
        for side in index:
            matches = side.vector_search(axis(1), k=2)
            assert [match.chunk_id for match in matches] == ["cats#0", "ships#0"]
            assert [match.score for match in matches] == pytest.approx([1.0, 0.8], abs=1e-3)
        assert [m.chunk_id for m in reader.vector_search(axis(0, 1), k=9)] == [
            "cats#1",
            "ships#0",
            "cats#0",
        ]

    def test_calibrations_are_stored_by_strategy(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        put(writer, CATS, SHIPS)
        before = reader.get_revision(), reader.status().content
        assert reader.get_calibrations() == {}
        for name, data in (("rrf", "one"), ("naive", "two"), ("rrf", "three")):
            writer.keep_calibration(name, data)
        assert (
            reader.get_calibrations()
            == writer.get_calibrations()
            == {"naive": "two", "rrf": "three"}
        )
        writer.keep_calibration("rrf", "")
        assert reader.get_calibrations() == {"naive": "two"}
        assert (reader.get_revision(), reader.status().content) == before

    def test_keyword_search_matches_stems_and_titles(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        put(writer, CATS, SHIPS)
        assert reader.keyword_search("sleeping cat", k=5)[0].chunk_id == "cats#0"
        assert [m.chunk_id for m in reader.keyword_search("sailing", k=5)] == ["ships#0"]
        assert {m.chunk_id for m in reader.keyword_search("title", k=5)} == {
            "cats#0",
            "cats#1",
            "ships#0",
        }
        assert reader.keyword_search("zebra", k=5) == []
        assert reader.keyword_search("", k=5) == []
        # A chunk without any word of the query would have a score of 0.
        assert all(match.score > 0 for match in reader.keyword_search("sea dogs", k=5))

    def test_documents_without_words_are_found_by_vector(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        put(writer, WORDLESS)
        assert [match.chunk_id for match in reader.vector_search(axis(1), k=9)] == ["?#0"]
        assert reader.keyword_search("???", k=9) == []
        put(writer, CATS)
        assert [m.chunk_id for m in reader.keyword_search("sleep", k=9)] == ["cats#0"]
        put(writer, WORDLESS)
        writer.optimize()
        assert [m.chunk_id for m in reader.keyword_search("sleep", k=9)] == ["cats#0"]
        assert writer.forget(["/c#?"]) == 1
        assert reader.status().chunks == 2

    def test_word_counts_are_numbers_of_chunks(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        put(writer, CATS, SHIPS)
        words = ["sleep", "sails", "sea", "whale", "sleeping", "title"]
        assert reader.count_chunks_per_word(words) == [1, 1, 1, 0, 1, 3]
        assert writer.count_chunks_per_word([]) == []
        writer.forget(["/c/cats"])
        assert reader.count_chunks_per_word(["sleep", "sea"]) == [0, 1]

    def test_forgotten_words_are_not_found_before_a_purge(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        put(writer, CATS, SHIPS)
        assert writer.forget(["/c/cats"], purge=False) == 1
        for _ in range(3):
            for side in index:
                assert side.keyword_search("cats sleep title", k=9)[0].chunk_id == "ships#0"
                assert side.keyword_search("cats sleep", k=9) == []
                assert side.count_chunks_per_word(["sleep", "sea"]) == [0, 1]
            writer.purge()
        put(writer, CATS)
        assert reader.keyword_search("cats sleep", k=9)[0].chunk_id == "cats#0"

    def test_readers_agree_before_and_after_a_purge(self, tmp_path: Path) -> None:
        place, text = tmp_path / "index", "sea ships swim"
        with self.open_writer(place, IDENTITY) as writer, self.open_reader(place) as reader:
            put(writer, CATS, SHIPS, entry("deep", ["The sea is deep, cats swim."], [[0, 1]]))
            writer.forget(["/c/cats"], purge=False)
            assert len(reader.keyword_search(text, k=9)) == 2
            before = reader.status()
            writer.purge()
            # A reader that opens after the purge never saw the words before it.
            with self.open_reader(place) as fresh:
                matches = fresh.keyword_search(text, k=9)
                for side in (writer, reader):
                    assert side.keyword_search(text, k=9) == matches
                    assert side.get_revision() == fresh.get_revision()
            purged = reader.status()
            assert replace(before, revision=0, bytes_on_disk={}) == replace(
                purged, revision=0, bytes_on_disk={}
            )
            writer.purge()  # nothing is left to remove, so nothing is published
            writer.optimize()
            assert reader.status().revision == purged.revision

    def test_snapshots_around_a_purge_are_independent(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        put(writer, CATS, SHIPS, entry("deep", ["The sea is deep, cats swim."], [[0, 1]]))
        assert reader.keyword_search("cats sleep", k=9)[0].chunk_id == "cats#0"
        writer.forget(["/c/cats"], purge=False)
        # Copied before the snapshot, so that a search in this context is outside of the snapshot.
        later = copy_context()
        with reader.snapshot():
            assert reader.get_document("cats") is None
            writer.purge()
            assert len(later.run(reader.keyword_search, "sea", k=9)) == 2
            assert [m.chunk_id for m in reader.keyword_search("cats", k=9)] == ["deep#0"]
        assert [m.chunk_id for m in reader.keyword_search("cats", k=9)] == ["deep#0"]

    def test_packed_tables_and_many_blocks_are_stored_and_replaced_with_their_document(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        text = CATS.document.text
        rows = tuple(
            Block(
                kind="table_row",
                span=Span(at // 300, at // 300 + 1),
                headings=("Part", str(at % 3)),
                page=at % 5 or None,
                recognised=0.5 if at % 7 == 0 else None,
            )
            for at in range(6_000)
        )
        long = replace(CATS.document, blocks=rows, tables=b"\x00packed\xff" * 99)
        put(writer, replace(CATS, document=long), SHIPS)
        assert reader.get_document("cats") == long
        assert reader.get_document("ships") == SHIPS.document
        assert reader.chunks(["cats#0"])[0].text == text[:19]
        with reader.snapshot():
            shorter = replace(long, tables=b"other", blocks=rows[:5_500])
            put(writer, replace(CATS, document=shorter, digest="later"))
            assert reader.get_document("cats") == long
        assert reader.get_document("cats") == shorter
        put(writer, CATS)
        assert reader.get_document("cats") == CATS.document

    def test_a_snapshot_is_one_state_despite_writes(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        put(writer, CATS, SHIPS)
        changed = entry("cats", ["Lions roar at ships."], [[0, 0, 1]], year=2025)

        def read_all() -> list[object]:
            return [
                reader.get_revision(),
                reader.keyword_search("sleep roar ships", k=9),
                reader.vector_search(axis(1), k=9),
                reader.vector_search(axis(1), k=9, filters=[Filter("year", "=", 2020)]),
                reader.chunks(["cats#0", "cats#1", "ships#0"]),
                reader.get_document("cats"),
                reader.count_chunks_per_word(["sleep", "roar"]),
                [document.id for document in reader.list_documents()],
                list(reader.list_sources()),
                reader.get_calibrations(),
                reader.is_empty(),
                reader.count_missing_vectors(),
                reader.list_keys(),
                reader.status().content,
            ]

        with reader.snapshot():
            before = read_all()
            put(writer, changed)
            assert read_all() == before
            writer.forget(["/c/ships", "/c/cats"])
            writer.keep_calibration("rrf", "one")
            writer.optimize()
            with reader.snapshot():
                assert read_all() == before
            # Threads with the context share the snapshot; others see the present state.
            with ThreadPoolExecutor(2) as threads:
                carried = [threads.submit(copy_context().run, read_all) for _ in range(2)]
                assert [future.result() for future in carried] == [before, before]
                assert threads.submit(reader.is_empty).result()
            assert read_all() == before
        assert reader.is_empty()
        assert reader.get_document("cats") is None
        assert reader.keyword_search("sleep roar ships", k=9) == []
        assert reader.get_calibrations() == {"rrf": "one"}

    def test_a_snapshot_read_late_is_of_its_beginning(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        put(writer, CATS)
        with reader.snapshot():
            put(writer, SHIPS)
            assert [m.chunk_id for m in reader.vector_search(axis(1), k=9)] == ["cats#0", "cats#1"]
            assert reader.keyword_search("ships sea", k=9) == []
        assert [m.chunk_id for m in reader.keyword_search("ships sea", k=9)] == ["ships#0"]
        with writer.snapshot():
            # Not even the writer's own change is visible.
            put(writer, entry("boats", ["Boats drift."], [[0, 1]]))
            assert writer.keyword_search("boats", k=9) == []
        assert [m.chunk_id for m in writer.keyword_search("boats", k=9)] == ["boats#0"]

    def test_ties_are_broken_by_chunk_id(self, index: tuple[IndexWriter, IndexReader]) -> None:
        writer, reader = index
        twins = [entry(name, ["the same words"], [[1]]) for name in "fadbe"]
        put(writer, *twins)
        expected = ["a#0", "b#0", "d#0"]
        # The titles differ only in one letter, which is no word of the query: all scores are equal.
        assert [m.chunk_id for m in reader.keyword_search("same words", k=3)] == expected
        assert [m.chunk_id for m in reader.vector_search(axis(1), k=3)] == expected

    def test_filters(self, index: tuple[IndexWriter, IndexReader]) -> None:
        writer, reader = index
        put(writer, CATS, SHIPS)

        def search_both(*filters: Filter) -> tuple[set[str], set[str]]:
            by_vector = reader.vector_search(axis(1), k=9, filters=filters)
            by_word = reader.keyword_search("title", k=9, filters=filters)
            return {m.chunk_id for m in by_vector}, {m.chunk_id for m in by_word}

        cats, ships = {"cats#0", "cats#1"}, {"ships#0"}
        assert search_both(Filter("year", "<", 2024)) == (cats, cats)
        assert search_both(Filter("kind", "=", "boat")) == (ships, ships)
        many = tuple(f"none{number}" for number in range(2_000))
        assert search_both(Filter("document", "in", ("ships", *many))) == (ships, ships)
        assert search_both(Filter("document", "in", ())) == (set(), set())
        assert search_both(Filter("file", "=", "cats")) == (cats, cats)
        assert search_both(Filter("folder", "=", "c")) == (cats | ships, cats | ships)
        assert search_both(Filter("folder", "=", "d")) == (set(), set())
        assert search_both(Filter("path", "prefix", "/c/ca")) == (cats, cats)
        assert search_both(Filter("year", "=", "2024")) == (set(), set())
        assert search_both(Filter("year", ">=", 2020), Filter("kind", "!=", "pet")) == (
            ships,
            ships,
        )

    @pytest.mark.parametrize(
        "malformed",
        [
            Filter("the year", "=", 1),
            Filter("a' OR 1=1 --", "=", 1),
            Filter("year", "in", 1),
            Filter("year", "=", (1,)),
            Filter("year", "prefix", 20),
        ],
    )
    def test_malformed_filters_are_refused(
        self, index: tuple[IndexWriter, IndexReader], malformed: Filter
    ) -> None:
        _, reader = index
        with pytest.raises(UsageError):
            reader.vector_search(axis(1), k=1, filters=[malformed])

    def test_k_below_one_is_refused(self, index: tuple[IndexWriter, IndexReader]) -> None:
        with pytest.raises(UsageError, match="k = 0"):
            index[1].keyword_search("cats", k=0)

    def test_stored_records_come_back(self, index: tuple[IndexWriter, IndexReader]) -> None:
        writer, reader = index
        put(writer, CATS, SHIPS)
        assert reader.get_document("cats") == CATS.document
        assert reader.get_document("none") is None
        assert reader.chunks(["ships#0", "gone", "cats#1"]) == [SHIPS.chunks[0], CATS.chunks[1]]
        documents = list(reader.list_documents())
        assert [(document.id, document.chunks) for document in documents] == [
            ("cats", 2),
            ("ships", 1),
        ]
        assert reader.get_source("/c/cats") == source(CATS)
        assert [record.path for record in reader.list_sources("/c")] == ["/c/cats", "/c/ships"]
        assert [record.path for record in reader.list_sources("/c/")] == ["/c/cats", "/c/ships"]
        assert [record.path for record in reader.list_sources("/c/ships")] == ["/c/ships"]
        assert list(reader.list_sources("/c/s")) == []
        assert [record.path for record in reader.list_sources("/c", most=1)] == ["/c/cats"]
        assert [record.path for record in reader.list_sources("/c", after="/c/cats")] == [
            "/c/ships"
        ]
        assert list(reader.list_sources("/c", after="/c/ships", most=9)) == []
        assert reader.list_places("cats") == [source(CATS)]
        assert reader.get_roots() == []
        writer.set_roots(["/c", "/caf\udce9"])
        assert reader.get_roots() == ["/c", "/caf\udce9"]

    def test_addresses_are_places_too(self, index: tuple[IndexWriter, IndexReader]) -> None:
        writer, reader = index
        put(writer, CATS)
        address = SourceRecord(path="s3://bucket/a.pdf", digest="d", outcome="empty", reason="x")
        writer.put([], [address])
        assert [record.path for record in reader.list_sources()] == ["/c/cats", address.path]
        assert list(reader.list_sources(most=1, after="/c/cats")) == [address]
        assert list(reader.list_sources("s3://bucket")) == [address]
        assert list(reader.list_sources("s3://b")) == []
        assert reader.get_source(address.path) == address

    def test_rights_are_held_or_refused(self, index: tuple[IndexWriter, IndexReader]) -> None:
        writer, reader = index
        put(writer, CATS, SHIPS)
        rules = [ReadingRule("*cats", ("vets", "user:ana")), ReadingRule("*", ())]
        writer.set_rights([])
        assert list(reader.get_rights()) == []
        try:
            writer.set_rights(rules)
        except UsageError:
            rules = []  # an engine that refuses rules must not return any
        assert list(reader.get_rights()) == list(writer.get_rights()) == rules

    def test_a_hidden_document_does_not_exist_for_a_viewer(
        self, index: tuple[IndexWriter, IndexReader], tmp_path: Path
    ) -> None:
        writer, reader = index
        if not self._can_hold_rights(writer):
            return
        put(writer, CATS)
        writer.set_rights([ReadingRule("*cats*", ("vets",))])
        put(writer, SHIPS)  # one document before the rules, one after them
        with self.open_viewer(tmp_path / "index", Viewer(frozenset({"sailors"}))) as sailor:
            assert sailor.get_document("cats") is None
            assert sailor.get_entry("cats") is None
            assert sailor.get_paths(["cats", "ships"]).keys() == {"ships"}
            ids = ["cats#0", "cats#1", "ships#0"]
            assert [chunk.id for chunk in sailor.chunks(ids)] == ["ships#0"]
            assert [summary.id for summary in sailor.list_documents()] == ["ships"]
            assert sailor.get_source("/c/cats") is None
            assert sailor.list_places("cats") == []
            assert [record.document_id for record in sailor.list_sources()] == ["ships"]
            assert {match.chunk_id for match in sailor.vector_search(axis(1), k=9)} == {"ships#0"}
            only_cats = [Filter("document", "=", "cats")]
            assert sailor.vector_search(axis(1), k=9, filters=only_cats) == []
            assert sailor.keyword_search("sleeping cat", k=9) == []
            assert sailor.keyword_search("sailing", k=9)
            assert sailor.count_chunks_per_word(["cat", "sailing", "zebra"]) == [0, 1, 0]
            status = sailor.status()
            assert (status.documents, status.chunks, status.sources) == (1, 1, 1)
            assert (status.lacking, status.bytes_on_disk) == (0, {})
            assert not sailor.is_empty()
            put(writer, replace(CATS, vectors=None), replace(SHIPS, vectors=None))
            assert sailor.select_unembedded(ids) == ["ships#0"]
        assert reader.get_document("cats")
        assert reader.get_reader_names() == frozenset({"vets"})

    def test_a_withdrawn_right_is_gone_for_an_open_viewer(
        self, index: tuple[IndexWriter, IndexReader], tmp_path: Path
    ) -> None:
        writer, _ = index
        if not self._can_hold_rights(writer):
            return
        writer.set_rights([ReadingRule("*cats*", ("vets",))])
        put(writer, CATS, SHIPS)
        with self.open_viewer(tmp_path / "index", Viewer(frozenset({"vets"}))) as vet:
            assert vet.vector_search(axis(1), k=9)[0].chunk_id == "cats#0"
            with vet.snapshot():
                writer.set_rights([ReadingRule("*cats*", ("user:eve",))])
                assert vet.get_document("cats")  # a question sees one state
            assert vet.get_document("cats") is None
            assert vet.keyword_search("sleeping cat", k=9) == []
            assert vet.count_chunks_per_word(["cat"]) == [0]
            writer.set_rights([ReadingRule("*", ())])
            assert vet.is_empty()
            assert vet.vector_search(axis(1), k=9) == []
            writer.set_rights([])
            assert vet.vector_search(axis(1), k=9)[0].chunk_id == "cats#0"

    def test_each_list_of_readers_must_name_the_viewer(
        self, index: tuple[IndexWriter, IndexReader], tmp_path: Path
    ) -> None:
        writer, _ = index
        if not self._can_hold_rights(writer):
            return
        cats = replace(CATS, document=replace(CATS.document, metadata={"readers": "[vets, eve]"}))
        narrow = ReadingRule("/c/cats", ("user:ana", "leads"), narrows=True)
        writer.set_rights([ReadingRule("*", ("staff",)), narrow])
        put(writer, cats, SHIPS)
        self._check_viewers(tmp_path / "index")
        # Changes of the rules also apply to stored documents.
        writer.set_rights([])
        writer.set_rights([ReadingRule("*", ("staff",)), narrow])
        self._check_viewers(tmp_path / "index")
        # The document stays hidden if it is also at a place that others may read.
        writer.put([], [source(cats, "/open/cats")])
        self._check_viewers(tmp_path / "index")
        writer.forget(["/c/cats"])
        with self.open_viewer(tmp_path / "index", Viewer(frozenset({"staff", "eve"}))) as viewer:
            assert viewer.get_document("cats")  # the rule of the other place is gone too
        put(writer, CATS)  # a version that names no readers
        with self.open_viewer(tmp_path / "index", Viewer(frozenset({"staff"}))) as viewer:
            assert viewer.get_document("cats") is None  # its place has the rule again
        with self.open_viewer(tmp_path / "index", Viewer(frozenset({"staff", "leads"}))) as viewer:
            assert viewer.get_document("cats")

    def _check_viewers(self, place: Path) -> None:
        for names, ids in (
            ({"staff", "leads", "vets"}, {"cats", "ships"}),
            ({"staff", "user:ana", "eve"}, {"cats", "ships"}),
            ({"staff", "leads"}, {"ships"}),
            ({"staff", "vets"}, {"ships"}),
            ({"leads", "vets"}, set()),
            (set(), set()),
        ):
            with self.open_viewer(place, Viewer(frozenset(names))) as viewer:
                assert {summary.id for summary in viewer.list_documents()} == ids
                assert {record.document_id for record in viewer.list_sources()} == ids
                assert (viewer.get_document("cats") is not None) == ("cats" in ids)

    def test_the_lists_that_limit_a_document_are_told(
        self, index: tuple[IndexWriter, IndexReader], tmp_path: Path
    ) -> None:
        writer, reader = index
        put(writer, WRITTEN_FOR, SHIPS)
        writer.put([], [source(WRITTEN_FOR, "/open/cats")])
        ids = ["cats", "ships", "none"]
        assert reader.list_limits(ids) is None
        if not self._can_hold_rights(writer):
            return
        rules = [
            ReadingRule("/open/*", ("*",)),
            ReadingRule("*cats", ("staff", "boards")),
            ReadingRule("/c/cats", ("user:ana", "leads"), narrows=True),
        ]
        writer.set_rights(rules)
        cats = [
            ReaderList(("staff", "boards"), "rule", "*cats"),
            ReaderList(("user:ana", "leads"), "sidecar", "/c/cats"),
            ReaderList(("vets", "user:eve"), "document"),
        ]
        assert reader.list_limits(ids) == {"cats": cats, "ships": []}
        assert writer.list_limits(["ships"]) == {"ships": []}
        # A viewer sees the document if and only if each of the lists names the viewer.
        for names in combinations(("staff", "boards", "leads", "user:ana", "vets", "user:eve"), 3):
            is_named = all(set(names) & set(limit.readers) for limit in cats)
            with self.open_viewer(tmp_path / "index", Viewer(frozenset(names))) as viewer:
                assert (viewer.get_document("cats") is not None) == is_named
        writer.set_rights([ReadingRule("/c/*", ()), ReadingRule("*", ("vets",))])
        withdrawn = [ReaderList((), "rule", "/c/*"), ReaderList(("vets",), "rule", "*"), cats[2]]
        assert reader.list_limits(ids) == {"cats": withdrawn, "ships": withdrawn[:1]}
        writer.set_rights([])
        assert reader.list_limits(ids) is None

    def test_a_viewer_learns_no_names_of_readers(
        self, index: tuple[IndexWriter, IndexReader], tmp_path: Path
    ) -> None:
        writer, reader = index
        if not self._can_hold_rights(writer):
            return
        put(writer, WRITTEN_FOR, SHIPS)
        writer.set_rights([ReadingRule("*ships*", ("sailors",))])
        by_reader = [Filter("readers", "prefix", "[vets")]
        with self.open_viewer(tmp_path / "index", Viewer(frozenset({"vets"}))) as vet:
            assert vet.list_limits(["cats"]) is None
            assert vet.get_document("cats") == replace(
                WRITTEN_FOR.document, metadata={"year": 2020}
            )
            entry_seen = vet.get_entry("cats")
            assert entry_seen
            assert entry_seen.document.metadata == {"year": 2020}
            assert vet.list_keys().keys() == vet.status().keys.keys() == {"year"}
            assert vet.vector_search(axis(1), k=9, filters=[Filter("year", "=", 2020)])
            assert vet.vector_search(axis(1), k=9, filters=by_reader) == []
            assert vet.keyword_search("sleeping cat", k=9, filters=by_reader) == []
        assert reader.get_document("cats") == WRITTEN_FOR.document
        assert "readers" in reader.list_keys()
        assert reader.vector_search(axis(1), k=9, filters=by_reader)

    def _can_hold_rights(self, writer: IndexWriter) -> bool:
        try:
            writer.set_rights([ReadingRule("*", ())])
            writer.set_rights([])
        except UsageError:
            return False
        return True

    def test_paths_of_documents(self, index: tuple[IndexWriter, IndexReader]) -> None:
        writer, reader = index
        assert writer.get_paths(["cats"]) == {}
        put(writer, CATS, SHIPS)
        assert reader.get_paths(["ships", "dogs", "cats"]) == {
            "cats": "/c/cats",
            "ships": "/c/ships",
        }
        assert reader.get_paths([]) == {}
        with reader.snapshot():
            assert reader.get_paths(["cats"])
            writer.forget(["/c/cats"])
            assert reader.get_paths(["cats"])
        assert reader.get_paths(["cats", "ships"]) == {"ships": "/c/ships"}

    def test_a_document_has_the_path_of_a_place_that_holds_it(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        writer.put([CATS], [source(CATS), source(CATS, "/copy"), source(CATS, "/another")])
        writer.put([], [replace(source(CATS, "/another"), outcome="stale", reason="torn")])
        writer.forget(["/c/cats"])
        assert [document.path for document in reader.list_documents()] == ["/copy"]
        assert [record.path for record in reader.list_places("cats")] == ["/another", "/copy"]

    def test_a_stale_place_keeps_its_document(self, index: tuple[IndexWriter, IndexReader]) -> None:
        writer, reader = index
        put(writer, CATS)
        writer.put([], [replace(source(CATS), outcome="stale", reason="torn")])
        assert reader.get_document("cats") == CATS.document
        assert (reader.status().stale, reader.status().failed) == (1, 0)

    def test_replacing_removes_the_old_document(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        put(writer, CATS, SHIPS)
        changed = entry("cats", ["Lions roar."], [[0, 0, 1]])
        put(writer, changed)
        assert [m.chunk_id for m in reader.keyword_search("dogs sleep", k=5)] == []
        assert [m.chunk_id for m in reader.keyword_search("roar", k=5)] == ["cats#0"]
        assert [m.chunk_id for m in reader.vector_search(axis(1), k=9)] == ["ships#0", "cats#0"]
        assert reader.chunks(["cats#0", "cats#1"]) == [changed.chunks[0]]

    def test_a_document_lives_while_a_place_holds_it(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        writer.put([CATS], [source(CATS), source(CATS, "/copy")])
        assert writer.forget(["/c/cats"]) == 0
        assert reader.get_document("cats") is not None
        assert writer.forget(["/copy", "/unknown"]) == 1
        assert reader.get_document("cats") is None
        assert reader.vector_search(axis(1), k=5) == []

    def test_a_place_may_change_its_document(self, index: tuple[IndexWriter, IndexReader]) -> None:
        writer, reader = index
        put(writer, CATS)
        writer.put([SHIPS], [source(SHIPS, "/c/cats")])
        assert [document.id for document in reader.list_documents()] == ["ships"]
        failed = SourceRecord(path="/c/cats", digest="x", outcome="failed", reason="torn")
        writer.put([], [failed])
        assert reader.get_source("/c/cats") == failed
        assert list(reader.list_documents()) == []

    def test_keys_list_the_kinds_of_their_values(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        assert reader.list_keys() == {}
        metadata: dict[str, Scalar] = {
            "year": "unknown",
            "seen": "2024-05-01",
            "open": True,
            "no key": 1,
        }
        put(writer, CATS, SHIPS, entry("rats", ["Rats run."], [[1]], **metadata))
        assert reader.list_keys() == writer.list_keys() == reader.status().keys
        keys = {name: key for name, key in reader.list_keys().items() if name in metadata}
        assert keys == {
            "year": MetadataKey(("number", "text"), 3),
            "seen": MetadataKey(("date",), 1),
            "open": MetadataKey(("bool",), 1),
        }
        writer.forget(["/c/rats"])
        assert reader.list_keys()["year"] == MetadataKey(("number",), 2)

    def test_status_ignores_order(self, tmp_path: Path) -> None:
        states = []
        for name, order in (("one", [CATS, SHIPS]), ("two", [SHIPS, CATS])):
            with self.open_writer(tmp_path / name, IDENTITY) as writer:
                for item in order:
                    put(writer, item)
                states.append(writer.status())
        assert states[0].content == states[1].content
        assert (states[0].documents, states[0].chunks, states[0].sources) == (2, 3, 2)
        assert states[0].identity == IDENTITY

    def test_status_sees_every_change(self, index: tuple[IndexWriter, IndexReader]) -> None:
        writer, reader = index
        seen = {reader.status().content}
        for item in (CATS, SHIPS, entry("ships", ["Ships sail the sea."], [[0.6, 0.8]], year=2024)):
            put(writer, item)
            seen.add(reader.status().content)
        assert len(seen) == 4

    def test_another_dimension_is_refused(self, index: tuple[IndexWriter, IndexReader]) -> None:
        writer, reader = index
        put(writer, CATS)
        with pytest.raises(IndexMismatch):
            reader.vector_search(np.ones(3, dtype=np.float32), k=1)
        wide = Entry(
            document=SHIPS.document,
            chunks=SHIPS.chunks,
            vectors=np.ones((1, 5), dtype=np.float32),
            digest="w",
        )
        with pytest.raises(IndexMismatch):
            put(writer, wide)

    def test_reopening_changes_nothing(self, tmp_path: Path) -> None:
        with self.open_writer(tmp_path, IDENTITY) as writer:
            put(writer, CATS, SHIPS)
            before = writer.status()
            matches = writer.keyword_search("cats sail", k=3)
        with self.open_reader(tmp_path, IDENTITY) as reader:
            assert reader.status().content == before.content
            assert reader.keyword_search("cats sail", k=3) == matches
        with self.open_writer(tmp_path, IDENTITY) as writer:
            writer.optimize()
            assert writer.status().content == before.content
            assert writer.keyword_search("cats sail", k=3) == matches

    def test_a_missing_index_is_reported(self, tmp_path: Path) -> None:
        with pytest.raises(IndexMissing, match="fathom ingest"):
            self.open_reader(tmp_path / "none")
        with pytest.raises(IndexMissing):
            self.open_writer(tmp_path / "none", None)

    def test_another_identity_is_refused(self, tmp_path: Path) -> None:
        self.open_writer(tmp_path, IDENTITY).close()
        other = IDENTITY | {"embedder.model": "other"}
        with pytest.raises(
            IndexMismatch, match=r"embedder\.model 'axes' \(now 'other'\).*--rebuild"
        ):
            self.open_reader(tmp_path, other)
        with pytest.raises(IndexMismatch):
            self.open_writer(tmp_path, other)
        # A reader gives only the part of the identity that it depends on.
        self.open_reader(tmp_path, {"embedder.model": "axes"}).close()

    def test_writers_exclude_or_wait_for_each_other(self, tmp_path: Path) -> None:
        with self.open_writer(tmp_path, IDENTITY) as writer:
            if not self.many_writers:
                with pytest.raises(IndexLocked, match="process"):
                    self.open_writer(tmp_path, IDENTITY)
                return
            with self.open_writer(tmp_path, IDENTITY) as other:
                put(writer, CATS)
                put(other, SHIPS)
                assert [document.id for document in writer.list_documents()] == ["cats", "ships"]
                assert writer.get_revision() == other.get_revision()
        self.open_writer(tmp_path, IDENTITY).close()
