"""The reader of an index in SQL tables, whatever engine holds them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from fathom.index.base import (
    DocumentSummary,
    Entry,
    IndexReader,
    IndexStatus,
    Match,
    MetadataKey,
    SourceRecord,
    Space,
    limit_k,
)
from fathom.index.filters import SearchScope
from fathom.index.identity import check_space
from fathom.index.rights import ReaderList, ReadingRule
from fathom.index.sql_status import list_keys, read_status
from fathom.index.sql_store import SqlStore
from fathom.text.analyzer import Analyzer
from fathom.types import Chunk, Document, Filter

ScoredChunks = Sequence[tuple[int, float]]
"""Numbers of chunks with their scores."""
StoreT = TypeVar("StoreT", bound=SqlStore[Any])
ValueT = TypeVar("ValueT")


class ChunkIds:
    """A cache of chunk ids by number.

    The cache stays valid after changes, because within a lineage no number is used twice.
    """

    def __init__(self, most: int) -> None:
        """Create an empty cache, which starts anew when it would hold more than `most` ids."""
        self._most = most
        self._ids: dict[str, dict[int, str]] = {}

    def look_up(self, store: SqlStore[Any], numbers: Sequence[int]) -> dict[int, str]:
        """Return the ids of those chunks that exist, by number."""
        # A rebuilt index numbers its chunks anew, so ids of the old one would be wrong.
        lineage = store.lineage
        cache = self._ids.get(lineage, {})
        ids = {number: cache[number] for number in numbers if number in cache}
        fresh = store.look_up_ids([number for number in numbers if number not in ids])
        if lineage not in self._ids or len(cache) + len(fresh) > self._most:
            # A new mapping, because other threads may still fill the old one.
            cache = {}
            self._ids = {lineage: cache}
        cache.update(fresh)
        return ids | fresh


class SqlReader(IndexReader, ABC, Generic[StoreT]):
    """An `IndexReader` over a `SqlStore`; an engine adds its transactions and searches."""

    _is_limited = False
    """True if the reader shows only a viewer's documents, so that every search is restricted."""

    def __init__(self, place: object, most_ids: int) -> None:
        """Create the reader.

        Args:
            place: The folder or the address of the index, for messages.
            most_ids: The largest number of cached chunk ids.
        """
        self._place = place
        self._analyzer = Analyzer()
        self._ids = ChunkIds(most_ids)

    @abstractmethod
    def _open_store(self) -> AbstractContextManager[StoreT]:
        """Open a store that reads the snapshot's state; without a snapshot, the last published."""

    def _open_word_store(self) -> AbstractContextManager[StoreT]:
        """Open a store whose state the keyword index has too."""
        return self._open_store()

    @abstractmethod
    def _score_vectors(
        self,
        store: StoreT,
        vector: NDArray[np.float32],
        space: Any,  # noqa: ANN401 - the engine's own
        k: int,
        allowed: SearchScope | None,
    ) -> ScoredChunks:
        """Return at least the `k` chunks with the highest cosine, and all ties of the last.

        Args:
            store: The store to search.
            vector: A vector of unit length.
            space: The space to search, as the store lists it.
            k: The number of chunks, in [1, `MAX_K`].
            allowed: The chunks that may be returned; `None` for all.

        Returns:
            The numbers and cosines of the chunks, in any order; fewer than `k` if fewer match.

        Raises:
            IndexMismatch: If the vector has another dimension than the stored ones.
        """

    @abstractmethod
    def _score_words(
        self, store: StoreT, terms: Mapping[str, int], k: int, allowed: SearchScope | None
    ) -> ScoredChunks:
        """Return at least the `k` chunks with the highest BM25 score, and all ties of the last.

        Args:
            store: The store to search.
            terms: The number of times that the query has each term; not empty.
            k: The number of chunks, in [1, `MAX_K`].
            allowed: The chunks that may be returned; `None` for all.

        Returns:
            The numbers and scores of the chunks, in any order; fewer than `k` if fewer match.
        """

    @abstractmethod
    def _count_chunks_with(self, store: StoreT, forms: Sequence[str]) -> int:
        """Return the number of chunks that have any of these terms, exact below 1,000."""

    @abstractmethod
    def _measure_sizes(self, store: StoreT) -> Mapping[str, int]:
        """Return the sizes for `IndexStatus.bytes_on_disk`."""

    def _read(self, read: Callable[[StoreT], ValueT]) -> ValueT:
        """Open a store and return what a function reads from it."""
        with self._open_store() as store:
            return read(store)

    @abstractmethod
    def _stream(self, read: Callable[[StoreT], Iterable[ValueT]]) -> Iterator[ValueT]:
        """Return an iterator over what a function reads from the store."""

    @override
    def vector_search(
        self,
        vector: NDArray[np.float32],
        *,
        k: int,
        filters: Sequence[Filter] = (),
        space: Space | None = None,
    ) -> list[Match]:
        k = limit_k(k)
        with self._open_store() as store:
            stored = store.find_space(space.name if space else "")
            if space is not None:
                check_space(self._place, space, stored.identity if stored else None)
            allowed = self._choose_scope(store, filters)
            scored = self._score_vectors(store, vector, stored, k, allowed)
            return self._rank_chunks(store, scored, k)

    @override
    def keyword_search(self, text: str, *, k: int, filters: Sequence[Filter] = ()) -> list[Match]:
        k = limit_k(k)
        terms = self._analyzer.count_query_terms(text)
        with self._open_word_store() as store:
            allowed = self._choose_scope(store, filters)
            if not terms or (allowed is not None and not len(allowed.chunks)):
                return []
            return self._rank_chunks(store, self._score_words(store, terms, k, allowed), k)

    def _choose_scope(self, store: StoreT, filters: Sequence[Filter]) -> SearchScope | None:
        """Return the chunks and documents that a search may return; `None` for all."""
        return store.apply_filters(filters) if filters or self._is_limited else None

    def _rank_chunks(self, store: StoreT, scored: ScoredChunks, k: int) -> list[Match]:
        """Return the `k` best chunks as matches, ties by id."""
        ids = self._ids.look_up(store, [number for number, _ in scored])
        # Ties go by id, not by number: numbers depend on the order of ingestion.
        best = sorted((-score, ids[number]) for number, score in scored if number in ids)[:k]
        return [Match(chunk_id, -score) for score, chunk_id in best]

    @override
    def count_missing_vectors(self) -> int:
        return self._read(
            lambda store: max(map(store.count_unembedded, store.list_spaces()), default=0)
        )

    @override
    def select_unembedded(self, ids: Sequence[str], *, space: Space | None = None) -> list[str]:
        with self._open_store() as store:
            stored = store.find_space(space.name if space else "")
            # A viewer's store would count all chunks to know the number.
            if stored is None or not (store.is_limited or store.count_unembedded(stored)):
                return []
            numbers = store.look_up_numbers(ids)
            embedded: set[int] = set()
            if stored.dimension:  # it is 0 until the first vector is stored
                embedded.update(store.read_vectors([*numbers.values()], stored)[0].tolist())
            return [
                chunk_id
                for chunk_id in ids
                if chunk_id in numbers and numbers[chunk_id] not in embedded
            ]

    @override
    def count_chunks_per_word(self, words: Sequence[str]) -> list[int]:
        terms = [list(self._analyzer.count_query_terms(word)) for word in words]
        with self._open_word_store() as store:
            return [self._count_chunks_with(store, forms) for forms in terms]

    @override
    def chunks(self, ids: Sequence[str]) -> list[Chunk]:
        by_id = self._read(lambda store: store.read_chunks(ids))
        return [by_id[chunk_id] for chunk_id in ids if chunk_id in by_id]

    @override
    def get_document(self, document_id: str) -> Document | None:
        return self._read(lambda store: store.read_document(document_id))

    @override
    def get_paths(self, ids: Sequence[str]) -> dict[str, str]:
        return self._read(lambda store: store.read_paths(ids))

    @override
    def get_entry(self, document_id: str) -> Entry | None:
        return self._read(lambda store: store.read_entry(document_id))

    @override
    def list_documents(self) -> Iterator[DocumentSummary]:
        return self._stream(lambda store: store.list_summaries())

    @override
    def is_empty(self) -> bool:
        return self._read(lambda store: store.is_empty())

    @override
    def get_source(self, path: str) -> SourceRecord | None:
        return self._read(lambda store: store.read_source(path))

    @override
    def list_sources(
        self, below: str = "/", *, after: str = "", most: int | None = None
    ) -> Iterator[SourceRecord]:
        return self._stream(lambda store: store.list_sources(below, after=after, most=most))

    @override
    def list_places(self, document_id: str) -> list[SourceRecord]:
        return self._read(lambda store: store.list_places(document_id))

    @override
    def get_roots(self) -> list[str]:
        return self._read(lambda store: store.read_roots())

    @override
    def get_rights(self) -> Sequence[ReadingRule]:
        return self._read(lambda store: store.read_rights())

    @override
    def get_reader_names(self) -> frozenset[str] | None:
        return self._read(lambda store: store.read_reader_names())

    @override
    def list_limits(self, ids: Sequence[str]) -> Mapping[str, Sequence[ReaderList]] | None:
        return self._read(lambda store: store.read_limits(ids))

    @override
    def get_calibrations(self) -> dict[str, str]:
        return self._read(lambda store: store.read_calibrations())

    @override
    def get_revision(self) -> str:
        return self._read(lambda store: store.state)

    @override
    def list_keys(self) -> Mapping[str, MetadataKey]:
        return self._read(list_keys)

    @override
    def status(self) -> IndexStatus:
        return self._read(lambda store: read_status(store, self._measure_sizes(store)))

    @override
    def __enter__(self) -> Self:
        return self

    @override
    def __exit__(self, *error: object) -> None:
        self.close()
