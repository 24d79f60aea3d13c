"""The queries that read one index, always inside one transaction."""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from psycopg.rows import DictRow, dict_row, scalar_row
from typing_extensions import override

from fathom.index.filters import Numbers
from fathom.index.postgres.connections import Connection
from fathom.index.postgres.dialect import PostgresDialect
from fathom.index.postgres.halfvec import unpack_vectors
from fathom.index.postgres.schema import IN_WORKSPACE
from fathom.index.rights import ReadingRule, load_rules
from fathom.index.rows import HalfMatrix, Structure, build_chunk
from fathom.index.sql_store import SqlStore
from fathom.text.analyzer import Analyzer
from fathom.types import Chunk

STREAM_ROWS = 1_000
"""The number of rows that a stream fetches at a time."""
_ANALYZER = Analyzer()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """The row of an index in the table `indexes`.

    Attributes:
        is_current: Whether it is the index of its workspace; `False` while it is being built.
        lineage: The name of the index, which no other index has.
        roots: The files and folders that it shall hold, as JSON.
        replaces: Unused.
        revision: The number of its state.
        chunks_at: The last revision that changed the data of searches.
        next_document: The number of the next document.
        next_chunk: The number of the next chunk.
        next_segment: The number of the next segment of postings.
        chunks: The number of its chunks.
        terms: The number of terms in all chunks, repetitions counted.
    """

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceTable:
    """A space of vectors, which are stored in a table of their own.

    Attributes:
        no: The number of the space.
        name: The name; empty for the space that every index has.
        dimension: The vectors' dimension; 0 before the first vector.
        filled: The number of vectors.
        identity: The identity of the embedder; empty for the space that every index has.
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
    """Return the row of an index; `None` if there is none.

    Args:
        connection: A connection that has entered the workspace.
        number: The number of the index; by default the current index of the workspace.
        lock: Whether to keep others from changing the index until the transaction ends.
    """
    # A merge of segments locks FOR KEY SHARE, which this lock does not block.
    query = f"{build_index_query(number)}{' FOR NO KEY UPDATE' if lock else ''}"
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(query).fetchone()
    return IndexRow(**row) if row else None


def build_index_query(number: int | None = None) -> str:
    """Return the query for the columns of `IndexRow`."""
    condition = "is_current" if number is None else f"no = {number:d}"
    # Row-level security does not bind a superuser, so this query names the workspace; all other
    # queries use the index's number.
    return f"SELECT * FROM fathom.indexes WHERE {condition} AND {IN_WORKSPACE}"  # noqa: S608 - a number


class PostgresStore(SqlStore[SpaceTable]):
    """A `SqlStore` on a server; its queries may also have `%s` in place of `?`."""

    dialect = PostgresDialect()
    scope = "index_no = ?"
    document_tables = "documents"
    document_columns = (
        "no, id, path, title, language, metadata, convert_from(text, 'UTF8') AS text, blocks, "
        "checksum, digest"
    )
    own_chunks = "chunks.index_no = documents.index_no AND chunks.document_no = documents.no"

    def __init__(
        self,
        connection: Connection,
        index: IndexRow,
        *,
        fixed: bool = False,
        is_limited: bool = False,
    ) -> None:
        """Take over a connection in a transaction.

        Args:
            connection: The connection.
            index: The row of the index.
            fixed: Whether the transaction sees one state, so that the spaces are read only once.
            is_limited: Whether the transaction sees only what a viewer may read.
        """
        self.connection = connection
        self.index = index
        self.analyzer = _ANALYZER
        self._fixed = fixed
        self.is_limited = is_limited
        self._spaces: list[SpaceTable] | None = None

    @property
    @override
    def scope_value(self) -> int:
        return self.index.no

    @property
    @override
    def lineage(self) -> str:
        return self.index.lineage

    @property
    @override
    def revision(self) -> int:
        return self.index.revision

    @override
    def select_rows(self, query: str, *values: object) -> list[DictRow]:
        with self.connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(query.replace("?", "%s"), (self.index.no, *values)).fetchall()

    @override
    def select_column(self, query: str, *values: object) -> list[Any]:
        with self.connection.cursor(row_factory=scalar_row) as cursor:
            return cursor.execute(query.replace("?", "%s"), (self.index.no, *values)).fetchall()

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
        """Raise the revision of the index by one.

        Args:
            chunks: Whether the data of searches has changed, so that caches of it become void.
        """
        self.run(
            "UPDATE fathom.indexes SET revision = revision + 1, chunks_at = CASE WHEN %(chunks)s "
            "THEN revision + 1 ELSE chunks_at END WHERE no = %(index)s",
            chunks=chunks,
        )

    def insert(self, into: str, rows: Sequence[Sequence[object]]) -> None:
        """Insert rows.

        Args:
            into: The table and its columns, as `table(column, ...)`; no input of a user.
            rows: The values of each row, in the order of the columns.
        """
        if rows:
            marks = ", ".join(["%s"] * len(rows[0]))
            with self.connection.cursor() as cursor:
                cursor.executemany(f"INSERT INTO fathom.{into} VALUES ({marks})", rows)  # noqa: S608 - constants and numbers

    @override
    def stream_rows(self, query: str, *values: object) -> Iterator[DictRow]:
        name = f"streamed_{secrets.token_hex(8)}"  # one transaction may stream several
        with self.connection.cursor(name, row_factory=dict_row) as cursor:
            cursor.itersize = STREAM_ROWS
            cursor.execute(query.replace("?", "%s"), (self.index.no, *values))
            yield from cursor

    @override
    def list_spaces(self) -> list[SpaceTable]:
        if self._spaces is not None:
            return self._spaces
        rows = self.select_rows(
            "SELECT no, name, dimension, filled, identity FROM fathom.spaces WHERE index_no = %s "
            "ORDER BY name <> '', no"
        )
        stored = [SpaceTable(**row) for row in rows]
        self._spaces = stored if self._fixed else None
        return stored

    def has_other_backend(self) -> bool:
        """Return whether another engine than PostgreSQL searches the chunks."""
        if self.run("SELECT to_regclass('fathom.legs')") is None:
            return False  # these tables are older than other backends
        return bool(self.select_value("SELECT true FROM fathom.legs WHERE index_no = %s LIMIT 1"))

    @override
    def count_chunks(self) -> int:
        return super().count_chunks() if self.is_limited else self.index.chunks

    @override
    def is_empty(self) -> bool:
        return (self.is_limited or not self.index.chunks) and super().is_empty()

    @override
    def count_unembedded(self, space: SpaceTable) -> int:
        if not self.is_limited:
            return self.index.chunks - space.filled
        query = (
            f"SELECT count(*) FROM fathom.chunks WHERE {self.scope} AND NOT EXISTS("  # noqa: S608 - a number makes the name
            f"SELECT 1 FROM {space.table} WHERE chunk_no = no)"
        )
        return int(self.select_value(query))

    @override
    def read_vectors(self, numbers: Sequence[int], space: SpaceTable) -> tuple[Numbers, HalfMatrix]:
        rows = self.connection.execute(
            f"SELECT chunk_no, vector FROM {space.table} WHERE chunk_no = ANY(%s) "  # noqa: S608 - a number makes the name
            "ORDER BY chunk_no",
            (list(numbers),),
            binary=True,
        ).fetchall()
        stored = np.fromiter((row[0] for row in rows), dtype=np.int64)
        return stored, unpack_vectors([row[1] for row in rows], space.dimension)

    @override
    def read_chunks(self, ids: Sequence[str]) -> dict[str, Chunk]:
        rows = self.select_rows(
            "SELECT chunks.*, documents.id AS document_id, title, path, metadata, "
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
                content = row["text"], Structure.unpack(row["blocks"]).blocks
            by_id[row["id"]] = build_chunk(row, *content)
        return by_id

    @override
    def read_rights(self) -> Sequence[ReadingRule]:
        if not self.holds_rights():
            return ()
        data = self.select_value("SELECT data FROM fathom.rights WHERE index_no = %s")
        return load_rules(data or "")

    @override
    def read_reader_names(self) -> frozenset[str] | None:
        if not self.read_rights():
            return None
        query = "SELECT DISTINCT reader FROM fathom.readers WHERE index_no = %s"
        return frozenset(self.select_column(query))

    def holds_rights(self) -> bool:
        """Return whether the database has the tables of rights of documents."""
        return self.run("SELECT to_regclass('fathom.readers')") is not None

    @override
    def read_identity(self) -> Mapping[str, str]:
        return self.index.identity

    @override
    def read_calibrations(self) -> dict[str, str]:
        rows = self.select_rows(
            "SELECT strategy, data FROM fathom.calibrations WHERE index_no = %s ORDER BY strategy"
        )
        return {row["strategy"]: row["data"] for row in rows}

    @override
    def read_roots(self) -> list[str]:
        roots = list(json.loads(self.index.roots))
        if not self.is_limited:
            return roots
        # A folder without a visible place is not named.
        return [root for root in roots if any(True for _ in self.list_sources(root, most=1))]
