"""Statements that SQLite and PostgreSQL both run, with `?` for their values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Cursor(Protocol):
    """The part of a database cursor that `SqlTransaction` needs."""

    @property
    def description(self) -> object:
        """The columns of the rows; `None` if the statement returns no rows."""
        ...

    @property
    def rowcount(self) -> int:
        """The number of rows that the statement changed."""
        ...

    def execute(self, statement: Any, values: Any, /) -> object:  # noqa: ANN401 - engines differ
        """Run one statement."""
        ...

    def executemany(self, statement: Any, rows: Any, /) -> object:  # noqa: ANN401 - engines differ
        """Run one statement for each row of values."""
        ...

    def fetchall(self) -> list[Any]:
        """Return the rows of the statement."""
        ...


class Connection(Protocol):
    """The part of a database connection that `SqlTransaction` needs."""

    def cursor(self) -> Cursor:
        """Return a new cursor."""
        ...


@dataclass(frozen=True, slots=True)
class SqlTransaction:
    """A runner of statements in one transaction.

    Attributes:
        connection: A connection that is in the transaction.
        placeholder: The mark of a value in the engine's SQL, which replaces each `?`.
    """

    connection: Connection
    placeholder: str = "?"

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows; none for a statement without rows."""
        cursor = self.connection.cursor()
        cursor.execute(statement.replace("?", self.placeholder), values)
        return cursor.fetchall() if cursor.description else []

    def execute_many(self, statement: str, rows: Sequence[Sequence[object]]) -> int:
        """Run one statement for each row of values and return the number of changed rows."""
        if not rows:
            return 0
        cursor = self.connection.cursor()
        cursor.executemany(statement.replace("?", self.placeholder), rows)
        return cursor.rowcount
