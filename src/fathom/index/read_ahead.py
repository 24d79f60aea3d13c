"""Files as workers read them, ahead of the process that writes what they hold."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fathom.documents.base import Failure, Parsed, Refused
from fathom.documents.discover import content_digest
from fathom.index.base import SourceRecord
from fathom.index.places import display
from fathom.index.workers.base import TRIES, Done, FileRead, Lost, ReadFile, Workers, in_order


def read_ahead(
    files: Iterable[Path],
    workers: Workers | None,
    source: Callable[[str], SourceRecord | None],
) -> Iterator[tuple[Path, FileRead | None]]:
    """The files in their order, each with what a worker found in it.

    Args:
        files: To be read.
        workers: Without any nothing is found: who writes reads.
        source: What is known of a place.
    """
    if workers is None:
        yield from ((file, None) for file in files)
        return
    tasks = (_to_read(file, source(display(file))) for file in files)
    for task, found in in_order(workers, tasks):
        yield Path(task.path), _outcome(Path(task.path), found)


def digest_of(found: FileRead) -> str:
    """Of the bytes that a worker read.

    Raises:
        OSError: If it could not.
    """
    if found.error is not None:
        raise found.error
    return found.digest


def found_parts(found: FileRead | None) -> Iterable[Parsed | Failure]:
    """What a worker found in a file; nothing where it is to be read by who writes.

    Raises:
        Refused: If the file gives no text.
    """
    if found is not None and found.refused is not None:
        raise found.refused
    return () if found is None else found.parts


def _to_read(file: Path, known: SourceRecord | None) -> ReadFile:
    same = known is not None and known.outcome != "failed"
    return ReadFile(str(file), display(file), known.digest if known is not None and same else "")


def _outcome(file: Path, found: Done | Lost) -> FileRead:
    """What a worker found, or that no worker survives the file."""
    if isinstance(found, FileRead):
        return found
    try:
        digest = content_digest(file)
    except OSError as error:
        return FileRead(error=error)
    why = found.reason if isinstance(found, Lost) else "its worker gave nothing"
    return FileRead(digest=digest, refused=Refused("failed", f"{why}, {TRIES} times"))
