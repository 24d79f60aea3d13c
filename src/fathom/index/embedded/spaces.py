"""Vector spaces as SQLite knows them, and whether one can be searched."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fathom.errors import IndexMismatch
from fathom.index.base import Space
from fathom.index.embedded.hnsw import GraphRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSpace:
    """A space of vectors.

    Attributes:
        number: 0 for the one that every index has.
        name: Empty for that one.
        dimension: Of its vectors; 0 while there are none.
        identity: Of the embedder that made them; empty for that one, as the index has it.
        lacking: Chunks without a vector in it, or a few more while a change is published.
    """

    number: int
    name: str
    dimension: int
    graph: GraphRecord | None
    identity: Mapping[str, str] = field(default_factory=dict)
    lacking: int = 0

    @property
    def table(self) -> str:
        """Where its vectors are."""
        return f"vectors_{self.number}" if self.number else "vectors"

    @property
    def lacking_key(self) -> str:
        """Under which `lacking` is noted."""
        return f"lacking.{self.number}"

    def graph_file(self, state: str) -> str:
        """A name for its graph, of a state that no graph of it had before."""
        return f"vectors-{state}" + (f"-{self.number}" if self.number else "") + ".usearch"


def to_space(row: sqlite3.Row) -> StoredSpace:
    """A row of `spaces`; what it lacks is noted elsewhere."""
    return StoredSpace(
        number=row["no"],
        name=row["name"],
        dimension=row["dimension"],
        graph=GraphRecord.loads(row["graph"]),
        identity=json.loads(row["identity"]),
    )


def check_made_with(directory: Path, wanted: Space, found: StoredSpace | None) -> StoredSpace:
    """The space that is wanted.

    Raises:
        IndexMismatch: If it is not there or was made otherwise; says how to make it.
    """
    if found is None:
        raise IndexMismatch(
            f"the index at {directory} has no vectors of {wanted.name!r}; run `fathom ingest` "
            "with it in retrieval.embedders"
        )
    if found.identity != wanted.identity:
        keys = sorted({*found.identity, *wanted.identity})
        differing = [key for key in keys if found.identity.get(key) != wanted.identity.get(key)]
        raise IndexMismatch(
            f"the index at {directory} has vectors of another {wanted.name!r} (another "
            f"{', '.join(differing)}); run `fathom ingest` to make them anew"
        )
    return found
