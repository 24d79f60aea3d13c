"""Files that are read ahead of the process that writes what they hold."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from fathom.documents.base import ParsedDocument, ParseRefusal, RecordFailure
from fathom.documents.discover import digest_content
from fathom.documents.sandbox.parent import Sandbox, begin
from fathom.index.base import SourceRecord
from fathom.index.survey import There
from fathom.index.workers.base import Done, FileRead, Lost, Pool, ReadFile

BEGUN = 16
"""So many files are looked at before their turn, at most."""


def read_ahead(
    places: Iterable[There], pool: Pool | None, sandbox: Sandbox
) -> Iterator[tuple[There, FileRead]]:
    """The places in their order, each with what is known of its content.

    Args:
        places: Of files that are to be read.
        pool: Workers who say what they found in it.
        sandbox: Of who writes; without workers it has begun to read the next files meanwhile.
    """
    if pool is None:
        yield from _begun(places, sandbox)
        return
    ahead: deque[There] = deque()
    for _, found in pool.in_order(_tasks(places, ahead)):
        one = ahead.popleft()
        yield one, _outcome(one.file, found)


def _tasks(places: Iterable[There], ahead: deque[There]) -> Iterator[ReadFile]:
    for one in places:
        ahead.append(one)
        yield ReadFile(str(one.file), one.place, _same(one.known))


def _begun(places: Iterable[There], sandbox: Sandbox) -> Iterator[tuple[There, FileRead]]:
    ahead: deque[tuple[There, FileRead]] = deque()
    for one in places:
        looked_at = _looked_at(one.file)
        ahead.append((one, looked_at))
        if looked_at.error is None and looked_at.digest != _same(one.known):
            begin(one.file, sandbox)
        if len(ahead) > BEGUN:
            yield ahead.popleft()
    yield from ahead


def _same(known: SourceRecord | None) -> str:
    """The digest with which a file is not read again; may be it was bad luck if it failed."""
    return known.digest if known is not None and known.outcome != "failed" else ""


def _looked_at(file: Path) -> FileRead:
    try:
        return FileRead(digest=digest_content(file))
    except OSError as error:
        return FileRead(error=error)


def digest_of(found: FileRead) -> str:
    """Of the bytes that a worker read.

    Raises:
        OSError: If it could not.
    """
    if found.error is not None:
        raise found.error
    return found.digest


def found_parts(found: FileRead) -> Iterable[ParsedDocument | RecordFailure]:
    """What a worker found in a file; nothing where it is to be read by who writes.

    Raises:
        ParseRefusal: If the file gives no text.
    """
    if found.refused is not None:
        raise found.refused
    return found.parts


def _outcome(file: Path, found: Done | Lost) -> FileRead:
    """What a worker found, or that no worker survives the file."""
    if isinstance(found, FileRead):
        return found
    looked_at = _looked_at(file)
    if looked_at.error is not None:
        return looked_at
    why = found.told if isinstance(found, Lost) else "its worker gave nothing"
    return replace(looked_at, refused=ParseRefusal("failed", why))
