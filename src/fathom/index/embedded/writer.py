"""Write access to an embedded index, for one process at a time."""

import json
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from typing_extensions import override

from fathom.index.base import Entry, SourceRecord, Space, Vector
from fathom.index.embedded import schema
from fathom.index.embedded.changes import AddedDocument, Changes
from fathom.index.embedded.derived import catch_up, discard_graphs, is_graph_worn
from fathom.index.embedded.hnsw import build_graph
from fathom.index.embedded.keyword import KeywordIndex
from fathom.index.embedded.limited import write_rights_copy
from fathom.index.embedded.lock import WriterLock
from fathom.index.embedded.reader import EmbeddedReader
from fathom.index.embedded.spaces import SqliteSpace
from fathom.index.embedded.store import SqliteStore
from fathom.index.rights import ReadingRule
from fathom.index.validation import check_entries, check_vectors
from fathom.types import Chunk

# Below 20,000 chunks a refill takes seconds, so a single dead chunk is reason enough.
MOST_DEAD = 0.02
FEW_DEAD = 400

OnStep = Callable[[str], None]


class EmbeddedWriter(EmbeddedReader):
    """A writer of the index in a directory.

    A change has three steps: SQLite stores it (from here on no kill loses it), the keyword index
    applies it, SQLite publishes it (from here on readers see it). Opening a writer finishes a
    change that an earlier writer left between two steps.

    Attributes:
        on_step: A callback for `stored`, `applied`, `published`, `filled`, `building` and `built`.
    """

    def __init__(
        self,
        directory: Path,
        store: SqliteStore,
        keyword: KeywordIndex,
        *,
        lock: WriterLock,
        ann_from_chunks: int,
        on_step: OnStep,
    ) -> None:
        super().__init__(directory, store, keyword)
        self._changes = Changes(store)
        self._lock = lock
        self._ann_from_chunks = ann_from_chunks
        self._on_step = on_step
        self._unfinished = True

    def recover(self) -> None:
        """Finish the changes of an earlier writer, and make unsound files anew."""
        with self._hold_write_access():
            self._finish()
            self._changes.note_all_lacking()

    def put(self, entries: Sequence[Entry], sources: Sequence[SourceRecord]) -> None:
        """Store documents and the records of their places, in one step.

        Raises:
            ValueError: If vectors, chunks and documents do not fit together.
            IndexMismatch: If the vectors have another dimension than the stored ones.
            RunError: If the change cannot be stored (disk full); it is then stored wholly or not at
                all.
        """
        with self._hold_write_access():
            check_entries(
                entries, {space.name: space.dimension for space in self._store.list_spaces()}
            )
            self._finish()
            self._unfinished = True
            added = self._changes.put(entries, sources)
            self._on_step("stored")
            self._finish(added)

    def forget(self, paths: Sequence[str], *, purge: bool = True) -> int:
        """Remove these places and the documents that only they held; return how many went."""
        with self._hold_write_access():
            self._finish()
            self._unfinished = True
            gone = self._changes.forget(paths)
            self._on_step("stored")
            self._finish()
            if gone and purge:
                self._purge()
            return gone

    def purge(self) -> None:
        """Drop the words of removed documents.

        The keyword index is filled anew: some seconds for each ten thousand chunks.
        """
        with self._hold_write_access():
            self._finish()
            if int(self._store.read_meta("dead")):
                self._purge()

    def set_roots(self, roots: Sequence[str]) -> None:
        """Store which files and folders the index shall hold."""
        with self._hold_write_access():
            self._changes.note("roots", json.dumps(list(roots)))

    def set_rights(self, rules: Sequence[ReadingRule]) -> None:
        """Store who may read which places, and publish it as a new revision."""
        with self._hold_write_access():
            self._finish()
            if tuple(rules) == tuple(self._store.read_rights()):
                return
            # Beside the index too: one that is damaged and made anew keeps its rights.
            write_rights_copy(self._directory, rules)
            self._unfinished = True
            self._changes.set_rights(rules)
            self._finish()

    def keep_calibration(self, strategy: str, data: str) -> None:
        """Store the calibration of a strategy; empty data removes it."""
        with self._hold_write_access():
            self._changes.keep_calibration(strategy, data)

    def keep_vectors(self, vectors: Mapping[str, Vector], *, space: str = "") -> None:
        """Keep vectors by their texts, until a chunk with the text is stored."""
        with self._hold_write_access():
            self._changes.keep_vectors(vectors, space)

    def get_kept_vectors(self, texts: Sequence[str], *, space: str = "") -> dict[str, Vector]:
        """Return the vectors that are kept of these texts, by text."""
        with self._hold_write_access():
            return self._changes.get_kept_vectors(texts, space)

    def create_spaces(self, spaces: Sequence[Space]) -> None:
        """Create these further spaces, if they are missing or were made otherwise."""
        with self._hold_write_access():
            self._finish()
            self._changes.create_spaces(spaces)
            discard_graphs(self._directory, self._store)

    def list_unembedded_chunks(self, space: str, *, most: int, after: str = "") -> list[Chunk]:
        """Return the first chunks that have no vector in a space, in the order of their arrival."""
        with self._hold_write_access():
            self._finish()
            stored = self._store.require_space(space)
            if not stored.lacking:
                return []
            ids = self._store.list_unembedded_ids(stored, most, after)
        return self.chunks(ids)

    def fill(self, space: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors in a space, by chunk id, and publish them as a new revision.

        Raises:
            IndexMismatch: If the vectors have another dimension than the stored ones.
        """
        with self._hold_write_access():
            self._finish()
            stored = self._store.require_space(space)
            numbers = self._store.look_up_numbers(vectors)
            check_vectors(
                [vectors[chunk_id] for chunk_id in numbers], stored.name, stored.dimension
            )
            # Only the texts of filled chunks are needed, to drop what was kept of them.
            chunks = self.chunks(list(numbers)) if self._changes.keeps_vectors() else []
            by_number = {number: vectors[chunk_id] for chunk_id, number in numbers.items()}
            if (
                stored.graph is not None
                and min(by_number, default=sys.maxsize) <= stored.graph.until
            ):
                self._changes.note_graph(stored, "")  # searches of it would never find them
            self._changes.fill(stored, by_number, [chunk.context for chunk in chunks])
            self._on_step("filled")

    def drop_space(self, name: str) -> bool:
        """Remove a further space with its vectors and graph; return whether it existed."""
        with self._hold_write_access():
            self._finish()
            dropped = self._changes.drop_space(name)
            discard_graphs(self._directory, self._store)
        self._latest.vectors.pop(name, None)
        return dropped

    def optimize(self) -> None:
        """Bring the derived files into their fastest form.

        The call builds the graph of neighbours if many chunks are outside it, and folds the log
        into the database file. It fills the keyword index anew if many of its chunks were replaced;
        until then no search finds their words, but they count in the statistics. The vectors of
        removed chunks stay in the graph's file, never found, until the graph is built anew.
        """
        with self._hold_write_access():
            self._finish()
            # `optimize` runs at the end of an ingest, so no later step needs the kept vectors.
            self._changes.drop_vectors()
            dead = int(self._store.read_meta("dead"))
            if dead and dead >= MOST_DEAD * self._keyword.count_chunks() - FEW_DEAD:
                self._purge()
            self._build_graphs()
            schema.fold_log(self._store.connection)

    @contextmanager
    def _hold_write_access(self) -> Iterator[None]:
        # A change applies to the last state, even inside a snapshot.
        with self._busy, self._slot.hold(None), self._name_damage():
            yield

    def _finish(self, added: Sequence[AddedDocument] | None = None) -> None:
        """Run steps 2 and 3 of a stored change that is not published, with `catch_up`."""
        if not self._unfinished:
            return
        arguments = self._store, self._changes, self._keyword, self._analyzer, self._on_step
        catch_up(*arguments, added=added)
        self._unfinished = False

    def _build_graphs(self) -> None:
        for space in self._store.list_spaces():
            self._build_graph(space)
        discard_graphs(self._directory, self._store)

    def _build_graph(self, space: SqliteSpace) -> None:
        revision = self._store.read_published_revision()
        numbers = self._store.list_chunks_with_vectors(space, revision)
        if not is_graph_worn(self._directory, space.graph, numbers, self._ann_from_chunks):
            return
        if not len(numbers):
            self._changes.note_graph(space, "")
            return
        self._on_step("building")
        vectors = self._store.read_vectors_after(revision, 0, space)
        record = build_graph(
            self._directory, space.name_graph_file(str(revision)), numbers, vectors
        )
        self._on_step("built")
        self._changes.note_graph(space, record.dumps())

    def renew(self) -> None:
        """Make all derived files anew."""
        with self._hold_write_access():
            self._finish()
            self._purge()
            for space in self._store.list_spaces():
                self._changes.note_lacking(space, self._store.count_lacking(space))
                self._changes.note_graph(space, "")
            self._build_graphs()

    def _purge(self) -> None:
        """Fill the keyword index anew, without the words of removed chunks.

        These words counted in the scores, so the purge is a revision of its own: readers open the
        keyword index again.
        """
        self._unfinished = True
        self._changes.purge()
        self._on_step("stored")
        self._finish()

    @override
    def close(self) -> None:
        """Fold the log into the database file, release the lock and close the reader."""
        with self._busy:
            if self._closed:
                return
            try:
                schema.fold_log(self._store.connection)
            except sqlite3.Error:
                self._unfinished = True  # the log stays; the next writer folds it
            finally:
                super().close()
                self._lock.release()
