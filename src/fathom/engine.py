"""The facade: ingest, search, ask, and look after the index."""

import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

from fathom.config import Layers, settings_of
from fathom.errors import RunError, UsageError
from fathom.index.base import IndexReader
from fathom.index.engines import SERVERS, in_workspace, place_of
from fathom.index.filling import still_filled
from fathom.index.filters import COLUMNS
from fathom.index.outdated import Digests, doubts_of, warnings_of
from fathom.learning import Learning, check_strategy
from fathom.question.conversation import History, dialogue_of
from fathom.runs.concurrency import StreamEvent, beside, in_loop, stream, stream_in_loop
from fathom.runs.context import Listener
from fathom.runs.outline import tree
from fathom.runs.recorder import answer_of
from fathom.runs.trace import Origin, Step
from fathom.settings import MOST_HITS, Settings
from fathom.types import Answer, Chunk, Document, Filter, Hit, Place, Query, section_of
from fathom.usage import Budget

if TYPE_CHECKING:  # what a question needs is imported when one is asked
    from fathom.llm.role_models import Connect
    from fathom.models.base import Embedder
    from fathom.models.reading import CrossReader
    from fathom.retrieval.base import Retriever
    from fathom.runs.ledger import Account
    from fathom.strategies.base import CompiledGraph, Strategy
    from fathom.strategies.run import Replay, RunOutcome


class Engine(Learning):
    """Fathom over one index directory; a context manager that closes what it opened.

    May be used by several threads and by many tasks of one loop at once. What another process
    adds to the index is seen from the next call on.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        embedder: "Embedder | None" = None,
        cross_reader: "CrossReader | None" = None,
        connect: "Connect | None" = None,
    ) -> None:
        """Nothing is loaded or opened before it is needed.

        Args:
            settings: By default the defaults; files and environment are not read here.
            embedder: Used instead of the one that the settings name.
            cross_reader: Likewise.
            connect: Gives language models instead of those that the settings name.
        """
        super().__init__(
            settings or Settings(), embedder=embedder, cross_reader=cross_reader, connect=connect
        )
        self._executor: ThreadPoolExecutor | None = None
        self._strategies: dict[str, tuple[Strategy, CompiledGraph]] = {}
        self._digests = Digests()

    @classmethod
    def open(
        cls, path: str | Path = ".fathom", settings: Settings | Mapping[str, Any] | None = None
    ) -> Self:
        """An engine over the index at `path`, which need not exist before `ingest`.

        Args:
            path: The folder of the index, or its URL.
            settings: What differs from the defaults, as `{"retrieval.k": 20}` or as tables in
                tables; see `fathom config show`. Files and environment are not read; for what
                the command line would use give `load_settings()`.

        Raises:
            SettingsError: If a setting is unknown or illegal.
        """
        chosen = settings if isinstance(settings, Settings) else settings_of(settings or {})
        index = chosen.index.model_copy(update=place_of(str(path)))
        return cls(chosen.model_copy(update={"index": index}))

    def close(self) -> None:
        """Let go of the index, once what is still at work there has ended; may be used again."""
        with self._lock:
            if self._parts is not None:
                self._parts.close()
            executor, self._executor = self._executor, None
        if executor is not None:  # not under the lock: what is at work may ask for it
            executor.shutdown(cancel_futures=True)
        with self._lock:
            if self._parts is not None:
                self._parts.close()  # again: what was at work may have begun something anew
            self._replaced()
            super().close()

    def at(self, directory: Path) -> "Engine":
        """An engine of its own, with the same settings and models, over another index.

        The models are loaded once for both; close this engine last.
        """
        return self._over({"directory": directory, "url": ""})

    def workspace(self, name: str) -> "Engine":
        """An engine of its own over what belongs to a tenant; see `at`."""
        index = self.settings.index
        if index.url.startswith(SERVERS):
            return self._over({"url": in_workspace(index.url, name)})
        return self.at(self.directory / "workspaces" / name)

    def _over(self, place: Mapping[str, Any]) -> "Engine":
        index = self.settings.index.model_copy(update=place)
        made = Engine(
            self.settings.model_copy(update={"index": index}),
            embedder=self._embedder,
            cross_reader=self._cross_reader,
            connect=self._connect,
        )
        made._like = self.assembly
        if index.url.startswith(SERVERS):
            made._shared = self._shared
        return made

    def unbounded(self) -> "Engine":
        """An engine of its own that gives answers however often they are wrong."""
        ask = self.settings.ask.model_copy(update={"max_error": None, "min_probability": 0.0})
        return Engine(
            self.settings.model_copy(update={"ask": ask}),
            embedder=self._embedder,
            cross_reader=self._cross_reader,
            connect=self._connect,
        )

    @property
    def executor(self) -> ThreadPoolExecutor:
        """Where a question's synchronous work is done."""
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(4, thread_name_prefix="fathom")
            return self._executor

    def search(
        self,
        text: str,
        *,
        k: int | None = None,
        retriever: str | None = None,
        filters: Sequence[str | Filter] = (),
    ) -> list[Hit]:
        """The `k` best hits for a query.

        Args:
            text: At most `MAX_CHARS` characters.
            k: By default `retrieval.k`.
            retriever: Its name; by default `retrieval.retriever`.
            filters: Conditions such as `year>=2020`, all of which must hold; see `parse_filters`.

        Raises:
            UsageError: If the query is empty or too long, or `k` out of range.
            IndexMissing: If nothing has been ingested.
            IndexMismatch: If the index was made with another embedder.
        """
        from fathom.retrieval.query import check_question, parse_filters

        check_question(text)
        chosen = self.settings.retrieval.k if k is None else k
        if not 1 <= chosen <= MOST_HITS:
            raise UsageError(f"k = {chosen}: ask for at least 1 hit and at most {MOST_HITS}")
        query = Query(text=text, filters=parse_filters(filters))
        name = retriever or self.settings.retrieval.retriever
        with self.as_it_is(checked=name != "keyword"):
            return self.retriever(name).retrieve(query, k=chosen)

    def places(self, hits: Sequence[Hit]) -> list[Place]:
        """Where the hits' chunks stand in their documents, in the order of the hits."""
        index = self.reader(checked=False)
        names = {hit.chunk.document_id for hit in hits}
        documents = {name: found for name in names if (found := index.document(name))}
        return [_place(hit.chunk, documents.get(hit.chunk.document_id)) for hit in hits]

    def unmet(self, filters: Sequence[str | Filter]) -> tuple[str, ...]:
        """Which conditions nothing can meet, as no document has such a key; a line each."""
        from fathom.retrieval.query import parse_filters

        keys = {each.key for each in parse_filters(filters)}.difference(COLUMNS)
        try:
            lost = sorted(keys and keys.difference(self.reader(checked=False).keys()))
        except RunError as error:
            logging.getLogger("fathom").warning("keys were not looked up: %s", error)
            return ()
        return tuple(f"no document has {key!r}; `fathom status` lists the keys" for key in lost)

    def ask(
        self,
        question: str,
        *,
        strategy: str | None = None,
        filters: Sequence[str | Filter] = (),
        budget: Budget | None = None,
        history: History = (),
        listener: Listener | None = None,
    ) -> Answer:
        """Answer from the documents, or say that they do not hold an answer.

        Args:
            question: At most `MAX_CHARS` characters.
            strategy: Its name; by default `ask.strategy`.
            filters: Conditions on the documents that may be used, such as `year>=2020`.
            budget: What may be spent, by default the settings' `budget`; its time begins when all
                models are loaded.
            history: What was asked and answered before, oldest first: turns with `role` and
                `content`. "And Norway?" is then answered as the question that it stands for.
            listener: Is told what happens meanwhile.

        Raises:
            UsageError: If the question is empty or too long, a name is unknown, a turn of the
                history has another form, or a language model cannot be used as it is configured.
            IndexMissing: If nothing has been ingested.
            IndexMismatch: If the index was made with another embedder.
        """
        asked = self.aask(
            question,
            strategy=strategy,
            filters=filters,
            budget=budget,
            history=history,
            listener=listener,
        )
        return in_loop(asked)

    async def aask(
        self,
        question: str,
        *,
        strategy: str | None = None,
        filters: Sequence[str | Filter] = (),
        budget: Budget | None = None,
        history: History = (),
        listener: Listener | None = None,
    ) -> Answer:
        """See `ask`."""
        outcome = await self.aoutcome(
            question,
            strategy=strategy,
            filters=filters,
            budget=budget,
            history=history,
            listener=listener,
        )
        return outcome.answer

    def ask_stream(
        self,
        question: str,
        *,
        strategy: str | None = None,
        filters: Sequence[str | Filter] = (),
        budget: Budget | None = None,
        history: History = (),
    ) -> Iterator[StreamEvent]:
        """As `ask`, telling what happens: steps, sentences as they come, at last the answer.

        Who stops listening before the end ends the work.
        """
        return stream_in_loop(
            lambda listener: self.aask(
                question,
                strategy=strategy,
                filters=filters,
                budget=budget,
                history=history,
                listener=listener,
            )
        )

    def aask_stream(
        self,
        question: str,
        *,
        strategy: str | None = None,
        filters: Sequence[str | Filter] = (),
        budget: Budget | None = None,
        history: History = (),
    ) -> AsyncIterator[StreamEvent]:
        """See `ask_stream`."""
        return stream(
            lambda listener: self.aask(
                question,
                strategy=strategy,
                filters=filters,
                budget=budget,
                history=history,
                listener=listener,
            )
        )

    async def aoutcome(
        self,
        question: str,
        *,
        strategy: str | None = None,
        filters: Sequence[str | Filter] = (),
        budget: Budget | None = None,
        history: History = (),
        listener: Listener | None = None,
        verified: bool = True,
        account: "Account | None" = None,
    ) -> "RunOutcome":
        """See `ask`; with the trace, also where it is not kept.

        Args:
            question: See `ask`, as for the others.
            strategy: See above.
            filters: See above.
            budget: See above.
            history: See above.
            listener: See above.
            verified: Whether an answer that a person verified is given again.
            account: Whose caps hold too, as of a tenant for all questions of a day.
        """
        from fathom.retrieval.query import check_question, parse_filters

        check_question(question)
        query = Query(text=question, filters=parse_filters(filters))
        turns = dialogue_of(history)
        # What is wrong with a model or the domain is known before anything is opened.
        self.assembly.prepare()
        _ = self.assembly.domain
        if not self.assembly.warm:  # meanwhile, as importing LangGraph takes as long
            self.executor.submit(self.assembly.warm_up)
        from fathom.assembly.calibrations import weigher
        from fathom.strategies.run import Surroundings, run

        name = strategy or self.settings.ask.strategy
        check_strategy(name)
        # What is slow and done once is done before the time of the budget begins.
        if not self.assembly.warm:
            await beside(self.executor, self.assembly.warm_up)
        with self.as_it_is() as index:  # whoever writes meanwhile changes nothing in this question
            lacking = index.lacking_vectors()
            found = self.calibration(name)
            chosen, graph = self._strategy(name)
            origin = Origin(
                question=question,
                strategy=name,
                settings=self.assembly.recorded(name),
                index_revision=index.revision(),
                seed=self.settings.ask.seed,
                budget=budget or self.assembly.budget,
                arguments={
                    "filters": query.filters,
                    "calibration": weigher(found, name, self.settings.ask).to_json(),
                    **({"history": turns} if turns else {}),
                    **({"clean": True} if self.settings.ask.clean_question else {}),
                    **(self.verified(query) if verified and not turns else {}),
                },
            )
            surroundings = Surroundings(
                executor=self.executor,
                secrets=self.assembly.secrets,
                cleaner=self.assembly.question_cleaner,
                rewriter=self.assembly.rewriter if turns else None,
                quotes=self.assembly.quotes,
                listener=listener or Listener(),
                graph=graph,
                account=account,
            )
            outcome = await run(chosen, query, origin, surroundings)
            cautions = (*still_filled(lacking), *self.cautions(name, found))
            if query.filters and outcome.answer.status == "abstained":
                cautions += await beside(self.executor, lambda: self.unmet(query.filters))
            warned = self._warned(outcome, index, cautions)
        return self._kept(warned)

    def _replaced(self) -> None:
        self._strategies.clear()  # their searches look into the index that was open then

    def _strategy(self, name: str) -> "tuple[Strategy, CompiledGraph]":
        """A strategy with its compiled graph, made once: it keeps nothing of a question."""
        from fathom.strategies.base import make_strategy

        with self._lock:
            if name not in self._strategies:
                strategy = make_strategy(name, self.assembly)
                self._strategies[name] = strategy, strategy.graph().compile()
            return self._strategies[name]

    def _warned(
        self, outcome: "RunOutcome", index: IndexReader, cautions: Sequence[str]
    ) -> "RunOutcome":
        """The answer says which documents, or calibration, are not any more what they were."""
        cited = outcome.answer.citations
        changed = warnings_of(cited, index, self._digests, shared=self.index.is_shared)
        warnings = (*changed, *doubts_of(cited), *cautions)
        # As the record has it, without secrets: what is given is what can be looked up later.
        answer = answer_of(outcome.trace.answer)
        return replace(outcome, answer=replace(answer, warnings=warnings))

    def _kept(self, outcome: "RunOutcome") -> "RunOutcome":
        """The trace is stored; the answer gets the id under which it can be found."""
        if not self.settings.trace.enabled:
            return outcome
        from fathom.retrieval.search import texts_of

        try:
            held = texts_of(outcome.trace)
            self.traces.put(outcome.trace, held=held, warnings=outcome.answer.warnings)
        except RunError as error:
            # An answer is worth more than its record.
            logging.getLogger("fathom").warning("the trace was not kept: %s", error)
            return outcome
        return replace(outcome, answer=replace(outcome.answer, trace_id=outcome.trace.id))

    def answer(self, trace_id: str) -> Answer:
        """An answer as it was given, whatever has changed since.

        Args:
            trace_id: The id, or its beginning.

        Raises:
            TraceMissing: If there is no such trace.
            TraceTampered: If it is not what was stored.
        """
        trace = self.trace(trace_id)
        warnings = self.traces.warnings(trace.id)
        return replace(answer_of(trace.answer), trace_id=trace.id, warnings=warnings)

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
        from fathom.assembly.prompts import changed_prompts
        from fathom.llm.call import Absent
        from fathom.strategies.base import make_strategy
        from fathom.strategies.run import Surroundings, replay

        trace = self.trace(trace_id)
        layers = Layers.over(self.settings, trace.origin.settings)
        layers.assign([*assignments, "offline=true"])
        settings = layers.settings()
        name = trace.origin.strategy
        assembly = self.assembled(settings, index=_nobody, connect=Absent)
        strategy = make_strategy(name, assembly)
        surroundings = Surroundings(
            executor=self.executor,
            cleaner=assembly.question_cleaner,
            rewriter=assembly.rewriter,
            quotes=assembly.quotes,
        )
        work = replay(trace, strategy, assembly.recorded(name), surroundings)
        return replace(in_loop(work), prompts=changed_prompts(trace, settings))

    def retriever(self, name: str | None = None) -> "Retriever":
        """The retriever of this name, by default that of the settings.

        Raises:
            UsageError: If there is none of this name.
        """
        name = name or self.settings.retrieval.retriever
        return self.assembly.retriever(name, self._filled(checked=name != "keyword"))


def _nobody(*_: object) -> NoReturn:
    raise RuntimeError("a replay asked the index; it must not")


def _place(chunk: Chunk, document: Document | None) -> Place:
    """Of a document that has gone since the search only what the chunk itself knows is known."""
    if document is not None:
        return document.place_at(chunk.span.start)
    section = section_of(chunk.title, chunk.headings)
    return Place(path=chunk.path, title=chunk.title, section=section, page=chunk.page)
