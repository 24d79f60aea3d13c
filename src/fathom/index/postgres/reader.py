"""Reading an index on a server."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from psycopg import IsolationLevel

from fathom.errors import IndexMismatch
from fathom.index.base import (
    DocumentSummary,
    Entry,
    IndexStatus,
    Match,
    SourceRecord,
    Space,
    Vector,
    check_k,
)
from fathom.index.filters import Numbers
from fathom.index.identity import check_space, missing
from fathom.index.postgres.connections import Connections
from fathom.index.postgres.postings import Postings, Scored
from fathom.index.postgres.status import findings, status
from fathom.index.postgres.store import Store, StoredSpace, index_row
from fathom.index.rows import HalfMatrix
from fathom.text.analyzer import Analyzer
from fathom.types import Chunk, Document, Filter

# What a leg computes of vectors of 16 bits may err by this much against the exact cosine.
MARGIN = 6e-4
MOST = 1_000_000
"""Nobody reads more matches than this."""

Found = TypeVar("Found")


class PostgresReader:
    """Reads the index of a workspace; may be used by several threads at once.

    Each call sees one state of everything (REPEATABLE READ), the last that was committed.
    """

    def __init__(self, connections: Connections, number: int | None = None) -> None:
        """Take over connections that have entered the workspace.

        Args:
            connections: See above.
            number: Of an index that is being made there; by default it is the current one.
        """
        self._connections = connections
        self._number = number
        self._analyzer = Analyzer()

    @contextmanager
    def _snapshot(self) -> Iterator[Store]:
        with self._connections.taken() as connection:
            connection.isolation_level = IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            with connection.transaction():
                found = index_row(connection, self._number)
                if found is None:
                    raise missing(self._connections.address)
                yield Store(connection, found)

    def vector_search(
        self,
        vector: NDArray[np.float32],
        *,
        k: int,
        filters: Sequence[Filter] = (),
        space: Space | None = None,
    ) -> list[Match]:
        """See `IndexReader.vector_search`."""
        k = _checked(k)
        with self._snapshot() as store:
            stored = self._space(store, space)
            allowed = store.allowed(filters).chunks if filters else None
            if not stored.filled or (allowed is not None and not len(allowed)):
                return []
            if vector.shape != (stored.dimension,):
                raise IndexMismatch(
                    f"the query's vector has {vector.size} numbers, those of the index "
                    f"{stored.dimension}; use the embedder that made the index, or "
                    "`fathom ingest --rebuild PATH...`"
                )
            return _ranked(store, self._near(store, stored, vector, k, allowed), k)

    def _space(self, store: Store, space: Space | None) -> StoredSpace:
        if space is None:
            return store.space("") or StoredSpace(no=0, name="", dimension=0, filled=0)
        found = store.space(space.name)
        made_with = found.identity if found else None
        check_space(self._connections.address, space, made_with)
        return found or StoredSpace(no=0, name="", dimension=0, filled=0)

    def _near(
        self,
        store: Store,
        space: StoredSpace,
        vector: Vector,
        k: int,
        allowed: Numbers | None,
    ) -> Scored:
        """At least `k` chunks with their exact cosines, if there are, with all ties."""
        limit = k + k // 2 + 32
        while True:
            near = Postings(store).vector_search(vector, space, k=limit, allowed=allowed)
            numbers, vectors = store.vectors([number for number, _ in near], space)
            exact = _cosines(vectors, vector)
            complete = len(near) < limit
            if complete or (
                len(exact) > k and _largest(exact, k) > min(each[1] for each in near) + MARGIN
            ):
                return list(zip(numbers.tolist(), exact.tolist(), strict=True))
            limit *= 4

    def keyword_search(self, text: str, *, k: int, filters: Sequence[Filter] = ()) -> list[Match]:
        """See `IndexReader.keyword_search`."""
        k = _checked(k)
        terms = self._analyzer.query_terms(text)
        with self._snapshot() as store:
            allowed = store.allowed(filters).chunks if filters else None
            if not terms or (allowed is not None and not len(allowed)):
                return []
            limit = k + 16
            while True:
                found = Postings(store).keyword_search(terms, k=limit, allowed=allowed)
                ranked = _ranked(store, found, k)
                if len(ranked) >= k or len(found) < limit:
                    return ranked
                limit *= 4

    def lacking_vectors(self) -> int:
        """See `IndexReader.lacking_vectors`."""
        return self._read(lambda store: max(map(store.lacking, store.spaces()), default=0))

    def word_counts(self, words: Sequence[str]) -> list[int]:
        """See `IndexReader.word_counts`."""
        terms = [list(self._analyzer.query_terms(word)) for word in words]
        return self._read(lambda store: [Postings(store).chunks_with(each) for each in terms])

    def chunks(self, ids: Sequence[str]) -> list[Chunk]:
        """See `IndexReader.chunks`."""
        with self._snapshot() as store:
            found = store.chunks(ids)
        return [found[one] for one in ids if one in found]

    def document(self, document_id: str) -> Document | None:
        """See `IndexReader.document`."""
        return self._read(lambda store: store.document(document_id))

    def entry(self, document_id: str) -> Entry | None:
        """See `IndexReader.entry`."""
        return self._read(lambda store: store.entry(document_id))

    def documents(self) -> Iterator[DocumentSummary]:
        """See `IndexReader.documents`."""
        with self._snapshot() as store:
            yield from store.summaries()

    def is_empty(self) -> bool:
        """See `IndexReader.is_empty`."""
        query = "SELECT NOT EXISTS(SELECT FROM fathom.documents WHERE index_no = %s)"
        return bool(self._read(lambda store: store.value(query)))

    def source(self, path: str) -> SourceRecord | None:
        """See `IndexReader.source`."""
        return self._read(lambda store: store.source(path))

    def sources(self, below: str = "/") -> Iterator[SourceRecord]:
        """See `IndexReader.sources`."""
        with self._snapshot() as store:
            yield from store.sources(below)

    def places(self, document_id: str) -> list[SourceRecord]:
        """See `IndexReader.places`."""
        return self._read(lambda store: store.places(document_id))

    def roots(self) -> list[str]:
        """See `IndexReader.roots`."""
        return self._read(lambda store: store.roots())

    def calibrations(self) -> dict[str, str]:
        """See `IndexReader.calibrations`."""
        return self._read(lambda store: store.calibrations())

    def revision(self) -> str:
        """See `IndexReader.revision`."""
        return self._read(lambda store: store.index.name)

    def status(self) -> IndexStatus:
        """See `IndexReader.status`."""
        return self._read(status)

    def findings(self) -> list[str]:
        """What is wrong with the index, in words; empty when it is sound."""
        return self._read(lambda store: list(findings(store)))

    def _read(self, what: Callable[[Store], Found]) -> Found:
        with self._snapshot() as store:
            return what(store)

    def close(self) -> None:
        """See `IndexReader.close`."""
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _ranked(store: Store, found: Scored, k: int) -> list[Match]:
    """The `k` best of the chunks that are listed, ties by id."""
    ids = store.chunk_ids([number for number, _ in found])
    matches = [Match(ids[number], score) for number, score in found if number in ids]
    return sorted(matches, key=lambda match: (-match.score, match.chunk_id))[:k]


def _cosines(vectors: HalfMatrix, vector: Vector) -> NDArray[np.float64]:
    # Row by row: a matrix product may round a row differently in different company.
    products: NDArray[np.float64] = vectors.astype(np.float64) * vector.astype(np.float64)
    return np.asarray(products.sum(axis=1))


def _largest(values: NDArray[np.float64], k: int) -> float:
    """The `k`-th largest."""
    return float(np.partition(values, len(values) - k)[len(values) - k])


def _checked(k: int) -> int:
    check_k(k)
    return min(k, MOST)
