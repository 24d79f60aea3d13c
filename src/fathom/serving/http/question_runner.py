"""The runner of questions on a server, which keeps to turns, budgets and deadlines.

Every interface asks through `QuestionRunner`; none calls the engine itself.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from fathom.engine.request import AskRequest
from fathom.runs.concurrency import stream_events
from fathom.runs.events import Listener, StreamEvent
from fathom.serving.http.access import Access, Caller
from fathom.serving.http.admission import Admission
from fathom.serving.http.metrics import Metrics
from fathom.serving.http.problems import Problem
from fathom.serving.http.workspaces import Workspace
from fathom.types import Answer, Filter
from fathom.usage import Budget

T = TypeVar("T")
MOST_CHARS = 20_000
"""The length of a question over HTTP, in characters, at most: parsing delays other questions."""

AT_ONCE_S = 0.05
"""The wait, in seconds, below which the recorded budget is not reduced, so that traces compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedQuestion:
    """A question as it reached the server, with the arguments of `Engine.ask`.

    Attributes:
        earlier: The ids of the documents that the answers in the history rest on; `None` if they
            are not known. The trace of a question whose history may hold text of unknown documents
            has no owner.
    """

    question: str
    strategy: str | None = None
    paper: str | None = None
    filters: Sequence[str | Filter] = ()
    budget: Budget
    history: Sequence[Any] = field(default=())
    earlier: frozenset[str] | None = None

    @property
    def is_self_contained(self) -> bool:
        """True if the question has no history, or the documents of the history are known."""
        return self.earlier is not None or not self.history


class QuestionRunner:
    """A runner of questions within the limits of the server."""

    def __init__(self, admission: Admission, access: Access, metrics: Metrics) -> None:
        self.admission = admission
        self._access = access
        self._metrics = metrics

    async def answer(
        self,
        caller: Caller,
        space: Workspace,
        question: SubmittedQuestion,
        listener: Listener | None = None,
    ) -> Answer:
        """Answer a question once its turn has come.

        Raises:
            Problem: 422 if the question is too long, 429 if the caller's budget is spent, 503 if
                the server is overloaded.
            FathomError: As `Engine.ask` raises it.
        """
        if len(question.question) > MOST_CHARS:
            raise Problem(
                422,
                "invalid",
                f"the question has {len(question.question)} characters, "
                f"at most {MOST_CHARS} are read",
                next="upload long text as a document and ask about it",
            )
        # Before the wait: a caller without budget should not take up a place in the queue.
        account = await self._access.open_account_async(caller)
        seconds = question.budget.seconds
        async with self.admission.take_turn(seconds) as waited:
            limit_s = (
                seconds if seconds is None or waited < AT_ONCE_S else max(seconds - waited, 0.0)
            )
            request = AskRequest.parse(
                question.question,
                strategy=question.strategy,
                paper=question.paper,
                filters=question.filters,
                budget=replace(question.budget, seconds=limit_s),
                history=question.history,
                listener=listener,
            )
            outcome = await space.engine.arun(
                replace(
                    request,
                    account=account,
                    owner=caller.owner if question.is_self_contained else "",
                    earlier=question.earlier or frozenset(),
                )
            )
        self._metrics.count_answer(outcome.answer, waited)
        return outcome.answer

    def stream(
        self, caller: Caller, space: Workspace, question: SubmittedQuestion
    ) -> AsyncGenerator[StreamEvent, None]:
        """Answer a question, and yield the events of its run.

        The first event comes when the question is running. Draw it before the reply begins, so that
        an earlier failure can still set the status of the reply.
        """
        return stream_events(lambda listener: self.answer(caller, space, question, listener))

    async def run_in_turn(self, space: Workspace, work: Callable[[], T]) -> T:
        """Run work that costs as much as a question in a thread, once its turn has come.

        The turn lasts until the work ends even if the client leaves, as no thread can be stopped.

        Raises:
            Problem: 503 if the server is overloaded.
        """
        async with self.admission.take_turn():
            return await run_to_end(space, work)


async def run_to_end(space: Workspace, work: Callable[[], T]) -> T:
    """Run work in a thread, and wait for its end even if the client leaves."""
    running = asyncio.get_running_loop().run_in_executor(space.engine.executor, work)
    try:
        return await asyncio.shield(running)
    finally:
        await asyncio.wait({running})
