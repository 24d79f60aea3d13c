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
        stage: The present work; `finishing` optimizes the index after everything is stored.
        place: The place of the file that is being read; empty before the first and after the last.
        files: The number of all files.
        bytes: The size of all files in bytes.
        done: The number of bytes that need no more work, and the finished share of those that are
            being embedded.
        chunks: The number of chunks that are stored so far, and of embedded ones that wait.
        vectors: The number of vectors that were made so far for stored chunks.
        lacking: The number of stored chunks that have no vector yet.
        page: The number of pages of the file that are recognised so far.
        pages: The number of pages of the file to recognise; 0 if there are none.
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
    """A counter of the progress; the bytes of a file count when they are stored.

    Bytes that were read wait until their chunks are embedded and stored. The records of a corpus
    file are counted one by one, together at most the size of the file.
    """

    def __init__(self, report_state: Callable[[IngestState], None]) -> None:
        """Create the counter at zero.

        Args:
            report_state: A callback with each new state.
        """
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
        """Note that a file is read now.

        Args:
            place: The place of the file.
            size: Its size in bytes.
        """
        self._place, self._unread = place, size
        self._page = self._pages = 0
        self._report("reading")

    def count_page(self, page: int, pages: int) -> None:
        """Note that `page` of `pages` pages of the file are recognised."""
        self._page, self._pages = page, pages
        self._report("reading")

    def count_read(self, size: int | None = None) -> None:
        """Note that bytes of the file wait for embedding.

        Args:
            size: About the number of bytes; by default all the rest of the file.
        """
        # Sizes of records are estimates, so their sum may exceed the file's size.
        size = self._unread if size is None else min(size, self._unread)
        self._unread -= size
        # Read bytes are not done yet: after an interruption they are read again.
        self._waiting += size

    def close_file(self, *, stored: bool) -> None:
        """Note that the whole file was read; with `stored` none of it waits any more."""
        self.count_read()
        if stored:
            self.count_stored()

    def count_embedded(self, chunks: int, of: int) -> None:
        """Note that `chunks` of `of` waiting chunks are embedded."""
        share = chunks / of if of else 1.0
        self._report("embedding", self._waiting * share, chunks)

    def count_stored(self, chunks: int = 0) -> None:
        """Note that everything that waited is stored, with a number of chunks."""
        self._done += self._waiting
        self._waiting = 0
        self._chunks += chunks
        self._report("reading")

    def count_filled(self, vectors: int, of: int) -> None:
        """Note that `vectors` of `of` missing vectors of stored chunks are made."""
        self._place, self._vectors, self._lacking = "", vectors, of - vectors
        self._report("embedding")

    def finish(self) -> None:
        """Note that everything is stored and the index is being optimized."""
        self._place = ""
        self._report("finishing")

    def _report(self, stage: Stage, more: float = 0.0, chunks: int = 0) -> None:
        """Report the state.

        Args:
            stage: The present work.
            more: The number of waiting bytes that are embedded.
            chunks: The number of waiting chunks that are embedded.
        """
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
    """Return the size of a file in bytes; 0 if it cannot be examined.

    The later attempt to read the file reports the reason.
    """
    try:
        return file.stat().st_size
    except OSError:
        return 0
