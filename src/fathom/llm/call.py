"""How a role asks its language model: within the budget of the run, and into its record."""

from dataclasses import dataclass, field
from typing import Generic, Literal

from fathom.errors import ModelUnavailable
from fathom.llm.base import Call, ChatModel, Completion, OnText
from fathom.llm.circuit_breaker import CircuitBreaker
from fathom.llm.faults import CallFailed
from fathom.llm.metered import Metered
from fathom.llm.prompt import Asked
from fathom.llm.recorded import RecordedModel
from fathom.llm.retry import Retrying, RetryPolicy
from fathom.llm.structured import Reply, ask_for
from fathom.runs.context import RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.usage import Price, Usage

AgentRole = Literal[
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
    "questioner",
]
"""Who may have a language model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleModel:
    """What a role asks.

    Attributes:
        chat: Makes one call per `complete`.
        price: What it charges; `None` is unknown.
        retry: How often a fault that may pass is tried again.
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
        retrying = Retrying(metered, policy=self.retry, breaker=self.breaker)
        return RecordedModel(retrying, context)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply(Generic[Reply]):
    """What a language model replied, or why there is no reply.

    Attributes:
        value: `None` where the model could not or might not answer.
        usage: What it cost all the same; `None` where nothing was asked.
        failure: Why there is no value; `None` where there is one.
        repaired: Whether the first reply could not be used.
    """

    value: Reply | None = None
    usage: Usage | None = None
    failure: BudgetRefused | CallFailed | None = None
    repaired: bool = False

    @property
    def reason(self) -> str:
        """Why there is no value, or that it took a repair; else empty."""
        if self.failure is not None:
            return str(self.failure)
        return "after one repair" if self.repaired else ""

    def required(self) -> Reply:
        """The value, where nothing else would do.

        Raises:
            BudgetRefused: Where the budget did not allow the call.
            CallFailed: Where it gave no usable reply.
        """
        if self.value is None:
            assert self.failure is not None
            raise self.failure
        return self.value


async def ask_model(
    model: RoleModel,
    kind: type[Reply],
    asked: Asked,
    context: RunContext,
    *,
    on_text: OnText | None = None,
) -> ModelReply[Reply]:
    """Ask `model` for an object of type `kind`, as one step of the run; see `ask_for`.

    The step says which model was asked with which prompt, and what it cost. Each call and each try
    of it is reserved before and booked after, and what came of it is an event of the step, which a
    replay gives again. The tokens are at most `model.max_tokens` a call, and the time is that of
    the run.

    Returns:
        Also where the budget refused or the model failed: the role may have another way.
    """
    inputs = {"model": model.chat.name, "prompt": asked.prompt}
    with context.step("ask", agent=asked.agent, inputs=inputs) as here:
        reply = await _replied(model, kind, asked, here, on_text)
        outputs = None if reply.value is None else {"reply": reply.value}
        here.done(outputs=outputs, usage=reply.usage, reason=reply.reason)
    return reply


async def _replied(
    model: RoleModel,
    kind: type[Reply],
    asked: Asked,
    context: RunContext,
    on_text: OnText | None,
) -> ModelReply[Reply]:
    try:
        reply = await ask_for(
            kind,
            model.within(context),
            asked,
            max_tokens=model.max_tokens,
            deadline=context.deadline,
            on_text=on_text,
        )
    except BudgetRefused as refused:
        return ModelReply(failure=refused)
    except CallFailed as failed:
        return ModelReply(failure=failed, usage=failed.usage)
    return ModelReply(value=reply.value, usage=reply.usage, repaired=reply.repaired)


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
