"""Asking on a server: within its turn, its caller's budget and its time, whichever interface asks.

Every interface asks through `Asking`; none calls the engine itself.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from fathom.engine.request import AskRequest
from fathom.runs.concurrency import FinalEvent, stream_of
from fathom.runs.context import Listener
from fathom.serving.http.access import Access, Caller
from fathom.serving.http.admission import Admission
from fathom.serving.http.metrics import Metrics
from fathom.serving.http.problems import Problem
from fathom.serving.http.workspaces import Workspace
from fathom.types import Answer
from fathom.usage import Budget

E = TypeVar("E")
MOST_CHARS = 20_000
"""Of a question over HTTP, whichever interface asks: reading longer ones would hold up others."""

AT_ONCE_S = 0.05
"""Who waited less has not waited: a question's budget is then recorded as it was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question as it reached the server; see `Engine.ask`."""

    question: str
    strategy: str | None = None
    filters: Sequence[str] = ()
    budget: Budget
    history: Sequence[Any] = field(default=())


class Asking:
    """Answers within the limits of the server."""

    def __init__(self, admission: Admission, access: Access, metrics: Metrics) -> None:
        self.admission = admission
        self._access = access
        self._metrics = metrics

    async def answer(
        self, caller: Caller, space: Workspace, asked: Asked, listener: Listener | None = None
    ) -> Answer:
        """Answer a question when its turn has come.

        Raises:
            Problem: 422 if the question is too long, 429 if the caller's budget is spent, 503 if
                there is too much to do.
            FathomError: See `Engine.ask`.
        """
        if len(asked.question) > MOST_CHARS:
            raise Problem(
                422,
                "invalid",
                f"the question has {len(asked.question)} characters, at most {MOST_CHARS} are read",
                next="upload long text as a document and ask about it",
            )
        account = await self._access.opened(caller)
        seconds = asked.budget.seconds
        async with self.admission.turn(seconds) as waited:
            left = seconds if seconds is None or waited < AT_ONCE_S else max(seconds - waited, 0.0)
            request = AskRequest.parse(
                asked.question,
                strategy=asked.strategy,
                filters=asked.filters,
                budget=replace(asked.budget, seconds=left),
                history=asked.history,
                listener=listener,
            )
            outcome = await space.engine.arun(replace(request, account=account))
        self._metrics.answered(outcome.answer, waited)
        return outcome.answer

    def stream(
        self,
        caller: Caller,
        space: Workspace,
        asked: Asked,
        ear: Callable[[Callable[[E], None]], Listener],
    ) -> AsyncGenerator[E | FinalEvent, None]:
        """As `answer`, told as the listener puts it that `ear` makes; see `stream_of`.

        The first event comes when the question is at work: what can fail before has failed then,
        so draw it before the reply begins.
        """
        return stream_of(lambda listener: self.answer(caller, space, asked, listener), ear)
