"""The protocol of an index, whatever engine implements it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from typing_extensions import TypeAliasType

from fathom.errors import IndexMismatch, UsageError
from fathom.index.rights import ReaderList, ReadingRule
from fathom.types import Chunk, Document, Filter

if TYPE_CHECKING:  # takes a while to import, and only types need it here
    import numpy as np
    from numpy.typing import NDArray

Matrix = TypeAliasType("Matrix", "NDArray[np.float32]")
Vector = TypeAliasType("Vector", "NDArray[np.float32]")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A document ready to be stored, with its chunks and their vectors.

    Attributes:
        vectors: (chunks, dimension) float32, rows of unit length; `None` if they follow later.
            Until then only their words find the chunks.
        digest: sha256 of the bytes (or of the record) that the document was made from.
        more: The vectors of the chunks in further spaces, by the names of the spaces; shaped like
            `vectors`.
    """

    document: Document
    chunks: tuple[Chunk, ...]
    vectors: Matrix | None
    digest: str
    more: Mapping[str, Matrix] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """A further vector space, for the vectors of one more embedder.

    Attributes:
        name: The name of the embedder, as in `retrieval.embedders`; not empty.
        identity: The identity of the embedder; vectors of another embedder are not comparable.
    """

    name: str
    identity: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceStatus:
    """The state of the vectors of a further embedder.

    Attributes:
        name: The name of the embedder.
        identity: The model and the method that made the vectors.
        dimension: The number of components of a vector.
        chunks: The number of chunks that have such a vector.
    """

    name: str
    identity: Mapping[str, str]
    dimension: int
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """The record that an index keeps of one place: a file or a record of a corpus.

    Attributes:
        path: The path of a file, `FILE#ID` for a record in the file of a corpus, or an address such
            as `s3://bucket/a.pdf`.
        digest: sha256 of the content that was read there; if `stale`, of the content that was read
            last.
        outcome: `ok`, `stale` (the earlier content is kept, because the place cannot be read any
            more or is gone), or the kind of failure because of which there is no document.
        reason: The reason of the outcome in one line; empty if `ok`.
        document_id: The id of the document that was read there. `None` if there is none, and for
            the file of a corpus: each of its records is a place of its own. Equal files share one
            document.
    """

    path: str
    digest: str
    outcome: str
    reason: str = ""
    document_id: str | None = None

    @property
    def is_corpus(self) -> bool:
        """Return whether the place is the file of a corpus, which holds records."""
        return self.document_id is None and self.outcome in {"ok", "stale"}


def is_address(place: str) -> bool:
    """Return whether a place is the address of an object elsewhere, such as `s3://bucket/a.pdf`.

    The place of a file is its absolute path, so no file looks like an address.
    """
    return _ADDRESS.match(place) is not None


class Match(NamedTuple):
    """A chunk that a search found; a higher score is a closer match.

    Attributes:
        chunk_id: The id of the chunk.
        score: The cosine, in [-1, 1], or the BM25 score, above 0.
    """

    chunk_id: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSummary:
    """The entry of a document in a list.

    Attributes:
        path: The path of its file, `FILE#ID` for a record of a corpus file, or its address.
        language: The code of its language, such as `en`.
        chunks: The number of its chunks.
        updated: The time at which it was stored last, ISO 8601 in UTC.
    """

    id: str
    path: str
    title: str
    language: str
    chunks: int
    updated: str


@dataclass(frozen=True, slots=True)
class MetadataKey:
    """A metadata key of the documents in an index.

    Attributes:
        kinds: The kinds of its values (`text`, `date`, `number`, `bool`), the commonest first.
        documents: The number of documents that have the key.
    """

    kinds: tuple[str, ...]
    documents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStatus:
    """The state of an index.

    Attributes:
        revision: A number that grows with every published change.
        documents: The number of documents.
        chunks: The number of chunks, which are what a search finds.
        sources: The number of places that were read: files, records of corpus files, and addresses.
        failed: The number of places that could not be read. Files that are no documents, such as
            pictures, do not count.
        stale: The number of places whose document is kept although it cannot be read there any
            more.
        content: sha256 over all documents, chunks, vectors and places, independent of the order in
            which they were added. Vectors of further embedders do not count, because they are
            derived from the chunks.
        identity: The models and methods with which the index was made.
        keys: The metadata keys that filters may use, in addition to the fields that all documents
            have.
        bytes_on_disk: The size in bytes of each component of the index, by the component's name,
            which depends on the engine (`sqlite`, `postings`); empty for a caller who may not read
            all documents.
        spaces: The vectors of further embedders, in the order in which these were added.
        lacking: The number of chunks without a vector of the main embedder; a search finds them
            only if they share words with the question.
    """

    revision: int
    documents: int
    chunks: int
    sources: int
    failed: int
    stale: int
    content: str
    identity: Mapping[str, str]
    keys: Mapping[str, "MetadataKey"] = field(default_factory=dict)
    bytes_on_disk: Mapping[str, int] = field(default_factory=dict)
    spaces: tuple[SpaceStatus, ...] = ()
    lacking: int = 0


def check_k(k: int) -> None:
    """Check that at least one hit is asked for.

    Raises:
        UsageError: If the number is below 1.
    """
    if k < 1:
        raise UsageError(f"k = {k}: ask for at least 1 hit")


MAX_K = 1_000_000
"""The largest number of hits. Engines allocate memory for as many hits as they search."""


def limit_k(k: int) -> int:
    """Return a number of hits, limited to `MAX_K`.

    Raises:
        UsageError: If the number is below 1.
    """
    check_k(k)
    # Every engine sets memory aside for k hits, so a huge k would exhaust it.
    return min(k, MAX_K)


def check_dimension(vector: Vector, dimension: int) -> None:
    """Check that the vector of a query has the dimension of the stored vectors.

    Raises:
        IndexMismatch: If it has another dimension.
    """
    if vector.shape != (dimension,):
        raise IndexMismatch(
            f"the query's vector has {vector.size} numbers, vectors of the index {dimension}; use "
            "the embedder that made the index, or `fathom ingest --rebuild PATH...`"
        )


class IndexReader(Protocol):
    """A consistent view of an index, also while another process writes.

    A reader sees each document wholly or not at all. A reader for a viewer shows only the documents
    that the viewer may read, in all of its methods. Every implementation passes
    `testing.IndexConformance`.
    """

    def snapshot(self) -> AbstractContextManager[None]:
        """Let all calls inside the `with` block see one state, the last one published before it.

        This holds also for threads that carry the context of the block (`index.context_slot`).
        Nested blocks keep the state of the outer block. Writers do not wait for the block.

        Raises:
            RunError: From a call inside, if the state cannot be read any more.
        """
        ...

    def vector_search(
        self,
        vector: Vector,
        *,
        k: int,
        filters: Sequence[Filter] = (),
        space: Space | None = None,
    ) -> list[Match]:
        """Return the `k` chunks with the highest cosine to a vector, best first, ties by chunk id.

        Chunks without a vector in the space are skipped; `count_missing_vectors` counts them. An
        engine with a graph of neighbours may miss some of the best chunks.

        Args:
            vector: A vector of unit length.
            k: The largest number of matches, at least 1.
            filters: The conditions that the documents must meet, all of them.
            space: The further space to search; by default the space that every index has.

        Raises:
            UsageError: If `k` is below 1 or a filter is malformed.
            IndexMismatch: If the space is missing or was made with another embedder, or if the
                vector has another dimension than the stored ones.
        """
        ...

    def keyword_search(self, text: str, *, k: int, filters: Sequence[Filter] = ()) -> list[Match]:
        """Return the `k` chunks with the highest BM25 score, best first, ties by chunk id.

        A chunk matches if it has any word of the text. A text without words matches no chunk.

        Args:
            text: The query; its words are analysed as those of the documents are.
            k: The largest number of matches, at least 1.
            filters: The conditions that the documents must meet, all of them.

        Raises:
            UsageError: If `k` is below 1 or a filter is malformed.
        """
        ...

    def count_missing_vectors(self) -> int:
        """Return the number of chunks without a vector, in the space that lacks the most.

        The call is quick.
        """
        ...

    def select_unembedded(self, ids: Sequence[str], *, space: Space | None = None) -> list[str]:
        """Return the ids of those chunks among these that have no vector in a space, in this order.

        The call is quick if no chunk of the index lacks a vector.

        Args:
            ids: The ids of chunks; missing ones are left out.
            space: The further space; by default the space that every index has.
        """
        ...

    def count_chunks_per_word(self, words: Sequence[str]) -> list[int]:
        """Return for each word the number of chunks that contain it.

        A chunk contains a word if keyword search would find it by the word. Counts below 1,000 are
        exact; a larger count may come out smaller, but not below 1,000.
        """
        ...

    def chunks(self, ids: Sequence[str]) -> list[Chunk]:
        """Return the chunks with these ids, in this order; missing ids are left out."""
        ...

    def get_document(self, document_id: str) -> Document | None:
        """Return the document with this id, or `None`."""
        ...

    def get_paths(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the paths of the existing documents among these, by id.

        This is quicker than reading the documents.
        """
        ...

    def get_entry(self, document_id: str) -> Entry | None:
        """Return the document with this id, its chunks and its vectors, or `None`.

        The entry is ready to be stored in another index. The vectors of a space are left out if any
        chunk lacks one.
        """
        ...

    def list_documents(self) -> Iterator[DocumentSummary]:
        """Return the summaries of all documents, ordered by path."""
        ...

    def is_empty(self) -> bool:
        """Return whether the index has no document."""
        ...

    def get_source(self, path: str) -> SourceRecord | None:
        """Return the record of this place, or `None`."""
        ...

    def list_sources(
        self, below: str = "/", *, after: str = "", most: int | None = None
    ) -> Iterator[SourceRecord]:
        """Return the records of a place and of all places in it, ordered by path.

        The places in a folder are its files at any depth, those in the file of a corpus its records
        (`FILE#ID`).

        Args:
            below: The place; by default all places, addresses too.
            after: Only places whose path comes after this path.
            most: The largest number of records; by default all.
        """
        ...

    def list_places(self, document_id: str) -> list[SourceRecord]:
        """Return the records of all places that hold this document, ordered by path."""
        ...

    def get_roots(self) -> list[str]:
        """Return the files and folders that the index shall hold, as the user named them."""
        ...

    def get_rights(self) -> Sequence[ReadingRule]:
        """Return the rules that say who may read which places; empty if everybody may read all."""
        ...

    def get_reader_names(self) -> frozenset[str] | None:
        """Return the names of all readers of places and documents; `None` without rules."""
        ...

    def list_limits(self, ids: Sequence[str]) -> Mapping[str, Sequence[ReaderList]] | None:
        """Return the lists that limit who may read the existing documents among these, by id.

        Returns:
            The lists; `None` without rules, and for viewers, who must not see the names of other
            readers. For the same reason a viewer finds no readers in the metadata of documents.
        """
        ...

    def get_calibrations(self) -> dict[str, str]:
        """Return the stored calibrations, as JSON by strategy.

        Calibrations contain no text of a document.
        """
        ...

    def get_revision(self) -> str:
        """Return the name of the index's state; every published change gives another one."""
        ...

    def list_keys(self) -> Mapping[str, MetadataKey]:
        """Return `IndexStatus.keys`, quicker than `status` does."""
        ...

    def status(self) -> IndexStatus:
        """Return counts, sizes and identity."""
        ...

    def close(self) -> None:
        """Release files and memory; a second call does nothing."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class IndexWriter(IndexReader, Protocol):
    """The write access of a process to an index.

    A call that has returned is durable: no kill afterwards loses the change, and a kill during the
    call leaves each document wholly in its old or wholly in its new state.
    """

    def put(self, entries: Sequence[Entry], sources: Sequence[SourceRecord]) -> None:
        """Store documents and the records of their places, in one step.

        A place that pointed to another document releases it. A document that no place points to any
        more is removed with all its chunks. A vector from `keep_vectors` is dropped as soon as a
        chunk with its text is stored with a vector.

        Args:
            entries: The documents, with or without vectors; each replaces an earlier version.
            sources: The records of places; each replaces the earlier record of its path.

        Raises:
            ValueError: If vectors, chunks and documents do not fit together.
            IndexMismatch: If vectors have another dimension than the stored ones.
            RunError: If the change cannot be stored (disk full); it is then stored wholly or not at
                all.
        """
        ...

    def forget(self, paths: Sequence[str], *, purge: bool = True) -> int:
        """Remove these places and the documents that only they hold.

        Args:
            paths: The places.
            purge: Also drop the words of the removed documents, as `purge` does. This takes a
                while: a caller that forgets in several steps purges once, after the last step.

        Returns:
            The number of removed documents.
        """
        ...

    def purge(self) -> None:
        """Drop the words of removed documents from the search data.

        No search finds these words any more, but an engine may still count them in its statistics.
        If there are any, the purge is a change with a new revision, because scores may change.
        Documents, chunks and `IndexStatus.content` stay the same. If a kill interrupts the purge,
        the next `forget` that removes a document finishes it.
        """
        ...

    def set_roots(self, roots: Sequence[str]) -> None:
        """Store which files and folders the index shall hold, in place of the earlier ones."""
        ...

    def set_rights(self, rules: Sequence[ReadingRule]) -> None:
        """Store who may read which places, in place of the earlier rules.

        The rules hold for the places that are stored already and for later ones. Viewers see the
        change as soon as the call returns.

        Raises:
            UsageError: If there are rules and the engine cannot hold them.
        """
        ...

    def keep_calibration(self, strategy: str, data: str) -> None:
        """Store the calibration of a strategy in place of the older one; empty data removes it.

        Documents and revision stay the same.
        """
        ...

    def keep_vectors(self, vectors: Mapping[str, Vector], *, space: str = "") -> None:
        """Keep vectors by their texts, until a chunk with the text is stored with a vector.

        An interrupted ingest then need not embed these texts again. `optimize` drops the vectors
        that are left.

        Args:
            vectors: float32 vectors by the texts (`Chunk.context`) that they stand for.
            space: The name of the space; `""` is the space that every index has.
        """
        ...

    def get_kept_vectors(self, texts: Sequence[str], *, space: str = "") -> dict[str, Vector]:
        """Return the kept vectors of these texts, by text; texts without one are left out."""
        ...

    def create_spaces(self, spaces: Sequence[Space]) -> None:
        """Create these further spaces, empty, if they are missing or have another identity.

        A space of the same name with another identity is dropped with its vectors. `fill` adds the
        vectors of the chunks that are stored already; later documents bring theirs.
        """
        ...

    def list_unembedded_chunks(self, space: str, *, most: int, after: str = "") -> list[Chunk]:
        """Return the first chunks that have no vector in a space, in the order of their arrival.

        Args:
            space: The name of the space; `""` is the space that every index has.
            most: The largest number of chunks.
            after: Only chunks after the chunk with this id; empty for all.

        Raises:
            ValueError: If the index has no such space.
        """
        ...

    def fill(self, space: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors in a space, by chunk id; this is a change with a new revision.

        Ids of chunks that are gone, or that have a vector there, are skipped. Once all chunks of a
        document have their vectors, `IndexStatus.content` is the same as if they had been stored
        with the document.

        Args:
            space: The name of the space; `""` is the space that every index has.
            vectors: Vectors of unit length.

        Raises:
            ValueError: If the index has no such space.
            IndexMismatch: If the vectors have another dimension than the stored ones.
        """
        ...

    def drop_space(self, name: str) -> bool:
        """Remove a further space with its vectors and graph; return whether it existed."""
        ...

    def optimize(self) -> None:
        """Prepare the fastest searches: build graphs of neighbours, and drop kept vectors.

        No score changes, unless so many documents were removed that the call also purges.
        """
        ...
