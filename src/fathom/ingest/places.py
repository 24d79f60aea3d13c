"""The places that an index was asked to read: files, and records of corpus files."""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import TypeVar

from fathom.documents.base import ParseRefusal
from fathom.documents.discover import format_path, make_absolute
from fathom.errors import UsageError
from fathom.index.base import IndexReader, SourceRecord, is_address

T = TypeVar("T")

BATCH_SIZE = 512
"""The number of places held in memory at a time."""
MAX_CACHED_FILES = 10_000
"""The largest number of files in each cache."""
GONE = "the file is gone; `fathom ingest --prune` removes what it gave"
RECORD_GONE = "the record is gone from its file; `fathom ingest --prune` removes it"


display = format_path
"""The function that returns the name of a file in the index."""


def locate_path(place: str) -> Path:
    """Return the path of the file whose name in the index is a place.

    If no such file exists, the place itself is the path.
    """
    return next((path for path in _iterate_spellings(place) if os.path.lexists(path)), Path(place))


def is_gone(place: str) -> bool:
    """Return whether the file of a place is proved to be missing.

    An error of access proves nothing, and nothing is proved about an object elsewhere.
    """
    if is_address(place):
        return False
    for path in _iterate_spellings(place):
        try:
            if stat.S_ISREG(path.stat().st_mode):
                return False
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return False
    return True


def is_below(place: str, folder: str) -> bool:
    """Return whether a place is a folder itself or inside of it; `px2` is not below `px`."""
    return place == folder or place.startswith(f"{folder.rstrip('/')}/")


def select_outermost(places: Iterable[str]) -> list[str]:
    """Return the places that are not below another one, ordered by path."""
    outer: list[str] = []
    # Places with few folders come first, so each is compared only with those that may contain it.
    for place in sorted(set(places), key=lambda place: (place.count("/"), place)):
        if not any(is_below(place, other) for other in outer):
            outer.append(place)
    return sorted(outer)


def _iterate_spellings(place: str) -> Iterator[Path]:
    """Yield the paths whose name in the index is a place.

    The index has the bytes of a name that is not UTF-8 as escapes. So an escape in a place may be
    part of the name, or stand for such a byte.
    """
    yield Path(place)
    raw = re.sub(rb"\\x([89a-f][0-9a-f])", lambda match: bytes([int(match[1], 16)]), place.encode())
    if raw != place.encode():
        yield Path(os.fsdecode(raw))


class CorpusFiles:
    """The corpus files of an index, and the files to which its places belong.

    Recent answers are cached: later changes of the files are not noticed.
    """

    def __init__(self, index: IndexReader) -> None:
        self._index = index
        self._corpora: dict[str, bool] = {}
        self._gone: dict[str, bool] = {}

    def locate_file(self, place: str) -> str:
        """Return the corpus file of a record; for any other place the place itself.

        A file's name may contain a `#` too, so the index decides which file is a corpus.
        """
        marks = (mark.start() for mark in re.finditer("#", place))
        return next((place[:at] for at in marks if self.is_corpus(place[:at])), place)

    def list_records(self, file: str, index: IndexReader | None = None) -> Iterator[SourceRecord]:
        """Yield the places of the records of a corpus file, in order, with few of them in memory.

        Args:
            file: The corpus file.
            index: The index that has the records; by default the one of this object.
        """
        for source in iterate_sources(index or self._index, file):
            if source.path != file and self.locate_file(source.path) == file:
                yield source

    def add_corpus(self, file: str) -> None:
        """Note that a file is a corpus."""
        self._corpora[file] = True

    def check_file_place(self, place: str) -> None:
        """Check that the place of a file is not that of a record of another file.

        Raises:
            ParseRefusal: `failed`, if it is; the reason names the other file.
        """
        file = self.locate_file(place)
        if file != place:
            raise ParseRefusal("failed", f"its name is that of a record of {file}; rename it")

    def list_twins(self, source: SourceRecord, document_id: str) -> list[SourceRecord]:
        """Return the other places of a document at which it was read well and may still be."""
        places = self._index.list_places(document_id)
        others = [other for other in places if other.path != source.path and other.outcome == "ok"]
        return [other for other in others if not self.is_gone(other.path)]

    def is_gone(self, place: str) -> bool:
        """Return whether the file of a place is proved to be missing."""
        file = self.locate_file(place)
        # Many records share a file, so the file system is asked once for each file.
        if file not in self._gone:
            _limit_cache(self._gone)
            self._gone[file] = is_gone(file)
        return self._gone[file]

    def is_corpus(self, file: str) -> bool:
        """Return whether the index has a file as a corpus."""
        if file not in self._corpora:
            _limit_cache(self._corpora)
            source = self._index.get_source(file)
            self._corpora[file] = source is not None and source.is_corpus
        return self._corpora[file]


def _limit_cache(remembered: dict[str, bool]) -> None:
    """Empty a cache that is full."""
    if len(remembered) >= MAX_CACHED_FILES:
        remembered.clear()


def iterate_sources(index: IndexReader, below: str = "/") -> Iterator[SourceRecord]:
    """Yield the records of a place and of all places in it, with few of them in memory.

    The caller may change or remove each of them meanwhile.
    """
    after = ""
    # A page is read as a whole, so a change of its rows cannot disturb the query.
    while page := list(index.list_sources(below, after=after, most=BATCH_SIZE)):
        after = page[-1].path
        yield from page


def iterate_batches(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield the items in lists of at most `BATCH_SIZE`."""
    more = iter(items)
    while page := list(islice(more, BATCH_SIZE)):
        yield page


def list_roots(index: IndexReader, apart: Sequence[str] = ()) -> list[Path]:
    """Return the files and folders that an index was asked to hold.

    Known files below no root are added, because indexes of older versions have no list of roots. A
    missing root below which the index has no place is left out.

    Args:
        index: The index.
        apart: The folders that are sources, whose files are not added.
    """
    roots = [Path(root) for root in index.get_roots()]
    names = [*(display(root) for root in roots), *apart]
    files = CorpusFiles(index)
    others = {files.locate_file(source.path) for source in index.list_sources()}
    others = {
        file
        for file in others
        if not is_address(file) and not any(is_below(file, root) for root in names)
    }
    present = [root for root in roots if os.path.lexists(root) or _has_places(index, root)]
    return [*present, *(locate_path(file) for file in sorted(others))]


def _has_places(index: IndexReader, root: Path) -> bool:
    """Return whether an index has a place at or below a root."""
    return any(True for _ in index.list_sources(display(root), most=1))


def list_places_outside(index: IndexReader, roots: Iterable[Path]) -> list[str]:
    """Return the places of documents that are below none of the roots."""
    files, names = CorpusFiles(index), [display(root) for root in roots]
    return [
        source.path
        for source in index.list_sources()
        if source.document_id is not None
        and not any(is_below(files.locate_file(source.path), root) for root in names)
    ]


def find_places(index: IndexReader, name: str) -> list[str]:
    """Return the places that a name stands for.

    Args:
        index: The index that has the places.
        name: A document's id, a file, a folder, the address of an object or of a folder around it,
            or a shell pattern, in which `*` also matches slashes.

    Raises:
        UsageError: If there is no such place.
    """
    if not name:  # all places would match, but a script with an unset variable means none
        raise UsageError("the name of a document is empty; `fathom docs list` shows ids and paths")
    places = [source.path for source in index.list_places(name)]
    absolute = display(make_absolute(name))
    if not places:
        files = CorpusFiles(index)
        places = [
            source.path
            for path in {name, absolute}
            for source in index.list_sources(path)
            if source.path == path or is_below(files.locate_file(source.path), path)
        ]
    if not places and any(mark in name for mark in "*?["):
        pattern = name if is_address(name) else absolute
        places = [
            source.path for source in index.list_sources() if fnmatchcase(source.path, pattern)
        ]
    if not places:
        raise UsageError(f"no document {name!r}; `fathom docs list` shows ids and paths")
    return places
