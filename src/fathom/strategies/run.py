"""Runs a strategy, first and again from its record: the only place that invokes a graph."""

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import Executor
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import inf
from typing import Any

from langgraph.errors import GraphRecursionError
from langsmith import tracing_context

from fathom.agents.question_cleaner import QuestionCleaner, says_the_same
from fathom.agents.rewriter import Rewriter
from fathom.calibration.law import Weigher
from fathom.errors import FathomError
from fathom.jsonable import Json
from fathom.llm.faults import CallFailed
from fathom.question.conversation import dialogue_of
from fathom.retrieval.quotes import Quotes
from fathom.runs.context import DeadlineOver, Listener, RunContext, log_failure
from fathom.runs.ledger import Account, BudgetRefused, Ledger
from fathom.runs.recorder import Recorder
from fathom.runs.replay import Difference, EventMissing, Recorded, first_difference, same_answer
from fathom.runs.reservation import CostBound, Reservation
from fathom.runs.trace import Events, Origin, Trace
from fathom.strategies.base import CompiledGraph, Strategy
from fathom.strategies.bus import attempt
from fathom.strategies.verified import again, filters_of
from fathom.types import Answer, Query
from fathom.usage import Budget, Usage

LAST_S = 0.25
LAST_SHARE = 0.2
"""Kept for the last step, in which quotes are looked up: so long, or that share of all time."""
MOST_STEPS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """What a run came to."""

    answer: Answer
    trace: Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What a replay came to.

    Attributes:
        answer: `None` where something was asked that is not in the record.
        same: Whether the answer is the recorded one, byte for byte.
        difference: The first difference, where it is another one.
        missing: What the record has no answer to.
        prompts: Which prompts are others than those of the run.
    """

    trace: Trace
    answer: Answer | None
    same: bool
    difference: Difference | None
    missing: tuple[str, ...]
    prompts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a run is given beside its question.

    Attributes:
        executor: Where synchronous work is done.
        events: The record to replay; nothing is asked then.
        secrets: What must not enter the trace.
        quotes: Looks up what verified answers cite; without it none is given again.
        cleaner: Reads a question as it was meant; without one it stays as it is typed.
        rewriter: Makes a question that follows others stand alone; without one it stays as it is.
        graph: The strategy's own, if it is compiled already.
        account: Whose caps hold beside those of the run's own budget.
    """

    executor: Executor
    events: Events | None = None
    secrets: tuple[str, ...] = ()
    cleaner: QuestionCleaner | None = None
    rewriter: Rewriter | None = None
    quotes: Quotes | None = None
    listener: Listener = field(default_factory=Listener)
    graph: CompiledGraph | None = None
    account: Account | None = None


async def run(
    strategy: Strategy, query: Query, origin: Origin, surroundings: Surroundings
) -> RunOutcome:
    """Answer a question within its budget.

    A budget that is spent, or a deadline that is over, is a normal end: the best draft so far is
    answered if it is good enough, else the answer is an abstention with the reason `budget`.
    An agent or a node that breaks off by an error nobody foresaw does not take the answer with
    it either: the best draft so far counts, else the answer is `failed`. Class and place of the
    error are why it stopped then; its traceback goes to the log `fathom.runs.context`.
    A question that came after others is made to stand alone first, and one with slips of the
    fingers read as it was meant, within the same budget.
    The time of the budget starts now; what is slow and done once should be done before.

    Raises:
        RunError: If something broke that is no language model, such as the index.
        EventMissing: In a replay, if something is asked that the record has no answer to.
    """
    recorder = Recorder(origin, events=surroundings.events, secrets=surroundings.secrets)
    ledger = Ledger(origin.budget, account=surroundings.account)
    seconds = origin.budget.seconds
    last_s = LAST_S if seconds is None else min(LAST_S, LAST_SHARE * seconds)
    last, refusal = _hold_back(recorder, ledger, last_s)
    opened = _opened(recorder, ledger, last_s, surroundings)
    here = replace(opened, seed=origin.seed, weigh=_weigher(origin))
    if refusal:
        here.refusals.append(refusal)
        answer = await _finished(strategy, strategy.start(query), here)
    else:
        query = await _stand_alone(query, origin, here, surroundings)
        query = await _cleaned(query, origin, here, surroundings)
        verified = await _verified(query, origin, here, surroundings)
        answer = verified or await _answer(strategy, query, here, surroundings)
    if last is not None:
        last.release()
    answer = replace(_closed(answer, here, origin.budget), question=origin.question)
    if origin.arguments.get("history") or not says_the_same(origin.question, query.text):
        answer = replace(answer, standalone_question=query.text)
    return RunOutcome(answer=answer, trace=recorder.seal(answer))


async def replay(
    trace: Trace,
    strategy: Strategy,
    settings: Mapping[str, Json],
    surroundings: Surroundings,
) -> Replay:
    """Run a recorded question again; nothing is asked and no index is opened.

    Args:
        trace: What was recorded.
        strategy: Made from the recorded settings, or from others.
        settings: What a trace keeps of these.
        surroundings: Made from the same settings as the strategy; the events are those recorded.
    """
    events = Recorded(trace)
    query = Query(text=trace.origin.question, filters=filters_of(trace.origin))
    origin = replace(trace.origin, settings=settings)
    try:
        outcome = await run(strategy, query, origin, replace(surroundings, events=events))
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


async def _stand_alone(
    query: Query, origin: Origin, context: RunContext, surroundings: Surroundings
) -> Query:
    """The query as it reads without the conversation before it; unchanged where that fails."""
    turns = dialogue_of(origin.arguments.get("history", ()))
    if not turns or surroundings.rewriter is None:
        return query
    ask = partial(surroundings.rewriter.stand_alone, query.text, turns)
    done = await attempt("stand alone", ask, context)
    return replace(query, text=done.value or query.text)


async def _cleaned(
    query: Query, origin: Origin, context: RunContext, surroundings: Surroundings
) -> Query:
    """The query as it was meant; as it was typed where a run was recorded without that."""
    if not origin.arguments.get("clean") or surroundings.cleaner is None:
        return query
    return replace(query, text=await surroundings.cleaner.clean(query.text, context))


async def _verified(
    query: Query, origin: Origin, context: RunContext, surroundings: Surroundings
) -> Answer | None:
    """What a person verified as the answer to this question, if it still stands."""
    given = origin.arguments.get("verified")
    if given is None or surroundings.quotes is None:
        return None
    return await again(query.text, given, surroundings.quotes, context)


def _weigher(origin: Origin) -> Weigher | None:
    """What weighs answers; `None` where a run was recorded before there were calibrations.

    A replay may set another `ask.min_probability`.
    """
    given = origin.arguments.get("calibration")
    if given is None:
        return None
    weigher = Weigher.from_json(given)
    least = origin.settings.get("ask", {}).get("min_probability", weigher.min_probability)
    if (
        "least" not in given or least == weigher.min_probability
    ):  # there was no such setting, or it is as then
        return weigher
    return replace(
        weigher,
        min_probability=least,
        replaces_confidence=weigher.replaces_confidence or least <= 0,
    )


def _hold_back(
    recorder: Recorder, ledger: Ledger, seconds: float
) -> tuple[Reservation | None, str]:
    """The reservation of the last step, or why there can be none."""
    held: list[Reservation] = []

    def hold() -> str:
        try:
            held.append(ledger.hold_back(CostBound(seconds=seconds)))
        except BudgetRefused as refused:
            return str(refused)
        return ""

    refusal = recorder.observe("budget", "the last step", hold)
    return (held[0] if held else None), refusal


def _opened(
    recorder: Recorder, ledger: Ledger, last_s: float, surroundings: Surroundings
) -> RunContext:
    left = ledger.remaining().seconds
    deadline = inf if left is None or surroundings.events else time.monotonic() + left
    return RunContext(
        ledger=ledger,
        scope=recorder,
        executor=surroundings.executor,
        deadline=deadline,
        end=deadline + last_s,
        listener=surroundings.listener,
    )


async def _answer(
    strategy: Strategy, query: Query, context: RunContext, surroundings: Surroundings
) -> Answer:
    """The answer of the graph, or of the state it was in when it had to end."""
    way = _Way(strategy.start(query))
    replaying = surroundings.events is not None
    if replaying:
        way.end = _End(**context.scope.observe("cut", "after states", dict))
    failure = ""
    try:
        await way.follow(strategy, surroundings.graph, context)
    except BudgetRefused:
        pass  # noted in the run's refusals by whoever met it
    except CallFailed as failed:
        failure = str(failed)
    if not replaying:
        context.scope.observe("cut", "after states", lambda: asdict(way.end))
    if failure:
        return _failed(strategy, query, failure)
    if way.end.states is not None and not way.end.broken:
        context.refusals.append(str(DeadlineOver()))
    best = await _finished(strategy, way.state, context)
    return _noted(best, way.end.broken) if way.end.broken else best


async def _finished(strategy: Strategy, state: Any, context: RunContext) -> Answer:  # noqa: ANN401
    """The answer of a state, or the strategy's last word on it."""
    try:
        done: Answer = state.answer or await strategy.finish(state, context)
    except FathomError:
        raise
    except Exception as error:  # noqa: BLE001 - the finalizer may be what is broken
        return _failed(strategy, state.query, log_failure(strategy.name, error))
    return done


def _noted(best: Answer, broken: str) -> Answer:
    """The best draft so far if it is good enough, else a failed answer; both say what broke."""
    if best.status == "answered":
        return replace(best, stop_reason=broken)
    return replace(best, status="failed", stop_reason=broken)


@dataclass(frozen=True, slots=True)
class _End:
    """Why the graph had to end before its own end.

    Attributes:
        states: After so many states; `None` where it did not have to.
        broken: What broke; empty where it was cut at the deadline.
    """

    states: int | None = None
    broken: str = ""


class _Way:
    """The states that a graph goes through.

    Whatever a node waits for ends at the deadline by itself; a node that does not is cut soon
    after. A replay stops after the same number of states, without a clock.
    """

    def __init__(self, start: Any) -> None:  # noqa: ANN401 - a strategy's own state
        self.state = start
        self.end = _End()
        self._seen = 0

    async def follow(
        self, strategy: Strategy, graph: CompiledGraph | None, context: RunContext
    ) -> None:
        cut = asyncio.timeout(_patience(context))
        try:
            # LangSmith off, whatever the environment says: no text leaves for another server.
            with tracing_context(enabled=False):
                async with cut:
                    await self._walk(graph or strategy.graph().compile(), context)
        except FathomError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a node raises
            self.end = _End(self._seen, "" if cut.expired() else _told(strategy, error))

    async def _walk(self, graph: CompiledGraph, context: RunContext) -> None:
        if self.end.states == 0:
            return
        states = graph.astream(
            self.state, {"recursion_limit": MOST_STEPS}, context=context, stream_mode="values"
        )
        async with aclosing(states):
            async for values in states:
                self.state = replace(self.state, **values)
                self._seen += 1
                if self._seen == self.end.states:
                    return


def _told(strategy: Strategy, error: Exception) -> str:
    """What broke, in one line; the rest goes to the log."""
    if isinstance(error, GraphRecursionError):
        return f"{strategy.name} came to no end in {MOST_STEPS} steps"
    return log_failure(strategy.name, error)


def _patience(context: RunContext) -> float | None:
    """Seconds until a node that overlooks the deadline is cut: half of the last step's time."""
    left = context.seconds_left
    return None if left is None else left + (context.end - context.deadline) / 2


def _failed(strategy: Strategy, query: Query, reason: str) -> Answer:
    return Answer(
        question=query.text,
        status="failed",
        strategy=strategy.name,
        phase="",
        stop_reason=reason,
        usage=Usage(),
        budget=Budget(),
    )


def _closed(answer: Answer, context: RunContext, budget: Budget) -> Answer:
    def spent() -> Json:
        usage = context.ledger.usage
        return asdict(replace(usage, seconds=round(usage.seconds, 6)))

    usage = Usage(**context.scope.observe("usage", "of the run", spent))
    starved = answer.status == "abstained" and context.refusals
    reason = "budget" if starved else answer.stop_reason
    return replace(answer, usage=usage, budget=budget, stop_reason=reason)
