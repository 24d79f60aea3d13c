"""Files go into the index: read in the sandbox, cut, stored in batches, embedded.

What is there stays: a place that cannot be read any more keeps the document that it gave and is
marked stale; only what is proved gone is removed, and only where that was asked for.
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
from fathom.documents.ocr.extra import mended
from fathom.documents.sandbox.parent import Sandbox, read
from fathom.index.base import IndexReader, SourceRecord
from fathom.index.batch import Batch, Pending
from fathom.index.corpus_places import (
    AGAIN,
    CorpusPlaces,
    check_record_places,
    is_renamed,
    place_of,
    rename_record,
)
from fathom.index.cut_ahead import Found, cut_ahead
from fathom.index.filling import fill_by_workers, fill_spaces
from fathom.index.ingest_progress import Course, size_of
from fathom.index.ingest_report import IngestProgress, IngestReport
from fathom.index.noted import holds, noted, ok, record_digest
from fathom.index.places import AT_ONCE, GONE, RECORD_GONE, display, is_gone, pages, path_at
from fathom.index.read_ahead import digest_of, found_parts, read_ahead
from fathom.index.survey import Survey, Surveyed, There
from fathom.index.workers.base import Cut, FileRead, Pool, Workers
from fathom.index.workers.work import document_of, line_place, record_place


class Ingester:
    """Brings an index in line with files; running it again continues or does nothing.

    A batch is stored in one step when it has enough chunks or is some seconds old; what has
    been reported has been stored.
    """

    def __init__(
        self,
        batch: Batch,
        sandbox: Sandbox,
        *,
        before: IndexReader | None = None,
        workers: Workers | None = None,
        on_progress: IngestProgress = lambda _report, _advance: None,
    ) -> None:
        """Nothing is read yet.

        Args:
            batch: How documents go into the index.
            sandbox: Where files are read.
            before: The index that this one is to replace; what cannot be read any more is taken
                from there.
            workers: Who reads files and makes vectors; by default this process alone.
            on_progress: Told the counts so far and how far it all is.
        """
        self._batch = batch
        self._writer, self._files, self._clock = batch.writer, batch.files, batch.clock
        self._sandbox = sandbox
        self._before = before
        self._pool = None if workers is None else Pool(workers)
        self._asked_for: Callable[[str], bool] = lambda _place: False
        self._report = IngestReport()
        self._course = Course(lambda advance: on_progress(self._report, advance))
        self._prune = False
        self._gone = DiskSet()
        self._notes: list[SourceRecord] = []
        self._held_records = False

    def run(
        self, paths: Iterable[Path], *, wanted: FileFilter | None = None, prune: bool = False
    ) -> IngestReport:
        """Ingest files and folders.

        Args:
            paths: Files and folders; a BEIR folder or corpus file gives a document a line. One
                that is missing stands for what was read there before.
            wanted: Which files are taken; by default all.
            prune: Also remove documents below `paths` whose file, or whose record in a corpus
                file, is gone.
        """
        started = self._clock()
        self._prune = prune
        wanted = wanted or FileFilter()
        roots = [make_absolute(path) for path in paths]
        named = frozenset(display(root) for root in roots)
        self._asked_for = lambda place: bool(wanted.include) or place in named
        survey = Survey(roots, wanted, self._writer, self._before, self._files)
        self._course.begin(size_of(one.file) for one in survey.places() if one.file is not None)
        there = self._there(survey.places(self._closed))
        for one, found in read_ahead(there, self._pool, self._sandbox):
            self._course.open(one.place, size_of(one.file))
            self._file(one, found)
            self._course.close(stored=self._batch.is_empty)
        self._flush()
        self._let_go()
        if self._report.removed:
            self._writer.purge()
        self._fill()
        self._course.finish()
        self._writer.optimize()
        self._report.seconds = self._clock() - started
        return self._report

    def _fill(self) -> None:
        embedders = self._batch.embedders
        if self._pool is None:
            found = fill_spaces(self._writer, embedders, self._course.filled, clock=self._clock)
        else:
            found = fill_by_workers(self._writer, embedders, self._pool, self._course.filled)
        stored = 0 if self._batch.wait_vectors else self._report.chunks
        self._report.filled = max(0, found.made - stored * len(embedders))
        self._report.unembedded = len(found.refused)
        for one in found.refused:
            self._report.tell(one.chunk.path, "no_vectors", f"{one}; found by its words only")

    def _there(self, places: Iterable[Surveyed]) -> Iterator[There]:
        """Those that may be there; the others are let go of when all has been read."""
        for one in places:
            if one.file is None:
                self._gone.add(one.place)
            else:
                yield There(one.place, one.file, one.known)

    def _closed(self, folder: Path, error: OSError) -> None:
        self._report.failed += 1
        self._report.tell(display(folder), "failed", f"cannot be read: {error.strerror}")

    def _file(self, one: There, found: FileRead) -> None:
        place, known = one.place, one.known
        try:
            digest = digest_of(found)
        except OSError as error:
            self._cannot_read(place, error)
            return
        if known is not None and known.digest == digest and self._still_true(known):
            return
        try:
            self._read(one, digest, found)
        except ParseRefusal as refusal:
            self._refuse(place, digest, refusal.outcome, refusal.reason)

    def _cannot_read(self, place: str, error: OSError) -> None:
        if is_gone(place):
            self._gone.add(place)  # since it was listed
            return
        reason = f"cannot be read: {error.strerror}"
        self._refuse(place, "", "failed", reason)
        if self._files.is_corpus(place):
            self._missing(place, (), reason)

    def _still_true(self, known: SourceRecord) -> bool:
        """Report a place whose content has not changed; False if it must be read all the same."""
        if known.outcome == "failed" or mended(known.reason):
            return False  # it may have been bad luck; what was missing is installed now
        if known.is_corpus:
            return self._corpus_still_true(known)
        if known.document_id is None:
            self._without(known.path, known.outcome, known.reason)
            return True
        if known.outcome == "stale":
            self._writer.put([], [ok(known)])
        self._report.unchanged += 1
        self._report.tell(known.path, "ok", "unchanged")
        return True

    def _corpus_still_true(self, known: SourceRecord) -> bool:
        if known.outcome == "stale" or self._prune:
            return False  # which of its records are there is seen by reading it
        outcomes = Counter(record.outcome for record in self._files.list_records(known.path))
        self._report.unchanged += outcomes["ok"]
        self._report.stale += outcomes["stale"]
        self._report.failed += outcomes.total() - outcomes["ok"] - outcomes["stale"]
        self._report.tell(known.path, "ok", "unchanged")
        return True

    def _read(self, one: There, digest: str, found: FileRead) -> None:
        place, parts = one.place, found_parts(found)
        parts = iter(parts or read(one.file, self._sandbox, self._course.page))
        with CorpusPlaces() as held:
            try:
                first = next(parts, None)
                self._files.check_file_place(place)
                if isinstance(first, ParsedDocument) and first.record is None:
                    self._whole(first, one, digest, found)
                    return
                self._begin_corpus(place, one.known)
                if first is not None:
                    self._parts(chain([first], parts), place, digest, held)
            except ParseRefusal as refusal:
                if self._files.is_corpus(place):
                    self._unread(place, digest, held)
                    self._missing(place, held, refusal.reason)
                raise
            self._end_corpus(place, digest, held)

    def _parts(
        self,
        parts: Iterable[ParsedDocument | RecordFailure],
        file: str,
        digest: str,
        held: CorpusPlaces,
    ) -> None:
        found = cut_ahead(parts, file, self._pool, partial(self._is_news, file))
        for number, (part, cut) in enumerate(found, start=1):
            place = place_of(part, file)
            if isinstance(part, RecordFailure) and part.record is not None:
                held.put_off(place, part)
            elif isinstance(part, RecordFailure):
                self._refuse(held.add(place), digest, part.outcome, part.reason)
            elif held.add_record(place):
                self._record(part, cut, place)
            else:  # what the first one gave stays, whether that is stored by now or not
                other = held.add(line_place(file, number, "record"))
                self._aside(other, digest, "failed", AGAIN, place)
            self._course.read(len(part.text) if isinstance(part, ParsedDocument) else 0)

    def _unread(self, file: str, digest: str, held: CorpusPlaces) -> None:
        """Note lines that have an `_id` and give no record, now that the records are known."""
        for place, part, is_own in held.unread():
            if is_own:
                self._refuse(place, digest, part.outcome, part.reason)
            else:
                other = held.add(line_place(file, part.line))
                self._aside(other, digest, part.outcome, part.reason, place)

    def _aside(self, place: str, digest: str, outcome: str, reason: str, told: str) -> None:
        """Note what gives no document, where the place that it names is taken."""
        self._note(SourceRecord(path=place, digest=digest, outcome=outcome, reason=reason))
        self._without(told, outcome, reason)

    def _end_corpus(self, place: str, digest: str, held: CorpusPlaces) -> None:
        # Written last: an interrupted corpus file is read again, and finds its records there.
        self._unread(place, digest, held)
        self._flush()
        self._writer.put([], [SourceRecord(path=place, digest=digest, outcome="ok")])
        if self._prune:
            self._gone.update(
                one.path for one in self._files.list_records(place) if one.path not in held
            )
        else:
            self._missing(place, held, RECORD_GONE)
        self._report.tell(place, "ok", f"{len(held)} records")

    def _begin_corpus(self, place: str, known: SourceRecord | None) -> None:
        # Noted first too: its records must be known for records if this is broken off.
        self._held_records = known is not None and known.is_corpus
        if not self._held_records:
            check_record_places(self._writer, place)
            self._let_document_go(known)
            self._writer.put([], [SourceRecord(path=place, digest="", outcome="ok")])
        self._files.add_corpus(place)

    def _missing(self, file: str, held: Container[str], reason: str) -> None:
        """Mark the records of a corpus file that it does not hold, or that could not be read."""
        self._flush()
        for page in pages(self._files.list_records(file)):
            lacking = [one for one in page if one.path not in held]
            renamed = {one.path for one in lacking if is_renamed(self._writer, one)}
            self._gone.update(renamed)
            self._mark_stale((one for one in lacking if one.path not in renamed), reason)
            if reason == RECORD_GONE:  # and what gave none is none any more
                self._forget(one.path for one in lacking if one.document_id is None)
        if self._before is not None and reason != RECORD_GONE:
            for one in self._files.list_records(file, self._before):
                if one.path not in held and self._writer.source(one.path) is None:
                    self._carry_over(one.path, reason)

    def _whole(self, part: ParsedDocument, one: There, digest: str, found: FileRead) -> None:
        place, known = one.place, one.known
        if known is not None and known.is_corpus:
            raise ParseRefusal("failed", "held records before and holds none now")
        document = document_of(part, derive_document_id(digest), place)
        self._let_document_go(known)
        self._course.read()
        cut = found.chunks if found.parts else None
        self._add(Pending(document, noted(document, digest, part.unread), known, chunks=cut))

    def _is_news(self, file: str, record: ParsedDocument) -> bool:
        """Whether a record is not stored as it is."""
        known = self._known_record(record_place(file, record.record))
        return not holds(known, record_digest(record))

    def _known_record(self, place: str) -> SourceRecord | None:
        return self._writer.source(place) if self._held_records else None

    def _record(self, parsed: ParsedDocument, cut: Found, place: str) -> None:
        digest, known = record_digest(parsed), self._known_record(place)
        if known is not None and holds(known, digest):
            if known.outcome == "stale":
                self._note(ok(known))
            self._report.unchanged += 1
            return
        language, chunks = (cut.language, cut.chunks) if isinstance(cut, Cut) else ("", None)
        document = document_of(parsed, str(parsed.record), place, language)
        owner = self._batch.pending_at(document.id) or place
        source = noted(document, digest)
        if not document.text.strip():
            self._refuse(place, digest, "empty", "has no text")
        elif isinstance(cut, ParseRefusal):
            self._refuse(place, digest, cut.outcome, cut.reason)
        elif owner != place and not self._files.is_gone(owner):
            self._refuse_taken(source, owner)
        else:
            if owner != place:
                self._gone.add(owner)
            self._add(Pending(document, source, known, is_record=True, chunks=chunks))

    def _let_document_go(self, known: SourceRecord | None) -> None:
        """Before a place lets go of its document: make it that of another place that holds it."""
        if known is None or known.document_id is None:
            return
        others = self._files.list_twins(known, known.document_id)
        stored = self._writer.document(known.document_id) if others else None
        if stored is None or stored.path != known.path:
            return
        for other in others:
            if self._move(other):
                return

    def _move(self, source: SourceRecord) -> bool:
        """Read a file again, because its document is to have this place; whether that went."""
        file = path_at(source.path)
        try:
            if digest_content(file) != source.digest:
                return False  # its turn comes
            for part in read(file, self._sandbox):
                if isinstance(part, ParsedDocument) and part.record is None:
                    document = document_of(part, str(source.document_id), source.path)
                    self._add(Pending(document, source, source, moves=True))
                    return True
        except (OSError, ParseRefusal):
            pass
        return False

    def _add(self, pending: Pending) -> None:
        if self._batch.add(pending):
            self._flush()

    def _note(self, source: SourceRecord) -> None:
        self._notes.append(source)
        if len(self._notes) >= AT_ONCE:
            self._put_notes()

    def _put_notes(self) -> None:
        if self._notes:
            self._writer.put([], self._notes)
            self._notes.clear()

    def _flush(self) -> None:
        self._put_notes()
        stored = self._batch.store(self._course.embedded)
        self._report.chunks += stored.chunks
        for pending, owner in stored.documents:
            if pending.known is not pending.source:  # else it was counted in its turn
                self._stored(pending, owner)
        if stored.documents:
            self._course.settle(stored.chunks)
        for pending, owner in stored.refused:
            self._refuse_taken(pending.source, owner)
        for one, why in stored.uncut:
            old = one.outcome == "stale"
            self._refuse(one.path, one.digest, why.outcome, why.reason, is_old=old)

    def _stored(self, pending: Pending, owner: str) -> None:
        source = pending.source
        if source.outcome == "stale":
            self._report.stale += 1
        elif pending.known is not None and pending.known.document_id is not None:
            self._report.changed += 1
        else:
            self._report.new += 1
        if owner != source.path and self._files.is_gone(owner):
            self._gone.add(owner)
        if not pending.is_record:
            reason = source.reason or self._twin(source, owner)
            self._report.tell(source.path, source.outcome, reason)

    def _twin(self, source: SourceRecord, owner: str) -> str:
        if owner == source.path:
            return ""
        return f"moved from {owner}" if owner in self._gone else f"same content as {owner}"

    def _refuse_taken(self, record: SourceRecord, owner: str) -> None:
        """Note that a record's id is that of a document from elsewhere."""
        reason = f"the id {record.document_id!r} belongs to {owner} already; use another --index"
        self._refuse(record.path, record.digest, "failed", reason)

    def _refuse(
        self, place: str, digest: str, outcome: ParseOutcome, reason: str, *, is_old: bool = False
    ) -> None:
        """Note why a place gives no document now; what it gave before stays."""
        known = self._writer.source(place)
        if known is not None and (known.document_id is not None or known.is_corpus):
            self._report.failed += 1
            self._mark_stale([known], reason)
            self._report.tell(place, "stale", reason)
        elif not is_old and self._carry_over(place, reason):
            self._report.failed += 1
        else:
            source = SourceRecord(path=place, digest=digest, outcome=outcome, reason=reason)
            if source != known:
                self._writer.put([], [source])
            self._without(place, outcome, reason)

    def _without(self, place: str, outcome: str, reason: str) -> None:
        """Report a place without a document; one that nobody asked for is no failure."""
        if outcome == "no_document" and not self._asked_for(place):
            self._report.skipped += 1
            self._report.tell(place, "skipped", reason)
        else:
            self._report.failed += 1
            self._report.tell(place, outcome, reason)

    def _mark_stale(self, known: Iterable[SourceRecord], reason: str) -> None:
        """Say of places that what they gave is what they gave once."""
        kept = [one for one in known if one.document_id is not None or one.is_corpus]
        marked = [replace(one, outcome="stale", reason=reason) for one in kept]
        news = [one for one in marked if one not in kept]
        if news:
            self._writer.put([], news)
        self._report.stale += sum(one.document_id is not None for one in kept)

    def _carry_over(self, place: str, reason: str) -> bool:
        """Take what a place gave from the index before this one; whether there was something."""
        source = self._before.source(place) if self._before is not None else None
        if self._before is None or source is None:
            return False
        stale = replace(source, outcome="stale", reason=reason)
        if source.is_corpus:
            self._files.add_corpus(place)
            self._writer.put([], [stale])
            for record in self._files.list_records(place, self._before):
                self._carry_over(record.path, reason)
            self._report.tell(place, "stale", reason)
            return True
        document = self._before.document(source.document_id) if source.document_id else None
        if document is None:
            return False
        if is_record := self._files.file_of(place) != place:
            stale = rename_record(stale)
        document = replace(document, id=str(stale.document_id), path=stale.path)
        if is_record and self._batch.owner(document.id) not in {None, place}:
            return False
        self._add(Pending(document, stale, None, is_record=is_record))
        return True

    def _let_go(self) -> None:
        """Places whose file or record is gone: what only they held is removed if that is asked."""
        for place in self._gone:
            if self._files.is_gone(place):
                self._gone.add(self._files.file_of(place))
        for page in pages(self._leaving()):
            for source, _ in page:
                self._let_document_go(source)
            self._flush()
            self._forget(source.path for source, stays in page if not stays)
            kept = [source for source, stays in page if stays]
            self._mark_stale(kept, GONE)
            for source in kept:
                if self._files.file_of(source.path) == source.path:
                    self._report.tell(source.path, "stale", GONE)

    def _forget(self, places: Iterable[str]) -> None:
        if forgotten := [*places]:
            self._report.removed += self._writer.forget(forgotten, purge=False)

    def _leaving(self) -> Iterator[tuple[SourceRecord, bool]]:
        """What is known of the places that are gone, and whether it stays.

        Of a corpus file the records come first: while one is known, so is that it is one.
        """
        for place in self._gone:
            file = self._files.file_of(place)
            if file != place and file in self._gone:
                continue  # it comes with its file
            any_stays = False
            for record in self._files.list_records(place):
                stays = self._stays(record)
                any_stays |= stays
                yield record, stays
            source = self._writer.source(place)
            if source is not None:
                yield source, any_stays or self._stays(source)

    def _stays(self, source: SourceRecord) -> bool:
        """Whether a document would be lost with the places that are gone, and shall not be."""
        if self._prune or source.document_id is None or is_renamed(self._writer, source):
            return False
        places = self._writer.places(source.document_id)
        return not any(one.outcome == "ok" and not self._is_leaving(one.path) for one in places)

    def _is_leaving(self, place: str) -> bool:
        return place in self._gone or self._files.file_of(place) in self._gone
