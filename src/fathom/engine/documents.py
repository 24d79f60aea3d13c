"""The documents of an engine's index: how they are ingested, listed, checked and removed."""

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
"""One file or folder, or several."""
NO_LIMITS = AddressLimits()
"""The limits of an ingestion without objects of sources."""
MAX_NAMED_FOLDERS = 5
"""The largest number of folders in an error message."""


class Documents:
    """The documents of an index."""

    def __init__(
        self,
        settings: "Settings",
        index: OpenedIndex,
        traces: Traces,
        assembly: Callable[[], "Assembly"],
    ) -> None:
        """Create the facade without opening anything.

        Args:
            settings: The settings of the engine.
            index: The index of the engine.
            traces: The traces of the engine; those of removed documents are deleted.
            assembly: The function that returns the parts of the engine.
        """
        self._settings = settings
        self._index = index
        self._traces = traces
        self._assembly = assembly

    def list(self) -> Iterator[DocumentSummary]:
        """Yield summaries of all documents, ordered by path."""
        return self._index.reader(checked=False).list_documents()

    def list_limits(self, ids: Sequence[str]) -> Mapping[str, Sequence[ReaderList]] | None:
        """Return the lists of readers that limit who may read documents, by document id.

        `None` if the index has no rules of rights, or is read on behalf of a viewer.
        """
        return self._index.reader(checked=False).list_limits(ids)

    def get(self, name: str) -> Document:
        """Return a document by its id or path.

        Args:
            name: The id, or a path: absolute, or relative to the working directory or to a folder
                that was ingested.

        Raises:
            UsageError: If there is no such document, or several folders have such a path.
        """
        index = self._index.reader(checked=False)
        name = display(name)
        source = index.get_source(name) or index.get_source(str(make_absolute(name)))
        document = index.get_document(source.document_id if source and source.document_id else name)
        if document is None and (place := self.make_place_names().find(name)):
            return self.get(place)
        if document is None:
            raise UsageError(f"no document {name!r}; `fathom docs list` shows ids and paths")
        return document

    def make_place_names(self) -> PlaceNames:
        """Return the short names of places, for output of few tokens, as to a language model."""
        return PlaceNames(self._index.reader(checked=False))

    def grep(
        self,
        pattern: str,
        names: Sequence[str] = (),
        *,
        ignore_case: bool = False,
        fixed: bool = False,
    ) -> Iterator[MatchingLine]:
        """Yield the lines that match a pattern, by document in the order of their paths.

        Args:
            pattern: A regular expression.
            names: The documents to search, named as for `remove`; by default all.
            ignore_case: Whether upper and lower case are equal.
            fixed: Whether the pattern is plain text.

        Raises:
            UsageError: If the pattern is no regular expression, or nothing has one of the names.
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
        """Return the place of each hit's chunk in its document, such as page and line."""
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
        """Return the files and folders that were given for ingestion.

        Raises:
            IndexMissing: If nothing has been ingested.
        """
        return list_roots(self._index.reader(checked=False), self._list_source_folders())

    def list_stale(self) -> Sequence[SourceRecord]:
        """Return the places whose document is kept although its file can no longer be read."""
        sources = self._index.reader(checked=False).list_sources()
        return [
            source
            for source in sources
            if source.outcome == "stale" and source.document_id is not None
        ]

    def list_unused_rules(self) -> Sequence[ReadingRule]:
        """Return the rules of rights that match no stored place; their paths may be wrong."""
        index = self._index.reader(checked=False)
        rules = [rule for rule in index.get_rights() if not rule.narrows]
        for source in index.list_sources() if rules else ():
            rules = [rule for rule in rules if not rule.fits(source.path)]
        return rules

    def list_outdated(self) -> "Sequence[OutdatedFile]":
        """Return the files that have changed since their ingestion; every file is read again."""
        from fathom.ingest.outdated import find_outdated_files

        index = self._index.reader(checked=False)
        return list(find_outdated_files(index, index.list_sources()))

    def take_fingerprint(self, paths: Paths = ()) -> Mapping[str, object]:
        """Return a value that changes if files change at `paths`, by default at all roots."""
        return take_snapshot(_to_paths(paths) or self.list_roots(), self._file_filter)

    def iterate_folders(self, paths: Paths = ()) -> Iterator[Path]:
        """Yield the folders of the files at `paths`, by default at all roots."""
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
        """Update the index from files and folders, as `Engine.ingest` does."""
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
        """Update the index from a survey of places, and remove the documents of missing places.

        Args:
            survey: The places, each with its file, or without one if it no longer exists.
            roots: The folders of this machine with sidecars: files next to the documents that name
                their readers.
            on_progress: The function that is called with the counts whenever they change.
            limits: The knowledge about the sidecars of objects of sources.

        Raises:
            UsageError: If the index is read on behalf of a viewer.
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
        """Open an ingestion into the index for a `with` block.

        Args:
            kept: The files and folders to add to the roots of the index; with `rebuild`, the only
                ones.
            roots: The files and folders that may be read.
            rebuild: Whether to make a new index, which replaces the old one at the end.
            rights: The rules of who may read which documents; `None` keeps the stored ones.
            limits: The knowledge about the sidecars of objects of sources.
            on_progress: The function that is called with the counts whenever they change.
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
            # Rights come before any document is stored, so that nobody reads it without them.
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
        """Store the rules of rights with those of sidecars, and return the sidecars.

        Args:
            writer: The writer of the index.
            roots: The files and folders whose sidecars are read.
            rights: The rules; `None` keeps the stored ones. Without rules, sidecars are ignored.
            limits: The knowledge about the sidecars of objects of sources.
        """
        stored = writer.get_rights()
        given = [rule for rule in stored if not rule.narrows] if rights is None else rights
        if not given:
            if rights is not None:
                writer.set_rights(())
            return Sidecars.ignore()
        if rights is not None:  # new rules also apply to the folders of sources
            roots = [*roots, *map(Path, self._list_source_folders())]
        sidecars = Sidecars.read(roots, self._file_filter, stored)
        named = self._source_store.map_readers()
        sidecars = sidecars.hold_back(stored, named, writer, limits)
        writer.set_rights((*given, *sidecars.rules))
        return sidecars

    def remove(self, names: Sequence[str] | str) -> int:
        """Remove documents and the traces with their text; return the number of documents.

        Args:
            names: Ids of documents, or places: paths, folders or shell patterns. A document at a
                removed place is kept if it was also read at another place, unless its id is given.

        Raises:
            UsageError: If nothing has one of the names, and then nothing is removed; or if the
                index is read on behalf of a viewer.
            IndexLocked: If another process is writing.
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
        """Return the paths of the sources that are folders of this machine."""
        return [source.url for source in self._source_store.list() if source.is_folder]

    @property
    def _source_store(self) -> "SourceStore":
        """The store of the sources."""
        from fathom.ingest.sources.store import SourceStore

        return SourceStore(self._index.directory)

    @property
    def _file_filter(self) -> FileFilter:
        """The filter of files by the patterns of `[ingest]`."""
        return FileFilter(self._settings.ingest.include, self._settings.ingest.exclude)

    def _open_workers(self, assembly: "Assembly") -> "AbstractContextManager[Workers | None]":
        """Open the workers that the settings name for a `with` block; `None` for this process."""
        from fathom.assembly.worker import pack_worker_tools
        from fathom.ingest.workers.opening import open_workers

        tools = partial(pack_worker_tools, assembly, assembly.models.given_embedder)
        name = str(self._settings.ingest.workers)
        return open_workers(name, tools, offline=self._settings.offline)

    @contextmanager
    def _open_writer(
        self, assembly: "Assembly", roots: Sequence[Path], *, anew: bool
    ) -> Iterator[tuple[IndexWriter, IndexReader | None]]:
        """Open a writer and store the roots of the index.

        Args:
            assembly: The parts, with the identity of the index.
            roots: The files and folders to add to the roots; with `anew`, the only ones.
            anew: Whether to write a new index, which replaces the old one at the end.

        Yields:
            The writer, and with `anew` a reader of the old index if there is one, else `None`.
        """
        identity, names = assembly.identity, [str(root) for root in roots]
        if anew:
            with self._index.place.rebuild(identity, select_outermost(names)) as pair:
                yield pair
        else:
            with self._index.place.open_writer(identity) as writer:
                writer.set_roots(select_outermost([*writer.get_roots(), *names]))
                yield writer, None

    def _check_none_lost(self, roots: Sequence[Path]) -> None:
        """Check that a rebuild from some roots loses no documents.

        Raises:
            UsageError: If the index has documents from elsewhere.
        """
        try:
            index = self._index.reader(checked=False)
        except FathomError:
            return  # there is no index, or a damaged one, whose documents are unknown
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
        """Return whether the index has a record of a path or of a place below it."""
        try:
            index = self._index.reader(checked=False)
        except FathomError:
            return False  # there is no index, or a damaged one
        return any(True for _ in index.list_sources(display(make_absolute(path))))


def _compile_pattern(pattern: str, *, ignore_case: bool, fixed: bool) -> re.Pattern[str]:
    """Compile a pattern; raise `UsageError` if it is no regular expression."""
    try:
        flags = re.IGNORECASE if ignore_case else re.NOFLAG
        return re.compile(re.escape(pattern) if fixed else pattern, flags)
    except re.error as error:
        raise UsageError(
            f"{pattern!r} is no regular expression ({error}); --fixed searches for the text itself"
        ) from None


def _to_paths(paths: Paths) -> list[Path]:
    """Return one path or several as a list."""
    return [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]
