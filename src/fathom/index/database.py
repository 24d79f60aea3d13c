"""Tables beside an index, for what a server keeps of its own: keys, jobs, conversations."""

from collections.abc import Sequence
from typing import Any, Protocol


class Database(Protocol):
    """Runs statements one by one, each durable when it returns; safe from threads and processes.

    Statements are of the SQL that all engines have in common, with `?` for values and plain names
    of tables. Where an index lies on a server its workspace sees rows of its own alone.
    """

    @property
    def clock(self) -> str:
        """The seconds since 1970 as an expression, the same for all who use the tables."""
        ...

    @property
    def is_near(self) -> bool:
        """Whether it is on this disk, so that looking at it takes no time to speak of."""
        ...

    def is_there(self) -> bool:
        """Whether anything may have been kept yet."""
        ...

    def ask(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run one statement; gives its rows.

        Raises:
            RunError: If the tables cannot be used.
        """
        ...

    def close(self) -> None:
        """Let go of it; it may be used again."""
        ...
