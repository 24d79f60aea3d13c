"""Backup of an embedded index: a folder that holds all that the index's folder holds.

The index may be in use. Each database is copied as it is at one instant. The order of the copies
makes them fit each other: a record is copied before the records that it refers to. Conversations
refer to traces, traces and jobs to documents, and documents to uploaded files. The backup contains
everything that was stored when it began, except what was removed meanwhile.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from fathom.documents.discover import make_absolute
from fathom.errors import IndexCorrupt, RunError, UsageError
from fathom.index.embedded import schema, traces
from fathom.index.embedded.database import create_private_file
from fathom.index.embedded.keyword import FOLDER
from fathom.index.embedded.opening import LOCK, REBUILD
from fathom.index.identity import build_missing_error
from fathom.system import create_folder, sync_folder

DATABASE = ".db"
UNFINISHED = ".partial"
_GRAPH = "vectors-"
_WORKSPACES = "workspaces"
"""The folder of the indexes of workspaces, each in a folder of its name."""
_SOURCES, _STAGING = "sources", "staging"
"""The folder of the sources, and the folder in each source's own of objects yet to be read."""
_LOGS = tuple(f"{DATABASE}{ending}" for ending in ("-wal", "-shm", "-journal"))
_LAST = (traces.FILE, schema.FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A finished backup.

    Attributes:
        folder: The folder of the backup.
        files: The number of its files.
        size: The sum of their sizes in bytes.
    """

    folder: Path
    files: int
    size: int


def back_up_index(
    directory: Path,
    target: Path,
    *,
    uploads: str = "",
    on_file: Callable[[Path], None] = lambda _file: None,
) -> Backup:
    """Copy the folder of an index to a new folder, which appears when it is complete.

    Derived files (the keyword index, graphs) are left out: the copy makes them anew when it is
    first opened. An interrupted call leaves only a folder `NAME.partial`, which the next one
    removes.

    Args:
        directory: The folder of the index.
        target: The folder of the backup, which must not exist or be empty.
        uploads: The name of the folders of uploaded files. All files in them are copied unchanged,
            also those with the name of a database or a log.
        on_file: A callback for tests, called with the path of each file, below `directory`, before
            it is copied.

    Raises:
        IndexMissing: If there is no index.
        UsageError: If the target is a file or is not empty, or lies inside the index.
        IndexCorrupt: If a database is damaged.
        RunError: If a file cannot be read, a link of the operator leads nowhere, or the backup
            cannot be written.
    """
    if not (directory / schema.FILE).is_file():
        raise build_missing_error(directory)
    target = make_absolute(target)  # `.` has no name
    unfinished = target.with_name(f"{target.name}{UNFINISHED}")
    sizes: list[int | None] = []
    try:
        _check_target(directory, target)
        shutil.rmtree(unfinished, ignore_errors=True)
        create_folder(unfinished)
        unfinished.chmod(0o700)
        for path in _order_databases(directory, uploads):
            on_file(path)
            sizes.append(_copy_database(directory / path, unfinished / path))
        for path in sorted(_list_files(directory, uploads)):
            if not _is_database(path, uploads):
                on_file(path)
                sizes.append(_copy_file(directory / path, unfinished / path))
        _replace(target, unfinished)
    except OSError as error:
        place = error.filename or target
        raise RunError(
            f"{place}: {error.strerror}; the backup is not complete; check free space and "
            "permissions, then run the command again"
        ) from error
    copied = [size for size in sizes if size is not None]
    return Backup(folder=target, files=len(copied), size=sum(copied))


def _check_target(directory: Path, target: Path) -> None:
    """Check that the target is new or an empty folder, and outside the index.

    Raises:
        UsageError: If it is not.
    """
    if target.is_dir():
        if any(target.iterdir()):
            raise UsageError(f"{target}: not empty; name a new folder for the backup")
    elif target.exists():
        raise UsageError(f"{target}: not a folder; name a new folder for the backup")
    if target.resolve().is_relative_to(directory.resolve()):
        raise UsageError(f"{target}: lies inside the index; name a folder outside {directory}")


def _order_databases(directory: Path, uploads: str) -> list[Path]:
    """Return the paths of the databases, each before those that it refers to."""
    databases = [path for path in _list_files(directory, uploads) if _is_database(path, uploads)]
    ranks = {name: rank for rank, name in enumerate(_LAST, 1)}
    return sorted(databases, key=lambda path: (ranks.get(path.name, 0), path))


def _list_files(directory: Path, uploads: str) -> Iterator[Path]:
    """Yield the paths of the files below a directory that belong to a backup.

    Logs of databases, derived files and files of a download in progress are left out, and links
    except those that only an operator makes.
    """
    for place, folders, files in os.walk(directory, onerror=_refuse_unlisted, followlinks=True):
        folder = Path(place).relative_to(directory)
        is_upload = _is_upload(folder, uploads)
        is_index = schema.FILE in files and not is_upload
        is_source = not is_upload and folder.parent.name == _SOURCES
        links = {name for name in (*folders, *files) if Path(place, name).is_symlink()}
        if _is_of_operator(folder):
            _check_links(Path(place), links)
            links = set()
        folders[:] = [
            name
            for name in folders
            if name not in links
            and not ((is_index and _is_derived_folder(name)) or (is_source and name == _STAGING))
        ]
        for name in files:
            # The copy of a database contains its log; a log of another state would damage the copy.
            is_log = not is_upload and name.endswith(_LOGS)
            is_derived = is_log or (is_index and _is_derived_file(name))
            if not is_derived and name not in links:
                yield folder / name


def _is_of_operator(folder: Path) -> bool:
    """Return whether a link in a folder is the operator's own, such as `uploads` on another disk.

    The folders of the index and of the workspaces hold no names that a user chooses.
    """
    parts = folder.parts
    return not parts or (parts[0] == _WORKSPACES and len(parts) <= 2)


def _check_links(place: Path, names: Iterable[str]) -> None:
    """Check that links in a folder lead somewhere, so that no disk is missing in a backup.

    Raises:
        RunError: If one does not.
    """
    for name in names:
        if not (place / name).exists():
            raise RunError(
                f"{place / name}: a link that leads nowhere; mount its disk or remove it, then run "
                "the command again"
            )


def _refuse_unlisted(error: OSError) -> None:
    """Raise the error of a folder that cannot be listed, unless it was removed meanwhile."""
    if not isinstance(error, FileNotFoundError):
        raise error


def _is_upload(path: Path, uploads: str) -> bool:
    """Return whether a path is in the folder of uploaded files of the index or of a workspace."""
    parts = path.parts
    # A workspace or a source may have the name of that folder.
    own_parts = parts[2:] if parts[:1] == (_WORKSPACES,) else parts
    return own_parts[:1] == (uploads,)


def _is_database(path: Path, uploads: str) -> bool:
    return path.suffix == DATABASE and not _is_upload(path, uploads)


def _is_derived_folder(name: str) -> bool:
    return name == REBUILD or name.startswith(FOLDER)


def _is_derived_file(name: str) -> bool:
    return name == LOCK or name.startswith(_GRAPH)


def _copy_file(source: Path, target: Path) -> int | None:
    """Copy a file and return its size; `None` if it was removed meanwhile."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copy2(source, target)
    except FileNotFoundError:
        target.unlink(missing_ok=True)
        return None
    return _sync(target)


def _sync(file: Path) -> int:
    """Bring a file to the disk and return its size."""
    with file.open("rb") as handle:
        os.fsync(handle.fileno())
    return file.stat().st_size


def _copy_database(source: Path, target: Path) -> int:
    """Copy a database as it is at one instant, check the copy and return its size.

    Raises:
        IndexCorrupt: If it is damaged.
        RunError: If it cannot be read or written.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    create_private_file(target)
    with (
        schema.name_corruption(source),
        closing(_connect(source, _choose_mode(source))) as original,
        closing(_connect(target, "mode=rw")) as copy,
    ):
        original.backup(copy)
        [(finding,)] = copy.execute("PRAGMA quick_check(1)").fetchall()
        if finding != "ok":
            raise IndexCorrupt(f"{source}: damaged ({finding}); run `fathom doctor`")
        # The log of changes belongs to the file; without it the copy is one file.
        copy.execute("PRAGMA journal_mode = DELETE")
    return _sync(target)


def _choose_mode(source: Path) -> str:
    """Return the mode in which the database of an index is opened.

    A mounted snapshot, or the index of another user, cannot be written. SQLite reads a database
    there if the index of its log exists, or if there is no log and nobody changes the file.

    Raises:
        RunError: If the log of changes cannot be read there.
    """
    if os.access(source.parent, os.W_OK):
        return "mode=rw"
    log, log_index = (source.with_name(f"{source.name}{ending}") for ending in ("-wal", "-shm"))
    if log_index.exists():
        return "mode=ro"
    if log.exists() and log.stat().st_size:
        raise RunError(
            f"{log}: its changes cannot be read where nothing can be written; copy the folder to a "
            "disk that can be written, and back up the copy"
        )
    return "mode=ro&immutable=1"


def _connect(file: Path, mode: str) -> sqlite3.Connection:
    """Open an existing database; its statements wait for locks for up to 10 seconds."""
    connection = sqlite3.connect(f"{file.absolute().as_uri()}?{mode}", uri=True)
    connection.execute("PRAGMA busy_timeout = 10000")
    return connection


def _replace(target: Path, unfinished: Path) -> None:
    """Give the finished folder its name, and bring the folders to the disk first."""
    for place, _, _ in os.walk(unfinished):
        sync_folder(Path(place))
    with suppress(FileNotFoundError):
        target.rmdir()
    unfinished.rename(target)
    sync_folder(target.absolute().parent)
