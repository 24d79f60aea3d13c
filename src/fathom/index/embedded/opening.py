"""The embedded index: one directory, no server.

`fathom.db` (SQLite) is the only truth; `tantivy*/` and `vectors-*.usearch` are derived from it
and made anew whenever they are missing or unsound; `lock` belongs to the one writer.
"""

import secrets
import time
from collections.abc import Mapping
from pathlib import Path

from fathom.errors import IndexLocked, RunError, UsageError
from fathom.index.embedded import schema
from fathom.index.embedded.derived import discard_graphs, entries
from fathom.index.embedded.keyword import FOLDER, KeywordLeg, discard
from fathom.index.embedded.lock import WriterLock, holder
from fathom.index.embedded.reader import EmbeddedReader
from fathom.index.embedded.store import Store
from fathom.index.embedded.writer import EmbeddedWriter, OnStep
from fathom.index.identity import check_identity, missing, named
from fathom.text.analyzer import Analyzer

LOCK = "lock"
MEND_WAIT_S = 30.0
REBUILD = "rebuild"
"""The folder in the directory where an index is made that is to replace it."""


def open_reader(
    directory: Path, expected_identity: Mapping[str, str] | None = None, *, mend: bool = True
) -> EmbeddedReader:
    """Open the index in `directory` for reading.

    Args:
        directory: Where the index lies.
        expected_identity: What must have made the index; what is not named here may differ,
            and `None` accepts any.
        mend: Make derived parts anew where they are unsound, else only look.

    Raises:
        IndexMissing: If there is none.
        IndexMismatch: If it was made otherwise, naming what differs.
        IndexCorrupt: If its SQLite file is damaged.
    """
    if not (directory / schema.FILE).is_file():
        raise missing(directory)
    with schema.corruption_named(directory / schema.FILE):
        store = Store(schema.connect(directory, write=False))
        try:
            _check_laid_out(store, directory)
            if expected_identity is not None:
                made = named(store.identity(), expected_identity)
                check_identity(directory, made, expected_identity)
            keyword = _open_keyword(directory, store, mend=mend)
        except BaseException:
            store.connection.close()
            raise
    return EmbeddedReader(directory, store, keyword, lambda: _mended(directory, store))


def open_writer(
    directory: Path,
    identity: Mapping[str, str] | None,
    *,
    durability: schema.Durability = "normal",
    ann_from_chunks: int = 20_000,
    on_step: OnStep = lambda _step: None,
) -> EmbeddedWriter:
    """Open the index in `directory` for writing, creating it where there is none.

    What a broken-off rebuild has left there is dropped: it may hold what is to be removed.

    Args:
        directory: Where the index lies or shall lie.
        identity: What makes the index; `None` takes an existing one as it is.
        durability: See `schema.connect`.
        ann_from_chunks: More chunks than this outside the graph and it is built anew.
        on_step: For tests; see `EmbeddedWriter`.

    Raises:
        IndexMissing: If there is none and no identity to create it with.
        IndexMismatch: If it was made otherwise, naming what differs.
        IndexLocked: If another process is writing.
        IndexCorrupt: If its SQLite file is damaged.
    """
    if identity is None and not (directory / schema.FILE).is_file():
        raise missing(directory)
    lock = take_lock(directory)
    try:
        discard(directory / REBUILD)
        with schema.corruption_named(directory / schema.FILE):
            store = _open_store(directory, identity, durability)
            try:
                writer = EmbeddedWriter(
                    directory,
                    store,
                    _sound_keyword(directory, store),
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
    """What is wrong with the index, in words; empty when it is sound.

    Args:
        directory: Where the index lies.
        fix: First make anew what is derived.

    Raises:
        IndexMissing: If there is none.
    """
    if fix:
        with open_writer(directory, None) as writer:
            writer.renew()
    with open_reader(directory, mend=False) as reader:
        return reader.findings()


def stamp_of(directory: Path) -> tuple[int, int] | None:
    """What tells the index in `directory` from one that has taken its place since."""
    try:
        found = (directory / schema.FILE).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def writer_at(directory: Path) -> str:
    """Who is writing to the index in `directory`, in words; `""` for nobody."""
    return holder(directory / LOCK)


def take_lock(directory: Path) -> WriterLock:
    """The lock of the directory, which is made where there is none.

    Raises:
        IndexLocked: If another process is writing.
        RunError: If it cannot be made.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"{directory}: not a folder; choose another --index") from error
    except OSError as error:
        raise RunError(f"{directory}: {error.strerror}; choose another --index") from error
    return WriterLock(directory / LOCK)


def _open_store(
    directory: Path, identity: Mapping[str, str] | None, durability: schema.Durability
) -> Store:
    connection = schema.connect(directory, write=True, durability=durability)
    try:
        if identity is not None and not schema.is_laid_out(connection, directory):
            schema.create(connection, dict(identity), secrets.token_hex(8))
        store = Store(connection)
        _check_laid_out(store, directory)
        if identity is not None:
            check_identity(directory, store.identity(), identity)
        for statement in schema.LATER:
            connection.execute(statement)
    except BaseException:
        connection.close()
        raise
    return store


def discard_strays(directory: Path, store: Store) -> None:
    """Remove what belongs to no part of the index: a kill or a reader may have left it."""
    discard_graphs(directory, store)
    for folder in directory.glob(f"{FOLDER}*"):
        if folder.name != store.keyword_folder():
            discard(folder)


def _sound_keyword(directory: Path, store: Store) -> KeywordLeg:
    discard_strays(directory, store)
    folder = directory / store.keyword_folder()
    try:
        return KeywordLeg(folder, create=True)
    except RunError:
        discard(folder)
        return KeywordLeg(folder, create=True)


def _open_keyword(directory: Path, store: Store, *, mend: bool) -> KeywordLeg:
    deadline = time.monotonic() + MEND_WAIT_S
    while True:
        try:
            return KeywordLeg(directory / store.keyword_folder(), create=False)
        except RunError:
            if not mend:
                return KeywordLeg(None, create=True)
            if not writer_at(directory) or time.monotonic() > deadline:
                return _mended(directory, store)
        time.sleep(0.05)  # the writer of a new index is about to make it


def _mended(directory: Path, store: Store) -> KeywordLeg:
    """A keyword leg of the store's state: wait for the writer, be the writer, or do without."""
    deadline = time.monotonic() + MEND_WAIT_S
    while True:
        try:
            open_writer(directory, None).close()
            return KeywordLeg(directory / store.keyword_folder(), create=False)
        except IndexLocked:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        except RunError:
            return _in_memory(store)


def _in_memory(store: Store) -> KeywordLeg:
    keyword = KeywordLeg(None, create=True)
    with schema.transaction(store.connection, write=False):
        filled = entries(store, Analyzer(), after=-1)
        keyword.refill(filled, store.marker(store.chunks_at()))
    return keyword


def _check_laid_out(store: Store, directory: Path) -> None:
    if not schema.is_laid_out(store.connection, directory):
        raise missing(directory)
