"""The protocol of a source: a place outside of the index that holds documents."""

import errno
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from fathom.documents.discover import FileFilter, is_left_out
from fathom.errors import SourceUnavailable

PIECE_BYTES = 1 << 20
"""The bytes of one read."""
MOST_SECONDS = 1800.0
"""The time for the content of one object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceObject:
    """An object of a source: a file, a blob of a repository, a page of a site.

    Attributes:
        name: Its path in the source, with `/` between folders; its ending tells the format.
        address: Its address outside of Fathom, to which citations lead; another object of the
            source never has the same.
        token: A text that differs after every change of the content: an etag, a time with a size,
            a revision; empty if nothing tells a change.
    """

    name: str
    address: str
    token: str


class ObjectFailure(Exception):
    """An object that cannot be fetched now, although its source works; says why in one line."""


class FoldersUnread(SourceUnavailable):
    """Folders that cannot be listed, in a source whose other folders were listed whole."""


class DocumentSource(Protocol):
    """A source of documents. Every implementation passes `testing.SourceConformance`.

    Attributes:
        has_sidecars: Whether it also lists the files that name the readers of documents beside
            them. Such a source is listed to its end before an object is fetched.
    """

    has_sidecars: bool

    def list_objects(self) -> Iterator[SourceObject]:
        """Yield all objects, each once, with few of them in memory.

        The listing is complete only if the iterator ends without an error.

        Raises:
            SourceUnavailable: If the rest cannot be listed.
        """
        ...

    def fetch(self, item: SourceObject, file: Path) -> None:
        """Write the content of a listed object into a new file.

        Raises:
            ObjectFailure: If this object cannot be read, or is larger than the limit.
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
        folder: A folder of this machine for what a source keeps between two listings.
        file_filter: The filter of objects by their names.
        most_bytes: The size above which an object is refused.
        offline: Whether no socket may be opened.
        allow_private: Whether the host that the URL names may be inside of a private network.
        user: The user name for the source, if its server asks for one.
        password: The password for the source, likewise.
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
"""Opens the source at a URL; nothing is read before it is listed."""


def copy_limited(
    stream: IO[bytes],
    target: IO[bytes],
    most_bytes: int,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Copy a stream up to its end.

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
    """Return whether an error of writing an object will befall every other object too."""
    return error.errno in {errno.ENOSPC, errno.EDQUOT}


def describe_size_limit(most_bytes: int) -> str:
    """Return the reason why an object is too large."""
    return f"holds more than {most_bytes >> 20} MB; raise limits.file_mb to read it"


def is_hidden(name: str) -> bool:
    """Return whether an object or a folder around it holds no documents: hidden, or of rights."""
    return any(map(is_left_out, name.split("/")))
