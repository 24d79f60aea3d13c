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

# `optimize` refills the keyword index from `MOST_DEAD * chunks - FEW_DEAD` removed chunks on. Below
# 20,000 chunks a refill takes seconds, so a single removed chunk is reason enough.
MOST_DEAD = 0.02
FEW_DEAD = 400

OnStep = Callable[[str], None]


class EmbeddedWriter(EmbeddedReader):
    """A writer of the index in a directory.

    A change has three steps: SQLite stores it (from here on no kill loses it), the keyword index
    applies it, SQLite publishes it (from here on readers see it). Opening a writer finishes a
    change that an earlier writer left between two steps.

    Attributes:
        on_step: A callback for tests that is called with the steps `stored`, `applied`,
            `published`, `filled`, `building` and `built`.
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
        """Finish the change of an earlier writer, and fill an unsound keyword index anew."""
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
        """Remove these places and the documents that only they hold; return their number.

        Args:
            paths: The places.
            purge: Whether to drop the words of the removed documents, as `purge` does.

        Returns:
            The number of removed documents.
        """
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
        """Drop the words of removed documents, if there are any.

        The keyword index is filled anew, which takes some seconds for each ten thousand chunks.
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
            # Beside the database too, so that a damaged index keeps its rights when it is rebuilt.
            write_rights_copy(self._directory, rules)
            self._unfinished = True
            self._changes.set_rights(rules)
            self._finish()

    def keep_calibration(self, strategy: str, data: str) -> None:
        """Store the calibration of a strategy; empty data removes it."""
        with self._hold_write_access():
            self._changes.keep_calibration(strategy, data)

    def keep_vectors(self, vectors: Mapping[str, Vector], *, space: str = "") -> None:
        """Keep vectors by their texts, until a chunk with the text is stored with a vector."""
        with self._hold_write_access():
            self._changes.keep_vectors(vectors, space)

    def get_kept_vectors(self, texts: Sequence[str], *, space: str = "") -> dict[str, Vector]:
        """Return the kept vectors of these texts, by text; texts without one are left out."""
        with self._hold_write_access():
            return self._changes.get_kept_vectors(texts, space)

    def create_spaces(self, spaces: Sequence[Space]) -> None:
        """Create these further spaces, empty, if they are missing or have another identity."""
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
            ValueError: If the index has no such space.
            IndexMismatch: If the vectors have another dimension than the stored ones.
        """
        with self._hold_write_access():
            self._finish()
            stored = self._store.require_space(space)
            numbers = self._store.look_up_numbers(vectors)
            check_vectors(
                [vectors[chunk_id] for chunk_id in numbers], stored.name, stored.dimension
            )
            # The texts of the chunks are needed only to drop their kept vectors.
            chunks = self.chunks(list(numbers)) if self._changes.keeps_vectors() else []
            by_number = {number: vectors[chunk_id] for chunk_id, number in numbers.items()}
            if (
                stored.graph is not None
                and min(by_number, default=sys.maxsize) <= stored.graph.until
            ):
                self._changes.note_graph(stored, "")  # the graph would hide these new vectors
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
        """Bring the derived files into their fastest form, and drop kept vectors.

        The call builds the graph of neighbours if many chunks are outside it, and folds the log
        into the database file. It fills the keyword index anew if many of its chunks were removed;
        until then no search finds their words, but BM25 counts them in its statistics. The vectors
        of removed chunks stay in the graph's file until the graph is built anew; no search finds
        them.
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
        """Let one thread write in the `with` block, and name damage of the database."""
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
        """Build the graphs of neighbours that are worn, and remove the files of old ones."""
        for space in self._store.list_spaces():
            self._build_graph(space)
        discard_graphs(self._directory, self._store)

    def _build_graph(self, space: SqliteSpace) -> None:
        """Build the graph of a space if it is worn; a space without vectors gets none."""
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
        """Make all derived files anew, and count again how many vectors each space lacks."""
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
