"""A chunker whose long documents are cut in a process of their own, for so long and no longer."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from fathom.documents.base import ParseRefusal
from fathom.documents.chunking.base import Chunker
from fathom.index.workers.base import Cut, CutDocument, Done, Lost, Pool, Workers
from fathom.index.workers.cutting import cut_document
from fathom.types import Chunk, Document

NEAR_CHARS = 10_000
"""Up to this length a document is cut at once: that is over before a process has started."""


class CutApart:
    """A `Chunker` that no document can hold up: one that takes too long is refused.

    Use it from one thread, and close it in the end.
    """

    def __init__(self, chunker: Chunker, start: Callable[[], Workers]) -> None:
        """Start nothing before there is a long document.

        Args:
            chunker: Cuts short documents here.
            start: Starts who cuts long ones in the same way.
        """
        self._chunker = chunker
        self._start = start
        self._workers: Workers | None = None

    @property
    def identity(self) -> Mapping[str, str]:
        """See `Chunker.identity`."""
        return self._chunker.identity

    def split(self, document: Document) -> tuple[Chunk, ...]:
        """See `Chunker.split`.

        Raises:
            ParseRefusal: If the document cannot be cut, or not in the time that its length allows.
            FathomError: If there is nobody who can cut it.
        """
        if len(document.text) <= NEAR_CHARS:
            return cut_document(self._chunker, document)
        ((_, found),) = Pool(self._start_once()).in_order([CutDocument(document)])
        return _take_chunks(found)

    def expect(self, paths: Iterable[Path]) -> None:
        """Start at once who cuts long documents if one of these may be a long one."""
        if any(path.is_file() and path.stat().st_size > NEAR_CHARS for path in paths):
            self._start_once()

    def _start_once(self) -> Workers:
        if self._workers is None:
            self._workers = self._start()
        return self._workers

    def close(self) -> None:
        """End the process, if there is one."""
        if self._workers is not None:
            self._workers.close()
            self._workers = None


def _take_chunks(found: Done) -> tuple[Chunk, ...]:
    """Give the chunks that came, or say why there are none."""
    if isinstance(found, Cut):
        return found.chunks
    if isinstance(found, ParseRefusal):
        raise found
    raise ParseRefusal(
        "failed", found.told if isinstance(found, Lost) else "its worker gave nothing"
    )
