"""A language model in a role: what a run may spend on it is reserved, what came back recorded."""

import time
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from fathom.context import RunContext
from fathom.errors import ModelUnavailable
from fathom.ledger import BudgetRefused
from fathom.llm.base import Call, ChatModel, Completion
from fathom.llm.circuit_breaker import CircuitBreaker
from fathom.llm.faults import CallFailed
from fathom.llm.metered import Metered
from fathom.llm.recorded import Recorded, Replayed
from fathom.llm.retry import Retrying, RetryPolicy
from fathom.usage import Price

Role = Literal[
    "reader",
    "judge",
    "debater",
    "aggregator",
    "rewriter",
    "decomposer",
    "hyde",
    "reorderer",
    "summarizer",
    "planner",
]
"""Who may have a language model for a mind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleModel:
    """What a role asks.

    Attributes:
        chat: Makes one call per `complete`.
        price: What it charges; `None` is unknown.
        breaker: That of the model's endpoint.
        max_tokens: At most so many completion tokens a call.
    """

    chat: ChatModel
    price: Price | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    breaker: CircuitBreaker = field(default_factory=CircuitBreaker)
    max_tokens: int = 800

    def within(self, context: RunContext) -> ChatModel:
        """The model as one step of a run may use it."""
        metered = Metered(self.chat, context.ledger, self.price)
        return Observed(Retrying(metered, policy=self.retry, breaker=self.breaker), context)


class Observed:
    """A `ChatModel` whose outcomes are events of the run, each with all its tries as one."""

    def __init__(self, model: ChatModel, context: RunContext) -> None:
        """Wrap `model`, which is asked only where the run has no record."""
        self._model = model
        self._run = context

    @property
    def name(self) -> str:
        """`provider:model`."""
        return self._model.name

    async def complete(self, call: Call) -> Completion:
        """See `ChatModel.complete`."""
        request = {
            "model": self.name,
            "messages": call.messages,
            "schema": call.schema,
            "max_tokens": call.max_tokens,
        }

        async def ask() -> dict[str, Any]:
            kept: dict[str, Any] = {}
            recorded = Recorded(self._model, lambda _, outcome: kept.update(outcome))
            try:
                await recorded.complete(call)
            except (BudgetRefused, CallFailed):
                kept["late"] = time.monotonic() >= call.deadline
            return kept

        outcome = await self._run.scope.aobserve("llm", request, ask)
        if outcome.get("late"):
            self._run.refusals.append(f"{self.name} was cut at the deadline; raise --deadline")
        again = Replayed(self.name, lambda _: outcome, lambda _: None)
        try:
            return await again.complete(replace(call, on_text=None))
        except BudgetRefused as refused:
            raise self._run.refused(refused) from None


@dataclass(frozen=True, slots=True)
class Absent:
    """A `ChatModel` that cannot be asked: in a replay only the record answers."""

    name: str

    async def complete(self, call: Call) -> Completion:  # noqa: ARG002
        """Always fails.

        Raises:
            ModelUnavailable: That it is not there.
        """
        raise ModelUnavailable(f"{self.name}: a replay asks no language model")
