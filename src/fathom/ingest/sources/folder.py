"""A source that is a folder of this machine."""

from collections.abc import Iterator
from pathlib import Path

from fathom.documents.discover import discover_files, format_path, make_absolute
from fathom.errors import SourceUnavailable
from fathom.ingest.places import locate_path
from fathom.ingest.sources.base import (
    ObjectFailure,
    SourceObject,
    SourceOptions,
    copy_limited,
    is_disk_full,
)


class FolderSource:
    """The files below a folder, as `fathom ingest` finds them; their addresses are their paths."""

    has_sidecars = False  # ingestion finds the sidecars of local files without a source

    def __init__(self, url: str, options: SourceOptions) -> None:
        """Create the source; the folder is not read yet."""
        self._folder = make_absolute(url)
        self._options = options

    def list_objects(self) -> Iterator[SourceObject]:
        """Yield the files in the order of their paths.

        Raises:
            SourceUnavailable: If the folder is missing; at the end if a file or a folder in it
                could not be read, or if another folder has taken its place meanwhile.
        """
        identity = self._identify()
        unread: list[str] = []
        files = discover_files(
            [self._folder],
            self._options.file_filter,
            on_error=lambda folder, error: unread.append(f"{folder}: {error.strerror}"),
        )
        for file in files:
            try:
                status = file.stat()
            except FileNotFoundError:
                continue  # removed since it was listed
            except OSError as error:
                unread.append(f"{file}: {error.strerror}")
                continue
            yield SourceObject(
                name=format_path(file.relative_to(self._folder)),
                address=format_path(file),
                token=f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}",
            )
        if unread:
            raise SourceUnavailable(f"{unread[0]}; {len(unread)} places cannot be read")
        # If a disk is unmounted during the listing, its files look like removed ones.
        if self._identify() != identity:
            raise SourceUnavailable(f"{self._folder}: another folder took its place meanwhile")

    def _identify(self) -> tuple[int, int]:
        """Return the device and the inode of the folder, which tell it from any other one."""
        try:
            status = self._folder.stat()
        except OSError as error:
            raise SourceUnavailable(f"{self._folder}: {error.strerror}; mount it") from None
        return status.st_dev, status.st_ino

    def fetch(self, item: SourceObject, file: Path) -> None:
        """Copy a file.

        Without a copy, the digest and the text could come from two contents of a file that
        another program is writing.

        Raises:
            ObjectFailure: If the file cannot be read or is too large.
            OSError: If the disk is full.
        """
        try:
            with locate_path(item.address).open("rb") as stream, file.open("wb") as target:
                copy_limited(stream, target, self._options.most_bytes)
        except OSError as error:
            if is_disk_full(error):
                raise
            raise ObjectFailure(f"cannot be read: {error.strerror}") from None

    def close(self) -> None:
        """Do nothing: no file stays open."""
