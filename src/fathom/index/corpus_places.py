"""The places of a corpus file: of its records, and of lines that hold none."""

from types import TracebackType
from typing import Self

from fathom.documents.base import Failure, Parsed
from fathom.documents.disk_set import DiskSet
from fathom.index.workers.work import record_place


def place_of(part: Parsed | Failure, file: str) -> str:
    """The place of a part of a corpus file."""
    if isinstance(part, Failure):
        return record_place(file, part.record or part.line)
    return record_place(file, part.record)


def why_not_again(part: Parsed | Failure) -> tuple[str, str]:
    """The outcome of a part whose place a record before it has, and the reason."""
    if isinstance(part, Failure):
        return part.outcome, part.reason
    return "failed", "its _id occurs before in the file; the first one counts"


class CorpusPlaces:
    """Each place once, however many there are; see `DiskSet`.

    A record has the place of its `_id`, a line that cannot be read that of its number or of the
    `_id` that was read there: they may have the same one. A context manager.
    """

    def __init__(self) -> None:
        """Nothing is in it."""
        self._records, self._others = DiskSet(), DiskSet()
        self._both = 0

    def add(self, place: str, *, is_record: bool) -> bool:
        """Put a place into it; whether no record of the file had it before."""
        if place in self._records:
            return False
        if is_record:
            self._both += len(self._others) > 0 and place in self._others
            return self._records.add(place)
        self._others.add(place)
        return True

    def __contains__(self, place: object) -> bool:
        return place in self._records or place in self._others

    def __len__(self) -> int:
        return len(self._records) + len(self._others) - self._both

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._records.__exit__(kind, error, trace)
        self._others.__exit__(kind, error, trace)
