"""The context of a run: what one question may spend and must record, handed down explicitly.

There is no other way to spend or to record, and none of it is global.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple, TypeVar

from fathom.errors import (
    FathomError,
    MalformedReply,
    ModelRefused,
    ModelUnavailable,
    locate_error,
)
from fathom.jsonable import Json
from fathom.redaction import open_log
from fathom.runs.concurrency import run_in_thread
from fathom.runs.events import Listener, StepEnd, StepStart
from fathom.runs.ledger import BudgetRefused, Ledger
from fathom.runs.recorder import OpenStep, Recorder
from fathom.runs.reservation import CostBound
from fathom.runs.trace import LEFT_OUT, Origin
from fathom.usage import Budget, Usage

T = TypeVar("T")
BRANCH_SHARE = 0.8
"""The share of the remaining time that branches may take together."""
LOG = open_log("fathom.runs.context")
# Answers and traces name the error; its traceback goes to whoever configures logging.
LOG.addHandler(logging.NullHandler())
COMPUTED = "computed"
"""The signal of an answer that was computed: its probability by the laws of computations."""
CHAINED = "chained"
"""The signal of an answer to the last of several questions, of which each but the first has the
answer to the one before."""


class CalibratedConfidence(NamedTuple):
    """A calibration's judgement of an answer.

    Attributes:
        confidence: The probability that the answer is right; `None` if it is unknown.
        enough: Whether the answer may be given, as far as the rate of errors is concerned.
        by: The origin of the questions that the calibration was learned from; empty without one.
        probable: Whether the answer is likely enough to be given as the only one.
        sure: How sure the answer may be taken to be, 0 to 1, if the draft itself is less sure; 1 if
            only `enough` and `probable` count.
        tentative: Whether a sure answer may be shown as not sure where it is not probable.
        likely: Whether an unsure answer may be shown as not sure.
    """

    confidence: float | None
    enough: bool = True
    by: str = ""
    probable: bool = True
    sure: float = 0.0
    tentative: bool = False
    likely: bool = False


Weigh = Callable[[Mapping[str, float]], CalibratedConfidence]
"""A function that judges an answer by its signals."""


class AskingDecision(NamedTuple):
    """A decision about asking a language model.

    Attributes:
        probability: The probability that the local draft is right.
        asks: Whether the model is asked.
    """

    probability: float
    asks: bool


DecideAsking = Callable[[Mapping[str, float]], AskingDecision]
"""A function that decides by the signals of a local draft whether to ask a language model."""


class DeadlineOver(BudgetRefused):
    """A step that was cut, because the time of the run is over."""

    def __init__(self) -> None:
        super().__init__("seconds", needed=0.0, left=0.0)

    def __str__(self) -> str:
        return "budget: the deadline is over; raise --deadline"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """One run, seen from one of its steps.

    Attributes:
        ledger: The ledger, in which everything is reserved and booked.
        scope: The place in which everything is recorded: the recorder, or the current step.
        executor: The threads for synchronous work, so that a deadline can cut the wait for it.
        deadline: The instant of `time.monotonic` at which all but the last step must be over.
        end: The instant at which the last step must be over too.
        seed: The seed of everything random.
        listener: The callbacks for the run's events.
        weigh: The calibration of answers. Without it, an answer is as sure as its draft, as in runs
            that were recorded before there were calibrations.
        decide_asking: Decides whether a language model is asked about a local draft that is not
            sure; without it the model is, as in runs of earlier versions.
        states_disputes: Whether an answer that other documents contradict names all readings.
        refusals: The refusals of the budget, in order; shared by all steps.
    """

    ledger: Ledger
    scope: Recorder | OpenStep
    executor: Executor
    deadline: float = inf
    end: float = inf
    seed: int = 0
    listener: Listener = field(default_factory=Listener)
    weigh: Weigh | None = None
    decide_asking: DecideAsking | None = None
    states_disputes: bool = False
    refusals: list[str] = field(default_factory=list)

    @contextmanager
    def step(
        self, name: str, *, agent: str = "", inputs: Mapping[str, object] | None = None
    ) -> "Iterator[RunContext]":
        """Open a step and yield the run inside it, for the length of a `with` block."""
        opened = self.scope.step(name, agent=agent, inputs=inputs)
        self.listener.on_event(StepStart(opened.record))
        try:
            with opened as step:
                yield replace(self, scope=step)
        finally:
            # In `finally`, because a listener must see every step end, also one that fails.
            self.listener.on_event(StepEnd(opened.record))

    def set_outcome(
        self,
        *,
        outputs: Mapping[str, object] | None = None,
        usage: Usage | None = None,
        verdict: str = "",
        reason: str = "",
    ) -> None:
        """Set the outcome of the current step."""
        if isinstance(self.scope, OpenStep):
            self.scope.set_outcome(outputs=outputs, usage=usage, verdict=verdict, reason=reason)

    def note_refusal(self, refusal: BudgetRefused) -> BudgetRefused:
        """Note a refusal of the budget, and return it for raising."""
        self.refusals.append(str(refusal))
        return refusal

    async def run_in_thread(self, job: Callable[[], T]) -> T:
        """Run synchronous work in a thread, unrecorded. A cancelled caller does not wait for it."""
        return await run_in_thread(self.executor, job)

    async def compute(self, name: str, job: Callable[[], T]) -> T:
        """Run local work that depends on nothing from outside, in a thread.

        Only its being in time is recorded: a replay does the work again.

        Raises:
            DeadlineOver: If the work was not done at the deadline.
        """
        values: list[T] = []

        async def attempt() -> bool:
            try:
                async with asyncio.timeout(self.seconds_left):
                    values.append(await self.run_in_thread(job))
            except TimeoutError:
                return False
            return True

        if not await self.scope.aobserve("in time", name, attempt):
            raise self.note_refusal(DeadlineOver())
        # A replay has the record but no value, so it computes the value now.
        return values[0] if values else await self.run_in_thread(job)

    async def run_branches(
        self, jobs: "Mapping[str, Callable[[RunContext], Awaitable[T]]]", *, agent: str = ""
    ) -> dict[str, T]:
        """Run several branches at once, each in a step of its own name.

        A branch is left out, and its step says why, if the budget or its language model refuses it,
        if an unforeseen error breaks it off, or if it has not ended when four fifths of the time
        are over. The values of the other branches count, and there is time left to use them.

        Args:
            jobs: The branches by name; each gets the run inside its step.
            agent: The role that does the work.

        Returns:
            The values of the branches that came through, in the order of `jobs`.

        Raises:
            FathomError: If a branch met another known error, such as a damaged index.
        """
        tasks = [asyncio.create_task(self._run_branch(*job, agent)) for job in jobs.items()]
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        values: dict[str, T] = {}
        for name, outcome in zip(jobs, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                raise outcome
            value, refusals = outcome
            if value:
                values[name] = value[0]
            self.refusals.extend(refusals)
        return values

    async def _run_branch(
        self, name: str, job: "Callable[[RunContext], Awaitable[T]]", agent: str
    ) -> tuple[list[T], list[str]]:
        """Return the value of a branch, in a list that is empty without one, and its refusals."""
        values: list[T] = []
        is_live = False

        async def work() -> None:
            try:
                values.append(await job(branch))
            except (BudgetRefused, ModelUnavailable, ModelRefused, MalformedReply) as refusal:
                branch.set_outcome(verdict=LEFT_OUT, reason=str(refusal))

        async def attempt() -> Json:
            nonlocal is_live
            is_live, timeout, reason = True, asyncio.timeout(branch.seconds_left), ""
            try:
                async with timeout:
                    await work()
            except FathomError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever an agent raises
                message = str(branch.note_refusal(DeadlineOver())) if timeout.expired() else ""
                reason = message or log_failure(name, error)
            return {"why": reason, "refusals": branch.refusals}

        with self.step(name, agent=agent) as step:
            seconds = self.seconds_left
            deadline = inf if seconds is None else time.monotonic() + BRANCH_SHARE * seconds
            # A list of its own, because the refusals of a branch are recorded in its event.
            branch = replace(step, refusals=[], deadline=deadline)
            outcome = await branch.scope.aobserve("branch", name, attempt)
            if outcome["why"]:
                branch.set_outcome(verdict=LEFT_OUT, reason=outcome["why"])
            # In a replay the event holds no value, so the work is done again from its recorded
            # events.
            elif not is_live:
                await work()
        return values, outcome["refusals"]

    async def ask_outside(
        self, kind: str, request: object, ask: Callable[[], Awaitable[Json]]
    ) -> Json:
        """Ask something outside, or its record; a refusal of the budget is recorded too.

        Args:
            kind: The kind of event, as in `Recorder.observe`.
            request: Everything that the answer depends on.
            ask: The function that returns the answer as plain JSON, an object.

        Raises:
            BudgetRefused: If `ask` raises it; it is noted in `refusals`.
        """

        async def attempt() -> Json:
            try:
                return await ask()
            except DeadlineOver:
                return {"refused": []}
            except BudgetRefused as refusal:
                return {"refused": [refusal.limit, refusal.needed, refusal.left]}

        outcome = await self.scope.aobserve(kind, request, attempt)
        if "refused" in outcome:
            raise self.note_refusal(_restore_refusal(outcome["refused"]))
        return outcome

    async def spend(
        self, kind: str, request: object, bound: CostBound, ask: Callable[[], Awaitable[Json]]
    ) -> tuple[Json, Usage]:
        """Ask something outside that costs something and may never end, within the budget.

        Reservation, call and booking are one recorded event: a replay repeats none of them.

        Args:
            kind: The kind of event, as in `Recorder.observe`.
            request: Everything that the answer depends on.
            bound: The worst case, which is booked in full once the call has begun.
            ask: The function that returns the answer as plain JSON.

        Raises:
            BudgetRefused: If the call does not fit the budget; `DeadlineOver` if it took too long.
        """

        async def attempt() -> Json:
            spent = Usage(llm_calls=bound.calls, retrievals=bound.retrievals)
            try:
                async with self.ledger.reserve(bound) as reservation:
                    reservation.count(spent)
                    value = await self._await_in_time(ask)
                    return {"value": value, "usage": reservation.settle(spent).usage}
            except TimeoutError:
                raise DeadlineOver from None

        outcome = await self.ask_outside(kind, request, attempt)
        return outcome["value"], Usage(**outcome["usage"])

    async def _await_in_time(self, ask: Callable[[], Awaitable[T]]) -> T:
        async with asyncio.timeout(self.seconds_left):
            return await ask()

    @property
    def seconds_left(self) -> float | None:
        """The seconds until the deadline; `None` without one."""
        return None if self.deadline == inf else max(0.0, self.deadline - time.monotonic())


def log_failure(who: str, error: Exception) -> str:
    """Log an error with its traceback, and return it in one line."""
    LOG.error("%s: %s", who, locate_error(error), exc_info=error)
    return locate_error(error)


def _restore_refusal(recorded: Json) -> BudgetRefused:
    """Restore a refusal from its record: a list, or an object in older traces of model calls."""
    if not recorded:
        return DeadlineOver()
    if isinstance(recorded, dict):
        return BudgetRefused(recorded["limit"], needed=recorded["needed"], left=recorded["left"])
    limit, needed, rest = recorded
    return BudgetRefused(limit, needed=needed, left=rest)


@contextmanager
def open_run(question: str, *, what: str, budget: Budget) -> Iterator[RunContext]:
    """Yield a run outside any strategy, for one piece of work that may use a language model.

    Args:
        question: The subject of the work.
        what: The name of the work, in place of a strategy's name.
        budget: The limits of what may be spent.
    """
    end = inf if budget.seconds is None else time.monotonic() + budget.seconds
    with ThreadPoolExecutor(1, thread_name_prefix=f"fathom-{what}") as executor:
        yield RunContext(
            ledger=Ledger(budget),
            scope=Recorder(Origin(question=question, strategy=what)),
            executor=executor,
            deadline=end,
            end=end,
        )
