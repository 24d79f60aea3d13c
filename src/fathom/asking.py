"""One question: what a strategy needs is put together, run, and run again from its record."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import NoReturn, TypedDict

from fathom.config import Layers
from fathom.context import Listener
from fathom.errors import RunError, UsageError
from fathom.index.base import Reader
from fathom.index.outdated import Digests, Outdated, outdated
from fathom.index.traces import TraceStore
from fathom.llm.call import Absent
from fathom.parts import Parts
from fathom.retrieval.quotes import Quotes
from fathom.retrieval.search import texts_of
from fathom.roles import Roles
from fathom.settings import Settings
from fathom.strategies.base import STRATEGIES, Graph, Strategy
from fathom.strategies.run import Outcome, Surroundings, run
from fathom.strategies.tools import Tools
from fathom.tracing.replay import Difference, EventMissing, Recorded, first_difference, same_answer
from fathom.tracing.trace import Origin, Trace
from fathom.types import Answer, Filter, Query
from fathom.usage import Budget


class Options(TypedDict, total=False):
    """How one question is asked.

    Attributes:
        filters: Conditions on the documents that may be used.
        strategy: Its name.
        budget: What may be spent; its time begins when all models are loaded.
        listener: Is told what happens meanwhile.
    """

    filters: Sequence[Filter]
    strategy: str | None
    budget: Budget | None
    listener: Listener | None


@dataclass(frozen=True, slots=True)
class Live:
    """What first runs are made of, as long as the index is open.

    Attributes:
        index: Opens it.
        ready: Strategies that were asked before, with their compiled graphs.
        digests: Of files that were cited before.
    """

    parts: Parts
    roles: Roles
    index: Callable[[], Reader]
    executor: Executor
    ready: dict[str, tuple[Strategy, Graph]] = field(default_factory=dict)
    digests: Digests = field(default_factory=Digests)

    def strategy(self, name: str) -> tuple[Strategy, Graph]:
        """A strategy, made once: it keeps nothing from one question to the next."""
        if name not in self.ready:
            quotes = Quotes(lambda document: self.index().document(document))
            strategy = STRATEGIES[name](_tools(self.parts, self.roles, self.index, quotes))
            self.ready[name] = strategy, strategy.graph().compile()
        return self.ready[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What a replay came to.

    Attributes:
        answer: `None` where something was asked that is not in the record.
        same: Whether the answer is the recorded one, byte for byte.
        difference: The first difference, where it is another one.
        missing: What the record has no answer to.
    """

    trace: Trace
    answer: Answer | None
    same: bool
    difference: Difference | None
    missing: tuple[str, ...]


async def ask(question: str, live: Live, options: Options) -> Outcome:
    """Run a strategy for the first time.

    Raises:
        UsageError: If a name is unknown.
        IndexMissing: If nothing has been ingested.
    """
    parts = live.parts
    filters = tuple(options.get("filters", ()))
    name = options.get("strategy") or parts.settings.ask.strategy
    check_strategy(name)
    # What is wrong with the domain is known before anything is opened.
    _ = parts.domain
    # What is slow and done once is done before the time of the budget begins.
    if not parts.warm:
        await asyncio.get_running_loop().run_in_executor(live.executor, parts.warm_up)
    revision = live.index().revision()
    strategy, graph = live.strategy(name)
    origin = Origin(
        question=question,
        strategy=name,
        settings=parts.recorded,
        index_revision=revision,
        seed=parts.settings.ask.seed,
        budget=options.get("budget") or parts.budget,
        arguments={"filters": filters},
    )
    surroundings = Surroundings(
        executor=live.executor,
        secrets=live.roles.secrets,
        listener=options.get("listener") or Listener(),
        graph=graph,
    )
    return await run(strategy, Query(text=question, filters=filters), origin, surroundings)


def kept(outcome: Outcome, store: Callable[[], TraceStore]) -> Outcome:
    """Store the trace; the answer gets the id under which it can be found."""
    try:
        store().put(outcome.trace, held=texts_of(outcome.trace))
    except RunError as error:
        # An answer is worth more than its record.
        logging.getLogger("fathom").warning("the trace was not kept: %s", error)
        return outcome
    return replace(outcome, answer=replace(outcome.answer, trace_id=outcome.trace.id))


def warned(outcome: Outcome, index: Reader, digests: Digests) -> Outcome:
    """The answer says which of its documents are no longer what was read where they came from."""
    cited: dict[str, list[str]] = {}
    for citation in outcome.answer.citations:
        if citation.source == "corpus":
            cited.setdefault(citation.document, []).append(f"[{citation.n}]")
    warnings = tuple(
        f"{''.join(numbers)} {found.path}: {found.reason}; quoted as it was read before"
        for document, numbers in cited.items()
        if (found := _outdated(index, document, digests)) is not None
    )
    return replace(outcome, answer=replace(outcome.answer, warnings=warnings))


def _outdated(index: Reader, document: str, digests: Digests) -> Outdated | None:
    """Why a document is outdated; `None` while one of its places still holds it."""
    places = index.places(document)
    found = list(outdated(index, places, digests))
    return found[0] if found and len(found) == len(places) else None


def settings_then(trace: Trace, now: Settings, assignments: Sequence[str]) -> Settings:
    """The settings with which a question was asked, offline.

    Args:
        trace: Holds those that can change an answer.
        now: Gives the others.
        assignments: `a.b=c`: what is to be different.

    Raises:
        SettingsError: If a setting is unknown or illegal.
    """
    layers = Layers.over(now, trace.origin.settings)
    layers.assign([*assignments, "offline=true"])
    return layers.settings()


async def replay(trace: Trace, parts: Parts, executor: Executor) -> Replay:
    """Run a recorded question again; nothing is asked and no index is opened.

    Args:
        trace: What was recorded.
        parts: Made from the recorded settings, or from others.
        executor: Where synchronous work is done.
    """
    name = trace.origin.strategy
    check_strategy(name)
    tools = _tools(parts, Roles(parts.settings, Absent), _nobody, Quotes(_nobody))
    events = Recorded(trace)
    try:
        outcome = await run(
            STRATEGIES[name](tools),
            Query(text=trace.origin.question, filters=_filters(trace)),
            replace(trace.origin, settings=parts.recorded),
            Surroundings(executor=executor, events=events),
        )
    except EventMissing:
        return Replay(
            trace=trace, answer=None, same=False, difference=None, missing=tuple(events.missing)
        )
    same = same_answer(trace, outcome.answer)
    return Replay(
        trace=trace,
        answer=outcome.answer,
        same=same,
        difference=None if same else first_difference(trace, outcome.trace),
        missing=tuple(events.missing),
    )


def _tools(parts: Parts, roles: Roles, index: Callable[[], Reader], quotes: Quotes) -> Tools:
    return Tools(
        settings=parts.settings,
        search=lambda name: parts.search(name, index),
        quotes=quotes,
        cast=parts.cast(roles),
    )


def check_strategy(name: str) -> None:
    """Accept the name of a strategy.

    Raises:
        UsageError: If there is none of this name.
    """
    if name not in STRATEGIES:
        raise UsageError(f"strategy {name!r}: choose {', '.join(STRATEGIES)}")


def _nobody(*_: object) -> NoReturn:
    raise RuntimeError("a replay asked the index; it must not")


def _filters(trace: Trace) -> tuple[Filter, ...]:
    given = trace.origin.arguments.get("filters", ())
    values = ((each["key"], each["op"], each["value"]) for each in given)
    return tuple(
        Filter(key, op, tuple(value) if isinstance(value, list) else value)
        for key, op, value in values
    )
