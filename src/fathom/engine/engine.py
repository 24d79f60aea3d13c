"""The facade `Engine`: ingestion, search and questions over one index."""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack

from fathom.engine.calibration import Calibrations
from fathom.engine.documents import Documents, Paths
from fathom.engine.opened_index import EngineConnections, OpenedIndex
from fathom.engine.paper import check_paper_embedder, describe_other_chunks
from fathom.engine.request import AskOptions, AskRequest
from fathom.engine.sources import Sources
from fathom.engine.traces import Traces
from fathom.errors import IndexMissing, UsageError
from fathom.extensions import find_entry
from fathom.index.base import IndexReader, IndexStatus
from fathom.index.engines import (
    SERVER_SCHEMES,
    UPLOADS,
    Index,
    make_index_settings,
    switch_workspace,
)
from fathom.index.filters import describe_unmet_filters
from fathom.index.rights import ReadingRule, Viewer
from fathom.ingest.outdated import (
    FileDigests,
    describe_outdated_citations,
    describe_uncertain_quotes,
)
from fathom.redaction import SECRETS
from fathom.registry import PAPERS, QUESTIONER, REWRITER, RegistryEntry
from fathom.runs.concurrency import (
    run_in_loop,
    run_in_thread,
    stream_events,
    stream_from_thread,
)
from fathom.runs.events import Listener, StreamEvent
from fathom.runs.recorder import restore_answer
from fathom.runs.trace import Origin, Trace
from fathom.types import Answer, Filter, Hit, Query

if TYPE_CHECKING:  # `from fathom import Engine` loads no settings; a question loads what it needs
    from fathom.assembly import Assembly
    from fathom.assembly.models import Models
    from fathom.index.embedded.backup import Backup
    from fathom.ingest.report import IngestProgress, IngestReport
    from fathom.llm.role_models import Connect
    from fathom.models.base import Embedder
    from fathom.models.reading import CrossReader
    from fathom.question_maker.base import QuestionSet
    from fathom.question_maker.maker import OnProgress
    from fathom.retrieval.base import Retriever
    from fathom.retrieval.excerpts import Excerpts
    from fathom.settings import Settings
    from fathom.strategies.base import CompiledGraph, Strategy
    from fathom.strategies.run import Replay, RunOutcome


class Engine:
    """Fathom over one index; a context manager that closes what it opened.

    Several threads, and several tasks of one event loop, may use an engine at the same time.
    Changes of the index by other processes are visible from the next call on.

    Attributes:
        settings: The settings in force.
        documents: The documents of the index.
        sources: The sources of documents, such as folders, buckets and sites.
        traces: The traces of answers.
        calibration: The calibrations of answers, and feedback.
    """

    def __init__(
        self,
        settings: "Settings | None" = None,
        *,
        embedder: "Embedder | None" = None,
        cross_reader: "CrossReader | None" = None,
        connect: "Connect | None" = None,
        models: "Models | None" = None,
        connections: EngineConnections | None = None,
        viewer: Viewer | None = None,
        whole_traces: Traces | None = None,
    ) -> None:
        """Create the engine; models and index are opened on first use.

        Args:
            settings: The settings; by default the defaults. Files and the environment are not read.
            embedder: An embedder in place of the one that the settings name.
            cross_reader: A cross-reader in place of the one that the settings name.
            connect: A function that returns language models in place of those that the settings
                name.
            models: The models of another engine, which closes them; the three arguments before are
                then ignored.
            connections: The database connections of another engine, which closes them.
            viewer: The viewer on whose behalf the index is read, as for `open_for`.
            whole_traces: For a viewer, the traces of the engine that reads all documents.

        Raises:
            UsageError: If the settings are no `Settings`.
        """
        from fathom.settings import Settings  # it brings pydantic, and an import needs none

        if not isinstance(settings, Settings | None):
            raise UsageError(f"settings: give `load_settings()`, not a {type(settings).__name__}")
        self.settings, self._model_caution = _choose_model(settings or Settings())
        self._make_models = partial(
            _make_models,
            self.settings,
            embedder=embedder,
            cross_reader=cross_reader,
            connect=connect,
        )
        self._lock = RLock()
        self._models, self._owns_models = models, models is None
        self._connections = connections or EngineConnections()
        self._owns_connections = connections is None
        self._assembly: Assembly | None = None
        self._executor: ThreadPoolExecutor | None = None
        self._strategies: dict[str, tuple[Strategy, CompiledGraph]] = {}
        self._papers: dict[str, Engine] = {}
        self._digests = FileDigests()
        self._opened = OpenedIndex(
            self.settings,
            query_identity=lambda: self.assembly.query_identity,
            word_identity=lambda: self.assembly.word_identity,
            connections=self._connections,
            # A strategy searches the index that was open when the strategy was made.
            on_replaced=self._strategies.clear,
            viewer=viewer,
        )
        self._whole_traces = whole_traces
        self.traces = Traces(self.settings, self._opened, whole_traces)
        self.documents = Documents(self.settings, self._opened, self.traces, lambda: self.assembly)
        self.sources = Sources(self.settings, self._opened, self.documents)
        self.calibration = Calibrations(
            self._opened, self.documents, self.traces, lambda: self.assembly
        )

    @classmethod
    def open(
        cls, path: str | Path = ".fathom", settings: "Settings | Mapping[str, Any] | None" = None
    ) -> Self:
        """Return an engine over the index at `path`, which need not exist before `ingest`.

        Args:
            path: The folder of the index, or its URL.
            settings: The settings that differ from the defaults, as `{"retrieval.k": 20}` or as
                nested tables; `fathom config show` lists the keys. Files and the environment are
                not read; for the settings of the command line pass `load_settings()`.

        Raises:
            SettingsError: If a setting is unknown or illegal.
        """
        from fathom.config import parse_settings
        from fathom.settings import Settings

        chosen = settings if isinstance(settings, Settings) else parse_settings(settings or {})
        index = chosen.index.model_copy(update=make_index_settings(str(path)))
        return cls(chosen.model_copy(update={"index": index}))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the index and the models after running work has ended.

        Queued work is cancelled. A later use of the engine opens everything again.
        """
        with self._lock:
            executor, self._executor = self._executor, None
            papers, self._papers = tuple(self._papers.values()), {}
        for engine in papers:
            engine.close()
            engine.models.close()
        self._close_models()
        if executor is not None:  # outside the lock, because running work may need it
            executor.shutdown(cancel_futures=True)
            self._close_models()  # again: the running work may have loaded a model
        with self._lock:
            self._strategies.clear()
            self.traces.close()
            self._opened.close()
            if self._owns_connections:
                self._connections.close()

    def _close_models(self) -> None:
        """Close the models, unless they are those of another engine."""
        with self._lock:
            if self._models is not None and self._owns_models:
                self._models.close()

    # Other engines with the same models.

    def open_at(self, directory: Path) -> "Engine":
        """Return an engine with the same settings and models over another index.

        Both engines share the loaded models; close this engine last.

        Args:
            directory: The folder of the other index.
        """
        place = {"directory": directory, "url": ""}
        return Engine(self._replace_index(place), models=self.models, viewer=self._opened.viewer)

    def open_workspace(self, name: str) -> "Engine":
        """Return an engine over the index of a workspace (a tenant); it shares the models.

        Args:
            name: The name of the workspace.
        """
        index = self.settings.index
        if not index.url.startswith(SERVER_SCHEMES):
            return self.open_at(self.directory / "workspaces" / name)
        place = {"url": switch_workspace(index.url, name)}
        return Engine(
            self._replace_index(place),
            models=self.models,
            connections=self._connections,
            viewer=self._opened.viewer,
        )

    def open_for(self, viewer: Viewer) -> "Engine":
        """Return an engine over the same index that reads it on behalf of a viewer.

        It does not see the documents hidden from the viewer, shares the models, reuses no verified
        answers and cannot change the index. It stores the traces of requests with an owner only,
        and shows traces to their owner only.
        """
        return Engine(
            self.settings,
            models=self.models,
            connections=self._connections,
            viewer=viewer,
            whole_traces=self.traces if self._opened.viewer is None else self._whole_traces,
        )

    @property
    def is_limited(self) -> bool:
        """Return whether the index is read on behalf of a viewer; documents may then be hidden."""
        return self._opened.viewer is not None

    def list_readers(self) -> frozenset[str] | None:
        """Return the names of all readers of documents; `None` without rules or an index."""
        try:
            return self.reader(checked=False).get_reader_names()
        except IndexMissing:
            return None

    def open_unbounded(self) -> "Engine":
        """Return an engine over the same index that withholds no answer for its low confidence."""
        ask = self.settings.ask.model_copy(update={"max_error": None, "min_probability": 0.0})
        settings = self.settings.model_copy(update={"ask": ask})
        return Engine(settings, models=self.models, viewer=self._opened.viewer)

    def open_paper(self, name: str) -> "Engine":
        """Return the engine over the same index that answers as the system of a paper.

        It shares the loaded models unless the paper names others, and is closed with this engine.

        Args:
            name: The name of the paper; empty for an engine without a paper.

        Raises:
            UsageError: If there is no such paper.
        """
        if name == self.settings.ask.paper:
            return self
        if name and name not in PAPERS:
            raise UsageError(f"there is no paper {name!r}; there are {', '.join(PAPERS)}")
        with self._lock:
            if name not in self._papers:
                settings = self.settings.choose_paper(name)
                self._papers[name] = Engine(
                    settings,
                    models=self.models.share(settings),
                    connections=self._connections,
                    viewer=self._opened.viewer,
                    whole_traces=self._whole_traces,
                )
            return self._papers[name]

    def _replace_index(self, place: Mapping[str, Any]) -> "Settings":
        """Return the settings with another place of the index."""
        index = self.settings.index.model_copy(update=place)
        return self.settings.model_copy(update={"index": index})

    # The parts.

    @property
    def models(self) -> "Models":
        """The models, which are loaded on first use; several engines may share them."""
        with self._lock:
            if self._models is None:
                self._models = self._make_models()
            return self._models

    @property
    def assembly(self) -> "Assembly":
        """The parts, built from the settings on first use."""
        with self._lock:
            if self._assembly is None:
                from fathom.assembly import Assembly  # models and retrievers take a while to import

                self._assembly = Assembly(
                    self.settings, index=self._opened.get_filled_reader, models=self.models
                )
            return self._assembly

    @property
    def executor(self) -> ThreadPoolExecutor:
        """The threads that do the synchronous work of questions."""
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(4, thread_name_prefix="fathom")
            return self._executor

    @property
    def embedder(self) -> "Embedder":
        """The embedder of texts."""
        return self.assembly.embedder

    @property
    def directory(self) -> Path:
        """The folder of an embedded index; for one on a server, the folder of local files."""
        return self._opened.directory

    @property
    def index(self) -> Index:
        """The place of the index, which opens readers and writers.

        Raises:
            UsageError: If the URL is malformed, or cannot be used on this machine.
        """
        return self._opened.place

    def reader(self, *, checked: bool = True) -> IndexReader:
        """Return the open index.

        Args:
            checked: Whether to check that the index was made with the embedder and the analyzer of
                the settings. Reading documents does not need this check, which loads a model.

        Raises:
            IndexMissing: If there is no index.
            IndexMismatch: If the index was made with other settings.
        """
        return self._opened.reader(checked=checked)

    def open_snapshot(self, *, checked: bool = True) -> AbstractContextManager[IndexReader]:
        """Keep the index in one state for everything that is read inside a `with` block.

        Args:
            checked: As for `reader`.

        Raises:
            IndexMissing: If there is no index, or it has no documents.
            IndexMismatch: If the index was made with other settings.
        """
        return self._opened.snapshot(checked=checked)

    def retriever(self, name: str | None = None) -> "Retriever":
        """Return a retriever over the index.

        Args:
            name: The name of the retriever; by default `retrieval.retriever`.

        Raises:
            UsageError: If there is no retriever of this name.
            IndexMissing: If there is no index, or it has no documents.
            IndexMismatch: If the index was made with another embedder, or with another analyzer.
        """
        name = name or self.settings.retrieval.retriever
        index = self._opened.get_filled_reader(checked=name != "keyword")
        self._opened.check_words()
        return self.assembly.retriever(name, index)

    # Ingestion.

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
        """Update the index from files and folders.

        Args:
            paths: Files, folders and BEIR folders; by default all that were ingested before.
            prune: Whether to remove the documents below `paths` whose file no longer exists.
            rebuild: Whether to make a new index, also if the old one was made with other settings.
                The old one stays until the new one replaces it in one step.
            lose: With `rebuild`, whether documents outside of `paths` may be lost.
            rights: The rules of who may read which documents; `None` keeps the stored ones.
            on_progress: The function that is called with the counts whenever they change.

        Returns:
            The counts, and the outcome of each file.

        Raises:
            UsageError: If a path is missing, there is no file below the paths, documents would be
                lost, or the index is read on behalf of a viewer.
            IndexMismatch: If the index was made with other settings, unless `rebuild`.
            IndexLocked: If another process is writing.
        """
        return self.documents.ingest(
            paths, prune=prune, rebuild=rebuild, lose=lose, rights=rights, on_progress=on_progress
        )

    # Questions.

    def search(
        self,
        text: str,
        *,
        k: int | None = None,
        retriever: str | None = None,
        filters: Sequence[str | Filter] = (),
    ) -> list[Hit]:
        """Return the `k` best hits for a query, best first.

        Args:
            text: The query, of at most `retrieval.query.MAX_CHARS` characters.
            k: The number of hits, 1 to `MOST_HITS`; by default `retrieval.k`.
            retriever: The name of the retriever; by default `retrieval.retriever`.
            filters: The conditions on the documents, such as `year>=2020`; all must hold.

        Raises:
            UsageError: If the query is no text, empty or too long, or `k` no whole number or out of
                range.
            IndexMissing: If nothing has been ingested.
            IndexMismatch: If the index was made with another embedder.
        """
        from fathom.retrieval.query import check_question, parse_filters
        from fathom.settings import MOST_HITS

        check_question(text)
        count = self.settings.retrieval.k if k is None else k
        if not isinstance(count, int) or not 1 <= count <= MOST_HITS:
            raise UsageError(f"k = {count!r}: ask for at least 1 hit and at most {MOST_HITS}")
        query = Query(text=text, filters=parse_filters(filters))
        name = retriever or self.settings.retrieval.retriever
        with self.open_snapshot(checked=name != "keyword"):
            return self.retriever(name).retrieve(query, k=count)

    def excerpt(
        self, query: str, hits: Sequence[Hit], *, chars: int | None = None, context: int = 0
    ) -> "Excerpts":
        """Return excerpts: the sentences of hits that are relevant to a query, best first.

        Args:
            query: The query that gave the hits.
            hits: The hits, best first.
            chars: The largest number of characters of all excerpts with their places; by default
                `EXCERPT_CHARS`.
            context: The number of lines of the document before and after each excerpt.
        """
        from fathom.retrieval.excerpts import EXCERPT_CHARS, Excerpter

        excerpter = Excerpter(
            pairs=self.assembly.cross_reader,
            chars=EXCERPT_CHARS if chars is None else chars,
            context=context,
            shorten=self.documents.make_place_names().shorten,
        )
        return excerpter.make_excerpts(query, hits, self.documents.load(hits))

    def check_filters(self, filters: Sequence[str | Filter]) -> tuple[str, ...]:
        """Return a line for each condition that no document meets because none has its key."""
        from fathom.retrieval.query import parse_filters

        return describe_unmet_filters(parse_filters(filters), lambda: self.reader(checked=False))

    def ask(self, question: str, **options: Unpack[AskOptions]) -> Answer:
        """Answer a question from the documents, or abstain.

        Args:
            question: The question, of at most `retrieval.query.MAX_CHARS` characters.
            **options: The fields of `AskOptions`: `strategy`, `paper`, `filters`, `budget`,
                `history`, `listener`.

        Returns:
            The answer. Its `status` is `answered`, `abstained` or `failed`.

        Raises:
            UsageError: If the question is empty or too long, a name is unknown, a condition or a
                turn of the history is malformed, or a language model cannot be used as it is
                configured.
            IndexMissing: If nothing has been ingested.
            IndexMismatch: If the index was made with another embedder.
        """
        return run_in_loop(self.aask(question, **options))

    async def aask(self, question: str, **options: Unpack[AskOptions]) -> Answer:
        """Answer a question as `ask` does, without blocking the event loop."""
        outcome = await self.arun(AskRequest.parse(question, **options))
        return outcome.answer

    def ask_stream(self, question: str, **options: Unpack[AskOptions]) -> Iterator[StreamEvent]:
        """Answer a question as `ask` does; yield the events of the run, and the answer last.

        Closing the iterator before its end cancels the question. The option `listener` is ignored.
        """
        return stream_from_thread(self._ask_with(question, options))

    def aask_stream(
        self, question: str, **options: Unpack[AskOptions]
    ) -> AsyncIterator[StreamEvent]:
        """Yield events as `ask_stream` does, without blocking the event loop."""
        return stream_events(self._ask_with(question, options))

    def _ask_with(
        self, question: str, options: AskOptions
    ) -> Callable[[Listener], Coroutine[Any, Any, Answer]]:
        """Return a function that answers a question and sends the events to a listener."""

        def ask(listener: Listener) -> Coroutine[Any, Any, Answer]:
            with_listener: AskOptions = {**options, "listener": listener}
            return self.aask(question, **with_listener)

        return ask

    async def arun(self, request: AskRequest) -> "RunOutcome":
        """Answer a request as `ask` does; return the answer with its trace, which is stored."""
        if (engine := self._choose_engine(request)) is not self:
            return await engine.arun(replace(request, paper=""))
        self._check_paper()
        assembly = self.assembly
        # Faults of the models and of the domain file are reported before anything is opened.
        assembly.prepare()
        _ = assembly.domain
        if not self.models.is_warm:  # in the background, because importing LangGraph takes as long
            self.executor.submit(self.models.warm_up)
        name = request.strategy or self.settings.ask.strategy
        # The event loop answers others while LangGraph is imported.
        await run_in_thread(self.executor, partial(_import_strategy, find_entry("strategy", name)))
        from fathom.assembly.calibrations import make_asking_rule, make_weigher
        from fathom.ingest.filling import describe_missing_vectors
        from fathom.strategies.run import RunResources, run_strategy

        # Loading models is done once, so it must not count as time of the budget.
        if not self.models.is_warm:
            await run_in_thread(self.executor, self.models.warm_up)
        query, turns = request.query, request.turns
        with self.open_snapshot() as index:
            lacking = index.count_missing_vectors()
            calibration = self.calibration.get_current(name)
            strategy, graph = self._get_strategy(name)
            verified = (
                self.calibration.find_verified(query)
                if request.reuse_verified and not turns
                else {}
            )
            asking_rule = make_asking_rule(calibration, self.settings)
            origin = Origin(
                question=query.text,
                strategy=name,
                settings=assembly.list_recorded_settings(name),
                index_revision=index.get_revision(),
                seed=self.settings.ask.seed,
                budget=request.budget or assembly.budget,
                arguments={
                    "filters": [asdict(condition) for condition in query.filters],
                    "calibration": make_weigher(calibration, name, self.settings.ask).to_json(),
                    "disputes": True,
                    **({"asking": asking_rule.to_json()} if asking_rule else {}),
                    **({"history": turns} if turns else {}),
                    **({"clean": True} if self.settings.ask.clean_question else {}),
                    **verified,
                },
            )
            surroundings = RunResources(
                executor=self.executor,
                secrets=assembly.secrets,
                cleaner=assembly.question_cleaner,
                rewriter=assembly.agent(REWRITER) if turns else None,
                quotes=assembly.quotes,
                listener=request.listener or Listener(),
                graph=graph,
                account=request.account,
            )
            outcome = await run_strategy(strategy, origin, surroundings)
            cautions = (
                *((self._model_caution,) if self._model_caution else ()),
                *describe_missing_vectors(lacking),
                *self.describe_paper_chunks(),
                *self.calibration.list_cautions(name, calibration),
            )
            if query.filters and outcome.answer.status == "abstained":
                cautions += await run_in_thread(
                    self.executor, lambda: self.check_filters(query.filters)
                )
            outcome = self._add_warnings(outcome, index, cautions)
        return self.traces.save(outcome, owner=request.owner, earlier=request.earlier)

    def _choose_engine(self, request: AskRequest) -> "Engine":
        """Return the engine for the paper of a request.

        A request that names no paper follows the paper in force, unless it names another strategy
        than that paper's; then it follows no paper.
        """
        ask = self.settings.ask
        follows = not request.strategy or request.strategy == ask.strategy
        return self.open_paper(request.paper or (ask.paper if follows else ""))

    def _check_paper(self) -> None:
        """Raise `IndexMismatch` if the index has another embedder than the paper in force."""
        # An embedder that was given as an argument replaces any that the settings name.
        if self.settings.ask.paper and self.models.given_embedder is None:
            check_paper_embedder(self.settings, self.status().identity)

    def describe_paper_chunks(self) -> tuple[str, ...]:
        """Return a warning if the chunks of the index are not those of the paper in force."""
        if not self.settings.ask.paper:
            return ()
        chunker = self.assembly.chunker.identity
        return describe_other_chunks(self.settings, self.status().identity, chunker)

    def _get_strategy(self, name: str) -> "tuple[Strategy, CompiledGraph]":
        """Return a strategy with its compiled graph, both made once and used for all questions."""
        from fathom.strategies.base import make_strategy

        with self._lock:
            if name not in self._strategies:
                strategy = make_strategy(name, self.assembly)
                self._strategies[name] = strategy, strategy.graph().compile()
            return self._strategies[name]

    def _add_warnings(
        self, outcome: "RunOutcome", index: IndexReader, cautions: Sequence[str]
    ) -> "RunOutcome":
        """Add warnings to the answer of an outcome.

        They are about cited documents that have changed, quotes that are uncertain, and the given
        cautions.
        """
        cited = outcome.answer.citations
        changed = describe_outdated_citations(
            cited, index, self._digests, shared=self.index.is_shared
        )
        lines = (*changed, *describe_uncertain_quotes(cited), *cautions)
        warnings = tuple(map(SECRETS.redact, lines))
        # The answer in the trace has no secrets, and users can look up exactly this answer later.
        answer = restore_answer(outcome.trace.answer)
        return replace(outcome, answer=replace(answer, warnings=warnings))

    # Records.

    def trace(self, trace_id: str, *, owner: str = "") -> Trace:
        """Return the trace of an answer, as `traces.get` does."""
        return self.traces.get(trace_id, owner=owner)

    def replay(
        self, trace_id: str, *, assignments: Sequence[str] = (), owner: str = ""
    ) -> "Replay":
        """Answer the question of a trace again, from the trace only.

        Neither the index nor the network is used.

        Args:
            trace_id: The id, or its beginning.
            assignments: The settings that differ from the recorded ones, as `a.b=c`.
            owner: The name of the key that asks, as for `traces.get`.

        Returns:
            The new answer with its differences from the recorded one.

        Raises:
            MissingTraceError: If there is no such trace.
            TamperedTraceError: If the trace was changed after it was stored.
            SettingsError: If a setting is unknown or illegal.
        """
        from fathom.assembly import Assembly
        from fathom.assembly.prompts import list_changed_prompts
        from fathom.config import Layers
        from fathom.llm.call import AbsentModel
        from fathom.strategies.base import make_strategy
        from fathom.strategies.run import RunResources, replay_run

        trace = self.traces.get(trace_id, owner=owner)
        layers = Layers.from_trace(self.settings, trace.origin.settings)
        # A replay reads its trace only, so nothing may open a socket.
        layers.assign([*assignments, "offline=true"])
        settings = layers.build_settings()
        name = trace.origin.strategy
        # The trace must have every reply; a call without one is reported and never sent.
        models = self.models.with_connect(settings, AbsentModel)
        assembly = Assembly(settings, index=_refuse_index, models=models)
        surroundings = RunResources(
            executor=self.executor,
            cleaner=assembly.question_cleaner,
            rewriter=assembly.agent(REWRITER),
            quotes=assembly.quotes,
        )
        strategy = make_strategy(name, assembly)
        work = replay_run(trace, strategy, assembly.list_recorded_settings(name), surroundings)
        return replace(run_in_loop(work), prompts=list_changed_prompts(trace, settings))

    # The index.

    def status(self) -> IndexStatus:
        """Return the counts, sizes and identity of the index."""
        return self.reader(checked=False).status()

    def verify(self, *, fix: bool = False) -> list[str]:
        """Check the index and return its faults in words; empty if it has none.

        Args:
            fix: Whether to repair what can be repaired.

        Raises:
            UsageError: If the index is read on behalf of a viewer.
        """
        self._opened.refuse_viewer("checks of the index")
        return self.index.verify(fix=fix)

    def copy_to(self, other: "Engine", copy_more: Callable[[], None] = lambda: None) -> IndexStatus:
        """Copy the index with its traces to another place, and return the status there.

        The place may be empty or have a part of the index, for example after an interrupted copy.
        What is missing there is added, and feedback that was given there stays.

        Args:
            other: The engine over the other place.
            copy_more: The function that copies further things, called once it is known that the
                place has no other documents.

        Raises:
            UsageError: If the place has an index with other documents.
        """
        from fathom.index.copying import copy_index

        index = self.reader(checked=False)
        with other.index.open_writer(index.status().identity) as writer:
            status = copy_index(index, writer, copy_more)
        if self.traces.exist():
            # Traces come last, because a trace whose texts are not in the index would be deleted.
            other.traces.store.import_records(self.traces.store.export_records())
        return status

    def back_up(self, folder: str | Path) -> "Backup":
        """Copy the whole folder of the index to a new folder; others may use the index meanwhile.

        Args:
            folder: The new folder, which is created when the copy is complete.

        Raises:
            UsageError: If the folder is not empty or lies inside the index, or the index is on a
                server.
            IndexMissing: If there is no index.
            IndexCorrupt: If a database is damaged.
            RunError: If a file cannot be read, or the backup cannot be written.
        """
        from fathom.index.embedded.backup import back_up_index

        self._opened.refuse_viewer("backups of the index")
        if self.index.is_shared:
            raise UsageError(
                f"{self.index}: an index on a server; back it up there, for example with pg_dump"
            )
        return back_up_index(self.directory, Path(folder), uploads=UPLOADS)

    def drop_vectors(self, name: str) -> None:
        """Remove the vectors of a further embedder with their search graph.

        Args:
            name: The name of the vectors, as `status().spaces` has it.

        Raises:
            UsageError: If there are no vectors of this name, or the index is read on behalf of a
                viewer.
            IndexLocked: If another process is writing.
        """
        names = [space.name for space in self.status().spaces]
        if name not in names:
            available = f"there are those of {', '.join(names)}" if names else "there are none"
            raise UsageError(
                f"no vectors of {name!r}: {available} besides those of models.embedder"
            )
        self._opened.refuse_viewer("changes of the index")
        with self.index.open_writer(None) as writer:
            writer.drop_space(name)

    def make_questions(
        self,
        number: int = 120,
        *,
        kinds: Sequence[str] = (),
        languages: Sequence[str] = (),
        seed: int = 0,
        on_made: "OnProgress" = lambda _made, _wanted: None,
    ) -> "QuestionSet":
        """Make questions from the documents, some with answers and some without.

        The same index, settings and arguments give the same questions.

        Args:
            number: The largest number of questions of all kinds together.
            kinds: The kinds, from `fathom.question_maker.KINDS`; by default all.
            languages: The languages, `en` and `id`; by default both.
            seed: The seed for choosing places in the documents.
            on_made: The function that is called after each question with the numbers of made and
                wanted questions.

        Raises:
            UsageError: If a kind or a language is unknown, or the number is below 1.
            IndexMissing: If nothing has been ingested.
        """
        from fathom.agents.reader.local import LocalReader
        from fathom.question_maker.llm_facts import write_facts
        from fathom.question_maker.maker import QuestionMaker, check_selection
        from fathom.question_maker.round_trip import RoundTrip

        choice = check_selection(number, kinds, languages)
        assembly, index = self.assembly, self._opened.get_filled_reader()
        trip = RoundTrip(
            retriever=assembly.retriever("hybrid", index),
            reader=LocalReader.of(assembly),
            extract_terms=assembly.terms,
        )
        questioner = assembly.agent(QUESTIONER)
        written = partial(write_facts, questioner, budget=assembly.budget) if questioner else None
        maker = QuestionMaker(index=index, trip=trip, write_facts=written)
        return maker.make(
            number, kinds=choice.kinds, languages=choice.languages, seed=seed, on_progress=on_made
        )


def _import_strategy(entry: RegistryEntry) -> None:
    """Import a strategy, and the module that runs it, which takes a second or two."""
    import fathom.strategies.run  # noqa: F401

    entry.load()


def _choose_model(settings: "Settings") -> "tuple[Settings, str]":
    """Replace the language model `auto` in the settings by one that is available.

    Returns:
        The settings, and a caution if no model is available; else an empty text.
    """
    if settings.llm.model != "auto":
        return settings, ""
    from fathom.llm.automatic import choose_model

    return choose_model(settings)


def _make_models(
    settings: "Settings",
    *,
    embedder: "Embedder | None",
    cross_reader: "CrossReader | None",
    connect: "Connect | None",
) -> "Models":
    """Build the models of the settings, with the given ones in their place."""
    from fathom.assembly.models import Models

    return Models(settings, embedder=embedder, cross_reader=cross_reader, connect=connect)


def _refuse_index(*_: object) -> NoReturn:
    """Raise `RuntimeError`, because a replay must not read the index."""
    raise RuntimeError("a replay tried to read the index, which it must not")
