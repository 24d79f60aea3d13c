"""The synchronization of an index with a source, which fetches and ingests what has changed.

Objects are fetched into a staging folder in batches, and each batch is ingested like files of this
machine. The state of an object is stored after its content was ingested, so that after a kill at
most one batch is ingested again.

If a source has sidecars, it is listed to its end and all sidecars are read before the first
document is fetched, because a document may come in the listing long before its sidecar.
"""

import os
import re
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePosixPath

from fathom.documents.discover import FileFilter, OnError
from fathom.documents.ocr.availability import can_retry
from fathom.errors import SourceUnavailable
from fathom.index.base import IndexReader, SourceRecord, is_address
from fathom.ingest.places import is_gone, iterate_batches
from fathom.ingest.report import IngestReport
from fathom.ingest.sidecars import AddressLimits
from fathom.ingest.sources.base import (
    DocumentSource,
    FoldersUnread,
    ObjectFailure,
    SourceObject,
    is_disk_full,
    is_hidden,
)
from fathom.ingest.sources.listing import DiskListing
from fathom.ingest.sources.sidecars import CLOSED, SourceSidecars, find_document_name
from fathom.ingest.sources.store import ObjectState, ObjectStates
from fathom.ingest.survey import PlaceSurvey, SurveyedPlace

MOST_OBJECTS = 512
"""The largest number of objects in a batch."""
MOST_BYTES = 256 << 20
"""The size in bytes of the fetched objects at which a batch is ingested."""
NOTHING_LISTED = "nothing is listed there any more; `fathom source remove` removes its documents"
NO_SIDECAR = "names readers, which does not count on sites; write a rule for its document"

_ENDING = re.compile(r"(?:\.[A-Za-z0-9]{1,12}){1,2}$")
"""The last two endings of a name at most, as in `corpus.jsonl.gz`."""


@dataclass(slots=True, kw_only=True)
class SyncReport:
    """The report on the synchronization of a source.

    Attributes:
        source: The name of the source.
        listed: The number of objects that were listed.
        fetched: The number of objects that were fetched.
        fault: The reason, in one line, why the synchronization is not complete, in which case
            nothing was removed; empty if it is complete.
        ingested: The counts of documents and the outcome of each fetched object; objects that did
            not have to be fetched count as unchanged.
    """

    source: str
    listed: int = 0
    fetched: int = 0
    fault: str = ""
    ingested: IngestReport = field(default_factory=IngestReport)


IngestPlaces = Callable[[PlaceSurvey, AddressLimits], IngestReport]
"""A function that ingests the files of a survey and removes its places without files."""
OpenReader = Callable[[], IndexReader | None]
"""A function that returns a reader of the present index; `None` if there is no index."""


@dataclass(frozen=True, slots=True)
class _StagedObject:
    """An object whose content is in a file of the staging folder."""

    item: SourceObject
    file: Path


@dataclass(frozen=True, slots=True)
class _StagedSurvey:
    """The survey of the staged objects; `reader` reads the present index, if there is one."""

    staged: Sequence[_StagedObject]
    reader: IndexReader | None

    def iterate_places(
        self, _on_error: OnError = lambda _folder, _error: None, /
    ) -> Iterator[SurveyedPlace]:
        """Yield the address of each object as a place, with its staged file."""
        for entry in self.staged:
            place = entry.item.address
            record = self.reader.get_source(place) if self.reader else None
            yield SurveyedPlace(place, entry.file, record)


@dataclass(frozen=True, slots=True)
class _GoneSurvey:
    """The survey of gone objects; `iterate_gone` returns their addresses each time anew."""

    iterate_gone: Callable[[], Iterator[str]]

    def iterate_places(
        self, _on_error: OnError = lambda _folder, _error: None, /
    ) -> Iterator[SurveyedPlace]:
        """Yield each address as a place without a file."""
        for address in self.iterate_gone():
            yield SurveyedPlace(address, None, None)


@dataclass(frozen=True, slots=True)
class SyncTarget:
    """The index that is brought in line with a source.

    Attributes:
        staging: An existing folder for fetched objects, which only this synchronization uses.
            After a kill, the next one of the same source uses the files in it.
        open_reader: The function that returns a reader of the present index.
        ingest: The function that ingests or removes places.
    """

    staging: Path
    open_reader: OpenReader
    ingest: IngestPlaces


class Synchronizer:
    """One synchronization of an index with a source."""

    def __init__(
        self,
        source: DocumentSource,
        states: ObjectStates,
        target: SyncTarget,
        *,
        file_filter: FileFilter,
        report: SyncReport,
        on_progress: Callable[[SyncReport], None] = lambda _report: None,
    ) -> None:
        """Create the synchronization; nothing is listed yet.

        Args:
            source: The source; the caller closes it.
            states: The stored states of its objects.
            target: The index.
            file_filter: The filter of objects by their names.
            report: The report, which `run` fills.
            on_progress: A callback with the report after each object that was listed or compared.
        """
        self._source, self._states, self._staging = source, states, target.staging
        self._open_reader, self._ingest = target.open_reader, target.ingest
        self._filter = file_filter
        self._report, self._on_progress = report, on_progress
        self._staged: list[_StagedObject] = []
        self._staged_bytes = 0
        self._listed = DiskListing()
        self._sidecars = SourceSidecars(source, states, target.staging, self._report_sidecar)
        self._limits = AddressLimits()

    def run(self) -> None:
        """Bring the index in line with the source, as far as the source can be read.

        If the source fails or the disk is full, the report gets a fault, what was fetched before is
        ingested, and nothing is removed.
        """
        started = time.monotonic()
        with closing(self._listed), closing(self._sidecars):
            if self._source.has_sidecars:
                self._limits = AddressLimits(is_whole=False)
                self._try(self._list_ahead)
                self._try(self._read_sidecars)
            # With unread sidecars, documents could be shown to those who may not read them. So
            # nothing is fetched then, unless the index has no rights at all.
            if self._limits.is_whole or not self._has_rights():
                self._try(self._fetch_changes)
            self._ingest_staged()
            if not self._report.fault:
                self._remove_gone()
            self._finish()
        self._report.ingested.seconds = time.monotonic() - started

    def _try(self, act: Callable[[], None]) -> None:
        """Do a step; if the source fails or the disk is full, note it as fault of the report."""
        try:
            act()
        except SourceUnavailable as error:
            self._report.fault = self._report.fault or str(error)
        except OSError as error:
            if not is_disk_full(error):
                raise
            self._report.fault = f"{self._staging}: {error.strerror}; free space and sync again"

    def _list_ahead(self) -> None:
        """List all documents and all sidecars.

        Raises:
            SourceUnavailable: If not all of them could be listed.
        """
        try:
            with closing(self._list_wanted()) as objects:
                for item in objects:
                    if find_document_name(item.name) is not None:
                        self._sidecars.add(item)
                    elif self._note_listed(item):
                        self._on_progress(self._report)
        except FoldersUnread:
            # A sidecar is in the folder of its document, so it was listed with the document.
            self._limits = AddressLimits(is_current=self._is_current)
            raise
        self._limits = AddressLimits(is_current=self._is_current)

    def _read_sidecars(self) -> None:
        """Read the sidecars that have changed, and let the index use them.

        Raises:
            SourceUnavailable: If no object can be read now; then the limits are not whole.
        """
        limits, self._limits = self._limits, AddressLimits(is_whole=False)
        was_any = self._sidecars.read_changed()
        self._limits = limits
        if self._limits.is_whole:
            self._sidecars.forget_removed(self._listed.__contains__)
        if was_any:  # now, because fetching the first batch may take long
            self._apply_rights()

    def _note_listed(self, item: SourceObject) -> bool:
        """Note a listed document, and return whether its address is new in this listing."""
        is_new = self._listed.add(item)
        self._report.listed += is_new
        return is_new

    def _fetch_changes(self) -> None:
        """Fetch the objects that have changed, and ingest each full batch; the last one stays.

        Raises:
            SourceUnavailable: If the source cannot be listed or read any more.
        """
        reader = self._open_reader()
        # A listing may have a connection or a process, so it is closed at once after an error.
        with closing(self._iterate_objects()) as objects:
            for item in objects:
                if self._is_settled(item, reader):
                    self._report.ingested.unchanged += 1
                elif self._stage(item):
                    self._ingest_staged()
                    reader = self._open_reader()
                self._on_progress(self._report)

    def _iterate_objects(self) -> Generator[SourceObject]:
        """Yield the listed documents; a source without sidecars is listed during the iteration."""
        if self._source.has_sidecars:
            yield from self._listed
            return
        with closing(self._list_wanted()) as objects:
            for item in objects:
                if self._note_listed(item):
                    yield item

    def _list_wanted(self) -> Generator[SourceObject]:
        """Yield the documents of the source that the filter accepts, and their sidecars.

        In a source that does not support sidecars, a file with the name of one is reported as
        failed if the index has rights.
        """
        has_rights = self._has_rights()
        for item in self._source.list_objects():
            document = find_document_name(item.name)
            if self._accepts(item.name if document is None else document):
                if document is None or self._source.has_sidecars:
                    yield item
                elif has_rights:
                    self._report_failure(item.address, NO_SIDECAR)

    def _accepts(self, name: str) -> bool:
        """Return whether the object of a name is to be read."""
        return not is_hidden(name) and self._filter.accepts(PurePosixPath(name))

    def _has_rights(self) -> bool:
        """Return whether the present index has rules about readers."""
        reader = self._open_reader()
        return reader is not None and bool(reader.get_rights())

    def _report_failure(self, address: str, reason: str) -> None:
        """Report an object as failed."""
        self._report.ingested.failed += 1
        self._report.ingested.add_file(address, "failed", reason)

    def _report_sidecar(self, address: str, reason: str) -> None:
        """Report a sidecar that cannot be read, if the index has rules; without, none is used."""
        if self._has_rights():
            self._report_failure(address, f"{reason}; {CLOSED}")

    def _is_current(self, address: str) -> bool:
        """Return whether the index has what was listed of an address: its content, or nothing."""
        reader, item = self._open_reader(), self._listed.get(address)
        if item is None:
            return reader is None or reader.get_source(address) is None
        return self._is_settled(item, reader)

    def _is_settled(self, item: SourceObject, reader: IndexReader | None) -> bool:
        """Return whether the index has the content of an object, which then need not be fetched."""
        state = self._states.get(item.address)
        if state is None or state.token != item.token or reader is None:
            return False
        record = reader.get_source(item.address)
        return record is not None and record.digest == state.digest and _is_final(record)

    def _stage(self, item: SourceObject) -> bool:
        """Fetch an object into the staging folder; return whether the batch is full.

        Raises:
            SourceUnavailable: If no object can be read now.
            OSError: If the file cannot be written, for example because the disk is full.
        """
        file = self._staging / _name_staged_file(item)
        if not file.exists():  # otherwise an interrupted synchronization has fetched it
            try:
                self._fetch(item, file)
            except ObjectFailure as failure:
                self._report_failure(item.address, str(failure))
                return False
        self._staged.append(_StagedObject(item, file))
        self._staged_bytes += file.stat().st_size
        return len(self._staged) >= MOST_OBJECTS or self._staged_bytes >= MOST_BYTES

    def _fetch(self, item: SourceObject, file: Path) -> None:
        """Fetch an object into a file that has its name only when it is complete."""
        part = file.with_suffix(".part")
        part.unlink(missing_ok=True)
        try:
            self._source.fetch(item, part)
            # Without this, a file that is empty after a power cut would be taken for complete.
            with part.open("rb") as written:
                os.fsync(written.fileno())
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)
        self._report.fetched += 1

    def _ingest_staged(self) -> None:
        """Ingest the staged objects, then store their states and remove their files."""
        if not self._staged:
            return
        self._ingest_survey(_StagedSurvey(self._staged, self._open_reader()))
        reader = self._open_reader()
        records = (
            (entry.item, reader.get_source(entry.item.address) if reader else None)
            for entry in self._staged
        )
        self._states.put(
            [
                ObjectState(item.address, item.token, record.digest if record else "")
                for item, record in records
            ]
        )
        for entry in self._staged:
            entry.file.unlink(missing_ok=True)
        self._staged, self._staged_bytes = [], 0

    def _remove_gone(self) -> None:
        """Remove the documents of objects that the complete listing does not have.

        A file of this machine must also be proved to be missing. If nothing was listed although
        there were objects before, nothing is removed, and that is the fault.
        """
        if not len(self._listed) and any(True for _ in self._states.iterate_addresses()):
            # An empty folder was more likely not mounted than emptied.
            self._report.fault = NOTHING_LISTED
            return
        remove_places(
            self._states,
            lambda: (
                address
                for address in self._states.iterate_addresses()
                if address not in self._listed and (is_address(address) or is_gone(address))
            ),
            self._ingest_survey,
        )

    def _finish(self) -> None:
        """Make missing vectors, and apply the present readers to unchanged documents.

        An interrupted synchronization may have left chunks without vectors, and the sidecar of an
        unchanged document may have changed.
        """
        reader = self._open_reader()
        if reader is not None and (reader.count_missing_vectors() or reader.get_rights()):
            self._ingest_survey(_StagedSurvey([], reader))

    def _apply_rights(self) -> None:
        """Apply the readers in the sidecars to the index."""
        if self._has_rights():
            self._ingest_survey(_StagedSurvey([], self._open_reader()))

    def _ingest_survey(self, survey: PlaceSurvey) -> None:
        """Ingest the places of a survey, and add the counts to the report."""
        self._add_counts(self._ingest(survey, self._limits))

    def _add_counts(self, batch: IngestReport) -> None:
        """Add the counts and outcomes of a batch to the report."""
        total = self._report.ingested
        total.new += batch.new
        total.changed += batch.changed
        total.unchanged += batch.unchanged
        total.removed += batch.removed
        total.failed += batch.failed
        total.stale += batch.stale
        total.skipped += batch.skipped
        total.chunks += batch.chunks
        total.filled += batch.filled
        total.unembedded += batch.unembedded
        total.untold += batch.untold
        for file in batch.files:
            total.add_file(file.path, file.outcome, file.reason, is_partial=file.is_partial)


def remove_places(
    states: ObjectStates,
    iterate_gone: Callable[[], Iterator[str]],
    ingest: Callable[[PlaceSurvey], object],
) -> None:
    """Remove the documents of objects of a source, then the stored states of the objects.

    A document that another source has too stays. After a kill, another call removes the rest.

    Args:
        states: The stored states of the source.
        iterate_gone: A function that returns an iterator of the addresses; it is called several
            times.
        ingest: The function that removes the places of a survey.
    """

    def iterate_own() -> Iterator[str]:
        return (address for address in iterate_gone() if not states.is_shared(address))

    if any(True for _ in iterate_own()):
        ingest(_GoneSurvey(iterate_own))
    for addresses in iterate_batches(iterate_gone()):
        states.forget(addresses)


def _is_final(record: SourceRecord) -> bool:
    """Return whether reading the same content again would give the same result."""
    return record.outcome not in {"failed", "stale"} and not can_retry(record.reason)


def _name_staged_file(item: SourceObject) -> str:
    """Return the name of the staged file of an object; other states of it have other names."""
    key = sha256(f"{item.address}\0{item.token}".encode()).hexdigest()[:32]
    ending = _ENDING.search(item.name)
    return key + (ending[0] if ending else "")
