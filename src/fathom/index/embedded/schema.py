"""The tables of the embedded index, and functions that open its SQLite file.

A row is visible at revision P if `added <= P`. A row that a revision removes has the number of the
revision in `removed`; the transaction that publishes the revision deletes the row. So old and new
rows of a document exist side by side only before the publication, and no reader, and no process
after a kill, sees a mixture.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Literal

from fathom.errors import FathomError, IndexCorrupt, IndexMismatch, RunError
from fathom.index.embedded.database import create_private_file
from fathom.index.rows import DamagedRowError

SCHEMA_VERSION = 1
FILE = "fathom.db"

WRITER_CACHE_KB = 16_000
READER_CACHE_KB = 4000
"""Small, because a question reads few rows, which the system caches too."""
_WAIT_FOR_LOCKS = "PRAGMA busy_timeout = 10000"
Durability = Literal["normal", "full"]

TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents(
  no INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, path TEXT NOT NULL,
  title TEXT NOT NULL, language TEXT NOT NULL, metadata TEXT NOT NULL, digest TEXT NOT NULL,
  fingerprint BLOB NOT NULL,
  updated TEXT NOT NULL, added INTEGER NOT NULL, removed INTEGER);
CREATE UNIQUE INDEX documents_id ON documents(id) WHERE removed IS NULL;
CREATE INDEX documents_all ON documents(id);
CREATE INDEX documents_removed ON documents(removed) WHERE removed IS NOT NULL;
CREATE TABLE contents(
  document_no INTEGER PRIMARY KEY, text TEXT NOT NULL, blocks BLOB NOT NULL,
  checksum INTEGER NOT NULL);
CREATE TABLE sources(
  no INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL, digest TEXT NOT NULL,
  outcome TEXT NOT NULL, reason TEXT NOT NULL, document_id TEXT,
  added INTEGER NOT NULL, removed INTEGER);
CREATE UNIQUE INDEX sources_path ON sources(path) WHERE removed IS NULL;
CREATE INDEX sources_all ON sources(path);
CREATE INDEX sources_document ON sources(document_id);
CREATE INDEX sources_removed ON sources(removed) WHERE removed IS NOT NULL;
CREATE TABLE chunks(
  no INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, document_no INTEGER NOT NULL,
  ordinal INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, page INTEGER,
  headings TEXT NOT NULL, added INTEGER NOT NULL, removed INTEGER);
CREATE UNIQUE INDEX chunks_id ON chunks(id) WHERE removed IS NULL;
CREATE INDEX chunks_all ON chunks(id);
CREATE INDEX chunks_document ON chunks(document_no);
CREATE INDEX chunks_removed ON chunks(removed) WHERE removed IS NOT NULL;
CREATE TABLE vectors(
  chunk_no INTEGER PRIMARY KEY, vector BLOB NOT NULL, checksum INTEGER NOT NULL);
"""

# Tables of later versions; older indexes get them with the next write. The vectors of further
# space number n are in a table of their own, `vectors_n`, laid out like `vectors`.
LATER_TABLES = (
    "CREATE TABLE IF NOT EXISTS kept(key TEXT PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS spaces(no INTEGER PRIMARY KEY AUTOINCREMENT, "
    "name TEXT NOT NULL UNIQUE, identity TEXT NOT NULL, dimension INTEGER NOT NULL, "
    "graph TEXT NOT NULL, changes INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS calibrations(strategy TEXT PRIMARY KEY, data TEXT NOT NULL) "
    "WITHOUT ROWID",
    # The readers of the places and documents that not everybody may read.
    "CREATE TABLE IF NOT EXISTS place_readers(path TEXT NOT NULL, clause INTEGER NOT NULL, "
    "reader TEXT NOT NULL, PRIMARY KEY(path, clause, reader)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS document_readers(document_no INTEGER NOT NULL, "
    "reader TEXT NOT NULL, PRIMARY KEY(document_no, reader)) WITHOUT ROWID",
)


def connect(
    directory: Path, *, write: bool, durability: Durability = "normal"
) -> sqlite3.Connection:
    """Open the SQLite file of `directory`; only with `write` may it be missing.

    Args:
        directory: The folder of the index.
        write: Open for writing: create a missing file, and overwrite deleted content with zeros.
        durability: With `normal` no change is lost if the process dies, but after a crash of the
            machine or a loss of power the last changes may be missing, each of them wholly; `full`
            waits for the disk at each commit and loses none.

    Raises:
        IndexCorrupt: If the file is no SQLite database.
        RunError: If it cannot be opened.
    """
    file = directory / FILE
    with name_corruption(file):
        if not write:
            return _connect_to_read(file)
        create_private_file(file)
        connection = _open(f"{file.absolute().as_uri()}?mode=rwc", WRITER_CACHE_KB)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {durability.upper()}")
            connection.execute("PRAGMA secure_delete = ON")
        except BaseException:
            connection.close()
            raise
        return connection


def _connect_to_read(file: Path) -> sqlite3.Connection:
    """Open the file for reading, even in a folder without write permission."""
    try:
        return _open(f"{file.absolute().as_uri()}?mode=ro", READER_CACHE_KB)
    except sqlite3.OperationalError:
        # The folder may be without write permission. Without a log the file holds all content.
        log = file.with_name(f"{file.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
    return _open(f"{file.absolute().as_uri()}?mode=ro&immutable=1", READER_CACHE_KB)


def _open(uri: str, cache_kb: int) -> sqlite3.Connection:
    """Open a connection that has the functions of `dialect`, and check that it reads a database."""
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    try:
        connection.execute(_WAIT_FOR_LOCKS)
        connection.execute(f"PRAGMA cache_size = -{cache_kb}")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    for name, function in (("file_name", _get_file_name), ("folder_name", _get_folder_name)):
        connection.create_function(name, 1, function, deterministic=True)
    return connection


def _get_file_name(path: str) -> str:
    return PurePath(path).name


def _get_folder_name(path: str) -> str:
    return PurePath(path).parent.name


def create_tables(connection: sqlite3.Connection, identity: dict[str, str], lineage: str) -> None:
    """Create the tables of an empty index, in one transaction.

    Args:
        connection: A connection for writing.
        identity: The identity of the index.
        lineage: The name of the index, which no other index has.
    """
    with open_transaction(connection, write=True):
        for statement in TABLES.split(";\n"):
            if statement.strip():
                connection.execute(statement)
        first = {
            "lineage": lineage,
            "revision": "0",
            "published": "0",
            "chunks_at": "0",
            "dead": "0",
        }
        identity_rows = {f"identity.{key}": value for key, value in identity.items()}
        connection.executemany("INSERT INTO meta VALUES (?, ?)", (first | identity_rows).items())
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def has_tables(connection: sqlite3.Connection, directory: Path) -> bool:
    """Return whether the tables exist.

    Raises:
        IndexMismatch: If a version of Fathom with another layout created them.
    """
    with name_corruption(directory / FILE):
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version not in {0, SCHEMA_VERSION}:
        raise IndexMismatch(
            f"the index at {directory} has layout {version}, this Fathom reads {SCHEMA_VERSION}; "
            "run `fathom ingest --rebuild PATH...` or choose another place with --index"
        )
    return version == SCHEMA_VERSION


def fold_log(connection: sqlite3.Connection) -> None:
    """Fold the log into the database file.

    If a reader uses the log, the call gives up after half a second; a later call folds the log.
    """
    # Nothing depends on an empty log, so a writer need not wait longer.
    connection.execute("PRAGMA busy_timeout = 500")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.execute(_WAIT_FOR_LOCKS)


@contextmanager
def open_transaction(connection: sqlite3.Connection, *, write: bool) -> Iterator[None]:
    """Run the block in one transaction: one state for reads, all or nothing for writes."""
    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def name_corruption(
    file: Path, find_faults: Callable[[], Iterable[str]] = lambda: ()
) -> Iterator[None]:
    """Turn errors about a damaged file into one line that names it and the next step.

    An error of the system that names no file gets the folder of the index.

    Args:
        file: The file of SQLite.
        find_faults: The function that yields the faults of the file. It is called after an
            unforeseen error, which may come from damage: changed bytes can still be a sound
            database with wrong content. If it finds no fault, the error is raised as it is.

    Raises:
        IndexCorrupt: If the file is damaged.
        RunError: If it cannot be read or written.
    """
    try:
        yield
    except (FathomError, sqlite3.ProgrammingError):
        raise
    except OSError as error:
        if error.filename is not None or error.strerror is None:
            raise
        # Without a file's name it would be taken for an error of the output.
        message = f"{file.parent}: {error.strerror}; check free space and permissions"
        raise RunError(message) from error
    except sqlite3.OperationalError as error:
        if is_damage(error):
            raise _build_damage_error(file, _shorten(error)) from error
        raise RunError(f"{file}: {error}; check free space and permissions") from error
    except Exception as error:
        fault = _shorten(error) if is_damage(error) else _find_first_fault(find_faults)
        if not fault:
            raise
        raise _build_damage_error(file, fault) from error


def is_damage(error: Exception) -> bool:
    """Return whether an error says that a database is damaged or that the file is none."""
    name = getattr(error, "sqlite_errorname", "") or ""
    signs = ("no such table", "Could not decode to UTF-8")
    has_code = name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))
    return has_code or isinstance(error, DamagedRowError) or str(error).startswith(signs)


def _shorten(error: Exception) -> str:
    """Return the message of an error without quoted text of documents."""
    return str(error).partition(" with text")[0]  # the rest quotes a document


def _find_first_fault(find_faults: Callable[[], Iterable[str]]) -> str:
    """Return the first fault without its next step; empty if there is none."""
    try:
        return next(iter(find_faults()), "").partition(";")[0]
    except (sqlite3.Error, DamagedRowError, ValueError, TypeError) as error:
        return _shorten(error)


def _build_damage_error(file: Path, fault: str) -> IndexCorrupt:
    """Return the error for a damaged file."""
    return IndexCorrupt(
        f"{file} is damaged ({fault}); restore it from a backup or make the index anew with "
        "`fathom ingest --rebuild PATH...`"
    )
