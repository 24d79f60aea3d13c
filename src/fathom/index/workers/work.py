"""What one worker does: it reads files in a sandbox of its own, and embeds."""

import re
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Literal, Self

from fathom.documents.base import ParsedDocument, ParseRefusal
from fathom.documents.discover import derive_document_id, digest_content
from fathom.documents.sandbox.parent import Sandbox, read
from fathom.errors import FathomError
from fathom.index.workers.base import (
    Cut,
    CutDocument,
    CutRecords,
    Done,
    FileRead,
    Lost,
    ReadFile,
    Task,
    Tools,
)
from fathom.index.workers.cutting import cut_document, end_if_late
from fathom.models.base import embed_many
from fathom.text.language import detect
from fathom.types import Chunk, Document

_OWN = re.compile(r"_*\((?:line|record) [0-9]+\)")


class Work:
    """Does one task after the other; a context manager, to be used from one thread."""

    def __init__(self, tools: Tools) -> None:
        """Nothing is started yet."""
        self._tools = tools
        self._open = ExitStack()
        self._has_cut = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    @cached_property
    def _sandbox(self) -> Sandbox:
        """Start it with the first file: who cuts alone has none."""
        return self._open.enter_context(Sandbox(self._tools.parse_limits))

    def do(self, task: Task) -> Done:
        """What comes of a task; a file always has an outcome, whatever is in it."""
        try:
            if isinstance(task, ReadFile):
                return self._read(task)
            if isinstance(task, CutRecords):
                return tuple(self._cut(record, task.place) for record in task.records)
            if isinstance(task, CutDocument):
                return self._cut_whole(task.document)
        except FathomError as error:
            return error
        try:
            return embed_many(self._tools.embedders[task.space], task.texts)
        except FathomError as error:
            return Lost(str(error))

    def _read(self, task: ReadFile) -> FileRead:
        file = Path(task.path)
        try:
            digest = digest_content(file)
        except OSError as error:
            return FileRead(error=error)
        if digest == task.known:
            return FileRead(digest=digest)
        try:
            return self._parsed(file, task.place, digest)
        except ParseRefusal as refused:
            return FileRead(digest=digest, refused=refused)

    def _cut(self, record: ParsedDocument, place: str) -> Cut | ParseRefusal:
        place = record_place(place, record.record)
        return self._cut_whole(document_of(record, str(record.record), place))

    def _cut_whole(self, document: Document) -> Cut | ParseRefusal:
        try:
            return Cut(document.language, self._split(document))
        except ParseRefusal as refused:
            return refused

    def _split(self, document: Document) -> tuple[Chunk, ...]:
        chunker = self._tools.chunker
        if not self._has_cut:  # the first one waits for a tokenizer, which may come from afar
            chunker.split(Document(id="", text="first", path="", title=""))
            self._has_cut = True
        with end_if_late(len(document.text)):
            return cut_document(chunker, document)

    def _parsed(self, file: Path, place: str, digest: str) -> FileRead:
        for part in read(file, self._sandbox):
            if not isinstance(part, ParsedDocument) or part.record is not None:
                return FileRead(digest=digest)  # a corpus
            document = document_of(part, derive_document_id(digest), place)
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


def document_of(
    parsed: ParsedDocument, document_id: str, place: str, language: str = ""
) -> Document:
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
