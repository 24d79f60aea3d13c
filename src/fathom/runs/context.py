"""The context of a run: its budget, its record and its deadline, passed on as an argument.

Everything that a question spends or records goes through this context; none of it is global.
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
"""The share of the remaining time after which branches are cut, in [0, 1]."""
LOG = open_log("fathom.runs.context")
# Answers and traces name the error. Its traceback is written only if logging is configured.
LOG.addHandler(logging.NullHandler())
COMPUTED = "computed"
"""The name of the signal of a computed answer: its probability by the laws of computations."""
CHAINED = "chained"
"""The name of the signal of an answer to the last question of a chain, in which each further
question contains the answer to the one before."""


class CalibratedConfidence(NamedTuple):
    """A calibration's judgement of an answer.

    Attributes:
        confidence: The probability that the answer is right, in [0, 1]; `None` if it is unknown.
        enough: Whether the answer may be given under the certified error rate.
        by: The origin of the questions that the calibration was learned from; empty without one.
        probable: Whether the answer is probable enough to be given as the only one.
        sure: A lower bound of the confidence with which the gate judges the answer, in [0, 1]; 1 if
            only `enough` and `probable` count.
        tentative: Whether a sure answer that is not probable may be shown as tentative.
        likely: Whether an unsure answer may be shown as tentative.
    """

    confidence: float | None
    enough: bool = True
    by: str = ""
    probable: bool = True
    sure: float = 0.0
    tentative: bool = False
    likely: bool = False


Weigh = Callable[[Mapping[str, float]], CalibratedConfidence]
"""A function that judges an answer by its signals, which are numbers by name."""


class AskingDecision(NamedTuple):
    """A decision about asking a language model.

    Attributes:
        probability: The probability that the local draft is right, in [0, 1].
        asks: Whether the model is asked.
    """

    probability: float
    asks: bool


DecideAsking = Callable[[Mapping[str, float]], AskingDecision]
"""A function that decides by the signals of a local draft whether to ask a language model."""


class DeadlineOver(BudgetRefused):
    """An error of a step that was cut or not started because the time of the run is over."""

    def __init__(self) -> None:
        super().__init__("seconds", needed=0.0, left=0.0)

    def __str__(self) -> str:
        return "budget: the deadline is over; raise --deadline"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """One run, as one of its steps sees it.

    Attributes:
        ledger: The ledger, in which everything is reserved and booked.
        scope: The recorder, or the current step, in which everything is recorded.
        executor: The threads for synchronous work, so that a deadline can end the wait for it.
        deadline: The instant of `time.monotonic` at which all but the last step must be over;
            infinite without a limit.
        end: The instant at which the last step must be over too; infinite without a limit.
        seed: The seed of all random choices.
        listener: The receiver of the run's events.
        weigh: The calibration of answers. Without it, an answer is as sure as its draft, as in runs
            that were recorded before there were calibrations.
        decide_asking: The function that decides whether to ask a language model about a local draft
            that is not sure. Without it the model is asked, as in runs of earlier versions.
        states_disputes: Whether an answer that other documents contradict names all readings.
        refusals: The refusals of the budget as text, in order; shared by the steps of a run, except
            that a branch has its own list until it ends.
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
        """Open a step for the length of a `with` block, and yield the context inside it.

        Args:
            name: A short name, as in `Recorder.step`.
            agent: The role that does the step.
            inputs: The inputs of the step: ids and scores rather than texts.
        """
        opened = self.scope.step(name, agent=agent, inputs=inputs)
        self.listener.on_event(StepStart(opened.record))
        try:
            with opened as step:
                yield replace(self, scope=step)
        finally:
            # In `finally`, because a listener must also see the end of a step that fails.
            self.listener.on_event(StepEnd(opened.record))

    def set_outcome(
        self,
        *,
        outputs: Mapping[str, object] | None = None,
        usage: Usage | None = None,
        verdict: str = "",
        reason: str = "",
    ) -> None:
        """Set the outcome of the current step (`OpenStep.set_outcome`); do nothing outside any."""
        if isinstance(self.scope, OpenStep):
            self.scope.set_outcome(outputs=outputs, usage=usage, verdict=verdict, reason=reason)

    def note_refusal(self, refusal: BudgetRefused) -> BudgetRefused:
        """Add a refusal of the budget to `refusals`, and return it for raising."""
        self.refusals.append(str(refusal))
        return refusal

    async def run_in_thread(self, job: Callable[[], T]) -> T:
        """Run synchronous work in a thread, without recording it.

        If the caller is cancelled, the work goes on but nobody waits for it.
        """
        return await run_in_thread(self.executor, job)

    async def compute(self, name: str, job: Callable[[], T]) -> T:
        """Run local work in a thread that depends on nothing outside the run and its index.

        Only whether it ended in time is recorded; a replay does the work again.

        Args:
            name: The name of the work in the record.
            job: The work.

        Raises:
            DeadlineOver: If the work had not ended at the deadline.
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
        """Run several branches at the same time, each in a step with its name.

        A branch is left out, and its step says why, in three cases: the budget refuses it or its
        language model fails; an unforeseen error ends it; or it has not ended after `BRANCH_SHARE`
        of the remaining time. The rest of the time is for using the values of the other branches.

        Args:
            jobs: The branches by name; each gets the context inside its step.
            agent: The role that does the work.

        Returns:
            The values of the branches that were not left out, by name, in the order of `jobs`.

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
        """Run one branch; return its value in a list (empty if left out) and its refusals."""
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
            # Each branch has its own list, because its refusals are recorded in its event.
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
        """Ask the outside, or in a replay the record; a refusal of the budget is recorded too.

        Args:
            kind: The kind of event, as in `Recorder.observe`.
            request: Everything that the answer depends on.
            ask: The function that returns the answer, a JSON object without the key `refused`.

        Returns:
            The answer as it was recorded.

        Raises:
            BudgetRefused: If `ask` raises it; it is added to `refusals`.
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
        """Ask the outside for something that has a cost, within the budget and the deadline.

        Reservation, call and booking are one recorded event, and a replay repeats none of them.

        Args:
            kind: The kind of event, as in `Recorder.observe`.
            request: Everything that the answer depends on.
            bound: The worst case. Once the call has begun, its calls, retrievals and fee are booked
                in full, but no tokens.
            ask: The function that returns the answer as plain JSON.

        Returns:
            The answer and the booked usage.

        Raises:
            BudgetRefused: If the call does not fit the budget.
            DeadlineOver: If the call took longer than the deadline or the bound allows.
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
        """Return what `ask` returns; raise `TimeoutError` at the deadline."""
        async with asyncio.timeout(self.seconds_left):
            return await ask()

    @property
    def seconds_left(self) -> float | None:
        """The seconds until the deadline, at least 0; `None` without one."""
        return None if self.deadline == inf else max(0.0, self.deadline - time.monotonic())


def log_failure(who: str, error: Exception) -> str:
    """Log an error with its traceback, and return its description in one line.

    Args:
        who: The name of the branch or role that met the error.
        error: The error.
    """
    LOG.error("%s: %s", who, locate_error(error), exc_info=error)
    return locate_error(error)


def _restore_refusal(recorded: Json) -> BudgetRefused:
    """Restore a refusal of the budget from its record.

    Args:
        recorded: A list of limit, need and rest; an empty list for an exceeded deadline; an object
            with these keys in older traces of model calls.
    """
    if not recorded:
        return DeadlineOver()
    if isinstance(recorded, dict):
        return BudgetRefused(recorded["limit"], needed=recorded["needed"], left=recorded["left"])
    limit, needed, rest = recorded
    return BudgetRefused(limit, needed=needed, left=rest)


@contextmanager
def open_run(question: str, *, what: str, budget: Budget) -> Iterator[RunContext]:
    """Yield the context of a run without a strategy, for work that may use a language model.

    Args:
        question: The subject of the work.
        what: The name of the work, in place of a strategy's name.
        budget: The limits on what may be spent; its seconds start now.
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
