"""Places: the files, and the records of corpus files, that an index was asked to read."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from fathom.index.base import Reader

GONE = "the file is gone; `fathom ingest --prune` removes what it gave"
RECORD_GONE = "the record is gone from its file; `fathom ingest --prune` removes it"


def display(path: Path) -> str:
    """The path as text that can be stored and shown, also where its name is not UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


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


def _meant(place: str) -> Iterator[Path]:
    """The paths that are displayed so: the bytes of a name that is no UTF-8 are written out."""
    yield Path(place)
    raw = re.sub(rb"\\x([89a-f][0-9a-f])", lambda m: bytes([int(m[1], 16)]), place.encode())
    if raw != place.encode():
        yield Path(os.fsdecode(raw))


class Files:
    """Which file a place belongs to, as far as an index knows; remembers what it was told."""

    def __init__(self, index: Reader) -> None:
        self._index = index
        self._corpora: dict[str, bool] = {}
        self._gone: dict[str, bool] = {}

    def file_of(self, place: str) -> str:
        """The corpus file of a record, else the place itself: a name may hold a `#` too."""
        marks = (mark.start() for mark in re.finditer("#", place))
        return next((place[:at] for at in marks if self._is_corpus(place[:at])), place)

    def add_corpus(self, file: str) -> None:
        """Know a file to hold records."""
        self._corpora[file] = True

    def is_gone(self, place: str) -> bool:
        """Whether it is proved that the place's file is not there."""
        file = self.file_of(place)
        if file not in self._gone:
            self._gone[file] = is_gone(file)
        return self._gone[file]

    def _is_corpus(self, file: str) -> bool:
        if file not in self._corpora:
            known = self._index.source(file)
            self._corpora[file] = known is not None and known.is_corpus
        return self._corpora[file]
