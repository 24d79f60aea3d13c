"""What an index promises, whatever engine is underneath."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from fathom.errors import IndexMismatch, UsageError
from fathom.types import Chunk, Document, Filter

Matrix = NDArray[np.float32]
Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A document ready to be stored: its chunks and their vectors, (chunks, dimension) float32.

    Attributes:
        vectors: `None` where they follow: until then the chunks are found by their words.
        digest: sha256 of the bytes (or of the record) the document was made from.
        more: Vectors of the chunks in further spaces, by the names of these.
    """

    document: Document
    chunks: tuple[Chunk, ...]
    vectors: Matrix | None
    digest: str
    more: Mapping[str, Matrix] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """A vector space beside the one that every index has: the vectors of one more embedder.

    Attributes:
        identity: Of the embedder; vectors of another one are not comparable.
    """

    name: str
    identity: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceStatus:
    """The state of a further vector space; `chunks` have their vectors in it."""

    name: str
    identity: Mapping[str, str]
    dimension: int
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """What the index knows of one place it was asked to read: a file or a record of a corpus.

    Attributes:
        path: `file` or `file#_id`.
        digest: sha256 of what was read there; where that is `stale`, of what was read last.
        outcome: `ok`, `stale` (what was read there before is kept, because it cannot be read any
            more or is gone), or why there is no document.
        reason: One line; empty when `ok`.
        document_id: The document read there; `None` where there is none, and for the file of a
            corpus, whose records are places of their own. Equal files share one document.
    """

    path: str
    digest: str
    outcome: str
    reason: str = ""
    document_id: str | None = None

    @property
    def is_corpus(self) -> bool:
        """Whether it is a file of records."""
        return self.document_id is None and self.outcome in {"ok", "stale"}


class Match(NamedTuple):
    """A chunk found by one leg of the index; `score` grows with likeness."""

    chunk_id: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSummary:
    """A document as listed: `updated` is ISO 8601 in UTC."""

    id: str
    path: str
    title: str
    language: str
    chunks: int
    updated: str


@dataclass(frozen=True, slots=True)
class MetadataKey:
    """A metadata key: `kinds` are of `text`, `date`, `number`, `bool`, the commonest first."""

    kinds: tuple[str, ...]
    documents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStatus:
    """The state of an index.

    Attributes:
        revision: Grows by one with every published change.
        failed: Places that gave no document.
        stale: Places whose document is kept although it cannot be read there any more.
        content: sha256 over all documents, chunks and vectors, independent of the order in
            which they came; without further spaces, which are made of the chunks.
        keys: What documents can be filtered by, beside the columns that all have: each key with
            the kinds of its values and the number of documents that have one.
        bytes_on_disk: By part (`sqlite`, `tantivy`, `usearch`).
        spaces: Further vector spaces, in the order in which they came.
        lacking: Chunks without a vector in the space that every index has; found by words only.
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
    """Accept how many hits are asked for.

    Raises:
        UsageError: If it is none.
    """
    if k < 1:
        raise UsageError(f"k = {k}: ask for at least 1 hit")


MOST_ASKED = 1_000_000
"""Nobody reads more hits than this; room is made for as many as are asked for."""


def bounded(k: int) -> int:
    """How many hits are looked for where so many are asked for.

    Raises:
        UsageError: If it is none.
    """
    check_k(k)
    return min(k, MOST_ASKED)


def check_dimension(vector: Vector, dimension: int) -> None:
    """Accept a query's vector.

    Raises:
        IndexMismatch: If it has another dimension than those stored.
    """
    if vector.shape != (dimension,):
        raise IndexMismatch(
            f"the query's vector has {vector.size} numbers, those of the index {dimension}; use "
            "the embedder that made the index, or `fathom ingest --rebuild PATH...`"
        )


class IndexReader(Protocol):
    """A consistent view: each document wholly or not at all, also while another process writes.

    Every implementation passes `testing.IndexConformance`.
    """

    def snapshot(self) -> AbstractContextManager[None]:
        """All calls inside the `with` block see one state, the last that was published before it.

        Also those of threads that carry the block's context; see `index.held`. Inside another such
        block nothing changes. What is written does not wait for it.

        Raises:
            RunError: By a call inside, if the state cannot be read any more.
        """
        ...

    def vector_search(
        self,
        vector: NDArray[np.float32],
        *,
        k: int,
        filters: Sequence[Filter] = (),
        space: Space | None = None,
    ) -> list[Match]:
        """The `k` chunks with the highest cosine to the unit vector, ties by chunk id.

        Chunks that have no vector there yet are passed over; see `lacking_vectors`.

        Args:
            vector: Of unit length.
            k: At most so many.
            filters: Only of documents that pass.
            space: In which of the further spaces; by default in the one that every index has.

        Raises:
            IndexMismatch: If that space is not there or was made otherwise.
        """
        ...

    def keyword_search(self, text: str, *, k: int, filters: Sequence[Filter] = ()) -> list[Match]:
        """The `k` chunks with the highest BM25 score for any of the words, ties by chunk id."""
        ...

    def lacking_vectors(self) -> int:
        """How many chunks lack a vector: of all spaces that which lacks most. Quick."""
        ...

    def word_counts(self, words: Sequence[str]) -> list[int]:
        """In how many chunks each word stands, in any form that keyword search takes for it.

        Exact up to a thousand; more may be told as a thousand.
        """
        ...

    def chunks(self, ids: Sequence[str]) -> list[Chunk]:
        """The chunks with these ids, in this order; ids that are gone are left out."""
        ...

    def document(self, document_id: str) -> Document | None:
        """The document with this id."""
        ...

    def paths(self, ids: Sequence[str]) -> dict[str, str]:
        """The paths of those documents that are there, by id; quicker than to read them."""
        ...

    def entry(self, document_id: str) -> Entry | None:
        """The document with this id as it can be stored elsewhere, with its vectors.

        Those of a space are left out where a chunk lacks one.
        """
        ...

    def documents(self) -> Iterator[DocumentSummary]:
        """All documents, ordered by path."""
        ...

    def is_empty(self) -> bool:
        """Whether there is no document."""
        ...

    def source(self, path: str) -> SourceRecord | None:
        """What is known of this place."""
        ...

    def sources(
        self, below: str = "/", *, after: str = "", most: int | None = None
    ) -> Iterator[SourceRecord]:
        """Known places at `below`: itself, what is in it, its records; ordered by path.

        Args:
            below: By default all that are known.
            after: Only those behind this path.
            most: So many at most; by default all.
        """
        ...

    def places(self, document_id: str) -> list[SourceRecord]:
        """All places that hold this document, ordered by path."""
        ...

    def roots(self) -> list[str]:
        """The files and folders that the index was asked to hold, as they were named."""
        ...

    def calibrations(self) -> dict[str, str]:
        """What was kept of calibrations, as JSON by strategy; no document stands in it."""
        ...

    def revision(self) -> str:
        """Names the state of the index; another one after every published change."""
        ...

    def keys(self) -> Mapping[str, MetadataKey]:
        """What documents can be filtered by; see `IndexStatus.keys`. Quicker than all of that."""
        ...

    def status(self) -> IndexStatus:
        """Counts, sizes and identity."""
        ...

    def close(self) -> None:
        """Let go of files and memory; calling it twice is fine."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class IndexWriter(IndexReader, Protocol):
    """The one process that may change an index.

    A call that has returned is durable: no kill afterwards loses it, and a kill during it
    leaves each document wholly in its old or wholly in its new state.
    """

    def put(self, entries: Sequence[Entry], sources: Sequence[SourceRecord]) -> None:
        """Store documents and note the places, in one step.

        A place that pointed to another document lets go of it; a document that no place points
        to any more is removed with all its chunks. What `keep_vectors` kept goes as soon as it
        is stored.
        """
        ...

    def forget(self, paths: Sequence[str], *, purge: bool = True) -> int:
        """Remove these places and the documents that only they held; returns how many went.

        Args:
            paths: The places.
            purge: Also let go of the words of what went, as `purge` does. That takes a while:
                whoever forgets in several steps does it once, behind the last.
        """
        ...

    def purge(self) -> None:
        """Let go of the words of removed documents, which are found by nobody.

        Where searches read any of them it is a change like any other, so a new revision: scores may
        change where they counted. Documents, chunks and `IndexStatus.content` stay.
        What is left to do after a kill is done by the next `forget` that removes a document.
        """
        ...

    def set_roots(self, roots: Sequence[str]) -> None:
        """Note which files and folders the index is asked to hold."""
        ...

    def keep_calibration(self, strategy: str, data: str) -> None:
        """Keep the calibration of a strategy, instead of an older one; empty removes that.

        The documents stay as they are, and so does the revision.
        """
        ...

    def keep_vectors(self, vectors: Mapping[str, Vector], *, space: str = "") -> None:
        """Keep vectors, by the text they are of, until a chunk with it is stored."""
        ...

    def kept_vectors(self, texts: Sequence[str], *, space: str = "") -> dict[str, Vector]:
        """Those of the vectors that are kept."""
        ...

    def lay_out(self, spaces: Sequence[Space]) -> None:
        """Make these further spaces where they are missing or were made otherwise, empty.

        What is put from then on has its vectors in all of them.
        """
        ...

    def lacking(self, space: str, *, most: int, after: str = "") -> list[Chunk]:
        """Of the chunks that have no vector in a space the first ones, as they came.

        Args:
            space: Its name; `""` is the one that every index has.
            most: At most so many.
            after: Of those behind the chunk with this id.
        """
        ...

    def fill(self, space: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors in a space, by chunk id; a change like any other, so a new revision.

        Ids that are gone, or have a vector there, are left out. Once all chunks of a document
        have theirs, `IndexStatus.content` is what it were had they come with the document.

        Args:
            space: Its name; `""` is the one that every index has.
            vectors: Of unit length.
        """
        ...

    def drop_space(self, name: str) -> bool:
        """Remove a further space with its vectors and its graph; whether it was there."""
        ...

    def optimize(self) -> None:
        """Bring the derived parts into their fastest form.

        Changes no result, unless it does what `purge` does, as it may where much was removed.
        """
        ...
