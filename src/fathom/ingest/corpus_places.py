"""The places of a corpus file: those of its records, and of lines without a record."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Self

from fathom.documents.base import ParsedDocument, ParseRefusal, RecordFailure
from fathom.documents.disk_set import DiskSet
from fathom.documents.record_ids import is_file_id, name_record
from fathom.index.base import IndexReader, SourceRecord
from fathom.ingest.places import iterate_sources
from fathom.ingest.workers.work import build_line_place, build_record_place

DUPLICATE_ID = "its _id occurs before in the file; the first one counts"


def build_place(part: ParsedDocument | RecordFailure, file: str) -> str:
    """Return the place of an item of a corpus file: that of its `_id`, if one was read."""
    if isinstance(part, RecordFailure) and part.record is None:
        return build_line_place(file, part.line)
    return build_record_place(file, part.record)


def find_file(index: IndexReader, place: str, document_id: str) -> str:
    """Return the file that a document was read from: for a record its corpus file.

    The document's id tells where the record's name begins, whatever characters are in it.
    """
    # Searching for `#` would fail, because file names and ids may both contain it.
    file = place.removesuffix(build_record_place("", document_id))
    source = index.get_source(file) if file != place else None
    return file if source is not None and source.is_corpus else place


def check_record_places(index: IndexReader, file: str) -> None:
    """Refuse a new corpus file if another file has the place of a record that it may hold.

    Raises:
        ParseRefusal: Naming the other file.
    """
    for source in iterate_sources(index, file):
        if source.path.startswith(f"{file}#") and _is_file(source, file):
            raise ParseRefusal(
                "failed", f"{source.path} has the name of a record of it; rename one"
            )


def _is_file(source: SourceRecord, file: str) -> bool:
    """Return whether a place is a file of its own, not a record of this file."""
    if source.document_id is None:
        return source.is_corpus
    return source.path != build_record_place(file, source.document_id)


def has_file_id(place: str, document_id: str) -> bool:
    """Return whether a place is that of a record whose id has the form of files' ids.

    Earlier versions stored records so, as `record_ids` says.
    """
    return is_file_id(document_id) and place.endswith(build_record_place("", document_id))


def rename_record(record: SourceRecord) -> SourceRecord:
    """Return a record with the id and the place that this version gives it."""
    if record.document_id is None or not has_file_id(record.path, record.document_id):
        return record
    file = record.path.removesuffix(build_record_place("", record.document_id))
    name = name_record(record.document_id)
    return replace(record, path=build_record_place(file, name), document_id=name)


def is_renamed(index: IndexReader, record: SourceRecord) -> bool:
    """Return whether a record of an earlier version is stored under its present name, too."""
    renamed = rename_record(record)
    source = index.get_source(renamed.path) if renamed != record else None
    return source is not None and source.document_id is not None


class CorpusPlaces:
    """The places of one corpus file on disk, each once; a context manager.

    Reasons for lines that have an `_id` but give no record come last, because a record of the same
    `_id` may follow.
    """

    def __init__(self) -> None:
        """Create an empty set of places."""
        self._records, self._others, self._unread = DiskSet(), DiskSet(), DiskSet()

    def add_record(self, place: str) -> bool:
        """Add the place of a record; return whether no earlier record of the file has it."""
        return self._records.add(place)

    def add(self, place: str) -> str:
        """Add the place of something else, and return the place."""
        self._others.add(place)
        return place

    def defer(self, place: str, failure: RecordFailure) -> None:
        """Add the place of a line with an `_id`, and the reason why it gives no record."""
        self.add(place)
        line = f"{failure.line:015}"  # leading zeros make the texts sort by number
        fields = [place, line, failure.record, failure.outcome, failure.reason]
        self._unread.add(json.dumps(fields))

    def iterate_unread(self) -> Iterator[tuple[str, RecordFailure, bool]]:
        """Yield the deferred lines: place, reason, and whether only this line has the place.

        Otherwise a record has the place, or another line with this `_id`.
        """
        previous = ""
        for fields in self._unread:
            place, line, record, outcome, reason = json.loads(fields)
            failure = RecordFailure(line=int(line), record=record, outcome=outcome, reason=reason)
            yield place, failure, place not in self._records and place != previous
            previous = place

    def __contains__(self, place: object) -> bool:
        return place in self._records or place in self._others

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self._records)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for places in (self._records, self._others, self._unread):
            places.__exit__(*error)
