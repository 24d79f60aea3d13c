"""What finds chunks for an index on a server: its words and its vectors.

The rows of the index are the truth. Legs are derived from them: in the database itself, as
`postings.DatabaseLegs`, or by another engine beside it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from fathom.index.base import Vector
from fathom.index.filters import Allowed
from fathom.index.postgres.connections import Connections
from fathom.index.postgres.store import Store, StoredSpace
from fathom.index.rows import HalfMatrix

Scored = list[tuple[int, float]]
"""Chunks by number with their scores."""
Transaction = Callable[[], AbstractContextManager[Store]]
"""Begins one, alone with the index, which is committed at the end of its `with` block."""


@dataclass(frozen=True, slots=True)
class Posted:
    """A chunk as legs take it: its number, its document's, and how often it has each term.

    Numbers are never used again within an index, but for those of a change that was not committed.
    """

    number: int
    document: int
    counts: Mapping[str, int]

    @property
    def length(self) -> int:
        """How many terms it has, all together."""
        return sum(self.counts.values())


class Legs(Protocol):
    """Finds chunks, and follows the changes of an index; used by several threads at once.

    What is searched is asked inside a transaction that sees one state of the index, and found is
    what belongs to that state; what is changed is told inside the transaction that changes it.
    """

    def keyword_search(
        self, store: Store, terms: Mapping[str, int], *, k: int, allowed: Allowed | None
    ) -> Scored:
        """The `k` chunks with the highest BM25 scores, and at least all ties of the last one.

        Args:
            store: Reads the state that is searched.
            terms: How often the query has each.
            k: See above.
            allowed: Only these.
        """
        ...

    def vector_search(
        self, store: Store, vector: Vector, space: StoredSpace, *, k: int, allowed: Allowed | None
    ) -> Scored:
        """The `k` chunks with the highest exact cosines, and at least all ties of the last one."""
        ...

    def chunks_with(self, store: Store, terms: Sequence[str]) -> int:
        """How many chunks have one of the terms; see `IndexReader.word_counts`."""
        ...

    def make_index(self, store: Store) -> None:
        """An index is made in this step; it is empty."""
        ...

    def reserve(self, transaction: Transaction, chunks: int) -> int | None:
        """The number of the first of so many new chunks, where no other change may have it.

        Args:
            transaction: Ends before the one that adds the chunks begins.
            chunks: How many.

        Returns:
            `None` where the numbers of a change that was not committed may be used again.
        """
        ...

    def add(self, store: Store, chunks: Sequence[Posted]) -> None:
        """Take the words of new chunks."""
        ...

    def add_vectors(
        self, store: Store, space: StoredSpace, vectors: Mapping[int, HalfMatrix]
    ) -> None:
        """Take the vectors of chunks by number, which the space's table has already."""
        ...

    def remove(self, store: Store, numbers: Sequence[int]) -> None:
        """Find these chunks no more; their rows go in the same step."""
        ...

    def purge(self, store: Store) -> None:
        """Keep nothing, not even hidden, of what was removed, as soon as nobody reads it.

        Publishes a revision if something went of what searches read.
        """
        ...

    def drop_space(self, store: Store, space: StoredSpace) -> None:
        """Let go of a space; its table goes in the same step."""
        ...

    def drop_index(self, store: Store) -> None:
        """Let go of a whole index; its rows go in the same step."""
        ...

    def optimize(self, store: Store) -> None:
        """Be as fast as can be; changes no result."""
        ...

    def committed(self, connections: Connections, index: int) -> None:
        """The change that was told last is durable, and readers see it.

        What nobody needs to wait for may begin beside what is done next.

        Args:
            connections: To the workspace.
            index: The number of the index.
        """
        ...

    def settle(self, connections: Connections, index: int) -> None:
        """Do at once what `committed` has done beside; in no transaction."""
        ...

    def opened(self, store: Store) -> None:
        """The index was opened, for reading or for writing.

        Raises:
            IndexMismatch: If other legs follow it.
        """
        ...

    def catch_up(self, store: Store) -> None:
        """Take what the rows of the index have and the legs lack; whoever writes begins so.

        Raises:
            RunError: If the legs cannot take anything now.
        """
        ...

    def remake(self, store: Store) -> None:
        """Take all of the index again, in place of what is there; searches go on meanwhile."""
        ...

    def findings(self, store: Store) -> Iterator[str]:
        """What the legs lack of the index, in words."""
        ...

    def close(self) -> None:
        """Let go of connections; calling it twice is fine."""
        ...
