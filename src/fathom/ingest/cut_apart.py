"""A chunker that cuts long documents in a process of their own, with a time limit."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from fathom.documents.base import ParseRefusal
from fathom.documents.chunking.base import Chunker
from fathom.ingest.workers.base import (
    ChunkedText,
    CutDocumentTask,
    LostTask,
    TaskResult,
    WorkerPool,
    Workers,
)
from fathom.ingest.workers.cutting import cut_document
from fathom.types import Chunk, Document

MAX_INLINE_CHARS = 10_000
"""The number of characters up to which a document is cut in this process.

So short a document takes less time than the start of a process.
"""


class IsolatedChunker:
    """A `Chunker` that refuses a document which takes too long to cut.

    It is for one thread, which must close it in the end.
    """

    def __init__(self, chunker: Chunker, start_workers: Callable[[], Workers]) -> None:
        """Create the chunker; a process is started for the first long document.

        Args:
            chunker: The chunker of short documents.
            start_workers: The function that starts a worker, which must cut in the same way.
        """
        self._chunker = chunker
        self._start_workers = start_workers
        self._workers: Workers | None = None

    @property
    def identity(self) -> Mapping[str, str]:
        """The identity of the inner chunker, which is also that of this one."""
        return self._chunker.identity

    def split(self, document: Document) -> tuple[Chunk, ...]:
        """Return the chunks of a document.

        Raises:
            ParseRefusal: `failed`, if the document cannot be cut in the time that its length
                allows, or no worker survives it.
            FathomError: If no worker can be started.
        """
        if len(document.text) <= MAX_INLINE_CHARS:
            return cut_document(self._chunker, document)
        ((_, result),) = WorkerPool(self._ensure_workers()).run_in_order(
            [CutDocumentTask(document)]
        )
        return _take_chunks(result)

    def prepare_for(self, paths: Iterable[Path]) -> None:
        """Start the worker now if one of the files may be a long document.

        So the process starts while the file is still being read and parsed.
        """
        if any(path.is_file() and path.stat().st_size > MAX_INLINE_CHARS for path in paths):
            self._ensure_workers()

    def _ensure_workers(self) -> Workers:
        """Return the worker; start it if it is not running."""
        if self._workers is None:
            self._workers = self._start_workers()
        return self._workers

    def close(self) -> None:
        """End the process, if there is one."""
        if self._workers is not None:
            self._workers.close()
            self._workers = None


def _take_chunks(result: TaskResult) -> tuple[Chunk, ...]:
    """Return the chunks in the result of a task.

    Raises:
        ParseRefusal: If the result has none.
    """
    if isinstance(result, ChunkedText):
        return result.chunks
    if isinstance(result, ParseRefusal):
        raise result
    raise ParseRefusal(
        "failed",
        result.final_reason if isinstance(result, LostTask) else "its worker returned nothing",
    )
