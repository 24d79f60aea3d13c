"""Read access to an embedded index."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fathom.errors import RunError
from fathom.index.base import (
    DocumentSummary,
    Entry,
    IndexStatus,
    Match,
    MetadataKey,
    SourceRecord,
    Space,
    bounded,
)
from fathom.index.embedded import schema
from fathom.index.embedded.integrity import graph_findings, keyword_findings, truth_findings
from fathom.index.embedded.keyword import KeywordLeg
from fathom.index.embedded.spaces import check_made_with
from fathom.index.embedded.status import keys_of, status
from fathom.index.embedded.store import Store
from fathom.index.embedded.vectors import VectorLeg
from fathom.index.filters import Allowed
from fathom.index.held import Held
from fathom.text.analyzer import Analyzer
from fathom.types import Chunk, Document, Filter

WAIT_S = 1.0
SPARE = 4
"""The number of open connections that are kept for the next questions."""
TRIES = 50
MOST_IDS = 20_000
"""The number of chunk ids that are cached, about three megabytes."""


@dataclass(slots=True)
class _View:
    """The SQLite store, the keyword index and the vector indexes of one state."""

    store: Store
    keyword: KeywordLeg
    legs: dict[str, VectorLeg]


class _Ids:
    """A cache of chunk ids by number; within a lineage no number is used twice."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}
        self._lineage = ""

    def of(self, store: Store, numbers: Sequence[int]) -> Mapping[int, str]:
        """Return the ids of these chunks, and possibly of others."""
        lineage = store.meta("lineage")
        # A rebuilt index numbers its chunks anew, so ids of the old one would be wrong.
        if lineage != self._lineage or len(self._known) > MOST_IDS:
            self._known, self._lineage = {}, lineage
        missing = [number for number in numbers if number not in self._known]
        if missing:
            self._known |= store.chunk_ids(missing)
        return self._known


class EmbeddedReader:
    """A reader of the index in a directory, for several threads, one at a time inside."""

    def __init__(
        self,
        directory: Path,
        store: Store,
        keyword: KeywordLeg,
        mend: Callable[[], KeywordLeg] | None = None,
    ) -> None:
        """Take over an open store and a keyword index.

        Args:
            directory: The folder of the index.
            store: The open store of its SQLite file.
            keyword: Its keyword index.
            mend: Returns a keyword index of the store's state, and builds one if it must.
        """
        self._directory, self._file = directory, directory / schema.FILE
        self._latest = self._newest = _View(store, keyword, {})
        self._held = Held[_View]()
        self._ids = _Ids()
        self._spare: list[sqlite3.Connection] = []
        self._mend = mend
        self._analyzer = Analyzer()
        self._busy = threading.RLock()
        self._closed = False

    @property
    def _store(self) -> Store:
        return (self._held.get() or self._latest).store

    @property
    def _keyword(self) -> KeywordLeg:
        return (self._held.get() or self._latest).keyword

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Show all calls inside the block one state.

        The block holds a read transaction of SQLite and the keyword index as it was.
        """
        view = None if self._held.get() else self._view()
        if view is None:
            yield
            return
        try:
            with self._held.holding(view):
                yield
        finally:
            self._spare_later(view.store.connection)

    def _view(self) -> "_View | None":
        """Return a fixed view of the last state; `None` if the reader's own view cannot change."""
        for _ in range(TRIES):
            store = Store(self._another(), still=True)
            with self._damage_named():
                store.connection.execute("BEGIN")
                target = store.marker(store.chunks_at())
            with self._busy:
                if self._latest.keyword.marker() == target:
                    self._newest = _View(store, copy(self._latest.keyword), dict(self._latest.legs))
                    return self._newest
            self._spare_later(store.connection)
            with self._current_words():
                pass  # a writer has published since the keyword index was read
        return None  # another file has replaced the open one, which no writer changes any more

    def _another(self) -> sqlite3.Connection:
        with self._busy:
            return (
                self._spare.pop() if self._spare else schema.connect(self._directory, write=False)
            )

    def _spare_later(self, connection: sqlite3.Connection) -> None:
        with self._busy:
            connection.rollback()
            if self._closed or len(self._spare) >= SPARE:
                connection.close()
            else:
                self._spare.append(connection)

    @contextmanager
    def _snapshot(self) -> Iterator[int]:
        """Hold one state of SQLite for all calls inside; yield its revision."""
        with self._busy, self._damage_named():
            if self._store.connection.in_transaction:
                yield self._store.published()
                return
            with schema.transaction(self._store.connection, write=False):
                yield self._store.published()

    def _damage_named(self) -> AbstractContextManager[None]:
        return schema.corruption_named(self._file, self._damage)

    def _damage(self) -> Iterator[str]:
        return truth_findings(self._directory, self._store)

    def vector_search(
        self,
        vector: NDArray[np.float32],
        *,
        k: int,
        filters: Sequence[Filter] = (),
        space: Space | None = None,
    ) -> list[Match]:
        """Return the `k` chunks with the highest cosine to the unit vector, ties by chunk id."""
        k = bounded(k)
        with self._snapshot() as revision:
            vectors = self._leg(space, revision)
            allowed = self._allowed(filters, revision)
            scored = vectors.search(self._store, vector, k, allowed)
            return self._ranked(scored, k)

    def _leg(self, space: Space | None, revision: int) -> VectorLeg:
        name = space.name if space else ""
        if space is None:
            stored = self._store.main_space()
        else:
            stored = check_made_with(self._directory, space, self._store.space(name))
        view = self._held.get() or self._latest
        # A copy, because a snapshot may still use the old one for another state.
        vectors = copy(view.legs.get(name) or VectorLeg(self._directory))
        vectors.refresh(view.store, revision, stored)
        view.legs[name] = vectors
        if view is self._newest:
            self._latest.legs[name] = vectors  # later questions start from this state
        return vectors

    def keyword_search(self, text: str, *, k: int, filters: Sequence[Filter] = ()) -> list[Match]:
        """Return the `k` chunks with the highest BM25 score for any word, ties by chunk id."""
        k = bounded(k)
        terms = self._analyzer.query_terms(text)
        with self._current_words() as revision:
            allowed = self._allowed(filters, revision)
            return self._ranked(self._keyword.search(terms, k=k, allowed=allowed), k)

    def word_counts(self, words: Sequence[str]) -> list[int]:
        """Return for each word the number of chunks that contain it, in any form."""
        terms = [list(self._analyzer.query_terms(word)) for word in words]
        with self._current_words():
            return [self._keyword.chunks_with(forms) for forms in terms]

    @contextmanager
    def _current_words(self) -> Iterator[int]:
        """Wait for a common state of SQLite and the keyword index; yield its revision."""
        deadline = time.monotonic() + WAIT_S
        while True:
            with self._snapshot() as revision:
                if self._keyword_is_current():
                    yield revision
                    return
            # A writer is between applying and publishing a change, or was killed there.
            if time.monotonic() > deadline and self._mend is not None:
                self._take(self._mend())
            time.sleep(0.002)

    def _keyword_is_current(self) -> bool:
        target = self._store.marker(self._store.chunks_at())
        if self._keyword.marker() == target:
            return True
        folder = self._directory / self._store.keyword_folder()
        try:
            if self._keyword.folder not in {None, folder}:
                self._take(KeywordLeg(folder, create=False))
            self._keyword.reload()
        except (RunError, ValueError, OSError):
            return False  # a writer is creating or replacing it
        return self._keyword.marker() == target

    def _take(self, keyword: KeywordLeg) -> None:
        self._latest.keyword.close()
        self._latest.keyword = keyword

    def lacking_vectors(self) -> int:
        """Return the number of chunks without a vector, in the space that lacks most."""
        with self._snapshot():
            return max(space.lacking for space in self._store.all_spaces())

    def _allowed(self, filters: Sequence[Filter], revision: int) -> Allowed | None:
        return self._store.allowed(filters, revision) if filters else None

    def _ranked(self, scored: Sequence[tuple[int, float]], k: int) -> list[Match]:
        ids = self._ids.of(self._store, [number for number, _ in scored])
        # Ties go by id, not by number: numbers depend on the order of ingestion.
        best = sorted([(-score, ids[number]) for number, score in scored])[:k]
        return [Match(chunk_id, -score) for score, chunk_id in best]

    def chunks(self, ids: Sequence[str]) -> list[Chunk]:
        """Return the chunks with these ids, in this order; missing ids are left out."""
        with self._snapshot() as revision:
            by_id = self._store.chunks(ids, revision)
        return [by_id[chunk_id] for chunk_id in ids if chunk_id in by_id]

    def document(self, document_id: str) -> Document | None:
        """Return the document with this id, or `None`."""
        with self._snapshot() as revision:
            return self._store.document(document_id, revision)

    def paths(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the paths of the existing documents among these, by id."""
        with self._snapshot() as revision:
            return self._store.paths(ids, revision)

    def entry(self, document_id: str) -> Entry | None:
        """Return the document with this id and its vectors, ready to be stored elsewhere."""
        with self._snapshot() as revision:
            return self._store.entry(document_id, revision)

    def documents(self) -> Iterator[DocumentSummary]:
        """Return the summaries of all documents, ordered by path."""
        with self._snapshot() as revision:
            return self._store.summaries(revision)

    def is_empty(self) -> bool:
        """Return whether the index has no document."""
        with self._snapshot() as revision:
            return self._store.is_empty(revision)

    def source(self, path: str) -> SourceRecord | None:
        """Return the record of this place, or `None`."""
        with self._snapshot() as revision:
            return self._store.source(path, revision)

    def sources(
        self, below: str = "/", *, after: str = "", most: int | None = None
    ) -> Iterator[SourceRecord]:
        """Return the records of a place, of all places in it and of its records, by path."""
        with self._snapshot() as revision:
            return self._store.sources(below, revision, after=after, most=most)

    def places(self, document_id: str) -> list[SourceRecord]:
        """Return the records of all places that hold this document, ordered by path."""
        with self._snapshot() as revision:
            return self._store.places(document_id, revision)

    def roots(self) -> list[str]:
        """Return the files and folders that the index shall hold, as the user named them."""
        with self._snapshot():
            return self._store.roots()

    def calibrations(self) -> dict[str, str]:
        """Return the stored calibrations, as JSON by strategy."""
        with self._snapshot():
            return self._store.calibrations()

    def revision(self) -> str:
        """Return the name of the index's state; every published change gives another one."""
        with self._snapshot() as revision:
            return self._store.marker(revision)

    def keys(self) -> Mapping[str, MetadataKey]:
        """Return the metadata keys that filters may use."""
        with self._snapshot() as revision:
            return keys_of(self._store, revision)

    def status(self) -> IndexStatus:
        """Return counts, sizes and identity."""
        with self._snapshot() as revision:
            return status(self._directory, self._store, revision)

    def findings(self) -> list[str]:
        """Return a line for each fault of the index; empty when it is sound."""
        with self._snapshot():
            return [
                *truth_findings(self._directory, self._store),
                *keyword_findings(self._directory, self._keyword, self._store),
                *graph_findings(self._directory, self._store),
            ]

    def close(self) -> None:
        """Release files and memory; a second call does nothing."""
        with self._busy:
            if not self._closed:
                for connection in (self._latest.store.connection, *self._spare):
                    connection.close()
                self._latest.keyword.close()
                self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
