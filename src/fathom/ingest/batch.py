"""Batches of documents on their way into the index: cut, and stored together in one step."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fathom.documents.base import ParseRefusal
from fathom.documents.chunking.base import Chunker
from fathom.errors import FathomError
from fathom.index.base import Entry, IndexReader, IndexWriter, Matrix, SourceRecord, Vector
from fathom.ingest.corpus_places import has_file_id
from fathom.ingest.earlier_vectors import EarlierVectors
from fathom.ingest.filling import raise_if_broken
from fathom.ingest.places import CorpusFiles
from fathom.ingest.resumable_embedding import ResumableEmbedder
from fathom.models.base import Embedder
from fathom.types import Chunk, Document

BATCH_SECONDS = 2.0
"""The time that storing a batch should take, and the age at which a batch is stored, in seconds."""
MAX_CHARS = 400_000
"""The largest number of characters in a batch."""
_FIRST_CHARS = 50_000
_MIN_CHARS = 10_000


@dataclass(frozen=True, slots=True)
class PendingDocument:
    """A document on its way into the index, with the earlier record of its place.

    Attributes:
        document: The document.
        source: The new record of its place.
        earlier: The record that the index has of the place; `None` if it has none.
        is_record: Whether the document came from a corpus file.
        moves: Whether the document replaces the same document at another place.
        chunks: The document's chunks; `None` if it is not cut yet.
    """

    document: Document
    source: SourceRecord
    earlier: SourceRecord | None
    is_record: bool = False
    moves: bool = False
    chunks: tuple[Chunk, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBatch:
    """The outcome of storing a batch.

    Attributes:
        documents: The documents that are in the index now, each with the place that had it first.
        refused: The records whose id is that of a document of another place, each with that place.
        uncut: The records of the places whose documents cannot be cut, each with the reason.
        chunks: The number of stored chunks.
    """

    documents: Sequence[tuple[PendingDocument, str]] = ()
    refused: Sequence[tuple[PendingDocument, str]] = ()
    uncut: Sequence[tuple[SourceRecord, ParseRefusal]] = ()
    chunks: int = 0


class Batch:
    """A batch of documents that is stored when it is full or its first document is seconds old.

    Attributes:
        writer: The writer of the index.
        files: The files to which places belong.
        embedders: The embedders by the names of their spaces.
        wait_vectors: Whether documents are stored only together with their vectors.
        clock: The function that returns the time in seconds.
    """

    def __init__(
        self,
        *,
        writer: IndexWriter,
        embedders: Mapping[str, Embedder],
        chunker: Chunker,
        most_documents: int,
        wait_vectors: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create an empty batch.

        Args:
            writer: The writer of the index.
            embedders: The embedders of chunks by the names of their spaces; `""` is the space that
                every index has.
            chunker: The chunker, which may refuse a document with a `ParseRefusal`.
            most_documents: The largest number of documents to store in one step.
            wait_vectors: Whether to store documents only with their vectors; otherwise
                `fill_spaces` adds the vectors once searches find all documents by their words.
            clock: The function that returns the time in seconds.
        """
        self.writer = writer
        self.files = CorpusFiles(writer)
        self.clock = clock
        self.embedders = embedders
        self._resumable_embedders = {
            name: ResumableEmbedder(embedder, writer, clock, space=name)
            for name, embedder in embedders.items()
        }
        self.wait_vectors = wait_vectors
        self._earlier_vectors = EarlierVectors(writer)
        self._chunker = chunker
        self._most_documents = most_documents
        self._pending: list[PendingDocument] = []
        self._owners: dict[str, str] = {}
        self._chars = 0
        # Without vectors the first document is stored at once, so that searches find it early.
        self._room = _FIRST_CHARS if wait_vectors else 0
        self._since = clock()

    def take_vectors_from(self, before: IndexReader) -> None:
        """Take vectors of unchanged texts from an index that this one is to replace, too."""
        self._earlier_vectors = EarlierVectors(self.writer, before)

    @property
    def is_empty(self) -> bool:
        """True if no document waits to be stored."""
        return not self._pending

    def add(self, pending: PendingDocument) -> bool:
        """Add a document; return whether the batch should be stored now."""
        if not self._pending:
            self._since = self.clock()
        self._pending.append(pending)
        self._owners.setdefault(pending.document.id, pending.source.path)
        self._chars += len(pending.document.text)
        is_full = self._chars > self._room or len(self._pending) >= self._most_documents
        return is_full or self.clock() - self._since > BATCH_SECONDS

    def find_pending_place(self, document_id: str) -> str | None:
        """Return the place that a waiting document is about to get; `None` if it does not wait."""
        return self._owners.get(document_id)

    def find_place(self, document_id: str) -> str | None:
        """Return the place that a document is about to get, or has in the index, or `None`."""
        return self.find_pending_place(document_id) or self.writer.get_paths([document_id]).get(
            document_id
        )

    def store(
        self, report_embedded: Callable[[int, int], None] = lambda _chunks, _of: None
    ) -> StoredBatch:
        """Store the waiting documents in one step, and empty the batch.

        Args:
            report_embedded: A callback with the number of embedded chunks, and the number of all.

        Raises:
            FathomError: If an embedder fails at every text, or the index cannot be written.
        """
        if not self._pending:
            return StoredBatch()
        started = self.clock()
        # One query for all: on a server each query costs a round trip.
        stored_paths = self.writer.get_paths(list(self._owners))
        # An earlier version may have stored a record under the id of a file; it is not the file.
        paths = {key: path for key, path in stored_paths.items() if not has_file_id(path, key)}
        foreign = [pending for pending in self._pending if self._has_foreign_id(pending, paths)]
        free = [pending for pending in self._pending if not self._has_foreign_id(pending, paths)]
        cut, uncut = self._cut_documents(free, paths)
        accepted = [pending for pending in free if pending.document.id not in uncut]
        self._keep_earlier_vectors(cut)
        entries = list(self._build_entries(cut, report_embedded))
        self.writer.put(entries, [pending.source for pending in accepted])
        self._adapt_size(self.clock() - started)
        owners = self._owners | paths
        self._pending, self._owners, self._chars = [], {}, 0
        return StoredBatch(
            documents=[(pending, owners[pending.document.id]) for pending in accepted],
            refused=[(pending, paths[pending.document.id]) for pending in foreign],
            uncut=[
                (pending.source, uncut[pending.document.id])
                for pending in free
                if pending.document.id in uncut
            ],
            chunks=sum(len(entry.chunks) for entry in entries),
        )

    def _has_foreign_id(self, pending: PendingDocument, paths: Mapping[str, str]) -> bool:
        """Return whether a record has the id of a document that still exists at another place."""
        path = paths.get(pending.document.id, pending.source.path)
        elsewhere = pending.is_record and path != pending.source.path
        return elsewhere and not self.files.is_gone(path)

    def _adapt_size(self, seconds: float) -> None:
        """Adapt the size of a batch so that storing it takes about `BATCH_SECONDS`."""
        room = self._chars * BATCH_SECONDS / max(seconds, 1e-3)
        self._room = int(min(MAX_CHARS, max(_MIN_CHARS, room)))

    def _cut_documents(
        self, candidates: Sequence[PendingDocument], paths: Mapping[str, str]
    ) -> tuple[list[tuple[PendingDocument, tuple[Chunk, ...]]], dict[str, ParseRefusal]]:
        """Cut those documents that are not stored yet; of equal documents one.

        Args:
            candidates: The documents.
            paths: The paths of the documents that are stored, by id.

        Returns:
            The documents with their chunks; and by id the reasons why others cannot be cut.
        """
        fresh: dict[str, PendingDocument] = {}
        for pending in candidates:
            key = pending.document.id
            is_stored = key in paths and not pending.is_record
            if not is_stored or pending.moves or self._is_released(key, paths[key]):
                fresh.setdefault(key, pending)
        cut: list[tuple[PendingDocument, tuple[Chunk, ...]]] = []
        uncut: dict[str, ParseRefusal] = {}
        for key, pending in fresh.items():
            chunks = pending.chunks
            try:
                chunks = self._chunker.split(pending.document) if chunks is None else chunks
                cut.append((pending, chunks))
            except ParseRefusal as refusal:
                uncut[key] = refusal
        return cut, uncut

    def _keep_earlier_vectors(
        self, cut: Sequence[tuple[PendingDocument, tuple[Chunk, ...]]]
    ) -> None:
        """Keep the vectors of chunks whose text an earlier version has, before it is replaced."""
        vectors: dict[str, dict[str, Vector]] = {}
        for pending, chunks in cut:
            for space, by_text in self._earlier_vectors.find(
                pending.source.path, pending.document.id, pending.earlier, chunks
            ):
                vectors.setdefault(space, {}).update(by_text)
        for space, by_text in vectors.items():
            if by_text:
                self.writer.keep_vectors(by_text, space=space)

    def _build_entries(
        self,
        cut: Sequence[tuple[PendingDocument, tuple[Chunk, ...]]],
        report_embedded: Callable[[int, int], None],
    ) -> Iterator[Entry]:
        """Yield the entries to store, with their vectors if these need not follow later."""
        vectors = self._embed(
            [chunk.context for _, chunks in cut for chunk in chunks], report_embedded
        )
        start = 0
        for pending, chunks in cut:
            end = start + len(chunks)
            entry_vectors = {name: matrix[start:end] for name, matrix in vectors.items()}
            yield Entry(
                document=pending.document,
                chunks=chunks,
                vectors=entry_vectors.pop("", None),
                digest=pending.source.digest,
                more=entry_vectors,
            )
            start = end

    def _embed(
        self, texts: Sequence[str], report_embedded: Callable[[int, int], None]
    ) -> dict[str, Matrix]:
        """Return the vectors of a batch of texts by space; none if they follow later.

        If an embedder fails at a text, its vectors follow later too, because the search for that
        text takes time.

        Raises:
            FathomError: If an embedder fails at every text.
        """
        if not self.wait_vectors:
            return {}
        vectors: dict[str, Matrix] = {}
        for name, embedder in self._resumable_embedders.items():
            try:
                vectors[name] = embedder.embed(
                    texts, on_progress=lambda done: report_embedded(done, len(texts))
                )
            except FathomError as error:
                raise_if_broken(self.embedders[name], error)
        return vectors

    def _is_released(self, document_id: str, path: str) -> bool:
        """Return whether a place no longer has a document, or is about to get another one."""
        new_ids = {pending.source.path: pending.document.id for pending in self._pending}
        elsewhere = new_ids.get(path, document_id) != document_id
        return elsewhere or self.files.is_gone(path)
