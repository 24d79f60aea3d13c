"""The ingestion of files, which are read in the sandbox, cut, stored in batches and embedded.

A place that cannot be read any more keeps its document, and is marked as stale. A document is
removed only if its file or record is proved to be gone and the caller asked for the removal.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from fathom.documents.base import ParsedDocument, ParseOutcome, ParseRefusal, RecordFailure
from fathom.documents.discover import FileFilter, derive_document_id, digest_content, make_absolute
from fathom.documents.disk_set import DiskSet
from fathom.documents.ocr.availability import can_retry
from fathom.documents.sandbox.parent import Sandbox, read_file
from fathom.index.base import IndexReader, SourceRecord, is_address
from fathom.ingest.batch import Batch, PendingDocument
from fathom.ingest.corpus_places import (
    DUPLICATE_ID,
    CorpusPlaces,
    build_place,
    check_record_places,
    is_renamed,
    rename_record,
)
from fathom.ingest.cut_ahead import CutOutcome, cut_ahead
from fathom.ingest.filling import fill_spaces, fill_with_workers
from fathom.ingest.places import (
    BATCH_SIZE,
    GONE,
    RECORD_GONE,
    display,
    is_gone,
    iterate_batches,
    locate_path,
)
from fathom.ingest.progress import ProgressCounter, measure_file
from fathom.ingest.read_ahead import get_contents, get_digest, read_ahead
from fathom.ingest.report import IngestProgress, IngestReport
from fathom.ingest.source_records import (
    build_source_record,
    digest_record,
    has_digest,
    mark_readable,
)
from fathom.ingest.survey import PlaceSurvey, ReadablePlace, Survey, SurveyedPlace
from fathom.ingest.workers.base import ChunkedText, FileContent, WorkerPool, Workers
from fathom.ingest.workers.work import build_line_place, build_record_place, make_document
from fathom.tables.packing import pack_tables

LATE = "its readers were named during this run; run it again"


class Ingester:
    """An ingestion, which brings an index in line with files.

    A batch of documents is stored in one step when it has enough chunks or is some seconds old. A
    file is reported only after it was stored. After a kill, another ingestion of the same files
    continues where this one stopped.
    """

    def __init__(
        self,
        batch: Batch,
        sandbox: Sandbox,
        *,
        before: IndexReader | None = None,
        workers: Workers | None = None,
        is_late: Callable[[Path], bool] = lambda _file: False,
        on_progress: IngestProgress = lambda _report, _advance: None,
    ) -> None:
        """Create the ingestion; nothing is read yet.

        Args:
            batch: The batch through which documents go into the index.
            sandbox: The sandbox that reads files.
            before: A reader of the index that this one is to replace. Documents that cannot be read
                any more are copied from it and marked as stale. `None` if nothing is replaced.
            workers: The workers that read and cut files and make vectors; by default this process
                does all of it.
            is_late: A function that tells whether the readers of a file were named after this
                ingestion began. Such a file is refused now, and read by the next ingestion.
            on_progress: A callback with the report so far and the progress.
        """
        self._batch = batch
        self._writer, self._files, self._clock = batch.writer, batch.files, batch.clock
        self._sandbox = sandbox
        self._before = before
        if before is not None:
            batch.take_vectors_from(before)
        self._is_late = is_late
        self._pool = None if workers is None else WorkerPool(workers)
        self._is_requested: Callable[[str], bool] = lambda _place: False
        self._report = IngestReport()
        self._progress = ProgressCounter(lambda state: on_progress(self._report, state))
        self._prune = False
        self._notes: list[SourceRecord] = []
        self._was_corpus = False

    def run(
        self, paths: Iterable[Path], *, file_filter: FileFilter | None = None, prune: bool = False
    ) -> IngestReport:
        """Ingest files and folders.

        Args:
            paths: Files and folders; a BEIR folder or corpus file gives a document per line. If a
                path is missing, the documents that were read from it earlier are treated as gone.
            file_filter: The filter of files; by default all are read.
            prune: Whether to remove the documents below `paths` whose file, or whose record in a
                corpus file, is gone; they are marked as stale otherwise.

        Returns:
            The counts and the outcome of each file.
        """
        file_filter = file_filter or FileFilter()
        roots = [make_absolute(path) for path in paths]
        roots_named = frozenset(display(root) for root in roots)
        self._is_requested = lambda place: bool(file_filter.include) or place in roots_named
        survey = Survey(roots, file_filter, self._writer, self._before, self._files)
        return self.run_survey(survey, prune=prune)

    def run_survey(self, survey: PlaceSurvey, *, prune: bool) -> IngestReport:
        """Ingest the files of a survey.

        Args:
            survey: The places with their files; a place without a file is gone. It is iterated
                twice: once to measure the files and once to read them.
            prune: Whether to remove the documents of places that are gone; they are marked as stale
                otherwise.

        Returns:
            The counts and the outcome of each file.
        """
        started = self._clock()
        self._prune = prune
        self._progress.begin(
            measure_file(visited.file)
            for visited in survey.iterate_places()
            if visited.file is not None and visited.refusal is None
        )
        with DiskSet() as self._gone:
            self._ingest_places(survey)
            # After all places are read: a document may have moved to one that was read late.
            self._remove_gone()
        if self._report.removed:
            self._writer.purge()
        self._embed_missing()
        self._progress.finish()
        self._writer.optimize()
        self._report.seconds = self._clock() - started
        return self._report

    def _ingest_places(self, survey: PlaceSurvey) -> None:
        """Read the files of a survey and store their documents; note the places that are gone."""
        readable = self._select_readable(survey.iterate_places(self._report_unreadable_folder))
        for source, content in read_ahead(readable, self._pool, self._sandbox):
            self._progress.open_file(source.place, measure_file(source.file))
            self._ingest_file(source, content)
            self._progress.close_file(stored=self._batch.is_empty)
        self._flush()

    def _embed_missing(self) -> None:
        """Embed the chunks that have no vectors, and report those that cannot be embedded."""
        embedders = self._batch.embedders
        if self._pool is None:
            outcome = fill_spaces(
                self._writer, embedders, self._progress.count_filled, clock=self._clock
            )
        else:
            outcome = fill_with_workers(
                self._writer, embedders, self._pool, self._progress.count_filled
            )
        # New chunks get their vectors here too; `filled` counts only older ones.
        stored = 0 if self._batch.wait_vectors else self._report.chunks
        self._report.filled = max(0, outcome.made - stored * len(embedders))
        self._report.unembedded = len(outcome.refused)
        for refusal in outcome.refused:
            self._report.add_file(
                refusal.chunk.path, "no_vectors", f"{refusal}; found by its words only"
            )

    def _select_readable(self, places: Iterable[SurveyedPlace]) -> Iterator[ReadablePlace]:
        """Yield the places that have a readable file; note the others as gone or unreadable."""
        for surveyed in places:
            if surveyed.file is None:
                self._gone.add(surveyed.place)
            elif surveyed.refusal is not None:
                self._note_unreadable(surveyed.place, surveyed.refusal)
            else:
                yield ReadablePlace(surveyed.place, surveyed.file, surveyed.record)

    def _report_unreadable_folder(self, folder: Path, error: OSError) -> None:
        """Report a folder that cannot be listed."""
        self._report.failed += 1
        self._report.add_file(display(folder), "failed", f"cannot be read: {error.strerror}")

    def _ingest_file(self, readable: ReadablePlace, content: FileContent) -> None:
        """Ingest a file, or report it as unchanged if the index has its content.

        Args:
            readable: The place, with the index's record of it.
            content: What was read ahead: at least the digest or the error.
        """
        place, source = readable.place, readable.record
        if self._is_late(locate_path(place)):
            self._refuse(place, "", "failed", LATE)
            return
        try:
            digest = get_digest(content)
        except OSError as error:
            self._note_unreadable(place, error)
            return
        if source is not None and source.digest == digest and self._report_unchanged(source):
            return
        try:
            self._read_file(readable, digest, content)
        except ParseRefusal as refusal:
            if self._has_vanished(place):
                self._gone.add(place)
            else:
                self._refuse(place, digest, refusal.outcome, refusal.reason)

    def _has_vanished(self, place: str) -> bool:
        """Return whether a file that could not be read was removed after its digest was computed.

        False for a file of an index to replace, whose document is copied, and for a corpus file.
        """
        return self._before is None and not self._files.is_corpus(place) and is_gone(place)

    def _note_unreadable(self, place: str, error: OSError) -> None:
        """Note a file that cannot be read, or that was removed after it was listed."""
        if is_gone(place):
            self._gone.add(place)
            return
        reason = f"cannot be read: {error.strerror}"
        self._refuse(place, "", "failed", reason)
        if self._files.is_corpus(place):
            self._mark_missing(place, (), reason)

    def _report_unchanged(self, source: SourceRecord) -> bool:
        """Report a place whose content has not changed; return False if it must be read again."""
        if source.outcome == "failed" or can_retry(source.reason):
            return False  # reading may succeed now, for example if an extra was installed
        if source.is_corpus:
            return self._report_unchanged_corpus(source)
        if source.document_id is None:
            self._report_without_document(source.path, source.outcome, source.reason)
            return True
        if source.outcome == "stale":
            self._writer.put([], [mark_readable(source)])
        self._report.unchanged += 1
        self._report.add_file(source.path, "ok", "unchanged")
        return True

    def _report_unchanged_corpus(self, source: SourceRecord) -> bool:
        """Report an unchanged corpus file and count its records; return False to read it again."""
        if source.outcome == "stale" or self._prune:
            return False  # only reading it shows which records it has
        outcomes = Counter(record.outcome for record in self._files.list_records(source.path))
        self._report.unchanged += outcomes["ok"]
        self._report.stale += outcomes["stale"]
        self._report.failed += outcomes.total() - outcomes["ok"] - outcomes["stale"]
        self._report.add_file(source.path, "ok", "unchanged")
        return True

    def _read_file(self, readable: ReadablePlace, digest: str, content: FileContent) -> None:
        """Read a file and add its document, or its records if it is a corpus file.

        Raises:
            ParseRefusal: If the file gives no document, or was a corpus file and is none now. If
                reading a corpus file breaks off, the records read before stay added, and the others
                are marked as stale.
        """
        place, parts = readable.place, get_contents(content)
        parts = iter(parts or read_file(readable.file, self._sandbox, self._progress.count_page))
        with CorpusPlaces() as places:
            try:
                first = next(parts, None)
                self._files.check_file_place(place)
                if isinstance(first, ParsedDocument) and first.record is None:
                    self._add_document(first, readable, digest, content)
                    return
                self._begin_corpus(place, readable.record)
                if first is not None:
                    self._add_records(chain([first], parts), place, digest, places)
            except ParseRefusal as refusal:
                if self._files.is_corpus(place):
                    self._note_unread_lines(place, digest, places)
                    self._mark_missing(place, places, refusal.reason)
                raise
            self._end_corpus(place, digest, places)

    def _add_records(
        self,
        items: Iterable[ParsedDocument | RecordFailure],
        file: str,
        digest: str,
        places: CorpusPlaces,
    ) -> None:
        """Add the records of a corpus file, and note the lines that give none.

        Args:
            items: The records, and the failures of lines, in the order of the file.
            file: The place of the file.
            digest: The digest of its content.
            places: The places of the records; those of `items` are added.
        """
        outcomes = cut_ahead(items, file, self._pool, partial(self._is_new_record, file))
        for number, (item, outcome) in enumerate(outcomes, start=1):
            place = build_place(item, file)
            if isinstance(item, RecordFailure) and item.record is not None:
                places.defer(place, item)
            elif isinstance(item, RecordFailure):
                self._refuse(places.add(place), digest, item.outcome, item.reason)
            elif places.add_record(place):
                self._add_record(item, outcome, place)
            else:  # the first record of this id stays, even if it is not stored yet
                other = places.add(build_line_place(file, number, "record"))
                self._note_taken_place(other, digest, "failed", DUPLICATE_ID, place)
            self._progress.count_read(len(item.text) if isinstance(item, ParsedDocument) else 0)

    def _note_unread_lines(self, file: str, digest: str, places: CorpusPlaces) -> None:
        """Note the lines that have an `_id` but give no record; call it after the last record.

        If a record has the id too, the line is noted under its number instead.
        """
        for place, failure, is_own in places.iterate_unread():
            if is_own:
                self._refuse(place, digest, failure.outcome, failure.reason)
            else:
                other = places.add(build_line_place(file, failure.line))
                self._note_taken_place(other, digest, failure.outcome, failure.reason, place)

    def _note_taken_place(
        self, place: str, digest: str, outcome: str, reason: str, reported_place: str
    ) -> None:
        """Note a line without a document whose own place belongs to another record.

        Args:
            place: The place under which the line is noted.
            digest: The digest of the file.
            outcome: Why the line gives no document, as in `SourceRecord`.
            reason: The same in a line of text.
            reported_place: The line's own place, which the report names.
        """
        self._add_note(SourceRecord(path=place, digest=digest, outcome=outcome, reason=reason))
        self._report_without_document(reported_place, outcome, reason)

    def _end_corpus(self, place: str, digest: str, places: CorpusPlaces) -> None:
        """Store a corpus file as read, and remove or mark the records that it no longer has."""
        # The digest is stored last, so that an interrupted corpus file is read again.
        self._note_unread_lines(place, digest, places)
        self._flush()
        self._writer.put([], [SourceRecord(path=place, digest=digest, outcome="ok")])
        if self._prune:
            self._gone.update(
                record.path
                for record in self._files.list_records(place)
                if record.path not in places
            )
        else:
            self._mark_missing(place, places, RECORD_GONE)
        self._report.add_file(place, "ok", f"{len(places)} records")

    def _begin_corpus(self, place: str, source: SourceRecord | None) -> None:
        """Store that a file is a corpus, before its first record."""
        # Stored first too: after an interruption its records must count as records.
        self._was_corpus = source is not None and source.is_corpus
        if not self._was_corpus:
            check_record_places(self._writer, place)
            self._release_document(source)
            self._writer.put([], [SourceRecord(path=place, digest="", outcome="ok")])
        self._files.add_corpus(place)

    def _mark_missing(self, file: str, places: Container[str], reason: str) -> None:
        """Mark the records of a corpus file that it no longer has, or that could not be read.

        Args:
            file: The place of the file.
            places: The places of the records that were read; they are not marked.
            reason: Why the others were not read. With `RECORD_GONE` they are not in the file, so
                nothing is copied from the index to replace.
        """
        self._flush()
        for page in iterate_batches(self._files.list_records(file)):
            lacking = [record for record in page if record.path not in places]
            renamed = {record.path for record in lacking if is_renamed(self._writer, record)}
            self._gone.update(renamed)
            self._mark_stale((record for record in lacking if record.path not in renamed), reason)
            if reason == RECORD_GONE:  # a line without a document leaves nothing to keep
                self._forget(record.path for record in lacking if record.document_id is None)
        if self._before is not None and reason != RECORD_GONE:
            for record in self._files.list_records(file, self._before):
                if record.path not in places and self._writer.get_source(record.path) is None:
                    self._carry_over(record.path, reason)

    def _add_document(
        self, parsed: ParsedDocument, readable: ReadablePlace, digest: str, content: FileContent
    ) -> None:
        """Add the document of a file.

        Args:
            parsed: The document.
            readable: Its place, with the index's record of it.
            digest: The digest of the file.
            content: What was read ahead; its chunks and tables are used if it has the document.

        Raises:
            ParseRefusal: If the file was a corpus file before: its records stay.
        """
        place, source = readable.place, readable.record
        if source is not None and source.is_corpus:
            raise ParseRefusal("failed", "held records before and holds none now")
        document = make_document(parsed, derive_document_id(digest), place)
        tables = content.tables if content.contents else pack_tables(document)
        document = replace(document, tables=tables)
        self._release_document(source)
        self._progress.count_read()
        chunks = content.chunks if content.contents else None
        self._add_pending(
            PendingDocument(
                document,
                build_source_record(document, digest, parsed.unread),
                source,
                chunks=chunks,
            )
        )

    def _is_new_record(self, file: str, record: ParsedDocument) -> bool:
        """Return whether the index lacks a record, or has it with other content."""
        earlier = self._get_earlier_record(build_record_place(file, record.record))
        return not has_digest(earlier, digest_record(record))

    def _get_earlier_record(self, place: str) -> SourceRecord | None:
        """Return the index's record of a place; None if it has none or the file is new."""
        return self._writer.get_source(place) if self._was_corpus else None

    def _add_record(self, parsed: ParsedDocument, outcome: CutOutcome, place: str) -> None:
        """Add a record of a corpus file, or count it as unchanged if the index has it.

        Args:
            parsed: The record.
            outcome: Its chunks, the refusal to cut it, or that it was not cut ahead.
            place: Its place.
        """
        digest, earlier = digest_record(parsed), self._get_earlier_record(place)
        if earlier is not None and has_digest(earlier, digest):
            if earlier.outcome == "stale":
                self._add_note(mark_readable(earlier))
            self._report.unchanged += 1
            return
        language, chunks = (
            (outcome.language, outcome.chunks) if isinstance(outcome, ChunkedText) else ("", None)
        )
        document = make_document(parsed, str(parsed.record), place, language)
        owner = self._batch.find_pending_place(document.id) or place
        source = build_source_record(document, digest)
        if not document.text.strip():
            self._refuse(place, digest, "empty", "has no text")
        elif isinstance(outcome, ParseRefusal):
            self._refuse(place, digest, outcome.outcome, outcome.reason)
        elif owner != place and not self._files.is_gone(owner):
            self._refuse_foreign_id(source, owner)
        else:
            if owner != place:
                self._gone.add(owner)
            self._add_pending(
                PendingDocument(document, source, earlier, is_record=True, chunks=chunks)
            )

    def _release_document(self, source: SourceRecord | None) -> None:
        """Move the document of a place to another place with the same content, if there is one.

        It is called before the place gets another document or is removed, because a document that
        other places share must not be removed with it.
        """
        if source is None or source.document_id is None:
            return
        others = self._files.list_twins(source, source.document_id)
        stored = self._writer.get_document(source.document_id) if others else None
        if stored is None or stored.path != source.path:
            return
        for other in others:
            if self._move_document(other):
                return

    def _move_document(self, source: SourceRecord) -> bool:
        """Move a document to the place of a file with its content; return whether that worked.

        The file is read again, because the title of a document may depend on its place.
        """
        if is_address(source.path):
            return self._move_stored_document(source)
        file = locate_path(source.path)
        try:
            if digest_content(file) != source.digest:
                return False  # the file has changed and is read later in this ingestion
            for item in read_file(file, self._sandbox):
                if isinstance(item, ParsedDocument) and item.record is None:
                    document = make_document(item, str(source.document_id), source.path)
                    document = replace(document, tables=pack_tables(document))
                    self._add_pending(PendingDocument(document, source, source, moves=True))
                    return True
        except (OSError, ParseRefusal):
            pass
        return False

    def _move_stored_document(self, source: SourceRecord) -> bool:
        """Move a stored document to the address of an object with the same content.

        The object is not fetched again. Returns False if the document is not stored.
        """
        document = self._writer.get_document(str(source.document_id))
        if document is None:
            return False
        has_own_title = document.title != Path(document.path).stem
        title = document.title if has_own_title else Path(source.path).stem
        document = replace(document, path=source.path, title=title)
        self._add_pending(PendingDocument(document, source, source, moves=True))
        return True

    def _add_pending(self, pending: PendingDocument) -> None:
        """Add a document to the batch, and store the batch if it is time."""
        if self._batch.add(pending):
            self._flush()

    def _add_note(self, source: SourceRecord) -> None:
        """Keep the record of a place until `BATCH_SIZE` of them are stored in one step."""
        self._notes.append(source)
        if len(self._notes) >= BATCH_SIZE:
            self._store_notes()

    def _store_notes(self) -> None:
        """Store the records that `_add_note` has kept."""
        if self._notes:
            self._writer.put([], self._notes)
            self._notes.clear()

    def _flush(self) -> None:
        """Store all waiting records and documents, and report them."""
        self._store_notes()
        stored = self._batch.store(self._progress.count_embedded)
        self._report.chunks += stored.chunks
        for pending, owner in stored.documents:
            if (
                pending.earlier is not pending.source
            ):  # a moved document is counted at its own place
                self._report_stored(pending, owner)
        if stored.documents:
            self._progress.count_stored(stored.chunks)
        for pending, owner in stored.refused:
            self._refuse_foreign_id(pending.source, owner)
        for source, refusal in stored.uncut:
            is_old = source.outcome == "stale"
            self._refuse(source.path, source.digest, refusal.outcome, refusal.reason, is_old=is_old)

    def _report_stored(self, pending: PendingDocument, owner: str) -> None:
        """Report a stored document."""
        source = pending.source
        if source.outcome == "stale":
            self._report.stale += 1
        elif pending.earlier is not None and pending.earlier.document_id is not None:
            self._report.changed += 1
        else:
            self._report.new += 1
        if owner != source.path and self._files.is_gone(owner):
            self._gone.add(owner)
        if not pending.is_record:
            reason = source.reason or self._describe_twin(source, owner)
            # A file that was read has a reason only if parts of it were left out.
            is_partial = source.outcome == "ok" and bool(source.reason)
            self._report.add_file(source.path, source.outcome, reason, is_partial=is_partial)

    def _describe_twin(self, source: SourceRecord, owner: str) -> str:
        """Return a note on the place that holds a source's document; empty if it is its own."""
        if owner == source.path:
            return ""
        return f"moved from {owner}" if owner in self._gone else f"same content as {owner}"

    def _refuse_foreign_id(self, record: SourceRecord, owner: str) -> None:
        """Refuse a record with the id of a document of another place, `owner`."""
        reason = f"the id {record.document_id!r} belongs to {owner} already; use another --index"
        self._refuse(record.path, record.digest, "failed", reason)

    def _refuse(
        self, place: str, digest: str, outcome: ParseOutcome, reason: str, *, is_old: bool = False
    ) -> None:
        """Note why a place gives no document now; a document that it had stays and becomes stale.

        Args:
            place: The place.
            digest: The digest of its content; empty if it is unknown.
            outcome: The kind of the reason.
            reason: The reason in a line of text.
            is_old: Whether the refused document came from the index to replace.
        """
        earlier = self._writer.get_source(place)
        if earlier is not None and (earlier.document_id is not None or earlier.is_corpus):
            self._report.failed += 1
            self._mark_stale([earlier], reason)
            self._report.add_file(place, "stale", reason)
        # A document from the old index that cannot be cut would be copied and refused for ever.
        elif not is_old and self._carry_over(place, reason):
            self._report.failed += 1
        else:
            source = SourceRecord(path=place, digest=digest, outcome=outcome, reason=reason)
            if source != earlier:
                self._writer.put([], [source])
            self._report_without_document(place, outcome, reason)

    def _report_without_document(self, place: str, outcome: str, reason: str) -> None:
        """Report a place without a document, as skipped if it holds none and was not asked for."""
        if outcome == "no_document" and not self._is_requested(place):
            self._report.skipped += 1
            self._report.add_file(place, "skipped", reason)
        else:
            self._report.failed += 1
            self._report.add_file(place, outcome, reason)

    def _mark_stale(self, sources: Iterable[SourceRecord], reason: str) -> None:
        """Mark the places that have documents as stale, and count the documents."""
        holding = [
            source for source in sources if source.document_id is not None or source.is_corpus
        ]
        marked = [replace(source, outcome="stale", reason=reason) for source in holding]
        changed = [source for source in marked if source not in holding]
        if changed:
            self._writer.put([], changed)
        self._report.stale += sum(source.document_id is not None for source in holding)

    def _carry_over(self, place: str, reason: str) -> bool:
        """Copy the documents of a place from the index to replace, marked as stale.

        Args:
            place: The place of a file, of a record, or of a corpus file with all its records.
            reason: Why the place cannot be read now.

        Returns:
            Whether something was copied; False also if there is no index to replace.
        """
        source = self._before.get_source(place) if self._before is not None else None
        if self._before is None or source is None:
            return False
        stale = replace(source, outcome="stale", reason=reason)
        if source.is_corpus:
            self._files.add_corpus(place)
            self._writer.put([], [stale])
            for record in self._files.list_records(place, self._before):
                self._carry_over(record.path, reason)
            self._report.add_file(place, "stale", reason)
            return True
        document = self._before.get_document(source.document_id) if source.document_id else None
        if document is None:
            return False
        if is_record := self._files.locate_file(place) != place:
            stale = rename_record(stale)
        document = replace(document, id=str(stale.document_id), path=stale.path)
        if is_record and self._batch.find_place(document.id) not in {None, place}:
            return False
        self._add_pending(PendingDocument(document, stale, None, is_record=is_record))
        return True

    def _remove_gone(self) -> None:
        """Remove the places that are gone, and mark those that must stay as stale."""
        for place in self._gone:
            if self._files.is_gone(place):
                self._gone.add(self._files.locate_file(place))
        for page in iterate_batches(self._iterate_gone_sources()):
            for source, _ in page:
                self._release_document(source)
            self._flush()
            self._forget(source.path for source, stays in page if not stays)
            staying = [source for source, stays in page if stays]
            self._mark_stale(staying, GONE)
            for source in staying:
                if self._files.locate_file(source.path) == source.path:
                    self._report.add_file(source.path, "stale", GONE)

    def _forget(self, places: Iterable[str]) -> None:
        """Remove places from the index, and count the documents that this removes."""
        if forgotten := [*places]:
            # A purge takes a while, so `run_survey` does one at the end.
            self._report.removed += self._writer.forget(forgotten, purge=False)

    def _iterate_gone_sources(self) -> Iterator[tuple[SourceRecord, bool]]:
        """Yield the index's records of the places that are gone, and whether each stays.

        The records of a corpus file come before the file, which must stay known as a corpus as long
        as one of its records is known.
        """
        for place in self._gone:
            file = self._files.locate_file(place)
            if file != place and file in self._gone:
                continue  # it is yielded with the other records of its file
            any_stays = False
            for record in self._files.list_records(place):
                stays = self._must_stay(record)
                any_stays |= stays
                yield record, stays
            source = self._writer.get_source(place)
            if source is not None:
                yield source, any_stays or self._must_stay(source)

    def _must_stay(self, source: SourceRecord) -> bool:
        """Return whether a gone place must stay known, because its document would be lost."""
        if self._prune or source.document_id is None or is_renamed(self._writer, source):
            return False
        places = self._writer.list_places(source.document_id)
        return not any(other.outcome == "ok" and not self._is_gone(other.path) for other in places)

    def _is_gone(self, place: str) -> bool:
        """Return whether a place or its file is gone."""
        return place in self._gone or self._files.locate_file(place) in self._gone
