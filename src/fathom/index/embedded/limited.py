"""The limits of a viewer: connections on which the rows of hidden documents do not exist.

Temporary views have the names of the tables. SQLite looks for a name among the views of the
connection first, so every statement is limited, also one that is written later.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from fathom.errors import UsageError
from fathom.index.embedded import schema
from fathom.index.rights import ReadingRule, Viewer, dump_rules, load_rules

COPY = "rights.json"
"""A copy of the rules beside the database, for the case that the database cannot be read."""
_IS_HIDDEN_PLACE = (
    "EXISTS(SELECT 1 FROM main.place_readers AS one WHERE one.path = {path} AND NOT EXISTS("
    "SELECT 1 FROM main.place_readers AS other JOIN temp.viewer ON name = other.reader "
    "WHERE other.path = {path} AND other.clause = one.clause))"
)
"""The condition that a place has a clause without the viewer."""
_HIDES_ITSELF = (
    "EXISTS(SELECT 1 FROM main.document_readers WHERE document_no = {number}) AND NOT EXISTS("
    "SELECT 1 FROM main.document_readers JOIN temp.viewer ON name = reader "
    "WHERE document_no = {number})"
)
"""The condition that a document names readers, but not the viewer."""
_HAS_HIDDEN_PLACE = (
    "EXISTS(SELECT 1 FROM main.sources AS place WHERE place.document_id = {document} "  # noqa: S608 - constant
    f"AND {_IS_HIDDEN_PLACE.format(path='place.path')})"
)
_IS_HIDDEN_DOCUMENT = (
    "EXISTS(SELECT 1 FROM main.documents AS held WHERE held.id = {document} "  # noqa: S608 - constant
    f"AND ({_HIDES_ITSELF.format(number='held.no')}))"
)
_VIEWS = (
    "CREATE TEMP TABLE viewer(name TEXT PRIMARY KEY) WITHOUT ROWID",
    # One hidden place hides the document, and so all of its places.
    "CREATE TEMP VIEW documents AS SELECT document.* FROM main.documents AS document "  # noqa: S608 - constant
    f"WHERE NOT {_HAS_HIDDEN_PLACE.format(document='document.id')} "
    f"AND NOT {_IS_HIDDEN_PLACE.format(path='document.path')} "
    f"AND NOT ({_HIDES_ITSELF.format(number='document.no')})",
    "CREATE TEMP VIEW sources AS SELECT source.* FROM main.sources AS source "  # noqa: S608 - constant
    f"WHERE NOT {_IS_HIDDEN_PLACE.format(path='source.path')} "
    f"AND NOT {_HAS_HIDDEN_PLACE.format(document='source.document_id')} "
    f"AND NOT {_IS_HIDDEN_DOCUMENT.format(document='source.document_id')}",
    "CREATE TEMP VIEW contents AS SELECT content.* FROM main.contents AS content "
    "WHERE EXISTS(SELECT 1 FROM temp.documents WHERE no = content.document_no)",
    "CREATE TEMP VIEW chunks AS SELECT chunk.* FROM main.chunks AS chunk "
    "WHERE EXISTS(SELECT 1 FROM temp.documents WHERE no = chunk.document_no)",
    "CREATE TEMP VIEW place_readers AS SELECT * FROM main.place_readers WHERE FALSE",
    "CREATE TEMP VIEW document_readers AS SELECT * FROM main.document_readers WHERE FALSE",
    "CREATE TEMP VIEW kept AS SELECT * FROM main.kept WHERE FALSE",
)


def connect_viewer(directory: Path, viewer: Viewer | None) -> sqlite3.Connection:
    """Open the database for reading, limited to the documents that a viewer may read.

    Args:
        directory: The folder of the index.
        viewer: The viewer; `None` limits nothing.

    Raises:
        UsageError: If there is a viewer and the index holds no rights.
    """
    connection = schema.connect(directory, write=False)
    if viewer is not None:
        try:
            _hide_documents(connection, viewer)
        except BaseException:
            connection.close()
            raise
    return connection


def _hide_documents(connection: sqlite3.Connection, viewer: Viewer) -> None:
    """Hide the documents that a viewer may not read until the connection is closed.

    Raises:
        UsageError: If the index holds no rights.
    """
    has_rights = connection.execute(
        "SELECT EXISTS(SELECT 1 FROM main.sqlite_master WHERE name = 'document_readers')"
    ).fetchone()[0]
    if not has_rights:
        raise UsageError(
            "this index holds no rights of documents; `fathom ingest --readers FILE` gives them"
        )
    for statement in _VIEWS:
        connection.execute(statement)
    connection.executemany(
        "INSERT INTO temp.viewer VALUES (?)", [(name,) for name in sorted(viewer.names)]
    )


def write_rights_copy(directory: Path, rules: Sequence[ReadingRule]) -> None:
    """Write a copy of the rules beside the database."""
    (directory / COPY).write_text(dump_rules(rules), encoding="utf-8")


def read_rights_copy(directory: Path) -> tuple[ReadingRule, ...]:
    """Return the copy of the rules beside a database; none if no rules were ever stored."""
    file = directory / COPY
    return load_rules(file.read_text(encoding="utf-8")) if file.is_file() else ()
