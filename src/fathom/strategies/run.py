"""Runs and replays of a strategy; no other module invokes a graph."""

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

from fathom.agents.question_cleaner import QuestionCleaner, adds_no_words
from fathom.agents.rewriter import Rewriter
from fathom.calibration.asking import AskingRule
from fathom.calibration.caution import choose_bounds
from fathom.calibration.law import Weigher
from fathom.errors import FathomError
from fathom.jsonable import Json
from fathom.llm.faults import CallFailure
from fathom.question.conversation import parse_dialogue
from fathom.question.question import Question
from fathom.retrieval.quotes import QuoteLookup
from fathom.runs.context import DeadlineOver, RunContext, log_failure
from fathom.runs.events import Listener
from fathom.runs.ledger import Account, BudgetRefused, Ledger
from fathom.runs.recorder import Recorder
from fathom.runs.replay import (
    Difference,
    MissingEventError,
    RecordedEvents,
    find_difference,
    is_same_answer,
)
from fathom.runs.reservation import CostBound, Reservation
from fathom.runs.trace import EventSource, Origin, Trace
from fathom.settings import AskSettings
from fathom.strategies.base import CompiledGraph, Strategy
from fathom.strategies.bus import attempt_work
from fathom.strategies.verified import parse_filters, restore_answer
from fathom.types import Answer
from fathom.usage import Budget, Usage

LAST_S = 0.25
"""The seconds that are held back for the last step, in which quotes are looked up."""
LAST_SHARE = 0.2
"""The largest share of the run's time that is held back for the last step."""
MAX_STEPS = 200
"""The largest number of steps of a graph, which stops graphs that never end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """The answer of a run, and its trace."""

    answer: Answer
    trace: Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The outcome of a replay.

    Attributes:
        trace: The trace of the recorded run.
        answer: The answer; `None` if the replay needed something that is not in the record.
        same: Whether the answer is the recorded one, byte for byte.
        difference: The first difference between the two runs; `None` if the answer is the same, or
            there is none.
        missing: The requests to which the record has no answer.
        prompts: A line for each prompt that differs from that of the run; the caller of
            `replay_run` fills them in.
    """

    trace: Trace
    answer: Answer | None
    same: bool
    difference: Difference | None
    missing: tuple[str, ...]
    prompts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResources:
    """The resources of a run besides its question.

    Attributes:
        executor: The threads for synchronous work.
        events: The record to replay, in place of calls of models and the index; `None` for a new
            run.
        secrets: The texts that must not enter the trace.
        cleaner: The role that corrects slips in a question; without it the question stays as typed.
        rewriter: The role that makes a follow-up question read alone; without it the question stays
            unchanged.
        quotes: The lookup of the citations of verified answers; without it no verified answer is
            given again.
        listener: The callbacks for the run's events.
        graph: The compiled graph of the strategy; `None` to compile it now.
        account: The account whose caps hold besides those of the run's own budget; `None` for none.
    """

    executor: Executor
    events: EventSource | None = None
    secrets: tuple[str, ...] = ()
    cleaner: QuestionCleaner | None = None
    rewriter: Rewriter | None = None
    quotes: QuoteLookup | None = None
    listener: Listener = field(default_factory=Listener)
    graph: CompiledGraph | None = None
    account: Account | None = None


async def run_strategy(strategy: Strategy, origin: Origin, resources: RunResources) -> RunOutcome:
    """Answer the question of `origin` within its budget.

    First a follow-up question is made to read alone, and slips in the question are corrected; both
    count towards the budget. If a person verified an answer to the question, it is given again.
    Otherwise the graph of the strategy runs.

    A spent budget or a passed deadline is a normal end: the best draft so far is the answer if it
    is good enough; otherwise the answer is an abstention with the reason `budget`. After an
    unforeseen error of an agent or a node, the best draft so far is the answer if it is good
    enough; otherwise the answer is `failed`. The stop reason then gives the class and place of the
    error, and its traceback goes to the log `fathom.runs.context`.

    Args:
        strategy: The strategy.
        origin: The question with its filters, seed, budget and other inputs.
        resources: The resources. The time of the budget starts now, so anything slow that is done
            only once should be done before.

    Raises:
        RunError: If a part other than a language model is broken, such as the index.
        MissingEventError: In a replay, if the record has no answer to a request.
    """
    recorder = Recorder(origin, events=resources.events, secrets=resources.secrets)
    ledger = Ledger(origin.budget, account=resources.account)
    seconds = origin.budget.seconds
    last_s = LAST_S if seconds is None else min(LAST_S, LAST_SHARE * seconds)
    last, refusal = _reserve_last_step(recorder, ledger, last_s)
    opened = _open_context(recorder, ledger, last_s, resources)
    context = replace(
        opened,
        seed=origin.seed,
        weigh=_restore_weigher(origin),
        decide_asking=_restore_asking_rule(origin),
        states_disputes=bool(origin.arguments.get("disputes")),
    )
    question, filters = Question(origin.question), parse_filters(origin)
    if refusal:
        context.refusals.append(refusal)
        answer = await _finish(strategy, strategy.start(question, filters), context)
    else:
        question = await _resolve_follow_up(question, origin, context, resources)
        question = await _clean_question(question, origin, context, resources)
        verified = await _find_verified_answer(question, origin, context, resources)
        start = strategy.start(question, filters)
        answer = verified or await _run_graph(strategy, start, context, resources, recorder)
    if last is not None:
        # The last step is over, so its reservation is no longer needed.
        last.release()
    answer = replace(_complete_answer(answer, context, origin.budget), question=origin.question)
    if origin.arguments.get("history") or not adds_no_words(origin.question, question.text):
        answer = replace(answer, standalone_question=question.text)
    return RunOutcome(answer=answer, trace=recorder.seal(answer))


async def replay_run(
    trace: Trace,
    strategy: Strategy,
    settings: Mapping[str, Json],
    resources: RunResources,
) -> Replay:
    """Run a recorded question again, without asking a model or opening an index.

    Args:
        trace: The recorded run.
        strategy: The strategy, built from the recorded settings or from others.
        settings: The settings that the strategy was built from, as a trace records them.
        resources: The resources, built from the same settings; their events are replaced by the
            recorded ones.
    """
    events = RecordedEvents(trace)
    arguments = _renew_bounds(trace.origin, settings)
    origin = replace(trace.origin, settings=settings, arguments=arguments)
    try:
        outcome = await run_strategy(strategy, origin, replace(resources, events=events))
    except MissingEventError:
        return Replay(
            trace=trace, answer=None, same=False, difference=None, missing=tuple(events.missing)
        )
    same = is_same_answer(trace, outcome.answer)
    return Replay(
        trace=trace,
        answer=outcome.answer,
        same=same,
        difference=None if same else find_difference(trace, outcome.trace),
        missing=tuple(events.missing),
    )


async def _resolve_follow_up(
    question: Question, origin: Origin, context: RunContext, resources: RunResources
) -> Question:
    """Return a follow-up question so that it reads alone; unchanged if that fails.

    A question outside of a conversation is unchanged too.
    """
    turns = parse_dialogue(origin.arguments.get("history", ()))
    if not turns or resources.rewriter is None:
        return question
    rewrite = partial(resources.rewriter.make_standalone, question, turns)
    outcome = await attempt_work("stand alone", rewrite, context)
    return outcome.value or question


async def _clean_question(
    question: Question, origin: Origin, context: RunContext, resources: RunResources
) -> Question:
    """Return the question without slips; as typed if the run does not clean questions.

    Runs that were recorded before there was cleaning do not.
    """
    if not origin.arguments.get("clean") or resources.cleaner is None:
        return question
    return await resources.cleaner.clean(question, context)


async def _find_verified_answer(
    question: Question, origin: Origin, context: RunContext, resources: RunResources
) -> Answer | None:
    """Return the answer that a person verified for this question, if its quotes still stand."""
    given = origin.arguments.get("verified")
    if given is None or resources.quotes is None:
        return None
    return await restore_answer(question, given, resources.quotes, context)


def _restore_weigher(origin: Origin) -> Weigher | None:
    """Return the weigher of a run; `None` if it was recorded before there were calibrations."""
    given = origin.arguments.get("calibration")
    return None if given is None else Weigher.from_json(given)


def _restore_asking_rule(origin: Origin) -> AskingRule | None:
    """Return the rule by which a run asks its language model; `None` if it has none."""
    given = origin.arguments.get("asking")
    return None if given is None else AskingRule.from_json(given)


def _renew_bounds(recorded: Origin, settings: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the arguments of a replay, with new bounds if its settings choose other ones.

    Otherwise the recorded bounds are kept, because those of a level of `ask.caution` may have
    changed since the run.

    Args:
        recorded: The origin of the recorded run.
        settings: The settings of the replay, as a trace records them.
    """
    given = recorded.arguments.get("calibration")
    # A run that was recorded before there were bounds has none to renew.
    if given is None or "least" not in given or "ask" not in settings:
        return recorded.arguments
    if _list_bounds(settings["ask"]) == _list_bounds(recorded.settings.get("ask", {})):
        return recorded.arguments
    weigher = Weigher.from_json(given)
    bounds = choose_bounds(AskSettings.model_validate(settings["ask"]))
    # In runs of earlier versions, no answer with a language model could be tentative.
    if not weigher.is_bound and weigher.tentative_from is None:
        bounds = bounds._replace(tentative=None)
    return {**recorded.arguments, "calibration": weigher.apply_bounds(bounds).to_json()}


def _list_bounds(ask: Mapping[str, Json]) -> list[Json]:
    """Return the settings that choose the bounds, with defaults for those that are not recorded."""
    defaults = AskSettings()
    names = ("caution", "min_probability", "max_error")
    return [ask.get(name, getattr(defaults, name)) for name in names]


def _reserve_last_step(
    recorder: Recorder, ledger: Ledger, seconds: float
) -> tuple[Reservation | None, str]:
    """Reserve the time of the last step, as a recorded event.

    Returns:
        The reservation, or `None` if the budget refuses it or in a replay; and the reason of the
        refusal, empty without one.
    """
    reservations: list[Reservation] = []

    def hold() -> str:
        try:
            reservations.append(ledger.hold_back(CostBound(seconds=seconds)))
        except BudgetRefused as refused:
            return str(refused)
        return ""

    refusal = recorder.observe("budget", "the last step", hold)
    return (reservations[0] if reservations else None), refusal


def _open_context(
    recorder: Recorder, ledger: Ledger, last_s: float, resources: RunResources
) -> RunContext:
    """Return the context of the run, whose deadline leaves time for the last step.

    Args:
        recorder: The recorder of the run.
        ledger: The ledger of the run, in which the last step is already reserved.
        last_s: The seconds that are held back for the last step.
        resources: The resources of the run.
    """
    remaining = ledger.get_remaining_budget().seconds
    # A replay has no deadline, because the record says after which state the run was cut.
    deadline = inf if remaining is None or resources.events else time.monotonic() + remaining
    return RunContext(
        ledger=ledger,
        scope=recorder,
        executor=resources.executor,
        deadline=deadline,
        end=deadline + last_s,
        listener=resources.listener,
    )


async def _run_graph(
    strategy: Strategy,
    start: Any,  # noqa: ANN401 - a strategy's own state
    context: RunContext,
    resources: RunResources,
    recorder: Recorder,
) -> Answer:
    """Run the graph and return its answer, or that of the last state before an early end.

    A failed call of a language model that nothing could replace gives a failed answer.
    """
    walk = _GraphWalk(start)
    replaying = resources.events is not None
    if replaying:
        walk.end = _EarlyEnd(**recorder.observe("cut", "after states", dict))
    failure = ""
    try:
        await walk.run_graph(strategy, resources.graph, context)
    except BudgetRefused:
        # The refusals of the run hold it already, and the last state has the best draft.
        pass
    except CallFailure as failed:
        failure = str(failed)
    if not replaying:
        end = walk.end = walk.end.with_steps(recorder.count_steps())
        recorder.observe("cut", "after states", end.to_json)
    if failure:
        return _make_failed_answer(strategy, start.question, failure)
    if walk.end.states is not None and not walk.end.broken:
        context.refusals.append(str(DeadlineOver()))
    # The record counts the steps of a node that was cut, but a replay does not run that node. With
    # the recorded counts, the steps after it get the same ids.
    recorder.set_step_counts(walk.end.steps)
    answer = await _finish(strategy, walk.state, context)
    return _mark_broken(answer, walk.end.broken) if walk.end.broken else answer


async def _finish(strategy: Strategy, state: Any, context: RunContext) -> Answer:  # noqa: ANN401
    """Return the answer of a state; a failed answer if the finalizer raises an unforeseen error."""
    try:
        answer: Answer = state.answer or await strategy.finish(state, context)
    except FathomError:
        raise
    except Exception as error:  # noqa: BLE001 - the finalizer may be what is broken
        return _make_failed_answer(strategy, state.question, log_failure(strategy.name, error))
    return answer


def _mark_broken(best: Answer, broken: str) -> Answer:
    """Return the best answer with an error as its stop reason; as failed unless it answers."""
    if best.status == "answered":
        return replace(best, stop_reason=broken)
    return replace(best, status="failed", stop_reason=broken)


@dataclass(frozen=True, slots=True)
class _EarlyEnd:
    """The early end of a graph, if there was one.

    Attributes:
        states: The number of states before the end; `None` if the graph did not end early.
        broken: The error in one line; empty if the graph was cut at the deadline.
        steps: The number of steps of each name that were opened before the end; empty in older
            records.
    """

    states: int | None = None
    broken: str = ""
    steps: Mapping[str, int] = field(default_factory=dict)

    def with_steps(self, steps: Mapping[str, int]) -> "_EarlyEnd":
        """Return the end with the numbers of steps; unchanged if the graph did not end early."""
        return self if self.states is None else replace(self, steps=steps)

    def to_json(self) -> Json:
        """Return the end for the record."""
        steps = {"steps": dict(self.steps)} if self.steps else {}
        return {"states": self.states, "broken": self.broken} | steps


class _GraphWalk:
    """The walk of a graph through its states.

    Nodes end their waits at the deadline by themselves; a node that does not is cut soon after. A
    replay stops after the recorded number of states, without a clock.

    Attributes:
        state: The last state.
        end: The early end; in a replay the recorded one.
    """

    def __init__(self, start: Any) -> None:  # noqa: ANN401 - a strategy's own state
        self.state = start
        self.end = _EarlyEnd()
        self._seen = 0

    async def run_graph(
        self, strategy: Strategy, graph: CompiledGraph | None, context: RunContext
    ) -> None:
        """Run the graph to its end, to the deadline, or to an error."""
        cut = asyncio.timeout(_compute_patience(context))
        try:
            # LangSmith stays off, whatever the environment says, so that no text goes to its
            # server.
            with tracing_context(enabled=False):
                async with cut:
                    await self._walk(graph or strategy.graph().compile(), context)
        except FathomError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a node raises
            self.end = _EarlyEnd(
                self._seen, "" if cut.expired() else _describe_error(strategy, error)
            )

    async def _walk(self, graph: CompiledGraph, context: RunContext) -> None:
        """Run the graph, and keep its last state."""
        # A recorded run that was cut before its first state has no state to replay.
        if self.end.states == 0:
            return
        # The values are streamed after every node, so that the best draft survives a cut.
        states = graph.astream(
            self.state, {"recursion_limit": MAX_STEPS}, context=context, stream_mode="values"
        )
        # The stream must be closed when the deadline cuts it, or nodes would go on in the
        # background.
        async with aclosing(states):
            async for values in states:
                self.state = replace(self.state, **values)
                self._seen += 1
                if self._seen == self.end.states:
                    return


def _describe_error(strategy: Strategy, error: Exception) -> str:
    """Return the error in one line, and log its traceback unless the graph was only too long."""
    if isinstance(error, GraphRecursionError):
        return f"{strategy.name} did not end within {MAX_STEPS} steps"
    return log_failure(strategy.name, error)


def _compute_patience(context: RunContext) -> float | None:
    """Return the seconds until a node that ignores the deadline is cut; `None` without a deadline.

    It is cut when half of the time of the last step has passed.
    """
    remaining = context.seconds_left
    return None if remaining is None else remaining + (context.end - context.deadline) / 2


def _make_failed_answer(strategy: Strategy, question: Question, reason: str) -> Answer:
    """Return a failed answer with this reason."""
    return Answer(
        question=question.text,
        status="failed",
        strategy=strategy.name,
        phase="",
        stop_reason=reason,
        usage=Usage(),
        budget=Budget(),
    )


def _complete_answer(answer: Answer, context: RunContext, budget: Budget) -> Answer:
    """Return the answer with the usage and budget of the run, and its final stop reason."""

    def read_usage() -> Json:
        usage = context.ledger.usage
        return asdict(replace(usage, seconds=round(usage.seconds, 6)))

    usage = Usage(**context.scope.observe("usage", "of the run", read_usage))
    # A refused step might have found the evidence, so the budget is the reason of an abstention.
    lacked_budget = answer.status == "abstained" and context.refusals
    reason = "budget" if lacked_budget else answer.stop_reason
    return replace(answer, usage=usage, budget=budget, stop_reason=reason)
