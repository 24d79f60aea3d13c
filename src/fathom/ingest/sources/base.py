"""The protocol of sources, which are places outside of the index that hold documents."""

import errno
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from fathom.documents.discover import FileFilter, is_left_out
from fathom.errors import SourceUnavailable

PIECE_BYTES = 1 << 20
"""The number of bytes that one read asks for."""
MOST_SECONDS = 1800.0
"""The longest time in seconds for reading the content of one object."""
BYTES = "surrogateescape"
"""The way in which a text keeps the bytes of a name that is not UTF-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceObject:
    """An object of a source: a file, a blob of a repository, a page of a site.

    Attributes:
        name: Its path in the source, with `/` between folders; its ending tells the format.
        address: The address outside of Fathom that citations name; no two objects of a source have
            the same.
        token: A text that is another one after every change of the content, such as an etag, a
            revision, or a time with a size; empty if the source tells no changes.
    """

    name: str
    address: str
    token: str


class ObjectFailure(Exception):
    """The failure to fetch one object of a source that works; its text is the reason, one line."""


class FoldersUnread(SourceUnavailable):
    """Some folders of a source cannot be listed; all others were listed completely."""


class DocumentSource(Protocol):
    """A source of documents. Every implementation passes `testing.SourceConformance`.

    Attributes:
        has_sidecars: Whether it also lists sidecars, the files beside documents that name their
            readers. Such a source is listed to its end before an object is fetched.
    """

    has_sidecars: bool

    def list_objects(self) -> Iterator[SourceObject]:
        """Yield all objects, each once, without holding all of them in memory.

        The listing is complete only if the iterator ends without an error.

        Raises:
            FoldersUnread: At the end, if only some folders cannot be listed.
            SourceUnavailable: If the rest of the objects cannot be listed.
        """
        ...

    def fetch(self, item: SourceObject, file: Path) -> None:
        """Write the content of a listed object into a new file.

        Raises:
            ObjectFailure: If this object cannot be read, or is larger than the limit.
            OSError: If the disk is full (`is_disk_full`).
            SourceUnavailable: If no object can be read now.
        """
        ...

    def close(self) -> None:
        """Release connections and files; a second call does nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """The options that all kinds of sources share.

    Attributes:
        name: The name of the source.
        folder: A folder of this machine for the files that a source keeps from one listing to the
            next, such as the mirror of a repository.
        file_filter: The filter of objects by their names.
        most_bytes: The largest size of an object in bytes; a larger one is refused.
        offline: Whether no socket may be opened.
        allow_private: Whether the host in the URL may be in a private network.
        user: The user name at the server of the source; empty if there is none.
        password: The password at the server of the source; empty if there is none.
    """

    name: str
    folder: Path
    file_filter: FileFilter
    most_bytes: int
    offline: bool = False
    allow_private: bool = False
    user: str = ""
    password: str = ""


OpenSource = Callable[[str, SourceOptions], DocumentSource]
"""A function that opens the source at a URL; it reads nothing yet."""


def copy_limited(
    stream: IO[bytes],
    target: IO[bytes],
    most_bytes: int,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Copy a stream up to its end.

    Args:
        stream: The stream to read.
        target: The stream to write.
        most_bytes: The largest number of bytes that are copied.
        clock: The present time in seconds of a clock that never goes back.

    Raises:
        ObjectFailure: If it holds more than `most_bytes`, or takes longer than `MOST_SECONDS`.
    """
    copied, end = 0, clock() + MOST_SECONDS
    while piece := stream.read(PIECE_BYTES):
        copied += len(piece)
        if copied > most_bytes:
            raise ObjectFailure(describe_size_limit(most_bytes))
        if clock() > end:
            raise ObjectFailure(f"takes longer than {MOST_SECONDS / 60:.0f} minutes")
        target.write(piece)


def is_disk_full(error: OSError) -> bool:
    """Return whether an object could not be written because the disk or the quota is full."""
    return error.errno in {errno.ENOSPC, errno.EDQUOT}


def describe_size_limit(most_bytes: int) -> str:
    """Return the reason why an object is too large."""
    return f"holds more than {most_bytes >> 20} MB; raise limits.file_mb to read it"


def is_hidden(name: str) -> bool:
    """Return whether a name, or a folder in it, is hidden or that of a file with readers."""
    return any(map(is_left_out, name.split("/")))
