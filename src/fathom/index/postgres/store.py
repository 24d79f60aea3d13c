"""The queries that read one index, always inside one transaction."""

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from psycopg.rows import DictRow, dict_row, scalar_row

from fathom.index.base import DocumentSummary, Entry, SourceRecord
from fathom.index.bm25 import Statistics
from fathom.index.filters import Numbers, SearchScope, compile_filters
from fathom.index.postgres.connections import Connection
from fathom.index.postgres.dialect import PostgresDialect
from fathom.index.postgres.halfvec import unpack_vectors
from fathom.index.postgres.schema import IN_WORKSPACE
from fathom.index.rows import HalfMatrix, Structure, build_chunk, build_document
from fathom.text.analyzer import Analyzer
from fathom.types import Chunk, Document, Filter

STREAM_ROWS = 1_000
_ANALYZER = Analyzer()
_DOCUMENT = (
    "no, id, path, title, language, metadata, convert_from(text, 'UTF8') AS text, blocks, checksum"
)
_SOURCE = "path, digest, outcome, reason, document_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """The row of an index in the table `indexes`."""

    no: int
    workspace_no: int
    is_current: bool
    lineage: str
    identity: Mapping[str, str]
    roots: str
    replaces: str
    revision: int
    chunks_at: int
    next_document: int
    next_chunk: int
    next_segment: int
    chunks: int
    terms: int

    @property
    def name(self) -> str:
        """The name of the index's state."""
        return f"{self.lineage}.{self.revision}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceTable:
    """A space of vectors, which lie in a table of their own.

    Attributes:
        dimension: The vectors' dimension; 0 before the first vector.
        filled: The number of vectors.
    """

    no: int
    name: str
    dimension: int
    filled: int
    identity: Mapping[str, str] = field(default_factory=dict)

    @property
    def table(self) -> str:
        """The name of the table with the vectors."""
        return f"fathom.vectors_{self.no}"


def read_index_row(
    connection: Connection, number: int | None = None, *, lock: bool = False
) -> IndexRow | None:
    """Return the row of an index, by default of the current one of the workspace.

    Args:
        connection: A connection that has entered a workspace.
        number: The number of an index in it.
        lock: Whether others must not change the index until the transaction ends.
    """
    # A merge of segments locks FOR KEY SHARE, which this lock does not block.
    query = f"{build_index_query(number)}{' FOR NO KEY UPDATE' if lock else ''}"
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(query).fetchone()
    return IndexRow(**row) if row else None


def build_index_query(number: int | None = None) -> str:
    """Return the query for the columns of `IndexRow`."""
    condition = "is_current" if number is None else f"no = {number:d}"
    # Row-level security does not bind a superuser, so the workspace stands in the query; all
    # other queries use the index's number.
    return f"SELECT * FROM fathom.indexes WHERE {condition} AND {IN_WORKSPACE}"  # noqa: S608 - a number


class PostgresStore:
    """A reader of the rows of one index."""

    def __init__(self, connection: Connection, index: IndexRow, *, fixed: bool = False) -> None:
        """Take over a connection in a transaction.

        Args:
            connection: The connection.
            index: The row of the index, as the transaction sees it.
            fixed: Whether the transaction sees one state, whatever others commit.
        """
        self.connection = connection
        self.index = index
        self.analyzer = _ANALYZER
        self._fixed = fixed
        self._spaces: list[SpaceTable] | None = None

    def select_rows(self, query: str, *values: object) -> list[DictRow]:
        """Return the rows of a statement, whose first value is the index's number."""
        with self.connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(query, (self.index.no, *values)).fetchall()

    def select_column(self, query: str, *values: object) -> list[Any]:
        """Return the first column of the rows that `select_rows` returns."""
        with self.connection.cursor(row_factory=scalar_row) as cursor:
            return cursor.execute(query, (self.index.no, *values)).fetchall()

    def run(self, statement: str, **values: object) -> Any:  # noqa: ANN401 - columns have many types
        """Run a statement and return the first value of its first row, if it has rows.

        The statement may use `%(index)s` and `%(workspace)s`, the numbers of the index and of its
        workspace.
        """
        numbers = {"index": self.index.no, "workspace": self.index.workspace_no}
        cursor = self.connection.execute(statement, {**numbers, **values})
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None

    def publish(self, *, chunks: bool) -> None:
        """Begin a revision, which tells readers that there is a new state.

        Args:
            chunks: Whether searches may return something else, so that their caches become void.
        """
        self.run(
            "UPDATE fathom.indexes SET revision = revision + 1, chunks_at = CASE WHEN %(chunks)s "
            "THEN revision + 1 ELSE chunks_at END WHERE no = %(index)s",
            chunks=chunks,
        )

    def insert(self, into: str, rows: Sequence[Sequence[object]]) -> None:
        """Insert rows; `into` names the table and its columns."""
        if rows:
            marks = ", ".join(["%s"] * len(rows[0]))
            with self.connection.cursor() as cursor:
                cursor.executemany(f"INSERT INTO fathom.{into} VALUES ({marks})", rows)  # noqa: S608 - constants and numbers

    def select_value(self, query: str, *values: object) -> Any:  # noqa: ANN401 - columns have many types
        """Return the first value of the column that `select_column` returns."""
        return next(iter(self.select_column(query, *values)), None)

    def _stream_rows(self, query: str, *values: object) -> Iterator[DictRow]:
        """Yield the rows of a statement from a cursor on the server."""
        name = f"streamed_{secrets.token_hex(8)}"  # one transaction may stream several
        with self.connection.cursor(name, row_factory=dict_row) as cursor:
            cursor.itersize = STREAM_ROWS
            cursor.execute(query, (self.index.no, *values))
            yield from cursor

    def list_spaces(self) -> list[SpaceTable]:
        """Return the space that every index has, then the further ones in the order of creation."""
        if self._spaces is not None:
            return self._spaces
        rows = self.select_rows(
            "SELECT no, name, dimension, filled, identity FROM fathom.spaces WHERE index_no = %s "
            "ORDER BY name <> '', no"
        )
        stored = [SpaceTable(**row) for row in rows]
        self._spaces = stored if self._fixed else None
        return stored

    def find_space(self, name: str) -> SpaceTable | None:
        """Return the space of this name; `""` is the one that every index has."""
        return next((space for space in self.list_spaces() if space.name == name), None)

    def has_other_backend(self) -> bool:
        """Return whether another engine than PostgreSQL searches the chunks."""
        if self.run("SELECT to_regclass('fathom.legs')") is None:
            return False  # these tables are older than other backends
        return bool(self.select_value("SELECT true FROM fathom.legs WHERE index_no = %s LIMIT 1"))

    def count_unembedded(self, space: SpaceTable) -> int:
        """Return the number of chunks that have no vector in a space."""
        return self.index.chunks - space.filled

    def list_unembedded_ids(self, space: SpaceTable, most: int, after: str) -> list[str]:
        """Return ids of chunks without a vector in a space, at most so many after one of them."""
        return self.select_column(
            "SELECT id FROM fathom.chunks WHERE index_no = %s AND no > coalesce((SELECT no FROM "  # noqa: S608 - a number makes the name
            f"fathom.chunks WHERE index_no = {self.index.no:d} AND id = %s), 0) AND NOT EXISTS("
            f"SELECT FROM {space.table} WHERE chunk_no = no) ORDER BY no LIMIT %s",
            after,
            most,
        )

    def look_up_numbers(self, ids: Iterable[str]) -> dict[str, int]:
        """Return the numbers of chunks by id."""
        rows = self.select_rows(
            "SELECT id, no FROM fathom.chunks WHERE index_no = %s AND id = ANY(%s)", list(ids)
        )
        return {row["id"]: row["no"] for row in rows}

    def look_up_ids(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the ids of those chunks that exist, by number."""
        if not numbers:
            return {}
        rows = self.select_rows(
            "SELECT no, id FROM fathom.chunks WHERE index_no = %s AND no = ANY(%s)", list(numbers)
        )
        return {row["no"]: row["id"] for row in rows}

    def read_vectors(self, numbers: Sequence[int], space: SpaceTable) -> tuple[Numbers, HalfMatrix]:
        """Return the ascending numbers of those chunks that have a vector, and their vectors."""
        rows = self.connection.execute(
            f"SELECT chunk_no, vector FROM {space.table} WHERE chunk_no = ANY(%s) "  # noqa: S608 - a number makes the name
            "ORDER BY chunk_no",
            (list(numbers),),
            binary=True,
        ).fetchall()
        stored = np.fromiter((row[0] for row in rows), dtype=np.int64)
        return stored, unpack_vectors([row[1] for row in rows], space.dimension)

    def read_statistics(self, terms: Iterable[str]) -> Statistics:
        """Return the numbers that BM25 needs for these terms."""
        rows = self.select_rows(
            "SELECT term, chunks FROM fathom.terms WHERE index_no = %s AND term = ANY(%s)",
            list(terms),
        )
        frequencies = {row["term"]: row["chunks"] for row in rows}
        return Statistics(self.index.chunks, self.index.terms, frequencies)

    def apply_filters(self, filters: Sequence[Filter]) -> SearchScope:
        """Return the chunks and documents that pass the filters.

        Raises:
            UsageError: If a filter is malformed.
        """
        condition, values = compile_filters(filters, PostgresDialect())
        documents = self.select_column(
            f"SELECT no FROM fathom.documents WHERE index_no = %s AND {condition} ORDER BY no",  # noqa: S608 - holds no value
            *values,
        )
        chunks = self.select_column(
            "SELECT no FROM fathom.chunks WHERE index_no = %s AND document_no = ANY(%s) "
            "ORDER BY no",
            documents,
        )
        return SearchScope(np.array(chunks, dtype=np.int64), np.array(documents, dtype=np.int64))

    def read_chunks(self, ids: Sequence[str]) -> dict[str, Chunk]:
        """Return the chunks with these ids, by id."""
        rows = self.select_rows(
            "SELECT chunks.*, documents.id AS document_id, title, path, "
            # The text of a document is sent once, with the first of its chunks.
            "CASE WHEN row_number() OVER own = 1 THEN convert_from(text, 'UTF8') END AS text, "
            "CASE WHEN row_number() OVER own = 1 THEN blocks END AS blocks FROM fathom.chunks "
            "JOIN fathom.documents ON documents.index_no = chunks.index_no AND documents.no = "
            "document_no WHERE chunks.index_no = %s AND chunks.id = ANY(%s) "
            "WINDOW own AS (PARTITION BY document_no ORDER BY chunks.no) "
            "ORDER BY document_no, chunks.no",
            list(ids),
        )
        by_id: dict[str, Chunk] = {}
        for row in rows:
            if row["text"] is not None:
                content = row["text"], Structure(row["blocks"])
            by_id[row["id"]] = build_chunk(row, *content)
        return by_id

    def read_document(self, document_id: str) -> Document | None:
        """Return the document with this id."""
        rows = self.select_rows(
            f"SELECT {_DOCUMENT} FROM fathom.documents WHERE index_no = %s AND id = %s",  # noqa: S608 - constant
            document_id,
        )
        return build_document(rows[0]) if rows else None

    def read_paths(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the paths of those documents that exist, by id."""
        rows = self.select_rows(
            "SELECT id, path FROM fathom.documents WHERE index_no = %s AND id = ANY(%s)", list(ids)
        )
        return {row["id"]: row["path"] for row in rows}

    def read_contents(self, ids: Sequence[str]) -> list[tuple[DictRow, Document, list[Chunk]]]:
        """Return whole documents: their rows, the documents, and their chunks in order."""
        rows = self.select_rows(
            f"SELECT {_DOCUMENT}, digest FROM fathom.documents "  # noqa: S608 - constant
            "WHERE index_no = %s AND id = ANY(%s) ORDER BY no",
            list(ids),
        )
        documents = {row["no"]: build_document(row) for row in rows}
        chunks: dict[int, list[Chunk]] = {row["no"]: [] for row in rows}
        for row in self.select_rows(
            "SELECT * FROM fathom.chunks WHERE index_no = %s AND document_no = ANY(%s) "
            "ORDER BY document_no, ordinal",
            list(documents),
        ):
            document = documents[row["document_no"]]
            columns = {
                **row,
                "document_id": document.id,
                "title": document.title,
                "path": document.path,
            }
            chunks[row["document_no"]].append(build_chunk(columns, document.text, document.blocks))
        return [(row, documents[row["no"]], chunks[row["no"]]) for row in rows]

    def read_entry(self, document_id: str) -> Entry | None:
        """Return the document with this id, with its chunks and their vectors."""
        contents = self.read_contents([document_id])
        if not contents:
            return None
        [(row, document, chunks)] = contents
        by_id = self.look_up_numbers(chunk.id for chunk in chunks)
        numbers = [
            by_id[chunk.id] for chunk in chunks
        ]  # ascending, as chunks are numbered in order
        matrices = {
            space.name: self.read_vectors(numbers, space)[1].astype(np.float32)
            for space in self.list_spaces()
            if space.dimension
        }
        complete = {
            name: matrix for name, matrix in matrices.items() if len(matrix) == len(numbers)
        }
        return Entry(
            document=document,
            chunks=tuple(chunks),
            vectors=complete.pop("", None),
            digest=row["digest"],
            more=complete,
        )

    def iterate_summaries(self) -> Iterator[DocumentSummary]:
        """Yield summaries of all documents, ordered by path."""
        rows = self._stream_rows(
            "SELECT id, path, title, language, updated, (SELECT count(*) FROM fathom.chunks "
            "WHERE chunks.index_no = documents.index_no AND document_no = documents.no) AS chunks "
            "FROM fathom.documents WHERE index_no = %s ORDER BY path, id"
        )
        return (DocumentSummary(**row) for row in rows)

    def read_source(self, path: str) -> SourceRecord | None:
        """Return the record of a place."""
        rows = self.select_rows(
            f"SELECT {_SOURCE} FROM fathom.sources WHERE index_no = %s AND path = %s",  # noqa: S608 - constant
            path,
        )
        return SourceRecord(**rows[0]) if rows else None

    def iterate_sources(
        self, below: str, *, after: str = "", most: int | None = None
    ) -> Iterator[SourceRecord]:
        """Yield the records of a path, of the files inside it and of its lines, ordered by path."""
        base = below.rstrip("/")
        # "0" is the character after "/", and "$" the one after "#": they end the two ranges.
        rows = self._stream_rows(
            f"SELECT {_SOURCE} FROM fathom.sources WHERE index_no = %s AND path > %s "  # noqa: S608 - constant
            "AND path >= %s AND path < %s "
            "AND (path = %s OR path >= %s OR (path >= %s AND path < %s)) ORDER BY path LIMIT %s",
            after,
            base,
            f"{base}0",
            base,
            f"{base}/",
            f"{base}#",
            f"{base}$",
            most,
        )
        return (SourceRecord(**row) for row in rows)

    def read_places(self, document_id: str) -> list[SourceRecord]:
        """Return the records of all places that hold a document, ordered by path."""
        rows = self.select_rows(
            f"SELECT {_SOURCE} FROM fathom.sources WHERE index_no = %s AND document_id = %s "  # noqa: S608 - constant
            "ORDER BY path",
            document_id,
        )
        return [SourceRecord(**row) for row in rows]

    def read_calibrations(self) -> dict[str, str]:
        """Return the stored calibrations by strategy."""
        rows = self.select_rows(
            "SELECT strategy, data FROM fathom.calibrations WHERE index_no = %s ORDER BY strategy"
        )
        return {row["strategy"]: row["data"] for row in rows}

    def read_roots(self) -> list[str]:
        """Return the files and folders that the index was asked to hold."""
        return list(json.loads(self.index.roots))
