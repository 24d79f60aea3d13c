"""The conformance suite of vectors that are stored after their documents."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from fathom.index.base import IndexReader, IndexWriter, Space
from fathom.testing.index_entries import CATS, IDENTITY, SHIPS, axis, entry, get_vectors, put
from fathom.types import Filter


class LateVectorsConformance:
    """The suite of late vectors, a part of `IndexConformance`, which opens the index."""

    def open_writer(self, place: Path, identity: Mapping[str, str] | None) -> IndexWriter:
        """Open the writer of the index at a place, as `IndexConformance.open_writer` does."""
        raise NotImplementedError

    def test_vectors_are_kept_until_their_document_is_stored(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, _ = index
        text = CATS.chunks[0].context
        writer.keep_vectors({text: axis(1), "other": axis(0, 1)})
        stored = writer.get_kept_vectors([text, "none"])
        assert list(stored) == [text]
        assert stored[text].tolist() == axis(1).tolist()
        put(writer, CATS)
        assert list(writer.get_kept_vectors([text, "other"])) == ["other"]
        writer.optimize()
        assert writer.get_kept_vectors(["other"]) == {}

    def test_words_are_found_before_there_are_vectors(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        put(writer, SHIPS, replace(CATS, vectors=None))
        assert reader.get_document("cats") == CATS.document
        assert reader.keyword_search("sleeping cat", k=5)[0].chunk_id == "cats#0"
        assert [m.chunk_id for m in reader.vector_search(axis(1), k=9)] == ["ships#0"]
        pets = Filter("kind", "=", "pet")
        assert reader.vector_search(axis(1), k=9, filters=[pets]) == []
        assert (reader.count_missing_vectors(), reader.status().lacking) == (2, 2)

    def test_filled_vectors_equal_vectors_of_documents(
        self, index: tuple[IndexWriter, IndexReader], tmp_path: Path
    ) -> None:
        writer, reader = index
        with self.open_writer(tmp_path / "whole", IDENTITY) as complete:
            put(complete, CATS, SHIPS)
            expected = complete.status()
            matches = complete.vector_search(axis(1, 0.5), k=9)
        put(writer, replace(CATS, vectors=None), replace(SHIPS, vectors=None))
        seen = {reader.get_revision()}
        vectors = {
            c.id: v for e in (CATS, SHIPS) for c, v in zip(e.chunks, get_vectors(e), strict=True)
        }
        after = ""
        while chunks := writer.list_unembedded_chunks("", most=1, after=after):
            assert reader.status().content != expected.content
            after = chunks[-1].id
            # A chunk may have been removed since its vector was computed, which must not matter.
            writer.fill("", {after: vectors[after], "gone#0": axis(1)})
            seen.add(reader.get_revision())
        assert len(seen) == 4
        assert reader.count_missing_vectors() == reader.status().lacking == 0
        assert reader.status().content == expected.content
        assert reader.vector_search(axis(1, 0.5), k=9) == matches
        writer.fill("", {"cats#0": axis(0, 0, 1)})  # it has one already
        assert reader.vector_search(axis(1, 0.5), k=9) == matches

    def test_chunks_without_vectors_are_listed_in_order(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        put(writer, SHIPS, replace(CATS, vectors=None))
        assert [chunk.id for chunk in writer.list_unembedded_chunks("", most=9)] == [
            "cats#0",
            "cats#1",
        ]
        assert [
            chunk.id for chunk in writer.list_unembedded_chunks("", most=9, after="cats#0")
        ] == ["cats#1"]
        assert writer.list_unembedded_chunks("", most=1)[0] == CATS.chunks[0]
        changed = entry("cats", ["Lions roar."], [[0, 0, 1]])
        put(writer, replace(changed, vectors=None))
        assert [chunk.id for chunk in writer.list_unembedded_chunks("", most=9)] == ["cats#0"]
        assert reader.count_missing_vectors() == 1
        put(writer, changed)
        assert (writer.list_unembedded_chunks("", most=9), reader.count_missing_vectors()) == (
            [],
            0,
        )
        assert [m.chunk_id for m in reader.vector_search(axis(0, 0, 1), k=1)] == ["cats#0"]
        put(writer, replace(SHIPS, vectors=None))
        writer.forget([SHIPS.document.path])
        assert (writer.list_unembedded_chunks("", most=9), reader.count_missing_vectors()) == (
            [],
            0,
        )

    def test_chunks_without_vectors_are_selected_in_order(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        put(writer, SHIPS, replace(CATS, vectors=None))
        ids = ["cats#1", "ships#0", "gone#0", "cats#0"]
        assert reader.select_unembedded([]) == []
        assert reader.select_unembedded(ids) == ["cats#1", "cats#0"]
        assert reader.select_unembedded(ids, space=Space(name="none", identity={})) == []
        writer.fill("", {"cats#1": axis(1)})
        assert reader.select_unembedded(ids) == ["cats#0"]
        writer.fill("", {"cats#0": axis(1)})
        assert reader.select_unembedded(ids) == []

    def test_chunks_of_an_index_without_any_vector_are_selected(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        put(writer, replace(CATS, vectors=None))
        assert reader.select_unembedded(["cats#0"]) == ["cats#0"]
        assert reader.vector_search(axis(1), k=9) == []

    def test_kept_vectors_stay_until_a_vector_is_stored(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, _ = index
        text = CATS.chunks[0].context
        writer.keep_vectors({text: axis(1)})
        put(writer, replace(CATS, vectors=None))
        assert list(writer.get_kept_vectors([text])) == [text]
        writer.fill("", {"cats#0": axis(1)})
        assert writer.get_kept_vectors([text]) == {}
