"""The work of one worker: reading files in a sandbox of its own, cutting and embedding."""

import re
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Literal, Self

from fathom.documents.base import ParsedDocument, ParseRefusal
from fathom.documents.discover import derive_document_id, digest_content
from fathom.documents.sandbox.parent import Sandbox, read_file
from fathom.errors import FathomError
from fathom.ingest.workers.base import (
    ChunkedText,
    CutDocumentTask,
    CutRecordsTask,
    FileContent,
    LostTask,
    ReadFileTask,
    Task,
    TaskResult,
    WorkerTools,
)
from fathom.ingest.workers.cutting import cut_document, end_if_late
from fathom.models.base import embed_many
from fathom.tables.packing import pack_tables
from fathom.text.language import detect_language
from fathom.types import Chunk, Document

_LINE_PLACE = re.compile(r"_*\((?:line|record) [0-9]+\)")


class TaskRunner:
    """A runner of tasks, one after the other; a context manager for one thread."""

    def __init__(self, tools: WorkerTools) -> None:
        """Create the runner; nothing is started yet."""
        self._tools = tools
        self._exit_stack = ExitStack()
        self._has_cut = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._exit_stack.close()

    @cached_property
    def _sandbox(self) -> Sandbox:
        """The sandbox, started for the first file: a worker that only cuts needs none."""
        return self._exit_stack.enter_context(Sandbox(self._tools.parse_limits))

    def run(self, task: Task) -> TaskResult:
        """Return the result of a task; a file always has one, whatever is in it."""
        try:
            if isinstance(task, ReadFileTask):
                return self._read_file(task)
            if isinstance(task, CutRecordsTask):
                return tuple(self._cut_record(record, task.place) for record in task.records)
            if isinstance(task, CutDocumentTask):
                return self._cut_document(task.document)
        except FathomError as error:
            return error
        try:
            return embed_many(self._tools.embedders[task.space], task.texts)
        except FathomError as error:
            return LostTask(str(error))

    def _read_file(self, task: ReadFileTask) -> FileContent:
        """Read a file, unless its content is known."""
        file = Path(task.path)
        try:
            digest = digest_content(file)
        except OSError as error:
            return FileContent(error=error)
        if digest == task.known_digest:
            return FileContent(digest=digest)
        try:
            return self._parse_file(file, task.place, digest)
        except ParseRefusal as refusal:
            return FileContent(digest=digest, refusal=refusal)

    def _cut_record(self, record: ParsedDocument, place: str) -> ChunkedText | ParseRefusal:
        """Cut a record of a corpus file."""
        place = build_record_place(place, record.record)
        return self._cut_document(make_document(record, str(record.record), place))

    def _cut_document(self, document: Document) -> ChunkedText | ParseRefusal:
        """Cut a document."""
        try:
            return ChunkedText(document.language, self._split(document))
        except ParseRefusal as refusal:
            return refusal

    def _split(self, document: Document) -> tuple[Chunk, ...]:
        """Return the chunks of a document, within the time that its length allows."""
        chunker = self._tools.chunker
        if not self._has_cut:  # loading a tokenizer, perhaps by download, must not count
            chunker.split(Document(id="", text="first", path="", title=""))
            self._has_cut = True
        with end_if_late(len(document.text)):
            return cut_document(chunker, document)

    def _parse_file(self, file: Path, place: str, digest: str) -> FileContent:
        """Parse and cut a file; a corpus file is left to the writing process."""
        for item in read_file(file, self._sandbox):
            if not isinstance(item, ParsedDocument) or item.record is not None:
                return FileContent(digest=digest)  # a corpus, whose records are too many for memory
            document = make_document(item, derive_document_id(digest), place)
            chunks = self._split(document)
            tables = pack_tables(document)
            return FileContent(digest=digest, contents=(item,), chunks=chunks, tables=tables)
        return FileContent(digest=digest)


def build_record_place(file: str, record: str | None) -> str:
    """Return the place of a record of a corpus file, by its id."""
    # An id such as `(line 3)` would name the same place as `build_line_place`.
    mark = "_" if _LINE_PLACE.fullmatch(str(record)) else ""
    return f"{file}#{mark}{record}"


def build_line_place(file: str, number: int, of: Literal["line", "record"] = "line") -> str:
    """Return the place of a line without a record, so that no record has the same place.

    Args:
        file: The file's place.
        number: The number of the line or record, from 1.
        of: The thing that is counted; blank lines are no records.
    """
    return f"{file}#({of} {number})"


def make_document(
    parsed: ParsedDocument, document_id: str, place: str, language: str = ""
) -> Document:
    """Return a parsed document with its id, its place and its language."""
    return Document(
        id=document_id,
        text=parsed.text,
        path=place,
        title=parsed.title or Path(place).stem if parsed.record is None else parsed.title,
        language=language or detect_language(parsed.text),
        metadata=parsed.metadata,
        blocks=parsed.blocks,
        lines=parsed.lines,
    )
