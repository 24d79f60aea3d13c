"""Where the files lie that were sent: in a folder beside an embedded index, else on its server."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol

from starlette.datastructures import UploadFile

from fathom.index.engines import Index
from fathom.serving.http.kept import UPLOADS
from fathom.serving.http.uploads import Stored, is_upload, store

if TYPE_CHECKING:  # psycopg is of an extra
    from fathom.index.postgres.uploads import Uploads

FETCHED = "fetched"
"""Beside them: files that were fetched from the server to be shown."""
MOST_FETCHED = 32


class Files(Protocol):
    """The files of one workspace."""

    @property
    def folder(self) -> Path:
        """Below which documents are said to be."""
        ...

    def store(self, files: Sequence[UploadFile]) -> Stored:
        """Keep files that are sent; each is there whole or not at all."""
        ...

    def placed(self, names: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """Where stored files are read on this machine.

        Args:
            names: What each is called by who sent it, by the path where it was stored.

        Returns:
            The same by the paths here, and paths that are no longer said to be theirs.
        """
        ...

    def on_disk(self, names: Mapping[str, str]) -> AbstractContextManager[list[Path]]:
        """Have files there while a `with` block runs; gives those that there are."""
        ...

    def find(self, path: str) -> bool:
        """Whether the file is there that a document was read from."""
        ...

    def opened(self, path: str) -> Path:
        """The file that a document was read from, as it can be opened.

        Args:
            path: Of the file; the place of a record is none, see `index.corpus_places.find_file`.

        Raises:
            FileNotFoundError: If there is none.
        """
        ...

    def remove(self, path: str) -> None:
        """Remove a file, if it was sent; any other stays."""
        ...

    def tidy(self, *, idle: bool) -> None:
        """Remove from this disk what is not kept here.

        Args:
            idle: Whether no job of the workspace is open, so that no file is being read.
        """
        ...


def _is_file(path: str) -> bool:
    """Tell whether a file that can have been read is there; paths of those lead nowhere up."""
    try:
        return ".." not in PurePath(path).parts and Path(path).is_file()
    except OSError:  # such as a name that is too long
        return False


def _require_file(path: str) -> Path:
    if not _is_file(path):
        raise FileNotFoundError(path)
    return Path(path)


class LocalFiles:
    """In a folder beside an embedded index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def store(self, files: Sequence[UploadFile]) -> Stored:
        """See `Files.store`."""
        return store(files, self.folder)

    def placed(self, names: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """See `Files.placed`."""
        return dict(names), []

    @contextmanager
    def on_disk(self, names: Mapping[str, str]) -> Iterator[list[Path]]:
        """See `Files.on_disk`."""
        yield [path for path in map(Path, names) if path.exists()]

    def find(self, path: str) -> bool:
        """See `Files.find`."""
        return _is_file(path)

    def opened(self, path: str) -> Path:
        """See `Files.opened`."""
        return _require_file(path)

    def remove(self, path: str) -> None:
        """See `Files.remove`."""
        if is_upload(Path(path), self.folder):
            Path(path).unlink(missing_ok=True)

    def tidy(self, *, idle: bool) -> None:
        """See `Files.tidy`: all is kept here."""


class SharedFiles:
    """On the server of an index, on this disk only while they are read or shown."""

    def __init__(self, folder: Path, uploads: "Uploads") -> None:
        """Nothing is asked before it is needed.

        Args:
            folder: Below which documents are said to be; files are read there.
            uploads: Those on the server.
        """
        self.folder = folder
        self._uploads = uploads

    def store(self, files: Sequence[UploadFile]) -> Stored:
        """See `Files.store`."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=self.folder.parent, prefix="sent-") as sent:
            stored = store(files, Path(sent))
            names = {}
            for path, name in stored.names.items():
                place = str(self.folder / name)
                self._uploads.put(name, place, Path(path))
                names[place] = name
        return Stored(names, stored.refused)

    def placed(self, names: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """See `Files.placed`."""
        here = {str(self.folder / name): name for name in names.values()}
        before = {*names, *(self._uploads.place(name, path) for path, name in here.items())}
        return here, sorted(before - here.keys() - {""})

    @contextmanager
    def on_disk(self, names: Mapping[str, str]) -> Iterator[list[Path]]:
        """See `Files.on_disk`."""
        with self._uploads.on_disk({name: Path(path) for path, name in names.items()}) as there:
            yield there

    def find(self, path: str) -> bool:
        """See `Files.find`."""
        return self._uploads.find(path) is not None or _is_file(path)

    def opened(self, path: str) -> Path:
        """See `Files.opened`."""
        found = self._uploads.find(path)
        if found is None:
            return _require_file(path)
        kept = self.folder.parent / FETCHED
        target = kept / str(found.no) / Path(found.name).name
        if not target.is_file():
            self._uploads.fetch(found.name, target)
            _thin(kept)
        return target

    def remove(self, path: str) -> None:
        """See `Files.remove`."""
        self._uploads.remove(path)
        self.tidy(idle=False)

    def tidy(self, *, idle: bool) -> None:
        """See `Files.tidy`: what was fetched goes with its file, what a killed server left too."""
        kept = self.folder.parent / FETCHED
        if kept.is_dir():
            known = {str(each.no) for each in self._uploads.all()}
            for each in kept.iterdir():
                if each.name not in known:
                    shutil.rmtree(each, ignore_errors=True)
        if idle and self.folder.is_dir():
            shutil.rmtree(self.folder, ignore_errors=True)


def _thin(kept: Path) -> None:
    """Remove the files that were fetched first."""
    folders = sorted(kept.iterdir(), key=lambda each: each.stat().st_mtime)
    for each in folders[:-MOST_FETCHED]:
        shutil.rmtree(each, ignore_errors=True)


def files_of(index: Index, directory: Path) -> Files:
    """The files that were sent to an index.

    Args:
        index: Where they may be kept.
        directory: Of the index, or of what is kept beside it on this machine.
    """
    folder, uploads = (directory / UPLOADS).absolute(), index.uploads()
    return LocalFiles(folder) if uploads is None else SharedFiles(folder, uploads)
