"""The storage of uploaded files: a folder beside an embedded index, else the index's server."""

import os
import shutil
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

from starlette.datastructures import UploadFile
from typing_extensions import override

from fathom.errors import RunError
from fathom.index.engines import UPLOADS, Index
from fathom.ingest.places import locate_path
from fathom.serving.http.tables import JOB_TABLES
from fathom.serving.http.uploads import (
    StoredUpload,
    is_sidecar,
    is_upload,
    name_limited,
    name_sidecar,
    store_files,
)
from fathom.system import create_folder, lock_file

if TYPE_CHECKING:  # psycopg is of an extra
    from fathom.index.postgres.database import ServerDatabase
    from fathom.index.postgres.uploads import Uploads

FETCHED = "fetched"
"""The folder beside the uploads with local copies of files that were opened."""
MOST_FETCHED = 32
"""The number of local copies, at most; the oldest are removed first."""
LOCK = "uploads.lock"
"""The file beside the uploads whose lock a server holds while it changes them."""
WAIT_S = 0.02
"""The wait between two tries to take this lock, in seconds."""
_CHANGE_LOCK = 507_220
"""The first key of an advisory lock; its holder changes the uploads of the workspace."""

LEAST_FREE = 1 << 20
"""The bytes that must be free on the disk of an index before the server changes the index.

Without it a job would fail although its files were accepted; so it waits for room.
"""


class UploadedFiles:
    """The uploaded files of one workspace, in a folder beside an embedded index.

    Attributes:
        folder: The folder under which the documents' paths lie.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._changing = threading.Lock()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep all other threads and servers from a `with` block that changes the files.

        An upload stores its files with their job in one such block, and a removal looks for open
        jobs in one, so that it removes no new file whose job is not known yet.

        Raises:
            RunError: If the lock cannot be taken.
        """
        # Threads of this server wait here, so that they need not try again and again.
        with self._changing, self._lock_servers():
            yield

    @contextmanager
    def _lock_servers(self) -> Iterator[None]:
        """Keep other servers from a `with` block; on one disk they lock a file."""
        path = self.folder.parent / LOCK
        try:
            create_folder(path.parent)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            reason = f"{path}: {error.strerror}; uploads need a folder that the server may write"
            raise RunError(reason) from error
        try:
            while (unlock := lock_file(handle, path)) is None:
                time.sleep(WAIT_S)
            try:
                yield
            finally:
                unlock()
        finally:
            os.close(handle)

    def store(self, files: Sequence[UploadFile]) -> StoredUpload:
        """Store uploaded files; each is stored completely or not at all."""
        return store_files(files, self.folder)

    def find_limited(self, names: Mapping[str, str]) -> dict[str, str]:
        """Find the uploaded documents whose readers some of the files name.

        Args:
            names: The name that the client gave each file, by the path where it was stored.

        Returns:
            The names of the documents by their paths.
        """
        limited = {
            name_limited(path): name_limited(name)
            for path, name in names.items()
            if is_sidecar(name)
        }
        uploaded = self._select_uploaded(limited.values())
        return {path: name for path, name in limited.items() if name in uploaded}

    def _select_uploaded(self, names: Iterable[str]) -> frozenset[str]:
        """Return the names that an uploaded file has."""
        return frozenset(name for name in names if is_upload(self.folder / name, self.folder))

    def map_paths(self, names: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """Map stored files to their paths on this machine.

        Args:
            names: The name that the client gave each file, by the path where it was stored.

        Returns:
            The names by the paths on this machine, and the earlier paths of these files.
        """
        moved = self.find_moved(names)
        return {moved.get(path, path): name for path, name in names.items()}, sorted(moved)

    def find_paths(self, names: Mapping[str, str]) -> dict[str, str]:
        """Return the present path of each file, by the path where it was stored.

        Args:
            names: The name that the client gave each file, by the path where it was stored.
        """
        moved = self.find_moved(names)
        return {path: moved.get(path, path) for path in names}

    def find_moved(self, names: Mapping[str, str]) -> dict[str, str]:
        """Return the present paths of files that have moved with the index, by their earlier paths.

        Args:
            names: The name that the client gave each file, by the path where it was stored.
        """
        places = {path: self.folder / name for path, name in names.items()}
        return {
            path: str(place)
            for path, place in places.items()
            if path != str(place) and is_upload(place, self.folder)
        }

    def check_space(self) -> None:
        """Check that the disk of the index has room for a change.

        Raises:
            RunError: If it has none.
        """
        place = next(place for place in self.folder.parents if place.exists())
        if shutil.disk_usage(place).free < LEAST_FREE:
            raise RunError(f"{place}: the disk is full; free some space, then try again")

    @contextmanager
    def provide_files(self, names: Mapping[str, str]) -> Iterator[list[Path]]:
        """Provide local files for a `with` block, and yield the paths of those that exist."""
        yield [path for path in map(Path, names) if path.exists()]

    def has_file(self, path: str) -> bool:
        """Return whether the file of a document exists."""
        # A file that may have been ingested: such paths contain no `..`.
        try:
            return ".." not in PurePath(path).parts and locate_path(path).is_file()
        except OSError:  # such as a name that is too long
            return False

    def get_local_path(self, path: str) -> Path:
        """Return a local path at which the file of a document can be opened.

        Args:
            path: The path of the file, not that of a record inside it, as
                `fathom.ingest.corpus_places.find_file` returns it.

        Raises:
            FileNotFoundError: If there is no such file.
        """
        if not self.has_file(path):
            raise FileNotFoundError(path)
        return locate_path(path)

    def remove(self, path: str) -> None:
        """Remove an uploaded file; any other file stays."""
        if is_upload(Path(path), self.folder):
            Path(path).unlink(missing_ok=True)

    def remove_leftovers(self, *, idle: bool) -> None:
        """Remove local copies of files that are stored on a server; here there are none.

        Args:
            idle: Whether no job of the workspace is open, so that no file is being read.
        """


class SharedFiles(UploadedFiles):
    """The uploaded files of one workspace on the server of its index, copied here for use."""

    def __init__(self, folder: Path, uploads: "Uploads", database: "ServerDatabase") -> None:
        """Create the store. Nothing is opened before it is needed.

        Args:
            folder: The folder under which the documents' paths lie, where files are copied to.
            uploads: The files on the server.
            database: The tables of the same workspace.
        """
        super().__init__(folder)
        self._uploads = uploads
        self._database = database

    @override
    @contextmanager
    def _lock_servers(self) -> Iterator[None]:
        tables = self._database.tables
        with tables.begin() as connection:
            connection.execute(
                "SELECT pg_advisory_xact_lock(%s, %s)", (_CHANGE_LOCK, tables.workspace)
            )
            yield

    @override
    def store(self, files: Sequence[UploadFile]) -> StoredUpload:
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        # Writing the files here first gives their sizes and rejects bad names.
        with TemporaryDirectory(dir=self.folder.parent, prefix="sent-") as received:
            stored = store_files(files, Path(received))
            names = {}
            for path, name in stored.names.items():
                place = str(self.folder / name)
                self._uploads.put(name, place, Path(path))
                names[place] = name
        return StoredUpload(names, stored.refused)

    @override
    def _select_uploaded(self, names: Iterable[str]) -> frozenset[str]:
        wanted = frozenset(names)
        if not wanted:
            return wanted
        return wanted & {upload.name for upload in self._uploads.list_uploads()}

    @override
    def map_paths(self, names: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        local_names = {str(self.folder / name): name for name in names.values()}
        earlier = {
            *names,
            *(self._uploads.set_path(name, path) for path, name in local_names.items()),
        }
        return local_names, sorted(earlier - local_names.keys() - {""})

    @override
    def check_space(self) -> None:
        """Check nothing: the documents are stored on the disk of a server."""

    @override
    def find_moved(self, names: Mapping[str, str]) -> dict[str, str]:
        return {}  # the server of the index knows where its documents were read from

    @override
    def find_paths(self, names: Mapping[str, str]) -> dict[str, str]:
        present = {upload.name: upload.path for upload in self._uploads.list_uploads()}
        return {path: present.get(name, path) for path, name in names.items()}

    @override
    @contextmanager
    def provide_files(self, names: Mapping[str, str]) -> Iterator[list[Path]]:
        files = {name: Path(path) for path, name in names.items()}
        # Without its sidecar beside it, a document would get more readers.
        sidecars = {name_sidecar(name): Path(name_sidecar(path)) for path, name in names.items()}
        with self._uploads.fetch_files({**sidecars, **files}) as paths:
            yield paths

    @override
    def has_file(self, path: str) -> bool:
        return self._uploads.find(path) is not None or super().has_file(path)

    @override
    def get_local_path(self, path: str) -> Path:
        upload = self._uploads.find(path)
        if upload is None:
            return super().get_local_path(path)
        copies = self.folder.parent / FETCHED
        # A new version of a file has a new number, so a copy never becomes stale.
        target = copies / str(upload.no) / Path(upload.name).name
        if not target.is_file():
            self._uploads.fetch(upload.name, target)
            _remove_oldest(copies)
        return target

    @override
    def remove(self, path: str) -> None:
        self._uploads.remove(path)
        self.remove_leftovers(idle=False)

    @override
    def remove_leftovers(self, *, idle: bool) -> None:
        copies = self.folder.parent / FETCHED
        if copies.is_dir():
            numbers = {str(upload.no) for upload in self._uploads.list_uploads()}
            for folder in copies.iterdir():
                if folder.name not in numbers:
                    shutil.rmtree(folder, ignore_errors=True)
        if idle and self.folder.is_dir():
            shutil.rmtree(self.folder, ignore_errors=True)


def _remove_oldest(copies: Path) -> None:
    """Remove all but the `MOST_FETCHED` newest copies."""
    folders = sorted(copies.iterdir(), key=lambda folder: folder.stat().st_mtime)
    for folder in folders[:-MOST_FETCHED]:
        shutil.rmtree(folder, ignore_errors=True)


def create_file_store(index: Index, directory: Path) -> UploadedFiles:
    """Create the store of the files that were uploaded to an index.

    Args:
        index: The index, which may store them on its server.
        directory: The index's directory, or that of its companion data on this machine.
    """
    folder, uploads = (directory / UPLOADS).absolute(), index.open_uploads()
    if uploads is None:
        return UploadedFiles(folder)
    database = index.open_database(JOB_TABLES.file, JOB_TABLES.tables)
    return SharedFiles(folder, uploads, cast("ServerDatabase", database))
