"""Vector spaces as SQLite stores them, and the check whether one can be searched."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fathom.errors import IndexMismatch
from fathom.index.base import Space
from fathom.index.embedded.hnsw import GraphRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteSpace:
    """A vector space as stored in SQLite.

    Attributes:
        number: 0 for the space that every index has.
        name: Empty for the space that every index has.
        dimension: The dimension of its vectors; 0 while there are none.
        identity: The identity of its embedder; empty for the space that every index has, whose
            identity is the index's.
        lacking: The number of chunks without a vector in the space, or a few more while a change is
            published.
    """

    number: int
    name: str
    dimension: int
    graph: GraphRecord | None
    identity: Mapping[str, str] = field(default_factory=dict)
    lacking: int = 0

    @property
    def table(self) -> str:
        """The table of its vectors."""
        return f"vectors_{self.number}" if self.number else "vectors"

    @property
    def lacking_key(self) -> str:
        """The key in `meta` under which `lacking` is stored."""
        return f"lacking.{self.number}"

    def name_graph_file(self, state: str) -> str:
        """Return a file name for its graph of a state that had no graph before."""
        return f"vectors-{state}" + (f"-{self.number}" if self.number else "") + ".usearch"


def build_space(row: sqlite3.Row) -> SqliteSpace:
    """Build a space from a row of `spaces`, without `lacking`, which `meta` holds."""
    return SqliteSpace(
        number=row["no"],
        name=row["name"],
        dimension=row["dimension"],
        graph=GraphRecord.loads(row["graph"]),
        identity=json.loads(row["identity"]),
    )


def require_space(directory: Path, space: Space, stored: SqliteSpace | None) -> SqliteSpace:
    """Return the stored space after a check that it is the requested one.

    Raises:
        IndexMismatch: If the space is missing or was made otherwise; the message says how to make
            it.
    """
    if stored is None:
        raise IndexMismatch(
            f"the index at {directory} has no vectors of {space.name!r}; run `fathom ingest` "
            "with it in retrieval.embedders"
        )
    if stored.identity != space.identity:
        keys = sorted({*stored.identity, *space.identity})
        differing = [key for key in keys if stored.identity.get(key) != space.identity.get(key)]
        raise IndexMismatch(
            f"the index at {directory} has vectors of another {space.name!r} (another "
            f"{', '.join(differing)}); run `fathom ingest` to make them anew"
        )
    return stored
