"""Documents on their way into the index: cut, and stored together in one step."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fathom.documents.chunking.base import Chunker
from fathom.errors import FathomError
from fathom.index.base import Entry, IndexWriter, Matrix, SourceRecord
from fathom.index.filling import raise_if_broken
from fathom.index.places import Files
from fathom.index.resumable_embedding import PatientEmbedder
from fathom.models.base import Embedder
from fathom.types import Chunk, Document

BATCH_SECONDS = 2.0
MOST_CHARS = 400_000
_FIRST_CHARS = 50_000
_LEAST_CHARS = 10_000


@dataclass(frozen=True, slots=True)
class Pending:
    """A document on its way into the index, and what was known of its place before.

    Attributes:
        source: What is to be noted of its place.
        is_record: Whether it came from a corpus file.
        moves: Whether it replaces the same document at another place.
        chunks: Of the document, where it is cut already.
    """

    document: Document
    source: SourceRecord
    known: SourceRecord | None
    is_record: bool = False
    moves: bool = False
    chunks: tuple[Chunk, ...] | None = None


class Batch:
    """Takes documents until there are enough of them, or the first is some seconds old.

    Attributes:
        writer: Of the index into which they go.
        files: What is known of the files of its places.
        embedders: By the names of their spaces.
        wait_vectors: Whether documents are stored with their vectors only.
        clock: Gives seconds.
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
        """Nothing is in it yet.

        Args:
            writer: Of the index.
            embedders: What turns chunks into vectors, by the names of their spaces; `""` is the
                one that every index has.
            chunker: What cuts documents.
            most_documents: So many are stored in one step at most.
            wait_vectors: Store documents with their vectors only; else these follow when all
                documents are found by their words, see `fill_spaces`.
            clock: Gives seconds.
        """
        self.writer = writer
        self.files = Files(writer)
        self.clock = clock
        self.embedders = embedders
        self._patient = {
            name: PatientEmbedder(each, writer, clock, space=name)
            for name, each in embedders.items()
        }
        self.wait_vectors = wait_vectors
        self._chunker = chunker
        self._most_documents = most_documents
        self._pending: list[Pending] = []
        self._owners: dict[str, str] = {}
        self._chars = 0
        # Without vectors the first document is stored at once: it shall be found.
        self._room = _FIRST_CHARS if wait_vectors else 0
        self._since = clock()

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits to be stored."""
        return not self._pending

    def add(self, pending: Pending) -> bool:
        """Take a document; whether it is time to store."""
        if not self._pending:
            self._since = self.clock()
        self._pending.append(pending)
        self._owners.setdefault(pending.document.id, pending.source.path)
        self._chars += len(pending.document.text)
        full = self._chars > self._room or len(self._pending) >= self._most_documents
        return full or self.clock() - self._since > BATCH_SECONDS

    def owner(self, document_id: str) -> str | None:
        """The place that a document has, or is about to have."""
        if document_id in self._owners:
            return self._owners[document_id]
        stored = self.writer.document(document_id)
        return stored.path if stored else None

    def store(
        self, told: Callable[[int, int], None] = lambda _chunks, _of: None
    ) -> "tuple[list[tuple[Pending, str]], int]":
        """Store what is there: each with the place that had the document first; the chunks.

        Args:
            told: Told meanwhile how many chunks are embedded, of how many.
        """
        if not self._pending:
            return [], 0
        begun = self.clock()
        entries = list(self._entries(told))
        self.writer.put(entries, [pending.source for pending in self._pending])
        self._adapt(self.clock() - begun)
        stored = [(pending, self._owners[pending.document.id]) for pending in self._pending]
        self._pending.clear()
        self._owners.clear()
        self._chars = 0
        return stored, sum(len(entry.chunks) for entry in entries)

    def _adapt(self, seconds: float) -> None:
        """Let a batch take about as long as what is lost when it is broken off may be old."""
        room = self._chars * BATCH_SECONDS / max(seconds, 1e-3)
        self._room = int(min(MOST_CHARS, max(_LEAST_CHARS, room)))

    def _entries(self, told: Callable[[int, int], None]) -> Iterator[Entry]:
        """Cut the pending documents that are not stored yet, equal ones once; embed them too."""
        fresh: dict[str, Pending] = {}
        for pending in self._pending:
            stored = None if pending.is_record else self.writer.document(pending.document.id)
            if stored is None or pending.moves or self._lets_go(stored):
                fresh.setdefault(pending.document.id, pending)
            if stored is not None:
                self._owners[pending.document.id] = stored.path
        split = [
            self._chunker.split(pending.document) if pending.chunks is None else pending.chunks
            for pending in fresh.values()
        ]
        made = self._vectors([chunk.context for chunks in split for chunk in chunks], told)
        start = 0
        for pending, chunks in zip(fresh.values(), split, strict=True):
            end = start + len(chunks)
            own = {name: each[start:end] for name, each in made.items()}
            yield Entry(
                document=pending.document,
                chunks=chunks,
                vectors=own.pop("", None),
                digest=pending.source.digest,
                more=own,
            )
            start = end

    def _vectors(self, texts: Sequence[str], told: Callable[[int, int], None]) -> dict[str, Matrix]:
        """Of a batch of chunks, by space; none where they follow, as one text has to be found out.

        Raises:
            FathomError: That an embedder raises at any text.
        """
        if not self.wait_vectors:
            return {}
        made: dict[str, Matrix] = {}
        for name, each in self._patient.items():
            try:
                made[name] = each.embed(texts, told=lambda done: told(done, len(texts)))
            except FathomError as error:
                raise_if_broken(self.embedders[name], error)
        return made

    def _lets_go(self, stored: Document) -> bool:
        """Whether a document is no more, or not for long, where it was."""
        turned = {one.source.path: one.document.id for one in self._pending}
        elsewhere = turned.get(stored.path, stored.id) != stored.id
        return elsewhere or self.files.is_gone(stored.path)
