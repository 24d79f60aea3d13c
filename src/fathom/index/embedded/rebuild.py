"""A new index is made beside the old one, and takes its place in one step."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from fathom.errors import FathomError, IndexCorrupt
from fathom.index.base import IndexReader
from fathom.index.embedded import schema
from fathom.index.embedded.changes import Changes
from fathom.index.embedded.keyword import FOLDER, discard
from fathom.index.embedded.opening import REBUILD, discard_strays, open_reader, take_lock
from fathom.index.embedded.store import Store
from fathom.index.embedded.writer import EmbeddedWriter, OnStep


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """An index that is being made, and the one that it is to replace, where that can be read."""

    writer: EmbeddedWriter
    before: IndexReader | None


Open = Callable[[Path], EmbeddedWriter]
"""Opens a writer in a directory, making an index of the wanted identity where there is none."""


@contextmanager
def rebuilding(
    directory: Path,
    roots: Sequence[str],
    open_new: Open,
    on_step: OnStep = lambda _step: None,
) -> Iterator[Rebuilding]:
    """Make an index anew; at the end of the `with` block it takes the place of the old one.

    Until that instant the old index is there for readers, and a kill or an error leaves it as it
    was. What was stored by then is kept: whoever makes the same index of the same roots goes on
    with it, as long as nobody has written to the old one.

    Args:
        directory: Where the index lies.
        roots: What it is to hold.
        open_new: Opens the writer of the new one.
        on_step: For tests: told `moved`, `replaced`.

    Raises:
        IndexLocked: If another process is writing.
        RunError: If it cannot be written.
    """
    new = directory / REBUILD
    with ExitStack() as stack:
        stack.callback(take_lock(directory).release)
        before = _readable(directory)
        if before is not None:
            stack.enter_context(before)
        with _continued(new, roots, before, open_new) as writer:
            for strategy, data in (before.calibrations() if before else {}).items():
                writer.keep_calibration(strategy, data)
            yield Rebuilding(writer, before)
        _replace(directory, new, on_step)


def _readable(directory: Path) -> IndexReader | None:
    try:
        return open_reader(directory, mend=False)
    except FathomError:
        return None  # there is none, or it is damaged, or of another layout


def _continued(
    new: Path, roots: Sequence[str], before: IndexReader | None, open_new: Open
) -> EmbeddedWriter:
    if (new / schema.FILE).is_file():
        try:
            writer = open_new(new)
        except FathomError:
            pass  # made otherwise, or damaged
        else:
            if writer.roots() == list(roots) and _lineage(writer) != _lineage(before):
                return writer
            writer.close()
    discard(new)
    writer = open_new(new)
    writer.set_roots(roots)
    return writer


def _lineage(index: IndexReader | None) -> str:
    return index.revision().partition(".")[0] if index is not None else ""


def _replace(directory: Path, new: Path, on_step: OnStep) -> None:
    """The parts of the new index get names of their own beside the old ones, then its truth."""
    with closing(schema.connect(new, write=True)) as connection:
        store = Store(connection)
        _move_parts(directory, new, store)
        on_step("moved")
        with schema.corruption_named(directory / schema.FILE):
            _put_truth(directory, connection)
        on_step("replaced")
        discard_strays(directory, store)
    discard(new)


def _move_parts(directory: Path, new: Path, store: Store) -> None:
    lineage, notes = store.meta("lineage"), {}
    keyword = f"{FOLDER}-{lineage}"
    if (new / store.keyword_folder()).is_dir():
        discard(directory / keyword)
        (new / store.keyword_folder()).replace(directory / keyword)
    notes["keyword"] = keyword
    with schema.transaction(store.connection, write=True):
        store.connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", notes.items())
    for space in store.all_spaces():
        graph = space.graph
        if graph is not None and (new / graph.file).is_file():
            own = replace(graph, file=space.graph_file(f"{lineage}-{graph.until}"))
            (new / graph.file).replace(directory / own.file)
            Changes(store).note_graph(space, own.dumps())


def _put_truth(directory: Path, source: sqlite3.Connection) -> None:
    """Copy the database over the old one: one transaction, which readers see whole or not."""
    try:
        target = schema.connect(directory, write=True)
    except IndexCorrupt:
        _put_file(directory, source)
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
    _put_file(directory, source)


def _put_file(directory: Path, source: sqlite3.Connection) -> None:
    """Put a file at the place of one that is damaged."""
    file = directory / schema.FILE
    part = file.with_name(f"{schema.FILE}.part")
    part.unlink(missing_ok=True)
    with closing(sqlite3.connect(part)) as copy:
        source.backup(copy)
    for log in (f"{schema.FILE}-wal", f"{schema.FILE}-shm"):
        (directory / log).unlink(missing_ok=True)
    part.replace(file)
