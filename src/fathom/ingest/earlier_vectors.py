"""Vectors of an earlier version of a document, for the chunks whose text is the same.

Most chunks of a file that has changed read as before, and so do nearly all chunks of an index that
is made anew. Their vectors are kept in the index before the earlier version goes, and whatever
makes vectors takes the kept ones first.
"""

from collections.abc import Iterator, Mapping, Sequence

from fathom.errors import FathomError
from fathom.index.base import Entry, IndexReader, IndexStatus, IndexWriter, SourceRecord, Vector
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

    def find(
        self, place: str, document_id: str, earlier: SourceRecord | None, chunks: Sequence[Chunk]
    ) -> Iterator[tuple[str, dict[str, Vector]]]:
        """Yield the vectors of earlier chunks whose texts are those of new chunks.

        Args:
            place: The place of the document.
            document_id: The id of the document.
            earlier: The index's record of the place; `None` if it has none.
            chunks: The chunks of the document that is about to be stored.

        Yields:
            The name of a space and vectors by text. A space may come twice.
        """
        if earlier is not None and earlier.document_id is not None:
            yield from _select_vectors(_read_entry(self._writer, earlier.document_id), chunks)
        if self._before is not None and self._common:
            entry = _find_entry(self._before, place, document_id)
            selected = _select_vectors(entry, chunks)
            yield from (item for item in selected if item[0] in self._common)


def _select_vectors(
    entry: Entry | None, new: Sequence[Chunk]
) -> Iterator[tuple[str, dict[str, Vector]]]:
    """Yield the vectors of the chunks of an entry that have the text of a new chunk, by space."""
    if entry is None:
        return
    texts = frozenset(chunk.context for chunk in new)
    main = {} if entry.vectors is None else {"": entry.vectors}
    for space, matrix in {**main, **entry.more}.items():
        rows = zip(entry.chunks, matrix, strict=True)
        yield space, {chunk.context: row for chunk, row in rows if chunk.context in texts}


def _find_entry(index: IndexReader, place: str, document_id: str) -> Entry | None:
    """Return the entry of a document; if the index lacks it, of the one that its place had."""
    entry = _read_entry(index, document_id)
    source = index.get_source(place) if entry is None else None
    if source is None or source.document_id is None:
        return entry
    return _read_entry(index, source.document_id)


def _read_entry(index: IndexReader, document_id: str) -> Entry | None:
    """Return the entry of a document; `None` without one, or if it is damaged."""
    try:
        return index.get_entry(document_id)
    except FathomError:
        # Damage must not keep the new version out, which mends it.
        return None


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
