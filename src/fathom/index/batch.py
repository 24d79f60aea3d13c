"""Documents on their way into the index: cut, and stored together in one step."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fathom.documents.base import ParseRefusal
from fathom.documents.chunking.base import Chunker
from fathom.errors import FathomError
from fathom.index.base import Entry, IndexWriter, Matrix, SourceRecord
from fathom.index.corpus_places import has_file_id
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What became of a batch.

    Attributes:
        documents: Those that are in the index now, each with the place that had it first.
        refused: Records whose id is that of a document from elsewhere, each with its place.
        uncut: What was to be noted of documents that cannot be cut, each with the reason.
        chunks: How many were stored.
    """

    documents: Sequence[tuple[Pending, str]] = ()
    refused: Sequence[tuple[Pending, str]] = ()
    uncut: Sequence[tuple[SourceRecord, ParseRefusal]] = ()
    chunks: int = 0


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
            chunker: What cuts documents; it may refuse one.
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

    def pending_at(self, document_id: str) -> str | None:
        """The place that a document is about to have."""
        return self._owners.get(document_id)

    def owner(self, document_id: str) -> str | None:
        """The place that a document has, or is about to have."""
        return self.pending_at(document_id) or self.writer.paths([document_id]).get(document_id)

    def store(self, told: Callable[[int, int], None] = lambda _chunks, _of: None) -> Stored:
        """Store what is there, in one step.

        Args:
            told: Told meanwhile how many chunks are embedded, of how many.
        """
        if not self._pending:
            return Stored()
        begun = self.clock()
        # One question for all: where an index is on a server each takes its time.
        known = self.writer.paths(list(self._owners))
        # A file is not what has its id only because a record was once called so.
        paths = {key: path for key, path in known.items() if not has_file_id(path, key)}
        taken = [each for each in self._pending if self._is_taken(each, paths)]
        free = [each for each in self._pending if not self._is_taken(each, paths)]
        cut, uncut = self._cut(free, paths)
        taking = [each for each in free if each.document.id not in uncut]
        entries = list(self._entries(cut, told))
        self.writer.put(entries, [each.source for each in taking])
        self._adapt(self.clock() - begun)
        owners = self._owners | paths
        self._pending, self._owners, self._chars = [], {}, 0
        return Stored(
            documents=[(each, owners[each.document.id]) for each in taking],
            refused=[(each, paths[each.document.id]) for each in taken],
            uncut=[
                (each.source, uncut[each.document.id]) for each in free if each.document.id in uncut
            ],
            chunks=sum(len(entry.chunks) for entry in entries),
        )

    def _is_taken(self, pending: Pending, paths: Mapping[str, str]) -> bool:
        """Whether a record's id is that of a document which is still elsewhere."""
        path = paths.get(pending.document.id, pending.source.path)
        elsewhere = pending.is_record and path != pending.source.path
        return elsewhere and not self.files.is_gone(path)

    def _adapt(self, seconds: float) -> None:
        """Let a batch take about as long as what is lost when it is broken off may be old."""
        room = self._chars * BATCH_SECONDS / max(seconds, 1e-3)
        self._room = int(min(MOST_CHARS, max(_LEAST_CHARS, room)))

    def _cut(
        self, taking: Sequence[Pending], paths: Mapping[str, str]
    ) -> tuple[list[tuple[Pending, tuple[Chunk, ...]]], dict[str, ParseRefusal]]:
        """Cut those documents that are not stored yet, equal ones once.

        Returns:
            Those that are cut; and by their ids why others cannot be.
        """
        fresh: dict[str, Pending] = {}
        for pending in taking:
            key = pending.document.id
            known = key in paths and not pending.is_record
            if not known or pending.moves or self._lets_go(key, paths[key]):
                fresh.setdefault(key, pending)
        cut: list[tuple[Pending, tuple[Chunk, ...]]] = []
        uncut: dict[str, ParseRefusal] = {}
        for key, pending in fresh.items():
            chunks = pending.chunks
            try:
                chunks = self._chunker.split(pending.document) if chunks is None else chunks
                cut.append((pending, chunks))
            except ParseRefusal as refused:
                uncut[key] = refused
        return cut, uncut

    def _entries(
        self,
        cut: Sequence[tuple[Pending, tuple[Chunk, ...]]],
        told: Callable[[int, int], None],
    ) -> Iterator[Entry]:
        """Make what is stored of documents; embed them too, where that is not left for later."""
        made = self._vectors([chunk.context for _, chunks in cut for chunk in chunks], told)
        start = 0
        for pending, chunks in cut:
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

    def _lets_go(self, document_id: str, path: str) -> bool:
        """Whether a document is no more, or not for long, where it was."""
        turned = {one.source.path: one.document.id for one in self._pending}
        elsewhere = turned.get(path, document_id) != document_id
        return elsewhere or self.files.is_gone(path)
