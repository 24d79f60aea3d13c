"""Reads from SQLite, always inside one read transaction and at one revision.

A list is passed as one JSON array, because SQLite binds at most 32,766 values in a statement.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from fathom.index.base import DocumentSummary, Entry, SourceRecord
from fathom.index.embedded.dialect import SqliteDialect
from fathom.index.embedded.hnsw import GraphRecord
from fathom.index.embedded.keyword import FOLDER
from fathom.index.embedded.spaces import SqliteSpace, build_space
from fathom.index.filters import BoundValue, Numbers, SearchScope, compile_filters
from fathom.index.rows import (
    HalfMatrix,
    Structure,
    build_chunk,
    build_document,
    build_matrix,
    compute_fingerprint,
)
from fathom.types import Block, Chunk, Document, Filter


class SqliteStore:
    """Reads of the rows that are visible at a revision; `schema` defines visible."""

    def __init__(self, connection: sqlite3.Connection, *, still: bool = False) -> None:
        """Take over a connection.

        Args:
            connection: A connection to the file.
            still: Whether the connection stays in one read transaction as long as the store is
                used. The values of `meta` are then read once.
        """
        connection.row_factory = sqlite3.Row
        self.connection = connection
        self._is_still = still

    @cached_property
    def _all_meta(self) -> dict[str, str]:
        return dict(self._select_pairs("SELECT key, value FROM meta"))

    def _select_pairs(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, Any]]:
        """Return rows of two columns as plain tuples, which are faster to build."""
        cursor = self.connection.cursor()
        cursor.row_factory = None
        return cursor.execute(query, values).fetchall()

    def read_meta(self, key: str) -> str:
        """Return a value of `meta`, or `""`."""
        if self._is_still:
            return self._all_meta.get(key, "")
        row = self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def read_identity(self) -> dict[str, str]:
        """Return the identity of the index."""
        rows = self.connection.execute("SELECT key, value FROM meta WHERE key GLOB 'identity.*'")
        return {key.removeprefix("identity."): value for key, value in rows}

    def read_published_revision(self) -> int:
        """Return the last revision that all parts of the index have."""
        return int(self.read_meta("published"))

    def is_unfinished(self) -> bool:
        """Return whether a stored change is not published yet."""
        return int(self.read_meta("revision")) != self.read_published_revision()

    def read_chunks_revision(self) -> int:
        """Return the last published revision that added or removed chunks."""
        return int(self.read_meta("chunks_at"))

    def format_marker(self, revision: int) -> str:
        """Return the marker that a derived file of this revision carries."""
        return f"{self.read_meta('lineage')}.{revision}"

    def list_chunk_numbers(self, revision: int, after: int = 0) -> Numbers:
        """Return the numbers of the visible chunks above `after`, ascending."""
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

    def list_spaces(self) -> list[SqliteSpace]:
        """Return the further spaces, in the order in which they were added."""
        if not self._has_spaces():
            return []
        rows = self.connection.execute("SELECT * FROM spaces ORDER BY no").fetchall()
        return [self._add_lacking(build_space(row)) for row in rows]

    def _add_lacking(self, space: SqliteSpace) -> SqliteSpace:
        stored = self.read_meta(space.lacking_key)
        # Older indexes do not store the number.
        return replace(space, lacking=int(stored) if stored else self.count_lacking(space))

    def list_all_spaces(self) -> list[SqliteSpace]:
        """Return the space that every index has, and the further ones."""
        return [self.get_main_space(), *self.list_spaces()]

    def find_space(self, name: str) -> SqliteSpace | None:
        """Return the space of this name, or `None`; `""` is the space that every index has."""
        return next((space for space in self.list_all_spaces() if space.name == name), None)

    def _has_spaces(self) -> bool:
        return self._has_table("spaces")

    def _has_table(self, table: str) -> bool:
        """Return whether a table exists that older indexes get only with the next write."""
        query = "SELECT EXISTS(SELECT 1 FROM sqlite_master WHERE name = ?)"
        return bool(self.connection.execute(query, (table,)).fetchone()[0])

    def get_calibrations(self) -> dict[str, str]:
        """Return the stored calibrations, by strategy."""
        if not self._has_table("calibrations"):
            return {}
        rows = self.connection.execute("SELECT strategy, data FROM calibrations ORDER BY strategy")
        return {row[0]: row[1] for row in rows}

    def count_lacking(self, space: SqliteSpace) -> int:
        """Count the chunks without a vector in a space.

        The call ignores the stored number and checks all chunks.
        """
        query = (
            "SELECT count(*) FROM chunks "  # noqa: S608 - a number makes the name
            f"WHERE no NOT IN (SELECT chunk_no FROM {space.table})"
        )
        return int(self.connection.execute(query).fetchone()[0])

    def list_lacking_ids(self, space: SqliteSpace, most: int, after: str) -> list[str]:
        """Return the ids of the first published chunks after one that lack a vector in a space."""
        rows = self.connection.execute(
            "SELECT id FROM chunks WHERE added <= ? "  # noqa: S608 - a number makes the name
            "AND no > coalesce((SELECT no FROM chunks WHERE id = ? AND removed IS NULL), 0) "
            f"AND no NOT IN (SELECT chunk_no FROM {space.table}) ORDER BY no LIMIT ?",
            (self.read_published_revision(), after, most),
        )
        return [row[0] for row in rows]

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

    def find_numbers(self, ids: Iterable[str]) -> dict[str, int]:
        """Return the numbers of the chunks that are not removed, by id."""
        rows = self.connection.execute(
            "SELECT id, no FROM chunks WHERE removed IS NULL "
            "AND id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        return {row[0]: row[1] for row in rows}

    def read_vectors_after(self, revision: int, after: int, space: SqliteSpace) -> HalfMatrix:
        """Return the vectors of the visible chunks with numbers above `after`, by number."""
        visible = f"FROM chunks JOIN {space.table} ON chunk_no = no WHERE no > ? AND added <= ?"
        bound = (after, revision)
        count = self.connection.execute(f"SELECT count(*) {visible}", bound).fetchone()[0]
        matrix = np.empty((count, space.dimension), dtype=np.float16)
        # Row by row, because joining all rows as bytes first would take three times the memory.
        rows = self.connection.execute(f"SELECT vector {visible} ORDER BY no", bound)
        for place, row in enumerate(rows):
            matrix[place] = np.frombuffer(row[0], dtype=np.float16)
        return matrix

    def read_vectors(self, numbers: Sequence[int], space: SqliteSpace) -> HalfMatrix:
        """Return the vectors of these chunks, which must exist and be ascending."""
        rows = self.connection.execute(
            f"SELECT vector FROM {space.table} WHERE chunk_no IN "  # noqa: S608
            "(SELECT value FROM json_each(?)) ORDER BY chunk_no",
            (json.dumps(list(numbers)),),
        )
        return build_matrix((row[0] for row in rows), space.dimension)

    def compute_fingerprints(self, documents: Sequence[int]) -> Iterator[tuple[bytes, int]]:
        """Yield the fingerprints of documents whose chunks all have vectors, with their numbers."""
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

    def find_chunk_ids(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return the ids of these chunks by number."""
        query = "SELECT no, id FROM chunks WHERE no IN (SELECT value FROM json_each(?))"
        return dict(self._select_pairs(query, (json.dumps(list(numbers)),)))

    def resolve_filters(self, filters: Sequence[Filter], revision: int) -> SearchScope:
        """Return the chunks and documents that the filters let through.

        Raises:
            UsageError: If a filter is malformed.
        """
        condition, values = compile_filters(filters, SqliteDialect())
        bound: list[BoundValue] = [*values, revision]
        documents = self.connection.execute(
            f"SELECT no FROM documents WHERE {condition} AND added <= ? ORDER BY no",  # noqa: S608 - the condition holds no value
            bound,
        )
        numbers = np.fromiter((row[0] for row in documents), dtype=np.int64)
        chunks = self.connection.execute(
            "SELECT no FROM chunks WHERE document_no IN (SELECT value FROM json_each(?)) "
            "AND added <= ? ORDER BY no",
            (json.dumps(numbers.tolist()), revision),
        )
        return SearchScope(np.fromiter((row[0] for row in chunks), dtype=np.int64), numbers)

    def chunks(self, ids: Sequence[str], revision: int) -> dict[str, Chunk]:
        """Return the visible chunks with these ids, by id."""
        rows = self.connection.execute(
            "SELECT chunks.*, documents.id AS document_id, title, path FROM chunks "
            "JOIN documents ON documents.no = document_no "
            "WHERE chunks.id IN (SELECT value FROM json_each(?)) AND chunks.added <= ?",
            (json.dumps(list(ids)), revision),
        ).fetchall()
        contents = self._read_contents({row["document_no"] for row in rows})
        return {row["id"]: build_chunk(row, *contents[row["document_no"]]) for row in rows}

    def _read_contents(self, documents: Iterable[int]) -> dict[int, tuple[str, Sequence[Block]]]:
        rows = self.connection.execute(
            "SELECT document_no, text, blocks FROM contents "
            "WHERE document_no IN (SELECT value FROM json_each(?))",
            (json.dumps(list(documents)),),
        )
        return {row[0]: (row[1], Structure(row[2])) for row in rows}

    def get_document(self, document_id: str, revision: int) -> Document | None:
        """Return the visible document with this id, or `None`."""
        row = self.connection.execute(
            "SELECT documents.*, text, blocks, checksum FROM documents "
            "JOIN contents ON document_no = no WHERE id = ? AND added <= ?",
            (document_id, revision),
        ).fetchone()
        return build_document(row) if row else None

    def get_entry(self, document_id: str, revision: int) -> Entry | None:
        """Return the visible document with this id, with its chunks and their vectors."""
        row = self.connection.execute(
            "SELECT no, digest FROM documents WHERE id = ? AND added <= ?", (document_id, revision)
        ).fetchone()
        document = self.get_document(document_id, revision)
        if row is None or document is None:
            return None
        chunks = self.list_chunks_of(row["no"], document)
        numbers = [number for number, _ in chunks]
        by_space = {
            space.name: self.read_vectors(numbers, space).astype(np.float32)
            for space in self.list_all_spaces()
            if space.dimension
        }
        # A space whose vectors are still being filled is left out.
        complete = {
            name: matrix for name, matrix in by_space.items() if len(matrix) == len(numbers)
        }
        return Entry(
            document=document,
            chunks=tuple(chunk for _, chunk in chunks),
            vectors=complete.pop("", None),
            digest=row["digest"],
            more=complete,
        )

    def list_chunks_of(self, document_no: int, document: Document) -> list[tuple[int, Chunk]]:
        """Return all chunks of a document with their numbers, in order."""
        rows = self.connection.execute(
            "SELECT chunks.*, documents.id AS document_id, title, path FROM chunks "
            "JOIN documents ON documents.no = document_no WHERE document_no = ? ORDER BY ordinal",
            (document_no,),
        )
        return [(row["no"], build_chunk(row, document.text, document.blocks)) for row in rows]

    def list_added_documents(self, after: int, revision: int) -> Iterator[tuple[int, Document]]:
        """Yield the documents added after one revision and up to another, and not removed yet."""
        rows = self.connection.execute(
            "SELECT documents.*, text, blocks, checksum FROM documents "
            "JOIN contents ON document_no = no "
            "WHERE added > ? AND added <= ? AND removed IS NULL ORDER BY no",
            (after, revision),
        )
        for row in rows:
            yield row["no"], build_document(row)

    def get_paths(self, ids: Sequence[str], revision: int) -> dict[str, str]:
        """Return the paths of the visible documents among these, by id."""
        rows = self.connection.execute(
            "SELECT id, path FROM documents WHERE added <= ? "
            "AND id IN (SELECT value FROM json_each(?))",
            (revision, json.dumps(list(ids))),
        )
        return {row["id"]: row["path"] for row in rows.fetchall()}

    def list_summaries(self, revision: int) -> Iterator[DocumentSummary]:
        """Return the summaries of all visible documents, ordered by path."""
        rows = self.connection.execute(
            "SELECT id, path, title, language, updated, "
            "(SELECT count(*) FROM chunks WHERE document_no = documents.no) AS chunks "
            "FROM documents WHERE added <= ? ORDER BY path, id",
            (revision,),
        )
        return (DocumentSummary(**row) for row in rows.fetchall())

    def is_empty(self, revision: int) -> bool:
        """Return whether no document is visible."""
        query = "SELECT EXISTS(SELECT 1 FROM documents WHERE added <= ?)"
        return not self.connection.execute(query, (revision,)).fetchone()[0]

    def get_source(self, path: str, revision: int) -> SourceRecord | None:
        """Return the record of this place, or `None`."""
        row = self.connection.execute(
            f"SELECT {_SOURCE_COLUMNS} FROM sources WHERE path = ? AND added <= ?",  # noqa: S608 - constant
            (path, revision),
        ).fetchone()
        return SourceRecord(**row) if row else None

    def list_sources(
        self, below: str, revision: int, *, after: str = "", most: int | None = None
    ) -> Iterator[SourceRecord]:
        """Return the records of a place, of all places in it and of its records, by path."""
        base = below.rstrip("/")
        # "0" is the character after "/", "$" the one after "#". So one range of the index over
        # the paths holds all matches; "+" keeps SQLite from three separate lookups.
        rows = self.connection.execute(
            f"SELECT {_SOURCE_COLUMNS} FROM sources WHERE added <= ? AND path > ? AND path >= ? "  # noqa: S608 - constant
            "AND path < ? AND (+path = ? OR +path >= ? OR (+path >= ? AND +path < ?)) "
            "ORDER BY path LIMIT ?",
            (
                *(revision, after, base, f"{base}0", base, f"{base}/", f"{base}#", f"{base}$"),
                -1 if most is None else most,
            ),
        )
        return (SourceRecord(**row) for row in rows.fetchall())

    def list_places(self, document_id: str, revision: int) -> list[SourceRecord]:
        """Return the records of the places that hold this document, ordered by path."""
        rows = self.connection.execute(
            f"SELECT {_SOURCE_COLUMNS} FROM sources "  # noqa: S608 - constant
            "WHERE document_id = ? AND added <= ? ORDER BY path",
            (document_id, revision),
        )
        return [SourceRecord(**row) for row in rows.fetchall()]

    def get_keyword_folder(self) -> str:
        """Return the name of the keyword index's folder in the index directory.

        Each rebuilt index has its own.
        """
        return self.read_meta("keyword") or FOLDER

    def get_roots(self) -> list[str]:
        """Return the files and folders that the index shall hold, as the user named them."""
        return list(json.loads(self.read_meta("roots") or "[]"))


_SOURCE_COLUMNS = "path, digest, outcome, reason, document_id"
