"""Which places an ingestion looks at: what is found, and what is known, merged in their order."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from pathlib import Path, PurePath

from fathom.documents.discover import FileFilter, OnError, discover_files
from fathom.index.base import IndexReader, SourceRecord
from fathom.index.places import Files, display, is_below, outermost, paged, path_at


@dataclass(frozen=True, slots=True)
class Surveyed:
    """A place that was found, or that is known.

    Attributes:
        place: As the index names it.
        file: Where it is; `None` where it is proved gone.
        known: What the index has noted of it.
    """

    place: str
    file: Path | None
    known: SourceRecord | None


@dataclass(frozen=True, slots=True)
class There:
    """A place whose file may be there; see `Surveyed`."""

    place: str
    file: Path
    known: SourceRecord | None


class Survey:
    """Goes over the files below some roots, those that are known too, in the order of their paths.

    Nothing is remembered of what it has gone over, so that it can be asked again.
    """

    def __init__(
        self,
        roots: Iterable[Path],
        wanted: FileFilter,
        index: IndexReader,
        before: IndexReader | None,
        files: Files,
    ) -> None:
        """Nothing is looked at yet.

        Args:
            roots: Files and folders; those that are missing stand for what was read there before.
            wanted: Which files are taken.
            index: What is known.
            before: The index that this one is to replace.
            files: Which places are gone, and which are records, as the index knows.
        """
        self._roots = list(roots)
        self._wanted = wanted
        self._index = index
        self._before = before
        self._files = files

    def places(self, on_error: OnError = lambda _folder, _error: None) -> Iterator[Surveyed]:
        """All of them; `on_error` is told of folders that could not be looked into."""
        there = [root for root in self._roots if os.path.lexists(root)]
        found = discover_files(there, self._wanted, on_error=on_error)
        for place, file, known in merged(found, self._known()):
            if file is not None:
                yield Surveyed(place, file, known)
            elif self._files.is_gone(place):
                yield Surveyed(place, None, known)
            elif self._is_wanted(place):
                yield Surveyed(place, path_at(place), known)

    def _known(self) -> Iterator[tuple[str, SourceRecord | None]]:
        """The files at and below the roots that were read before, in this index or the last one."""
        roots = outermost(display(root) for root in self._roots)
        streams: list[Iterator[tuple[str, SourceRecord | None]]] = []
        for root in roots:
            files = _files_of(self._index, root, self._files.file_of)
            streams.append((one.path, one) for one in files)
            if self._before is not None:
                files = _files_of(self._before, root, Files(self._before).file_of)
                streams.append((one.path, None) for one in files)
        for place, all_known in groupby(merge(*streams, key=_first), key=_first):
            yield place, next((one for _, one in all_known if one is not None), None)

    def _is_wanted(self, place: str) -> bool:
        names = (
            os.path.relpath(place, root) if place != root else Path(place).name
            for root in map(display, self._roots)
            if is_below(place, root)
        )
        return any(self._wanted.accepts(PurePath(name)) for name in names)


def merged(
    found: Iterable[Path], known: Iterable[tuple[str, SourceRecord | None]]
) -> Iterator[tuple[str, Path | None, SourceRecord | None]]:
    """Both in one, each place once; both must come in the order of their places.

    At most one of each is held.
    """
    mine = ((display(file), file, None) for file in found)
    theirs = ((place, None, record) for place, record in known)
    for place, same in groupby(merge(mine, theirs, key=_first), key=_first):
        file = record = None
        for _, one, other in same:
            file, record = file or one, record or other
        yield place, file, record


def _first(row: tuple[object, ...]) -> str:
    return str(row[0])


def _files_of(
    index: IndexReader, root: str, file_of: Callable[[str], str]
) -> Iterator[SourceRecord]:
    """The files that an index knows below a root, without the records of corpus files."""
    # What only begins like a record of a file is the name of another one.
    yield from (
        one
        for one in paged(index, root)
        if file_of(one.path) == one.path and is_below(one.path, root)
    )
