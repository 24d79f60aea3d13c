"""The sources of an engine's index: how they are added, listed, synchronized and removed."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.engine.documents import NO_LIMITS, Documents
from fathom.engine.opened_index import OpenedIndex
from fathom.errors import IndexLocked, IndexMissing, Interrupted, UsageError
from fathom.ingest.sidecars import AddressLimits

if TYPE_CHECKING:  # a process that only asks questions imports none of these
    from fathom.index.base import IndexReader
    from fathom.ingest.report import IngestProgress, IngestReport
    from fathom.ingest.sources.base import SourceOptions
    from fathom.ingest.sources.store import SourceStore, StoredSource
    from fathom.ingest.sources.sync import IngestPlaces, SyncReport
    from fathom.ingest.survey import PlaceSurvey
    from fathom.settings import Settings

TakeTurn = Callable[[Callable[[], "IngestReport"]], "IngestReport"]
"""A function that runs an ingestion when no other work changes the index; it returns the report."""
FOLDER = "sources"
"""The name of the folder next to the index for the local files of sources."""


class Sources:
    """The sources of an index; their state is stored on this machine."""

    def __init__(self, settings: "Settings", index: OpenedIndex, documents: Documents) -> None:
        """Create the facade without opening anything."""
        self._settings = settings
        self._index = index
        self._documents = documents

    def add(
        self,
        url: str,
        *,
        name: str = "",
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        allow_private: bool = False,
        every: str = "",
        with_secrets: bool = True,
    ) -> "StoredSource":
        """Add a source; nothing is read before `sync`.

        Args:
            url: A folder, or the URL of a source, without user name, password or token.
            name: The name of the source; by default the last part of the URL.
            include: The patterns of which an object must match one; by default all objects match.
            exclude: The patterns of which an object must match none.
            allow_private: Whether the host of the URL may be in a private network.
            every: The interval of synchronizations, `1m` to `30d`, after which `list_due` returns
                the source; by default never.
            with_secrets: Whether the source may use passwords of this machine.

        Raises:
            UsageError: If the URL, the name or the interval is invalid, patterns are one text, the
                name is taken, a program or extra is missing, or the index is read on behalf of a
                viewer.
        """
        from fathom.ingest.sources.interval import parse_interval
        from fathom.ingest.sources.kinds import (
            check_name,
            make_source_name,
            normalize_url,
            open_source,
        )
        from fathom.ingest.sources.store import StoredSource

        self._index.refuse_viewer("sources")
        for option, patterns in (("include", include), ("exclude", exclude)):
            if isinstance(patterns, str):
                raise UsageError(f"{option}: give a list of patterns, such as [{patterns!r}]")
        url = normalize_url(url)
        source = StoredSource(
            name=name or make_source_name(url),
            url=url,
            include=tuple(include),
            exclude=tuple(exclude),
            allow_private=allow_private,
            every=every,
            with_secrets=with_secrets,
        )
        check_name(source.name)
        if every:
            parse_interval(every)
        # Opened once, so that a missing program or extra is reported now, not in the night.
        open_source(url, self._make_options(source)).close()
        self._store.add(source)
        return source

    def list(self) -> "Sequence[StoredSource]":
        """Return all sources by name, with a note on those that are being synchronized."""
        from fathom.index.embedded.lock import describe_holder

        self._index.refuse_viewer("sources")
        return [
            replace(source, running=bool(describe_holder(self._locate_lock(source.name))))
            for source in self._store.list()
        ]

    def list_due(self) -> "Sequence[StoredSource]":
        """Return the sources that are not paused and whose interval has passed since their sync."""
        self._index.refuse_viewer("sources")
        now = datetime.now(UTC)
        return [source for source in self._store.list() if source.is_due(now)]

    def pause(self, name: str, *, paused: bool = True) -> None:
        """Pause a source, so that it is not synchronized with all others, or resume it.

        Args:
            name: The name of the source.
            paused: Whether to pause rather than resume it.

        Raises:
            UsageError: If there is no source of this name.
        """
        self._index.refuse_viewer("sources")
        self._store.set_paused(self._store.get(name).name, paused=paused)

    def sync(
        self,
        name: str,
        *,
        on_progress: "IngestProgress" = lambda _report, _files: None,
        on_object: "Callable[[SyncReport], None]" = lambda _report: None,
        take_turn: "TakeTurn" = lambda work: work(),
    ) -> "SyncReport":
        """Update the index from a source; the time and any fault are stored with the source.

        Args:
            name: The name of the source.
            on_progress: The function that is called with the counts of an ingestion whenever they
                change.
            on_object: The function that is called with the report after each compared object.
            take_turn: The function that runs each change of the index when no other work changes
                it.

        Returns:
            The report. Its `fault` says why the source could not be read completely; it is empty if
            it was.

        Raises:
            UsageError: If there is no source of this name.
            IndexLocked: If another process is writing, or synchronizing this source.
        """
        from fathom.ingest.sources.sync import SyncReport

        self._index.refuse_viewer("sources")
        stored = self._store.get(name)
        report = SyncReport(source=name)

        def ingest(survey: "PlaceSurvey", limits: AddressLimits) -> "IngestReport":
            return take_turn(lambda: self._ingest(stored, survey, on_progress, limits=limits))

        try:
            self._synchronize(stored, report, ingest, on_object)
        except (IndexLocked, Interrupted):
            raise
        except Exception as error:
            self._note_outcome(name, str(error) or type(error).__name__)
            raise
        self._note_outcome(name, report.fault)
        return report

    def _synchronize(
        self,
        stored: "StoredSource",
        report: "SyncReport",
        ingest: "IngestPlaces",
        on_object: "Callable[[SyncReport], None]",
    ) -> None:
        """Compare the objects of a source with those in the index, and ingest the differences."""
        from fathom.ingest.sources.kinds import open_source
        from fathom.ingest.sources.sync import Synchronizer, SyncTarget

        name, options = stored.name, self._make_options(stored)
        with (
            self._open_folder(name) as staging,
            closing(open_source(stored.url, options)) as source,
            self._store.open_objects(name) as states,
        ):
            Synchronizer(
                source,
                states,
                SyncTarget(staging, self._open_reader, ingest),
                file_filter=options.file_filter,
                report=report,
                on_progress=on_object,
            ).run()
            if not report.fault:
                shutil.rmtree(staging)

    def _note_outcome(self, name: str, fault: str) -> None:
        """Store the time and the fault of a synchronization; an empty fault means success."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._store.set_outcome(name, now, fault)

    def remove(self, name: str) -> int:
        """Remove a source and its documents; return the number of removed documents.

        Raises:
            UsageError: If there is no source of this name.
            IndexLocked: If another process is writing, or synchronizing this source.
        """
        from fathom.ingest.sources.sync import remove_places

        self._index.refuse_viewer("sources")
        stored = self._store.get(name)
        removed: list[int] = []
        with self._open_folder(name), self._store.open_objects(name) as states:
            remove_places(
                states,
                states.iterate_addresses,
                lambda survey: removed.append(self._ingest(stored, survey).removed),
            )
        self._store.remove(name)
        shutil.rmtree(self._locate_folder(name), ignore_errors=True)
        return sum(removed)

    @property
    def _store(self) -> "SourceStore":
        """The store of the sources."""
        from fathom.ingest.sources.store import SourceStore

        return SourceStore(self._index.directory)

    def _locate_folder(self, name: str) -> Path:
        """Return the folder of a source for its local files."""
        return self._index.directory / FOLDER / name

    def _locate_lock(self, name: str) -> Path:
        """Return the file that locks a source while it is synchronized."""
        return self._locate_folder(name) / "lock"

    @contextmanager
    def _open_folder(self, name: str) -> Iterator[Path]:
        """Lock the folder of a source for a `with` block, and yield its staging folder.

        Raises:
            IndexLocked: If another process is synchronizing this source.
        """
        from fathom.index.embedded.lock import WriterLock

        folder = self._locate_folder(name)
        staging = folder / "staging"
        # As private as the index, because it has texts of documents.
        (self._index.directory / FOLDER).mkdir(mode=0o700, parents=True, exist_ok=True)
        staging.mkdir(parents=True, exist_ok=True)
        with WriterLock(self._locate_lock(name)):
            yield staging

    def _make_options(self, source: "StoredSource") -> "SourceOptions":
        """Return the options for opening a source, with its passwords if it may use them."""
        from fathom.documents.discover import FileFilter
        from fathom.ingest.sources.base import SourceOptions
        from fathom.ingest.sources.kinds import read_credentials

        has_secrets = source.with_secrets and not source.is_folder
        user, password = read_credentials(source.name) if has_secrets else ("", "")
        return SourceOptions(
            name=source.name,
            folder=self._locate_folder(source.name),
            file_filter=FileFilter(source.include, source.exclude),
            most_bytes=self._settings.limits.file_mb << 20,
            offline=self._settings.offline,
            allow_private=source.allow_private,
            user=user,
            password=password,
        )

    def _open_reader(self) -> "IndexReader | None":
        """Return the open index; `None` if nothing has been ingested."""
        try:
            return self._index.reader(checked=False)
        except IndexMissing:
            return None

    def _ingest(
        self,
        source: "StoredSource",
        survey: "PlaceSurvey",
        on_progress: "IngestProgress" = lambda _report, _files: None,
        *,
        limits: AddressLimits = NO_LIMITS,
    ) -> "IngestReport":
        """Update the index from a survey of a source's objects."""
        roots = [Path(source.url)] if source.is_folder else []
        return self._documents.ingest_places(survey, roots, on_progress, limits=limits)
