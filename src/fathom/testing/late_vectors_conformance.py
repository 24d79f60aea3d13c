"""The part of the suite of indexes that is about vectors that come after their documents."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from fathom.index.base import IndexReader, IndexWriter
from fathom.testing.index_entries import CATS, IDENTITY, SHIPS, axis, entry, put, vectors_of
from fathom.types import Filter


class LateVectors:
    """What `IndexConformance` promises of them; it gives what is to be given."""

    def open_writer(self, place: Path, identity: Mapping[str, str] | None) -> IndexWriter:
        """See `IndexConformance.open_writer`."""
        raise NotImplementedError

    def test_vectors_are_kept_until_their_document_is_stored(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, _ = index
        text = CATS.chunks[0].context
        writer.keep_vectors({text: axis(1), "other": axis(0, 1)})
        kept = writer.kept_vectors([text, "none"])
        assert list(kept) == [text]
        assert kept[text].tolist() == axis(1).tolist()
        put(writer, CATS)
        assert list(writer.kept_vectors([text, "other"])) == ["other"]
        writer.optimize()
        assert writer.kept_vectors(["other"]) == {}

    def test_words_are_found_before_there_are_vectors(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        put(writer, SHIPS, replace(CATS, vectors=None))
        assert reader.document("cats") == CATS.document
        assert reader.keyword_search("sleeping cat", k=5)[0].chunk_id == "cats#0"
        assert [m.chunk_id for m in reader.vector_search(axis(1), k=9)] == ["ships#0"]
        pets = Filter("kind", "=", "pet")
        assert reader.vector_search(axis(1), k=9, filters=[pets]) == []
        assert (reader.lacking_vectors(), reader.status().lacking) == (2, 2)

    def test_filled_it_is_as_if_the_vectors_had_come_with_the_documents(
        self, index: tuple[IndexWriter, IndexReader], tmp_path: Path
    ) -> None:
        writer, reader = index
        with self.open_writer(tmp_path / "whole", IDENTITY) as whole:
            put(whole, CATS, SHIPS)
            expected = whole.status()
            found = whole.vector_search(axis(1, 0.5), k=9)
        put(writer, replace(CATS, vectors=None), replace(SHIPS, vectors=None))
        seen = {reader.revision()}
        vectors = {
            c.id: v for e in (CATS, SHIPS) for c, v in zip(e.chunks, vectors_of(e), strict=True)
        }
        after = ""
        while chunks := writer.lacking("", most=1, after=after):
            assert reader.status().content != expected.content
            after = chunks[-1].id
            writer.fill("", {after: vectors[after], "gone#0": axis(1)})
            seen.add(reader.revision())
        assert len(seen) == 4
        assert reader.lacking_vectors() == reader.status().lacking == 0
        assert reader.status().content == expected.content
        assert reader.vector_search(axis(1, 0.5), k=9) == found
        writer.fill("", {"cats#0": axis(0, 0, 1)})  # it has one
        assert reader.vector_search(axis(1, 0.5), k=9) == found

    def test_what_lacks_vectors_is_asked_for_in_its_order_and_may_go(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, reader = index
        put(writer, SHIPS, replace(CATS, vectors=None))
        assert [one.id for one in writer.lacking("", most=9)] == ["cats#0", "cats#1"]
        assert [one.id for one in writer.lacking("", most=9, after="cats#0")] == ["cats#1"]
        assert writer.lacking("", most=1)[0] == CATS.chunks[0]
        changed = entry("cats", ["Lions roar."], [[0, 0, 1]])
        put(writer, replace(changed, vectors=None))
        assert [one.id for one in writer.lacking("", most=9)] == ["cats#0"]
        assert reader.lacking_vectors() == 1
        put(writer, changed)
        assert (writer.lacking("", most=9), reader.lacking_vectors()) == ([], 0)
        assert [m.chunk_id for m in reader.vector_search(axis(0, 0, 1), k=1)] == ["cats#0"]
        put(writer, replace(SHIPS, vectors=None))
        writer.forget([SHIPS.document.path])
        assert (writer.lacking("", most=9), reader.lacking_vectors()) == ([], 0)

    def test_kept_vectors_stay_until_a_vector_is_stored(
        self, index: tuple[IndexWriter, IndexReader]
    ) -> None:
        writer, _ = index
        text = CATS.chunks[0].context
        writer.keep_vectors({text: axis(1)})
        put(writer, replace(CATS, vectors=None))
        assert list(writer.kept_vectors([text])) == [text]
        writer.fill("", {"cats#0": axis(1)})
        assert writer.kept_vectors([text]) == {}
