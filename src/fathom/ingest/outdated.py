"""The files that have changed since they were read."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fathom.documents.discover import digest_content
from fathom.index.base import IndexReader, SourceRecord, is_address
from fathom.ingest.places import CorpusFiles, locate_path
from fathom.types import Citation

CHANGED = "changed since it was read"
VANISHED = "gone since it was read"
MIN_CONFIDENCE = 0.9
"""The confidence of recognition, in [0, 1], below which a quote gets a warning."""
_SETTLED_NS = 2_000_000_000  # the coarsest clock of a file system, FAT's, ticks every two seconds
_MAX_DIGESTS = 10_000


@dataclass(frozen=True, slots=True)
class OutdatedFile:
    """A file that has changed since it was read, with the reason in one line."""

    path: str
    reason: str


class FileDigests:
    """The digests of files, each computed again only if the file may have changed.

    Every write sets the time of status change (ctime), which no program can choose, unlike the time
    of modification. The digest of a file that changed in the last two seconds is not remembered,
    because the file may change again before the clock of its file system ticks. The object is safe
    for threads.
    """

    def __init__(self) -> None:
        self._digests: dict[tuple[int, ...], str] = {}

    def compute(self, file: Path) -> str:
        """Return the digest of a file's content.

        Raises:
            OSError: If the file cannot be examined or read.
        """
        state = file.stat()
        key = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        # Computed before the file is read: a change during the reading must not look settled.
        settled = time.time_ns() - max(state.st_mtime_ns, state.st_ctime_ns) > _SETTLED_NS
        digest = self._digests.get(key) or digest_content(file)
        if settled:
            # A full cache is rare, so it is simply emptied.
            if len(self._digests) >= _MAX_DIGESTS:
                self._digests.clear()
            self._digests[key] = digest
        return digest


def find_outdated_files(
    index: IndexReader, sources: Iterable[SourceRecord], digests: FileDigests | None = None
) -> Iterator[OutdatedFile]:
    """Yield the files of places that have changed since they were read, each once.

    The files are read, because their dates can be wrong. A record of a corpus file is outdated as
    soon as the file has changed.

    Args:
        index: The index that has the places.
        sources: The records of the places; those without a document are left out.
        digests: The known digests of files; by default none are known.

    Yields:
        The files in the order of their first places, and the places that are stale.
    """
    digests = digests or FileDigests()
    files, seen = CorpusFiles(index), set()
    for source in sources:
        if source.document_id is None and not source.is_corpus:
            continue
        if source.outcome == "stale":
            yield OutdatedFile(source.path, source.reason)
            continue
        place = files.locate_file(source.path)
        if place in seen:
            continue
        seen.add(place)
        reason = _explain_change(index.get_source(place) or source, files, digests)
        if reason:
            yield OutdatedFile(place, reason)


def describe_outdated_citations(
    citations: Iterable[Citation], index: IndexReader, digests: FileDigests, *, shared: bool = False
) -> tuple[str, ...]:
    """Return a line for each cited document that has changed since it was read.

    Args:
        citations: The citations of an answer.
        index: The index that has the documents.
        digests: The known digests of files.
        shared: Whether other machines may have read the files; then a file that is missing here is
            not reported.
    """
    cited: dict[str, list[str]] = {}
    for citation in citations:
        if citation.source == "corpus":
            cited.setdefault(citation.document, []).append(f"[{citation.n}]")
    return tuple(
        f"{''.join(numbers)} {file.path}: {file.reason}; quoted as it was read before"
        for document, numbers in cited.items()
        if (file := _find_outdated_file(index, document, digests)) is not None
        and not (shared and file.reason == VANISHED)
    )


def describe_uncertain_quotes(citations: Iterable[Citation]) -> tuple[str, ...]:
    """Return a line for each quote that was recognised from a picture with low confidence."""
    return tuple(
        f"[{citation.n}] {citation.path}{f', page {citation.page}' if citation.page else ''}: "
        f"the text was recognised with confidence {citation.recognised:.2f} only; "
        "compare the quote with the picture"
        for citation in citations
        if citation.recognised is not None and citation.recognised < MIN_CONFIDENCE
    )


def _find_outdated_file(
    index: IndexReader, document: str, digests: FileDigests
) -> OutdatedFile | None:
    """Return the outdated file of a document; `None` if one of its places still has it."""
    places = index.list_places(document)
    files = list(find_outdated_files(index, places, digests))
    return files[0] if files and len(files) == len(places) else None


def _explain_change(source: SourceRecord, files: CorpusFiles, digests: FileDigests) -> str:
    """Return the reason why a file differs from what was read; empty if it does not."""
    if is_address(source.path):
        return ""  # only the next synchronization of its source can tell
    if files.is_gone(source.path):
        return VANISHED
    try:
        same = digests.compute(locate_path(source.path)) == source.digest
    except OSError as error:
        return f"cannot be read any more: {error.strerror}"
    return "" if same else CHANGED
