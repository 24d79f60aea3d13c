"""What one worker does: it reads files in a sandbox of its own, and embeds."""

import re
from pathlib import Path
from typing import Literal, Self

from fathom.documents.base import Parsed, Refused
from fathom.documents.discover import content_digest, document_id
from fathom.documents.sandbox.parent import Sandbox, read
from fathom.errors import FathomError
from fathom.index.workers.base import Cut, CutRecords, Done, FileRead, Lost, ReadFile, Task, Tools
from fathom.models.base import embed_many
from fathom.text.language import detect
from fathom.types import Chunk, Document

_OWN = re.compile(r"_*\((?:line|record) [0-9]+\)")


class Work:
    """Does one task after the other; a context manager, to be used from one thread."""

    def __init__(self, tools: Tools) -> None:
        """Nothing is started yet."""
        self._tools = tools
        self._sandbox = Sandbox(tools.parse_limits)

    def __enter__(self) -> Self:
        self._sandbox.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._sandbox.__exit__(*error)

    def do(self, task: Task) -> Done:
        """What comes of a task; a file always has an outcome, whatever is in it."""
        try:
            if isinstance(task, ReadFile):
                return self._read(task)
            if isinstance(task, CutRecords):
                return tuple(self._cut(record, task.place) for record in task.records)
        except FathomError as error:
            return error
        try:
            return embed_many(self._tools.embedders[task.space], task.texts)
        except FathomError as error:
            return Lost(str(error))

    def _read(self, task: ReadFile) -> FileRead:
        file = Path(task.path)
        try:
            digest = content_digest(file)
        except OSError as error:
            return FileRead(error=error)
        if digest == task.known:
            return FileRead(digest=digest)
        try:
            return self._parsed(file, task.place, digest)
        except Refused as refused:
            return FileRead(digest=digest, refused=refused)

    def _cut(self, record: Parsed, place: str) -> Cut | Refused:
        document = document_of(record, str(record.record), record_place(place, record.record))
        try:
            return Cut(document.language, self._split(document))
        except Refused as refused:
            return refused

    def _split(self, document: Document) -> tuple[Chunk, ...]:
        try:
            return self._tools.chunker.split(document)
        except FathomError:
            raise
        except Exception as error:  # whatever a document causes is its outcome
            reason = f"cannot be cut: {type(error).__name__}: {' '.join(str(error).split())}"[:300]
            raise Refused("failed", reason) from error

    def _parsed(self, file: Path, place: str, digest: str) -> FileRead:
        for part in read(file, self._sandbox):
            if not isinstance(part, Parsed) or part.record is not None:
                return FileRead(digest=digest)  # a corpus
            document = document_of(part, document_id(digest), place)
            chunks = self._split(document)
            return FileRead(digest=digest, parts=(part,), chunks=chunks)
        return FileRead(digest=digest)


def record_place(file: str, record: str | None) -> str:
    """The place of a record of a corpus file, by its id; see `line_place`."""
    mark = "_" if _OWN.fullmatch(str(record)) else ""
    return f"{file}#{mark}{record}"


def line_place(file: str, number: int, of: Literal["line", "record"] = "line") -> str:
    """The place of what has none of its own in a corpus file, so that no record has it.

    Args:
        file: The file's place.
        number: From 1.
        of: What is counted; blank lines are no records.
    """
    return f"{file}#({of} {number})"


def document_of(parsed: Parsed, document_id: str, place: str, language: str = "") -> Document:
    """What was parsed as a document with its id, its place and its language.

    Args:
        parsed: From the sandbox.
        document_id: Of the document.
        place: Where it was.
        language: Where it has been detected before.
    """
    return Document(
        id=document_id,
        text=parsed.text,
        path=place,
        title=parsed.title or Path(place).stem if parsed.record is None else parsed.title,
        language=language or detect(parsed.text),
        metadata=parsed.metadata,
        blocks=parsed.blocks,
        lines=parsed.lines,
    )
