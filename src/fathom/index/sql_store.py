"""The queries that read one index from SQL tables, always inside one transaction."""

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from fathom.index.base import DocumentSummary, Entry, SourceRecord
from fathom.index.filters import Dialect, Numbers, SearchScope, compile_filters
from fathom.index.rights import METADATA_KEY, ReaderList, ReadingRule, Rights
from fathom.index.rows import HalfMatrix, StoredRow, build_chunk, build_document
from fathom.types import Chunk, Document, Filter

_SOURCE_COLUMNS = "path, digest, outcome, reason, document_id"


class StoredSpace(Protocol):
    """A space of vectors, which are stored in a table of their own."""

    @property
    def name(self) -> str:
        """The name; empty for the space that every index has."""
        ...

    @property
    def dimension(self) -> int:
        """The vectors' dimension; 0 before the first vector."""
        ...

    @property
    def identity(self) -> Mapping[str, str]:
        """The identity of the embedder; empty for the space that every index has."""
        ...

    @property
    def table(self) -> str:
        """The name of the table with the vectors."""
        ...


SpaceT = TypeVar("SpaceT", bound=StoredSpace)


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A stored document with its chunks.

    Attributes:
        no: The number of the document's row.
        digest: The digest, as in `Entry`.
        document: The document.
        chunks: The number and the content of each chunk, in order.
    """

    no: int
    digest: str
    document: Document
    chunks: Sequence[tuple[int, Chunk]]


class SqlStore(ABC, Generic[SpaceT]):
    """A reader of the rows of one index.

    An engine adds its connection, and the columns in which its tables differ.
    """

    dialect: ClassVar[Dialect]
    scope: ClassVar[str]
    """The condition that a row belongs to the index; it binds `scope_value`."""
    document_tables: ClassVar[str]
    """The tables, joined, that have the columns of `document_columns`."""
    document_columns: ClassVar[str]
    """The columns that `build_document` reads, and the digest."""
    own_chunks: ClassVar[str]
    """The condition that a row of `chunks` belongs to the row of `documents`."""
    is_limited = False
    """True if only the documents that a viewer may read are visible."""

    @property
    @abstractmethod
    def scope_value(self) -> int:
        """The value that `scope` binds."""

    @property
    @abstractmethod
    def lineage(self) -> str:
        """The name of this index, which no other index has; a rebuilt index gets a new one."""

    @property
    @abstractmethod
    def revision(self) -> int:
        """The number of the state, which grows with every published change."""

    @property
    def state(self) -> str:
        """The name of the state, which no other state of any index has."""
        return f"{self.lineage}.{self.revision}"

    @abstractmethod
    def select_rows(self, query: str, *values: object) -> Sequence[StoredRow]:
        """Run a query and return its rows.

        Args:
            query: A statement with `?` for values; the first `?` is the one of `scope`.
            values: The values for the other marks; `scope_value` is bound to the first.
        """

    def stream_rows(self, query: str, *values: object) -> Iterable[StoredRow]:
        """Run a query and yield its rows, in less memory than `select_rows` if the engine can."""
        return self.select_rows(query, *values)

    @abstractmethod
    def select_column(self, query: str, *values: object) -> list[Any]:
        """Run a query, as `select_rows` does, and return the first column of its rows."""

    def select_value(self, query: str, *values: object) -> Any:  # noqa: ANN401 - columns have many types
        """Run a query and return the first value of its first row; `None` without rows."""
        return next(iter(self.select_column(query, *values)), None)

    @abstractmethod
    def read_identity(self) -> Mapping[str, str]:
        """Return the identity of the index."""

    @abstractmethod
    def read_roots(self) -> list[str]:
        """Return the files and folders that the index shall hold, as the user named them."""

    def read_rights(self) -> Sequence[ReadingRule]:
        """Return the rules that say who may read which places; none if the engine has no rights."""
        return ()

    def read_reader_names(self) -> frozenset[str] | None:
        """Return the names of all readers; `None` if there are no rules."""
        return None

    def read_limits(self, ids: Sequence[str]) -> dict[str, Sequence[ReaderList]] | None:
        """Return the lists of readers that limit the existing documents among these, by id.

        Returns:
            The lists; `None` without rules, and for a store that is limited to a viewer.
        """
        rules = () if self.is_limited else self.read_rights()
        if not rules:
            return None
        places: dict[str, list[str]] = {}
        for row in self.select_rows(
            f"SELECT path, document_id FROM sources WHERE {self.scope} "  # noqa: S608 - constants
            f"AND {self.dialect.match_any('document_id')} ORDER BY path",
            self.dialect.bind_any(ids),
        ):
            places.setdefault(row["document_id"], []).append(row["path"])
        documents = self.select_rows(
            f"SELECT id, metadata FROM documents WHERE {self.scope} "  # noqa: S608 - constants
            f"AND {self.dialect.match_any('id')}",
            self.dialect.bind_any(ids),
        )
        rights = Rights(rules)
        return {
            row["id"]: rights.list_document_limits(
                places.get(row["id"], ()), json.loads(row["metadata"])
            )
            for row in documents
        }

    @abstractmethod
    def read_calibrations(self) -> dict[str, str]:
        """Return the stored calibrations, as JSON by strategy."""

    @abstractmethod
    def list_spaces(self) -> Sequence[SpaceT]:
        """Return the space that every index has, then the further ones in the order of creation."""

    @abstractmethod
    def count_unembedded(self, space: SpaceT) -> int:
        """Return the number of chunks that have no vector in a space."""

    @abstractmethod
    def read_vectors(self, numbers: Sequence[int], space: SpaceT) -> tuple[Numbers, HalfMatrix]:
        """Return the vectors of those chunks that have one in a space.

        Returns:
            The numbers of these chunks, ascending, and their vectors, (n, dimension) float16.
        """

    @abstractmethod
    def read_chunks(self, ids: Sequence[str]) -> dict[str, Chunk]:
        """Return the existing chunks among these, by id."""

    def find_space(self, name: str) -> SpaceT | None:
        """Return the space of this name, or `None`; `""` is the one that every index has."""
        return next((space for space in self.list_spaces() if space.name == name), None)

    def require_space(self, name: str) -> SpaceT:
        """Return the space of this name.

        Raises:
            ValueError: If the index has no such space.
        """
        space = self.find_space(name)
        if space is None:
            raise ValueError(f"{name!r} is no space of the index; lay it out first")
        return space

    def count_chunks(self) -> int:
        """Return the number of chunks."""
        return int(self.select_value(f"SELECT count(*) FROM chunks WHERE {self.scope}"))  # noqa: S608 - constant

    def list_unembedded_ids(self, space: SpaceT, most: int, after: str) -> list[str]:
        """Return the ids of the first chunks that have no vector in a space, by number.

        Args:
            space: The space.
            most: The largest number of ids.
            after: Only chunks after the chunk with this id; all if there is no such chunk.
        """
        return self.select_column(
            f"SELECT id FROM chunks WHERE {self.scope} AND no > coalesce("  # noqa: S608 - constants and a number
            f"(SELECT no FROM chunks WHERE {self.scope} AND id = ?), 0) AND NOT EXISTS("
            f"SELECT 1 FROM {space.table} WHERE chunk_no = no) ORDER BY no LIMIT ?",
            *(self.scope_value, after, most),
        )

    def look_up_numbers(self, ids: Iterable[str]) -> dict[str, int]:
        """Return the numbers of those chunks that exist, by id."""
        rows = self.select_rows(
            f"SELECT id, no FROM chunks WHERE {self.scope} AND {self.dialect.match_any('id')}",  # noqa: S608 - constants
            self.dialect.bind_any(list(ids)),
        )
        return {row["id"]: row["no"] for row in rows}

    def look_up_ids(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the ids of those chunks that exist, by number."""
        if not numbers:
            return {}
        rows = self.select_rows(
            f"SELECT no, id FROM chunks WHERE {self.scope} AND {self.dialect.match_any('no')}",  # noqa: S608 - constants
            self.dialect.bind_any(numbers),
        )
        return {row["no"]: row["id"] for row in rows}

    def apply_filters(self, filters: Sequence[Filter]) -> SearchScope:
        """Return the visible chunks and documents that pass all filters.

        Raises:
            UsageError: If a filter is malformed.
        """
        condition, values = compile_filters(filters, self.dialect)
        if self.is_limited and any(filter_.key == METADATA_KEY for filter_ in filters):
            condition, values = "FALSE", []  # a viewer could try out the names of other readers
        documents = self.select_column(
            f"SELECT no FROM documents WHERE {self.scope} AND {condition} ORDER BY no",  # noqa: S608 - holds no value
            *values,
        )
        chunks = self.select_column(
            f"SELECT no FROM chunks WHERE {self.scope} "  # noqa: S608 - constants
            f"AND {self.dialect.match_any('document_no')} ORDER BY no",
            self.dialect.bind_any(documents),
        )
        return SearchScope(np.array(chunks, dtype=np.int64), np.array(documents, dtype=np.int64))

    def read_document(self, document_id: str) -> Document | None:
        """Return the document with this id, or `None`."""
        rows = self.select_rows(
            f"SELECT {self.document_columns} FROM {self.document_tables} "  # noqa: S608 - constants
            f"WHERE {self.scope} AND id = ?",
            document_id,
        )
        return self._build_document(rows[0]) if rows else None

    def _build_document(self, row: StoredRow) -> Document:
        """Build a document; for a viewer, without its readers in the metadata."""
        document = build_document(row)
        if not self.is_limited or METADATA_KEY not in document.metadata:
            return document
        metadata = {k: value for k, value in document.metadata.items() if k != METADATA_KEY}
        return replace(document, metadata=metadata)

    def read_paths(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the paths of the existing documents among these, by id."""
        rows = self.select_rows(
            f"SELECT id, path FROM documents WHERE {self.scope} "  # noqa: S608 - constants
            f"AND {self.dialect.match_any('id')}",
            self.dialect.bind_any(ids),
        )
        return {row["id"]: row["path"] for row in rows}

    def read_contents(self, ids: Sequence[str]) -> list[StoredDocument]:
        """Return the existing documents among these with their chunks, ordered by number.

        Raises:
            DamagedRowError: If a document differs from the one that was stored.
        """
        rows = self.select_rows(
            f"SELECT {self.document_columns} FROM {self.document_tables} "  # noqa: S608 - constants
            f"WHERE {self.scope} AND {self.dialect.match_any('id')} ORDER BY no",
            self.dialect.bind_any(ids),
        )
        documents = {row["no"]: self._build_document(row) for row in rows}
        chunks: dict[int, list[tuple[int, Chunk]]] = {number: [] for number in documents}
        for row in self.select_rows(
            "SELECT chunks.*, documents.id AS document_id, title, path, metadata FROM chunks "  # noqa: S608 - constants
            f"JOIN documents ON {self.own_chunks} WHERE chunks.{self.scope} "
            f"AND {self.dialect.match_any('document_no')} ORDER BY document_no, ordinal",
            self.dialect.bind_any(list(documents)),
        ):
            document = documents[row["document_no"]]
            chunk = build_chunk(row, document.text, document.blocks)
            chunks[row["document_no"]].append((row["no"], chunk))
        return [
            StoredDocument(row["no"], row["digest"], documents[row["no"]], chunks[row["no"]])
            for row in rows
        ]

    def read_entry(self, document_id: str) -> Entry | None:
        """Return the document with this id, with its chunks and their vectors, or `None`."""
        contents = self.read_contents([document_id])
        if not contents:
            return None
        [stored] = contents
        numbers = [number for number, _ in stored.chunks]
        matrices = {
            space.name: self.read_vectors(numbers, space)[1].astype(np.float32)
            for space in self.list_spaces()
            if space.dimension
        }
        # A space whose vectors are still being filled is left out.
        complete = {
            name: matrix for name, matrix in matrices.items() if len(matrix) == len(numbers)
        }
        return Entry(
            document=stored.document,
            chunks=tuple(chunk for _, chunk in stored.chunks),
            vectors=complete.pop("", None),
            digest=stored.digest,
            more=complete,
        )

    def list_summaries(self) -> Iterator[DocumentSummary]:
        """Return the summaries of all documents, ordered by path."""
        rows = self.stream_rows(
            "SELECT id, path, title, language, updated, "  # noqa: S608 - constants
            f"(SELECT count(*) FROM chunks WHERE {self.own_chunks}) AS chunks "
            f"FROM documents WHERE {self.scope} ORDER BY path, id"
        )
        return (DocumentSummary(**row) for row in rows)

    def is_empty(self) -> bool:
        """Return whether the index has no document."""
        query = f"SELECT NOT EXISTS(SELECT 1 FROM documents WHERE {self.scope})"  # noqa: S608 - constant
        return bool(self.select_value(query))

    def read_source(self, path: str) -> SourceRecord | None:
        """Return the record of a place, or `None`."""
        rows = self.select_rows(
            f"SELECT {_SOURCE_COLUMNS} FROM sources WHERE {self.scope} AND path = ?",  # noqa: S608 - constants
            path,
        )
        return SourceRecord(**rows[0]) if rows else None

    def list_sources(
        self, below: str, *, after: str = "", most: int | None = None
    ) -> Iterator[SourceRecord]:
        """Return the records of a place and of all places in it, as `IndexReader` does."""
        base = below.rstrip("/")
        select = f"SELECT {_SOURCE_COLUMNS} FROM sources WHERE {self.scope} AND path > ?"  # noqa: S608 - constants
        limit = sys.maxsize if most is None else most
        if not base:  # all places, also those that are no paths but addresses
            rows = self.stream_rows(f"{select} ORDER BY path LIMIT ?", after, limit)
            return (SourceRecord(**row) for row in rows)
        # "0" is the character after "/", so one range of the index over the paths holds all
        # matches. The test by `substr` cannot use an index, so the engine takes the range.
        rows = self.stream_rows(
            f"{select} AND path >= ? AND path < ? AND substr(path, ?, 1) IN ('', '/', '#') "
            "ORDER BY path LIMIT ?",
            *(after, base, f"{base}0", len(base) + 1),
            limit,
        )
        return (SourceRecord(**row) for row in rows)

    def list_places(self, document_id: str) -> list[SourceRecord]:
        """Return the records of all places that hold this document, ordered by path."""
        rows = self.select_rows(
            f"SELECT {_SOURCE_COLUMNS} FROM sources WHERE {self.scope} "  # noqa: S608 - constants
            "AND document_id = ? ORDER BY path",
            document_id,
        )
        return [SourceRecord(**row) for row in rows]
