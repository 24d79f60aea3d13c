"""The protocol of the tables that a server keeps beside an index: keys, jobs, conversations."""

from collections.abc import Sequence
from typing import Any, Protocol


class Database(Protocol):
    """A connection that runs statements one by one, each durable when it returns.

    The connection is safe for threads and processes. Statements use the SQL that all engines have
    in common, with `?` for values and plain names of tables. On a database server the connection
    sees only the rows of its workspace.
    """

    @property
    def clock(self) -> str:
        """The seconds since 1970 as an SQL expression, the same for all users of the tables."""
        ...

    @property
    def is_near(self) -> bool:
        """Return whether the database is on this disk, so that reading it takes almost no time."""
        ...

    def is_there(self) -> bool:
        """Return whether the database may hold rows; `False` if its file does not exist yet."""
        ...

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows.

        Raises:
            RunError: If the tables cannot be used.
        """
        ...

    def close(self) -> None:
        """Close the connection; the next statement opens it again."""
        ...
