"""Storage of uploaded files: in a folder beside an embedded index, else on the index's server."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol

from starlette.datastructures import UploadFile

from fathom.index.engines import Index
from fathom.serving.http.tables import UPLOADS
from fathom.serving.http.uploads import StoredUpload, is_upload, store_files

if TYPE_CHECKING:  # psycopg is of an extra
    from fathom.index.postgres.uploads import Uploads

FETCHED = "fetched"
"""The folder beside the uploads for files that were fetched from the server to be shown."""
MOST_FETCHED = 32
"""The number of fetched files on this disk; the oldest are removed first."""


class UploadedFiles(Protocol):
    """The uploaded files of one workspace."""

    @property
    def folder(self) -> Path:
        """The folder under which the documents' paths lie."""
        ...

    def store(self, files: Sequence[UploadFile]) -> StoredUpload:
        """Store uploaded files; each is stored completely or not at all."""
        ...

    def map_paths(self, names: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """Map stored files to their paths on this machine.

        Args:
            names: The name that the client gave each file, by the path where it was stored.

        Returns:
            The names by the paths on this machine, and the paths that no longer belong to these
                files.
        """
        ...

    def provide_files(self, names: Mapping[str, str]) -> AbstractContextManager[list[Path]]:
        """Provide files on this disk for the length of a `with` block; yields the existing ones."""
        ...

    def has_file(self, path: str) -> bool:
        """Return whether the file of a document exists."""
        ...

    def get_local_path(self, path: str) -> Path:
        """Return a path at which the file of a document can be opened.

        Args:
            path: The path of the file, not that of a record inside it;
                `index.corpus_places.find_file` returns it.

        Raises:
            FileNotFoundError: If there is no such file.
        """
        ...

    def remove(self, path: str) -> None:
        """Remove an uploaded file; any other file stays."""
        ...

    def remove_leftovers(self, *, idle: bool) -> None:
        """Remove from this disk what is not stored here.

        Args:
            idle: Whether no job of the workspace is open, so that no file is being read.
        """
        ...


def _is_file(path: str) -> bool:
    """Return whether a file that may have been ingested exists; such paths contain no `..`."""
    try:
        return ".." not in PurePath(path).parts and Path(path).is_file()
    except OSError:  # such as a name that is too long
        return False


def _require_file(path: str) -> Path:
    if not _is_file(path):
        raise FileNotFoundError(path)
    return Path(path)


class LocalFiles:
    """Uploaded files in a folder beside an embedded index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def store(self, files: Sequence[UploadFile]) -> StoredUpload:
        """Write uploaded files into the folder."""
        return store_files(files, self.folder)

    def map_paths(self, names: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """Map stored files to their paths on this machine."""
        return dict(names), []

    @contextmanager
    def provide_files(self, names: Mapping[str, str]) -> Iterator[list[Path]]:
        """Yield the existing paths."""
        yield [path for path in map(Path, names) if path.exists()]

    def has_file(self, path: str) -> bool:
        """Return whether the file of a document exists."""
        return _is_file(path)

    def get_local_path(self, path: str) -> Path:
        """Return the path itself, after a check."""
        return _require_file(path)

    def remove(self, path: str) -> None:
        """Remove an uploaded file; any other file stays."""
        if is_upload(Path(path), self.folder):
            Path(path).unlink(missing_ok=True)

    def remove_leftovers(self, *, idle: bool) -> None:
        """Do nothing: everything is stored here."""


class SharedFiles:
    """Uploaded files on the server of an index, on this disk only while they are used."""

    def __init__(self, folder: Path, uploads: "Uploads") -> None:
        """Create the store. Nothing is opened before it is needed.

        Args:
            folder: The folder under which the documents' paths lie; files are read there.
            uploads: The files on the server.
        """
        self.folder = folder
        self._uploads = uploads

    def store(self, files: Sequence[UploadFile]) -> StoredUpload:
        """Send uploaded files to the server of the index."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        # The files need a place on this disk first, which gives their sizes and rejects bad names.
        with TemporaryDirectory(dir=self.folder.parent, prefix="sent-") as received:
            stored = store_files(files, Path(received))
            names = {}
            for path, name in stored.names.items():
                place = str(self.folder / name)
                self._uploads.put(name, place, Path(path))
                names[place] = name
        return StoredUpload(names, stored.refused)

    def map_paths(self, names: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """Map stored files to their paths on this machine."""
        local_names = {str(self.folder / name): name for name in names.values()}
        earlier = {
            *names,
            *(self._uploads.set_path(name, path) for path, name in local_names.items()),
        }
        return local_names, sorted(earlier - local_names.keys() - {""})

    @contextmanager
    def provide_files(self, names: Mapping[str, str]) -> Iterator[list[Path]]:
        """Fetch files for the length of a `with` block, and yield their paths."""
        with self._uploads.fetch_files({name: Path(path) for path, name in names.items()}) as paths:
            yield paths

    def has_file(self, path: str) -> bool:
        """Return whether the file of a document exists."""
        return self._uploads.find(path) is not None or _is_file(path)

    def get_local_path(self, path: str) -> Path:
        """Return a path of a fetched copy of the file."""
        upload = self._uploads.find(path)
        if upload is None:
            return _require_file(path)
        copies = self.folder.parent / FETCHED
        # A new version of a file has a new number, so a copy is never out of date.
        target = copies / str(upload.no) / Path(upload.name).name
        if not target.is_file():
            self._uploads.fetch(upload.name, target)
            _remove_oldest(copies)
        return target

    def remove(self, path: str) -> None:
        """Remove an uploaded file; any other file stays."""
        self._uploads.remove(path)
        self.remove_leftovers(idle=False)

    def remove_leftovers(self, *, idle: bool) -> None:
        """Remove copies whose files are gone, and what a killed server left behind."""
        copies = self.folder.parent / FETCHED
        if copies.is_dir():
            numbers = {str(upload.no) for upload in self._uploads.list_uploads()}
            for folder in copies.iterdir():
                if folder.name not in numbers:
                    shutil.rmtree(folder, ignore_errors=True)
        if idle and self.folder.is_dir():
            shutil.rmtree(self.folder, ignore_errors=True)


def _remove_oldest(copies: Path) -> None:
    """Remove the copies that were fetched first."""
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
    return LocalFiles(folder) if uploads is None else SharedFiles(folder, uploads)
