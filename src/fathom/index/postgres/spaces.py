"""Spaces of vectors on the server, each in a table of its own; large ones have a graph."""

import json
from contextlib import suppress

import psycopg

from fathom.index.base import Space
from fathom.index.postgres.connections import Connection
from fathom.index.postgres.schema import IN_WORKSPACE, build_guards
from fathom.index.postgres.store import PostgresStore, SpaceTable

RETENTION_S = 3600
"""The time in seconds that a removed space's table is kept for questions in progress."""


def create_space(store: PostgresStore, space: Space) -> None:
    """Create a space, empty, with a table of its own."""
    number = store.run(
        "INSERT INTO fathom.spaces(index_no, workspace_no, name, identity) "
        "VALUES (%(index)s, %(workspace)s, %(name)s, %(identity)s) RETURNING no",
        name=space.name,
        identity=json.dumps(dict(space.identity)),
    )
    table = f"vectors_{number}"
    store.run(
        f"CREATE TABLE fathom.{table}(workspace_no int NOT NULL, chunk_no int PRIMARY KEY, "
        "vector halfvec NOT NULL)"
    )
    for statement in build_guards(table):
        store.run(statement)


def drop_space(store: PostgresStore, space: SpaceTable) -> None:
    """Remove a space; its table stays until `sweep_spaces`, because readers may still use it."""
    store.run(
        "INSERT INTO fathom.dropped(space_no, workspace_no) VALUES (%(space)s, %(workspace)s)",
        space=space.no,
    )
    store.run(f"DELETE FROM fathom.spaces WHERE no = {space.no:d}")  # noqa: S608 - a number


def sweep_spaces(connection: Connection) -> None:
    """Drop the tables of spaces that were removed more than `RETENTION_S` ago.

    A table that a reader still uses stays until the next call.
    """
    waiting = connection.execute(
        "SELECT space_no FROM fathom.dropped WHERE at < now() - make_interval(secs => %s) "  # noqa: S608 - constant
        f"AND {IN_WORKSPACE}",
        (RETENTION_S,),
    ).fetchall()
    for (number,) in waiting:
        with suppress(psycopg.errors.LockNotAvailable), connection.transaction():
            connection.execute("SET LOCAL lock_timeout = '500ms'")
            connection.execute(f"DROP TABLE IF EXISTS fathom.vectors_{number:d}")
            connection.execute("DELETE FROM fathom.dropped WHERE space_no = %s", (number,))


def build_graph(store: PostgresStore, space: SpaceTable) -> None:
    """Build the graph of neighbours of a space if it is missing; later vectors are added to it."""
    store.run("SET LOCAL maintenance_work_mem = '512MB'")
    store.run(
        f"CREATE INDEX IF NOT EXISTS graph_{space.no} ON {space.table} USING hnsw "
        f"((vector::halfvec({space.dimension})) halfvec_ip_ops) "
        "WITH (m = 32, ef_construction = 200)"
    )
