"""The documents of an engine's index: ingested, listed, checked and removed."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.documents.discover import (
    FileFilter,
    check_paths,
    discover_folders,
    make_absolute,
    take_snapshot,
)
from fathom.documents.lines import MatchingLine, find_lines
from fathom.engine.opened_index import OpenedIndex
from fathom.engine.traces import Traces
from fathom.errors import FathomError, UsageError
from fathom.index.base import DocumentSummary, IndexReader, IndexWriter, SourceRecord
from fathom.index.rights import ReaderList, ReadingRule
from fathom.ingest.place_names import PlaceNames
from fathom.ingest.places import (
    display,
    find_places,
    is_below,
    list_places_outside,
    list_roots,
    select_outermost,
)
from fathom.ingest.sidecars import AddressLimits, Sidecars
from fathom.types import Document, Hit, Place

if TYPE_CHECKING:  # a process that only asks questions imports none of these
    from fathom.assembly import Assembly
    from fathom.ingest.ingest import Ingester
    from fathom.ingest.outdated import OutdatedFile
    from fathom.ingest.report import IngestProgress, IngestReport
    from fathom.ingest.sources.store import SourceStore
    from fathom.ingest.survey import PlaceSurvey
    from fathom.ingest.workers.base import Workers
    from fathom.settings import Settings

Paths = Sequence[str | Path] | str | Path
NO_LIMITS = AddressLimits()
"""An ingestion that knows nothing of sources."""
MAX_NAMED_FOLDERS = 5
"""The folders that an error message names, at most."""


class Documents:
    """The documents of an index."""

    def __init__(
        self,
        settings: "Settings",
        index: OpenedIndex,
        traces: Traces,
        assembly: Callable[[], "Assembly"],
    ) -> None:
        """Create the facade without opening anything; `traces` hold texts of the documents."""
        self._settings = settings
        self._index = index
        self._traces = traces
        self._assembly = assembly

    def list(self) -> Iterator[DocumentSummary]:
        """Yield all documents, ordered by path."""
        return self._index.reader(checked=False).list_documents()

    def list_limits(self, ids: Sequence[str]) -> Mapping[str, Sequence[ReaderList]] | None:
        """Return the lists that limit who may read documents, by id; `None` without rules.

        An engine that reads on behalf of a viewer returns `None` too.
        """
        return self._index.reader(checked=False).list_limits(ids)

    def get(self, name: str) -> Document:
        """Return the document with this id or path.

        Args:
            name: The path may be relative to the working directory, or to a folder that the index
                was asked to hold.

        Raises:
            UsageError: If there is none, or several folders have such a path.
        """
        index = self._index.reader(checked=False)
        name = os.fsencode(name).decode("utf-8", "backslashreplace")  # as paths are stored
        source = index.get_source(name) or index.get_source(str(make_absolute(name)))
        document = index.get_document(source.document_id if source and source.document_id else name)
        if document is None and (place := self.make_place_names().find(name)):
            return self.get(place)
        if document is None:
            raise UsageError(f"no document {name!r}; `fathom docs list` shows ids and paths")
        return document

    def make_place_names(self) -> PlaceNames:
        """Return the short names of places, for output that is read for its price."""
        return PlaceNames(self._index.reader(checked=False))

    def grep(
        self,
        pattern: str,
        names: Sequence[str] = (),
        *,
        ignore_case: bool = False,
        fixed: bool = False,
    ) -> Iterator[MatchingLine]:
        """Yield the lines that hold a pattern, document by document in the order of their paths.

        Args:
            pattern: A regular expression.
            names: Only these documents, named as for `remove`; by default all.
            ignore_case: Whether small and capital letters are the same.
            fixed: Whether the pattern stands for itself.

        Raises:
            UsageError: If the pattern is no regular expression, or a name is not there.
        """
        index = self._index.reader(checked=False)
        expression = _compile_pattern(pattern, ignore_case=ignore_case, fixed=fixed)
        complete = PlaceNames(index).complete
        places = {place for name in names for place in find_places(index, complete(name))}
        for summary in index.list_documents():
            paths = {source.path for source in index.list_places(summary.id)} if names else ()
            if names and places.isdisjoint(paths):
                continue
            if document := index.get_document(summary.id):
                yield from find_lines(document, expression)

    def locate(self, hits: Sequence[Hit]) -> Sequence[Place]:
        """Return the places of the hits' chunks in their documents, in the order of the hits."""
        documents = self.load(hits)
        return [
            document.place_at(hit.chunk.span.start)
            if (document := documents.get(hit.chunk.document_id))
            else hit.chunk.place
            for hit in hits
        ]

    def load(self, hits: Sequence[Hit]) -> Mapping[str, Document]:
        """Return the documents of hits by id, without those that were removed since the search."""
        index = self._index.reader(checked=False)
        ids = {hit.chunk.document_id for hit in hits}
        return {id_: document for id_ in ids if (document := index.get_document(id_))}

    def list_roots(self) -> Sequence[Path]:
        """Return the files and folders that the index was asked to hold.

        Raises:
            IndexMissing: If nothing has been ingested.
        """
        return list_roots(self._index.reader(checked=False), self._list_source_folders())

    def list_stale(self) -> Sequence[SourceRecord]:
        """Return the places whose document is kept although it cannot be read there any more."""
        sources = self._index.reader(checked=False).list_sources()
        return [
            source
            for source in sources
            if source.outcome == "stale" and source.document_id is not None
        ]

    def list_unused_rules(self) -> Sequence[ReadingRule]:
        """Return the rules of rights that fit no place that is stored; their paths may be wrong."""
        index = self._index.reader(checked=False)
        rules = [rule for rule in index.get_rights() if not rule.narrows]
        for source in index.list_sources() if rules else ():
            rules = [rule for rule in rules if not rule.fits(source.path)]
        return rules

    def list_outdated(self) -> "Sequence[OutdatedFile]":
        """Return the files that differ from what was read; every file is read again for it."""
        from fathom.ingest.outdated import find_outdated_files

        index = self._index.reader(checked=False)
        return list(find_outdated_files(index, index.list_sources()))

    def take_fingerprint(self, paths: Paths = ()) -> Mapping[str, object]:
        """Return a value that changes with the files at `paths`, by default at all roots."""
        return take_snapshot(_to_paths(paths) or self.list_roots(), self._file_filter)

    def iterate_folders(self, paths: Paths = ()) -> Iterator[Path]:
        """Yield the folders that hold the files at `paths`, by default at all roots."""
        return discover_folders(_to_paths(paths) or self.list_roots(), self._file_filter)

    def ingest(
        self,
        paths: Paths = (),
        *,
        prune: bool = False,
        rebuild: bool = False,
        lose: bool = False,
        rights: Sequence[ReadingRule] | None = None,
        on_progress: "IngestProgress" = lambda _report, _files: None,
    ) -> "IngestReport":
        """Bring the index in line with files and folders, as `Engine.ingest` does."""
        self._index.refuse_viewer("changes of the index")
        named_paths = _to_paths(paths)
        roots = [make_absolute(path) for path in named_paths] or self.list_roots()
        if not roots:
            raise UsageError("the index was asked to hold nothing; name a file or folder to ingest")
        check_paths(named_paths or roots, self._file_filter, self._is_known)
        if rebuild and not lose:
            self._check_none_lost(roots)
        with (
            nullcontext() if named_paths else self._index.place.fetch_uploads(),
            self._open_ingester(
                roots, roots, rebuild=rebuild, rights=rights, on_progress=on_progress
            ) as ingester,
        ):
            report = ingester.run(roots, file_filter=self._file_filter, prune=prune or rebuild)
        self._traces.sweep()
        return report

    def ingest_places(
        self,
        survey: "PlaceSurvey",
        roots: Sequence[Path] = (),
        on_progress: "IngestProgress" = lambda _report, _files: None,
        *,
        limits: AddressLimits = NO_LIMITS,
    ) -> "IngestReport":
        """Bring the index in line with a survey, and remove the documents of its gone places.

        Args:
            survey: Yields the places with their files, or without one if they are gone.
            roots: Folders of this machine in which files beside the documents name their readers.
            on_progress: Called with the counts so far, whenever they change.
            limits: What is known of files beside objects of sources.

        Raises:
            IndexMismatch: If the index was made with other settings.
            IndexLocked: If another process is writing.
        """
        self._index.refuse_viewer("changes of the index")
        with self._open_ingester((), roots, limits=limits, on_progress=on_progress) as ingester:
            report = ingester.run_survey(survey, prune=True)
        self._traces.sweep()
        return report

    @contextmanager
    def _open_ingester(
        self,
        kept: Sequence[Path],
        roots: Sequence[Path],
        *,
        rebuild: bool = False,
        rights: Sequence[ReadingRule] | None = None,
        limits: AddressLimits = NO_LIMITS,
        on_progress: "IngestProgress",
    ) -> "Iterator[Ingester]":
        """Open an ingestion into the index.

        Args:
            kept: The files and folders that the index shall hold from now on, besides others.
            roots: The files and folders that may be read.
            rebuild: Whether the index is made anew.
            rights: Who may read which documents; by default the rules stay.
            limits: What is known of files beside objects of sources.
            on_progress: Called with the counts so far, whenever they change.
        """
        from fathom.assembly.worker import open_chunker
        from fathom.documents.sandbox.parent import Sandbox
        from fathom.ingest.batch import Batch
        from fathom.ingest.ingest import Ingester

        assembly = self._assembly()
        with (
            self._open_workers(assembly) as workers,
            self._open_writer(assembly, kept, anew=rebuild) as (writer, before),
            Sandbox(assembly.parse_limits) as sandbox,
            open_chunker(assembly, assembly.models.given_embedder, roots) as chunker,
        ):
            # Before any document is stored.
            sidecars = self._update_rights(writer, roots, rights, limits)
            writer.create_spaces(assembly.spaces)
            batch = Batch(
                writer=writer,
                embedders={"": assembly.embedder, **assembly.models.further},
                chunker=chunker,
                most_documents=self._settings.ingest.batch_documents,
                wait_vectors=self._settings.ingest.wait_vectors,
            )
            yield Ingester(
                batch,
                sandbox,
                before=before,
                workers=workers,
                is_late=sidecars.has_new,
                on_progress=on_progress,
            )
            if sidecars.holds_back:
                self._update_rights(writer, roots, rights, limits)

    def _update_rights(
        self,
        writer: IndexWriter,
        roots: Sequence[Path],
        rights: Sequence[ReadingRule] | None,
        limits: AddressLimits,
    ) -> Sidecars:
        """Store rules with what the files beside documents add to them; return those files."""
        stored = writer.get_rights()
        given = [rule for rule in stored if not rule.narrows] if rights is None else rights
        if not given:
            if rights is not None:
                writer.set_rights(())
            return Sidecars.ignore()
        if rights is not None:  # the first rules are about what sources hold too
            roots = [*roots, *map(Path, self._list_source_folders())]
        sidecars = Sidecars.read(roots, self._file_filter, stored)
        named = self._source_store.map_readers()
        sidecars = sidecars.hold_back(stored, named, writer, limits)
        writer.set_rights((*given, *sidecars.rules))
        return sidecars

    def remove(self, names: Sequence[str] | str) -> int:
        """Remove documents, and the traces that hold their text; return how many were removed.

        Args:
            names: For each an id, or the place where it was read: a path, a folder, or a pattern
                of the shell. A document that was read elsewhere too stays there, unless its id is
                given.

        Raises:
            UsageError: If one of them is not there; then none is removed.
        """
        self._index.refuse_viewer("changes of the index")
        names = [names] if isinstance(names, str) else names
        index = self._index.reader(checked=False)
        names = [*map(PlaceNames(index).complete, names)]
        places = {place for name in names for place in find_places(index, name)}
        folders = [str(make_absolute(name)) for name in names if not index.list_places(name)]
        roots = [
            root
            for root in index.get_roots()
            if not any(is_below(root, folder) for folder in folders)
        ]
        with self._index.place.open_writer(None) as writer:
            removed = writer.forget(sorted(places))
            writer.set_roots(roots)
        self._traces.sweep()
        return removed

    def _list_source_folders(self) -> Sequence[str]:
        return [source.url for source in self._source_store.list() if source.is_folder]

    @property
    def _source_store(self) -> "SourceStore":
        from fathom.ingest.sources.store import SourceStore

        return SourceStore(self._index.directory)

    @property
    def _file_filter(self) -> FileFilter:
        return FileFilter(self._settings.ingest.include, self._settings.ingest.exclude)

    def _open_workers(self, assembly: "Assembly") -> "AbstractContextManager[Workers | None]":
        from fathom.assembly.worker import pack_worker_tools
        from fathom.ingest.workers.opening import open_workers

        tools = partial(pack_worker_tools, assembly, assembly.models.given_embedder)
        name = str(self._settings.ingest.workers)
        return open_workers(name, tools, offline=self._settings.offline)

    @contextmanager
    def _open_writer(
        self, assembly: "Assembly", roots: Sequence[Path], *, anew: bool
    ) -> Iterator[tuple[IndexWriter, IndexReader | None]]:
        """Open a writer, and with `anew` the index that the new one replaces."""
        identity, names = assembly.identity, [str(root) for root in roots]
        if anew:
            with self._index.place.rebuild(identity, select_outermost(names)) as pair:
                yield pair
        else:
            with self._index.place.open_writer(identity) as writer:
                writer.set_roots(select_outermost([*writer.get_roots(), *names]))
                yield writer, None

    def _check_none_lost(self, roots: Sequence[Path]) -> None:
        """Accept a rebuild of the index from these roots alone.

        Raises:
            UsageError: If the index holds documents of other folders.
        """
        try:
            index = self._index.reader(checked=False)
        except FathomError:
            return  # there is no index, or a damaged one: what it held is unknown
        lost_places = list_places_outside(index, roots)
        if not lost_places:
            return
        places = [
            root
            for root in map(display, list_roots(index, self._list_source_folders()))
            if any(is_below(place, root) for place in lost_places)
        ]
        if not places:
            raise UsageError(
                f"--rebuild would lose {len(lost_places)} documents of sources; add --yes, and "
                "`fathom source sync` fetches them again"
            )
        remainder = (
            f" and {len(places) - MAX_NAMED_FOLDERS} more" if places[MAX_NAMED_FOLDERS:] else ""
        )
        raise UsageError(
            f"--rebuild would lose {len(lost_places)} documents of "
            f"{', '.join(places[:MAX_NAMED_FOLDERS])}{remainder}; "
            "name these too, name nothing to rebuild all, or add --yes"
        )

    def _is_known(self, path: Path) -> bool:
        try:
            index = self._index.reader(checked=False)
        except FathomError:
            return False  # there is no index, or a damaged one
        return any(True for _ in index.list_sources(display(make_absolute(path))))


def _compile_pattern(pattern: str, *, ignore_case: bool, fixed: bool) -> re.Pattern[str]:
    try:
        flags = re.IGNORECASE if ignore_case else re.NOFLAG
        return re.compile(re.escape(pattern) if fixed else pattern, flags)
    except re.error as error:
        raise UsageError(
            f"{pattern!r} is no regular expression ({error}); --fixed searches for the text itself"
        ) from None


def _to_paths(paths: Paths) -> list[Path]:
    return [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]
