"""The places of a corpus file: its records, and its lines that give no record."""

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
    """Return the place of an item of a corpus file: by its `_id`, or by its line without one."""
    if isinstance(part, RecordFailure) and part.record is None:
        return build_line_place(file, part.line)
    return build_record_place(file, part.record)


def find_file(index: IndexReader, place: str, document_id: str) -> str:
    """Return the place of the file that a document was read from.

    Args:
        index: The index that has the document.
        place: The place of the document, which for a record is `FILE#ID`.
        document_id: The id of the document, which shows the part of the place that is the record's.
    """
    # A search for `#` would fail, because file names and ids may both contain it.
    file = place.removesuffix(build_record_place("", document_id))
    source = index.get_source(file) if file != place else None
    return file if source is not None and source.is_corpus else place


def check_record_places(index: IndexReader, file: str) -> None:
    """Check that no other file has the place of a record that a new corpus file may have.

    Raises:
        ParseRefusal: `failed`, if one has; the reason names it.
    """
    for source in iterate_sources(index, file):
        if source.path.startswith(f"{file}#") and _is_file(source, file):
            raise ParseRefusal(
                "failed", f"{source.path} has the name of a record of it; rename one"
            )


def _is_file(source: SourceRecord, file: str) -> bool:
    """Return whether a place is a file of its own, and no record of a corpus file."""
    if source.document_id is None:
        return source.is_corpus
    return source.path != build_record_place(file, source.document_id)


def has_file_id(place: str, document_id: str) -> bool:
    """Return whether a place is that of a record whose id has the form of a file's id.

    Only earlier versions stored records under such ids (`record_ids`).
    """
    return is_file_id(document_id) and place.endswith(build_record_place("", document_id))


def rename_record(record: SourceRecord) -> SourceRecord:
    """Return a record that an earlier version stored with the id and place of this version."""
    if record.document_id is None or not has_file_id(record.path, record.document_id):
        return record
    file = record.path.removesuffix(build_record_place("", record.document_id))
    name = name_record(record.document_id)
    return replace(record, path=build_record_place(file, name), document_id=name)


def is_renamed(index: IndexReader, record: SourceRecord) -> bool:
    """Return whether a record of an earlier version is also stored under its present name."""
    renamed = rename_record(record)
    source = index.get_source(renamed.path) if renamed != record else None
    return source is not None and source.document_id is not None


class CorpusPlaces:
    """The places of a corpus file, each once, in temporary files; a context manager.

    Lines that have an `_id` but give no record are reported last, because a record of the same
    `_id` may follow them.
    """

    def __init__(self) -> None:
        """Create an empty set of places."""
        self._records, self._others, self._unread = DiskSet(), DiskSet(), DiskSet()

    def add_record(self, place: str) -> bool:
        """Add the place of a record; return whether it is new, so that the record counts."""
        return self._records.add(place)

    def add(self, place: str) -> str:
        """Add the place of a line that gives no record, and return the place."""
        self._others.add(place)
        return place

    def defer(self, place: str, failure: RecordFailure) -> None:
        """Add the place of a line with an `_id`, and the reason why it gives no record."""
        self.add(place)
        line = f"{failure.line:015}"  # leading zeros make the texts sort by number
        fields = [place, line, failure.record, failure.outcome, failure.reason]
        self._unread.add(json.dumps(fields))

    def iterate_unread(self) -> Iterator[tuple[str, RecordFailure, bool]]:
        """Yield the deferred lines, ordered by place.

        Yields:
            For each line its place, its failure, and whether the place is its own. It is not if a
            record has the place, or if an earlier line has the same `_id`.
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
