"""Spaces of vectors on the server, each in a table of its own; large ones have a graph."""

import json

from fathom.index.base import Space
from fathom.index.postgres.schema import guarded
from fathom.index.postgres.store import Store, StoredSpace


def make_space(store: Store, space: Space) -> None:
    """Lay a space out, empty, in a table of its own."""
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
    for statement in guarded(table):
        store.run(statement)


def drop_space(store: Store, space: StoredSpace) -> None:
    """Remove a space with its vectors."""
    store.run(f"DROP TABLE {space.table}")
    store.run(f"DELETE FROM fathom.spaces WHERE no = {space.no:d}")  # noqa: S608 - a number


def build_graph(store: Store, space: StoredSpace) -> None:
    """Build the graph of neighbours, where it is not there; what comes later joins it."""
    store.run("SET LOCAL maintenance_work_mem = '512MB'")
    store.run(
        f"CREATE INDEX IF NOT EXISTS graph_{space.no} ON {space.table} USING hnsw "
        f"((vector::halfvec({space.dimension})) halfvec_ip_ops) "
        "WITH (m = 16, ef_construction = 128)"
    )
