"""Files go into the index: read in the sandbox, cut, stored in batches, embedded.

What is there stays: a place that cannot be read any more keeps the document that it gave and is
marked stale; only what is proved gone is removed, and only where that was asked for.
"""

import hashlib
import json
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from fathom.documents.base import Failure, Parsed, ParseOutcome, Refused
from fathom.documents.discover import Wanted, absolute, content_digest, document_id
from fathom.documents.ocr.extra import mended
from fathom.documents.sandbox.parent import Sandbox, read
from fathom.index.base import IndexReader, SourceRecord
from fathom.index.batch import Batch, Pending
from fathom.index.filling import fill_by_workers, fill_spaces
from fathom.index.ingest_progress import Advance, Course, size_of
from fathom.index.places import GONE, RECORD_GONE, display, is_gone, path_at
from fathom.index.read_ahead import digest_of, found_parts, read_ahead
from fathom.index.survey import Survey, Surveyed, There
from fathom.index.workers.base import FileRead, Workers
from fathom.index.workers.work import document_of
from fathom.types import Document

MOST_TOLD = 100_000
"""When so many files are told of, those that were read well are only counted."""


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file; `reason` is one line, empty when there is nothing to say."""

    path: str
    outcome: str
    reason: str


@dataclass(slots=True, kw_only=True)
class IngestReport:
    """What an ingestion did; the counts are of documents, `failed` also of files without one.

    Attributes:
        failed: Files, folders and records that could not be read.
        stale: Documents that stay although their place could not be read or is gone.
        skipped: Files that are no documents (pictures, programs) and were not asked for.
        filled: Vectors that chunks got which an earlier run had stored without.
        unembedded: Vectors that could not be made, as the embedder failed at the text or did not
            survive it; those chunks are found by their words only, and tried again next time.
        files: One entry a file (of a corpus also one a record that failed), in order; of those
            with nothing to say at most `MOST_TOLD`.
    """

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: int = 0
    stale: int = 0
    skipped: int = 0
    chunks: int = 0
    filled: int = 0
    unembedded: int = 0
    seconds: float = 0.0
    files: list[FileReport] = field(default_factory=list)

    @property
    def documents(self) -> int:
        """Documents that are in the index now, of those looked at."""
        return self.new + self.changed + self.unchanged


IngestProgress = Callable[[IngestReport, Advance], None]
"""Told the counts so far and how far it all is."""


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
        self._writer = batch.writer
        self._files = batch.files
        self._clock = batch.clock
        self._sandbox = sandbox
        self._before = before
        self._workers = workers
        self._asked_for: Callable[[str], bool] = lambda _place: False
        self._report = IngestReport()
        self._course = Course(lambda advance: on_progress(self._report, advance))
        self._prune = False
        self._gone: set[str] = set()
        self._healed: list[SourceRecord] = []
        self._held_records = False

    def run(
        self, paths: Iterable[Path], *, wanted: Wanted | None = None, prune: bool = False
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
        wanted = wanted or Wanted()
        roots = [absolute(path) for path in paths]
        named = frozenset(display(root) for root in roots)
        self._asked_for = lambda place: bool(wanted.include) or place in named
        survey = Survey(roots, wanted, self._writer, self._before, self._files)
        sizes = (size_of(one.file) for one in survey.places() if one.file is not None)
        self._course.begin(sizes)
        there = self._there(survey.places(self._closed))
        for one, found in read_ahead(there, self._workers, self._sandbox):
            self._course.open(one.place, size_of(one.file))
            self._file(one, found)
            self._course.close(stored=self._batch.is_empty)
        self._flush()
        self._let_go()
        self._fill()
        self._course.finish()
        self._writer.optimize()
        self._report.seconds = self._clock() - started
        return self._report

    def _fill(self) -> None:
        embedders = self._batch.embedders
        if self._workers is None:
            found = fill_spaces(self._writer, embedders, self._course.filled, clock=self._clock)
        else:
            found = fill_by_workers(self._writer, embedders, self._workers, self._course.filled)
        stored = 0 if self._batch.wait_vectors else self._report.chunks
        self._report.filled = max(0, found.made - stored * len(embedders))
        self._report.unembedded = len(found.refused)
        for one in found.refused:
            self._done(one.chunk.path, "no_vectors", f"{one}; found by its words only")

    def _there(self, places: Iterable[Surveyed]) -> Iterator[There]:
        """Those that may be there; the others are let go of when all has been read."""
        for one in places:
            if one.file is None:
                self._gone.add(one.place)
            else:
                yield There(one.place, one.file, one.known)

    def _closed(self, folder: Path, error: OSError) -> None:
        self._report.failed += 1
        self._done(display(folder), "failed", f"cannot be read: {error.strerror}")

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
        except Refused as refusal:
            self._refuse(place, digest, refusal.outcome, refusal.reason)

    def _cannot_read(self, place: str, error: OSError) -> None:
        if is_gone(place):
            self._gone.add(place)  # since it was listed
            return
        reason = f"cannot be read: {error.strerror}"
        self._refuse(place, "", "failed", reason)
        if self._is_corpus(place):
            self._missing(place, set(), reason)

    def _is_corpus(self, file: str) -> bool:
        return self._files.file_of(f"{file}#") == file

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
            self._writer.put([], [_ok(known)])
        self._report.unchanged += 1
        self._done(known.path, "ok", "unchanged")
        return True

    def _corpus_still_true(self, known: SourceRecord) -> bool:
        if known.outcome == "stale" or self._prune:
            return False  # which of its records are there is seen by reading it
        outcomes = [record.outcome for record in self._records(known.path)]
        kept = outcomes.count("ok") + outcomes.count("stale")
        self._report.unchanged += outcomes.count("ok")
        self._report.stale += outcomes.count("stale")
        self._report.failed += len(outcomes) - kept
        self._done(known.path, "ok", "unchanged")
        return True

    def _records(self, file: str, index: IndexReader | None = None) -> list[SourceRecord]:
        return [
            source
            for source in (index or self._writer).sources(file)
            if source.path != file and self._files.file_of(source.path) == file
        ]

    def _read(self, one: There, digest: str, found: FileRead) -> None:
        place, held = one.place, set[str]()
        try:
            for part in found_parts(found) or read(one.file, self._sandbox, self._course.page):
                if isinstance(part, Parsed) and part.record is None:
                    self._whole(part, one, digest, found)
                    return
                if not held:
                    self._begin_corpus(place, one.known)
                held.add(self._part(part, place, digest))
                self._course.read(len(part.text) if isinstance(part, Parsed) else 0)
        except Refused as refusal:
            if self._is_corpus(place):
                self._missing(place, held, refusal.reason)
            raise
        # Written last: an interrupted corpus file is read again, and finds its records there.
        self._flush()
        self._writer.put([], [SourceRecord(path=place, digest=digest, outcome="ok")])
        if self._prune:
            self._gone.update(one.path for one in self._records(place) if one.path not in held)
        else:
            self._missing(place, held, RECORD_GONE)
        self._done(place, "ok", f"{len(held)} records")

    def _begin_corpus(self, place: str, known: SourceRecord | None) -> None:
        # Noted first too: its records must be known for records if this is broken off.
        self._held_records = known is not None and known.is_corpus
        if not self._held_records:
            self._let_document_go(known)
            self._writer.put([], [SourceRecord(path=place, digest="", outcome="ok")])
        self._files.add_corpus(place)

    def _missing(self, file: str, held: set[str], reason: str) -> None:
        """Mark the records of a corpus file that it does not hold, or that could not be read."""
        self._flush()
        known = {one.path: one for one in self._records(file)}
        self._mark_stale([one for path, one in known.items() if path not in held], reason)
        if self._before is not None and reason != RECORD_GONE:
            for one in self._records(file, self._before):
                if one.path not in known and one.path not in held:
                    self._carry_over(one.path, reason)

    def _part(self, part: Parsed | Failure, file: str, digest: str) -> str:
        """Take one record, or note why there is none; returns its place."""
        if isinstance(part, Failure):
            place = f"{file}#{part.record or part.line}"
            self._refuse(place, digest, part.outcome, part.reason)
        else:
            place = f"{file}#{part.record}"
            self._record(part, place)
        return place

    def _whole(self, part: Parsed, one: There, digest: str, found: FileRead) -> None:
        place, known = one.place, one.known
        if known is not None and known.is_corpus:
            raise Refused("failed", "held records before and holds none now")
        document = document_of(part, document_id(digest), place)
        self._let_document_go(known)
        self._course.read()
        cut = found.chunks if found.parts else None
        self._add(Pending(document, _source(document, digest, part.unread), known, chunks=cut))

    def _record(self, parsed: Parsed, place: str) -> None:
        content = [parsed.title, parsed.text, sorted(parsed.metadata.items())]
        digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        known = self._writer.source(place) if self._held_records else None
        if known is not None and known.digest == digest and known.document_id is not None:
            if known.outcome == "stale":
                self._healed.append(_ok(known))
            self._report.unchanged += 1
            return
        document = document_of(parsed, str(parsed.record), place)
        owner = self._batch.pending_at(document.id) or place
        if not document.text.strip():
            self._refuse(place, digest, "empty", "has no text")
        elif owner != place and not self._files.is_gone(owner):
            self._refuse_taken(_source(document, digest), owner)
        else:
            if owner != place:
                self._gone.add(owner)
            self._add(Pending(document, _source(document, digest), known, is_record=True))

    def _let_document_go(self, known: SourceRecord | None) -> None:
        """Before a place lets go of its document: make it that of another place that holds it."""
        if known is None or known.document_id is None:
            return
        others = [
            other
            for other in self._writer.places(known.document_id)
            if other.path != known.path and other.outcome == "ok"
        ]
        others = [other for other in others if not self._files.is_gone(other.path)]
        if not others:
            return
        stored = self._writer.document(known.document_id)
        if stored is None or stored.path != known.path:
            return
        for other in others:
            if self._move(other):
                return

    def _move(self, source: SourceRecord) -> bool:
        """Read a file again, because its document is to have this place; whether that went."""
        file = path_at(source.path)
        try:
            if content_digest(file) != source.digest:
                return False  # its turn comes
            for part in read(file, self._sandbox):
                if isinstance(part, Parsed) and part.record is None:
                    document = document_of(part, str(source.document_id), source.path)
                    self._add(Pending(document, source, source, moves=True))
                    return True
        except (OSError, Refused):
            pass
        return False

    def _add(self, pending: Pending) -> None:
        if self._batch.add(pending):
            self._flush()

    def _flush(self) -> None:
        if self._healed:
            self._writer.put([], self._healed)
            self._healed.clear()
        stored = self._batch.store(self._course.embedded)
        self._report.chunks += stored.chunks
        for pending, owner in stored.documents:
            if pending.known is not pending.source:  # else it was counted in its turn
                self._stored(pending, owner)
        if stored.documents:
            self._course.settle(stored.chunks)
        for pending, owner in stored.refused:
            self._refuse_taken(pending.source, owner)

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
            self._done(source.path, source.outcome, source.reason or self._twin(source, owner))

    def _twin(self, source: SourceRecord, owner: str) -> str:
        if owner == source.path:
            return ""
        return f"moved from {owner}" if owner in self._gone else f"same content as {owner}"

    def _refuse_taken(self, record: SourceRecord, owner: str) -> None:
        """Note that a record's id is that of a document from elsewhere."""
        reason = f"the id {record.document_id!r} belongs to {owner} already; use another --index"
        self._refuse(record.path, record.digest, "failed", reason)

    def _refuse(self, place: str, digest: str, outcome: ParseOutcome, reason: str) -> None:
        """Note why a place gives no document now; what it gave before stays."""
        known = self._writer.source(place)
        if known is not None and (known.document_id is not None or known.is_corpus):
            self._report.failed += 1
            self._mark_stale([known], reason)
            self._done(place, "stale", reason)
        elif self._carry_over(place, reason):
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
            self._done(place, "skipped", reason)
        else:
            self._report.failed += 1
            self._done(place, outcome, reason)

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
            for record in self._records(place, self._before):
                self._carry_over(record.path, reason)
            self._done(place, "stale", reason)
            return True
        document = self._before.document(source.document_id) if source.document_id else None
        if document is None:
            return False
        is_record = self._files.file_of(place) != place
        if is_record and self._batch.owner(document.id) not in {None, place}:
            return False
        self._add(Pending(replace(document, path=place), stale, None, is_record=is_record))
        return True

    def _let_go(self) -> None:
        """Places whose file or record is gone: what only they held is removed if that is asked."""
        files = {self._files.file_of(place) for place in self._gone}
        files = {file for file in files if self._files.is_gone(file)}
        gone = {
            source.path: source
            for place in sorted(self._gone | files)
            for source in [self._writer.source(place), *self._records(place)]
            if source is not None
        }
        for source in gone.values():
            self._let_document_go(source)
        self._flush()
        kept = [] if self._prune else [s for s in gone.values() if self._only_here(s, gone)]
        files = {self._files.file_of(source.path) for source in kept}
        kept += [gone[file] for file in files if file in gone and gone[file] not in kept]
        forgotten = gone.keys() - {source.path for source in kept}
        if forgotten:
            self._report.removed += self._writer.forget(sorted(forgotten))
        self._mark_stale(kept, GONE)
        for source in kept:
            if self._files.file_of(source.path) == source.path:
                self._done(source.path, "stale", GONE)

    def _only_here(self, source: SourceRecord, gone: Container[str]) -> bool:
        """Whether a document would be lost with these places."""
        if source.document_id is None:
            return False
        places = self._writer.places(source.document_id)
        return not any(one.outcome == "ok" and one.path not in gone for one in places)

    def _done(self, path: str, outcome: str, reason: str) -> None:
        if outcome != "ok" or len(self._report.files) < MOST_TOLD:
            self._report.files.append(FileReport(path, outcome, reason))


def _ok(source: SourceRecord) -> SourceRecord:
    return replace(source, outcome="ok", reason="")


def _source(document: Document, digest: str, reason: str = "") -> SourceRecord:
    path, key = document.path, document.id
    return SourceRecord(path=path, digest=digest, outcome="ok", reason=reason, document_id=key)
