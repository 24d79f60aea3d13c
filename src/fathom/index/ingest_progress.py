"""How far an ingestion is, in bytes of files, in chunks and in vectors."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Stage = Literal["reading", "embedding", "finishing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """How far an ingestion is.

    Attributes:
        stage: What is being done: `finishing` puts the index in order, once all is stored.
        place: The file that is read; empty before and after.
        files: How many there are in all.
        bytes: Their size.
        done: Bytes that need no more work; of what is embedded, the share that is through.
        chunks: Stored so far, so that they are found; of those that wait for their vectors, made.
        vectors: Made so far of chunks that are stored.
        lacking: Chunks that are stored and have no vector yet.
        page: So many pages of the file have been recognised.
        pages: Of so many; 0 where none has to be.
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


class Course:
    """Counts while files go in; a file counts once it is read and embedded, and stored.

    What is read waits until it is embedded; then it is done. Of a corpus file the records wait
    one by one, as far as its size goes.
    """

    def __init__(self, tell: Callable[[Advance], None]) -> None:
        """Nothing is known yet.

        Args:
            tell: Told whenever something has changed.
        """
        self._tell = tell
        self._files = self._total = 0
        self._place = ""
        self._left = 0
        self._waiting = 0
        self._done = 0
        self._chunks = 0
        self._vectors = self._lacking = 0
        self._page = self._pages = 0

    def begin(self, sizes: Iterable[int]) -> None:
        """So many files are to be read, of these sizes in bytes."""
        for size in sizes:
            self._files += 1
            self._total += size

    def open(self, place: str, size: int) -> None:
        """A file is read, of so many bytes."""
        self._place, self._left = place, size
        self._page = self._pages = 0
        self._told("reading")

    def page(self, page: int, pages: int) -> None:
        """So many pages of the file have been recognised, of so many."""
        self._page, self._pages = page, pages
        self._told("reading")

    def read(self, size: int | None = None) -> None:
        """So many bytes of it, about, wait to be embedded; by default all that are left."""
        size = self._left if size is None else min(size, self._left)
        self._left -= size
        self._waiting += size

    def close(self, *, stored: bool) -> None:
        """The file has been read; nothing waits any more if all is stored."""
        self.read()
        if stored:
            self.settle()

    def embedded(self, chunks: int, of: int) -> None:
        """So many chunks of those that wait are embedded."""
        share = chunks / of if of else 1.0
        self._told("embedding", self._waiting * share, chunks)

    def settle(self, chunks: int = 0) -> None:
        """What waited is stored, so many chunks."""
        self._done += self._waiting
        self._waiting = 0
        self._chunks += chunks
        self._told("reading")

    def filled(self, vectors: int, of: int) -> None:
        """So many vectors of stored chunks are made."""
        self._place, self._vectors, self._lacking = "", vectors, of - vectors
        self._told("embedding")

    def finish(self) -> None:
        """All is stored; the index is put in order."""
        self._place = ""
        self._told("finishing")

    def _told(self, stage: Stage, more: float = 0.0, chunks: int = 0) -> None:
        self._tell(
            Advance(
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


def size_of(file: Path) -> int:
    """Bytes of a file; 0 where it cannot be told, as its turn will say why."""
    try:
        return file.stat().st_size
    except OSError:
        return 0
