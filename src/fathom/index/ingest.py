"""Files go into the index: read in the cage, cut, embedded, stored in batches."""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fathom.documents.base import Outcome, Parsed, Refused
from fathom.documents.chunk import Chunker
from fathom.documents.discover import Wanted, discover
from fathom.documents.failure import Failure
from fathom.documents.guard import Cage
from fathom.documents.identity import content_digest, document_id
from fathom.documents.language import detect
from fathom.documents.parse import read
from fathom.index.base import Entry, Source, Writer
from fathom.models.base import Embedder
from fathom.types import Document

BATCH_CHARS = 400_000
BATCH_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file; `reason` is one line, empty when there is nothing to say."""

    path: str
    outcome: str
    reason: str


@dataclass(slots=True, kw_only=True)
class Report:
    """What an ingestion did; the counts are of documents, `failed` also of files without one.

    Attributes:
        skipped: Files that are no documents (pictures, programs) and were not asked for.
        files: One entry a file (of a corpus also one a record that failed), in order.
    """

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: int = 0
    skipped: int = 0
    chunks: int = 0
    seconds: float = 0.0
    files: list[FileReport] = field(default_factory=list)

    @property
    def documents(self) -> int:
        """Documents that are in the index now, of those looked at."""
        return self.new + self.changed + self.unchanged


Progress = Callable[[Report, int], None]
"""Told the counts so far and how many files there are in all."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """A document on its way into the index, and what was known of its place before."""

    document: Document
    source: Source
    known: Source | None
    is_record: bool


class Ingester:
    """Brings an index in line with files; running it again continues or does nothing.

    A batch is stored in one step when it has enough chunks or is some seconds old; what has
    been reported has been stored.
    """

    def __init__(
        self,
        *,
        writer: Writer,
        embedder: Embedder,
        chunker: Chunker,
        cage: Cage,
        batch_documents: int,
        on_progress: Progress = lambda _report, _files: None,
    ) -> None:
        self._writer = writer
        self._embedder = embedder
        self._chunker = chunker
        self._cage = cage
        self._batch_documents = batch_documents
        self._on_progress = on_progress
        self._asked_for: Callable[[str], bool] = lambda _place: False
        self._report = Report()
        self._files = 0
        self._pending: list[_Pending] = []
        self._pending_ids: dict[str, str] = {}
        self._pending_chars = 0
        self._since = time.monotonic()
        self._records: dict[str, set[str]] | None = None

    def run(
        self, paths: Iterable[Path], *, wanted: Wanted | None = None, prune: bool = False
    ) -> Report:
        """Ingest files and folders.

        Args:
            paths: Files and folders; a BEIR folder or corpus file gives a document a line.
            wanted: Which files are taken; by default all.
            prune: Also remove documents below `paths` whose file, or whose record in a corpus
                file, is gone.
        """
        started = time.monotonic()
        roots = [Path(os.path.abspath(path)) for path in paths]  # noqa: PTH100 - keeps symlinks
        seen: set[str] = set()
        self._records = {} if prune else None
        files = list(discover(roots, wanted))
        named = frozenset(display(root) for root in roots)
        every = wanted is not None and bool(wanted.include)
        self._asked_for = lambda place: every or place in named
        self._files = len(files)
        for file in files:
            seen.add(display(file))
            self._file(file)
        self._flush()
        if prune:
            self._prune(roots, seen)
        self._writer.optimize()
        self._report.seconds = time.monotonic() - started
        self._on_progress(self._report, self._files)
        return self._report

    def _file(self, file: Path) -> None:
        place = display(file)
        try:
            digest = content_digest(file)
        except OSError as error:
            self._refuse(place, "", "failed", f"cannot be read: {error.strerror}")
            return
        known = self._writer.source(place)
        if known is not None and known.digest == digest and self._still_true(known):
            return
        try:
            self._read(file, place, digest, known)
        except Refused as refusal:
            self._refuse(place, digest, refusal.outcome, refusal.reason)

    def _still_true(self, known: Source) -> bool:
        """Report a place whose content has not changed; False if it must be read all the same."""
        if known.outcome == "failed":
            return False  # a limit or a crash may have been bad luck
        if known.outcome == "ok" and known.document_id is None and self._records is not None:
            return False  # which records of a corpus file are gone is seen by reading it
        if known.outcome != "ok":
            self._unread(known.path, known.outcome, known.reason)
            return True
        if known.document_id is None:  # a corpus file: its records are places of their own
            outcomes = [source.outcome for source in self._writer.sources(f"{known.path}#")]
            self._report.unchanged += outcomes.count("ok")
            self._report.failed += len(outcomes) - outcomes.count("ok")
        else:
            self._report.unchanged += 1
        self._done(known.path, "ok", "unchanged")
        return True

    def _read(self, file: Path, place: str, digest: str, known: Source | None) -> None:
        held: set[str] = set()
        for part in read(file, self._cage):
            if isinstance(part, Failure):
                at = f"{place}#{part.record or part.line}"
                self._refuse(at, digest, part.outcome, part.reason)
            elif part.record is None:
                document = _document(part, document_id(digest), place)
                source = Source(path=place, digest=digest, outcome="ok", document_id=document.id)
                self._add(_Pending(document, source, known, is_record=False))
                return
            else:
                at = f"{place}#{part.record}"
                self._record(part, at)
            held.add(at)
        # Written last: an interrupted corpus file is read again, and finds its records there.
        self._flush()
        self._writer.put([], [Source(path=place, digest=digest, outcome="ok")])
        if self._records is not None:
            self._records[place] = held
        self._done(place, "ok", f"{len(held)} records")

    def _record(self, parsed: Parsed, place: str) -> None:
        content = [parsed.title, parsed.text, sorted(parsed.metadata.items())]
        digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        known = self._writer.source(place)
        if known is not None and known.digest == digest and known.outcome == "ok":
            self._report.unchanged += 1
            return
        document = _document(parsed, str(parsed.record), place)
        owner = self._owner(document.id)
        if not document.text.strip():
            self._refuse(place, digest, "empty", "has no text")
        elif owner is not None and owner != place:
            reason = f"the id {document.id!r} belongs to {owner} already; use another --index"
            self._refuse(place, digest, "failed", reason)
        else:
            source = Source(path=place, digest=digest, outcome="ok", document_id=document.id)
            self._add(_Pending(document, source, known, is_record=True))

    def _owner(self, document_id: str) -> str | None:
        if document_id in self._pending_ids:
            return self._pending_ids[document_id]
        stored = self._writer.document(document_id)
        return stored.path if stored else None

    def _add(self, pending: _Pending) -> None:
        if not self._pending:
            self._since = time.monotonic()
        self._pending.append(pending)
        self._pending_ids.setdefault(pending.document.id, pending.source.path)
        self._pending_chars += len(pending.document.text)
        full = self._pending_chars > BATCH_CHARS or len(self._pending) >= self._batch_documents
        if full or time.monotonic() - self._since > BATCH_SECONDS:
            self._flush()

    def _flush(self) -> None:
        if not self._pending:
            return
        entries = list(self._entries())
        self._writer.put(entries, [pending.source for pending in self._pending])
        self._report.chunks += sum(len(entry.chunks) for entry in entries)
        for pending in self._pending:
            if pending.known is not None and pending.known.outcome == "ok":
                self._report.changed += 1
            else:
                self._report.new += 1
            if not pending.is_record:
                owner = self._pending_ids[pending.document.id]
                twin = f"same content as {owner}" if owner != pending.source.path else ""
                self._report.files.append(FileReport(pending.source.path, "ok", twin))
        self._pending.clear()
        self._pending_ids.clear()
        self._pending_chars = 0
        self._on_progress(self._report, self._files)

    def _entries(self) -> Iterator[Entry]:
        """Cut and embed the pending documents that are not stored yet, equal ones once."""
        fresh: dict[str, _Pending] = {}
        for pending in self._pending:
            stored = None if pending.is_record else self._writer.document(pending.document.id)
            if stored is None:
                fresh.setdefault(pending.document.id, pending)
            else:
                self._pending_ids[pending.document.id] = stored.path
        split = [self._chunker.split(pending.document) for pending in fresh.values()]
        vectors = self._embedder.embed([chunk.context for chunks in split for chunk in chunks])
        start = 0
        for pending, chunks in zip(fresh.values(), split, strict=True):
            end = start + len(chunks)
            yield Entry(
                document=pending.document,
                chunks=chunks,
                vectors=vectors[start:end],
                digest=pending.source.digest,
            )
            start = end

    def _refuse(self, place: str, digest: str, outcome: Outcome, reason: str) -> None:
        source = Source(path=place, digest=digest, outcome=outcome, reason=reason)
        self._writer.put([], [source])
        self._unread(place, outcome, reason)

    def _unread(self, place: str, outcome: str, reason: str) -> None:
        """Report a place without a document; one that nobody asked for is no failure."""
        if outcome == "no_document" and not self._asked_for(place):
            self._report.skipped += 1
            self._done(place, "skipped", reason)
        else:
            self._report.failed += 1
            self._done(place, outcome, reason)

    def _done(self, path: str, outcome: str, reason: str) -> None:
        self._report.files.append(FileReport(path, outcome, reason))
        self._on_progress(self._report, self._files)

    def _prune(self, roots: list[Path], seen: set[str]) -> None:
        gone = [
            source.path
            for root in roots
            for source in self._writer.sources(display(root))
            if source.path not in seen and self._gone(source.path, seen)
        ]
        self._report.removed += self._writer.forget(gone)

    def _gone(self, place: str, seen: set[str]) -> bool:
        file = place.split("#", maxsplit=1)[0]
        held = (self._records or {}).get(file)  # None: not a corpus file, or not read to its end
        return file not in seen or (held is not None and place not in held)


def display(path: Path) -> str:
    """The path as text that can be stored and shown, also where its name is not UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _document(parsed: Parsed, document_id: str, place: str) -> Document:
    return Document(
        id=document_id,
        text=parsed.text,
        path=place,
        title=parsed.title or Path(place).stem if parsed.record is None else parsed.title,
        language=detect(parsed.text),
        metadata=parsed.metadata,
        blocks=parsed.blocks,
    )
