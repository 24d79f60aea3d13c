"""Vector spaces as SQLite stores them."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

from fathom.index.embedded.hnsw import GraphRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteSpace:
    """A vector space as stored in SQLite.

    Attributes:
        number: The number of the space; 0 for the space that every index has.
        name: The name of the space; empty for the space that every index has.
        dimension: The dimension of its vectors; 0 while there are none.
        graph: The record of its graph of neighbours; `None` without a graph.
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
        """Return the file name for a graph of the space that is built at a state."""
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
