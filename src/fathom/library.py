"""The library: the documents of one index directory; what goes in, is there, and is taken out."""

import json
import logging
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cached_property, partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Self

from fathom.documents.discover import Wanted, absolute, check_paths, snapshot
from fathom.errors import FathomError, IndexMissing, RunError, UsageError
from fathom.index.base import DocumentSummary, IndexReader, IndexStatus, IndexWriter, SourceRecord
from fathom.index.engines import EmbeddedIndex, Index, index_at, new_shared, side_directory
from fathom.index.held import Held
from fathom.index.places import display, is_below, outermost, outside, places_named, roots_of
from fathom.index.traces import TraceStore, swept
from fathom.settings import Settings
from fathom.types import Document

if TYPE_CHECKING:  # who asks reads no files
    from fathom.assembly import Assembly
    from fathom.calibration.law import Calibration
    from fathom.index.ingest_report import IngestProgress, IngestReport
    from fathom.index.outdated import Outdated
    from fathom.index.postgres.room import Shared
    from fathom.index.workers.base import Workers
    from fathom.llm.role_models import Connect
    from fathom.models.base import Embedder
    from fathom.models.reading import CrossReader
    from fathom.question_maker.base import Made
    from fathom.question_maker.maker import OnMade

Paths = Sequence[str | Path] | str | Path


class Library:
    """Opens the index when it is first needed; see `Engine`."""

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: "Embedder | None" = None,
        cross_reader: "CrossReader | None" = None,
        connect: "Connect | None" = None,
    ) -> None:
        """Nothing is loaded or opened before it is needed; see `Engine`."""
        self.settings = settings
        self._embedder, self._cross_reader, self._connect = embedder, cross_reader, connect
        self._like: Assembly | None = None
        self._lock = RLock()
        self._opened: IndexReader | None = None
        self._asked = Held[IndexReader]()
        self._checked = False
        self._stamp: Hashable = None
        self._retired: list[IndexReader] = []
        self._traces: TraceStore | None = None
        self._parts: Assembly | None = None

    @property
    def assembly(self) -> "Assembly":
        """Gives the parts that the settings name."""
        with self._lock:
            if self._parts is None:
                self._parts = self.assembled(self.settings, index=self._filled)
            return self._parts

    def assembled(
        self,
        settings: Settings,
        *,
        index: Callable[[], IndexReader],
        connect: "Connect | None" = None,
    ) -> "Assembly":
        """The parts that these settings name, over an index; see `Assembly`."""
        from fathom.assembly import Assembly  # models and retrievers take a while to import

        return Assembly(
            settings,
            index=index,
            embedder=self._embedder,
            cross_reader=self._cross_reader,
            connect=connect or self._connect,
            like=self._like if connect is None else None,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the index; may be used again."""
        with self._lock:
            for opened in (self._traces, self._opened, *self._retired):
                if opened is not None:
                    opened.close()
            self._traces = self._opened = None
            self._retired.clear()
            if "_shared" in vars(self) and self._like is None:
                self._shared.close()

    @cached_property
    def _shared(self) -> "Shared":
        """The connections to a server that all workspaces have in common."""
        return new_shared()

    @property
    def directory(self) -> Path:
        """Where an embedded index lies; beside one on a server: what this machine keeps."""
        return side_directory(self.settings.index.url, self.settings.index.directory)

    @property
    def index(self) -> Index:
        """Where the index lies, and what opens it.

        Raises:
            UsageError: If its URL is malformed, or cannot be used here.
        """
        own = self.settings.index
        return index_at(
            own.url,
            own.directory,
            embedded=lambda directory: EmbeddedIndex(
                directory, own.durability, own.ann_from_chunks
            ),
            qdrant_key_env=own.qdrant_key_env,
            offline=self.settings.offline,
            shared=lambda: self._shared,
        )

    @property
    def embedder(self) -> "Embedder":
        """What turns texts into vectors."""
        return self.assembly.embedder

    def ingest(
        self,
        paths: Paths = (),
        *,
        prune: bool = False,
        rebuild: bool = False,
        lose: bool = False,
        on_progress: "IngestProgress" = lambda _report, _files: None,
    ) -> "IngestReport":
        """Bring the index in line with files and folders.

        Args:
            paths: Files, folders, BEIR folders; by default all that the index was asked to hold.
            prune: Also remove documents whose file below `paths` is gone.
            rebuild: Make the index anew, also where the old one had another identity; that one
                stays until the new one takes its place in one step.
            lose: With `rebuild`, also where documents lie outside of `paths`.
            on_progress: Told the counts so far, whenever they change.

        Raises:
            UsageError: If a path is missing or there is no file below the paths, or if documents
                would be lost.
            IndexMismatch: If the index was made with other settings, unless `rebuild`.
            IndexLocked: If another process is writing.
        """
        wanted = Wanted(self.settings.ingest.include, self.settings.ingest.exclude)
        given = _paths(paths)
        roots = [absolute(path) for path in given] or self.roots()
        if not roots:
            raise UsageError("the index was asked to hold nothing; name a file or folder to ingest")
        check_paths(given or roots, wanted, self._is_known)
        if rebuild and not lose:
            self._check_none_lost(roots)
        from fathom.documents.sandbox.parent import Sandbox
        from fathom.index.batch import Batch
        from fathom.index.ingest import Ingester

        with (
            nullcontext() if given else self.index.sent_on_disk(),
            self._workers() as workers,
            self._writing(roots, anew=rebuild) as (writer, before),
            Sandbox(self.assembly.parse_limits) as sandbox,
        ):
            writer.lay_out(self.assembly.spaces)
            batch = Batch(
                writer=writer,
                embedders={"": self.assembly.embedder, **self.assembly.further},
                chunker=self.assembly.chunker,
                most_documents=self.settings.ingest.batch_documents,
                wait_vectors=self.settings.ingest.wait_vectors,
            )
            ingester = Ingester(
                batch, sandbox, before=before, workers=workers, on_progress=on_progress
            )
            report = ingester.run(roots, wanted=wanted, prune=prune or rebuild)
        self._sweep_traces()
        return report

    def _workers(self) -> "AbstractContextManager[Workers | None]":
        """Who reads and embeds beside this process."""
        from fathom.assembly.worker import packed_tools
        from fathom.index.workers.opening import opened_workers

        tools = partial(packed_tools, self.assembly, self._embedder)
        name = str(self.settings.ingest.workers)
        return opened_workers(name, tools, offline=self.settings.offline)

    @contextmanager
    def _writing(
        self, roots: Sequence[Path], *, anew: bool
    ) -> Iterator[tuple[IndexWriter, IndexReader | None]]:
        """A writer, and the index that it is to replace."""
        identity, named = self.assembly.identity, [str(root) for root in roots]
        if anew:
            with self.index.rebuilding(identity, outermost(named)) as made:
                yield made
        else:
            with self.index.open_writer(identity) as writer:
                writer.set_roots(outermost([*writer.roots(), *named]))
                yield writer, None

    def roots(self) -> list[Path]:
        """The files and folders that the index was asked to hold.

        Raises:
            IndexMissing: If nothing has been ingested.
        """
        return roots_of(self.reader(checked=False))

    def _check_none_lost(self, roots: Sequence[Path]) -> None:
        """Accept to rebuild the index of these alone.

        Raises:
            UsageError: If it holds documents of other folders, naming these.
        """
        try:
            index = self.reader(checked=False)
        except FathomError:
            return  # there is none, or it is damaged: nobody knows what it held
        lost = outside(index, roots)
        if lost:
            known = [display(root) for root in roots_of(index)]
            places = [root for root in known if any(is_below(place, root) for place in lost)]
            named = ", ".join(places[:5]) + (f" and {len(places) - 5} more" if places[5:] else "")
            raise UsageError(
                f"--rebuild would lose {len(lost)} documents of {named}; name these too, name "
                "nothing to rebuild all, or add --yes"
            )

    def _is_known(self, path: Path) -> bool:
        try:
            index = self.reader(checked=False)
        except FathomError:
            return False  # there is none, or a damaged one
        return any(True for _ in index.sources(display(absolute(path))))

    def documents(self) -> Iterator[DocumentSummary]:
        """All documents, ordered by path."""
        return self.reader(checked=False).documents()

    def document(self, name: str) -> Document:
        """The document with this id or path.

        Raises:
            UsageError: If there is none.
        """
        index = self.reader(checked=False)
        name = os.fsencode(name).decode("utf-8", "backslashreplace")  # as paths are stored
        source = index.source(name) or index.source(str(absolute(name)))
        found = index.document(source.document_id if source and source.document_id else name)
        if found is None:
            raise UsageError(f"no document {name!r}; `fathom docs list` shows ids and paths")
        return found

    def remove(self, names: Sequence[str] | str) -> int:
        """Remove documents, and the traces that hold their text; returns how many went.

        Args:
            names: Of each an id, or where documents were read: a path, a folder, or a pattern of
                the shell. What was read elsewhere too stays there, unless its id is given.

        Raises:
            UsageError: If one of them is not there; then none is removed.
        """
        names = [names] if isinstance(names, str) else names
        index = self.reader(checked=False)
        places = {place for name in names for place in places_named(index, name)}
        folders = [str(absolute(name)) for name in names if not index.places(name)]
        roots = [one for one in index.roots() if not any(is_below(one, each) for each in folders)]
        with self.index.open_writer(None) as writer:
            removed = writer.forget(sorted(places))
            writer.set_roots(roots)
        self._sweep_traces()
        return removed

    def copy_to(self, other: "Library", beside: Callable[[], None] = lambda: None) -> IndexStatus:
        """Copy the index to another place, with its traces; returns what is there then.

        The place is empty, or has a part of the index, as after a copy that broke off: what is
        lacking there is added then, and feedback that was given there stays.

        Args:
            other: Over the other place.
            beside: Copies what else goes along, once the place is known to hold nothing else.

        Raises:
            UsageError: If there is an index with other documents.
        """
        from fathom.index.copying import copy, copy_traces

        index = self.reader(checked=False)
        with other.index.open_writer(index.status().identity) as writer:
            copied = copy(index, writer, beside)
        if self.has_traces():
            copy_traces(self.traces, other.traces)
        return copied

    def keep_calibration(self, strategy: str, made: "Calibration") -> None:
        """Keep a calibration with the index, instead of an older one of the strategy."""
        data = json.dumps(made.to_json(), ensure_ascii=False, sort_keys=True)
        with self.index.open_writer(None) as writer:
            writer.keep_calibration(strategy, data)

    def drop_vectors(self, name: str) -> None:
        """Remove the vectors of a further embedder, and their graph; all else stays.

        Raises:
            UsageError: If there are none of this name.
        """
        names = [space.name for space in self.status().spaces]
        if name not in names:
            known = f"there are of {', '.join(names)}" if names else "there are none"
            raise UsageError(f"no vectors of {name!r}: {known} beside those of models.embedder")
        with self.index.open_writer(None) as writer:
            writer.drop_space(name)

    def _sweep_traces(self) -> None:
        """Let go of traces whose texts are gone; by then the index is as it was asked to be."""
        if not self.has_traces():
            return
        try:
            self.traces.sweep(self.reader(checked=False))
        except RunError as error:
            log = logging.getLogger("fathom")
            log.warning("%s; it may hold texts that are no longer in the index", error)

    @property
    def traces(self) -> TraceStore:
        """The records of what was asked.

        Raises:
            IndexMissing: If nothing has been ingested.
        """
        with self._lock:
            if self._traces is None:
                index = self.reader(checked=False)
                max_bytes = self.settings.trace.max_mb << 20
                self._traces = swept(self.index.open_traces(max_bytes=max_bytes), index)
            return self._traces

    def has_traces(self) -> bool:
        """Whether anything may have been kept of what was asked."""
        return self._traces is not None or self.index.has_traces()

    def writer(self) -> str:
        """Who is writing to the index now, in words; `""` for nobody."""
        return self.index.writer()

    def _filled(self, *, checked: bool = True) -> IndexReader:
        """The open index, which must hold documents; see `reader`."""
        index = self.reader(checked=checked)
        if not index.is_empty():
            return index
        writer = self.writer()
        todo = f"{writer} fills it, ask again later" if writer else "run `fathom ingest PATH`"
        raise IndexMissing(f"the index at {self.index} holds no documents yet: {todo}")

    @contextmanager
    def as_it_is(self, *, checked: bool = True) -> Iterator[IndexReader]:
        """The open index in one state for all that is asked inside the `with` block.

        Args:
            checked: See `reader`.

        Raises:
            IndexMissing: If it is not there, or holds no documents.
            IndexMismatch: If it was made with other settings.
        """
        with ExitStack() as stack:
            if self._opened is not None:
                # Whether it is still the one is asked inside, once for all.
                stack.enter_context(self._opened.snapshot())
            index = self._filled(checked=checked)
            stack.enter_context(index.snapshot())
            stack.enter_context(self._asked.holding(index))
            yield index

    def make_questions(
        self,
        number: int = 120,
        *,
        kinds: Sequence[str] = (),
        languages: Sequence[str] = (),
        seed: int = 0,
        on_made: "OnMade" = lambda _made, _wanted: None,
    ) -> "Made":
        """Make questions from the documents, with answers and without; see docs/questions.md.

        The same index, settings and arguments give the same questions.

        Args:
            number: At most so many, all kinds together.
            kinds: Of `fathom.question_maker.KINDS`; all by default.
            languages: `en`, `id`; both by default.
            seed: Draws where they are from.
            on_made: Told how many there are, after each.

        Raises:
            UsageError: If a kind or a language is unknown, or the number below 1.
            IndexMissing: If nothing has been ingested.
        """
        from fathom.question_maker.maker import QuestionMaker, checked_choice
        from fathom.question_maker.round_trip import RoundTrip
        from fathom.question_maker.written import written_facts

        chosen = checked_choice(number, kinds, languages)
        assembly = self.assembly
        trip = RoundTrip(
            retriever=assembly.retriever("hybrid", self._filled()),
            reader=assembly.local_reader,
            terms=assembly.terms,
        )
        questioner = assembly.questioner
        written = partial(written_facts, questioner, budget=assembly.budget) if questioner else None
        maker = QuestionMaker(index=self._filled(), trip=trip, written=written)
        return maker.make(
            number, kinds=chosen.kinds, languages=chosen.languages, seed=seed, on_made=on_made
        )

    def status(self) -> IndexStatus:
        """Counts, sizes and identity of the index."""
        return self.reader(checked=False).status()

    def stale(self) -> list[SourceRecord]:
        """Places whose document is kept although it cannot be read there any more, by path."""
        sources = self.reader(checked=False).sources()
        return [one for one in sources if one.outcome == "stale" and one.document_id is not None]

    def outdated(self) -> "list[Outdated]":
        """The files that are no longer what was read of them; reads them all again for it."""
        from fathom.index.outdated import outdated

        index = self.reader(checked=False)
        return list(outdated(index, index.sources()))

    def snapshot(self, paths: Paths = ()) -> Mapping[str, object]:
        """What tells that something has changed at `paths`, by default at all that is known."""
        wanted = Wanted(self.settings.ingest.include, self.settings.ingest.exclude)
        return snapshot(_paths(paths) or self.roots(), wanted)

    def verify(self, *, fix: bool = False) -> list[str]:
        """What is wrong with the index, in words; empty when it is sound."""
        return self.index.verify(fix=fix)

    def reader(self, *, checked: bool = True) -> IndexReader:
        """The open index.

        Args:
            checked: Whether it must have been made with the embedder and the analyzer that the
                settings name; looking at documents does not need that, and spares loading the
                model.

        Raises:
            IndexMissing: If there is none.
            IndexMismatch: If it was made with other settings.
        """
        if (asked := self._asked.get()) is not None:
            return asked
        with self._lock:
            stamp = self.index.stamp()
            if self._opened is None or stamp != self._stamp:
                opened = self.index.open_reader(self._wanted(checked))
                if self._opened is not None:  # rebuilt since; questions may still read the old one
                    self._retired.append(self._opened)
                    self._replaced()
                self._opened, self._stamp, self._checked = opened, stamp, checked
            elif checked and not self._checked:
                self.index.open_reader(self._wanted(checked)).close()
                self._checked = True
            return self._opened

    def _replaced(self) -> None:
        """Another index has taken the place of the one that was open."""

    def _wanted(self, checked: bool) -> Mapping[str, str] | None:
        return self.assembly.query_identity if checked else None


def _paths(given: Paths) -> list[Path]:
    return [Path(given)] if isinstance(given, str | Path) else [Path(path) for path in given]
