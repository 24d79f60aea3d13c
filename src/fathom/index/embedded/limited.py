"""The limits of a viewer: connections on which the rows of hidden documents do not exist.

Views of the same names stand before the tables, so that every statement is limited, also one that
is written later. SQLite looks for a name among the views of the connection first.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from fathom.errors import UsageError
from fathom.index.embedded import schema
from fathom.index.rights import ReadingRule, Viewer, dump_rules, load_rules

COPY = "rights.json"
"""A copy of the rules beside the database, for the case that the database cannot be read."""
_VIEWS = (
    "CREATE TEMP TABLE viewer(name TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TEMP VIEW hidden_places AS SELECT path FROM main.readers "
    "EXCEPT SELECT path FROM main.readers WHERE reader IN (SELECT name FROM temp.viewer)",
    # One hidden place hides the document, and so all of its places.
    "CREATE TEMP VIEW hidden_documents AS SELECT document_id AS id FROM main.sources "
    "WHERE document_id IS NOT NULL AND path IN (SELECT path FROM temp.hidden_places) "
    "UNION SELECT id FROM main.documents WHERE path IN (SELECT path FROM temp.hidden_places)",
    "CREATE TEMP VIEW documents AS SELECT * FROM main.documents "
    "WHERE id NOT IN (SELECT id FROM temp.hidden_documents)",
    "CREATE TEMP VIEW sources AS SELECT * FROM main.sources "
    "WHERE path NOT IN (SELECT path FROM temp.hidden_places) AND "
    "(document_id IS NULL OR document_id NOT IN (SELECT id FROM temp.hidden_documents))",
    "CREATE TEMP VIEW hidden_numbers AS SELECT no FROM main.documents "
    "WHERE id IN (SELECT id FROM temp.hidden_documents)",
    "CREATE TEMP VIEW contents AS SELECT * FROM main.contents "
    "WHERE document_no NOT IN (SELECT no FROM temp.hidden_numbers)",
    "CREATE TEMP VIEW chunks AS SELECT * FROM main.chunks "
    "WHERE document_no NOT IN (SELECT no FROM temp.hidden_numbers)",
    "CREATE TEMP VIEW readers AS SELECT * FROM main.readers WHERE FALSE",
    "CREATE TEMP VIEW kept AS SELECT * FROM main.kept WHERE FALSE",
)


def connect_viewer(directory: Path, viewer: Viewer | None) -> sqlite3.Connection:
    """Open the database for reading, limited to what a viewer may read; `None` reads all.

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
    """Hide the documents that a viewer may not read, for as long as the connection lives."""
    has_rights = connection.execute(
        "SELECT EXISTS(SELECT 1 FROM main.sqlite_master WHERE name = 'readers')"
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
    """Write the rules beside the database."""
    (directory / COPY).write_text(dump_rules(rules), encoding="utf-8")


def read_rights_copy(directory: Path) -> tuple[ReadingRule, ...]:
    """Return the rules beside a database that cannot be read; none if there never were any."""
    file = directory / COPY
    return load_rules(file.read_text(encoding="utf-8")) if file.is_file() else ()
