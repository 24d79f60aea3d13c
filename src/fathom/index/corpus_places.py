"""The places of a corpus file: of its records, and of what is none."""

import json
from collections.abc import Iterator
from dataclasses import replace
from types import TracebackType
from typing import Self

from fathom.documents.base import ParsedDocument, ParseRefusal, RecordFailure
from fathom.documents.disk_set import DiskSet
from fathom.documents.record_ids import is_file_id, name_record
from fathom.index.base import IndexReader, SourceRecord
from fathom.index.places import paged
from fathom.index.workers.work import line_place, record_place

AGAIN = "its _id occurs before in the file; the first one counts"


def place_of(part: ParsedDocument | RecordFailure, file: str) -> str:
    """The place of a part of a corpus file: that of its `_id`, where one was read."""
    if isinstance(part, RecordFailure) and part.record is None:
        return line_place(file, part.line)
    return record_place(file, part.record)


def find_file(index: IndexReader, place: str, document_id: str) -> str:
    """Find the file that a document was read from at a place: of a record its corpus file.

    Where the record begins is told by the document's id, whatever characters are in it.

    Args:
        index: Where the place is known.
        place: Of the document.
        document_id: Its id.
    """
    file = place.removesuffix(record_place("", document_id))
    known = index.source(file) if file != place else None
    return file if known is not None and known.is_corpus else place


def check_record_places(index: IndexReader, file: str) -> None:
    """Refuse a new corpus file if another file has the place of a record that it may hold.

    Raises:
        ParseRefusal: Naming the other file.
    """
    for source in paged(index, file):
        if source.path.startswith(f"{file}#") and _is_file(source, file):
            raise ParseRefusal(
                "failed", f"{source.path} has the name of a record of it; rename one"
            )


def _is_file(source: SourceRecord, file: str) -> bool:
    if source.document_id is None:
        return source.is_corpus
    return source.path != record_place(file, source.document_id)


def has_file_id(place: str, document_id: str) -> bool:
    """Tell whether a place is that of a record with an id of the form of files' ids.

    Earlier versions stored records so; see `record_ids`.
    """
    return is_file_id(document_id) and place.endswith(record_place("", document_id))


def rename_record(record: SourceRecord) -> SourceRecord:
    """Give a record the id and the place that it has now; see `has_file_id`."""
    if record.document_id is None or not has_file_id(record.path, record.document_id):
        return record
    file = record.path.removesuffix(record_place("", record.document_id))
    name = name_record(record.document_id)
    return replace(record, path=record_place(file, name), document_id=name)


def is_renamed(index: IndexReader, record: SourceRecord) -> bool:
    """Tell whether a record of an earlier version is stored as it is named now, too."""
    renamed = rename_record(record)
    known = index.source(renamed.path) if renamed != record else None
    return known is not None and known.document_id is not None


class CorpusPlaces:
    """Each place once, however many there are; see `DiskSet`. A context manager.

    Of a line with an `_id` that gives no record it is told last what it comes to: a record of the
    same `_id` may follow.
    """

    def __init__(self) -> None:
        """Nothing is in it."""
        self._records, self._others, self._unread = DiskSet(), DiskSet(), DiskSet()

    def add_record(self, place: str) -> bool:
        """Put the place of a record into it; whether no record of the file had it before."""
        return self._records.add(place)

    def add(self, place: str) -> str:
        """Put the place of something else into it; gives the place."""
        self._others.add(place)
        return place

    def put_off(self, place: str, failure: RecordFailure) -> None:
        """Put the place of a line with an `_id` into it, and why it gives no record."""
        self.add(place)
        line = f"{failure.line:015}"  # so that they come in order
        told = [place, line, failure.record, failure.outcome, failure.reason]
        self._unread.add(json.dumps(told))

    def unread(self) -> Iterator[tuple[str, RecordFailure, bool]]:
        """What was put off: place, why, and whether the place is that of this line alone.

        Otherwise a record has it, or another line with this `_id`.
        """
        before = ""
        for told in self._unread:
            place, line, record, outcome, reason = json.loads(told)
            failure = RecordFailure(line=int(line), record=record, outcome=outcome, reason=reason)
            yield place, failure, place not in self._records and place != before
            before = place

    def __contains__(self, place: object) -> bool:
        return place in self._records or place in self._others

    def __len__(self) -> int:
        """How many records there are."""
        return len(self._records)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for each in (self._records, self._others, self._unread):
            each.__exit__(kind, error, trace)
