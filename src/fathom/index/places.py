"""Places: the files, and the records of corpus files, that an index was asked to read."""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import TypeVar

from fathom.documents.base import ParseRefusal
from fathom.documents.discover import format_path, make_absolute
from fathom.errors import UsageError
from fathom.index.base import IndexReader, SourceRecord

T = TypeVar("T")

AT_ONCE = 512
"""So many of the places that an index knows are held at a time."""
REMEMBERED = 10_000
"""So many files are remembered at most."""
GONE = "the file is gone; `fathom ingest --prune` removes what it gave"
RECORD_GONE = "the record is gone from its file; `fathom ingest --prune` removes it"


display = format_path
"""See `shown`: so the index names a file."""


def path_at(place: str) -> Path:
    """The path that is displayed so."""
    return next((path for path in _meant(place) if os.path.lexists(path)), Path(place))


def is_gone(place: str) -> bool:
    """Whether it is proved that no file is there: what cannot be looked at is not gone."""
    for path in _meant(place):
        try:
            if stat.S_ISREG(path.stat().st_mode):
                return False
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return False
    return True


def is_below(place: str, folder: str) -> bool:
    """Whether a place is this one or lies inside it; `px2` is not below `px`."""
    return place == folder or place.startswith(f"{folder.rstrip('/')}/")


def outermost(places: Iterable[str]) -> list[str]:
    """The places without those that are below another one, in order."""
    kept: list[str] = []
    for place in sorted(set(places), key=lambda place: (place.count("/"), place)):
        if not any(is_below(place, other) for other in kept):
            kept.append(place)
    return sorted(kept)


def _meant(place: str) -> Iterator[Path]:
    """The paths that are displayed so: the bytes of a name that is no UTF-8 are written out."""
    yield Path(place)
    raw = re.sub(rb"\\x([89a-f][0-9a-f])", lambda m: bytes([int(m[1], 16)]), place.encode())
    if raw != place.encode():
        yield Path(os.fsdecode(raw))


class Files:
    """Which file a place belongs to, as far as an index knows; remembers some of it for a while."""

    def __init__(self, index: IndexReader) -> None:
        self._index = index
        self._corpora: dict[str, bool] = {}
        self._gone: dict[str, bool] = {}

    def file_of(self, place: str) -> str:
        """The corpus file of a record, else the place itself: a name may hold a `#` too."""
        marks = (mark.start() for mark in re.finditer("#", place))
        return next((place[:at] for at in marks if self.is_corpus(place[:at])), place)

    def list_records(self, file: str, index: IndexReader | None = None) -> Iterator[SourceRecord]:
        """List what is known of the records of a corpus file, in order; few are held at a time.

        Args:
            file: Its place.
            index: Another index that is asked for them.
        """
        for source in paged(index or self._index, file):
            if source.path != file and self.file_of(source.path) == file:
                yield source

    def add_corpus(self, file: str) -> None:
        """Know a file to hold records."""
        self._corpora[file] = True

    def check_file_place(self, place: str) -> None:
        """Refuse a file whose place is that of a record of another file.

        Raises:
            ParseRefusal: Naming the other file.
        """
        file = self.file_of(place)
        if file != place:
            raise ParseRefusal("failed", f"its name is that of a record of {file}; rename it")

    def list_twins(self, source: SourceRecord, document_id: str) -> list[SourceRecord]:
        """List the other places where a document was read last and may still be."""
        places = self._index.places(document_id)
        others = [one for one in places if one.path != source.path and one.outcome == "ok"]
        return [one for one in others if not self.is_gone(one.path)]

    def is_gone(self, place: str) -> bool:
        """Whether it is proved that the place's file is not there."""
        file = self.file_of(place)
        if file not in self._gone:
            _make_room(self._gone)
            self._gone[file] = is_gone(file)
        return self._gone[file]

    def is_corpus(self, file: str) -> bool:
        """Tell whether a file is known to hold records."""
        if file not in self._corpora:
            _make_room(self._corpora)
            known = self._index.source(file)
            self._corpora[file] = known is not None and known.is_corpus
        return self._corpora[file]


def _make_room(remembered: dict[str, bool]) -> None:
    if len(remembered) >= REMEMBERED:
        remembered.clear()


def paged(index: IndexReader, below: str = "/") -> Iterator[SourceRecord]:
    """See `IndexReader.sources`; few of them are held at a time, and each may be changed."""
    after = ""
    while page := list(index.sources(below, after=after, most=AT_ONCE)):
        after = page[-1].path
        yield from page


def pages(items: Iterable[T]) -> Iterator[list[T]]:
    """All of them, `AT_ONCE` at a time."""
    more = iter(items)
    while page := list(islice(more, AT_ONCE)):
        yield page


def roots_of(index: IndexReader) -> list[Path]:
    """What an index was asked to hold: as it was named, and files of before that was noted."""
    roots = [Path(root) for root in index.roots()]
    shown = [display(root) for root in roots]
    files = Files(index)
    others = {files.file_of(source.path) for source in index.sources()}
    others = {file for file in others if not any(is_below(file, root) for root in shown)}
    return [*roots, *(path_at(file) for file in sorted(others))]


def outside(index: IndexReader, roots: Iterable[Path]) -> list[str]:
    """Places of documents that lie below none of the roots."""
    files, shown = Files(index), [display(root) for root in roots]
    return [
        source.path
        for source in index.sources()
        if source.document_id is not None
        and not any(is_below(files.file_of(source.path), root) for root in shown)
    ]


def places_named(index: IndexReader, name: str) -> list[str]:
    """The places that somebody means: of the document with this id, at this path, or matching.

    Args:
        index: Where they are known.
        name: An id, a file, a folder, or a pattern of the shell, whose `*` takes slashes too.

    Raises:
        UsageError: If there is none.
    """
    found = [source.path for source in index.places(name)]
    here = display(make_absolute(name))
    if not found:
        files = Files(index)
        found = [
            source.path
            for path in {name, here}
            for source in index.sources(path)
            if source.path == path or is_below(files.file_of(source.path), path)
        ]
    if not found and any(mark in name for mark in "*?["):
        found = [one.path for one in index.sources() if fnmatchcase(one.path, here)]
    if not found:
        raise UsageError(f"no document {name!r}; `fathom docs list` shows ids and paths")
    return found
