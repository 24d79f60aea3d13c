"""The one process that changes an embedded index."""

import json
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from fathom.index.base import Entry, SourceRecord, Space, Vector
from fathom.index.embedded import schema
from fathom.index.embedded.changes import Added, Changes
from fathom.index.embedded.derived import catch_up, discard_graphs, graph_is_worn
from fathom.index.embedded.hnsw import build
from fathom.index.embedded.keyword import KeywordLeg
from fathom.index.embedded.lock import WriterLock
from fathom.index.embedded.reader import EmbeddedReader
from fathom.index.embedded.spaces import StoredSpace
from fathom.index.embedded.store import Store
from fathom.index.validation import check_entries, check_vectors
from fathom.types import Chunk

# Below 20,000 chunks filling anew takes seconds, so every dead chunk is worth it.
MOST_DEAD = 0.02
FEW_DEAD = 400

OnStep = Callable[[str], None]


class EmbeddedWriter(EmbeddedReader):
    """Changes the index in a directory.

    A change goes through three steps: SQLite keeps it (from here on no kill loses it), the
    keyword leg applies it, SQLite publishes it (from here on readers see it). Opening a writer
    finishes what an earlier one left between two steps.

    Attributes:
        on_step: Told `stored`, `applied`, `published`, `filled`, `building`, `built` as it happens.
    """

    def __init__(
        self,
        directory: Path,
        store: Store,
        keyword: KeywordLeg,
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
        """Finish what an earlier writer left undone; makes anew what is unsound."""
        with self._writing():
            self._finish()
            self._changes.note_all_lacking()

    def put(self, entries: Sequence[Entry], sources: Sequence[SourceRecord]) -> None:
        """See `IndexWriter.put`.

        Raises:
            ValueError: If vectors, chunks and documents do not fit together.
            IndexMismatch: If the vectors have another dimension than those stored.
            RunError: If it cannot be kept (disk full); then it is wholly kept or not at all.
        """
        with self._writing():
            check_entries(entries, {each.name: each.dimension for each in self._store.all_spaces()})
            self._finish()
            self._unfinished = True
            added = self._changes.put(entries, sources)
            self._on_step("stored")
            self._finish(added)

    def forget(self, paths: Sequence[str], *, purge: bool = True) -> int:
        """See `IndexWriter.forget`."""
        with self._writing():
            self._finish()
            self._unfinished = True
            gone = self._changes.forget(paths)
            self._on_step("stored")
            self._finish()
            if gone and purge:
                self._purge()
            return gone

    def purge(self) -> None:
        """See `IndexWriter.purge`.

        The keyword leg is filled anew: some seconds for each ten thousand chunks.
        """
        with self._writing():
            self._finish()
            if int(self._store.meta("dead")):
                self._purge()

    def set_roots(self, roots: Sequence[str]) -> None:
        """See `IndexWriter.set_roots`."""
        with self._writing():
            self._changes.note("roots", json.dumps(list(roots)))

    def keep_calibration(self, strategy: str, data: str) -> None:
        """See `IndexWriter.keep_calibration`."""
        with self._writing():
            self._changes.keep_calibration(strategy, data)

    def keep_vectors(self, vectors: Mapping[str, Vector], *, space: str = "") -> None:
        """See `IndexWriter.keep_vectors`."""
        with self._writing():
            self._changes.keep_vectors(vectors, space)

    def kept_vectors(self, texts: Sequence[str], *, space: str = "") -> dict[str, Vector]:
        """See `IndexWriter.kept_vectors`."""
        with self._writing():
            return self._changes.kept_vectors(texts, space)

    def lay_out(self, spaces: Sequence[Space]) -> None:
        """See `IndexWriter.lay_out`."""
        with self._writing():
            self._finish()
            self._changes.lay_out(spaces)
            discard_graphs(self._directory, self._store)

    def lacking(self, space: str, *, most: int, after: str = "") -> list[Chunk]:
        """See `IndexWriter.lacking`."""
        with self._writing():
            self._finish()
            looked_at = self._known(space)
            if not looked_at.lacking:
                return []
            ids = self._store.lacking_ids(looked_at, most, after)
        return self.chunks(ids)

    def fill(self, space: str, vectors: Mapping[str, Vector]) -> None:
        """See `IndexWriter.fill`.

        Raises:
            IndexMismatch: If the vectors have another dimension than those stored.
        """
        with self._writing():
            self._finish()
            into = self._known(space)
            numbers = self._store.numbers(vectors)
            check_vectors([vectors[one] for one in numbers], into.name, into.dimension)
            kept = self.chunks(list(numbers)) if self._changes.keeps_vectors() else []
            by_number = {number: vectors[one] for one, number in numbers.items()}
            if into.graph is not None and min(by_number, default=sys.maxsize) <= into.graph.until:
                self._changes.note_graph(into, "")  # it would miss them for good
            self._changes.fill(into, by_number, [chunk.context for chunk in kept])
            self._on_step("filled")

    def drop_space(self, name: str) -> bool:
        """See `IndexWriter.drop_space`."""
        with self._writing():
            self._finish()
            dropped = self._changes.drop_space(name)
            discard_graphs(self._directory, self._store)
        self._latest.legs.pop(name, None)
        return dropped

    def _known(self, name: str) -> StoredSpace:
        found = self._store.space(name)
        if found is None:
            raise ValueError(f"{name!r} is no space of the index; lay it out first")
        return found

    def optimize(self) -> None:
        """See `IndexWriter.optimize`.

        Builds the graph of neighbours when many chunks are outside it, fills the keyword leg
        anew when many of its chunks were replaced (until then their words are never found but
        count in its statistics), and folds the log into the database file. The vectors of
        removed chunks stay in the graph's file, never found, until that is built anew.
        """
        with self._writing():
            self._finish()
            self._changes.drop_vectors()
            dead = int(self._store.meta("dead"))
            if dead and dead >= MOST_DEAD * self._keyword.count() - FEW_DEAD:
                self._purge()
            self._build_graphs()
            schema.fold_log(self._store.connection)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        # What is changed is the last state, also inside a snapshot.
        with self._busy, self._held.holding(None), self._damage_named():
            yield

    def _finish(self, added: Sequence[Added] | None = None) -> None:
        """Steps 2 and 3 of whatever is stored and not published; see `catch_up`."""
        if not self._unfinished:
            return
        parts = self._store, self._changes, self._keyword, self._analyzer, self._on_step
        catch_up(*parts, added=added)
        self._unfinished = False

    def _build_graphs(self) -> None:
        for space in self._store.all_spaces():
            self._build_graph(space)
        discard_graphs(self._directory, self._store)

    def _build_graph(self, space: StoredSpace) -> None:
        revision = self._store.published()
        numbers = self._store.chunks_with_vectors(space, revision)
        if not graph_is_worn(self._directory, space.graph, numbers, self._ann_from_chunks):
            return
        if not len(numbers):
            self._changes.note_graph(space, "")
            return
        self._on_step("building")
        vectors = self._store.vectors_after(revision, 0, space)
        fresh = build(self._directory, space.graph_file(str(revision)), numbers, vectors)
        self._on_step("built")
        self._changes.note_graph(space, fresh.dumps())

    def renew(self) -> None:
        """Make everything that is derived anew."""
        with self._writing():
            self._finish()
            self._purge()
            for space in self._store.all_spaces():
                self._changes.note_lacking(space, self._store.count_lacking(space))
                self._changes.note_graph(space, "")
            self._build_graphs()

    def _purge(self) -> None:
        """Fill the keyword leg anew, without the words of removed chunks.

        They counted in the scores, so it is a revision of its own: whoever reads opens it anew.
        """
        self._unfinished = True
        self._changes.purge()
        self._on_step("stored")
        self._finish()

    def close(self) -> None:
        """See `IndexReader.close`; folds the log into the file and gives the lock back."""
        with self._busy:
            if self._closed:
                return
            try:
                schema.fold_log(self._store.connection)
            except sqlite3.Error:
                self._unfinished = True  # the log stays; the next to open folds it in
            finally:
                super().close()
                self._lock.release()
