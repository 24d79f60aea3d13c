"""Files that are read ahead of the process that writes their documents."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from fathom.documents.base import ParsedDocument, ParseRefusal, RecordFailure
from fathom.documents.discover import digest_content
from fathom.documents.sandbox.parent import Sandbox, begin_file
from fathom.index.base import SourceRecord
from fathom.index.survey import There
from fathom.index.workers.base import Done, FileRead, Lost, Pool, ReadFile

BEGUN = 16
"""The largest number of files that are examined before their turn."""


def read_ahead(
    places: Iterable[There], pool: Pool | None, sandbox: Sandbox
) -> Iterator[tuple[There, FileRead]]:
    """Yield the places in their order, each with what is known of its content.

    Args:
        places: The places of files to read.
        pool: The workers that read them; `None` leaves reading to this process.
        sandbox: The sandbox of this process; without workers it begins to read the next files
            meanwhile.
    """
    if pool is None:
        yield from _begun(places, sandbox)
        return
    ahead: deque[There] = deque()
    for _, result in pool.in_order(_tasks(places, ahead)):
        place = ahead.popleft()
        yield place, _outcome(place.file, result)


def _tasks(places: Iterable[There], ahead: deque[There]) -> Iterator[ReadFile]:
    """Yield a task for each place."""
    for place in places:
        ahead.append(place)
        yield ReadFile(str(place.file), place.place, _same(place.known))


def _begun(places: Iterable[There], sandbox: Sandbox) -> Iterator[tuple[There, FileRead]]:
    """Yield the places with their digests, while the sandbox reads the next files."""
    ahead: deque[tuple[There, FileRead]] = deque()
    for place in places:
        file_read = _looked_at(place.file)
        ahead.append((place, file_read))
        if file_read.error is None and file_read.digest != _same(place.known):
            begin_file(place.file, sandbox)
        if len(ahead) > BEGUN:
            yield ahead.popleft()
    yield from ahead


def _same(source: SourceRecord | None) -> str:
    """Return the digest with which a file is not read again.

    A file that failed is always read again, because the failure may have been passing.
    """
    return source.digest if source is not None and source.outcome != "failed" else ""


def _looked_at(file: Path) -> FileRead:
    """Return the digest of a file, or the error that prevented it."""
    try:
        return FileRead(digest=digest_content(file))
    except OSError as error:
        return FileRead(error=error)


def digest_of(file_read: FileRead) -> str:
    """Return the digest of the bytes that a worker read.

    Raises:
        OSError: If the worker could not read them.
    """
    if file_read.error is not None:
        raise file_read.error
    return file_read.digest


def found_parts(file_read: FileRead) -> Iterable[ParsedDocument | RecordFailure]:
    """Return the contents that a worker found in a file; none if the writer reads it.

    Raises:
        ParseRefusal: If the file gives no text.
    """
    if file_read.refused is not None:
        raise file_read.refused
    return file_read.parts


def _outcome(file: Path, result: Done | Lost) -> FileRead:
    """Return what a worker found, or that no worker survives the file."""
    if isinstance(result, FileRead):
        return result
    # An unreadable file explains the loss better than a dead worker does.
    file_read = _looked_at(file)
    if file_read.error is not None:
        return file_read
    reason = result.told if isinstance(result, Lost) else "its worker returned nothing"
    return replace(file_read, refused=ParseRefusal("failed", reason))
