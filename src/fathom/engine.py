"""The facade: ingest, search, ask, and look after the index."""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack

from fathom.context import in_loop
from fathom.documents.discover import Wanted, absolute, check_paths, snapshot
from fathom.errors import FathomError, IndexMissing, RunError, UsageError
from fathom.index.base import Reader, Source, Status, Summary, Writer
from fathom.index.embedded import open_reader, open_writer, verify, writer_at
from fathom.index.places import (
    display,
    is_below,
    outermost,
    outside,
    places_named,
    roots_of,
)
from fathom.index.rebuild import rebuilding
from fathom.index.traces import FILE as TRACES
from fathom.index.traces import TraceStore, open_traces
from fathom.index.writer import EmbeddedWriter
from fathom.models.base import Embedder
from fathom.models.reading import CrossReader
from fathom.parts import Parts
from fathom.retrieval.base import Retriever
from fathom.retrieval.query import check_question
from fathom.roles import Connect, Roles
from fathom.settings import MOST_HITS, Settings
from fathom.tracing.outline import tree
from fathom.tracing.trace import Step
from fathom.types import Answer, Chunk, Document, Filter, Hit, Place, Query, section_of

if TYPE_CHECKING:  # LangGraph takes a second to import, and who asks reads no files
    from fathom.asking import Live, Options, Replay
    from fathom.index.ingest import Progress, Report
    from fathom.index.outdated import Outdated
    from fathom.strategies.run import Outcome


class Engine:
    """Fathom over one index directory; a context manager that closes what it opened."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        embedder: Embedder | None = None,
        cross_reader: CrossReader | None = None,
        connect: Connect | None = None,
    ) -> None:
        """Nothing is loaded or opened before it is needed.

        Args:
            settings: By default the defaults; files and environment are not read here.
            embedder: Used instead of the one that the settings name.
            cross_reader: Likewise.
            connect: Gives language models instead of those that the settings name.
        """
        self.settings = settings or Settings()
        self.parts = Parts(self.settings, embedder, cross_reader)
        self._embedder = embedder
        self._cross_reader = cross_reader
        self._connect = connect
        self._opened: Reader | None = None
        self._traces: TraceStore | None = None
        self._live: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the index, once what is still at work there has ended; may be used again."""
        if "executor" in self.__dict__:
            self.executor.shutdown(cancel_futures=True)
            del self.executor
        for opened in (self._traces, self._opened):
            if opened is not None:
                opened.close()
        self._traces = self._opened = self._live = None

    @property
    def directory(self) -> Path:
        """Where the index lies."""
        return self.settings.index.directory

    @property
    def embedder(self) -> Embedder:
        """What turns texts into vectors."""
        return self.parts.embedder

    @cached_property
    def roles(self) -> Roles:
        """The language models of the roles."""
        return Roles(self.settings, self._connect)

    @cached_property
    def executor(self) -> ThreadPoolExecutor:
        """Where a question's synchronous work is done."""
        return ThreadPoolExecutor(max_workers=4, thread_name_prefix="fathom")

    def ingest(
        self,
        paths: Sequence[Path] = (),
        *,
        prune: bool = False,
        rebuild: bool = False,
        lose: bool = False,
        on_progress: "Progress" = lambda _report, _files: None,
    ) -> "Report":
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
        roots = [absolute(path) for path in paths] or self.roots()
        check_paths(paths or roots, wanted, self._is_known)
        if rebuild and not lose:
            self._check_none_lost(roots)
        self.close()
        from fathom.documents.guard import Cage
        from fathom.index.batch import Batch
        from fathom.index.ingest import Ingester

        with self._writing(roots, anew=rebuild) as (writer, before), Cage(self.parts.caps) as cage:
            batch = Batch(
                writer=writer,
                embedder=self.parts.embedder,
                chunker=self.parts.chunker,
                most_documents=self.settings.ingest.batch_documents,
            )
            ingester = Ingester(batch, cage, before=before, on_progress=on_progress)
            report = ingester.run(roots, wanted=wanted, prune=prune or rebuild)
        self._sweep_traces()
        return report

    @contextmanager
    def _writing(
        self, roots: Sequence[Path], *, anew: bool
    ) -> Iterator[tuple[Writer, Reader | None]]:
        """A writer, and the index that it is to replace."""
        index, identity = self.settings.index, self.parts.identity
        named = [str(root) for root in roots]

        def open_at(directory: Path) -> EmbeddedWriter:
            return open_writer(
                directory,
                identity,
                durability=index.durability,
                ann_from_chunks=index.ann_from_chunks,
            )

        if anew:
            with rebuilding(self.directory, outermost(named), open_at) as made:
                yield made.writer, made.before
        else:
            with open_at(self.directory) as writer:
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

    def search(
        self,
        text: str,
        *,
        k: int | None = None,
        retriever: str | None = None,
        filters: Sequence[Filter] = (),
    ) -> list[Hit]:
        """The `k` best hits for a query.

        Raises:
            UsageError: If the query is empty or too long, or `k` out of range.
            IndexMissing: If nothing has been ingested.
            IndexMismatch: If the index was made with another embedder.
        """
        check_question(text)
        chosen = self.settings.retrieval.k if k is None else k
        if not 1 <= chosen <= MOST_HITS:
            raise UsageError(f"k = {chosen}: ask for at least 1 hit and at most {MOST_HITS}")
        query = Query(text=text, filters=tuple(filters))
        return self.retriever(retriever).retrieve(query, k=chosen)

    def places(self, hits: Sequence[Hit]) -> list[Place]:
        """Where the hits' chunks stand in their documents, in the order of the hits."""
        index = self.reader(checked=False)
        names = {hit.chunk.document_id for hit in hits}
        documents = {name: found for name in names if (found := index.document(name))}
        return [_place(hit.chunk, documents.get(hit.chunk.document_id)) for hit in hits]

    def ask(self, question: str, **options: "Unpack[Options]") -> Answer:
        """Answer from the documents, or say that they do not hold an answer.

        Args:
            question: At most `MAX_CHARS` characters.
            options: See `asking.Options`; what is not given is as in the settings.

        Raises:
            UsageError: If the question is empty or too long, a name is unknown, or a language
                model cannot be used as it is configured.
            IndexMissing: If nothing has been ingested.
        """
        return in_loop(self.aask(question, **options))

    async def aask(self, question: str, **options: "Unpack[Options]") -> Answer:
        """See `ask`."""
        return (await self.aoutcome(question, **options)).answer

    async def aoutcome(self, question: str, **options: "Unpack[Options]") -> "Outcome":
        """See `ask`; with the trace, also where it is not kept."""
        check_question(question)
        self.roles.prepare()  # what is wrong with a model is known before anything is opened
        if not self.parts.warm:  # meanwhile, as importing LangGraph takes as long
            self.executor.submit(self.parts.warm_up)
        from fathom import asking

        if self._live is None:
            self._live = asking.Live(self.parts, self.roles, self._filled, self.executor)
        outcome = await asking.ask(question, self._live, options)
        outcome = asking.warned(outcome, self.reader(), self._live.digests)
        if not self.settings.trace.enabled:
            return outcome
        return asking.kept(outcome, lambda: self.traces)

    @property
    def traces(self) -> TraceStore:
        """The records of what was asked.

        Raises:
            IndexMissing: If nothing has been ingested.
        """
        if self._traces is None:
            index = self.reader(checked=False)
            max_bytes = self.settings.trace.max_mb << 20
            self._traces = open_traces(self.directory, index, max_bytes=max_bytes)
        return self._traces

    def explained(self, answer: Answer) -> str:
        """The steps of an answer with their reasons, as a tree."""
        if answer.trace_id is None:
            return "its steps were not kept; see trace.enabled"
        return tree(self.traces.get(answer.trace_id))

    def steps(self, answer: Answer) -> tuple[Step, ...] | None:
        """The steps of an answer in the order of their beginning; `None` if they were not kept."""
        if answer.trace_id is None:
            return None
        found = self.traces.get(answer.trace_id)
        return tuple(sorted(found.steps, key=lambda step: step.started_at))

    def replay(self, trace_id: str, *, assignments: Sequence[str] = ()) -> "Replay":
        """Answer again what was asked then, from the record alone.

        Args:
            trace_id: The id, or its beginning.
            assignments: `a.b=c`: settings that are to differ from the recorded ones.

        Raises:
            TraceMissing: If there is no such trace.
            TraceTampered: If it is not what was stored.
            SettingsError: If a setting is unknown or illegal.
        """
        from fathom import asking

        trace = self.traces.get(trace_id)
        settings = asking.settings_then(trace, self.settings, assignments)
        parts = Parts(settings, self._embedder, self._cross_reader)
        return in_loop(asking.replay(trace, parts, self.executor))

    def retriever(self, name: str | None = None) -> Retriever:
        """The retriever of this name, by default that of the settings.

        Raises:
            UsageError: If there is none of this name.
        """
        name = name or self.settings.retrieval.retriever
        return self.parts.retriever(name, self._filled(checked=name != "keyword"))

    def documents(self) -> Iterator[Summary]:
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

    def remove(self, names: Sequence[str]) -> int:
        """Remove documents, and the traces that hold their text; returns how many went.

        Args:
            names: Of each an id, or where documents were read: a path, a folder, or a pattern of
                the shell. What was read elsewhere too stays there, unless its id is given.

        Raises:
            UsageError: If one of them is not there; then none is removed.
        """
        index = self.reader(checked=False)
        places = {place for name in names for place in places_named(index, name)}
        folders = [str(absolute(name)) for name in names]
        roots = [one for one in index.roots() if not any(is_below(one, each) for each in folders)]
        self.close()
        with open_writer(self.directory, None, durability=self.settings.index.durability) as writer:
            removed = writer.forget(sorted(places))
            writer.set_roots(roots)
        self._sweep_traces()
        return removed

    def _sweep_traces(self) -> None:
        """Let go of traces whose texts are gone; by then the index is as it was asked to be."""
        if not (self.directory / TRACES).exists():
            return
        try:
            self.traces.sweep(self.reader(checked=False))
        except RunError as error:
            log = logging.getLogger("fathom")
            log.warning("%s; it may hold texts that are no longer in the index", error)

    def writer(self) -> str:
        """Who is writing to the index now, in words; `""` for nobody."""
        return writer_at(self.directory)

    def _filled(self, *, checked: bool = True) -> Reader:
        """The open index, which must hold documents; see `reader`."""
        index = self.reader(checked=checked)
        if not index.is_empty():
            return index
        writer = self.writer()
        todo = f"{writer} fills it, ask again later" if writer else "run `fathom ingest PATH`"
        raise IndexMissing(f"the index at {self.directory} holds no documents yet: {todo}")

    def status(self) -> Status:
        """Counts, sizes and identity of the index."""
        return self.reader(checked=False).status()

    def stale(self) -> list[Source]:
        """Places whose document is kept although it cannot be read there any more, by path."""
        sources = self.reader(checked=False).sources()
        return [one for one in sources if one.outcome == "stale" and one.document_id is not None]

    def outdated(self) -> "list[Outdated]":
        """The files that are no longer what was read of them; reads them all again for it."""
        from fathom.index.outdated import outdated

        index = self.reader(checked=False)
        return list(outdated(index, index.sources()))

    def snapshot(self, paths: Sequence[Path] = ()) -> Mapping[str, object]:
        """What tells that something has changed at `paths`, by default at all that is known."""
        wanted = Wanted(self.settings.ingest.include, self.settings.ingest.exclude)
        return snapshot(paths or self.roots(), wanted)

    def verify(self, *, fix: bool = False) -> list[str]:
        """What is wrong with the index, in words; empty when it is sound."""
        self.close()
        return verify(self.directory, fix=fix)

    def reader(self, *, checked: bool = True) -> Reader:
        """The open index.

        Args:
            checked: Whether it must have been made with the embedder and the analyzer that the
                settings name; looking at documents does not need that, and spares loading the
                model.

        Raises:
            IndexMissing: If there is none.
            IndexMismatch: If it was made with other settings.
        """
        if self._opened is None:
            wanted = self.parts.query_identity if checked else None
            self._opened = open_reader(self.directory, wanted)
        return self._opened


def _place(chunk: Chunk, document: Document | None) -> Place:
    """Of a document that has gone since the search only what the chunk itself knows is known."""
    if document is not None:
        return document.place_at(chunk.span.start)
    section = section_of(chunk.title, chunk.headings)
    return Place(path=chunk.path, title=chunk.title, section=section, page=chunk.page)
