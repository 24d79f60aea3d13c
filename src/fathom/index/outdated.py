"""Whether files are still what was read of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fathom.documents.identity import content_digest
from fathom.index.base import Reader, Source
from fathom.index.places import Files, path_at

CHANGED = "changed since it was read"
VANISHED = "gone since it was read"


@dataclass(frozen=True, slots=True)
class Outdated:
    """A file that is no longer what was read of it, and in one line why."""

    path: str
    reason: str


def outdated(index: Reader, sources: Iterable[Source]) -> Iterator[Outdated]:
    """The files of these places that are no longer what was read, each once, in their order.

    Files are read for it, as their dates can lie. A record of a corpus file is outdated as soon
    as the file is another one.

    Args:
        index: Knows what was read.
        sources: Places; those that gave no document are left out.
    """
    files, seen = Files(index), set()
    for source in sources:
        if source.document_id is None and not source.is_corpus:
            continue
        if source.outcome == "stale":
            yield Outdated(source.path, source.reason)
            continue
        place = files.file_of(source.path)
        if place in seen:
            continue
        seen.add(place)
        reason = _why(index.source(place) or source, files)
        if reason:
            yield Outdated(place, reason)


def _why(known: Source, files: Files) -> str:
    """Why a file is not what was read; empty where it is."""
    if files.is_gone(known.path):
        return VANISHED
    try:
        same = content_digest(path_at(known.path)) == known.digest
    except OSError as error:
        return f"cannot be read any more: {error.strerror}"
    return "" if same else CHANGED
