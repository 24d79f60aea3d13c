"""Rebuild of an index: the new one is made beside the old one and replaces it in one step."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from fathom.errors import FathomError, IndexCorrupt
from fathom.index.base import IndexReader
from fathom.index.embedded import schema
from fathom.index.embedded.changes import Changes
from fathom.index.embedded.database import create_private_file
from fathom.index.embedded.keyword import FOLDER, discard_folder
from fathom.index.embedded.limited import read_rights_copy
from fathom.index.embedded.opening import REBUILD, discard_strays, open_reader, take_lock
from fathom.index.embedded.store import SqliteStore
from fathom.index.embedded.writer import EmbeddedWriter, OnStep


@dataclass(frozen=True, slots=True)
class RebuildSession:
    """The writer of a new index, and a reader of the old one if that can be read."""

    writer: EmbeddedWriter
    before: IndexReader | None


OpenWriter = Callable[[Path], EmbeddedWriter]
"""A function that opens a writer in a directory, and creates the index if there is none."""


@contextmanager
def rebuild_index(
    directory: Path,
    roots: Sequence[str],
    open_new: OpenWriter,
    on_step: OnStep = lambda _step: None,
) -> Iterator[RebuildSession]:
    """Make an index anew; at the end of the `with` block it replaces the old one.

    Until that instant the old index serves readers, and a kill or an error leaves it as it was. The
    new index stays beside it: the next rebuild with the same roots and identity continues with its
    content, unless a process has opened the old index for writing in between.

    Args:
        directory: The folder of the index.
        roots: The files and folders that the index shall hold.
        open_new: The function that opens the writer of the new index.
        on_step: A callback for tests, called with `moved` and `replaced`.

    Raises:
        IndexLocked: If another process is writing.
        RunError: If the index cannot be written.
    """
    new = directory / REBUILD
    with ExitStack() as stack:
        stack.callback(take_lock(directory).release)
        before = _open_old(directory)
        if before is not None:
            stack.enter_context(before)
        with _open_new_writer(new, roots, before, open_new) as writer:
            # Before the first document is stored, so that each has its rights at once.
            writer.set_rights(before.get_rights() if before else read_rights_copy(directory))
            for strategy, data in (before.get_calibrations() if before else {}).items():
                writer.keep_calibration(strategy, data)
            yield RebuildSession(writer, before)
        _replace(directory, new, on_step)


def _open_old(directory: Path) -> IndexReader | None:
    """Open the old index for reading without changing a file; `None` if it cannot be read."""
    try:
        return open_reader(directory, mend=False)
    except FathomError:
        return None  # there is no index, or it is damaged or of another layout


def _open_new_writer(
    new: Path, roots: Sequence[str], before: IndexReader | None, open_new: OpenWriter
) -> EmbeddedWriter:
    """Open the writer of the new index: the remains of an interrupted rebuild, or an empty one."""
    if (new / schema.FILE).is_file():
        try:
            writer = open_new(new)
        except FathomError:
            pass  # the remains have another identity or are damaged
        else:
            # The same lineage means that the new index has already replaced the old one.
            if writer.get_roots() == list(roots) and _read_lineage(writer) != _read_lineage(before):
                return writer
            writer.close()
    discard_folder(new)
    writer = open_new(new)
    writer.set_roots(roots)
    return writer


def _read_lineage(index: IndexReader | None) -> str:
    """Return the lineage of an index; empty without an index."""
    return index.get_revision().partition(".")[0] if index is not None else ""


def _replace(directory: Path, new: Path, on_step: OnStep) -> None:
    """Move the derived files of the new index beside the old ones, then replace the database."""
    with closing(schema.connect(new, write=True)) as connection:
        store = SqliteStore(connection)
        _move_derived_files(directory, new, store)
        on_step("moved")
        with schema.name_corruption(directory / schema.FILE):
            _copy_database(directory, connection)
        on_step("replaced")
        discard_strays(directory, store)
    discard_folder(new)


def _move_derived_files(directory: Path, new: Path, store: SqliteStore) -> None:
    """Move the keyword index and the graphs of the new index, and note their new names in it."""
    lineage, notes = store.read_meta("lineage"), {}
    # Named by lineage, so that the files of the old index stay in place until it is replaced.
    keyword = f"{FOLDER}-{lineage}"
    if (new / store.get_keyword_folder()).is_dir():
        discard_folder(directory / keyword)
        (new / store.get_keyword_folder()).replace(directory / keyword)
    notes["keyword"] = keyword
    with schema.open_transaction(store.connection, write=True):
        store.connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", notes.items())
    for space in store.list_spaces():
        graph = space.graph
        if graph is not None and (new / graph.file).is_file():
            record = replace(graph, file=space.name_graph_file(f"{lineage}-{graph.until}"))
            (new / graph.file).replace(directory / record.file)
            Changes(store).note_graph(space, record.dumps())


def _copy_database(directory: Path, source: sqlite3.Connection) -> None:
    """Copy the new database over the old one; readers see either the old or the new one."""
    try:
        target = schema.connect(directory, write=True)
    except IndexCorrupt:
        _replace_damaged_file(directory, source)
        return
    with closing(target):
        try:
            source.backup(target)
        except sqlite3.DatabaseError as error:
            if not schema.is_damage(error):
                raise
        else:
            schema.fold_log(target)
            return
    _replace_damaged_file(directory, source)


def _replace_damaged_file(directory: Path, source: sqlite3.Connection) -> None:
    """Replace the file of a damaged database by a copy of the new database."""
    file = directory / schema.FILE
    partial = file.with_name(f"{schema.FILE}.part")
    partial.unlink(missing_ok=True)
    create_private_file(partial)
    with closing(sqlite3.connect(partial)) as copy:
        source.backup(copy)
    # The logs belong to the damaged file, and SQLite would apply them to the new one.
    for log in (f"{schema.FILE}-wal", f"{schema.FILE}-shm"):
        (directory / log).unlink(missing_ok=True)
    partial.replace(file)
