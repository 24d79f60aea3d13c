"""The tables on the server, their versions, and the row-level security that keeps workspaces apart.

All tables lie in the schema `fathom`. A workspace holds one current index and, during a rebuild,
the index that is to replace it. Each row carries the number of its workspace, and row-level
security shows a connection only the rows of the workspace that it has entered: even a query
without a condition on the workspace finds no other rows.
"""

from collections.abc import Sequence

import psycopg

from fathom.errors import IndexMismatch, RunError, UsageError
from fathom.index.postgres.address import Address
from fathom.index.postgres.connections import Connection
from fathom.index.postgres.tables import (
    AUDIT,
    AUDIT_GUARDED,
    BACKENDS,
    BACKENDS_GUARDED,
    DOORS,
    DOORS_GUARDED,
    GONE,
    GONE_GUARDED,
    OBJECTS,
    OBJECTS_GUARDED,
    OWNERS,
    OWNERS_GUARDED,
    RATES,
    RATES_GUARDED,
    RIGHTS,
    RIGHTS_GUARDED,
    RIGHTS_POLICIES,
    SERVED,
    SERVED_GUARDED,
    TRACE_OWNERS,
    TRACE_OWNERS_GUARDED,
    TRACES,
    TRACES_GUARDED,
)

_BASE_TABLES = (
    """CREATE TABLE fathom.workspaces(
      no int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE)""",
    """CREATE TABLE fathom.indexes(
      no int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      workspace_no int NOT NULL REFERENCES fathom.workspaces ON DELETE CASCADE,
      is_current boolean NOT NULL, lineage text NOT NULL, identity jsonb NOT NULL,
      roots text NOT NULL DEFAULT '[]', replaces text NOT NULL DEFAULT '',
      revision bigint NOT NULL DEFAULT 0, chunks_at bigint NOT NULL DEFAULT 0,
      next_document int NOT NULL DEFAULT 1,
      next_chunk int NOT NULL DEFAULT 1, next_segment int NOT NULL DEFAULT 1,
      chunks int NOT NULL DEFAULT 0, terms bigint NOT NULL DEFAULT 0)""",
    "CREATE UNIQUE INDEX ON fathom.indexes(workspace_no) WHERE is_current",
    """CREATE TABLE fathom.documents(
      index_no int NOT NULL REFERENCES fathom.indexes ON DELETE CASCADE, no int NOT NULL,
      workspace_no int NOT NULL, id text COLLATE "C" NOT NULL, path text COLLATE "C" NOT NULL,
      file text COLLATE "C" NOT NULL, folder text COLLATE "C" NOT NULL,
      title text COLLATE "C" NOT NULL, language text COLLATE "C" NOT NULL,
      metadata text NOT NULL, fields jsonb NOT NULL, digest text NOT NULL,
      fingerprint bytea NOT NULL, updated text NOT NULL, text bytea NOT NULL,
      blocks bytea NOT NULL, checksum bigint NOT NULL,
      PRIMARY KEY(index_no, no), UNIQUE(index_no, id))""",
    "CREATE INDEX ON fathom.documents(index_no, path, id)",
    """CREATE TABLE fathom.chunks(
      index_no int NOT NULL REFERENCES fathom.indexes ON DELETE CASCADE, no int NOT NULL,
      workspace_no int NOT NULL, id text COLLATE "C" NOT NULL, document_no int NOT NULL,
      ordinal int NOT NULL, start int NOT NULL, "end" int NOT NULL, page int,
      headings text NOT NULL, PRIMARY KEY(index_no, no), UNIQUE(index_no, id))""",
    "CREATE INDEX ON fathom.chunks(index_no, document_no)",
    """CREATE TABLE fathom.sources(
      index_no int NOT NULL REFERENCES fathom.indexes ON DELETE CASCADE,
      workspace_no int NOT NULL, path text COLLATE "C" NOT NULL, digest text NOT NULL,
      outcome text NOT NULL, reason text NOT NULL, document_id text COLLATE "C",
      PRIMARY KEY(index_no, path))""",
    "CREATE INDEX ON fathom.sources(index_no, document_id)",
    """CREATE TABLE fathom.spaces(
      no int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      index_no int NOT NULL REFERENCES fathom.indexes ON DELETE CASCADE,
      workspace_no int NOT NULL, name text COLLATE "C" NOT NULL, identity jsonb NOT NULL,
      dimension int NOT NULL DEFAULT 0, filled int NOT NULL DEFAULT 0,
      UNIQUE(index_no, name))""",
    """CREATE TABLE fathom.kept(
      index_no int NOT NULL REFERENCES fathom.indexes ON DELETE CASCADE,
      workspace_no int NOT NULL, key text NOT NULL, vector bytea NOT NULL,
      PRIMARY KEY(index_no, key))""",
    """CREATE TABLE fathom.calibrations(
      index_no int NOT NULL REFERENCES fathom.indexes ON DELETE CASCADE,
      workspace_no int NOT NULL, strategy text COLLATE "C" NOT NULL, data text NOT NULL,
      PRIMARY KEY(index_no, strategy))""",
    """CREATE TABLE fathom.terms(
      index_no int NOT NULL REFERENCES fathom.indexes ON DELETE CASCADE,
      workspace_no int NOT NULL, term text COLLATE "C" NOT NULL, chunks int NOT NULL,
      PRIMARY KEY(index_no, term))""",
    """CREATE TABLE fathom.postings(
      index_no int NOT NULL REFERENCES fathom.indexes ON DELETE CASCADE,
      workspace_no int NOT NULL, term text COLLATE "C" NOT NULL, segment int NOT NULL,
      numbers bytea NOT NULL, frequencies bytea NOT NULL, lengths bytea NOT NULL,
      PRIMARY KEY(index_no, term, segment))""",
    """CREATE TABLE fathom.removed(
      index_no int NOT NULL REFERENCES fathom.indexes ON DELETE CASCADE,
      workspace_no int NOT NULL, chunk_no int NOT NULL, PRIMARY KEY(index_no, chunk_no))""",
)
_DROPPED_TABLES = (
    """CREATE TABLE fathom.dropped(
      space_no int PRIMARY KEY, workspace_no int NOT NULL,
      at timestamptz NOT NULL DEFAULT now())""",
)
_BASE_GUARDED = (
    "indexes",
    "documents",
    "chunks",
    "sources",
    "spaces",
    "kept",
    "calibrations",
    "terms",
    "postings",
    "removed",
)


IN_WORKSPACE = "workspace_no = NULLIF(current_setting('fathom.workspace', true), '')::int"
"""The condition that a row belongs to the workspace that the connection has entered."""


def build_guards(table: str) -> tuple[str, ...]:
    """Return the statements that limit a connection to its workspace's rows in a table."""
    return (
        f"ALTER TABLE fathom.{table} ENABLE ROW LEVEL SECURITY",
        # Without FORCE the owner of the table, as whom Fathom usually connects, sees all rows.
        f"ALTER TABLE fathom.{table} FORCE ROW LEVEL SECURITY",
        f"CREATE POLICY workspace ON fathom.{table} USING ({IN_WORKSPACE}) "
        f"WITH CHECK ({IN_WORKSPACE})",
    )


def _build_migration(tables: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the statements of one migration: the tables, then their row-level security."""
    return (*tables, *(statement for name in names for statement in build_guards(name)))


MIGRATIONS: Sequence[tuple[str, ...]] = (
    _build_migration(_BASE_TABLES, _BASE_GUARDED),
    _build_migration(TRACES, TRACES_GUARDED),
    _build_migration(_DROPPED_TABLES, ("dropped",)),
    _build_migration(BACKENDS, BACKENDS_GUARDED),
    _build_migration(SERVED, SERVED_GUARDED),
    _build_migration(RATES, RATES_GUARDED),
    _build_migration(GONE, GONE_GUARDED),
    _build_migration(DOORS, DOORS_GUARDED),
    _build_migration(OWNERS, OWNERS_GUARDED),
    _build_migration(OBJECTS, OBJECTS_GUARDED),
    (*_build_migration(RIGHTS, RIGHTS_GUARDED), *RIGHTS_POLICIES),
    _build_migration(AUDIT, AUDIT_GUARDED),
    _build_migration(TRACE_OWNERS, TRACE_OWNERS_GUARDED),
)
"""The statements that lead from each version to the next; released ones never change."""
VERSION = len(MIGRATIONS)
_LAYOUT_LOCK = 5_072_106_104
"""The key of the advisory lock whose holder creates the tables."""


def read_version(connection: Connection) -> int:
    """Return the version of the tables on the server; 0 if there are none."""
    table = connection.execute("SELECT to_regclass('fathom.layout')").fetchone()
    if table is None or table[0] is None:
        return 0
    row = connection.execute("SELECT max(version) FROM fathom.layout").fetchone()
    return int(row[0]) if row and row[0] else 0


def check_version(connection: Connection, address: Address) -> int:
    """Return the version of the tables if this Fathom can read them; 0 if there are none.

    Raises:
        IndexMismatch: If a newer Fathom created them.
    """
    layout = read_version(connection)
    if layout > VERSION:
        raise IndexMismatch(
            f"{address} has layout {layout}, this Fathom reads {VERSION}; update Fathom here, or "
            "choose another database with --index"
        )
    return layout


def migrate(connection: Connection, address: Address) -> None:
    """Create the tables, or bring them to this version; do nothing if they have it.

    Raises:
        IndexMismatch: If a newer Fathom created them.
        UsageError: If the database stores texts in another encoding than UTF-8.
        RunError: If the server has no pgvector, or does not let the user create tables.
    """
    if check_version(connection, address) == VERSION:
        return
    _check_encoding(connection, address)
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LAYOUT_LOCK,))
        _add_pgvector(connection, address)
        try:
            # Another process may have migrated while this one waited for the lock.
            _run_migrations(connection, check_version(connection, address))
        except psycopg.errors.InsufficientPrivilege as error:
            raise RunError(
                f"{address} does not let its user make tables; as an administrator run "
                "GRANT CREATE ON DATABASE ... TO ... there"
            ) from error


def _run_migrations(connection: Connection, layout: int) -> None:
    """Run the migrations that follow a version, and record each."""
    connection.execute("CREATE SCHEMA IF NOT EXISTS fathom")
    connection.execute("CREATE TABLE IF NOT EXISTS fathom.layout(version int PRIMARY KEY)")
    for number, statements in enumerate(MIGRATIONS[layout:], start=layout + 1):
        for statement in statements:
            connection.execute(statement)
        connection.execute("INSERT INTO fathom.layout VALUES (%s)", (number,))


def _check_encoding(connection: Connection, address: Address) -> None:
    """Check that the encoding of the database can store every text.

    Raises:
        UsageError: If the encoding is not UTF-8.
    """
    row = connection.execute("SHOW server_encoding").fetchone()
    if row is None or row[0] != "UTF8":
        raise UsageError(f"{address} keeps texts as {row and row[0]}; make a database with UTF8")


def _add_pgvector(connection: Connection, address: Address) -> None:
    """Create the extension pgvector if it is missing.

    Raises:
        RunError: If the server does not have it, or does not let the user create it.
    """
    try:
        with connection.transaction():
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    except psycopg.Error as error:
        raise RunError(
            f"{address} has no pgvector; install it on the server, and as an administrator run "
            "CREATE EXTENSION vector in the database"
        ) from error
