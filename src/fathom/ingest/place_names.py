"""Short names of places: relative to the working directory, else to a folder of the index.

A file below the working directory is named as other programs name it. Any other file is named
relative to the folder that the index was asked to hold, unless another such folder has the same
name.
"""

import os
from functools import cached_property
from pathlib import Path

from fathom.documents.discover import make_absolute
from fathom.errors import UsageError
from fathom.index.base import IndexReader
from fathom.ingest.places import display, is_below

MOST_ROOTS = 20
"""The number of roots above which an index has no short names relative to folders.

Each root costs a look-up for each name.
"""


class PlaceNames:
    """The short names of the places of an index."""

    def __init__(self, index: IndexReader) -> None:
        self._index = index
        self._short: dict[str, str] = {}

    def shorten(self, path: str) -> str:
        """Return a short name that stands for a place; the whole path if there is none."""
        if path not in self._short:
            inside = path.removeprefix(f"{Path.cwd()}{os.sep}")
            self._short[path] = inside if inside != path else self._shorten_in_folders(path)
        return self._short[path]

    def find(self, name: str) -> str | None:
        """Return the place that a name relative to a folder of the index stands for, or `None`.

        Args:
            name: A name that is no place by itself, and none below the working directory.

        Raises:
            UsageError: If the name stands for several places.
        """
        places = self._list_places(name)
        if len(places) > 1:
            raise UsageError(f"{name!r} is in several folders; name one: {', '.join(places)}")
        return places[0] if places else None

    def complete(self, name: str) -> str:
        """Return the place that a short name stands for; another name as it is.

        Args:
            name: A name, such as a user types it.

        Raises:
            UsageError: If the name stands for several places.
        """
        name = display(name)
        places = self._index.list_sources(display(make_absolute(name)), most=1)
        if self._index.list_places(name) or any(True for _ in places):
            return name
        return self.find(name) or name

    def _shorten_in_folders(self, path: str) -> str:
        """Return the name of a place relative to a folder of the index; else the whole path."""
        for folder in self._folders:
            name = path[len(folder) :].lstrip("/")
            if is_below(path, folder) and self._is_clear(name, path):
                return name
        return path

    def _is_clear(self, name: str, path: str) -> bool:
        """Return whether a name stands for a place and for no other."""
        return not self._index.get_source(display(make_absolute(name))) and self._list_places(
            name
        ) == [path]

    def _list_places(self, name: str) -> list[str]:
        """Return the places of documents that a name relative to a folder can stand for."""
        if not name or name.startswith("/"):
            return []
        places = [f"{folder.rstrip('/')}/{name}" for folder in self._folders]
        sources = map(self._index.get_source, places)
        return [source.path for source in sources if source and source.document_id]

    @cached_property
    def _folders(self) -> list[str]:
        """The folders that the index was asked to hold, and the folders of such files.

        A longer path comes first. There are none if the index has too many roots.
        """
        roots = self._index.get_roots()
        if len(roots) > MOST_ROOTS:
            return []
        folders = {
            root.rpartition("/")[0] if self._index.get_source(root) else root for root in roots
        }
        return sorted(folders, key=lambda folder: (-len(folder), folder))
