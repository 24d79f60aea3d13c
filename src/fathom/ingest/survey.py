"""The places that an ingestion visits: files on disk and known places, merged in order."""

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from pathlib import Path, PurePath
from typing import Protocol

from fathom.documents.discover import FileFilter, OnError, discover_files
from fathom.index.base import IndexReader, SourceRecord
from fathom.ingest.places import (
    CorpusFiles,
    display,
    is_below,
    iterate_sources,
    locate_path,
    select_outermost,
)

LEADS_OUT = "a link leads out of its folder; name the place itself to read it"


@dataclass(frozen=True, slots=True)
class SurveyedPlace:
    """A place that exists on disk, or that the index knows.

    Attributes:
        place: The name of the place in the index.
        file: The path of the file; `None` if it is proved to be missing.
        record: The index's record of the place; `None` if it has none.
        refusal: The reason why the file must not be read; `None` if it may be read.
    """

    place: str
    file: Path | None
    record: SourceRecord | None
    refusal: OSError | None = None


@dataclass(frozen=True, slots=True)
class ReadablePlace:
    """A surveyed place whose file may be read, if it exists."""

    place: str
    file: Path
    record: SourceRecord | None


class PlaceSurvey(Protocol):
    """A survey of places, which can be repeated."""

    def iterate_places(
        self, on_error: OnError = lambda _folder, _error: None, /
    ) -> Iterator[SurveyedPlace]:
        """Yield all places.

        Args:
            on_error: A callback with each folder that cannot be listed, and the error.
        """
        ...


class Survey:
    """The files below some roots and the places that the index knows there, ordered by path.

    The survey keeps no state between passes, so it can be repeated.
    """

    def __init__(
        self,
        roots: Iterable[Path],
        wanted: FileFilter,
        index: IndexReader,
        before: IndexReader | None,
        files: CorpusFiles,
    ) -> None:
        """Create the survey; no file is examined yet.

        Args:
            roots: Files and folders, as absolute paths.
            wanted: The filter of files.
            index: The index.
            before: The index that this one will replace; `None` without one.
            files: The files to which the places of the index belong.
        """
        self._roots = list(roots)
        self._targets = {display(root): os.path.realpath(root) for root in self._roots}
        self._wanted = wanted
        self._index = index
        self._before = before
        self._files = files

    def iterate_places(
        self, on_error: OnError = lambda _folder, _error: None
    ) -> Iterator[SurveyedPlace]:
        """Yield all places, with the files that exist or are not proved to be missing."""
        existing = [root for root in self._roots if os.path.lexists(root)]
        on_disk = discover_files(existing, self._wanted, on_error=on_error)
        for place, file, record in merge_places(on_disk, self._iterate_known()):
            if file is not None:
                yield SurveyedPlace(place, file, record)
            # A file that the walk did not find may still exist, if it is excluded or its folder
            # cannot be read.
            elif self._files.is_gone(place):
                yield SurveyedPlace(place, None, record)
            elif self._is_wanted(place):
                path = locate_path(place)
                yield SurveyedPlace(place, path, record, self._refuse_link(place, path))

    def _iterate_known(self) -> Iterator[tuple[str, SourceRecord | None]]:
        """Yield the known files at and below the roots, of this index and the one to replace."""
        # A root inside another would yield its files twice.
        roots = select_outermost(display(root) for root in self._roots)
        streams: list[Iterator[tuple[str, SourceRecord | None]]] = []
        for root in roots:
            files = _iterate_files(self._index, root, self._files.locate_file)
            streams.append((source.path, source) for source in files)
            if self._before is not None:
                files = _iterate_files(self._before, root, CorpusFiles(self._before).locate_file)
                streams.append((source.path, None) for source in files)
        for place, all_known in groupby(merge(*streams, key=_get_place), key=_get_place):
            yield place, next((source for _, source in all_known if source is not None), None)

    def _refuse_link(self, place: str, file: Path) -> OSError | None:
        """Return the refusal of a file whose path leads out of all roots above it, or `None`.

        Otherwise anybody who may change a folder could put a link to any file in the place of a
        known file.
        """
        target = os.path.realpath(file)
        if any(
            is_below(place, root) and is_below(target, root_target)
            for root, root_target in self._targets.items()
        ):
            return None
        return OSError(errno.ELOOP, LEADS_OUT)

    def _is_wanted(self, place: str) -> bool:
        """Return whether the filter accepts a place, relative to any root above it."""
        names = (
            os.path.relpath(place, root) if place != root else Path(place).name
            for root in map(display, self._roots)
            if is_below(place, root)
        )
        return any(self._wanted.accepts(PurePath(name)) for name in names)


def merge_places(
    files: Iterable[Path], known_places: Iterable[tuple[str, SourceRecord | None]]
) -> Iterator[tuple[str, Path | None, SourceRecord | None]]:
    """Merge files and known places, each place once; both must be in the order of their places.

    At most one item of each is in memory.

    Yields:
        The place, its file and its record; one of the latter two may be `None`.
    """
    on_disk = ((display(file), file, None) for file in files)
    in_index = ((place, None, record) for place, record in known_places)
    for place, same in groupby(merge(on_disk, in_index, key=_get_place), key=_get_place):
        file = record = None
        for _, path, source in same:
            file, record = file or path, record or source
        yield place, file, record


def _get_place(row: tuple[object, ...]) -> str:
    """Return the place of a row."""
    return str(row[0])


def _iterate_files(
    index: IndexReader, root: str, file_of: Callable[[str], str]
) -> Iterator[SourceRecord]:
    """Yield the files that an index knows below a root, without the records of corpus files."""
    # A place such as `a#b` may be a file of its own and then is not below the root `a`.
    yield from (
        source
        for source in iterate_sources(index, root)
        if file_of(source.path) == source.path and is_below(source.path, root)
    )
