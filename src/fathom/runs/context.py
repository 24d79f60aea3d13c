"""The run: what one question may spend and must record, handed down explicitly.

There is no other way to spend or to record, and none of it is global.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple, TypeVar

from fathom.errors import (
    FathomError,
    MalformedReply,
    ModelRefused,
    ModelUnavailable,
    culprit,
)
from fathom.jsonable import Json
from fathom.runs.ledger import BudgetRefused, Ledger
from fathom.runs.recorder import OpenStep, Recorder
from fathom.runs.reservation import CostBound
from fathom.runs.trace import Origin, Step
from fathom.usage import Budget, Usage

T = TypeVar("T")
BRANCH_SHARE = 0.8
"""Of the time that is left, what branches may take together."""
LOG = logging.getLogger("fathom.runs.context")
# Answers and traces say what broke; the traceback is for those who listen.
LOG.addHandler(logging.NullHandler())


class Listener:
    """Is told of a run while it goes on; this one does not listen.

    Attributes:
        wants_text: Whether words are to be given before they are final.
    """

    wants_text: bool = False

    def step(self, name: str, news: str) -> None:
        """A step begins (no news), or this came of it."""

    def text(self, words: str) -> None:
        """A sentence, its quote found, of an answer that a language model is still writing."""

    def began(self, step: Step) -> None:
        """A step begins, as the trace will hold it; what came of it is not known yet."""

    def ended(self, step: Step) -> None:
        """A step is over, however it ended, as the trace holds it."""


class Weighed(NamedTuple):
    """What a calibration says of an answer.

    Attributes:
        confidence: Probability of being right; `None` where nobody can say.
        enough: Whether it may be given, as far as the rate of errors is concerned.
        probable: Whether it is not too likely wrong to be given as the only answer.
        sure: How sure the answer may be taken to be, 0 to 1, where the draft itself is less sure;
            1 where the other two are all that counts.
        by: Whose questions the calibration was learned from; empty without one.
    """

    confidence: float | None
    enough: bool = True
    by: str = ""
    probable: bool = True
    sure: float = 0.0


Weigh = Callable[[Mapping[str, float]], Weighed]
"""Weighs an answer by its signals."""


class DeadlineOver(BudgetRefused):
    """A step was cut, because the time of the run is over."""

    def __init__(self) -> None:
        super().__init__("seconds", needed=0.0, left=0.0)

    def __str__(self) -> str:
        return "budget: the deadline is over; raise --deadline"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """One run, seen from one of its steps.

    Attributes:
        ledger: Where everything is reserved and booked.
        scope: Where everything is recorded: the recorder, or the step that is going on.
        executor: Where synchronous work is done, so that a deadline can cut the wait for it.
        deadline: Instant of `time.monotonic` when all but the last step must be over.
        end: Instant when the last step must be over too.
        seed: Of everything random.
        listener: Is told what happens.
        weigh: Says how sure an answer is; without it that is what its draft says, as in runs that
            were recorded before there were calibrations.
        refusals: What the budget did not allow, in order; shared by all steps.
    """

    ledger: Ledger
    scope: Recorder | OpenStep
    executor: Executor
    deadline: float = inf
    end: float = inf
    seed: int = 0
    listener: Listener = field(default_factory=Listener)
    weigh: Weigh | None = None
    refusals: list[str] = field(default_factory=list)

    @contextmanager
    def step(
        self, name: str, *, agent: str = "", inputs: Mapping[str, object] | None = None
    ) -> "Iterator[RunContext]":
        """The run inside a new step, for the length of a `with` block; see `Recorder.step`."""
        self.listener.step(name, "")
        opened = self.scope.step(name, agent=agent, inputs=inputs)
        self.listener.began(opened.record)
        try:
            with opened as step:
                yield replace(self, scope=step)
        finally:
            self.listener.ended(opened.record)

    def done(
        self,
        *,
        outputs: Mapping[str, object] | None = None,
        usage: Usage | None = None,
        verdict: str = "",
        reason: str = "",
    ) -> None:
        """Say what came of the step that is going on; see `OpenStep.done`."""
        if isinstance(self.scope, OpenStep):
            self.scope.done(outputs=outputs, usage=usage, verdict=verdict, reason=reason)
            self.listener.step(self.scope.id.rpartition("/")[2], reason or verdict or "done")

    def refused(self, refusal: BudgetRefused) -> BudgetRefused:
        """Note that the budget did not allow something; gives it back, to be raised."""
        self.refusals.append(str(refusal))
        return refusal

    async def thread(self, job: Callable[[], T]) -> T:
        """Do synchronous work in a thread; not recorded. Who is cancelled does not wait for it."""
        carried = copy_context()  # a question sees one state of its index, whatever thread asks
        return await asyncio.get_running_loop().run_in_executor(self.executor, carried.run, job)

    async def compute(self, what: str, job: Callable[[], T]) -> T:
        """Do local work that depends on nothing from outside, in a thread.

        Recorded is only whether it was done in time: a replay does it again.

        Raises:
            DeadlineOver: If it was not done at the deadline.
        """
        made: list[T] = []

        async def attempt() -> bool:
            try:
                async with asyncio.timeout(self.seconds_left):
                    made.append(await self.thread(job))
            except TimeoutError:
                return False
            return True

        if not await self.scope.aobserve("in time", what, attempt):
            raise self.refused(DeadlineOver())
        return made[0] if made else await self.thread(job)

    async def branches(
        self, jobs: "Mapping[str, Callable[[RunContext], Awaitable[T]]]", *, agent: str = ""
    ) -> dict[str, T]:
        """Do several things at once, each in a step of its own name.

        Who is refused by the budget or by its language model, breaks off by an error nobody
        foresaw, or has not ended when four fifths of the time are over is left out, and its step
        says why: the values of the others count, and there is time to do something with them.

        Args:
            jobs: By name; each gets the run inside its step.
            agent: The role that does it.

        Returns:
            The values of those that came through, in the order of `jobs`.

        Raises:
            FathomError: If one of them met another error that is known, such as a damaged index.
        """
        tasks = [asyncio.create_task(self._branch(*job, agent)) for job in jobs.items()]
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        found: dict[str, T] = {}
        for name, end in zip(jobs, ends, strict=True):
            if isinstance(end, BaseException):
                raise end
            made, refusals = end
            if made:
                found[name] = made[0]
            self.refusals.extend(refusals)
        return found

    async def _branch(
        self, name: str, job: "Callable[[RunContext], Awaitable[T]]", agent: str
    ) -> tuple[list[T], list[str]]:
        """The value of a branch, if there is one, and what it was refused."""
        made: list[T] = []
        live = False

        async def work() -> None:
            try:
                made.append(await job(here))
            except (BudgetRefused, ModelUnavailable, ModelRefused, MalformedReply) as known:
                here.done(verdict="left out", reason=str(known))

        async def attempt() -> Json:
            nonlocal live
            live, cut, why = True, asyncio.timeout(here.seconds_left), ""
            try:
                async with cut:
                    await work()
            except FathomError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever an agent raises
                late = str(here.refused(DeadlineOver())) if cut.expired() else ""
                why = late or log_failure(name, error)
            return {"why": why, "refusals": here.refusals}

        with self.step(name, agent=agent) as step:
            left = self.seconds_left
            early = inf if left is None else time.monotonic() + BRANCH_SHARE * left
            here = replace(step, refusals=[], deadline=early)
            end = await here.scope.aobserve("branch", name, attempt)
            if end["why"]:
                here.done(verdict="left out", reason=end["why"])
            elif not live:
                await work()
        return made, end["refusals"]

    async def outside(self, kind: str, request: object, ask: Callable[[], Awaitable[Json]]) -> Json:
        """Ask something outside, or the record of it; a refusal by the budget is recorded too.

        Args:
            kind: See `Recorder.observe`.
            request: All that the answer depends on.
            ask: Gives the answer as plain JSON, an object.

        Raises:
            BudgetRefused: If `ask` does; it is noted in `refusals`.
        """

        async def attempt() -> Json:
            try:
                return await ask()
            except DeadlineOver:
                return {"refused": []}
            except BudgetRefused as refused:
                return {"refused": [refused.limit, refused.needed, refused.left]}

        outcome = await self.scope.aobserve(kind, request, attempt)
        if "refused" in outcome:
            raise self.refused(_refusal(outcome["refused"]))
        return outcome

    async def spend(
        self, kind: str, request: object, bound: CostBound, ask: Callable[[], Awaitable[Json]]
    ) -> tuple[Json, Usage]:
        """Ask something outside that is neither free nor sure to end, within the budget.

        Reservation, call and booking are one recorded event: a replay touches neither.

        Args:
            kind: See `Recorder.observe`.
            request: All that the answer depends on.
            bound: Is booked in full once it has begun.
            ask: Gives the answer as plain JSON.

        Raises:
            BudgetRefused: If it does not fit the budget; `DeadlineOver` if it took too long.
        """

        async def attempt() -> Json:
            own = Usage(llm_calls=bound.calls, retrievals=bound.retrievals)
            try:
                async with self.ledger.reserve(bound) as reservation:
                    reservation.count(own)
                    value = await self._in_time(ask)
                    return {"value": value, "usage": reservation.settle(own).usage}
            except TimeoutError:
                raise DeadlineOver from None

        outcome = await self.outside(kind, request, attempt)
        return outcome["value"], Usage(**outcome["usage"])

    async def _in_time(self, ask: Callable[[], Awaitable[T]]) -> T:
        async with asyncio.timeout(self.seconds_left):
            return await ask()

    @property
    def seconds_left(self) -> float | None:
        """Until the deadline; `None` without one."""
        return None if self.deadline == inf else max(0.0, self.deadline - time.monotonic())


def log_failure(who: str, error: Exception) -> str:
    """What broke, in one line; its traceback goes to the log."""
    LOG.error("%s: %s", who, culprit(error), exc_info=error)
    return culprit(error)


def _refusal(parts: Json) -> BudgetRefused:
    """A refusal as it was recorded: a list, or an object in older traces of model calls."""
    if not parts:
        return DeadlineOver()
    if isinstance(parts, dict):
        return BudgetRefused(parts["limit"], needed=parts["needed"], left=parts["left"])
    limit, needed, left = parts
    return BudgetRefused(limit, needed=needed, left=left)


@contextmanager
def run_alone(question: str, *, what: str, budget: Budget) -> Iterator[RunContext]:
    """A run outside any strategy, for one piece of work that a language model may be asked for.

    Args:
        question: What it is about.
        what: What does the work; stands in place of a strategy's name.
        budget: What may be spent.
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
