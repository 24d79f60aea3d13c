"""Files that are read ahead of the process that writes their documents."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from fathom.documents.base import ParsedDocument, ParseRefusal, RecordFailure
from fathom.documents.discover import digest_content
from fathom.documents.sandbox.parent import Sandbox, begin_file, check_large_file
from fathom.index.base import SourceRecord
from fathom.ingest.survey import ReadablePlace
from fathom.ingest.workers.base import FileContent, LostTask, ReadFileTask, TaskResult, WorkerPool

MAX_STARTED = 16
"""The largest number of files that are examined before their turn."""


def read_ahead(
    places: Iterable[ReadablePlace], pool: WorkerPool | None, sandbox: Sandbox
) -> Iterator[tuple[ReadablePlace, FileContent]]:
    """Yield the places in their order, each with the content of its file as far as it was read.

    Args:
        places: The places.
        pool: The workers that read the files; without them only digests are computed here.
        sandbox: The sandbox of this process, which without workers begins to read the next files.
    """
    if pool is None:
        yield from _read_in_sandbox(places, sandbox)
        return
    ahead: deque[ReadablePlace] = deque()
    for _, result in pool.run_in_order(_build_tasks(places, ahead)):
        place = ahead.popleft()
        yield place, _build_file_content(place.file, result)


def _build_tasks(
    places: Iterable[ReadablePlace], ahead: deque[ReadablePlace]
) -> Iterator[ReadFileTask]:
    """Yield a task for each place, and append the place to `ahead`."""
    for place in places:
        ahead.append(place)
        yield ReadFileTask(str(place.file), place.place, _get_known_digest(place.record))


def _read_in_sandbox(
    places: Iterable[ReadablePlace], sandbox: Sandbox
) -> Iterator[tuple[ReadablePlace, FileContent]]:
    """Yield the places with their digests, while the sandbox reads the next files."""
    ahead: deque[tuple[ReadablePlace, FileContent]] = deque()
    for place in places:
        file_read = _examine_file(place, sandbox)
        ahead.append((place, file_read))
        is_readable = file_read.error is None and file_read.refusal is None
        if is_readable and file_read.digest != _get_known_digest(place.record):
            begin_file(place.file, sandbox)
        if len(ahead) > MAX_STARTED:
            yield ahead.popleft()
    yield from ahead


def _get_known_digest(source: SourceRecord | None) -> str:
    """Return the digest with which a file need not be read again; empty for none.

    A file that failed is always read again, because the failure may have been temporary.
    """
    return source.digest if source is not None and source.outcome != "failed" else ""


def _examine_file(place: ReadablePlace, sandbox: Sandbox) -> FileContent:
    """Return the digest of a file, or why it gives none.

    No digest is computed of a file that is too large to be read, unless the index has an earlier
    content of it that could be read.
    """
    try:
        if place.record is None or place.record.outcome in {"failed", "stale"}:
            check_large_file(place.file, sandbox)
    except ParseRefusal as refusal:
        return FileContent(refusal=refusal)
    except OSError as error:
        return FileContent(error=error)
    return _digest_file(place.file)


def _digest_file(file: Path) -> FileContent:
    """Return the digest of a file, or the error that prevented it."""
    try:
        return FileContent(digest=digest_content(file))
    except OSError as error:
        return FileContent(error=error)


def get_digest(file_read: FileContent) -> str:
    """Return the digest of a file's bytes.

    Raises:
        OSError: If the file could not be read.
    """
    if file_read.error is not None:
        raise file_read.error
    return file_read.digest


def get_contents(file_read: FileContent) -> Iterable[ParsedDocument | RecordFailure]:
    """Return the contents of a file that a worker read; none if the writer must read the file.

    Raises:
        ParseRefusal: If the file gives no text.
    """
    if file_read.refusal is not None:
        raise file_read.refusal
    return file_read.contents


def _build_file_content(file: Path, result: TaskResult | LostTask) -> FileContent:
    """Return the content that a worker read, or a refusal if no worker survived the file."""
    if isinstance(result, FileContent):
        return result
    # An unreadable file explains the loss better than a dead worker does.
    file_read = _digest_file(file)
    if file_read.error is not None:
        return file_read
    reason = result.final_reason if isinstance(result, LostTask) else "its worker returned nothing"
    return replace(file_read, refusal=ParseRefusal("failed", reason))
