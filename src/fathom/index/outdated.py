"""Whether files are still what was read of them."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fathom.documents.discover import digest_content
from fathom.index.base import IndexReader, SourceRecord
from fathom.index.places import Files, path_at
from fathom.types import Citation

CHANGED = "changed since it was read"
VANISHED = "gone since it was read"
SURELY_READ = 0.9
"""A quote that was recognised less surely is given with a warning."""
_SETTLED_NS = 2_000_000_000  # the coarsest clock of a file system, FAT's, ticks every two seconds
_MOST_DIGESTS = 10_000


@dataclass(frozen=True, slots=True)
class Outdated:
    """A file that is no longer what was read of it, and in one line why."""

    path: str
    reason: str


class Digests:
    """The digests of files, each read again only once it may have changed.

    Every write sets the time of change (ctime), which unlike the date cannot be set by hand. A
    file that changed in the last two seconds is not remembered: it may change again before its
    file system's clock ticks. May be used from several threads.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], str] = {}

    def of(self, file: Path) -> str:
        """See `content_digest`.

        Raises:
            OSError: If the file cannot be looked at or read.
        """
        state = file.stat()
        key = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        settled = time.time_ns() - max(state.st_mtime_ns, state.st_ctime_ns) > _SETTLED_NS
        digest = self._known.get(key) or digest_content(file)
        if settled:
            if len(self._known) >= _MOST_DIGESTS:
                self._known.clear()
            self._known[key] = digest
        return digest


def outdated(
    index: IndexReader, sources: Iterable[SourceRecord], digests: Digests | None = None
) -> Iterator[Outdated]:
    """The files of these places that are no longer what was read, each once, in their order.

    Files are read for it, as their dates can lie. A record of a corpus file is outdated as soon
    as the file is another one.

    Args:
        index: Knows what was read.
        sources: Places; those that gave no document are left out.
        digests: Spares reading files again that were read for it before; by default all are read.
    """
    digests = digests or Digests()
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
        reason = _why(index.source(place) or source, files, digests)
        if reason:
            yield Outdated(place, reason)


def warnings_of(
    citations: Iterable[Citation], index: IndexReader, digests: Digests, *, shared: bool = False
) -> tuple[str, ...]:
    """Which documents of an answer are no longer what was read, a line for each.

    Args:
        citations: Of the answer.
        index: Knows what was read.
        digests: Spares reading files again.
        shared: Whether files were perhaps read on other machines: one that is not here has not
            gone then.
    """
    cited: dict[str, list[str]] = {}
    for citation in citations:
        if citation.source == "corpus":
            cited.setdefault(citation.document, []).append(f"[{citation.n}]")
    return tuple(
        f"{''.join(numbers)} {found.path}: {found.reason}; quoted as it was read before"
        for document, numbers in cited.items()
        if (found := _of_document(index, document, digests)) is not None
        and not (shared and found.reason == VANISHED)
    )


def doubts_of(citations: Iterable[Citation]) -> tuple[str, ...]:
    """Which quotes were read off pictures badly, a line for each."""
    return tuple(
        f"[{each.n}] {each.path}{f', page {each.page}' if each.page else ''}: the text was "
        f"recognised with confidence {each.recognised:.2f} only; compare the quote with the picture"
        for each in citations
        if each.recognised is not None and each.recognised < SURELY_READ
    )


def _of_document(index: IndexReader, document: str, digests: Digests) -> Outdated | None:
    """Why a document is outdated; `None` while one of its places still holds it."""
    places = index.places(document)
    found = list(outdated(index, places, digests))
    return found[0] if found and len(found) == len(places) else None


def _why(known: SourceRecord, files: Files, digests: Digests) -> str:
    """Why a file is not what was read; empty where it is."""
    if files.is_gone(known.path):
        return VANISHED
    try:
        same = digests.of(path_at(known.path)) == known.digest
    except OSError as error:
        return f"cannot be read any more: {error.strerror}"
    return "" if same else CHANGED
