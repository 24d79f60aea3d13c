"""The progress of an ingestion, in bytes of files, in chunks and in vectors."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Stage = Literal["reading", "embedding", "finishing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestState:
    """The progress of an ingestion.

    Attributes:
        stage: The present work: `finishing` puts the index in order once all is stored.
        place: The file that is read; empty before the first and after the last.
        files: The number of files in all.
        bytes: Their size.
        done: The bytes that need no more work, with the finished share of files that are embedded.
        chunks: The chunks stored so far, which searches find, and the embedded ones that wait.
        vectors: The vectors made so far for stored chunks.
        lacking: The stored chunks that have no vector yet.
        page: The number of recognised pages of the file.
        pages: The number of pages to recognise; 0 if there are none.
    """

    stage: Stage = "reading"
    place: str = ""
    files: int = 0
    bytes: int = 0
    done: float = 0.0
    chunks: int = 0
    vectors: int = 0
    lacking: int = 0
    page: int = 0
    pages: int = 0


class ProgressCounter:
    """A count of the progress; a file counts once it is read, embedded and stored.

    Bytes that were read wait until their chunks are embedded. The records of a corpus file wait one
    by one, up to the size of the file.
    """

    def __init__(self, report_state: Callable[[IngestState], None]) -> None:
        """Create the count, at zero."""
        self._report_state = report_state
        self._files = self._total = 0
        self._place = ""
        self._unread = 0
        self._waiting = 0
        self._done = 0
        self._chunks = 0
        self._vectors = self._lacking = 0
        self._page = self._pages = 0

    def begin(self, sizes: Iterable[int]) -> None:
        """Add files to read, by their sizes in bytes."""
        for size in sizes:
            self._files += 1
            self._total += size

    def open_file(self, place: str, size: int) -> None:
        """Note that a file of so many bytes is read now."""
        self._place, self._unread = place, size
        self._page = self._pages = 0
        self._report("reading")

    def count_page(self, page: int, pages: int) -> None:
        """Note that so many pages of the file, of so many, are recognised."""
        self._page, self._pages = page, pages
        self._report("reading")

    def count_read(self, size: int | None = None) -> None:
        """Note that about so many bytes of the file wait for embedding; by default all the rest."""
        # Sizes of records are estimates, so their sum may exceed the file's size.
        size = self._unread if size is None else min(size, self._unread)
        self._unread -= size
        # Read bytes are not done yet: after an interruption they are read again.
        self._waiting += size

    def close_file(self, *, stored: bool) -> None:
        """Note that the file was read; with `stored` none of it waits any more."""
        self.count_read()
        if stored:
            self.count_stored()

    def count_embedded(self, chunks: int, of: int) -> None:
        """Note that so many of the waiting chunks are embedded."""
        share = chunks / of if of else 1.0
        self._report("embedding", self._waiting * share, chunks)

    def count_stored(self, chunks: int = 0) -> None:
        """Note that all that waited is stored, with so many chunks."""
        self._done += self._waiting
        self._waiting = 0
        self._chunks += chunks
        self._report("reading")

    def count_filled(self, vectors: int, of: int) -> None:
        """Note that so many vectors of stored chunks are made."""
        self._place, self._vectors, self._lacking = "", vectors, of - vectors
        self._report("embedding")

    def finish(self) -> None:
        """Note that all is stored and the index is put in order."""
        self._place = ""
        self._report("finishing")

    def _report(self, stage: Stage, more: float = 0.0, chunks: int = 0) -> None:
        """Report the progress."""
        self._report_state(
            IngestState(
                stage=stage,
                place=self._place,
                files=self._files,
                bytes=self._total,
                done=self._done + more,
                chunks=self._chunks + chunks,
                vectors=self._vectors,
                lacking=self._lacking,
                page=self._page if stage == "reading" else 0,
                pages=self._pages if stage == "reading" else 0,
            )
        )


def measure_file(file: Path) -> int:
    """Return the bytes of a file; 0 if it cannot be examined, as reading it reports why."""
    try:
        return file.stat().st_size
    except OSError:
        return 0
