"""Vectors of an earlier version of a document, kept for the chunks whose text is the same.

Most chunks of a file that has changed read as before, and so do nearly all chunks of an index that
is made anew. The index keeps the vectors of these texts before the earlier version goes, and
whatever makes vectors takes the kept ones first.
"""

from collections.abc import Iterator, Mapping, Sequence

from fathom.index.base import Entry, IndexReader, IndexStatus, IndexWriter, Matrix, SourceRecord
from fathom.types import Chunk

_EMBEDDER = "embedder."
"""The beginning of the keys of an index's identity that name the main embedder."""


class EarlierVectors:
    """The vectors of earlier versions of documents, in an index and in one that it replaces."""

    def __init__(self, writer: IndexWriter, before: IndexReader | None = None) -> None:
        """Compare the embedders of both indexes; no document is read.

        Args:
            writer: The writer of the index.
            before: A reader of the index that this one is to replace; `None` if there is none.
        """
        self._writer = writer
        self._before = before
        self._common = frozenset(_list_common_spaces(before, writer)) if before else frozenset()

    def keep(
        self, place: str, document_id: str, earlier: SourceRecord | None, chunks: Sequence[Chunk]
    ) -> None:
        """Keep the vectors of earlier chunks whose texts are those of new chunks.

        Args:
            place: The place of the document.
            document_id: The id of the document.
            earlier: The index's record of the place; `None` if it has none.
            chunks: The chunks of the document that is about to be stored.
        """
        texts = frozenset(chunk.context for chunk in chunks)
        if earlier is not None and earlier.document_id is not None:
            self._keep_matching(self._writer.get_entry(earlier.document_id), texts)
        if self._before is not None and self._common:
            self._keep_matching(_find_entry(self._before, place, document_id), texts, self._common)

    def _keep_matching(
        self, entry: Entry | None, texts: frozenset[str], spaces: frozenset[str] | None = None
    ) -> None:
        """Keep the vectors of the chunks of an entry that have one of these texts.

        Args:
            entry: The entry; `None` for nothing.
            texts: The texts.
            spaces: The names of the spaces; `None` for all.
        """
        if entry is None:
            return
        for space, matrix in _iterate_matrices(entry):
            if spaces is None or space in spaces:
                rows = zip(entry.chunks, matrix, strict=True)
                vectors = {chunk.context: row for chunk, row in rows if chunk.context in texts}
                self._writer.keep_vectors(vectors, space=space)


def _find_entry(index: IndexReader, place: str, document_id: str) -> Entry | None:
    """Return the entry of a document; if the index lacks it, of the one that its place had."""
    entry = index.get_entry(document_id)
    source = index.get_source(place) if entry is None else None
    if source is None or source.document_id is None:
        return entry
    return index.get_entry(source.document_id)


def _iterate_matrices(entry: Entry) -> Iterator[tuple[str, Matrix]]:
    """Yield the vectors of an entry by space; `""` is the space that every index has."""
    if entry.vectors is not None:
        yield "", entry.vectors
    yield from entry.more.items()


def _list_common_spaces(one: IndexReader, other: IndexReader) -> Iterator[str]:
    """Yield the names of the spaces that two indexes fill with the same embedder."""
    statuses = one.status(), other.status()
    main, main_of_other = map(_select_embedder, statuses)
    if main == main_of_other:
        yield ""
    further, further_of_other = (
        {space.name: space.identity for space in status.spaces} for status in statuses
    )
    yield from (name for name in further if further[name] == further_of_other.get(name))


def _select_embedder(status: IndexStatus) -> Mapping[str, str]:
    """Return the part of an index's identity that names its main embedder."""
    return {key: value for key, value in status.identity.items() if key.startswith(_EMBEDDER)}
