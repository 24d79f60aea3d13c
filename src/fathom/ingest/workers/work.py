"""The work of one worker, which reads files in its own sandbox, cuts and embeds."""

import re
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Literal, Self

from fathom.documents.base import ParsedDocument, ParseRefusal
from fathom.documents.discover import derive_document_id, digest_content
from fathom.documents.sandbox.parent import Sandbox, check_large_file, read_file
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
    """A runner of tasks in one thread; a context manager, which ends the sandbox."""

    def __init__(self, tools: WorkerTools) -> None:
        """Create the runner; the sandbox is started with the first file."""
        self._tools = tools
        self._exit_stack = ExitStack()
        self._has_cut = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._exit_stack.close()

    @cached_property
    def _sandbox(self) -> Sandbox:
        """The sandbox, which is started on first use: a worker that only cuts needs none."""
        return self._exit_stack.enter_context(Sandbox(self._tools.parse_limits))

    def run(self, task: Task) -> TaskResult:
        """Do a task and return its result.

        Errors are results too: a `LostTask` if texts cannot be embedded, and a `FathomError` if
        another task shows that the worker cannot work. What is wrong with a file is in its
        `FileContent`.
        """
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
        """Read and cut a file, unless its content is the known one."""
        file = Path(task.path)
        try:
            if not task.known_digest:
                check_large_file(file, self._sandbox)
            digest = digest_content(file)
        except ParseRefusal as refusal:
            return FileContent(refusal=refusal)
        except OSError as error:
            return FileContent(error=error)
        if digest == task.known_digest:
            return FileContent(digest=digest)
        try:
            return self._parse_file(file, task.place, digest)
        except ParseRefusal as refusal:
            return FileContent(digest=digest, refusal=refusal)

    def _cut_record(self, record: ParsedDocument, place: str) -> ChunkedText | ParseRefusal:
        """Cut a record of the corpus file at a place; return the refusal if it cannot be cut."""
        place = build_record_place(place, record.record)
        return self._cut_document(make_document(record, str(record.record), place))

    def _cut_document(self, document: Document) -> ChunkedText | ParseRefusal:
        """Cut a document; return the refusal if it cannot be cut."""
        try:
            return ChunkedText(document.language, self._split(document))
        except ParseRefusal as refusal:
            return refusal

    def _split(self, document: Document) -> tuple[Chunk, ...]:
        """Return the chunks of a document.

        This process ends if cutting takes longer than the length of the text allows.

        Raises:
            ParseRefusal: If the document cannot be cut.
        """
        chunker = self._tools.chunker
        if not self._has_cut:  # the time to load or download a tokenizer must not count
            chunker.split(Document(id="", text="first", path="", title=""))
            self._has_cut = True
        with end_if_late(len(document.text)):
            return cut_document(chunker, document)

    def _parse_file(self, file: Path, place: str, digest: str) -> FileContent:
        """Parse and cut a file; for a corpus file, return only the digest.

        Raises:
            ParseRefusal: If the file gives no document, or it cannot be cut.
        """
        for item in read_file(file, self._sandbox):
            if not isinstance(item, ParsedDocument) or item.record is not None:
                return FileContent(digest=digest)  # a corpus file may have too many records
            document = make_document(item, derive_document_id(digest), place)
            chunks = self._split(document)
            tables = pack_tables(document)
            return FileContent(digest=digest, contents=(item,), chunks=chunks, tables=tables)
        return FileContent(digest=digest)


def build_record_place(file: str, record: str | None) -> str:
    """Return the place of a record of a corpus file.

    Args:
        file: The place of the file.
        record: The id of the record.
    """
    # A mark keeps an id such as `(line 3)` from giving a place of `build_line_place`.
    mark = "_" if _LINE_PLACE.fullmatch(str(record)) else ""
    return f"{file}#{mark}{record}"


def build_line_place(file: str, number: int, of: Literal["line", "record"] = "line") -> str:
    """Return the place of a line of a corpus file without a record; it is never that of a record.

    Args:
        file: The place of the file.
        number: The number of the line or the record, from 1.
        of: Whether lines or records are counted; blank lines are no records.
    """
    return f"{file}#({of} {number})"


def make_document(
    parsed: ParsedDocument, document_id: str, place: str, language: str = ""
) -> Document:
    """Return the document of a parsed file or record.

    Without a title, the document of a file gets the name of the file.

    Args:
        parsed: The parsed file or record.
        document_id: The id of the document.
        place: Its place.
        language: Its language; if it is empty, it is detected.
    """
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
