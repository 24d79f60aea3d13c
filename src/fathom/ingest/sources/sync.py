"""The synchronization of a source: what has changed there is fetched and ingested.

Objects are fetched into a staging folder in batches, and each batch goes through the one ingestion
that there is. The state of an object is stored after its content, so a kill at any instant costs
at most that a batch is ingested again.

Where files beside documents name their readers, a source is listed to its end and these files are
read before the first document is fetched: a listing may bring a document long before them.
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
"""The number of objects of a batch, at most."""
MOST_BYTES = 256 << 20
"""The bytes of the staged objects after which a batch is ingested."""
NOTHING_LISTED = "nothing is listed there any more; `fathom source remove` removes its documents"
NO_SIDECAR = "names readers, which does not count on sites; write a rule for its document"

_ENDING = re.compile(r"(?:\.[A-Za-z0-9]{1,12}){1,2}$")
"""The last two endings of a name at most, as in `corpus.jsonl.gz`."""


@dataclass(slots=True, kw_only=True)
class SyncReport:
    """The report on the synchronization of a source.

    Attributes:
        listed: The objects that the source has, as far as it was listed.
        fetched: Those that were fetched.
        fault: Why the synchronization is not complete, in one line; empty if it is. Then nothing
            was removed.
        ingested: The counts of documents and the outcome of each object that was fetched; objects
            that needed no fetch count as unchanged.
    """

    source: str
    listed: int = 0
    fetched: int = 0
    fault: str = ""
    ingested: IngestReport = field(default_factory=IngestReport)


IngestPlaces = Callable[[PlaceSurvey, AddressLimits], IngestReport]
"""Ingests the files of a survey and removes its gone places."""
OpenReader = Callable[[], IndexReader | None]
"""Returns a reader of the present index; `None` if there is none."""


@dataclass(frozen=True, slots=True)
class _StagedObject:
    """An object whose content lies in a file of the staging folder."""

    item: SourceObject
    file: Path


@dataclass(frozen=True, slots=True)
class _StagedSurvey:
    """The staged objects as places."""

    staged: Sequence[_StagedObject]
    reader: IndexReader | None

    def iterate_places(
        self, _on_error: OnError = lambda _folder, _error: None, /
    ) -> Iterator[SurveyedPlace]:
        """Yield a place for each object."""
        for entry in self.staged:
            place = entry.item.address
            record = self.reader.get_source(place) if self.reader else None
            yield SurveyedPlace(place, entry.file, record)


@dataclass(frozen=True, slots=True)
class _GoneSurvey:
    """Addresses whose objects are gone, as places without files."""

    iterate_gone: Callable[[], Iterator[str]]

    def iterate_places(
        self, _on_error: OnError = lambda _folder, _error: None, /
    ) -> Iterator[SurveyedPlace]:
        """Yield a place for each address."""
        for address in self.iterate_gone():
            yield SurveyedPlace(address, None, None)


@dataclass(frozen=True, slots=True)
class SyncTarget:
    """The index that is brought in line with a source.

    Attributes:
        staging: An existing folder for fetched objects, which nobody else uses.
        open_reader: Returns a reader of the present index.
        ingest: Ingests places.
    """

    staging: Path
    open_reader: OpenReader
    ingest: IngestPlaces


class Synchronizer:
    """One synchronization of a source with an index."""

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
            source: The source.
            states: The states of its objects.
            target: The index.
            file_filter: The filter of objects by their names.
            report: The report to fill.
            on_progress: Called with the report after each object that was listed or compared.
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
        """Bring the index in line with the source, as far as the source can be read."""
        started = time.monotonic()
        with closing(self._listed), closing(self._sidecars):
            if self._source.has_sidecars:
                self._limits = AddressLimits(is_whole=False)
                self._try(self._list_ahead)
                self._try(self._read_sidecars)
            # Somebody might read a document whose sidecar is unknown.
            if self._limits.is_whole or not self._has_rights():
                self._try(self._fetch_changes)
            self._ingest_staged()
            if not self._report.fault:
                self._remove_gone()
            self._finish()
        self._report.ingested.seconds = time.monotonic() - started

    def _try(self, act: Callable[[], None]) -> None:
        """Do a part of the work, and note if the source fails or the disk is full meanwhile."""
        try:
            act()
        except SourceUnavailable as error:
            self._report.fault = self._report.fault or str(error)
        except OSError as error:
            if not is_disk_full(error):
                raise
            self._report.fault = f"{self._staging}: {error.strerror}; free space and sync again"

    def _list_ahead(self) -> None:
        """List all objects, and the sidecars apart."""
        try:
            with closing(self._list_wanted()) as objects:
                for item in objects:
                    if find_document_name(item.name) is not None:
                        self._sidecars.add(item)
                    elif self._note_listed(item):
                        self._on_progress(self._report)
        except FoldersUnread:
            # Each document was listed with its sidecar.
            self._limits = AddressLimits(is_current=self._is_current)
            raise
        self._limits = AddressLimits(is_current=self._is_current)

    def _read_sidecars(self) -> None:
        limits, self._limits = self._limits, AddressLimits(is_whole=False)
        was_any = self._sidecars.read_changed()
        self._limits = limits
        if self._limits.is_whole:
            self._sidecars.forget_removed(self._listed.__contains__)
        if was_any:  # a first batch may take long to fetch
            self._apply_rights()

    def _note_listed(self, item: SourceObject) -> bool:
        """Note a listed object, and return whether its address is new."""
        is_new = self._listed.add(item)
        self._report.listed += is_new
        return is_new

    def _fetch_changes(self) -> None:
        reader = self._open_reader()
        # Closed at once on an error: a listing may hold a connection or a process.
        with closing(self._iterate_objects()) as objects:
            for item in objects:
                if self._is_settled(item, reader):
                    self._report.ingested.unchanged += 1
                elif self._stage(item):
                    self._ingest_staged()
                    reader = self._open_reader()
                self._on_progress(self._report)

    def _iterate_objects(self) -> Generator[SourceObject]:
        """Yield the listed objects; a source without sidecars is listed meanwhile."""
        if self._source.has_sidecars:
            yield from self._listed
            return
        with closing(self._list_wanted()) as objects:
            for item in objects:
                if self._note_listed(item):
                    yield item

    def _list_wanted(self) -> Generator[SourceObject]:
        """Yield the documents that the source lists, and their sidecars if it has any."""
        has_rights = self._has_rights()
        for item in self._source.list_objects():
            document = find_document_name(item.name)
            if self._accepts(item.name if document is None else document):
                if document is None or self._source.has_sidecars:
                    yield item
                elif has_rights:
                    self._report_failure(item.address, NO_SIDECAR)

    def _accepts(self, name: str) -> bool:
        return not is_hidden(name) and self._filter.accepts(PurePosixPath(name))

    def _has_rights(self) -> bool:
        reader = self._open_reader()
        return reader is not None and bool(reader.get_rights())

    def _report_failure(self, address: str, reason: str) -> None:
        self._report.ingested.failed += 1
        self._report.ingested.add_file(address, "failed", reason)

    def _report_sidecar(self, address: str, reason: str) -> None:
        """Report a sidecar that cannot be read; without rules none counts."""
        if self._has_rights():
            self._report_failure(address, f"{reason}; {CLOSED}")

    def _is_current(self, address: str) -> bool:
        """Return whether the index holds the listed content of an address, or nothing."""
        reader, item = self._open_reader(), self._listed.get(address)
        if item is None:
            return reader is None or reader.get_source(address) is None
        return self._is_settled(item, reader)

    def _is_settled(self, item: SourceObject, reader: IndexReader | None) -> bool:
        """Return whether the index has the content of this state of an object."""
        state = self._states.get(item.address)
        if state is None or state.token != item.token or reader is None:
            return False
        record = reader.get_source(item.address)
        return record is not None and record.digest == state.digest and _is_final(record)

    def _stage(self, item: SourceObject) -> bool:
        """Fetch an object into the staging folder; return whether the batch is full."""
        file = self._staging / _name_staged_file(item)
        if not file.exists():  # an interrupted synchronization has fetched it
            try:
                self._fetch(item, file)
            except ObjectFailure as failure:
                self._report_failure(item.address, str(failure))
                return False
        self._staged.append(_StagedObject(item, file))
        self._staged_bytes += file.stat().st_size
        return len(self._staged) >= MOST_OBJECTS or self._staged_bytes >= MOST_BYTES

    def _fetch(self, item: SourceObject, file: Path) -> None:
        part = file.with_suffix(".part")
        part.unlink(missing_ok=True)
        try:
            self._source.fetch(item, part)
            # On the disk before it has its name: after a power cut an empty file would be trusted.
            with part.open("rb") as written:
                os.fsync(written.fileno())
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)
        self._report.fetched += 1

    def _ingest_staged(self) -> None:
        """Ingest the staged objects, store their states and remove their files."""
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
        """Remove the documents of the objects that a complete listing does not have.

        A file of this machine must also be proved to be missing.
        """
        if not len(self._listed) and any(True for _ in self._states.iterate_addresses()):
            # An empty folder is more often one that is not mounted than one that was emptied.
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
        """Do what does not go with a changed object.

        An interrupted synchronization may have left out vectors, and a file beside an unchanged
        document may name other readers now.
        """
        reader = self._open_reader()
        if reader is not None and (reader.count_missing_vectors() or reader.get_rights()):
            self._ingest_survey(_StagedSurvey([], reader))

    def _apply_rights(self) -> None:
        """Let the sidecars that were read count."""
        if self._has_rights():
            self._ingest_survey(_StagedSurvey([], self._open_reader()))

    def _ingest_survey(self, survey: PlaceSurvey) -> None:
        self._add_counts(self._ingest(survey, self._limits))

    def _add_counts(self, batch: IngestReport) -> None:
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
    """Remove the documents of objects, then the states of these.

    Args:
        states: The states of the objects of the source.
        iterate_gone: Yields the addresses of the objects; it is called several times.
        ingest: Removes the places of a survey.
    """

    def iterate_own() -> Iterator[str]:
        # A document that another source still has stays.
        return (address for address in iterate_gone() if not states.is_shared(address))

    if any(True for _ in iterate_own()):
        ingest(_GoneSurvey(iterate_own))
    for addresses in iterate_batches(iterate_gone()):
        states.forget(addresses)


def _is_final(record: SourceRecord) -> bool:
    """Return whether reading the same content again would give nothing else."""
    return record.outcome not in {"failed", "stale"} and not can_retry(record.reason)


def _name_staged_file(item: SourceObject) -> str:
    """Return a name for the content of an object in this state; its ending tells the format."""
    key = sha256(f"{item.address}\0{item.token}".encode()).hexdigest()[:32]
    ending = _ENDING.search(item.name)
    return key + (ending[0] if ending else "")
