"""Reads from SQLite, always inside one read transaction and at one revision."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from typing_extensions import override

from fathom.index.embedded.dialect import SqliteDialect
from fathom.index.embedded.hnsw import GraphRecord
from fathom.index.embedded.keyword import FOLDER
from fathom.index.embedded.spaces import SqliteSpace, build_space
from fathom.index.filters import Numbers
from fathom.index.rights import ReadingRule, load_rules
from fathom.index.rows import (
    HalfMatrix,
    Structure,
    build_chunk,
    build_document,
    build_matrix,
    compute_fingerprint,
)
from fathom.index.sql_store import SqlStore
from fathom.types import Block, Chunk, Document

RIGHTS = "rights"
"""The key of the rules in `meta`."""


class SqliteStore(SqlStore[SqliteSpace]):
    """A `SqlStore` of the rows that are visible at the published revision.

    The module `schema` says which rows these are.
    """

    dialect = SqliteDialect()
    scope = "added <= ?"
    document_tables = "documents JOIN contents ON document_no = no"
    document_columns = "documents.*, text, blocks, checksum"
    own_chunks = "chunks.document_no = documents.no"

    def __init__(
        self, connection: sqlite3.Connection, *, still: bool = False, is_limited: bool = False
    ) -> None:
        """Take over a connection.

        Args:
            connection: The connection, which the caller closes.
            still: Whether the connection stays in one read transaction as long as the store is
                used; the values of `meta` are then read only once.
            is_limited: Whether the connection is limited to what a viewer may read
                (`limited.connect_viewer`).
        """
        connection.row_factory = sqlite3.Row
        self.connection = connection
        self._is_still = still
        self.is_limited = is_limited

    @cached_property
    def _all_meta(self) -> dict[str, str]:
        """All values of `meta`, for a store that stays in one transaction."""
        return dict(self._select_tuples("SELECT key, value FROM meta"))

    def _select_tuples(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return rows as plain tuples, which are faster to build."""
        cursor = self.connection.cursor()
        cursor.row_factory = None
        return cursor.execute(query, values).fetchall()

    @property
    @override
    def scope_value(self) -> int:
        return self.revision

    @override
    def select_rows(self, query: str, *values: object) -> Sequence[sqlite3.Row]:
        return self.connection.execute(query, (self.scope_value, *values)).fetchall()

    @override
    def select_column(self, query: str, *values: object) -> list[Any]:
        return [row[0] for row in self._select_tuples(query, self.scope_value, *values)]

    def read_meta(self, key: str) -> str:
        """Return a value of `meta`; `""` if it has none."""
        if self._is_still:
            return self._all_meta.get(key, "")
        row = self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    @property
    @override
    def lineage(self) -> str:
        return self.read_meta("lineage")

    @property
    @override
    def revision(self) -> int:
        return self.read_published_revision()

    @override
    def read_identity(self) -> dict[str, str]:
        rows = self.connection.execute("SELECT key, value FROM meta WHERE key GLOB 'identity.*'")
        return {key.removeprefix("identity."): value for key, value in rows}

    def read_published_revision(self) -> int:
        """Return the last published revision, which all parts of the index have reached."""
        return int(self.read_meta("published"))

    def is_unfinished(self) -> bool:
        """Return whether a stored change is not published yet."""
        return int(self.read_meta("revision")) != self.read_published_revision()

    def read_chunks_revision(self) -> int:
        """Return the last published revision that added or removed chunks."""
        return int(self.read_meta("chunks_at"))

    def format_marker(self, revision: int) -> str:
        """Return the marker that a derived file of this revision carries."""
        return f"{self.lineage}.{revision}"

    def list_chunk_numbers(self, revision: int, after: int = 0) -> Numbers:
        """Return the numbers above `after` of the chunks visible at a revision, ascending."""
        rows = self.connection.execute(
            "SELECT no FROM chunks WHERE no > ? AND added <= ? ORDER BY no", (after, revision)
        )
        return np.fromiter((row[0] for row in rows), dtype=np.int64)

    def get_main_space(self) -> SqliteSpace:
        """Return the space that every index has."""
        return SqliteSpace(
            number=0,
            name="",
            dimension=int(self.read_meta("dimension") or 0),
            graph=GraphRecord.loads(self.read_meta("graph")),
            lacking=int(self.read_meta("lacking.0") or 0),  # older indexes have all vectors
        )

    @override
    def list_spaces(self) -> list[SqliteSpace]:
        if not self._has_table("spaces"):
            return [self.get_main_space()]
        rows = self.connection.execute("SELECT * FROM spaces ORDER BY no").fetchall()
        further = [self._add_lacking(build_space(row)) for row in rows]
        return [self.get_main_space(), *further]

    @override
    def count_unembedded(self, space: SqliteSpace) -> int:
        # The stored number counts hidden chunks too.
        return self.count_lacking(space) if self.is_limited else space.lacking

    def _add_lacking(self, space: SqliteSpace) -> SqliteSpace:
        """Return a space with its `lacking`, which is counted if it is not stored."""
        stored = self.read_meta(space.lacking_key)
        # Older indexes do not store the number.
        return replace(space, lacking=int(stored) if stored else self.count_lacking(space))

    def _has_table(self, table: str) -> bool:
        """Return whether a table exists that older indexes get only with the next write."""
        query = "SELECT EXISTS(SELECT 1 FROM sqlite_master WHERE name = ?)"
        return bool(self.connection.execute(query, (table,)).fetchone()[0])

    @override
    def read_calibrations(self) -> dict[str, str]:
        if not self._has_table("calibrations"):
            return {}
        rows = self.connection.execute("SELECT strategy, data FROM calibrations ORDER BY strategy")
        return {row[0]: row[1] for row in rows}

    def count_lacking(self, space: SqliteSpace) -> int:
        """Count the chunks without a vector in a space by checking all chunks."""
        query = (
            "SELECT count(*) FROM chunks "  # noqa: S608 - a number makes the name
            f"WHERE no NOT IN (SELECT chunk_no FROM {space.table})"
        )
        return int(self.connection.execute(query).fetchone()[0])

    def list_chunks_with_vectors(self, space: SqliteSpace, revision: int) -> Numbers:
        """Return the numbers of the visible chunks with a vector in a space, ascending."""
        if not space.lacking:
            return self.list_chunk_numbers(revision)  # without reading the table of vectors
        rows = self.connection.execute(
            f"SELECT no FROM chunks JOIN {space.table} ON chunk_no = no "  # noqa: S608
            "WHERE added <= ? ORDER BY no",
            (revision,),
        )
        return np.fromiter((row[0] for row in rows), dtype=np.int64)

    def read_vectors_after(self, revision: int, after: int, space: SqliteSpace) -> HalfMatrix:
        """Return the vectors of the visible chunks with numbers above `after`.

        Returns:
            (n, dimension) float16, ordered by the number of the chunk.
        """
        visible = f"FROM chunks JOIN {space.table} ON chunk_no = no WHERE no > ? AND added <= ?"
        bound = (after, revision)
        count = self.connection.execute(f"SELECT count(*) {visible}", bound).fetchone()[0]
        matrix = np.empty((count, space.dimension), dtype=np.float16)
        # Row by row, because joining all rows as bytes first would take three times the memory.
        rows = self.connection.execute(f"SELECT vector {visible} ORDER BY no", bound)
        for place, row in enumerate(rows):
            matrix[place] = np.frombuffer(row[0], dtype=np.float16)
        return matrix

    @override
    def read_vectors(
        self, numbers: Sequence[int], space: SqliteSpace
    ) -> tuple[Numbers, HalfMatrix]:
        rows = self._select_tuples(
            f"SELECT chunk_no, vector FROM {space.table} WHERE chunk_no IN "  # noqa: S608
            "(SELECT value FROM json_each(?)) ORDER BY chunk_no",
            json.dumps(list(numbers)),
        )
        stored = np.fromiter((row[0] for row in rows), dtype=np.int64)
        return stored, build_matrix((row[1] for row in rows), space.dimension)

    def compute_fingerprints(self, documents: Sequence[int]) -> Iterator[tuple[bytes, int]]:
        """Yield the fingerprints of documents whose chunks all have vectors, with their numbers.

        Args:
            documents: The numbers of the documents.
        """
        bound = (json.dumps(list(documents)),)
        chunks: dict[int, list[tuple[str, int, int]]] = {}
        vectors: dict[int, list[bytes]] = {}
        for number, chunk_id, start, end, vector in self.connection.execute(
            'SELECT document_no, id, start, "end", vector FROM chunks '
            "JOIN vectors ON chunk_no = no WHERE document_no IN (SELECT value FROM json_each(?)) "
            "ORDER BY document_no, ordinal",
            bound,
        ):
            chunks.setdefault(number, []).append((chunk_id, start, end))
            vectors.setdefault(number, []).append(vector)
        for number, *content in self.connection.execute(
            "SELECT no, id, title, language, metadata, text FROM documents "
            "JOIN contents ON document_no = no WHERE no IN (SELECT value FROM json_each(?))",
            bound,
        ).fetchall():
            yield compute_fingerprint(content, chunks[number], b"".join(vectors[number])), number

    @override
    def read_chunks(self, ids: Sequence[str]) -> dict[str, Chunk]:
        rows = self.select_rows(
            "SELECT chunks.*, documents.id AS document_id, title, path, metadata FROM chunks "
            "JOIN documents ON documents.no = document_no WHERE chunks.added <= ? "
            "AND chunks.id IN (SELECT value FROM json_each(?))",
            json.dumps(list(ids)),
        )
        texts = self._read_texts({row["document_no"] for row in rows})
        return {row["id"]: build_chunk(row, *texts[row["document_no"]]) for row in rows}

    def _read_texts(self, documents: Iterable[int]) -> dict[int, tuple[str, Sequence[Block]]]:
        """Return the text and the blocks of documents, by number."""
        rows = self._select_tuples(
            "SELECT document_no, text, blocks FROM contents "
            "WHERE document_no IN (SELECT value FROM json_each(?))",
            json.dumps(list(documents)),
        )
        return {number: (text, Structure.unpack(blocks).blocks) for number, text, blocks in rows}

    def list_chunks_of(self, document_no: int, document: Document) -> list[tuple[int, Chunk]]:
        """Return all chunks of a document with their numbers, in order."""
        rows = self.connection.execute(
            "SELECT chunks.*, documents.id AS document_id, title, path, metadata FROM chunks "
            "JOIN documents ON documents.no = document_no WHERE document_no = ? ORDER BY ordinal",
            (document_no,),
        )
        return [(row["no"], build_chunk(row, document.text, document.blocks)) for row in rows]

    def list_added_documents(self, after: int, revision: int) -> Iterator[tuple[int, Document]]:
        """Yield the documents that were added in `after < revision number <= revision`.

        Documents that are marked as removed are left out. Each comes with its number.
        """
        rows = self.connection.execute(
            "SELECT documents.*, text, blocks, checksum FROM documents "
            "JOIN contents ON document_no = no "
            "WHERE added > ? AND added <= ? AND removed IS NULL ORDER BY no",
            (after, revision),
        )
        for row in rows:
            yield row["no"], build_document(row)

    def get_keyword_folder(self) -> str:
        """Return the name of the keyword index's folder in the index directory.

        A rebuilt index has a folder with another name.
        """
        return self.read_meta("keyword") or FOLDER

    @override
    def read_roots(self) -> list[str]:
        roots = list(json.loads(self.read_meta("roots") or "[]"))
        if not self.is_limited:
            return roots
        # A folder without a visible place is not named.
        return [root for root in roots if any(True for _ in self.list_sources(root, most=1))]

    @override
    def read_rights(self) -> Sequence[ReadingRule]:
        return load_rules(self.read_meta(RIGHTS))

    @override
    def read_reader_names(self) -> frozenset[str] | None:
        if self.read_meta(RIGHTS) in {"", "[]"}:
            return None
        rows = self.connection.execute(
            "SELECT reader FROM place_readers UNION SELECT reader FROM document_readers"
        )
        return frozenset(row[0] for row in rows)
