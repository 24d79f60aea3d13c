"""Reading an embedded index."""

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
"""So many connections wait for the next questions."""
TRIES = 50
MOST_IDS = 20_000
"""So many are remembered, about three megabytes."""


@dataclass(slots=True)
class _View:
    """Where rows, words and vectors are read."""

    store: Store
    keyword: KeywordLeg
    legs: dict[str, VectorLeg]


class _Ids:
    """Ids of chunks that were looked up, by number; the numbers of a lineage are given once."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}
        self._lineage = ""

    def of(self, store: Store, numbers: Sequence[int]) -> Mapping[int, str]:
        """The ids of these chunks, and maybe of others."""
        lineage = store.meta("lineage")
        if lineage != self._lineage or len(self._known) > MOST_IDS:
            self._known, self._lineage = {}, lineage
        lacking = [number for number in numbers if number not in self._known]
        if lacking:
            self._known |= store.chunk_ids(lacking)
        return self._known


class EmbeddedReader:
    """Reads the index in a directory; may be used by several threads, one at a time inside."""

    def __init__(
        self,
        directory: Path,
        store: Store,
        keyword: KeywordLeg,
        mend: Callable[[], KeywordLeg] | None = None,
    ) -> None:
        """Take over an open store and a keyword leg.

        Args:
            directory: Where the index lies.
            store: Its SQLite file, open.
            keyword: Its keyword leg.
            mend: Gives a keyword leg of the store's state, whatever it takes.
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
        """See `IndexReader.snapshot`: a read transaction of SQLite, and the words as they were."""
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
        """The last state, which stays as it is; `None` where it does so by itself."""
        for _ in range(TRIES):
            store = Store(self._another(), still=True)
            with self._damage_named():
                store.connection.execute("BEGIN")
                wanted = store.marker(store.chunks_at())
            with self._busy:
                if self._latest.keyword.marker() == wanted:
                    self._newest = _View(store, copy(self._latest.keyword), dict(self._latest.legs))
                    return self._newest
            self._spare_later(store.connection)
            with self._current_words():
                pass  # somebody published since the words were looked at
        return None  # another file is in the place of the one that is open, which nobody writes to

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
        """One state of SQLite for everything inside; gives the revision."""
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
        """See `IndexReader.vector_search`."""
        k = bounded(k)
        with self._snapshot() as revision:
            leg = self._leg(space, revision)
            allowed = self._allowed(filters, revision)
            found = leg.search(self._store, vector, k, allowed)
            return self._ranked(found, k)

    def _leg(self, space: Space | None, revision: int) -> VectorLeg:
        name = space.name if space else ""
        if space is None:
            stored = self._store.main_space()
        else:
            stored = check_made_with(self._directory, space, self._store.space(name))
        view = self._held.get() or self._latest
        leg = copy(
            view.legs.get(name) or VectorLeg(self._directory)
        )  # others may hold another state
        leg.refresh(view.store, revision, stored)
        view.legs[name] = leg
        if view is self._newest:
            self._latest.legs[name] = leg  # later questions begin with it
        return leg

    def keyword_search(self, text: str, *, k: int, filters: Sequence[Filter] = ()) -> list[Match]:
        """See `IndexReader.keyword_search`."""
        k = bounded(k)
        terms = self._analyzer.query_terms(text)
        with self._current_words() as revision:
            allowed = self._allowed(filters, revision)
            return self._ranked(self._keyword.search(terms, k=k, allowed=allowed), k)

    def word_counts(self, words: Sequence[str]) -> list[int]:
        """See `IndexReader.word_counts`."""
        terms = [list(self._analyzer.query_terms(word)) for word in words]
        with self._current_words():
            return [self._keyword.chunks_with(each) for each in terms]

    @contextmanager
    def _current_words(self) -> Iterator[int]:
        """One state of SQLite and of the keyword leg; gives the revision."""
        deadline = time.monotonic() + WAIT_S
        while True:
            with self._snapshot() as revision:
                if self._keyword_is_current():
                    yield revision
                    return
            # A writer stands between applying and publishing, or died there.
            if time.monotonic() > deadline and self._mend is not None:
                self._take(self._mend())
            time.sleep(0.002)

    def _keyword_is_current(self) -> bool:
        wanted = self._store.marker(self._store.chunks_at())
        if self._keyword.marker() == wanted:
            return True
        folder = self._directory / self._store.keyword_folder()
        try:
            if self._keyword.folder not in {None, folder}:
                self._take(KeywordLeg(folder, create=False))
            self._keyword.reload()
        except (RunError, ValueError, OSError):
            return False  # being made, or being replaced
        return self._keyword.marker() == wanted

    def _take(self, keyword: KeywordLeg) -> None:
        self._latest.keyword.close()
        self._latest.keyword = keyword

    def lacking_vectors(self) -> int:
        """See `IndexReader.lacking_vectors`."""
        with self._snapshot():
            return max(space.lacking for space in self._store.all_spaces())

    def _allowed(self, filters: Sequence[Filter], revision: int) -> Allowed | None:
        return self._store.allowed(filters, revision) if filters else None

    def _ranked(self, found: Sequence[tuple[int, float]], k: int) -> list[Match]:
        ids = self._ids.of(self._store, [number for number, _ in found])
        best = sorted([(-score, ids[number]) for number, score in found])[:k]
        return [Match(chunk_id, -score) for score, chunk_id in best]

    def chunks(self, ids: Sequence[str]) -> list[Chunk]:
        """See `IndexReader.chunks`."""
        with self._snapshot() as revision:
            found = self._store.chunks(ids, revision)
        return [found[one] for one in ids if one in found]

    def document(self, document_id: str) -> Document | None:
        """See `IndexReader.document`."""
        with self._snapshot() as revision:
            return self._store.document(document_id, revision)

    def paths(self, ids: Sequence[str]) -> dict[str, str]:
        """See `IndexReader.paths`."""
        with self._snapshot() as revision:
            return self._store.paths(ids, revision)

    def entry(self, document_id: str) -> Entry | None:
        """See `IndexReader.entry`."""
        with self._snapshot() as revision:
            return self._store.entry(document_id, revision)

    def documents(self) -> Iterator[DocumentSummary]:
        """See `IndexReader.documents`."""
        with self._snapshot() as revision:
            return self._store.summaries(revision)

    def is_empty(self) -> bool:
        """See `IndexReader.is_empty`."""
        with self._snapshot() as revision:
            return self._store.is_empty(revision)

    def source(self, path: str) -> SourceRecord | None:
        """See `IndexReader.source`."""
        with self._snapshot() as revision:
            return self._store.source(path, revision)

    def sources(
        self, below: str = "/", *, after: str = "", most: int | None = None
    ) -> Iterator[SourceRecord]:
        """See `IndexReader.sources`."""
        with self._snapshot() as revision:
            return self._store.sources(below, revision, after=after, most=most)

    def places(self, document_id: str) -> list[SourceRecord]:
        """See `IndexReader.places`."""
        with self._snapshot() as revision:
            return self._store.places(document_id, revision)

    def roots(self) -> list[str]:
        """See `IndexReader.roots`."""
        with self._snapshot():
            return self._store.roots()

    def calibrations(self) -> dict[str, str]:
        """See `IndexReader.calibrations`."""
        with self._snapshot():
            return self._store.calibrations()

    def revision(self) -> str:
        """See `IndexReader.revision`."""
        with self._snapshot() as revision:
            return self._store.marker(revision)

    def keys(self) -> Mapping[str, MetadataKey]:
        """See `IndexReader.keys`."""
        with self._snapshot() as revision:
            return keys_of(self._store, revision)

    def status(self) -> IndexStatus:
        """See `IndexReader.status`."""
        with self._snapshot() as revision:
            return status(self._directory, self._store, revision)

    def findings(self) -> list[str]:
        """What is wrong with the index, in words; empty when it is sound."""
        with self._snapshot():
            return [
                *truth_findings(self._directory, self._store),
                *keyword_findings(self._directory, self._keyword, self._store),
                *graph_findings(self._directory, self._store),
            ]

    def close(self) -> None:
        """See `IndexReader.close`."""
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
