"""Files that are read ahead of the process that writes what they hold."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from fathom.documents.base import Failure, Parsed, Refused
from fathom.documents.discover import content_digest
from fathom.documents.sandbox.parent import Sandbox, begin
from fathom.index.base import SourceRecord
from fathom.index.places import display
from fathom.index.workers.base import TRIES, Done, FileRead, Lost, ReadFile, Workers, in_order

BEGUN = 16
"""So many files are looked at before their turn, at most."""


def read_ahead(
    files: Iterable[Path],
    workers: Workers | None,
    sandbox: Sandbox,
    source: Callable[[str], SourceRecord | None],
) -> Iterator[tuple[Path, FileRead]]:
    """The files in their order, each with what is known of its content.

    Args:
        files: To be read.
        workers: Who say what they found in it.
        sandbox: Of who writes; without workers it has begun to read the next files meanwhile.
        source: What is known of a place.
    """
    tasks = (_to_read(file, source(display(file))) for file in files)
    if workers is None:
        yield from _begun(tasks, sandbox)
        return
    for task, found in in_order(workers, tasks):
        yield Path(task.path), _outcome(Path(task.path), found)


def _begun(tasks: Iterable[ReadFile], sandbox: Sandbox) -> Iterator[tuple[Path, FileRead]]:
    ahead: deque[tuple[Path, FileRead]] = deque()
    for task in tasks:
        file = Path(task.path)
        looked_at = _looked_at(file)
        ahead.append((file, looked_at))
        if looked_at.error is None and looked_at.digest != task.known:
            begin(file, sandbox)
        if len(ahead) > BEGUN:
            yield ahead.popleft()
    yield from ahead


def _looked_at(file: Path) -> FileRead:
    try:
        return FileRead(digest=content_digest(file))
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


def found_parts(found: FileRead) -> Iterable[Parsed | Failure]:
    """What a worker found in a file; nothing where it is to be read by who writes.

    Raises:
        Refused: If the file gives no text.
    """
    if found.refused is not None:
        raise found.refused
    return found.parts


def _to_read(file: Path, known: SourceRecord | None) -> ReadFile:
    same = known is not None and known.outcome != "failed"
    return ReadFile(str(file), display(file), known.digest if known is not None and same else "")


def _outcome(file: Path, found: Done | Lost) -> FileRead:
    """What a worker found, or that no worker survives the file."""
    if isinstance(found, FileRead):
        return found
    looked_at = _looked_at(file)
    if looked_at.error is not None:
        return looked_at
    why = found.reason if isinstance(found, Lost) else "its worker gave nothing"
    return replace(looked_at, refused=Refused("failed", f"{why}, {TRIES} times"))
