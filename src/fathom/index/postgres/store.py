"""What is read of one index, always inside one transaction."""

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from psycopg.rows import DictRow, dict_row, scalar_row

from fathom.index.base import DocumentSummary, Entry, SourceRecord
from fathom.index.bm25 import Statistics
from fathom.index.filters import Allowed, Numbers, compile_filters
from fathom.index.postgres.connections import Connection
from fathom.index.postgres.dialect import PostgresDialect
from fathom.index.postgres.halfvec import to_vectors
from fathom.index.postgres.schema import ENTERED
from fathom.index.rows import HalfMatrix, Structure, to_chunk, to_document
from fathom.text.analyzer import Analyzer
from fathom.types import Chunk, Document, Filter

AT_ONCE = 1_000
_ANALYZER = Analyzer()
_DOCUMENT = (
    "no, id, path, title, language, metadata, convert_from(text, 'UTF8') AS text, blocks, checksum"
)
_SOURCE = "path, digest, outcome, reason, document_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """An index as its row in `indexes` has it."""

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
        """Names its state."""
        return f"{self.lineage}.{self.revision}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSpace:
    """A space of vectors, which lie in a table of its own.

    Attributes:
        dimension: 0 before the first.
        filled: How many there are.
    """

    no: int
    name: str
    dimension: int
    filled: int
    identity: Mapping[str, str] = field(default_factory=dict)

    @property
    def table(self) -> str:
        """Where its vectors are."""
        return f"fathom.vectors_{self.no}"


def index_row(
    connection: Connection, number: int | None = None, *, lock: bool = False
) -> IndexRow | None:
    """The index of this number, by default the current one of the workspace that was entered.

    Args:
        connection: Has entered a workspace.
        number: Of an index in it.
        lock: Whether others must not change it until the transaction ends.
    """
    # Whoever merges segments, see there, does not change it and need not wait.
    query = f"{index_query(number)}{' FOR NO KEY UPDATE' if lock else ''}"
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(query).fetchone()
    return IndexRow(**row) if row else None


def index_query(number: int | None = None) -> str:
    """Asks for what `IndexRow` holds."""
    which = "is_current" if number is None else f"no = {number:d}"
    # Said here too, as a superuser passes by row-level security; all else hangs on the number.
    return f"SELECT * FROM fathom.indexes WHERE {which} AND {ENTERED}"  # noqa: S608 - a number


class Store:
    """Reads the rows of one index."""

    def __init__(self, connection: Connection, index: IndexRow, *, fixed: bool = False) -> None:
        """Take over a connection in a transaction.

        Args:
            connection: See above.
            index: Its row, as that transaction sees it.
            fixed: Whether the transaction sees one state, whatever happens.
        """
        self.connection = connection
        self.index = index
        self.analyzer = _ANALYZER
        self._fixed = fixed
        self._spaces: list[StoredSpace] | None = None

    def rows(self, query: str, *values: object) -> list[DictRow]:
        """The rows of a statement; its first value is the index's number."""
        with self.connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(query, (self.index.no, *values)).fetchall()

    def column(self, query: str, *values: object) -> list[Any]:
        """Their first column; see `rows`."""
        with self.connection.cursor(row_factory=scalar_row) as cursor:
            return cursor.execute(query, (self.index.no, *values)).fetchall()

    def run(self, statement: str, **values: object) -> Any:  # noqa: ANN401 - columns have many types
        """Run a statement, whose `%(index)s` and `%(workspace)s` are known; its first value."""
        own = {"index": self.index.no, "workspace": self.index.workspace_no}
        cursor = self.connection.execute(statement, {**own, **values})
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None

    def publish(self, *, chunks: bool) -> None:
        """Begin a revision, by which whoever reads knows that there is another state.

        Args:
            chunks: Whether searches may come to something else: what they remember is void then.
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

    def value(self, query: str, *values: object) -> Any:  # noqa: ANN401 - columns have many types
        """The first of them; see `column`."""
        return next(iter(self.column(query, *values)), None)

    def _streamed(self, query: str, *values: object) -> Iterator[DictRow]:
        name = f"streamed_{secrets.token_hex(8)}"  # there may be several in one transaction
        with self.connection.cursor(name, row_factory=dict_row) as cursor:
            cursor.itersize = AT_ONCE
            cursor.execute(query, (self.index.no, *values))
            yield from cursor

    def spaces(self) -> list[StoredSpace]:
        """The one that every index has, and the further ones in the order in which they came."""
        if self._spaces is not None:
            return self._spaces
        rows = self.rows(
            "SELECT no, name, dimension, filled, identity FROM fathom.spaces WHERE index_no = %s "
            "ORDER BY name <> '', no"
        )
        found = [StoredSpace(**row) for row in rows]
        self._spaces = found if self._fixed else None
        return found

    def space(self, name: str) -> StoredSpace | None:
        """The space of this name; `""` is the one that every index has."""
        return next((space for space in self.spaces() if space.name == name), None)

    def has_other_legs(self) -> bool:
        """Whether another engine than PostgreSQL finds the chunks."""
        if self.run("SELECT to_regclass('fathom.legs')") is None:
            return False  # laid out before there were others
        return bool(self.value("SELECT true FROM fathom.legs WHERE index_no = %s LIMIT 1"))

    def lacking(self, space: StoredSpace) -> int:
        """How many chunks have no vector in a space."""
        return self.index.chunks - space.filled

    def lacking_ids(self, space: StoredSpace, most: int, after: str) -> list[str]:
        """Ids of chunks without a vector in a space, the first so many after one."""
        return self.column(
            "SELECT id FROM fathom.chunks WHERE index_no = %s AND no > coalesce((SELECT no FROM "  # noqa: S608 - a number makes the name
            f"fathom.chunks WHERE index_no = {self.index.no:d} AND id = %s), 0) AND NOT EXISTS("
            f"SELECT FROM {space.table} WHERE chunk_no = no) ORDER BY no LIMIT %s",
            after,
            most,
        )

    def numbers(self, ids: Iterable[str]) -> dict[str, int]:
        """Numbers of chunks by id."""
        rows = self.rows(
            "SELECT id, no FROM fathom.chunks WHERE index_no = %s AND id = ANY(%s)", list(ids)
        )
        return {row["id"]: row["no"] for row in rows}

    def chunk_ids(self, numbers: Sequence[int]) -> dict[int, str]:
        """Ids of those chunks that are there, by number."""
        if not numbers:
            return {}
        rows = self.rows(
            "SELECT no, id FROM fathom.chunks WHERE index_no = %s AND no = ANY(%s)", list(numbers)
        )
        return {row["no"]: row["id"] for row in rows}

    def vectors(self, numbers: Sequence[int], space: StoredSpace) -> tuple[Numbers, HalfMatrix]:
        """Those of the chunks that have a vector, ascending, and their vectors."""
        rows = self.connection.execute(
            f"SELECT chunk_no, vector FROM {space.table} WHERE chunk_no = ANY(%s) "  # noqa: S608 - a number makes the name
            "ORDER BY chunk_no",
            (list(numbers),),
            binary=True,
        ).fetchall()
        found = np.fromiter((row[0] for row in rows), dtype=np.int64)
        return found, to_vectors([row[1] for row in rows], space.dimension)

    def statistics(self, terms: Iterable[str]) -> Statistics:
        """What BM25 has to know for these terms."""
        rows = self.rows(
            "SELECT term, chunks FROM fathom.terms WHERE index_no = %s AND term = ANY(%s)",
            list(terms),
        )
        known = {row["term"]: row["chunks"] for row in rows}
        return Statistics(self.index.chunks, self.index.terms, known)

    def allowed(self, filters: Sequence[Filter]) -> Allowed:
        """The chunks and documents that pass.

        Raises:
            UsageError: If a filter is malformed.
        """
        condition, values = compile_filters(filters, PostgresDialect())
        documents = self.column(
            f"SELECT no FROM fathom.documents WHERE index_no = %s AND {condition} ORDER BY no",  # noqa: S608 - holds no value
            *values,
        )
        chunks = self.column(
            "SELECT no FROM fathom.chunks WHERE index_no = %s AND document_no = ANY(%s) "
            "ORDER BY no",
            documents,
        )
        return Allowed(np.array(chunks, dtype=np.int64), np.array(documents, dtype=np.int64))

    def chunks(self, ids: Sequence[str]) -> dict[str, Chunk]:
        """The chunks with these ids."""
        rows = self.rows(
            "SELECT chunks.*, documents.id AS document_id, title, path, "
            # The text goes with the first chunk of its document alone.
            "CASE WHEN row_number() OVER own = 1 THEN convert_from(text, 'UTF8') END AS text, "
            "CASE WHEN row_number() OVER own = 1 THEN blocks END AS blocks FROM fathom.chunks "
            "JOIN fathom.documents ON documents.index_no = chunks.index_no AND documents.no = "
            "document_no WHERE chunks.index_no = %s AND chunks.id = ANY(%s) "
            "WINDOW own AS (PARTITION BY document_no ORDER BY chunks.no) "
            "ORDER BY document_no, chunks.no",
            list(ids),
        )
        found: dict[str, Chunk] = {}
        for row in rows:
            if row["text"] is not None:
                content = row["text"], Structure(row["blocks"])
            found[row["id"]] = to_chunk(row, *content)
        return found

    def document(self, document_id: str) -> Document | None:
        """The document with this id."""
        rows = self.rows(
            f"SELECT {_DOCUMENT} FROM fathom.documents WHERE index_no = %s AND id = %s",  # noqa: S608 - constant
            document_id,
        )
        return to_document(rows[0]) if rows else None

    def paths(self, ids: Sequence[str]) -> dict[str, str]:
        """The paths of those documents that are there, by id."""
        rows = self.rows(
            "SELECT id, path FROM fathom.documents WHERE index_no = %s AND id = ANY(%s)", list(ids)
        )
        return {row["id"]: row["path"] for row in rows}

    def contents_of(self, ids: Sequence[str]) -> list[tuple[DictRow, Document, list[Chunk]]]:
        """Whole documents: what their rows say beside, and their chunks in order."""
        rows = self.rows(
            f"SELECT {_DOCUMENT}, digest FROM fathom.documents "  # noqa: S608 - constant
            "WHERE index_no = %s AND id = ANY(%s) ORDER BY no",
            list(ids),
        )
        documents = {row["no"]: to_document(row) for row in rows}
        chunks: dict[int, list[Chunk]] = {row["no"]: [] for row in rows}
        for row in self.rows(
            "SELECT * FROM fathom.chunks WHERE index_no = %s AND document_no = ANY(%s) "
            "ORDER BY document_no, ordinal",
            list(documents),
        ):
            own = documents[row["document_no"]]
            named = {**row, "document_id": own.id, "title": own.title, "path": own.path}
            chunks[row["document_no"]].append(to_chunk(named, own.text, own.blocks))
        return [(row, documents[row["no"]], chunks[row["no"]]) for row in rows]

    def entry(self, document_id: str) -> Entry | None:
        """The document with this id, with its chunks and their vectors."""
        found = self.contents_of([document_id])
        if not found:
            return None
        [(row, document, chunks)] = found
        by_id = self.numbers(chunk.id for chunk in chunks)
        numbers = [by_id[chunk.id] for chunk in chunks]  # ascending, as they were given in order
        held = {
            space.name: self.vectors(numbers, space)[1].astype(np.float32)
            for space in self.spaces()
            if space.dimension
        }
        whole = {name: each for name, each in held.items() if len(each) == len(numbers)}
        return Entry(
            document=document,
            chunks=tuple(chunks),
            vectors=whole.pop("", None),
            digest=row["digest"],
            more=whole,
        )

    def summaries(self) -> Iterator[DocumentSummary]:
        """All documents, ordered by path."""
        rows = self._streamed(
            "SELECT id, path, title, language, updated, (SELECT count(*) FROM fathom.chunks "
            "WHERE chunks.index_no = documents.index_no AND document_no = documents.no) AS chunks "
            "FROM fathom.documents WHERE index_no = %s ORDER BY path, id"
        )
        return (DocumentSummary(**row) for row in rows)

    def source(self, path: str) -> SourceRecord | None:
        """What is known of this place."""
        rows = self.rows(
            f"SELECT {_SOURCE} FROM fathom.sources WHERE index_no = %s AND path = %s",  # noqa: S608 - constant
            path,
        )
        return SourceRecord(**rows[0]) if rows else None

    def sources(
        self, below: str, *, after: str = "", most: int | None = None
    ) -> Iterator[SourceRecord]:
        """Places at `below`: itself, what is in it, its records; ordered by path."""
        base = below.rstrip("/")
        # "0" is the character after "/", "$" the one after "#".
        rows = self._streamed(
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

    def places(self, document_id: str) -> list[SourceRecord]:
        """Places that hold this document, ordered by path."""
        rows = self.rows(
            f"SELECT {_SOURCE} FROM fathom.sources WHERE index_no = %s AND document_id = %s "  # noqa: S608 - constant
            "ORDER BY path",
            document_id,
        )
        return [SourceRecord(**row) for row in rows]

    def calibrations(self) -> dict[str, str]:
        """What was kept of calibrations, by strategy."""
        rows = self.rows(
            "SELECT strategy, data FROM fathom.calibrations WHERE index_no = %s ORDER BY strategy"
        )
        return {row["strategy"]: row["data"] for row in rows}

    def roots(self) -> list[str]:
        """See `IndexReader.roots`."""
        return list(json.loads(self.index.roots))
