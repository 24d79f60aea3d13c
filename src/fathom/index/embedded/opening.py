"""Functions that open and verify an embedded index: one directory, no server.

`fathom.db` (SQLite) is the only truth. `tantivy*/` and `vectors-*.usearch` are derived from it
and made anew if they are missing or unsound. `lock` belongs to the one writer.
"""

import secrets
import time
from collections.abc import Mapping
from pathlib import Path

from fathom.errors import IndexLocked, RunError, UsageError
from fathom.index.embedded import schema
from fathom.index.embedded.derived import discard_graphs, list_keyword_entries
from fathom.index.embedded.keyword import (
    FOLDER,
    KeywordIndex,
    discard_folder,
    discard_unlisted_files,
)
from fathom.index.embedded.limited import connect_viewer
from fathom.index.embedded.lock import WriterLock, describe_holder
from fathom.index.embedded.reader import EmbeddedReader
from fathom.index.embedded.store import SqliteStore
from fathom.index.embedded.writer import EmbeddedWriter, OnStep
from fathom.index.identity import build_missing_error, check_identity, select_expected
from fathom.index.rights import Viewer
from fathom.system import create_folder
from fathom.text.analyzer import Analyzer

LOCK = "lock"
MEND_WAIT_S = 30.0
"""The longest wait in seconds for a writer that may mend or create the keyword index."""
REBUILD = "rebuild"
"""The folder in the directory for a new index that will replace the old one."""


def open_reader(
    directory: Path,
    expected_identity: Mapping[str, str] | None = None,
    *,
    mend: bool = True,
    viewer: Viewer | None = None,
) -> EmbeddedReader:
    """Open the index in `directory` for reading.

    Args:
        directory: The folder of the index.
        expected_identity: The entries that the index's identity must have; other entries may
            differ, and `None` accepts any identity.
        mend: Whether to make an unsound keyword index anew at once. Without it the reader changes
            no file; the first search by words then builds the index in memory.
        viewer: Show only the documents that this viewer may read.

    Raises:
        IndexMissing: If there is no index.
        IndexMismatch: If the index has another identity (the message names the differences), or if
            another version of Fathom made its tables.
        IndexCorrupt: If its SQLite file is damaged.
        UsageError: If there is a viewer and the index holds no rights.
        RunError: If its SQLite file cannot be read.
    """
    if not (directory / schema.FILE).is_file():
        raise build_missing_error(directory)
    with schema.name_corruption(directory / schema.FILE):
        store = SqliteStore(connect_viewer(directory, viewer), is_limited=viewer is not None)
        try:
            _check_tables(store, directory)
            if expected_identity is not None:
                identity = select_expected(store.read_identity(), expected_identity)
                check_identity(directory, identity, expected_identity)
            keyword = _open_keyword(directory, store, mend=mend)
        except BaseException:
            store.connection.close()
            raise
    return EmbeddedReader(
        directory,
        store,
        keyword,
        lambda: _mend_keyword(directory, store) if mend else _build_in_memory(store),
        viewer,
    )


def open_writer(
    directory: Path,
    identity: Mapping[str, str] | None,
    *,
    durability: schema.Durability = "normal",
    ann_from_chunks: int = 20_000,
    on_step: OnStep = lambda _step: None,
) -> EmbeddedWriter:
    """Open the index in `directory` for writing, creating it if there is none.

    An unfinished change of an earlier writer is finished first. The remains of an interrupted
    rebuild are dropped, because they may hold documents that are about to be removed.

    Args:
        directory: The folder of the index.
        identity: The identity of the index; `None` accepts an existing index as it is.
        durability: The durability of commits, as in `schema.connect`.
        ann_from_chunks: The number of chunks outside the graph above which it is built anew.
        on_step: A callback for tests, as in `EmbeddedWriter`.

    Raises:
        IndexMissing: If there is no index and no identity to create it with.
        IndexMismatch: If the index has another identity (the message names the differences), or if
            another version of Fathom made its tables.
        IndexLocked: If another process is writing.
        IndexCorrupt: If its SQLite file is damaged.
        UsageError: If the place of the directory is taken by a file.
        RunError: If the directory cannot be written.
    """
    if identity is None and not (directory / schema.FILE).is_file():
        raise build_missing_error(directory)
    lock = take_lock(directory)
    try:
        # Only the holder of the lock may remove it: a rebuild in progress holds the same lock.
        discard_folder(directory / REBUILD)
        with schema.name_corruption(directory / schema.FILE):
            store = _open_store(directory, identity, durability)
            try:
                writer = EmbeddedWriter(
                    directory,
                    store,
                    _open_sound_keyword(directory, store),
                    lock=lock,
                    ann_from_chunks=ann_from_chunks,
                    on_step=on_step,
                )
                writer.recover()
            except BaseException:
                store.connection.close()
                raise
    except BaseException:
        lock.release()
        raise
    return writer


def verify(directory: Path, *, fix: bool = False) -> list[str]:
    """Return a line for each fault of the index; with `fix` make all derived files anew first.

    Raises:
        IndexMissing: If there is no index.
        IndexCorrupt: If its SQLite file cannot be opened at all.
        IndexLocked: If `fix` is set and another process is writing.
    """
    if fix:
        with open_writer(directory, None) as writer:
            writer.renew()
    with open_reader(directory, mend=False) as reader:
        return reader.list_findings()


def read_stamp(directory: Path) -> tuple[int, int] | None:
    """Return a value that changes when another file replaces the database; `None` without one."""
    try:
        file_status = (directory / schema.FILE).stat()
    except OSError:
        return None
    return file_status.st_dev, file_status.st_ino


def describe_writer(directory: Path) -> str:
    """Return a description of the process that writes to the index; `""` for none."""
    return describe_holder(directory / LOCK)


def take_lock(directory: Path) -> WriterLock:
    """Take the writer's lock of a directory, which is created if missing.

    Raises:
        IndexLocked: If another process is writing.
        UsageError: If the place of the directory is taken by a file.
        RunError: If the directory or the lock cannot be created.
    """
    try:
        create_folder(directory)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"{directory}: not a folder; choose another --index") from error
    except OSError as error:
        raise RunError(f"{directory}: {error.strerror}; choose another --index") from error
    return WriterLock(directory / LOCK)


def _open_store(
    directory: Path, identity: Mapping[str, str] | None, durability: schema.Durability
) -> SqliteStore:
    """Open the SQLite file for writing, and create missing tables if there is an identity.

    Raises:
        IndexMissing: If there are no tables and no identity.
        IndexMismatch: As in `open_writer`.
    """
    connection = schema.connect(directory, write=True, durability=durability)
    try:
        if identity is not None and not schema.has_tables(connection, directory):
            schema.create_tables(connection, dict(identity), secrets.token_hex(8))
        store = SqliteStore(connection)
        _check_tables(store, directory)
        if identity is not None:
            check_identity(directory, store.read_identity(), identity)
        # Indexes of older versions lack these tables.
        for statement in schema.LATER_TABLES:
            connection.execute(statement)
    except BaseException:
        connection.close()
        raise
    return store


def discard_strays(directory: Path, store: SqliteStore) -> None:
    """Remove the graphs and keyword indexes in the directory that the index does not use."""
    discard_graphs(directory, store)
    for folder in directory.glob(f"{FOLDER}*"):
        if folder.name != store.get_keyword_folder():
            discard_folder(folder)


def _open_sound_keyword(directory: Path, store: SqliteStore) -> KeywordIndex:
    """Open the keyword index for writing; an empty one replaces it if it is unsound."""
    discard_strays(directory, store)
    folder = directory / store.get_keyword_folder()
    discard_unlisted_files(folder)
    try:
        return KeywordIndex(folder, create=True)
    except RunError:
        discard_folder(folder)
        return KeywordIndex(folder, create=True)


def _open_keyword(directory: Path, store: SqliteStore, *, mend: bool) -> KeywordIndex:
    """Open the keyword index for reading.

    If it is missing or unsound, wait for the writer if there is one, then mend it. Without `mend`
    return an empty index in memory at once.
    """
    deadline = time.monotonic() + MEND_WAIT_S
    while True:
        try:
            return KeywordIndex(directory / store.get_keyword_folder(), create=False)
        except RunError:
            if not mend:
                return KeywordIndex(None, create=True)
            if not describe_writer(directory) or time.monotonic() > deadline:
                return _mend_keyword(directory, store)
        time.sleep(0.05)  # the writer of a new index will create it soon


def _mend_keyword(directory: Path, store: SqliteStore) -> KeywordIndex:
    """Return a sound keyword index of the store's state.

    Opening a writer mends the files. If another process holds the lock, wait for it. If the folder
    cannot be written, build the index in memory, for this reader alone.

    Raises:
        IndexLocked: If another process still holds the lock after `MEND_WAIT_S`.
    """
    deadline = time.monotonic() + MEND_WAIT_S
    while True:
        try:
            open_writer(directory, None).close()
            return KeywordIndex(directory / store.get_keyword_folder(), create=False)
        except IndexLocked:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        except RunError:
            # The folder cannot be written, so the index is filled anew for this reader alone.
            return _build_in_memory(store)


def _build_in_memory(store: SqliteStore) -> KeywordIndex:
    """Return a keyword index in memory of the store's state."""
    keyword = KeywordIndex(None, create=True)
    with schema.open_transaction(store.connection, write=False):
        all_entries = list_keyword_entries(store, Analyzer(), after=-1)
        # The transaction keeps the entries and the marker of one and the same state.
        keyword.refill(all_entries, store.format_marker(store.read_chunks_revision()))
    return keyword


def _check_tables(store: SqliteStore, directory: Path) -> None:
    """Check that the index has its tables.

    Raises:
        IndexMissing: If it has none.
        IndexMismatch: If another version of Fathom made them.
    """
    if not schema.has_tables(store.connection, directory):
        raise build_missing_error(directory)
